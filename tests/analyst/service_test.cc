// The service behind a real gRPC server, in this process.
#include "analyst/serve/service.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

constexpr char kClients[] = R"({"peers": [
  {"identity": "dns:alice.client", "roles": ["analyst"]},
  {"identity": "dns:audit.client", "roles": ["auditor"]}]})";

// There is no certificate in these tests: the caller says who it is.
std::vector<std::string> NameInMetadata(
    const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find("test-identity");
  if (found == context.client_metadata().end()) return {};
  return {std::string(found->second.data(), found->second.size())};
}

class ServiceTest : public testing::Test {
 protected:
  explicit ServiceTest(int features = 6, std::chrono::milliseconds upload_idle =
                                             std::chrono::hours(1))
      : curator_(FakeData(features, 40)), upload_idle_(upload_idle) {}

  void SetUp() override {
    store_ = *RunStore::Open(directory_.path());
    manager_ = *RunManager::Create(store_.get(), &curator_, {});
    service_ = MakeAnalystService({.runs = manager_.get(),
                                   .store = store_.get(),
                                   .curator = &curator_,
                                   .clients = *ClientList::Parse(kClients),
                                   .identities_of = &NameInMetadata,
                                   .upload_idle = upload_idle_});
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::AnalystService::NewStub(server_->InProcessChannel({}));
  }
  void TearDown() override {
    manager_->Stop();
    server_->Shutdown();
  }

  std::unique_ptr<grpc::ClientContext> As(const std::string& identity) {
    auto context = std::make_unique<grpc::ClientContext>();
    if (!identity.empty()) context->AddMetadata("test-identity", identity);
    return context;
  }
  std::unique_ptr<grpc::ClientContext> AsAlice() {
    return As("dns:alice.client");
  }

  // The request, then W_0 if there is one.
  template <typename Request>
  static void SendWithStart(Request request, const Eigen::MatrixXd* w0,
                            grpc::ClientWriter<Request>* writer) {
    writer->Write(request);
    if (w0 != nullptr) {
      WriteChunks(*w0, [&](const v1::RealChunk& chunk) {
        *request.mutable_dictionary() = chunk;
        return writer->Write(request);
      });
    }
    writer->WritesDone();
  }

  // The run, or the reason code of the refusal in *code.
  v1::Run Start(const v1::RunSpecification& specification,
                const Eigen::MatrixXd* w0 = nullptr,
                std::string* code = nullptr,
                const std::string& identity = "dns:alice.client") {
    const auto context = As(identity);
    v1::Run run;
    const auto writer = stub_->StartRun(context.get(), &run);
    v1::StartRunRequest request;
    *request.mutable_specification() = specification;
    SendWithStart(request, w0, writer.get());
    const grpc::Status status = writer->Finish();
    if (code != nullptr) {
      *code = ReasonCode(FromGrpc(status));
    } else {
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    return run;
  }

  // The child, or the reason code of the refusal in *code.
  v1::Run Refit(const v1::Refit& refit, const Eigen::MatrixXd* w0,
                std::string* code,
                const std::string& identity = "dns:alice.client") {
    const auto context = As(identity);
    v1::Run run;
    const auto writer = stub_->RefitRun(context.get(), &run);
    v1::RefitRunRequest request;
    *request.mutable_refit() = refit;
    SendWithStart(request, w0, writer.get());
    *code = ReasonCode(FromGrpc(writer->Finish()));
    return run;
  }

  std::string GetRelease(const std::string& run_id, bool matrices,
                         std::vector<v1::ReleaseReply>* messages,
                         const std::string& identity = "dns:alice.client") {
    const auto context = As(identity);
    v1::GetReleaseRequest request;
    request.set_run_id(run_id);
    request.set_matrices(matrices);
    const auto reader = stub_->GetRelease(context.get(), request);
    messages->clear();
    for (v1::ReleaseReply reply; reader->Read(&reply);)
      messages->push_back(reply);
    return ReasonCode(FromGrpc(reader->Finish()));
  }

  std::string AddRelease(const std::vector<v1::ReleaseReply>& messages,
                         v1::Run* run,
                         const std::string& identity = "dns:alice.client") {
    const auto context = As(identity);
    const auto writer = stub_->AddRelease(context.get(), run);
    for (const v1::ReleaseReply& message : messages)
      if (!writer->Write(message)) break;
    writer->WritesDone();
    return ReasonCode(FromGrpc(writer->Finish()));
  }

  std::vector<v1::RunEvent> Watch(const std::string& run_id,
                                  std::uint64_t cursor = 0) {
    const auto context = AsAlice();
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    request.set_cursor(cursor);
    const auto reader = stub_->WatchRun(context.get(), request);
    std::vector<v1::RunEvent> events;
    v1::RunEvent event;
    while (reader->Read(&event)) events.push_back(event);
    EXPECT_TRUE(reader->Finish().ok());
    return events;
  }

  Eigen::MatrixXd GetModel(const std::string& run_id, v1::ModelHeader* header) {
    const auto context = AsAlice();
    v1::GetModelRequest request;
    request.set_run_id(run_id);
    const auto reader = stub_->GetModel(context.get(), request);
    v1::ModelReply reply;
    EXPECT_TRUE(reader->Read(&reply));
    *header = reply.header();
    auto matrix = *RealMatrixReader::Create(header->shape(), 1 << 20, 1 << 20);
    while (reader->Read(&reply))
      EXPECT_TRUE(matrix.Add(reply.dictionary()).ok());
    EXPECT_TRUE(reader->Finish().ok());
    return matrix.Take();
  }

  // Returns the code with which GetModel refuses before it sends anything.
  std::string ModelRefusal(const std::string& run_id) {
    const auto context = AsAlice();
    v1::GetModelRequest request;
    request.set_run_id(run_id);
    const auto reader = stub_->GetModel(context.get(), request);
    v1::ModelReply reply;
    while (reader->Read(&reply)) ADD_FAILURE() << reply.ShortDebugString();
    return ReasonCode(FromGrpc(reader->Finish()));
  }

  // A run after one round that left this in its memory.
  void StoreRun(const std::string& run_id, const std::string& mechanism,
                const std::string& memory, v1::RunState state,
                bool unlearned = false) {
    RunRecord record;
    record.run.set_run_id(run_id);
    *record.run.mutable_specification() = FakeSpecification(3, 2, mechanism);
    record.run.set_state(v1::RUN_STATE_RUNNING);
    FinishedRound finished;
    finished.round = 1;
    finished.charge.run_id = run_id;
    finished.charge.round = 1;
    finished.state.w = RandomDictionary(6, 3, 7);
    ASSERT_TRUE(store_->Add(record, finished.state).ok());
    finished.state.memory[memory] = Eigen::MatrixXd::Ones(1, 1);
    finished.state.unlearned = unlearned;
    ASSERT_TRUE(store_->FinishRound(run_id, finished).ok());
    StateChange change;
    change.state = state;
    ASSERT_TRUE(store_->ChangeState(run_id, change).ok());
  }

  TemporaryDirectory directory_;
  FakeCurator curator_;
  const std::chrono::milliseconds upload_idle_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RunManager> manager_;
  std::shared_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::AnalystService::Stub> stub_;
};

TEST_F(ServiceTest, TrainsWatchesShowsAndAccounts) {
  const v1::Run run = Start(FakeSpecification(3, 4));
  EXPECT_EQ(run.started_by(), "dns:alice.client");
  EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);

  v1::GetRunRequest get;
  get.set_run_id(run.run_id());
  v1::Run shown;
  ASSERT_TRUE(stub_->GetRun(AsAlice().get(), get, &shown).ok());
  EXPECT_EQ(shown.rounds_done(), 4u);

  v1::ListRunsReply list;
  ASSERT_TRUE(stub_->ListRuns(AsAlice().get(), {}, &list).ok());
  EXPECT_EQ(list.runs_size(), 1);

  v1::ModelHeader header;
  EXPECT_EQ(GetModel(run.run_id(), &header),
            store_->ReadModel(run.run_id())->w);
  EXPECT_EQ(header.rounds_done(), 4u);

  v1::GetBudgetRequest ask;
  ask.set_dataset("toy");
  v1::GetBudgetReply budget;
  ASSERT_TRUE(stub_->GetBudget(AsAlice().get(), ask, &budget).ok());
  EXPECT_TRUE(budget.agree()) << budget.disagreement();
  EXPECT_EQ(budget.own_charge_count(), 4u);
}

TEST_F(ServiceTest, NamesOfFeaturesAreFetchedOnceAndComeWithTheModel) {
  ItemList list;
  const std::uint64_t features = curator_.dataset().features();
  for (std::uint64_t i = 0; i < features; ++i)
    list.ids.push_back("word " + std::to_string(i));
  list.names.resize(features);
  list.features.resize(static_cast<Eigen::Index>(features), 0);
  curator_.named_features = true;
  std::atomic<int> asked{0};
  curator_.items = [&](std::uint64_t first) {
    ++asked;
    return ItemPage(list, first);
  };
  const v1::Run run = Start(FakeSpecification(3, 4));
  EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(StoredNames(run.run_id(), store_.get()), list.ids);
  for (const bool wanted : {false, true}) {
    v1::GetModelRequest request;
    request.set_run_id(run.run_id());
    request.set_feature_names(wanted);
    const auto context = AsAlice();
    const auto reader = stub_->GetModel(context.get(), request);
    std::vector<std::string> names;
    for (v1::ModelReply reply; reader->Read(&reply);) {
      for (const v1::Item& item : reply.items().items())
        names.push_back(item.id());
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(names, wanted ? list.ids : std::vector<std::string>());
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(ServiceTest, WeightsOfFeaturesComeWithTheModel) {
  ItemList list;
  const std::uint64_t features = curator_.dataset().features();
  for (std::uint64_t i = 1; i <= features; ++i) {
    list.ids.push_back(std::to_string(i));
    list.weights.push_back(static_cast<double>(i) / 4);
  }
  list.names.resize(features);
  list.features.resize(static_cast<Eigen::Index>(features), 0);
  curator_.weighted_features = true;
  curator_.items = [&](std::uint64_t first) { return ItemPage(list, first); };
  const v1::Run run = Start(FakeSpecification(3, 2));
  EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_TRUE(StoredNames(run.run_id(), store_.get()).empty());
  v1::GetModelRequest request;
  request.set_run_id(run.run_id());
  request.set_feature_names(true);
  const auto context = AsAlice();
  const auto reader = stub_->GetModel(context.get(), request);
  std::vector<double> weights;
  for (v1::ModelReply reply; reader->Read(&reply);)
    weights.insert(weights.end(), reply.items().weights().begin(),
                   reply.items().weights().end());
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(weights, list.weights);
}

TEST_F(ServiceTest, ARunGoesOnWithoutNamesThatAreMalformed) {
  curator_.named_features = true;
  const std::function<void(v1::ListItemsReply*)> spoils[] = {
      [](v1::ListItemsReply* page) {
        page->mutable_items(0)->set_id("\x1b[2J");
      },
      [](v1::ListItemsReply* page) {
        page->mutable_items(0)->set_name("more");
      },
      [](v1::ListItemsReply* page) { page->clear_items(); }};
  for (const auto& spoil : spoils) {
    curator_.items = [&](std::uint64_t first) {
      v1::ListItemsReply page;
      page.set_first(first);
      page.add_items()->set_id("word");
      spoil(&page);
      return page;
    };
    const v1::Run run = Start(FakeSpecification(3, 2));
    EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
    EXPECT_TRUE(StoredNames(run.run_id(), store_.get()).empty());
    v1::ModelHeader header;
    EXPECT_EQ(GetModel(run.run_id(), &header).cols(), 3);
  }
}

TEST_F(ServiceTest, ADictionaryThatNothingWasLearnedForIsNotHandedOut) {
  StoreRun("classes", "class_moments", "Z", v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(ModelRefusal("classes"), "model-not-ready");
  StoreRun("ending", "statistics", "A", v1::RUN_STATE_CANCELLING,
           /*unlearned=*/true);
  EXPECT_EQ(ModelRefusal("ending"), "model-not-ready");
  curator_.lost_rounds = {1};
  const v1::Run lost = Start(FakeSpecification(3, 1, "moments"));
  EXPECT_EQ(Watch(lost.run_id()).back().state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(store_->Get(lost.run_id())->run.error_code(), "release-lost");
  EXPECT_EQ(ModelRefusal(lost.run_id()), "model-not-ready");
  StoreRun("learned", "statistics", "A", v1::RUN_STATE_CANCELLING);
  v1::ModelHeader header;
  EXPECT_EQ(GetModel("learned", &header).rows(), 6);
}

TEST_F(ServiceTest, RefusesStandardErrorsThatARunHasNotBeforeItSendsAnything) {
  v1::RunSpecification specification = FakeSpecification(3, 2);
  specification.mutable_parameters()->set_mechanism("gradient");
  const v1::Run run = Start(specification);
  Watch(run.run_id());
  const auto context = AsAlice();
  v1::GetModelRequest request;
  request.set_run_id(run.run_id());
  request.set_standard_errors(true);
  const auto reader = stub_->GetModel(context.get(), request);
  v1::ModelReply reply;
  EXPECT_FALSE(reader->Read(&reply));
  EXPECT_EQ(ReasonCode(FromGrpc(reader->Finish())), "errors-unavailable");
}

TEST_F(ServiceTest, APaidReleaseIsRefittedHandedOutAndTakenBack) {
  const v1::Run paid = Start(FakeSpecification(2, 1, "moments"));
  ASSERT_EQ(Watch(paid.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
  v1::Refit refit;
  refit.set_run_id(paid.run_id());
  refit.set_rank(3);
  std::string code;
  const v1::Run child = Refit(refit, nullptr, &code);
  ASSERT_EQ(code, "");
  EXPECT_EQ(child.parent(), paid.run_id());
  EXPECT_EQ(Watch(child.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
  v1::ModelHeader header;
  EXPECT_EQ(GetModel(child.run_id(), &header).cols(), 3);
  EXPECT_EQ(header.dataset().name(), "toy");
  refit.mutable_learner()->set_initialisation(v1::INITIALISATION_PUBLIC);
  const Eigen::MatrixXd start = RandomDictionary(6, 3, 1);
  const v1::Run begun = Refit(refit, &start, &code);
  ASSERT_EQ(code, "");
  EXPECT_NE(begun.run_id(), child.run_id());
  const Eigen::MatrixXd wide = RandomDictionary(6, 4, 1);
  Refit(refit, &wide, &code);
  EXPECT_EQ(code, "matrix-chunk");

  std::vector<v1::ReleaseReply> release, matrices;
  EXPECT_EQ(GetRelease(child.run_id(), false, &release), "");
  ASSERT_EQ(release.size(), 3u);  // header, round, chunk
  EXPECT_EQ(release[0].header().run().run_id(), paid.run_id());
  EXPECT_EQ(release[0].header().run().started_by(), "");
  EXPECT_EQ(GetRelease(child.run_id(), true, &matrices), "");
  ASSERT_EQ(matrices.size(), 3u);  // header, G, rows
  EXPECT_EQ(matrices[1].matrix().entries().values_size(), 36);
  EXPECT_GT(matrices[1].matrix().stddev(), 0);
  v1::Run again;
  EXPECT_EQ(AddRelease(release, &again), "");
  EXPECT_EQ(again.run_id(), paid.run_id());
  EXPECT_FALSE(again.added());
  EXPECT_EQ(AddRelease(matrices, &again), "release-malformed");

  v1::GetBudgetRequest ask;
  ask.set_dataset("toy");
  v1::GetBudgetReply budget;
  ASSERT_TRUE(stub_->GetBudget(AsAlice().get(), ask, &budget).ok());
  EXPECT_TRUE(budget.agree()) << budget.disagreement();
  EXPECT_EQ(budget.own_charge_count(), 1u);
}

class ImpatientServiceTest : public ServiceTest {
 protected:
  ImpatientServiceTest() : ServiceTest(6, std::chrono::milliseconds(1)) {}
};

// The client neither sends nor ends; without the limit its own deadline ends
// the call.
TEST_F(ImpatientServiceTest, AnUploadThatDoesNotMoveIsCancelled) {
  const auto context = AsAlice();
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::minutes(1));
  v1::Run run;
  const auto writer = stub_->AddRelease(context.get(), &run);
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(store_->List()->empty());
}

TEST_F(ImpatientServiceTest, AStartThatDoesNotMoveIsCancelled) {
  for (const bool begun : {false, true}) {
    const auto context = AsAlice();
    context->set_deadline(std::chrono::system_clock::now() +
                          std::chrono::minutes(1));
    v1::Run run;
    const auto writer = stub_->StartRun(context.get(), &run);
    v1::StartRunRequest request;
    *request.mutable_specification() = FakeSpecification(3, 2);
    if (begun) writer->Write(request);
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_TRUE(store_->List()->empty());
  }
}

TEST_F(ImpatientServiceTest, ARefitThatDoesNotMoveIsCancelled) {
  const auto context = AsAlice();
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::minutes(1));
  v1::Run run;
  const auto writer = stub_->RefitRun(context.get(), &run);
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServiceTest, ARequestIdIsOneRunForItsClient) {
  v1::RunSpecification specification = FakeSpecification(3, 2);
  specification.set_request_id("a.b-C_1");
  specification.mutable_learner()->set_initialisation(
      v1::INITIALISATION_PUBLIC);
  const Eigen::MatrixXd start = RandomDictionary(6, 3, 1);
  const v1::Run run = Start(specification, &start);
  EXPECT_EQ(run.specification().request_id(), "a.b-C_1");
  Watch(run.run_id());
  const std::size_t charges = curator_.charges();
  EXPECT_EQ(Start(specification, &start).run_id(), run.run_id());
  std::string code;
  const Eigen::MatrixXd other = RandomDictionary(6, 3, 2);
  Start(specification, &other, &code);
  EXPECT_EQ(code, "request-differs");
  Start(specification, nullptr, &code);
  EXPECT_EQ(code, "request-differs");
  specification.mutable_parameters()->set_rank(4);
  Start(specification, &start, &code);
  EXPECT_EQ(code, "request-differs");
  for (const std::string& id :
       {std::string("a b"), std::string("a/b"), std::string(65, 'a')}) {
    specification.set_request_id(id);
    Start(specification, &start, &code);
    EXPECT_EQ(code, "request-id-malformed");
  }
  EXPECT_EQ(curator_.charges(), charges);
  EXPECT_EQ(store_->List()->size(), 1u);
}

TEST_F(ServiceTest, AnAuditorReadsReleasesAndAddsOrRefitsNone) {
  const v1::Run paid = Start(FakeSpecification(2, 1, "moments"));
  Watch(paid.run_id());
  std::vector<v1::ReleaseReply> release;
  EXPECT_EQ(GetRelease(paid.run_id(), false, &release, "dns:audit.client"), "");
  v1::Run run;
  EXPECT_EQ(AddRelease(release, &run, "dns:audit.client"), "role-missing");
  std::string code;
  v1::Refit refit;
  refit.set_run_id(paid.run_id());
  Refit(refit, nullptr, &code, "dns:audit.client");
  EXPECT_EQ(code, "role-missing");
  EXPECT_EQ(GetRelease(paid.run_id(), false, &release, ""), "identity-unknown");
  EXPECT_TRUE(release.empty());
  EXPECT_EQ(AddRelease(release, &run, ""), "identity-unknown");
  Refit(refit, nullptr, &code, "dns:mallory.client");
  EXPECT_EQ(code, "identity-unknown");
  EXPECT_EQ(store_->List()->size(), 1u);
}

TEST_F(ServiceTest, RefusesFactsOfAReleaseThatARunHasNotBeforeItSendsAnything) {
  v1::RunSpecification specification = FakeSpecification(3, 2);
  specification.mutable_parameters()->set_mechanism("gradient");
  const v1::Run run = Start(specification);
  Watch(run.run_id());
  {
    const auto context = AsAlice();
    v1::GetModelRequest request;
    request.set_run_id(run.run_id());
    request.set_parts(true);
    const auto reader = stub_->GetModel(context.get(), request);
    v1::ModelReply reply;
    EXPECT_FALSE(reader->Read(&reply));
    EXPECT_EQ(ReasonCode(FromGrpc(reader->Finish())), "errors-unavailable");
  }
  const auto choose = [&](const std::string& run_id) {
    const auto context = AsAlice();
    v1::ChooseRankRequest request;
    request.set_run_id(run_id);
    const auto reader = stub_->ChooseRank(context.get(), request);
    v1::ChooseRankReply reply;
    EXPECT_FALSE(reader->Read(&reply));
    return ReasonCode(FromGrpc(reader->Finish()));
  };
  EXPECT_EQ(choose(run.run_id()), "release-missing");
  EXPECT_EQ(choose("nobody"), "run-unknown");
}

TEST_F(ServiceTest, DrawsPeopleFromAPaidReleaseForNothing) {
  RunRecord record;
  record.run.set_run_id("paid");
  *record.run.mutable_specification() = FakeSpecification(3, 1, "moments");
  record.run.mutable_specification()->mutable_parameters()->set_moment_rows(6);
  record.run.set_state(v1::RUN_STATE_RUNNING);
  v1::StagePlan& stage = *record.run.mutable_plan()->add_stages();
  stage.set_release("moments");
  stage.add_parts()->set_name("G");
  stage.mutable_parts(0)->set_stddev(1e-3);
  stage.mutable_parts(0)->set_diagonal_stddev(2e-3);
  FinishedRound finished;
  finished.round = 1;
  finished.charge.run_id = "paid";
  finished.charge.round = 1;
  finished.state.w = RandomDictionary(6, 3, 7);
  ASSERT_TRUE(store_->Add(record, finished.state).ok());
  finished.state.memory["G"] = Eigen::MatrixXd::Constant(6, 6, 0.1);
  ASSERT_TRUE(store_->FinishRound("paid", finished).ok());
  const std::uint64_t charges = curator_.charges();
  v1::SynthesiseRequest request;
  request.set_run_id("paid");
  request.set_count(50);
  std::vector<double> first;
  for (int time = 0; time < 2; ++time) {
    const auto context = As("dns:audit.client");
    const auto reader = stub_->Synthesise(context.get(), request);
    v1::SynthesiseReply reply;
    ASSERT_TRUE(reader->Read(&reply));
    EXPECT_EQ(reply.header().count(), 50u);
    EXPECT_EQ(reply.header().features(), curator_.dataset().features());
    std::vector<double> people;
    while (reader->Read(&reply)) {
      people.insert(people.end(), reply.people().values().begin(),
                    reply.people().values().end());
    }
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(people.size(), 50 * curator_.dataset().features());
    if (time == 0) first = people;
    EXPECT_EQ(people, first);
  }
  EXPECT_EQ(curator_.charges(), charges);
}

TEST_F(ServiceTest, DrawsNoPeopleWithoutAReleaseOfMoments) {
  StoreRun("learned", "statistics", "A", v1::RUN_STATE_COMPLETED);
  for (const auto& [run, code] : {std::pair("learned", "release-missing"),
                                  std::pair("none", "run-unknown")}) {
    v1::SynthesiseRequest request;
    request.set_run_id(run);
    request.set_count(5);
    const auto context = AsAlice();
    const auto reader = stub_->Synthesise(context.get(), request);
    v1::SynthesiseReply reply;
    EXPECT_FALSE(reader->Read(&reply));
    EXPECT_EQ(ReasonCode(FromGrpc(reader->Finish())), code);
  }
}

TEST_F(ServiceTest, AnAuditorReadsAndDoesNotStartOrCancel) {
  v1::ListDatasetsReply datasets;
  EXPECT_TRUE(
      stub_->ListDatasets(As("dns:audit.client").get(), {}, &datasets).ok());
  EXPECT_EQ(datasets.datasets_size(), 1);
  std::string code;
  Start(FakeSpecification(3, 4), nullptr, &code, "dns:audit.client");
  EXPECT_EQ(code, "role-missing");
  v1::Run run;
  EXPECT_EQ(ReasonCode(FromGrpc(
                stub_->CancelRun(As("dns:audit.client").get(), {}, &run))),
            "role-missing");
  EXPECT_TRUE(store_->List()->empty());
}

TEST_F(ServiceTest, ARunIsForgottenByWhoStartedItOnceItHasEnded) {
  const v1::Run run = Start(FakeSpecification(3, 2));
  Watch(run.run_id());
  v1::ForgetRunRequest request;
  request.set_run_id(run.run_id());
  v1::ForgetRunReply reply;
  const auto forget = [&](const char* who) {
    return ReasonCode(
        FromGrpc(stub_->ForgetRun(As(who).get(), request, &reply)));
  };
  EXPECT_EQ(forget("dns:audit.client"), "role-missing");
  EXPECT_EQ(forget("dns:mallory.client"), "identity-unknown");
  EXPECT_EQ(forget("dns:alice.client"), "");
  EXPECT_EQ(reply.charge_count(), 2u);
  EXPECT_EQ(forget("dns:alice.client"), "run-unknown");
  v1::GetBudgetReply budget;
  v1::GetBudgetRequest ask;
  ask.set_dataset(run.specification().parameters().dataset());
  ASSERT_TRUE(stub_->GetBudget(AsAlice().get(), ask, &budget).ok());
  EXPECT_TRUE(budget.agree()) << budget.disagreement();
}

TEST_F(ServiceTest, AStrangerGetsNothingFromAnyMethod) {
  for (const char* identity : {"", "dns:mallory.client"}) {
    const auto code = [](const grpc::Status& status) {
      return ReasonCode(FromGrpc(status));
    };
    v1::ListDatasetsReply datasets;
    EXPECT_EQ(code(stub_->ListDatasets(As(identity).get(), {}, &datasets)),
              "identity-unknown");
    v1::PlanRunReply plan;
    EXPECT_EQ(code(stub_->PlanRun(As(identity).get(), {}, &plan)),
              "identity-unknown");
    v1::Run run;
    EXPECT_EQ(code(stub_->GetRun(As(identity).get(), {}, &run)),
              "identity-unknown");
    EXPECT_EQ(code(stub_->CancelRun(As(identity).get(), {}, &run)),
              "identity-unknown");
    v1::ListRunsReply runs;
    EXPECT_EQ(code(stub_->ListRuns(As(identity).get(), {}, &runs)),
              "identity-unknown");
    v1::GetBudgetReply budget;
    EXPECT_EQ(code(stub_->GetBudget(As(identity).get(), {}, &budget)),
              "identity-unknown");
    const auto model_context = As(identity);
    EXPECT_EQ(code(stub_->GetModel(model_context.get(), {})->Finish()),
              "identity-unknown");
    const auto people_context = As(identity);
    EXPECT_EQ(code(stub_->Synthesise(people_context.get(), {})->Finish()),
              "identity-unknown");
    const auto watch_context = As(identity);
    EXPECT_EQ(code(stub_->WatchRun(watch_context.get(), {})->Finish()),
              "identity-unknown");
    std::string refusal;
    Start(FakeSpecification(3, 4), nullptr, &refusal, identity);
    EXPECT_EQ(refusal, "identity-unknown");
  }
}

TEST_F(ServiceTest, RefusesBadInputAtOnceWithItsCode) {
  std::string code;
  v1::RunSpecification specification = FakeSpecification(0, 4);
  Start(specification, nullptr, &code);
  EXPECT_EQ(code, "rank-out-of-range");
  specification = FakeSpecification(3, 4);
  specification.mutable_parameters()->set_epsilon(11);
  Start(specification, nullptr, &code);
  EXPECT_EQ(code, "budget-exhausted");
  specification = FakeSpecification(3, 4);
  specification.mutable_parameters()->set_dataset("none");
  Start(specification, nullptr, &code);
  EXPECT_EQ(code, "dataset-unknown");

  const auto context = AsAlice();
  v1::Run run;
  const auto writer = stub_->StartRun(context.get(), &run);
  writer->WritesDone();
  EXPECT_EQ(ReasonCode(FromGrpc(writer->Finish())), "specification-missing");
  EXPECT_EQ(ReasonCode(FromGrpc(stub_->GetRun(AsAlice().get(), {}, &run))),
            "run-unknown");
  EXPECT_TRUE(store_->List()->empty());
  EXPECT_EQ(curator_.charges(), 0u);
}

TEST_F(ServiceTest, ACancelledWatchEndsAndTheRunGoesOn) {
  Mutex mutex;
  std::condition_variable_any changed;
  bool open = false;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kBeforeCharge && round == 2) {
      MutexLock lock(&mutex);
      while (!open) changed.wait(mutex);
    }
    return absl::OkStatus();
  };
  const v1::Run run = Start(FakeSpecification(3, 4));
  {
    const auto context = AsAlice();
    v1::WatchRunRequest request;
    request.set_run_id(run.run_id());
    const auto reader = stub_->WatchRun(context.get(), request);
    v1::RunEvent event;
    ASSERT_TRUE(reader->Read(&event));
    context->TryCancel();
    while (reader->Read(&event)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  {
    MutexLock lock(&mutex);
    open = true;
    changed.notify_all();
  }
  EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
}

// A W_0 and a model that no single message could carry: 60,000 x 10 doubles are
// 4.8 MB.
class LargeServiceTest : public ServiceTest {
 protected:
  LargeServiceTest() : ServiceTest(60'000) {}
};

TEST_F(LargeServiceTest, APublicDictionaryAndAModelAboveTheMessageCapPass) {
  v1::RunSpecification specification = FakeSpecification(10, 1);
  specification.mutable_learner()->set_initialisation(
      v1::INITIALISATION_PUBLIC);
  specification.mutable_learner()->set_steps_per_round(1);
  Eigen::MatrixXd w0 = RandomDictionary(60'000, 10, 3);
  const v1::Run run = Start(specification, &w0);
  EXPECT_EQ(Watch(run.run_id()).back().state(), v1::RUN_STATE_COMPLETED);
  ProjectDictionary(&w0);
  EXPECT_EQ(curator_.Requests().front().second, w0);
  v1::ModelHeader header;
  EXPECT_EQ(GetModel(run.run_id(), &header),
            store_->ReadModel(run.run_id())->w);
  EXPECT_EQ(header.shape().rows(), 60'000u);

  std::string code;
  const Eigen::MatrixXd small = w0.topRows(59'999);
  Start(specification, &small, &code);
  EXPECT_EQ(code, "matrix-shape");
  const Eigen::MatrixXd large = RandomDictionary(60'001, 10, 3);
  Start(specification, &large, &code);
  EXPECT_EQ(code, "matrix-chunk");
}

}  // namespace
}  // namespace dpnmf::analyst
