// Who may do what: the operator's allow-list.
//
// A peer is known by the subject alternative names of its certificate. The list
// is a JSON file:
//
//   {"grants": [{"identity": "dns:analyst.example.org",
//                "roles": ["analyst"],
//                "datasets": ["digits"],
//                "budgets": [{"population": "clinic", "epsilon": 2.0}]}]}
//
// roles: "analyst" (lists, trains, reads its own charges), "auditor" and
// "operator" (list and read the ledger's totals; what else an operator does is
// done on the curator's machine). datasets: names, or ["*"]. budgets: optional
// caps on what this identity alone may spend, in the population's conversion
// and delta. The file is read again when it changes; one that cannot be read
// then refuses everybody until it is mended.
#ifndef DPNMF_CURATOR_ACCESS_H_
#define DPNMF_CURATOR_ACCESS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"

namespace dpnmf::curator {

enum class Role { kAnalyst, kAuditor, kOperator };

struct Grant {
  std::string identity;  // "dns:..." or "uri:..."
  std::set<Role> roles;
  std::set<std::string> datasets;
  bool all_datasets = false;
  std::map<std::string, double> epsilon_by_population;

  bool Covers(const std::string& dataset) const {
    return all_datasets || datasets.contains(dataset);
  }
};

// INVALID_ARGUMENT "allow-list-malformed" with what is wrong.
absl::StatusOr<std::vector<Grant>> ParseGrants(const std::string& json);

// Thread-safe.
class AccessControl {
 public:
  // Errors of ParseGrants; NOT_FOUND "allow-list-unreadable".
  static absl::StatusOr<std::unique_ptr<AccessControl>> FromFile(
      std::string path);
  static std::unique_ptr<AccessControl> FromGrants(std::vector<Grant> grants);

  // The first grant of the list that names one of the peer's identities.
  // PERMISSION_DENIED "identity-unknown".
  absl::StatusOr<Grant> GrantOf(std::span<const std::string> identities);

  // A grant with one of the roles that covers the data set.
  // PERMISSION_DENIED "identity-unknown", "role-missing"; NOT_FOUND
  // "dataset-unknown" (also for a data set that exists and is not granted).
  absl::StatusOr<Grant> Require(std::span<const std::string> identities,
                                const std::set<Role>& roles,
                                const std::string& dataset);

 private:
  AccessControl() = default;
  void ReloadIfChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Stamp {
    std::int64_t seconds = 0, nanoseconds = 0, size = -1;
    std::uint64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static std::optional<Stamp> StampOf(const std::string& path);

  Mutex mutex_;
  std::string path_;  // empty: fixed grants
  Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  std::vector<Grant> grants_ ABSL_GUARDED_BY(mutex_);
};

// The sentence for a data set that does not exist or is not granted.
absl::Status UnknownDataset();

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_ACCESS_H_
