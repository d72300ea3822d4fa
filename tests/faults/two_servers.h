// Both servers in one process, each on a disk of its own: the services of the
// curator and the analyst on loopback, the analyst's runs, and a line between
// the two that outlives restarts.
#ifndef DPNMF_TESTS_FAULTS_TWO_SERVERS_H_
#define DPNMF_TESTS_FAULTS_TWO_SERVERS_H_

#include <memory>
#include <mutex>
#include <string>

#include "analyst/curators/curator_client.h"
#include "analyst/runs/run_manager.h"
#include "analyst/serve/service.h"
#include "curator/serve/service.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/attacks/attacked_curator.h"
#include "tests/faults/faulty_disk.h"

namespace dpnmf::faults {

// The connection to whichever curator runs now.
class Line : public analyst::CuratorConnection {
 public:
  void Connect(std::shared_ptr<analyst::CuratorConnection> connection);
  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override;
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override;
  absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) override;
  std::unique_ptr<analyst::RunStream> NewStream() override;

 private:
  std::shared_ptr<analyst::CuratorConnection> Current();
  std::mutex mutex_;
  std::shared_ptr<analyst::CuratorConnection> connection_;
};

class TwoServers {
 public:
  // The analyst is kAlice to the curator.
  explicit TwoServers(std::uint64_t seed);
  ~TwoServers();

  // The power of a server goes off and on again.
  void RestartCurator(Survival survival);
  void RestartAnalyst(Survival survival);

  curator::AttackedCurator& curator() { return curator_; }
  analyst::RunStore& store() { return *store_; }
  // Stub of the analyst's running server; the caller is "dns:client".
  std::unique_ptr<v1::AnalystService::Stub> Client() const;
  FaultyDisk& curator_disk() { return curator_disk_; }
  FaultyDisk& analyst_disk() { return analyst_disk_; }

 private:
  void StartCurator();
  void StopCurator();
  void StartAnalyst();
  void StopAnalyst();

  curator::AttackedCurator curator_;
  const curator::TempDirectory analyst_root_;
  FaultyDisk curator_disk_, analyst_disk_;
  std::uint64_t undrawn_ = 0;
  std::optional<curator::ReceiptSigner> receipts_;
  std::unique_ptr<curator::CuratorServiceImpl> service_;
  std::unique_ptr<grpc::Server> server_;
  Line line_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
  std::shared_ptr<grpc::Service> analyst_service_;
  std::unique_ptr<grpc::Server> analyst_server_;
  std::string analyst_address_;
};

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_TWO_SERVERS_H_
