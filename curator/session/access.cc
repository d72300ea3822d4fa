#include "curator/session/access.h"

#include <algorithm>
#include <utility>

#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

absl::Status RoleMissing() {
  return Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                 "This identity's role does not allow the call: ask the "
                 "operator for the role.");
}

}  // namespace

absl::Status UnknownDataset() {
  return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                 "There is no such data set for this identity: list the data "
                 "sets to see the names.");
}

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::FromFile(
    std::string path) {
  DPNMF_ASSIGN_OR_RETURN(
      std::unique_ptr<AllowList> list,
      AllowList::FromFile(std::move(path), kCuratorAllowList));
  return std::unique_ptr<AccessControl>(new AccessControl(std::move(list)));
}

std::unique_ptr<AccessControl> AccessControl::FromGrants(
    std::vector<Grant> grants) {
  return std::unique_ptr<AccessControl>(new AccessControl(
      AllowList::FromGrants(std::move(grants), kCuratorAllowList)));
}

absl::StatusOr<Grant> AccessControl::GrantOf(
    std::span<const std::string> identities) {
  DPNMF_ASSIGN_OR_RETURN(std::vector<Grant> grants,
                         list_->GrantsOf(identities));
  for (Grant& grant : grants) {
    const bool front_end_alone = grant.roles == std::set<Role>{Role::kFrontEnd};
    if (!front_end_alone) return std::move(grant);
  }
  return RoleMissing();
}

absl::StatusOr<Grant> AccessControl::Require(
    std::span<const std::string> identities, const std::set<Role>& roles,
    const std::string& dataset) {
  DPNMF_ASSIGN_OR_RETURN(Grant grant, GrantOf(identities));
  const bool has_role = std::any_of(roles.begin(), roles.end(), [&](Role role) {
    return grant.roles.contains(role);
  });
  if (!has_role) return RoleMissing();
  if (!grant.Covers(dataset)) return UnknownDataset();
  return grant;
}

absl::StatusOr<Grant> AccessControl::RequireFrontEnd(
    std::span<const std::string> identities, const std::string& dataset) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<Grant> grants,
                         list_->GrantsOf(identities));
  const Grant* found = nullptr;
  for (const Grant& grant : grants) {
    if (grant.roles.contains(Role::kAnalyst)) return RoleMissing();
    if (found == nullptr && grant.roles.contains(Role::kFrontEnd))
      found = &grant;
  }
  if (found == nullptr) return RoleMissing();
  if (!found->Covers(dataset)) return UnknownDataset();
  return *found;
}

}  // namespace dpnmf::curator
