// A whole file as a string, a whole directory as a list.
#ifndef DPNMF_COMMON_FILES_READ_FILE_H_
#define DPNMF_COMMON_FILES_READ_FILE_H_

#include <cstddef>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf {

// Keys, certificates, revocation lists, allow-lists, descriptions.
inline constexpr std::size_t kSettingsFileLimit = std::size_t{64} << 20;
// Lists with an entry for each release: receipts, manifests of backups.
inline constexpr std::size_t kListFileLimit = std::size_t{4} << 30;
// Files that this program wrote itself: their size is bounded by what it
// writes.
inline constexpr std::size_t kOwnFileLimit =
    std::numeric_limits<std::size_t>::max();

// All bytes of a file, a pipe or a device, at most `max_bytes`. Memory grows
// with what is read, not with what the file's size says.
//
// NOT_FOUND "file-missing" if there is none; INVALID_ARGUMENT "file-too-large"
// if there are more bytes; UNAVAILABLE "storage-failed" if the system refuses,
// also for a directory. Callers that promise another code replace the status.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes);

// The paths of the entries of a directory, in no order. After an error the list
// may be incomplete. Throws nothing, unlike a range-for over a
// directory_iterator.
std::vector<std::string> EntriesOf(const std::string& directory,
                                   std::error_code* error);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_READ_FILE_H_
