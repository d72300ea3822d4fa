// The audit log: who asked what of a server, and what came of it. One line of
// JSON an entry, appended and never changed:
//
//   {"time":"2026-11-21T11:18:18.123Z","event":"round-released",
//    "request":"TRACE-REQUEST","identity":"dns:analyst","run":"..","round":3}
//
// Entries hold requests, identities, public facts and ledger facts; nothing of
// the data. `request` is that of the thread's TraceScope.
#ifndef DPNMF_COMMON_LOG_AUDIT_LOG_H_
#define DPNMF_COMMON_LOG_AUDIT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/descriptor.h"
#include "common/threads/mutex.h"

namespace dpnmf {

using AuditValue = std::variant<std::string, std::int64_t, bool>;
using AuditFields = std::vector<std::pair<std::string_view, AuditValue>>;

// Tells if an entry must be on disk before Write returns.
enum class AuditSync { kDurable, kWritten };

// Thread-safe. The file may be moved away (rotation): the next entry begins a
// new one.
class AuditLog {
 public:
  // Appends to `path` (made with mode 0600). UNAVAILABLE "audit-failed".
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(std::string path);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // UNAVAILABLE "audit-failed" if the entry is not wholly written. The sentence
  // is for the operator; it names the path.
  absl::Status Write(std::string_view event, const AuditFields& fields,
                     AuditSync sync);

  const std::string& path() const { return path_; }

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Append(const std::string& line, AuditSync sync)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Moved() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  Mutex mutex_;
  Descriptor file_ ABSL_GUARDED_BY(mutex_);
};

// OK without a log: tests and tools that keep none.
absl::Status WriteAudit(AuditLog* log, std::string_view event,
                        const AuditFields& fields,
                        AuditSync sync = AuditSync::kWritten);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_LOG_AUDIT_LOG_H_
