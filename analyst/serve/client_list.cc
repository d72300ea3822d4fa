#include "analyst/serve/client_list.h"

#include <utility>

#include "common/base/error.h"

namespace dpnmf::analyst {
namespace {

bool Has(const Grant& grant, Permission permission) {
  if (permission == Permission::kRead) return true;
  if (grant.roles.contains(Role::kAnalyst)) return true;
  return permission == Permission::kEnd &&
         grant.roles.contains(Role::kOperator);
}

absl::Status RoleMissing() {
  return Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                 "Starting a run needs the role analyst, and ending one the "
                 "role analyst or operator; ask the operator.");
}

}  // namespace

absl::StatusOr<ClientList> ClientList::Parse(std::string_view text) {
  DPNMF_ASSIGN_OR_RETURN(std::vector<Grant> grants,
                         ParseAllowList(text, kAnalystAllowList));
  return ClientList(
      AllowList::FromGrants(std::move(grants), kAnalystAllowList));
}

absl::StatusOr<ClientList> ClientList::Read(const std::string& file) {
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<AllowList> list,
                         AllowList::FromFile(file, kAnalystAllowList));
  return ClientList(std::move(list));
}

absl::StatusOr<std::string> ClientList::Authorise(
    const std::vector<std::string>& identities, Permission permission) const {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<Grant> grants,
                         list_->GrantsOf(identities));
  for (const std::string& identity : identities) {
    for (const Grant& grant : grants) {
      if (grant.identity == identity && Has(grant, permission)) return identity;
    }
  }
  return RoleMissing();
}

absl::Status ClientList::CheckMayEnd(const std::vector<std::string>& identities,
                                     const std::string& started_by) const {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<Grant> grants,
                         list_->GrantsOf(identities));
  bool may_end_some = false;
  for (const Grant& grant : grants) {
    if (!Has(grant, Permission::kEnd)) continue;
    may_end_some = true;
    if (grant.roles.contains(Role::kOperator) || grant.identity == started_by)
      return absl::OkStatus();
  }
  if (!may_end_some) return RoleMissing();
  return Refusal(absl::StatusCode::kPermissionDenied, "run-of-another",
                 "Another client started this run; only that client or an "
                 "operator may end it.");
}

}  // namespace dpnmf::analyst
