// Entries of calls that are refused before any quota.
//
// A peer with a certificate of the CA that no list names may call as often as
// it likes. An entry for each call would let it fill the volume of the audit
// log, without which nothing is released. So the first refused call of an
// identity in a period has an entry of its own, and the others share one, with
// their number:
//
//   {"event":"calls-refused","identity":"dns:x","result":"identity-unknown",
//    "count":1233,"seconds":600}
//
// Identities beyond the limit share an entry, too: identity "others".
#ifndef DPNMF_COMMON_SERVER_REFUSED_CALLS_H_
#define DPNMF_COMMON_SERVER_REFUSED_CALLS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/log/audit_log.h"
#include "common/server/call_record.h"
#include "common/server/observers.h"
#include "common/threads/mutex.h"

namespace dpnmf {

// Thread-safe. A period's counts are in memory alone: a process that is killed
// loses them. Metrics count every call.
class RefusedCalls {
 public:
  struct Limits {
    std::chrono::seconds period{600};
    // Pairs of an identity and a reason code that are told apart in a period.
    std::size_t identities = 64;
  };
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // The observers outlive it.
  explicit RefusedCalls(const Observers& observers)
      : RefusedCalls(observers, Limits(), {}) {}
  RefusedCalls(const Observers& observers, const Limits& limits, Clock clock);
  // Writes what is still counted.
  ~RefusedCalls();
  RefusedCalls(const RefusedCalls&) = delete;
  RefusedCalls& operator=(const RefusedCalls&) = delete;

  // A call is about to end with `refusal`: unless it is the first, its record
  // is left out of the audit log.
  void Note(const absl::Status& refusal, CallRecord* record);
  // Returns true if this refused call gets its own entry; else counts the call.
  bool IsFirst(const std::string& identity, const std::string& code);
  // Writes the entries of a period that has ended. Servers call it with each
  // call that they let in, so that entries do not wait for the next refusal.
  void WriteDue();
  // Writes what is counted; a new period begins.
  void WriteAll();

 private:
  using Key = std::pair<std::string, std::string>;  // identity, code
  using Counts = std::map<Key, std::int64_t>;       // calls without an entry
  Counts TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const Counts& counts) const;

  const Observers observers_;
  const Limits limits_;
  const Clock clock_;
  Mutex mutex_;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point begin_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_REFUSED_CALLS_H_
