// The entry of the audit log that `dpnmf-curator transform` writes before it
// computes H. One process at a time appends to the log:
//
//   transform                                       serve
//     record-transform (data set, file, by)  ---->  appends the entry
//   and without a server, under the lock of the ledger: transform appends it.
#ifndef DPNMF_CURATOR_CONTROL_TRANSFORM_RECORD_H_
#define DPNMF_CURATOR_CONTROL_TRANSFORM_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "common/crypto/sha256.h"
#include "common/log/audit_log.h"
#include "curator/control/control.h"

namespace dpnmf::curator {

struct TransformRecord {
  std::string dataset;
  std::string population;
  Digest model{};      // SHA-256 of the bytes of the file of W
  std::string output;  // absolute path of the file for H
  std::string by;      // who asked
};

// The longest path in a record, in bytes.
inline constexpr std::size_t kLongestRecordedPath = 4096;

// "record-transform": writes the entry "transform-asked" durably. `audit` may
// be null (tests) and outlives the handlers. UNAVAILABLE "audit-failed".
ControlHandlers TransformRecordHandlers(AuditLog* audit);

// Writes the entry through the server of the data directory, or into
// `audit_file` (empty: that of the data directory) if none runs; on return it
// is durable. A server writes into its own file. FAILED_PRECONDITION
// "data-dir-in-use" if a process holds the ledger and answers nothing: a server
// that starts or ends, or another command; UNAVAILABLE "audit-failed",
// "storage-failed"; errors of AskControl.
absl::Status RecordTransform(const std::string& data_dir,
                             const std::string& audit_file,
                             const TransformRecord& record);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_CONTROL_TRANSFORM_RECORD_H_
