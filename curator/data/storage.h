// Files and directories that are on the disk when a call returns.
#ifndef DPNMF_CURATOR_DATA_STORAGE_H_
#define DPNMF_CURATOR_DATA_STORAGE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpnmf::curator {

// "cannot VERB PATH: REASON; ADVICE": UNAVAILABLE "storage-failed".
absl::Status StorageError(std::string_view verb, const std::string& path,
                          int error);

// A new file of mode 0600, written part by part. Without Finish it is no more
// than an unfinished file that the caller removes.
class DurableFile {
 public:
  // Fails if the file exists.
  static absl::StatusOr<DurableFile> Create(const std::string& path);
  ~DurableFile();
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;

  absl::Status Write(std::span<const std::byte> bytes);
  // Syncs and closes. Its directory entry is durable after SyncEntries.
  absl::Status Finish();

 private:
  DurableFile(int file, std::string path)
      : file_(file), path_(std::move(path)) {}
  int file_;
  std::string path_;
};

// The parts, one after the other, in a new synced file.
absl::Status WriteDurably(const std::string& path, std::string_view head,
                          std::span<const std::byte> body = {});

// The same in the place of an older file, which is whole until then: written
// beside it and renamed.
absl::Status ReplaceDurably(const std::string& path, std::string_view head,
                            std::span<const std::byte> body = {});

// Appends to a file of mode 0600 that is created if missing, and syncs it.
absl::Status AppendDurably(const std::string& path, std::string_view text);

// What was created, renamed or removed in the directory is durable.
absl::Status SyncEntries(const std::string& path);

// Creates the directory, and those above it, with mode 0700 where missing.
absl::Status CreateDirectories(const std::string& path);

// Renames without replacing: UNAVAILABLE "storage-failed" if `to` exists.
absl::Status RenameNew(const std::string& from, const std::string& to);

// An exclusive lock on a file that is created if missing; held until destroyed,
// or until the process ends in any way.
class FileLock {
 public:
  // FAILED_PRECONDITION "import-running" if another process holds it.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;
};

// A directory that disappears with everything in it unless it is published.
class TemporaryDirectory {
 public:
  // PARENT/PREFIXxxxxxx, mode 0700.
  static absl::StatusOr<TemporaryDirectory> Create(const std::string& parent,
                                                   std::string_view prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  const std::string& path() const { return path_; }
  // Syncs it, renames it to `target` (same parent, must not exist) and syncs
  // the parent.
  absl::Status Publish(const std::string& target);

 private:
  TemporaryDirectory(std::string parent, std::string path)
      : parent_(std::move(parent)), path_(std::move(path)) {}
  std::string parent_;
  std::string path_;  // empty: published or moved from
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_STORAGE_H_
