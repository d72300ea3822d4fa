// Who may use this analyst server, and for what.
#ifndef DPNMF_ANALYST_CLIENT_LIST_H_
#define DPNMF_ANALYST_CLIENT_LIST_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf::analyst {

// `kRead` is allowed to every listed client, `kStart` (and cancel) to the role
// analyst alone.
enum class Permission { kRead, kStart };

// Immutable, hence thread-safe.
class ClientList {
 public:
  // From JSON:
  //   {"clients": [{"identity": "dns:alice.client", "roles": ["analyst"]},
  //                {"identity": "uri:spiffe://lab/audit", "roles":
  //                ["auditor"]}]}
  // Identities are those of common/rpc/tls.h; roles are "analyst" and
  // "auditor". INVALID_ARGUMENT "clients-malformed", one sentence that names
  // the entry.
  static absl::StatusOr<ClientList> Parse(std::string_view json);
  // NOT_FOUND "clients-unreadable" besides.
  static absl::StatusOr<ClientList> Read(const std::string& file);

  // The first of the peer's identities that has the permission.
  // PERMISSION_DENIED "identity-unknown" if none is listed, "role-missing" if
  // none of those listed has it.
  absl::StatusOr<std::string> Authorise(
      const std::vector<std::string>& identities, Permission permission) const;

 private:
  std::map<std::string, bool> may_start_;  // by identity
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CLIENT_LIST_H_
