// A client of the analyst's service that sends anything: every call, any
// messages, any order of W_0's chunks, listed or not. Answered, or refused with
// a documented code and one sentence; what is started is what was asked for.
#include <sched.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "analyst/planning/planner.h"
#include "analyst/runs/sent_release.h"
#include "analyst/serve/service.h"
#include "common/base/error.h"
#include "common/learning/run_priors.h"
#include "common/log/log.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/prior.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/analyst/fake_curator.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::client_requests {
namespace {

constexpr int kFeatures = 6, kRank = 2;
constexpr char kClients[] = R"({"peers": [
  {"identity": "dns:alice.client", "roles": ["analyst"]},
  {"identity": "dns:audit.client", "roles": ["auditor"]}]})";

// Calls from this one on bring priors.
constexpr int kWithPriors = 240;

// One of each for the process. Who calls is what the input says.
struct World {
  World() : fake(analyst::FakeData(kFeatures, 20)) {
    // Fits of such small matrices start more threads than they have work for.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &one);
    sched_setaffinity(0, sizeof one, &one);
    store = analyst::RunStore::Open(files.directory()).value();
    manager = analyst::RunManager::Create(store.get(), &fake, {}).value();
    Pay();
    // Other runs end as soon as they begin: they are not what is looked at.
    fake.hook = [](analyst::Moment, const std::string&, std::uint32_t) {
      return Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                     "No.");
    };
    service = analyst::MakeAnalystService(
        {manager.get(), store.get(), &fake,
         analyst::ClientList::Parse(kClients).value(),
         [this](const grpc::ServerContextBase&) {
           return std::vector<std::string>{caller};
         }});
    grpc::ServerBuilder builder;
    const std::string address = "unix:" + files.directory() + "/socket";
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(service.get());
    server = builder.BuildAndStart();
    stub = v1::AnalystService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  ~World() {
    manager->Stop();
    server->Shutdown();
  }

  // The run that all others may be made of.
  void Pay() {
    const auto planned = analyst::PlanWithCurator(
        analyst::FakeSpecification(kRank, 1, "moments"), &fake);
    paid = manager->Start(planned.value(), std::nullopt, "dns:alice.client")
               ->run_id();
    const absl::Status watched = manager->Watch(
        paid, 0, [](const v1::RunEvent&) { return true; },
        [] { return false; });
    Demand(
        watched.ok() && manager->Get(paid)->state() == v1::RUN_STATE_COMPLETED,
        "the paid run does not complete");
    const auto sent = analyst::FindRelease(paid, false, store.get());
    Demand(analyst::WriteRelease(sent.value(), store.get(),
                                 [this](const v1::ReleaseReply& message) {
                                   release.push_back(message);
                                   return true;
                                 })
               .ok(),
           "the paid release cannot be sent");
  }

  const OneFile files;
  std::string paid;
  std::vector<v1::ReleaseReply> release;
  std::string caller;
  analyst::FakeCurator fake;
  std::unique_ptr<analyst::RunStore> store;
  std::unique_ptr<analyst::RunManager> manager;
  std::shared_ptr<grpc::Service> service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<v1::AnalystService::Stub> stub;
  std::string last_run = std::string(32, '0');
};

bool Answered(const std::string& call, const grpc::Status& status) {
  Count(call + (status.ok() ? " answered" : " refused"));
  if (!status.ok()) DemandRefusal(FromGrpc(status));
  return status.ok();
}

template <typename Message>
void Merge(FuzzInput* bytes, Message* message) {
  const std::string_view text = bytes->Bytes(bytes->Below(96));
  Message any;
  if (any.ParseFromArray(text.data(), static_cast<int>(text.size())))
    message->MergeFrom(any);
}

v1::RunSpecification SpecificationOf(FuzzInput* bytes) {
  constexpr const char* kMechanisms[] = {
      "statistics", "gradient", "moments", "objective", "", "auto", "ratings"};
  v1::RunSpecification specification = analyst::FakeSpecification(kRank, 2);
  v1::RunParameters& run = *specification.mutable_parameters();
  run.set_mechanism(kMechanisms[bytes->Below(7)]);
  if (run.mechanism() == "ratings") {
    for (int left = bytes->Byte() % 8; left > 0; --left)
      run.add_shares(bytes->Byte() < 224 ? bytes->Byte() / 512.0
                                         : bytes->Double());
    run.set_profile_directions(bytes->Byte());
  }
  if (run.mechanism() == "objective") run.set_rounds(1);
  if (bytes->Bit()) {
    specification.mutable_learner()->set_initialisation(
        v1::INITIALISATION_PUBLIC);
  }
  if (bytes->Byte() >= 192) run.set_epsilon(bytes->Double());
  if (bytes->Byte() >= 192)
    specification.mutable_learner()->set_step_size(bytes->Double());
  if (bytes->Byte() >= 192) Merge(bytes, &specification);
  return specification;
}

v1::StartRunRequest ChunkOf(FuzzInput* bytes) {
  v1::StartRunRequest request;
  v1::RealChunk& chunk = *request.mutable_dictionary();
  chunk.set_offset(bytes->Byte() < 224 ? 0 : bytes->LongWord());
  const bool special = bytes->Byte() >= 192;
  for (int left = bytes->Byte() % 24; left > 0; --left)
    chunk.add_values(special ? bytes->Double() : bytes->Byte() / 128.0);
  if (bytes->Byte() >= 240) Merge(bytes, &request);
  return request;
}

void FuzzStart(FuzzInput* bytes, World* world) {
  std::vector<v1::StartRunRequest> requests(1);
  if (bytes->Byte() < 240)
    *requests[0].mutable_specification() = SpecificationOf(bytes);
  for (int left = bytes->Byte() % 4; left > 0; --left)
    requests.push_back(ChunkOf(bytes));
  grpc::ClientContext context;
  v1::Run run;
  const auto writer = world->stub->StartRun(&context, &run);
  for (const v1::StartRunRequest& request : requests)
    if (!writer->Write(request)) break;
  writer->WritesDone();
  if (!Answered("start", writer->Finish())) return;
  world->last_run = run.run_id();
  Demand(run.run_id().size() == 32, "a run without an id");
  const auto state = world->store->ReadLearner(run.run_id());
  Demand(state.ok() && state->w.allFinite() && state->w.minCoeff() >= 0,
         "a W_0 that is not feasible");
}

void FuzzWatch(const std::string& run_id, FuzzInput* bytes, World* world) {
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_cursor(bytes->Bit() ? bytes->LongWord() : bytes->Byte());
  const auto reader = world->stub->WatchRun(&context, request);
  for (v1::RunEvent event; reader->Read(&event);) {
  }
  Answered("watch", reader->Finish());
}

void FuzzModel(const std::string& run_id, World* world) {
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_run_id(run_id);
  const auto reader = world->stub->GetModel(&context, request);
  for (v1::ModelReply reply; reader->Read(&reply);) {
  }
  Answered("model", reader->Finish());
}

// All replies are read; what they say is not looked at.
template <typename Reply, typename Reader>
void ReadToEnd(const std::string& call, Reader reader) {
  for (Reply reply; reader->Read(&reply);) {
  }
  Answered(call, reader->Finish());
}

void FuzzRefit(const std::string& run_id, FuzzInput* bytes, World* world) {
  std::vector<v1::RefitRunRequest> requests(1);
  if (bytes->Byte() < 240) {
    v1::Refit& refit = *requests[0].mutable_refit();
    refit.set_run_id(run_id);
    refit.set_rank(bytes->Byte() < 240
                       ? bytes->Below(8)
                       : static_cast<std::uint32_t>(bytes->LongWord()));
    refit.mutable_learner()->set_seed(bytes->Below(4));
    if (bytes->Bit()) {
      refit.mutable_learner()->set_initialisation(v1::INITIALISATION_PUBLIC);
    }
  }
  for (int left = bytes->Byte() % 3; left > 0; --left) {
    requests.emplace_back();
    *requests.back().mutable_dictionary() = ChunkOf(bytes).dictionary();
  }
  if (bytes->Byte() >= 240) Merge(bytes, &requests.back());
  grpc::ClientContext context;
  v1::Run run;
  const auto writer = world->stub->RefitRun(&context, &run);
  for (const v1::RefitRunRequest& request : requests)
    if (!writer->Write(request)) break;
  writer->WritesDone();
  if (!Answered("refit", writer->Finish())) return;
  Demand(!run.parent().empty() && run.charged().units() == "0",
         "a refit that is no child, or is charged");
  world->last_run = run.run_id();
}

// The paid release, with a message changed, left out or sent twice.
void FuzzAdd(FuzzInput* bytes, World* world) {
  std::vector<v1::ReleaseReply> messages = world->release;
  for (int left = bytes->Byte() % 3; left > 0 && !messages.empty(); --left) {
    const std::size_t at = bytes->Below(messages.size());
    const int change = bytes->Byte() % 3;
    if (change == 0) {
      Merge(bytes, &messages[at]);
    } else if (change == 1) {
      messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      messages.push_back(messages[at]);
    }
  }
  grpc::ClientContext context;
  v1::Run run;
  const auto writer = world->stub->AddRelease(&context, &run);
  for (const v1::ReleaseReply& message : messages)
    if (!writer->Write(message)) break;
  writer->WritesDone();
  if (!Answered("add", writer->Finish())) return;
  Demand(run.run_id() == world->paid,
         "a changed release became a run of its own");
}

// ------------------------------------------------------------------ priors

// A prior as a client sends it, or nearly so.
struct OnePrior {
  v1::Prior header;
  std::vector<std::string> names;
  Eigen::MatrixXd entries;
  bool whole = true;  // all of its messages are sent
};

constexpr int kMostColumns = 5;

Eigen::MatrixXd EntriesOf(FuzzInput* bytes, Eigen::Index rows,
                          Eigen::Index columns) {
  const std::uint8_t kind = bytes->Byte();
  Eigen::MatrixXd entries(rows, columns);
  for (double& entry : entries.reshaped())
    entry = kind >= 192 ? bytes->Double() : bytes->Byte() / 128.0;
  return entries;
}

OnePrior PriorOf(FuzzInput* bytes, const World& world) {
  constexpr v1::PriorKind kKinds[] = {
      v1::PRIOR_KIND_COLUMNS, v1::PRIOR_KIND_DICTIONARY, v1::PRIOR_KIND_MOMENT,
      v1::PRIOR_KIND_RUN, v1::PRIOR_KIND_UNSPECIFIED};
  OnePrior prior;
  const v1::PriorKind kind = kKinds[bytes->Byte() % std::size(kKinds)];
  prior.header.set_kind(kind);
  prior.header.set_source("p.npy");
  if (kind == v1::PRIOR_KIND_RUN) {
    prior.header.set_run_id(bytes->Byte() < 192 ? world.paid : "none");
    return prior;
  }
  const auto rows = static_cast<Eigen::Index>(
      bytes->Byte() < 224 ? kFeatures : bytes->Byte() % 9);
  const Eigen::Index columns =
      kind == v1::PRIOR_KIND_MOMENT ? rows : 1 + bytes->Byte() % kMostColumns;
  prior.header.mutable_shape()->set_rows(static_cast<std::uint64_t>(rows));
  prior.header.mutable_shape()->set_columns(
      static_cast<std::uint64_t>(columns));
  prior.header.set_sparse(kind == v1::PRIOR_KIND_COLUMNS && bytes->Bit());
  prior.entries = EntriesOf(bytes, rows, columns);
  if (prior.header.sparse()) {
    prior.entries.resize(1 + bytes->Byte() % 4, 3);
    for (Eigen::Index i = 0; i < prior.entries.rows(); ++i) {
      prior.entries.row(i) << bytes->Byte() % (kFeatures + 1),
          bytes->Byte() % (kMostColumns + 1), bytes->Double();
      // A matrix with more columns than are worth anything.
      if (bytes->Byte() >= 240)
        prior.header.mutable_shape()->set_columns(bytes->LongWord());
    }
    prior.header.set_nonzeros(static_cast<std::uint64_t>(prior.entries.rows()));
  }
  if (bytes->Byte() >= 192) {
    prior.header.set_named(true);
    for (Eigen::Index i = 0; i < rows; ++i)
      prior.names.push_back(bytes->Byte() < 224 ? "f" + std::to_string(i)
                                                : std::string(bytes->Bytes(2)));
  }
  prior.header.set_sha256(bytes->Byte() < 240
                              ? HashOfPrior(prior.names, prior.entries)
                              : std::string(32, 'x'));
  prior.whole = bytes->Byte() < 240;
  if (bytes->Byte() >= 224) Merge(bytes, &prior.header);
  return prior;
}

template <typename Request>
void AddPrior(const OnePrior& prior, std::vector<Request>* requests) {
  if (!prior.names.empty()) {
    requests->emplace_back();
    requests->back().mutable_prior_features()->mutable_names()->Add(
        prior.names.begin(), prior.names.end());
  }
  if (!prior.whole || prior.entries.size() == 0) return;
  WriteChunks(prior.entries, [&](const v1::RealChunk& chunk) {
    requests->emplace_back();
    *requests->back().mutable_prior() = chunk;
    return true;
  });
}

// Demands that the kept priors suit a fit, and are not more than was sent.
void DemandKept(const std::string& run_id, std::uint64_t numbers,
                World* world) {
  const auto state = world->store->ReadLearner(run_id);
  Demand(state.ok(), "a run that cannot be read");
  std::vector<int> rows(kFeatures);
  std::iota(rows.begin(), rows.end(), 0);
  const auto kept = analyst::PriorsOf(*state, rows);
  if (kept == nullptr) return Count("no priors");
  const absl::Status sound = CheckPriors(*kept, kFeatures);
  Demand(sound.ok(), "unsound priors: " + sound.ToString());
  Count("priors");
  Demand(static_cast<std::uint64_t>(analyst::PeopleOf(*state).cols()) <=
             numbers + kMostEmptyColumns,
         "more columns than anybody sent");
}

// W of a run that has ended, if it has one.
void DemandFitted(const std::string& run_id, World* world) {
  const absl::Status watched = world->manager->Watch(
      run_id, 0, [](const v1::RunEvent&) { return true; },
      [] { return false; });
  Demand(watched.ok(), "a run that does not end");
  const auto run = world->manager->Get(run_id);
  Demand(run.ok(), "a run that is gone");
  Count("fit " + v1::RunState_Name(run->state()));
  if (run->state() != v1::RUN_STATE_COMPLETED) return;
  const auto model = world->store->ReadModel(run_id);
  Demand(model.ok() && model->w.allFinite() && model->w.minCoeff() >= 0,
         "a W that is not feasible");
}

// A start or a refit with up to three priors.
void FuzzPriors(FuzzInput* bytes, World* world) {
  std::vector<OnePrior> priors;
  std::uint64_t numbers = 0;
  const bool starts = bytes->Byte() >= 192;
  for (int left = 1 + bytes->Byte() % 3; left > 0; --left) {
    priors.push_back(PriorOf(bytes, *world));
    numbers += static_cast<std::uint64_t>(priors.back().entries.size());
  }
  grpc::ClientContext context;
  v1::Run run;
  grpc::Status ended;
  const auto send = [&](const auto& writer, const auto& requests) {
    for (const auto& request : requests)
      if (!writer->Write(request)) break;
    writer->WritesDone();
    return writer->Finish();
  };
  if (starts) {
    std::vector<v1::StartRunRequest> requests(1);
    v1::RunSpecification& specification = *requests[0].mutable_specification();
    specification = analyst::FakeSpecification(
        kRank, 1, bytes->Byte() < 224 ? "moments" : "gradient");
    for (const OnePrior& prior : priors) {
      *requests[0].mutable_specification()->add_priors() = prior.header;
      AddPrior(prior, &requests);
    }
    ended = send(world->stub->StartRun(&context, &run), requests);
  } else {
    std::vector<v1::RefitRunRequest> requests(1);
    requests[0].mutable_refit()->set_run_id(world->paid);
    requests[0].mutable_refit()->set_rank(1 + bytes->Below(3));
    for (const OnePrior& prior : priors) {
      *requests[0].mutable_refit()->add_priors() = prior.header;
      AddPrior(prior, &requests);
    }
    ended = send(world->stub->RefitRun(&context, &run), requests);
  }
  if (!ended.ok()) Count(ReasonCode(FromGrpc(ended)));
  if (!Answered(starts ? "start with priors" : "refit with priors", ended))
    return;
  world->last_run = run.run_id();
  DemandKept(run.run_id(), numbers, world);
  if (!starts) DemandFitted(run.run_id(), world);
}

void FuzzPaid(int call, FuzzInput* bytes, World* world) {
  const std::string run_id = bytes->Byte() < 192
                                 ? world->paid
                                 : std::string(bytes->Bytes(bytes->Below(40)));
  if (call == 0) return FuzzRefit(run_id, bytes, world);
  if (call == 1) return FuzzAdd(bytes, world);
  grpc::ClientContext context;
  if (call == 2) {
    v1::ChooseRankRequest request;
    request.set_run_id(run_id);
    for (int left = bytes->Byte() % 3; left > 0; --left)
      request.add_ranks(bytes->Below(8));
    request.set_seeds(bytes->Byte() < 224 ? 2 : bytes->Byte());
    if (request.ranks().empty()) request.add_ranks(1);
    return ReadToEnd<v1::ChooseRankReply>(
        "choose", world->stub->ChooseRank(&context, request));
  }
  if (call == 3) {
    v1::GetReleaseRequest request;
    request.set_run_id(run_id);
    request.set_matrices(bytes->Bit());
    return ReadToEnd<v1::ReleaseReply>(
        "release", world->stub->GetRelease(&context, request));
  }
  v1::SynthesiseRequest request;
  request.set_run_id(run_id);
  request.set_count(bytes->Byte());
  request.set_seed(bytes->LongWord());
  request.set_feature_names(bytes->Bit());
  ReadToEnd<v1::SynthesiseReply>("synthesise",
                                 world->stub->Synthesise(&context, request));
}

void FuzzCall(FuzzInput* bytes, World* world) {
  grpc::ClientContext context;
  const int kind = bytes->Byte();
  if (kind >= kWithPriors) return FuzzPriors(bytes, world);
  if (kind >= 192) return FuzzPaid(kind % 5, bytes, world);
  const int call = kind % 8;
  const std::string run_id = bytes->Byte() < 192
                                 ? world->last_run
                                 : std::string(bytes->Bytes(bytes->Below(40)));
  if (call <= 2) return FuzzStart(bytes, world);
  if (call == 3) return FuzzWatch(run_id, bytes, world);
  if (call == 4) return FuzzModel(run_id, world);
  if (call == 5) {
    v1::PlanRunRequest request;
    *request.mutable_specification() = SpecificationOf(bytes);
    v1::PlanRunReply reply;
    Answered("plan", world->stub->PlanRun(&context, request, &reply));
    return;
  }
  v1::Run run;
  if (call == 6) {
    v1::CancelRunRequest request;
    request.set_run_id(run_id);
    Answered("cancel", world->stub->CancelRun(&context, request, &run));
    return;
  }
  v1::GetBudgetRequest budget;
  budget.set_dataset(bytes->Bit() ? world->fake.dataset().name() : run_id);
  v1::GetBudgetReply reply;
  Answered("budget", world->stub->GetBudget(&context, budget, &reply));
  grpc::ClientContext other;
  v1::GetRunRequest get;
  get.set_run_id(run_id);
  Answered("run", world->stub->GetRun(&other, get, &run));
}

std::string Seed(std::initializer_list<int> bytes) {
  std::string seed;
  for (const int byte : bytes) seed.push_back(static_cast<char>(byte));
  return seed;
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  // The caller; then calls. A start: statistics, random W_0.
  const std::string start = Seed({0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::string rest = Seed({3, 0, 0, 0, 4, 0, 6, 0, 7, 0, 1});
  for (const int caller : {0, 1, 2}) {
    seeds.push_back(Seed({caller}) + start + rest);
    for (int mechanism = 0; mechanism < 7; ++mechanism)
      seeds.push_back(Seed({caller, 5, 0, mechanism, 0, 0, 0, 0}) + rest);
  }
  for (const int special : {0, 192}) {  // a public W_0 in one chunk
    seeds.push_back(Seed({0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, special, 12}) +
                    std::string(12, 17) + Seed({0}) + rest);
  }
  seeds.push_back(Seed({0, 0, 0, 255, 0}) + rest);
  // Calls on the paid release: 195 is a refit, 196 an upload, 192 a choice, 193
  // the release, 194 people.
  for (const int caller : {0, 1, 2}) {
    seeds.push_back(Seed({caller, 195, 0, 0, 0, 3, 1, 0, 0, 0}) + rest);
    seeds.push_back(Seed({caller, 196, 0, 0}) + rest);
    for (const int change : {0, 1, 2})
      seeds.push_back(Seed({caller, 196, 0, 1, change, change, 4}) + rest);
    seeds.push_back(Seed({caller, 192, 0, 2, 1, 2, 0}) + rest);
    seeds.push_back(Seed({caller, 193, 0, 0, 193, 0, 1}) + rest);
    seeds.push_back(Seed({caller, 194, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 1}));
  }
  // Priors of each kind, refitted and started with; of special numbers, with
  // names, and of two at once.
  for (const int starts : {0, 192}) {
    const auto seed = [&](const std::string& priors) {
      seeds.push_back(Seed({0, kWithPriors, starts}) + priors);
    };
    const std::string ones(40, 64), end = Seed({0, 0, 0, 0, 2});
    seed(Seed({0, 0, 0, 1, 0, 0}) + ones.substr(0, 12) + end);
    seed(Seed({0, 1, 0, 1, 0}) + ones.substr(0, 12) + end);
    seed(Seed({0, 2, 0, 0}) + ones.substr(0, 36) + end);
    seed(Seed({0, 3, 0, 2}));
    seed(Seed({0, 4, 0, 1, 0}) + ones.substr(0, 12) + end);
    seed(Seed({1, 3, 0, 1, 0, 1, 0}) + ones.substr(0, 12) + end);
    // Entries of 1.8e308 and of 1e300: 8 and 10 of the special doubles.
    for (const char special : {8, 10, 2, 3, 5}) {
      seed(Seed({0, 0, 0, 1, 0, 192}) + std::string(12, special) + end);
      seed(Seed({0, 1, 0, 1, 192}) + std::string(12, special) + end);
      seed(Seed({0, 2, 0, 192}) + std::string(36, special) + end);
    }
    // Triples; one of them past the shape; and of far too many columns.
    const std::string sparse = Seed({0, 0, 0, 1, 1, 0}) + ones.substr(0, 12);
    seed(sparse + Seed({1, 2, 1, 18, 0, 0, 0, 17, 0}) + end);
    seed(sparse + Seed({0, 6, 1, 18, 0}) + end);
    seed(sparse + Seed({0, 2, 5, 18, 0}) + end);
    seed(sparse + Seed({0, 2, 1, 18, 255, 0, 0, 0, 1, 0, 0, 0, 0}) + end);
    // A prior of three features; a prior for a run that takes none.
    seed(Seed({0, 1, 228, 1, 0}) + ones.substr(0, 6) + end);
    seed(Seed({0, 1, 0, 1, 0}) + ones.substr(0, 12) + Seed({0, 0, 0, 0, 255}));
    // Names, which the data set does not have; another digest; no entries.
    seed(Seed({0, 1, 0, 1, 0}) + ones.substr(0, 12) +
         Seed({192, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
    seed(Seed({0, 1, 0, 1, 0}) + ones.substr(0, 12) + Seed({0, 255, 0, 0, 2}));
    seed(Seed({0, 1, 0, 1, 0}) + ones.substr(0, 12) + Seed({0, 0, 255, 0, 2}));
  }
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes;
  for (const std::string call :
       {"start", "watch", "model", "plan", "cancel", "budget", "run", "refit",
        "add", "choose", "release", "synthesise", "start with priors",
        "refit with priors"}) {
    // No run that is asked for its model has learned anything, but for refits.
    if (call != "model") outcomes.push_back(call + " answered");
    outcomes.push_back(call + " refused");
  }
  for (const char* what :
       {"priors", "fit RUN_STATE_COMPLETED", "prior-differs",
        "prior-shape-invalid", "prior-not-finite", "prior-too-large",
        "prior-kind-unknown", "prior-features-differ", "prior-unused"})
    outcomes.push_back(what);
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  SetLogLevel("off");
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  static World world;
  constexpr const char* kCallers[] = {"dns:alice.client", "dns:audit.client",
                                      "dns:stranger"};
  FuzzInput bytes(data, size);
  const std::uint8_t caller = bytes.Byte();
  world.caller = kCallers[caller < 192 ? caller % 3 : 0];
  for (int calls = 0; calls < 6 && !bytes.empty(); ++calls)
    FuzzCall(&bytes, &world);
}

[[maybe_unused]] const bool kRegistered =
    Register({"client_requests", 500, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::client_requests
