// A completion in a file, for updates. As private as the ratings, which are in
// it.
//
//   "dpnmfcm1"                8 bytes
//   version                   4 bytes, little-endian
//   key                       1 byte: 0 the salt, 1 the operator's key
//   salt                      16 bytes, random
//   HMAC-SHA-256              32 bytes, of all other bytes
//   body                      CBOR: an object, arrays as little-endian bytes
//
// Under the operator's key (DATA_DIR/fingerprint.key) nobody else can make a
// file that an update takes. Under the salt, which is in the file, the hash
// shows that a file was changed or damaged, not who wrote it.
#ifndef DPNMF_LAB_COMPLETE_MODEL_FILE_H_
#define DPNMF_LAB_COMPLETE_MODEL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/import/people/fingerprint.h"
#include "lab/complete/completion.h"

namespace dpnmf::curator::lab {

inline constexpr std::uint32_t kCompletionFileVersion = 1;

// Replaces the file as a whole; mode 0600. UNAVAILABLE "storage-failed".
absl::Status WriteCompletion(const std::string& path,
                             const Completion& completion,
                             const std::optional<FingerprintKey>& key);

// NOT_FOUND "complete-model-missing"; FAILED_PRECONDITION "model-file-newer"
// (another version), "complete-model-key" (it was written with the operator's
// key, and there is none here); DATA_LOSS "complete-model-changed": it is not
// as it was written, also if its key is another one. A file under the salt is
// taken with any key.
absl::StatusOr<Completion> ReadCompletion(
    const std::string& path, const std::optional<FingerprintKey>& key);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_MODEL_FILE_H_
