// A client of the analyst's service that sends anything: every call, any
// messages, any order of W_0's chunks, listed or not. Answered, or refused with
// a documented code and one sentence; what is started is what was asked for.
#include <memory>
#include <vector>

#include "analyst/planner.h"
#include "analyst/sent_release.h"
#include "analyst/service.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/analyst/fake_curator.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz {
namespace {

constexpr int kFeatures = 6, kRank = 2;
constexpr char kClients[] = R"({"clients": [
  {"identity": "dns:alice.client", "roles": ["analyst"]},
  {"identity": "dns:audit.client", "roles": ["auditor"]}]})";

// One of each for the process. Who calls is what the input says.
struct World {
  World() : fake(analyst::FakeData(kFeatures, 20)) {
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

}  // namespace

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
  // What is made of the paid release: 195 is a refit, 196 an upload, 192 a
  // choice, 193 the release, 194 people.
  for (const int caller : {0, 1, 2}) {
    seeds.push_back(Seed({caller, 195, 0, 0, 0, 3, 1, 0, 0, 0}) + rest);
    seeds.push_back(Seed({caller, 196, 0, 0}) + rest);
    for (const int change : {0, 1, 2})
      seeds.push_back(Seed({caller, 196, 0, 1, change, change, 4}) + rest);
    seeds.push_back(Seed({caller, 192, 0, 2, 1, 2, 0}) + rest);
    seeds.push_back(Seed({caller, 193, 0, 0, 193, 0, 1}) + rest);
    seeds.push_back(Seed({caller, 194, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 1}));
  }
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes;
  for (const std::string call :
       {"start", "watch", "model", "plan", "cancel", "budget", "run", "refit",
        "add", "choose", "release", "synthesise"}) {
    // No run that is asked for its model has learnt anything, but for refits.
    if (call != "model") outcomes.push_back(call + " answered");
    outcomes.push_back(call + " refused");
  }
  return outcomes;
}

}  // namespace dpnmf::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpnmf::fuzz;  // NOLINT(google-build-using-namespace)
  dpnmf::SetLogLevel("off");
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
  return 0;
}
