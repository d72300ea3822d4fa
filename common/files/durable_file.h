// Files and directories that are on the disk when a call returns, also after a
// power cut. Every write, sync, rename and removal goes through
// common/base/failpoint.h.
//
// Every error is UNAVAILABLE "storage-failed" (the disk's fault, nothing to do
// with a request) unless it says otherwise; the sentence names the path, the
// system's reason and what to change. For the operator, not for a peer.
// Functions are thread-safe for different paths; classes are not thread-safe.
#ifndef DPNMF_COMMON_FILES_DURABLE_FILE_H_
#define DPNMF_COMMON_FILES_DURABLE_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/descriptor.h"

namespace dpnmf {

// All bytes to an open file; false with errno set.
bool WriteWhole(int descriptor, std::string_view bytes);

// ---- Directories

// Creates the directory and its missing parents (mode 0700) and syncs the
// parent of each one made, and of the directory also if it exists.
absl::Status CreateDurableDirectory(const std::string& path);

// fsync of a directory: makes creations, renames and removals in it durable.
absl::Status SyncDirectory(const std::string& path);

// SyncDirectory of the directory that holds `path`.
absl::Status SyncParent(const std::string& path);

// ---- Files in one call

// Head and body in the place of an older file, which is whole until then:
// staged, synced, renamed; the directory is synced. `mode` is subject to the
// umask.
absl::Status ReplaceDurably(const std::string& path, std::string_view head,
                            std::span<const std::byte> body = {});

// The same without the sync of the directory: after a power cut the older file
// may stand there, whole.
absl::Status ReplaceAtomically(const std::string& path, std::string_view head,
                               std::span<const std::byte> body = {},
                               mode_t mode = 0600);

// Head and body in a new, synced file of mode 0600. Fails if the path exists.
// After an error the caller removes what is there.
absl::Status WriteDurably(const std::string& path, std::string_view head,
                          std::span<const std::byte> body = {});

// Appends to a file (made with mode 0600 if there is none), syncs it and its
// directory.
absl::Status AppendDurably(const std::string& path, std::string_view text);

// A new file with the bytes and the mode of `from`, synced. Fails if `to`
// exists.
absl::Status CopyDurably(const std::string& from, const std::string& to);

// Writes a file's bytes over themselves and syncs it. What an earlier process
// has written may be in memory alone, and for good if a sync of it failed: the
// system then takes it for clean. OK if there is no file.
absl::Status RewriteDurably(const std::string& path);

// Makes the file, empty and with mode 0600, if there is none; one that is there
// gets that mode.
absl::Status MakePrivateFile(const std::string& path);

// fsync of a file that another library wrote.
absl::Status SyncFile(const std::string& path);

// Renames in place of what stands at `to`.
absl::Status RenameOver(const std::string& from, const std::string& to);
// Renames; fails if `to` exists.
absl::Status RenameNew(const std::string& from, const std::string& to);
// Removes a file's name; fails if there is none.
absl::Status RemoveFile(const std::string& path);
// Removes a file, a link, or a directory with everything in it. It follows no
// link, unless another user who may write there puts one in while it works: it
// is for the data directory alone. Syncs the directory that held the path, also
// if nothing is at the path: an earlier removal may have stopped before its
// sync.
absl::Status RemoveTreeDurably(const std::string& path);

// A file written under another name (final name + ".new"), synced, then renamed
// over the final name. Removed when destroyed unpublished.
class StagedFile {
 public:
  // Creates or empties DIRECTORY/NAME.new, mode 0600.
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
  StagedFile(std::string directory, std::string path, Descriptor file);
  std::string directory_;
  std::string path_;  // empty once published
  Descriptor file_;
};

// A file of mode 0600 that grows piece by piece and has no name until it is
// whole: a process that is killed leaves nothing of it. On a file system
// without unnamed files (NFS) its name is PATH.PID.partial until then. On every
// file system it has that name for a moment while Publish replaces an existing
// file.
class GrowingFile {
 public:
  static absl::StatusOr<GrowingFile> Create(const std::string& path);
  // In memory, and never published.
  static absl::StatusOr<GrowingFile> InMemory();
  // In the directory (empty: in memory), and never published: on every file
  // system it loses its name as soon as it is open.
  static absl::StatusOr<GrowingFile> Spool(const std::string& directory);
  ~GrowingFile();
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;

  absl::Status Append(std::string_view bytes);
  // Bytes that were appended, from `offset` on.
  absl::Status Read(std::uint64_t offset, std::span<std::byte> bytes) const;
  // A name under which this process can open the file while it has none.
  std::string place() const;
  // Syncs it, puts it in the place of what stands at the path, and syncs the
  // directory. Once only.
  absl::Status Publish();

 private:
  explicit GrowingFile(const std::string& path);
  std::string path_;
  std::string staged_;  // its name before it is published, if it has one
  bool named_ = false;  // by staged_
  Descriptor file_;
};

// A directory that disappears with everything in it unless it is published.
class TemporaryDirectory {
 public:
  // PARENT/PREFIX and the process's number, mode 0700. One at a time for each
  // process and prefix.
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
  TemporaryDirectory(std::string parent, std::string path);
  std::string parent_;
  std::string path_;  // empty: published or moved from
};

// An exclusive lock on a file that is created if missing (mode 0600); held
// until destroyed, or until the process ends in any way.
class FileLock {
 public:
  // `held` if another process, or another lock of this one, holds it.
  static absl::StatusOr<FileLock> Take(const std::string& path,
                                       const absl::Status& held);

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_DURABLE_FILE_H_
