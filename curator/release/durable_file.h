// Files that are wholly there or not there at all, also after a power cut.
//
// Every error is UNAVAILABLE "storage-failed" (the disk's fault, nothing to do
// with a request) unless it says otherwise; the sentence names the path and the
// system's reason. For the operator, not for a peer.
#ifndef DPNMF_CURATOR_RELEASE_DURABLE_FILE_H_
#define DPNMF_CURATOR_RELEASE_DURABLE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpnmf::curator {

// UNAVAILABLE "storage-failed" with errno's reason and what to change.
absl::Status StorageFailed(std::string_view action, const std::string& path);

// Makes the file, empty and with mode 0600, if there is none; one that is there
// gets that mode.
absl::Status MakePrivateFile(const std::string& path);

// Creates the directory and its missing parents (mode 0700) and syncs the
// parent of each one made, and of the directory also if it exists.
absl::Status CreateDurableDirectory(const std::string& path);

// fsync of a directory: makes creations and renames in it durable.
absl::Status SyncDirectory(const std::string& path);

// The whole file. NOT_FOUND "file-missing" if there is none.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes a file's bytes over themselves and syncs it. What an earlier process
// has written may be in memory alone, and for good if a sync of it failed: the
// system then takes it for clean. OK if there is no file.
absl::Status RewriteDurably(const std::string& path);

// A file written under another name (final name + ".new"), synced, then renamed
// over the final name. Removed when destroyed unpublished. Not thread-safe.
class StagedFile {
 public:
  // Creates or empties DIRECTORY/NAME.new.
  static absl::StatusOr<StagedFile> Create(const std::string& directory,
                                           const std::string& name);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  // Takes disk space for `bytes` now, so that a full disk shows before anything
  // depends on the write.
  absl::Status Reserve(std::uint64_t bytes);
  // Replaces the content and syncs the file.
  absl::Status Write(std::string_view content);
  // Renames to DIRECTORY/NAME and syncs the directory. Once only, after Write.
  absl::Status PublishAs(const std::string& name);

 private:
  StagedFile(std::string directory, std::string path, int descriptor);
  std::string directory_;
  std::string path_;  // empty once published
  int descriptor_ = -1;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_DURABLE_FILE_H_
