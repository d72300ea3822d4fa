// AnalystService over gRPC: decode, call, encode, convert.
#ifndef DPNMF_ANALYST_SERVE_SERVICE_H_
#define DPNMF_ANALYST_SERVE_SERVICE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyst/curators/curator_connection.h"
#include "analyst/runs/run_manager.h"
#include "analyst/serve/client_list.h"
#include "analyst/store/run_store.h"
#include "common/server/observers.h"
#include "common/server/quota.h"

namespace grpc {
class ServerContextBase;
class Service;
}  // namespace grpc

namespace dpnmf::analyst {

// The identities of a peer; PeerIdentities (common/tls/tls.h) in production.
using IdentitiesOf =
    std::function<std::vector<std::string>(const grpc::ServerContextBase&)>;

struct ServiceParts {
  RunManager* runs = nullptr;  // all three outlive the service
  RunStore* store = nullptr;
  CuratorConnection* curator = nullptr;
  ClientList clients;
  IdentitiesOf identities_of;
  // A call whose entry cannot be written into the audit log is refused.
  Observers observers = {};
  // Checks that a watching peer may still be served; null: always.
  std::function<absl::Status(const grpc::ServerContextBase&)> check_peer = {};
  // Limits of one client.
  Quota::Limits limits = {.calls = 256};
  // An upload of a release whose client sends nothing for so long is cancelled.
  std::chrono::milliseconds upload_idle = std::chrono::minutes(2);
};

// The service, to be registered with a server that it outlives. Its calls come
// from many threads at once: what `parts` points to and the two callables are
// thread-safe. Refusals are those of docs/reference/errors.md; analyst.proto
// says which role each call needs.
std::shared_ptr<grpc::Service> MakeAnalystService(ServiceParts parts);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_SERVE_SERVICE_H_
