// A file of private data that a command writes: lists, H.
#ifndef DPNMF_CURATOR_COMMANDS_PRIVATE_FILE_H_
#define DPNMF_CURATOR_COMMANDS_PRIVATE_FILE_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"

namespace dpnmf::curator {

// A file that only its owner may read, under a name of its own (PATH.XXXXXX)
// until it is whole.
class PrivateFile {
 public:
  static absl::StatusOr<PrivateFile> Create(const std::string& path) {
    PrivateFile file(path);
    file.descriptor_ = ::mkostemp(file.staged_.data(), O_CLOEXEC);  // mode 0600
    if (file.descriptor_ < 0) return file.Failed();
    return file;
  }
  ~PrivateFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(staged_.c_str());
  }
  PrivateFile(PrivateFile&& other) noexcept
      : path_(std::move(other.path_)),
        staged_(std::move(other.staged_)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  PrivateFile& operator=(PrivateFile&&) = delete;

  absl::Status Append(std::string_view text) {
    return WriteWhole(descriptor_, text) ? absl::OkStatus() : Failed();
  }
  // Synced, and renamed over what stands at the path.
  absl::Status Publish() {
    DPNMF_RETURN_IF_ERROR(SyncFile(staged_));
    DPNMF_RETURN_IF_ERROR(RenameOver(staged_, path_));
    ::close(std::exchange(descriptor_, -1));
    return SyncParent(path_);
  }

 private:
  explicit PrivateFile(const std::string& path)
      : path_(path), staged_(path + ".XXXXXX") {}
  absl::Status Failed() const {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("Cannot write `", staged_,
                                "`: check its directory, its permissions and "
                                "the free space."));
  }
  std::string path_, staged_;
  int descriptor_ = -1;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_PRIVATE_FILE_H_
