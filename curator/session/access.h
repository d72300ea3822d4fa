// Who may do what at the curator.
//
// "analyst": lists, trains, reads its own charges. "auditor" and "operator":
// list and read the ledger's totals; what else an operator does is done on the
// curator's machine. "front_end": asks for people's lists on the port of
// RecommendService, and may do nothing on the analysts' port. The list's shape:
// common/access/allow_list.h.
#ifndef DPNMF_CURATOR_SESSION_ACCESS_H_
#define DPNMF_CURATOR_SESSION_ACCESS_H_

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/access/allow_list.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace dpnmf::curator {

// The identities of a caller; production: PeerIdentities of common/tls/tls.h.
using IdentifyPeer = std::function<std::vector<std::string>(
    const grpc::ServerContextBase& context)>;

// Thread-safe.
class AccessControl {
 public:
  // Errors and reading again: AllowList::FromFile.
  static absl::StatusOr<std::unique_ptr<AccessControl>> FromFile(
      std::string path);
  static std::unique_ptr<AccessControl> FromGrants(std::vector<Grant> grants);

  // The first grant of the list that names one of the peer's identities and has
  // a role besides front_end. PERMISSION_DENIED "identity-unknown",
  // "role-missing".
  absl::StatusOr<Grant> GrantOf(std::span<const std::string> identities);

  // The grant of GrantOf, if it has one of the roles and covers the data set;
  // the peer's other grants are not looked at. PERMISSION_DENIED
  // "identity-unknown", "role-missing"; NOT_FOUND "dataset-unknown" (also for a
  // data set that exists and is not granted).
  absl::StatusOr<Grant> Require(std::span<const std::string> identities,
                                const std::set<Role>& roles,
                                const std::string& dataset);

  // A grant with the role front_end that covers the data set. A peer that also
  // has an analyst's identity is refused, whatever else it has. Errors as
  // Require.
  absl::StatusOr<Grant> RequireFrontEnd(std::span<const std::string> identities,
                                        const std::string& dataset);

 private:
  explicit AccessControl(std::unique_ptr<AllowList> list)
      : list_(std::move(list)) {}
  const std::unique_ptr<AllowList> list_;
};

// The sentence for a data set that does not exist or is not granted.
absl::Status UnknownDataset();

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_ACCESS_H_
