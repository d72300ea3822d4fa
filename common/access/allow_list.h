// Who may use a server: the operator's allow-list, one shape for both servers.
//
// A peer is known by the subject alternative names of its certificate
// (common/tls/tls.h). The list is a JSON file:
//
//   {"peers": [{"identity": "dns:analyst.example.org",
//               "roles": ["analyst"],
//               "datasets": ["digits"],
//               "budgets": [{"population": "clinic", "epsilon": 2.0}]}]}
//
// identity: "dns:NAME" or "uri:URI", each once. roles: one or more of
// "analyst", "auditor", "operator" (docs/reference/configuration.md: what each
// may do at which server). At the curator alone: the role "front_end", which
// asks for people's lists on a port of its own and is never the analyst's;
// datasets (required), names or ["*"];
// budgets (optional), caps on what this identity alone may spend, epsilon in
// (0, 1000], in the population's conversion and delta.
#ifndef DPNMF_COMMON_ACCESS_ALLOW_LIST_H_
#define DPNMF_COMMON_ACCESS_ALLOW_LIST_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/threads/mutex.h"

namespace dpnmf {

enum class Role { kAnalyst, kAuditor, kOperator, kFrontEnd };

// Permissions of one identity.
struct Grant {
  std::string identity;  // "dns:..." or "uri:..."
  std::set<Role> roles;
  // At the curator alone.
  std::set<std::string> datasets;
  bool all_datasets = false;
  std::map<std::string, double> epsilon_by_population;

  bool Covers(const std::string& dataset) const {
    return all_datasets || datasets.contains(dataset);
  }
};

// Differences between the servers.
struct AllowListRules {
  std::string_view name;         // in sentences and the log
  bool has_datasets;             // `datasets`, `budgets`, front_end are known
  std::string_view malformed;    // code: INVALID_ARGUMENT
  std::string_view unreadable;   // code: NOT_FOUND
  std::string_view not_on_list;  // sentence of "identity-unknown"
};
extern const AllowListRules kCuratorAllowList;
extern const AllowListRules kAnalystAllowList;

// The grants in the file's order. INVALID_ARGUMENT `rules.malformed`, one
// sentence that names the place.
absl::StatusOr<std::vector<Grant>> ParseAllowList(std::string_view json,
                                                  const AllowListRules& rules);
// NOT_FOUND `rules.unreadable` besides; sentences name the file.
absl::StatusOr<std::vector<Grant>> ReadAllowList(const std::string& path,
                                                 const AllowListRules& rules);

// Thread-safe.
class AllowList {
 public:
  // The file is read again when it changes. One that cannot be read then gives
  // access to nobody until it can. Errors of ReadAllowList.
  static absl::StatusOr<std::unique_ptr<AllowList>> FromFile(
      std::string path, const AllowListRules& rules);
  // Fixed.
  static std::unique_ptr<AllowList> FromGrants(std::vector<Grant> grants,
                                               const AllowListRules& rules);

  // The grants of the peer's identities, in the list's order; one or more.
  // PERMISSION_DENIED "identity-unknown".
  absl::StatusOr<std::vector<Grant>> GrantsOf(
      std::span<const std::string> identities);

 private:
  // State of a file that tells it from an earlier version: when it or its mode
  // last changed, its size and its inode; zeros if there is no file.
  using Stamp = std::array<std::int64_t, 4>;
  static Stamp StampOf(const std::string& path);

  AllowList(std::string path, const AllowListRules& rules)
      : path_(std::move(path)), rules_(rules) {}
  void ReloadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;  // empty: fixed
  const AllowListRules& rules_;
  Mutex mutex_;
  Stamp stamp_ ABSL_GUARDED_BY(mutex_) = {};
  std::vector<Grant> grants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_ACCESS_ALLOW_LIST_H_
