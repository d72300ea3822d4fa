// Contents of the analyst's audit log: nothing is requested or handed out
// without an entry.
#include <filesystem>
#include <fstream>

#include "analyst/curators/curator_client.h"
#include "analyst/runs/run_manager.h"
#include "analyst/serve/service.h"
#include "common/base/error.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

namespace fs = std::filesystem;

class AnalystAudit : public testing::Test {
 protected:
  AnalystAudit() : curator_(FakeData(6, 40)) {
    path_ = directory_.path() + "/audit.jsonl";
    audit_ = AuditLog::Open(path_).value();
    metrics_ = Metrics::Create("dpnmf_analyst", "").value();
    const Observers observers{audit_.get(), metrics_.get()};
    store_ = *RunStore::Open(directory_.path() + "/state");
    RunManager::Settings settings;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    settings.learner.observers = observers;
    manager_ = *RunManager::Create(store_.get(), &curator_, settings);
    service_ = MakeAnalystService(
        {manager_.get(), store_.get(), &curator_,
         *ClientList::Parse(
             R"({"peers": [{"identity": "dns:alice", "roles": ["analyst"]}]})"),
         [this](const grpc::ServerContextBase&) { return identities_; },
         observers});
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::AnalystService::NewStub(server_->InProcessChannel({}));
  }
  ~AnalystAudit() override {
    manager_->Stop();
    StopServing();
  }
  void StopServing() {
    if (server_ != nullptr) server_->Shutdown();
    server_.reset();
    service_.reset();
  }

  std::string Start(v1::Run* run) {
    grpc::ClientContext context;
    sent_ = SendTrace(&context);
    const auto writer = stub_->StartRun(&context, run);
    v1::StartRunRequest request;
    *request.mutable_specification() = FakeSpecification(3, 2);
    writer->Write(request);
    writer->WritesDone();
    return ReasonCode(FromGrpc(writer->Finish()));
  }
  // Events until `enough`, or the run's end.
  void Await(const std::string& run_id,
             const std::function<bool(const v1::RunEvent&)>& enough) {
    EXPECT_TRUE(
        manager_
            ->Watch(
                run_id, 0,
                [&](const v1::RunEvent& event) { return !enough(event); },
                [] { return false; })
            .ok());
  }
  void Fill() {
    fs::rename(path_, path_ + ".kept");
    fs::create_symlink("/dev/full", path_);
  }
  void Mend() {
    fs::remove(path_);
    fs::rename(path_ + ".kept", path_);
  }
  std::vector<nlohmann::json> Entries(const std::string& event) {
    std::ifstream file(path_);
    std::vector<nlohmann::json> entries;
    for (std::string line; std::getline(file, line);) {
      nlohmann::json entry = nlohmann::json::parse(line);
      if (entry["event"] == event) entries.push_back(std::move(entry));
    }
    return entries;
  }

  TemporaryDirectory directory_;
  std::string path_;
  std::vector<std::string> identities_ = {"dns:alice"};
  FakeCurator curator_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RunManager> manager_;
  std::shared_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::AnalystService::Stub> stub_;
  Trace sent_;
};

TEST_F(AnalystAudit, ARunsRoundsAreWrittenDownUnderItsOwnTrace) {
  v1::Run run;
  ASSERT_EQ(Start(&run), "");
  Await(run.run_id(), [](const v1::RunEvent&) { return false; });
  manager_->Stop();  // its last entry is written
  const auto asked = Entries("call-asked");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0]["request"], sent_.Text());
  EXPECT_EQ(asked[0]["identity"], "dns:alice");
  EXPECT_EQ(Entries("round-asked").size(), 2u);
  const auto received = Entries("round-received");
  ASSERT_EQ(received.size(), 2u);
  for (const auto& entry : received) {
    EXPECT_EQ(entry["run"], run.run_id());
    EXPECT_EQ(entry["client"], "dns:alice");
    EXPECT_EQ(std::string(entry["request"]).substr(0, 32), run.run_id());
    EXPECT_EQ(std::string(entry["row"]).size(), 64u);
  }
  EXPECT_EQ(Entries("run-ended").size(), 1u);
  const std::string page = metrics_->Page();
  EXPECT_NE(page.find("dpnmf_analyst_round_seconds_count"), std::string::npos);
  EXPECT_EQ(page.find("dpnmf_analyst_bytes_total{direction=\"sent\"} 0\n"),
            std::string::npos);
}

TEST_F(AnalystAudit, NothingIsStartedOrHandedOutWithoutAnEntry) {
  v1::Run run;
  Fill();
  EXPECT_EQ(Start(&run), "audit-failed");
  EXPECT_TRUE(store_->List()->empty());
  Mend();
  ASSERT_EQ(Start(&run), "");
  Await(run.run_id(), [](const v1::RunEvent&) { return false; });
  manager_->Stop();
  Fill();
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_run_id(run.run_id());
  const auto reader = stub_->GetModel(&context, request);
  v1::ModelReply reply;
  EXPECT_FALSE(reader->Read(&reply));
  const absl::Status refused = FromGrpc(reader->Finish());
  EXPECT_EQ(ReasonCode(refused), "audit-failed");
  EXPECT_EQ(refused.message().find(path_), std::string::npos) << refused;
  Mend();
}

TEST_F(AnalystAudit, RefusedCallsDoNotFillTheLog) {
  identities_ = {"dns:mallory"};
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context, of_model;
    v1::ListRunsReply reply;
    EXPECT_EQ(ReasonCode(FromGrpc(
                  stub_->ListRuns(&context, v1::ListRunsRequest(), &reply))),
              "identity-unknown");
    const auto reader = stub_->GetModel(&of_model, v1::GetModelRequest());
    EXPECT_EQ(ReasonCode(FromGrpc(reader->Finish())), "identity-unknown");
  }
  EXPECT_EQ(Entries("call").size(), 1u);
  StopServing();
  const auto refused = Entries("calls-refused");
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0]["identity"], "dns:mallory");
  EXPECT_EQ(refused[0]["count"], 199);
}

}  // namespace
}  // namespace dpnmf::analyst
