#include "tests/curator/serve/curator_fixture.h"

#include <cstdlib>
#include <utility>

#include "tests/curator/gate/release_gate_for_testing.h"

namespace dpnmf::curator {

std::unique_ptr<Dataset> PlantedDataset(
    const std::string& name, const std::string& population,
    const std::function<void(DatasetDescription*)>& change) {
  std::vector<float> values(kFeatures * kUsers);
  for (std::uint64_t n = 0; n < kUsers; ++n) {
    for (std::uint64_t d = 0; d < kFeatures; ++d) {
      // Each user has one part of four features, with weights that vary.
      values[n * kFeatures + d] =
          d / 4 == n % 3
              ? 0.5f * (1.0f + 0.01f * static_cast<float>((n * 7 + d) % 11))
              : 0.0f;
      values[n * kFeatures + d] *= 0.9f;
    }
  }
  DatasetDescription description;
  description.name = name;
  description.population = population;
  description.features = kFeatures;
  description.users = kUsers;
  description.epsilon = 4;
  description.delta = 1e-5;
  if (change) change(&description);
  return Dataset::FromDense(description, values).value();
}

PopulationPolicy PolicyOf(const std::string& population) {
  return {population, Adjacency::kReplaceOne, Conversion::kRdp, 4, 1e-5};
}

RunParameters SmallRun() {
  RunParameters parameters;
  parameters.dataset = "planted";
  parameters.rank = 3;
  parameters.rounds = 4;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  return parameters;
}

CuratorFixture::CuratorFixture(Noise noise) : noise_(noise) {
  std::string pattern = ::testing::TempDir() + "curatorXXXXXX";
  directory_ = mkdtemp(pattern.data());
  std::vector<std::unique_ptr<Dataset>> datasets;
  datasets.push_back(PlantedDataset("planted", "people"));
  datasets.push_back(PlantedDataset("hidden", "others"));
  catalog_ = Catalog::FromDatasets(std::move(datasets));
  Grant analyst{"dns:analyst", {Role::kAnalyst}, {"planted"}, false, {}};
  Grant second{
      "dns:second", {Role::kAnalyst}, {"planted"}, false, {{"people", 0.5}}};
  Grant auditor{"dns:auditor", {Role::kAuditor}, {}, true, {}};
  access_ = AccessControl::FromGrants({analyst, second, auditor});
  Start();
}

CuratorFixture::~CuratorFixture() {
  Stop();
  std::filesystem::remove_all(directory_);
}

void CuratorFixture::Start() {
  Ledger::Options options;
  options.directory = directory_ + "/ledger";
  options.anchor_directory = directory_ + "/anchor";
  options.unix_seconds = clock_;
  ledger_ = Ledger::Open(options).value();
  ASSERT_TRUE(ledger_->DeclarePopulation(PolicyOf("people")).ok());
  ASSERT_TRUE(ledger_->DeclarePopulation(PolicyOf("others")).ok());
  const std::string store = directory_ + "/releases";
  gate_ = noise_ == Noise::kOn
              ? ReleaseGate::Create(ledger_.get(), store, 1).value()
              : ReleaseGateForTesting::Create(ledger_.get(), store,
                                              ReleaseGateForTesting::Zeros)
                    .value();
  receipts_.emplace(ReceiptSigner::Open(directory_, ledger_.get()).value());
  ServiceOptions service;
  service.receipts = &*receipts_;
  service.context = {ledger_.get(), gate_.get(), &catalog_, access_.get(),
                     &locks_,       1,           pacer_};
  service.identify = [this](const grpc::ServerContextBase&) {
    return identities_;
  };
  service.version = "test";
  service.check_peer = check_peer_;
  service.limits = limits_;
  service.observers = observers_;
  service_ = std::make_unique<CuratorServiceImpl>(service);
  grpc::ServerBuilder builder;
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  stub_ = v1::CuratorService::NewStub(server_->InProcessChannel({}));
}

void CuratorFixture::Stop() {
  stub_.reset();
  if (server_ != nullptr) server_->Shutdown();
  server_.reset();
  service_.reset();
  receipts_.reset();
  gate_.reset();
  ledger_.reset();
}

}  // namespace dpnmf::curator
