// Every sequence of messages on a training stream, sent to two curators whose
// data sets differ in one person: what the analyst sees of the two differs in
// the noised numbers alone. Messages, their kinds and sizes, positions of the
// ledger, statuses, codes and sentences are the same.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "curator/serve/service.h"
#include "google/protobuf/util/message_differencer.h"
#include "grpcpp/grpcpp.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::train_stream {
namespace {

using curator::Catalog;
using curator::Dataset;
using curator::DatasetDescription;

constexpr int kFeatures = 6, kUsers = 9;

// A curator of this process with a sparse and a dense data set and a large
// budget.
class Curator {
 public:
  explicit Curator(const Eigen::MatrixXf& v) {
    std::vector<std::unique_ptr<Dataset>> datasets;
    for (const std::string name : {"dense", "sparse"}) {
      DatasetDescription description;
      description.name = name;
      description.population = "people";
      description.epsilon = 1000;
      description.delta = 1e-5;
      datasets.push_back(name == "dense" ? curator::DenseOf(v, description)
                                         : curator::SparseOf(v, description));
    }
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

// What one curator answered.
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

v1::RunParameters ParametersOf(FuzzInput* bytes) {
  constexpr const char* kMechanisms[] = {"statistics", "gradient", "moments",
                                         "objective"};
  RunParameters run;
  run.dataset = bytes->Bit() ? "sparse" : "dense";
  run.mechanism = kMechanisms[bytes->Below(4)];
  run.rank = 1 + bytes->Below(3);
  run.rounds = run.mechanism == "objective" ? 1 : 3;
  if (run.mechanism == "moments") run.moment_rows = 1 + bytes->Below(6);
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
      const std::string_view text = bytes->Bytes(bytes->Below(64));
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
  return {"released",
          "closed",
          "refused message-out-of-order",
          "refused matrix-shape",
          "refused matrix-chunk",
          "refused dictionary-not-finite",
          "refused dictionary-negative",
          "refused rows-malformed",
          "refused numbers-malformed",
          "refused round-out-of-range",
          "refused run-id-malformed"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  using curator::RandomColumns;
  SetLogLevel("off");
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  // Neighbours: the last but one has a record, or none at all.
  static const Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 1, 0.6);
  static Curator one(v);
  static Curator other([] {
    Eigen::MatrixXf neighbour = v;
    neighbour.col(kUsers - 2).setZero();
    return neighbour;
  }());
  FuzzInput bytes(data, size);
  const std::string run_id = NextRunId();
  std::vector<v1::TrainRequest> requests;
  while (!bytes.empty() && requests.size() < 12)
    requests.push_back(RequestOf(&bytes, run_id));
  const Transcript transcript = Send(requests, &one);
  DemandAlike(transcript, Send(requests, &other));
  for (const auto& reply : transcript.replies) {
    if (reply.has_end()) Count("released");
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
