// Who may use this analyst server, and for what.
#ifndef DPNMF_ANALYST_SERVE_CLIENT_LIST_H_
#define DPNMF_ANALYST_SERVE_CLIENT_LIST_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/access/allow_list.h"

namespace dpnmf::analyst {

//            kRead   kStart   kEnd (cancel, forget)
// analyst    yes     yes      its own runs
// operator   yes     no       everybody's
// auditor    yes     no       no
enum class Permission { kRead, kStart, kEnd };

// The list's shape: common/access/allow_list.h. Thread-safe. Copies share their
// state.
class ClientList {
 public:
  // Fixed. Errors of ParseAllowList.
  static absl::StatusOr<ClientList> Parse(std::string_view json);
  // Errors and reading again: AllowList::FromFile.
  static absl::StatusOr<ClientList> Read(const std::string& file);

  // The first of the peer's identities that has the permission (kEnd: of some
  // runs). PERMISSION_DENIED "identity-unknown" if none is listed,
  // "role-missing" if none of those listed has it.
  absl::StatusOr<std::string> Authorise(
      const std::vector<std::string>& identities, Permission permission) const;

  // Checks that the peer may end a run that `started_by` started. Errors as
  // Authorise; PERMISSION_DENIED "run-of-another".
  absl::Status CheckMayEnd(const std::vector<std::string>& identities,
                           const std::string& started_by) const;

 private:
  explicit ClientList(std::shared_ptr<AllowList> list)
      : list_(std::move(list)) {}
  std::shared_ptr<AllowList> list_;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_SERVE_CLIENT_LIST_H_
