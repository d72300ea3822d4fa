// One round of a run, seen from the analyst: W out, sums, charge, noise, store,
// release back. In process, and over mutual TLS on loopback; the ratio of the
// two is what the network costs. Data: generated, of the shape of the CBCL
// faces.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analyst/curators/curator_client.h"
#include "common/nmf/dictionary.h"
#include "common/server/server.h"
#include "common/tls/tls.h"
#include "common/wire/convert.h"
#include "curator/serve/service.h"
#include "grpcpp/grpcpp.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kFeatures = 361;
constexpr std::uint64_t kUsers = 2429;
constexpr std::uint32_t kRank = 50;

std::unique_ptr<curator::Dataset> Generated() {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(0, 0.09f);
  std::vector<float> values(kFeatures * kUsers);
  for (float& value : values) value = uniform(generator);
  curator::DatasetDescription description;
  description.name = "generated";
  description.population = "people";
  description.features = kFeatures;
  description.users = kUsers;
  description.epsilon = 1000;
  description.delta = 1e-5;
  return curator::Dataset::FromDense(description, values).value();
}

// A curator with everything that a served one has, the disk's syncs included.
class Curator {
 public:
  Curator() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "round_benchXXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::vector<std::unique_ptr<curator::Dataset>> datasets;
    datasets.push_back(Generated());
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
    access_ = curator::AccessControl::FromGrants(
        {{"dns:analyst", {Role::kAnalyst}, {}, true, {}}});
    curator::Ledger::Options options;
    options.directory = directory_ + "/ledger";
    options.anchor_directory = directory_ + "/anchor";
    ledger_ = curator::Ledger::Open(options).value();
    const absl::Status declared = ledger_->DeclarePopulation(
        {"people", Adjacency::kReplaceOne, Conversion::kRdp, 1000, 1e-5});
    if (!declared.ok()) std::abort();
    gate_ =
        curator::ReleaseGate::Create(ledger_.get(), directory_ + "/releases", 1)
            .value();
    curator::ServiceOptions service;
    service.context = {ledger_.get(), gate_.get(), &catalog_,
                       access_.get(), &locks_,     1};
    service.identify = [](const grpc::ServerContextBase&) {
      return std::vector<std::string>{"dns:analyst"};
    };
    service_ = std::make_unique<curator::CuratorServiceImpl>(service);
  }
  ~Curator() { std::filesystem::remove_all(directory_); }

  curator::CuratorServiceImpl* service() { return service_.get(); }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  curator::Catalog catalog_;
  std::unique_ptr<curator::AccessControl> access_;
  curator::RunLocks locks_;
  std::unique_ptr<curator::Ledger> ledger_;
  std::unique_ptr<curator::ReleaseGate> gate_;
  std::unique_ptr<curator::CuratorServiceImpl> service_;
};

// Rounds of one run after another through a connection.
void RunRounds(benchmark::State& state,
               analyst::CuratorConnection* connection) {
  RunParameters parameters;
  parameters.dataset = "generated";
  parameters.rank = kRank;
  parameters.rounds = 100'000;
  parameters.epsilon = 10;
  parameters.delta = 1e-5;
  const auto stream = connection->NewStream();
  const auto opened =
      stream->Open("0123456789abcdef0123456789abcdef", ToProto(parameters));
  if (!opened.ok()) {
    state.SkipWithError(std::string(opened.status().message()).c_str());
    return;
  }
  const Eigen::MatrixXd w = RandomDictionary(kFeatures, kRank, 1);
  std::uint32_t round = opened->next_round;
  for (auto _ : state) {
    const auto result = stream->Round(round++, w);
    if (!result.ok()) {
      state.SkipWithError(std::string(result.status().message()).c_str());
      return;
    }
  }
  state.SetItemsProcessed(state.iterations());
}

void RoundInProcess(benchmark::State& state) {
  Curator curator;
  grpc::ServerBuilder builder;
  builder.RegisterService(curator.service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto connection = analyst::ConnectCurator(server->InProcessChannel({}),
                                                  std::chrono::seconds(60));
  RunRounds(state, connection.get());
}
BENCHMARK(RoundInProcess)->Unit(benchmark::kMillisecond)->UseRealTime();

void RoundOverMutualTls(benchmark::State& state) {
  RequireTls13();
  Curator curator;
  const std::string certs = curator.directory() + "/certs";
  if (std::system(
          (DPNMF_CERTS_SCRIPT " demo " + certs + " >/dev/null 2>&1").c_str()) !=
      0) {
    state.SkipWithError("no certificates");
    return;
  }
  const auto files = [&](const std::string& who) {
    return TlsFiles{certs + "/" + who + "/ca.crt",
                    certs + "/" + who + "/tls.crt",
                    certs + "/" + who + "/tls.key"};
  };
  RpcServer::Options options;
  options.listen = "127.0.0.1:0";
  options.credentials = ServerTls(files("curator")).value();
  options.service = curator.service();
  const auto server = RpcServer::Start(options).value();
  {
    const auto connection = analyst::ConnectCurator(
        analyst::CuratorChannel(server->address(),
                                ChannelTls(files("analyst")).value()),
        std::chrono::seconds(60));
    RunRounds(state, connection.get());
  }
  server->Shutdown();
}
BENCHMARK(RoundOverMutualTls)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace dpnmf

BENCHMARK_MAIN();
