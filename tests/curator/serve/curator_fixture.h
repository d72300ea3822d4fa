// A curator in memory and in process: a small data set, a ledger and a store in
// a temporary directory, and the gRPC service on an in-process channel. The
// caller's identity is what the test says.
#ifndef DPNMF_TESTS_CURATOR_SERVE_CURATOR_FIXTURE_H_
#define DPNMF_TESTS_CURATOR_SERVE_CURATOR_FIXTURE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "curator/serve/service.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {

inline constexpr std::uint64_t kFeatures = 12;
inline constexpr std::uint64_t kUsers = 200;

// Columns of three planted parts; the same at every call. `change` the
// description where a test wants another one.
std::unique_ptr<Dataset> PlantedDataset(
    const std::string& name, const std::string& population,
    const std::function<void(DatasetDescription*)>& change = {});

PopulationPolicy PolicyOf(const std::string& population);

RunParameters SmallRun();

enum class Noise { kOn, kOff };

class CuratorFixture : public ::testing::Test {
 protected:
  // Noise off: not differentially private, for comparisons with plain NMF.
  explicit CuratorFixture(Noise noise = Noise::kOn);
  ~CuratorFixture() override;

  void Start();
  // Ends as a process does: only the files remain.
  void Stop();

  const Noise noise_;
  std::string directory_;
  std::vector<std::string> identities_ = {"dns:analyst"};
  Catalog catalog_;
  std::unique_ptr<AccessControl> access_;
  RunLocks locks_;
  Pacer* pacer_ = nullptr;               // set before Start
  Observers observers_;                  // likewise
  CheckPeer check_peer_;                 // likewise
  Quota::Limits limits_;                 // likewise
  std::function<std::int64_t()> clock_;  // of the ledger, likewise
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<ReleaseGate> gate_;
  std::optional<ReceiptSigner> receipts_;
  std::unique_ptr<CuratorServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::CuratorService::Stub> stub_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_SERVE_CURATOR_FIXTURE_H_
