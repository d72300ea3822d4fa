// Every sequence of messages on a training stream, sent to two curators whose
// data sets differ in one person: what the analyst sees of the two differs in
// the noised numbers alone. Messages, their kinds and sizes, positions of the
// ledger, statuses, codes and sentences are the same.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/log/log.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "curator/serve/service.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpcpp/grpcpp.h"
#include "tests/curator/each_mechanism.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::train_stream {
namespace {

using curator::Catalog;
using curator::Dataset;
using curator::DatasetDescription;
using curator::Holds;
using curator::Person;

constexpr int kFeatures = 6, kUsers = 9;

// Whose every data set has neighbours: the last person but one has much there,
// or nothing.
constexpr const char* kDatasets[] = {"dense", "sparse", "classes", "ratings"};

std::unique_ptr<Dataset> DatasetOf(const std::string& name, Person person) {
  DatasetDescription description;
  description.name = name;
  description.population = "people";
  description.epsilon = 1000;
  description.delta = 1e-5;
  const Holds holds = name == "ratings"   ? Holds::kRatings
                      : name == "classes" ? Holds::kClasses
                                          : Holds::kColumns;
  return curator::PeopleWith(holds, person, kFeatures, kUsers, description,
                             name == "sparse");
}

// A curator of this process with a data set of each kind and a large budget.
class Curator {
 public:
  explicit Curator(Person person) {
    std::vector<std::unique_ptr<Dataset>> datasets;
    for (const char* name : kDatasets)
      datasets.push_back(DatasetOf(name, person));
    catalog_ = Catalog::FromDatasets(std::move(datasets));
    access_ = curator::AccessControl::FromGrants(
        {{"dns:analyst", {Role::kAnalyst}, {}, true, {}}});
    curator::Ledger::Options options;
    options.directory = files_.directory() + "/ledger";
    ledger_ = curator::Ledger::Open(options).value();
    const absl::Status declared = ledger_->DeclarePopulation(
        {"people", Adjacency::kReplaceOne, Conversion::kRdp, 1000, 1e-5});
    Demand(declared.ok(), "the population is not declared");
    gate_ = curator::ReleaseGate::Create(ledger_.get(),
                                         files_.directory() + "/releases", 1)
                .value();
    curator::ServiceOptions service;
    service.context = {ledger_.get(), gate_.get(), &catalog_, access_.get(),
                       &locks_,       1,           nullptr};
    service.identify = [](const grpc::ServerContextBase&) {
      return std::vector<std::string>{"dns:analyst"};
    };
    service_ = std::make_unique<curator::CuratorServiceImpl>(service);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    // Not InProcessChannel: it keeps some 40 KB of each call that ends before
    // all its messages are read.
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    server_ = builder.BuildAndStart();
    stub_ = v1::CuratorService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }
  ~Curator() { server_->Shutdown(); }

  v1::CuratorService::Stub* stub() { return stub_.get(); }

 private:
  const OneFile files_;
  Catalog catalog_;
  std::unique_ptr<curator::AccessControl> access_;
  curator::RunLocks locks_;
  std::unique_ptr<curator::Ledger> ledger_;
  std::unique_ptr<curator::ReleaseGate> gate_;
  std::unique_ptr<curator::CuratorServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::CuratorService::Stub> stub_;
};

// Answers of one curator.
struct Transcript {
  std::vector<v1::TrainReply> replies;
  grpc::Status status;
};

Transcript Send(const std::vector<v1::TrainRequest>& requests,
                Curator* curator) {
  Transcript transcript;
  grpc::ClientContext context;
  const auto stream = curator->stub()->Train(&context);
  // The transport holds a message until it is read.
  std::thread writer([&] {
    for (const v1::TrainRequest& request : requests) {
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
  });
  for (v1::TrainReply reply; stream->Read(&reply);)
    transcript.replies.push_back(reply);
  writer.join();
  transcript.status = stream->Finish();
  return transcript;
}

// All but what noise decides, and what differs between any two ledgers: hashes
// of rows, which a time is part of.
v1::TrainReply WithoutNoise(v1::TrainReply reply) {
  const auto clear = [](v1::LedgerPosition* position) {
    Demand(position->head().size() == 32, "a head of another size");
    position->clear_head();
  };
  switch (reply.message_case()) {
    case v1::TrainReply::kOpened:
      clear(reply.mutable_opened()->mutable_ledger());
      break;
    case v1::TrainReply::kLattice:
      for (auto& value : *reply.mutable_lattice()->mutable_values()) value = 0;
      break;
    case v1::TrainReply::kReal:
      for (double& value : *reply.mutable_real()->mutable_values()) value = 0;
      break;
    case v1::TrainReply::kEnd:
      Demand(reply.end().row_hash().size() == 32, "a hash of another size");
      reply.mutable_end()->clear_row_hash();
      clear(reply.mutable_end()->mutable_ledger());
      break;
    case v1::TrainReply::kClosed:
      clear(reply.mutable_closed()->mutable_ledger());
      break;
    default:
      break;
  }
  return reply;
}

void DemandAlike(const Transcript& one, const Transcript& other) {
  Demand(one.status.error_code() == other.status.error_code() &&
             one.status.error_message() == other.status.error_message() &&
             one.status.error_details() == other.status.error_details(),
         "the status depends on the data: " + one.status.error_message() +
             " and " + other.status.error_message());
  Demand(one.replies.size() == other.replies.size(),
         "the number of replies depends on the data");
  for (std::size_t i = 0; i < one.replies.size(); ++i) {
    Demand(google::protobuf::util::MessageDifferencer::Equals(
               WithoutNoise(one.replies[i]), WithoutNoise(other.replies[i])),
           "a reply depends on the data");
  }
}

// ------------------------------------------------------ bytes to a stream

// Distinct from input to input, so that no run is known from before.
std::string NextRunId() {
  static std::uint64_t number = 0;
  char text[33];
  std::snprintf(text, sizeof text, "%032llx",
                static_cast<unsigned long long>(++number));
  return text;
}

// All of the table. The first keep their numbers, so that kept inputs mean what
// they meant.
const std::vector<std::string>& MechanismsInOrder() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all = {"statistics", "gradient", "moments",
                                    "objective"};
    for (const std::string& name : curator::MechanismNames())
      if (std::find(all.begin(), all.end(), name) == all.end())
        all.push_back(name);
    return all;
  }());
  return names;
}

char NumberOf(const std::string& mechanism) {
  const auto& all = MechanismsInOrder();
  return static_cast<char>(std::find(all.begin(), all.end(), mechanism) -
                           all.begin());
}

v1::RunParameters ParametersOf(FuzzInput* bytes) {
  RunParameters run;
  const std::uint8_t dataset = bytes->Byte();
  run.mechanism = MechanismsInOrder()[bytes->Below(
      static_cast<std::uint32_t>(MechanismsInOrder().size()))];
  // One that the mechanism takes, or any.
  const Holds holds = curator::DataFor(run.mechanism);
  run.dataset = dataset >= 224             ? kDatasets[dataset % 4]
                : holds == Holds::kRatings ? "ratings"
                : holds == Holds::kClasses ? "classes"
                                           : kDatasets[dataset % 2];
  run.rank = 1 + bytes->Below(3);
  run.rounds = run.mechanism == "objective" ? 1 : 3;
  if (run.mechanism == "moments") {
    run.moment_rows = 1 + bytes->Below(6);
  } else if (holds != Holds::kColumns || run.mechanism == "aimed") {
    const auto rank = run.rank;
    run = curator::RunOfEach(
        run.mechanism,
        FactsOf(DatasetOf(run.dataset, Person::kEmpty)->description()), rank,
        1 + bytes->Below(6));
  }
  run.epsilon = 1e-4;  // the budget lasts for every input of a session
  run.delta = 1e-5;
  const std::uint8_t flags = bytes->Byte();
  run.outliers = (flags & 1) != 0;
  if (run.outliers) run.outlier_bound = 0.3;
  v1::RunParameters message = ToProto(run);
  // Anything: a message of its own is merged in.
  if (flags >= 224) {
    const std::string_view text = bytes->Bytes(bytes->Below(64));
    v1::RunParameters any;
    if (any.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
      message.MergeFrom(any);
      if (any.epsilon() > 0) message.set_epsilon(1e-4);
    }
  }
  return message;
}

v1::TrainRequest RequestOf(FuzzInput* bytes, const std::string& run_id) {
  v1::TrainRequest request;
  switch (bytes->Byte() % 8) {
    case 0:
      *request.mutable_open()->mutable_parameters() = ParametersOf(bytes);
      request.mutable_open()->set_run_id(
          bytes->Byte() == 1 ? std::string(bytes->Bytes(bytes->Below(40)))
                             : run_id);
      break;
    case 1:
    case 2: {
      v1::RoundStart& round = *request.mutable_round();
      round.set_round(bytes->Byte() % 6);
      if (bytes->Bit()) {
        round.mutable_shape()->set_rows(bytes->Bit() ? kFeatures
                                                     : bytes->LongWord());
        round.mutable_shape()->set_columns(
            bytes->Byte() < 224 ? bytes->Byte() % 5 : bytes->LongWord());
      } else {
        for (int left = bytes->Byte() % 9; left > 0; --left)
          round.add_rows(bytes->Byte());
      }
      break;
    }
    case 3:
    case 4:
    case 5: {
      v1::RealChunk& chunk = *request.mutable_dictionary();
      chunk.set_offset(bytes->Byte() < 224 ? 0 : bytes->LongWord());
      const bool special = bytes->Byte() >= 192;
      for (int left = bytes->Byte() % 24; left > 0; --left)
        chunk.add_values(special ? bytes->Double() : bytes->Byte() / 128.0);
      break;
    }
    case 6:
      if (bytes->Bit()) request.mutable_close();
      break;
    default: {
      const std::string_view text = bytes->Bytes(bytes->Below(256));
      if (!request.ParseFromArray(text.data(), static_cast<int>(text.size())))
        request.Clear();
    }
  }
  return request;
}

std::string RoundSeed(char round, char rank) {
  // The round's start, its shape, one chunk of all entries.
  std::string seed(
      {1, round, 1, 1, 0, rank, 3, 0, 0, static_cast<char>(kFeatures * rank)});
  for (int i = 0; i < kFeatures * rank; ++i)
    seed.push_back(static_cast<char>(10 + 9 * i));
  return seed;
}

// A message of any kind as it stands.
std::string MessageSeed(const v1::TrainRequest& request) {
  const std::string text = request.SerializeAsString();
  Demand(text.size() < 256, "a seed's message is too long");
  return std::string({7, static_cast<char>(text.size())}) + text;
}

// Every round of a run, as an analyst asks.
std::string WholeRunSeed(const std::string& mechanism) {
  std::string seed({0, 0, NumberOf(mechanism), 1, 2, 0, 0});
  FuzzInput bytes(reinterpret_cast<const std::uint8_t*>(seed.data()) + 1,
                  seed.size() - 1);
  const RunParameters run = *FromProto(ParametersOf(&bytes));
  seed.resize(seed.size() - bytes.size() + 1);  // the run's id
  const DatasetFacts facts =
      FactsOf(DatasetOf(run.dataset, Person::kEmpty)->description());
  const auto plan = PlanRun(run, facts);
  Demand(plan.ok(), "a seed's run has no plan: " + plan.status().ToString());
  for (std::uint32_t round = 1; round <= run.rounds; ++round) {
    const RoundInput input =
        curator::InputOf(plan->StageOf(round).release, run, facts);
    v1::TrainRequest start;
    start.mutable_round()->set_round(round);
    for (const std::uint32_t row : input.rows)
      start.mutable_round()->add_rows(row);
    for (const double number : input.numbers)
      start.mutable_round()->add_numbers(number);
    if (input.w.size() > 0) {
      start.mutable_round()->mutable_shape()->set_rows(
          static_cast<std::uint64_t>(input.w.rows()));
      start.mutable_round()->mutable_shape()->set_columns(
          static_cast<std::uint64_t>(input.w.cols()));
    }
    seed += MessageSeed(start);
    if (input.w.size() == 0) continue;
    v1::TrainRequest chunk;
    for (const double value : input.w.reshaped())
      chunk.mutable_dictionary()->add_values(value);
    seed += MessageSeed(chunk);
  }
  return seed;
}

std::vector<std::string> FuzzSeeds() {
  const std::string close({6, 1});
  std::vector<std::string> seeds;
  for (const char dataset : {0, 1}) {
    for (const char outliers : {0, 1}) {
      for (const char mechanism : {0, 1}) {
        const std::string open({0, dataset, mechanism, 1, outliers, 0});
        seeds.push_back(open + RoundSeed(1, 2) + RoundSeed(1, 2) +
                        RoundSeed(2, 2) + close);
      }
    }
    // Moments on 3 of 6 rows: mean, G, statistics.
    seeds.push_back(
        std::string({0, dataset, 2, 1, 2, 0, 0}) + std::string({1, 1, 0, 0}) +
        std::string({1, 2, 0, 3, 0, 2, 5}) + RoundSeed(3, 2) + close);
    seeds.push_back(std::string({0, dataset, 3, 1, 0, 0}) + RoundSeed(1, 2) +
                    close);
  }
  for (const char special : {2, 3, 16}) {  // NaN, an infinity, -1
    std::string seed({0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0, 2, 3, 0,
                      static_cast<char>(192), 2 * kFeatures});
    seed += std::string(2 * kFeatures - 1, 17) + special;
    seeds.push_back(seed);
  }
  for (const std::string& mechanism : curator::MechanismNames())
    seeds.push_back(WholeRunSeed(mechanism) + close);
  // A run of class_moments on data without classes.
  seeds.push_back(std::string(
      {0, static_cast<char>(224), NumberOf("class_moments"), 1, 2, 0, 0}));
  v1::TrainRequest any;
  any.mutable_round()->set_round(1);
  for (int numbers = 0; numbers < 2; ++numbers) {
    const std::string text = any.SerializeAsString();
    seeds.push_back(std::string({0, 0, 0, 1, 0, 0, 7}) +
                    static_cast<char>(text.size()) + text);
    any.mutable_round()->add_numbers(0.5);
  }
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes = {"closed",
                                       "refused message-out-of-order",
                                       "refused matrix-shape",
                                       "refused matrix-chunk",
                                       "refused dictionary-not-finite",
                                       "refused dictionary-negative",
                                       "refused model-out-of-range",
                                       "refused mechanism-mismatch",
                                       "refused classes-none",
                                       "refused rows-malformed",
                                       "refused numbers-malformed",
                                       "refused round-out-of-range",
                                       "refused run-id-malformed"};
  for (const std::string& release : curator::ReleaseNames())
    outcomes.push_back("released " + release);
  return outcomes;
}

std::string ReleaseOf(const v1::RunPlan& plan, const v1::ReleaseEnd& end) {
  std::uint32_t before = 0;
  for (const v1::StagePlan& stage : plan.stages()) {
    before += stage.rounds();
    if (end.round() <= before) return stage.release();
  }
  Demand(false, "a release that the plan does not have");
  return "";
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  SetLogLevel("off");
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  static Curator one(Person::kFull);
  static Curator other(Person::kEmpty);
  FuzzInput bytes(data, size);
  const std::string run_id = NextRunId();
  std::vector<v1::TrainRequest> requests;
  while (!bytes.empty() && requests.size() < 12)
    requests.push_back(RequestOf(&bytes, run_id));
  const Transcript transcript = Send(requests, &one);
  DemandAlike(transcript, Send(requests, &other));
  v1::RunPlan plan;
  for (const auto& reply : transcript.replies) {
    if (reply.has_opened()) plan = reply.opened().plan();
    if (reply.has_end()) Count("released " + ReleaseOf(plan, reply.end()));
    if (reply.has_closed()) Count("closed");
  }
  if (transcript.status.ok()) return;
  const absl::Status refusal = FromGrpc(transcript.status);
  Count("refused " + ReasonCode(refusal));
  DemandRefusal(refusal);
}

[[maybe_unused]] const bool kRegistered =
    Register({"train_stream", 3'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::train_stream
