// CuratorService over gRPC: decode, call, encode, convert.
#ifndef DPNMF_CURATOR_SERVE_SERVICE_H_
#define DPNMF_CURATOR_SERVE_SERVICE_H_

#include <atomic>

#include "common/server/observers.h"
#include "common/server/quota.h"
#include "common/server/refused_calls.h"
#include "curator/serve/service_options.h"
#include "dpnmf/v1/curator.grpc.pb.h"

namespace dpnmf::curator {

// Thread-safe, as gRPC asks. Every status that leaves carries a reason code and
// a fixed sentence; what else goes wrong becomes "internal-error" and stays in
// the log, which names no private number.
//
// Calls that are not admitted share entries of the audit log (RefusedCalls): a
// peer that nobody let in cannot fill it.
//
// In paced mode (ServiceOptions::context.pacer) every reply and every refusal
// of an admitted call leaves at a tick. Who is not admitted (identity, open
// calls) is told at once.
class CuratorServiceImpl final : public v1::CuratorService::Service {
 public:
  explicit CuratorServiceImpl(ServiceOptions options);

  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest* request,
                            v1::ListDatasetsReply* reply) override;
  grpc::Status ListItems(grpc::ServerContext* context,
                         const v1::ListItemsRequest* request,
                         v1::ListItemsReply* reply) override;
  grpc::Status Train(grpc::ServerContext* context,
                     grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>*
                         stream) override;
  grpc::Status GetLedger(grpc::ServerContext* context,
                         const v1::GetLedgerRequest* request,
                         v1::GetLedgerReply* reply) override;

  // From now on the rounds under way end and no other begins: UNAVAILABLE
  // "shutting-down".
  void BeginShutdown() { shutting_down_ = true; }

 private:
  absl::StatusOr<v1::ListDatasetsReply> List(
      const grpc::ServerContext& context);
  absl::StatusOr<v1::ListItemsReply> ItemsOf(
      const grpc::ServerContext& context, const v1::ListItemsRequest& request);
  absl::StatusOr<v1::GetLedgerReply> LedgerOf(
      const grpc::ServerContext& context, const v1::GetLedgerRequest& request);

  // A call of an identity that the allow-list knows, within its quota.
  absl::StatusOr<Quota::Lease> Admit(const grpc::ServerContext& context);
  // Writes down and answers a call that is not admitted.
  grpc::Status Refuse(const char* call, const grpc::ServerContext& context,
                      const absl::Status& refusal);

  // A unary call: admitted, computed, written down, answered at its tick.
  template <typename Reply, typename Compute>
  grpc::Status Answer(const char* call, grpc::ServerContext* context,
                      Reply* reply, Compute compute);

  const ServiceOptions options_;
  Quota quota_;
  RefusedCalls refused_;
  std::atomic<bool> shutting_down_{false};
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_SERVICE_H_
