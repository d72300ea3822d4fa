#include "tests/faults/two_servers.h"

#include <chrono>

#include "gtest/gtest.h"
#include "tests/integration/loopback_server.h"

namespace dpnmf::faults {
namespace {

constexpr std::chrono::milliseconds kSilence{200};

class HeldStream : public analyst::RunStream {
 public:
  explicit HeldStream(std::shared_ptr<analyst::CuratorConnection> connection)
      : connection_(std::move(connection)), stream_(connection_->NewStream()) {}
  absl::StatusOr<analyst::OpenedRun> Open(
      const std::string& run_id, const v1::RunParameters& parameters) override {
    return stream_->Open(run_id, parameters);
  }
  absl::StatusOr<analyst::RoundResult> Round(std::uint32_t round,
                                             const RoundInput& input) override {
    return stream_->Round(round, input);
  }
  absl::StatusOr<analyst::ClosedRun> Close() override {
    return stream_->Close();
  }
  void Cancel() override { stream_->Cancel(); }

 private:
  const std::shared_ptr<analyst::CuratorConnection> connection_;
  const std::unique_ptr<analyst::RunStream> stream_;
};

void Shutdown(std::unique_ptr<grpc::Server>* server) {
  (*server)->Shutdown(std::chrono::system_clock::now());
  (*server)->Wait();
  server->reset();
}

}  // namespace

void Line::Connect(std::shared_ptr<analyst::CuratorConnection> connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  connection_ = std::move(connection);
}

std::shared_ptr<analyst::CuratorConnection> Line::Current() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return connection_;
}

absl::StatusOr<v1::ListDatasetsReply> Line::ListDatasets() {
  return Current()->ListDatasets();
}

absl::StatusOr<v1::ListItemsReply> Line::ListItems(const std::string& dataset,
                                                   std::uint64_t first) {
  return Current()->ListItems(dataset, first);
}

absl::StatusOr<v1::GetLedgerReply> Line::GetLedger(
    const std::string& dataset, std::uint64_t after_sequence) {
  return Current()->GetLedger(dataset, after_sequence);
}

std::unique_ptr<analyst::RunStream> Line::NewStream() {
  return std::make_unique<HeldStream>(Current());
}

TwoServers::TwoServers(std::uint64_t seed)
    : curator_disk_(curator_.LivePath(), seed),
      analyst_disk_(analyst_root_ / "state", seed + 1) {
  curator_.alone = false;
  StartCurator();
  StartAnalyst();
}

TwoServers::~TwoServers() {
  curator_disk_.Disarm();
  analyst_disk_.Disarm();
  StopAnalyst();
  StopCurator();
}

void TwoServers::StartCurator() {
  const absl::Status started = curator_.TryStart();
  ASSERT_TRUE(started.ok()) << "a sound ledger is refused: " << started;
  const std::uint64_t charges =
      curator::CountLedgerFile(curator_.LedgerDirectoryPath(), 1'000'000)
          .charges;
  ASSERT_GE(charges, curator_.draws()) << "more draws than charges";
  for (; undrawn_ + curator_.draws() < charges; ++undrawn_)
    curator_.AddUndrawn();
  receipts_.emplace(
      curator::ReceiptSigner::Open(curator_.LivePath(), &curator_.ledger())
          .value());
  curator::ServiceOptions options;
  options.context = curator_.Context();
  options.identify = [](const grpc::ServerContextBase&) {
    return std::vector<std::string>{curator::kAlice};
  };
  options.receipts = &*receipts_;
  service_ = std::make_unique<curator::CuratorServiceImpl>(options);
  std::string address;
  server_ = ServeOnLoopback(service_.get(), &address);
  line_.Connect(analyst::ConnectCurator(
      analyst::CuratorChannel(address, grpc::InsecureChannelCredentials()),
      kSilence));
}

void TwoServers::StopCurator() {
  Shutdown(&server_);
  service_.reset();
  receipts_.reset();
  curator_.Stop();
}

void TwoServers::RestartCurator(Survival survival) {
  curator_disk_.PowerCut(survival);
  StopCurator();
  curator_disk_.Reboot();
  StartCurator();
}

void TwoServers::StartAnalyst() {
  auto store = analyst::RunStore::Open(analyst_root_ / "state");
  ASSERT_TRUE(store.ok()) << store.status();
  store_ = *std::move(store);
  analyst::RunManager::Settings settings;
  settings.max_running = 4;
  settings.learner.first_pause = std::chrono::milliseconds(1);
  settings.learner.longest_pause = std::chrono::milliseconds(8);
  manager_ =
      analyst::RunManager::Create(store_.get(), &line_, settings).value();
  analyst_service_ = analyst::MakeAnalystService(
      {manager_.get(), store_.get(), &line_,
       analyst::ClientList::Parse(R"({"peers": [{"identity": "dns:client",
           "roles": ["analyst"]}]})")
           .value(),
       [](const grpc::ServerContextBase&) {
         return std::vector<std::string>{"dns:client"};
       }});
  analyst_server_ = ServeOnLoopback(analyst_service_.get(), &analyst_address_);
}

std::unique_ptr<v1::AnalystService::Stub> TwoServers::Client() const {
  return v1::AnalystService::NewStub(grpc::CreateChannel(
      analyst_address_, grpc::InsecureChannelCredentials()));
}

void TwoServers::StopAnalyst() {
  manager_->Stop();
  Shutdown(&analyst_server_);
  analyst_service_.reset();
  manager_.reset();
  store_.reset();
}

void TwoServers::RestartAnalyst(Survival survival) {
  analyst_disk_.PowerCut(survival);
  StopAnalyst();
  analyst_disk_.Reboot();
  StartAnalyst();
}

}  // namespace dpnmf::faults
