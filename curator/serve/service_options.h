// Options of CuratorService and of its server, without gRPC's headers.
#ifndef DPNMF_CURATOR_SERVE_SERVICE_OPTIONS_H_
#define DPNMF_CURATOR_SERVE_SERVICE_OPTIONS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/server/observers.h"
#include "common/server/quota.h"
#include "curator/serve/receipt_signer.h"
#include "curator/session/access.h"
#include "curator/session/session.h"

namespace grpc {
class ServerContextBase;
class Service;
}  // namespace grpc

namespace dpnmf::curator {

// Checks whether a peer may still be served; production: CheckPeerStillValid.
using CheckPeer =
    std::function<absl::Status(const grpc::ServerContextBase& context)>;

struct ServiceOptions {
  SessionContext context;
  IdentifyPeer identify;
  // Asked before every round; null: never.
  CheckPeer check_peer;
  // Signs for each charge that is answered; null: no receipts.
  const ReceiptSigner* receipts = nullptr;
  // Printed in ListDatasetsReply.
  std::string version;
  // A training stream whose peer sends nothing for this long is cancelled.
  int idle_seconds = 600;
  // Audit log and metrics. Without an entry in the audit log nothing is
  // charged, and no release leaves: UNAVAILABLE "audit-failed".
  Observers observers = {};
  // Limits of one identity.
  Quota::Limits limits;
};

// The service (curator/serve/service.h) for RpcServer, and what ends its rounds
// in order: CuratorServiceImpl::BeginShutdown.
struct ServedCurator {
  std::shared_ptr<grpc::Service> service;
  std::function<void()> begin_shutdown;
};
ServedCurator MakeCuratorService(ServiceOptions options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_SERVICE_OPTIONS_H_
