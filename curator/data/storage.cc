#include "curator/data/storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/disk_error.h"
#include "common/base/error.h"

namespace dpnmf::curator {

absl::Status StorageError(std::string_view verb, const std::string& path,
                          int error) {
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 absl::StrCat("cannot ", std::string(verb), " ", path, ": ",
                              DiskErrorText(error)));
}

absl::StatusOr<DurableFile> DurableFile::Create(const std::string& path) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return StorageError("create", path, errno);
  return DurableFile(file, path);
}

DurableFile::~DurableFile() {
  if (file_ >= 0) close(file_);
}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

absl::Status DurableFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return StorageError("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status DurableFile::Finish() {
  if (fsync(file_) != 0) return StorageError("sync", path_, errno);
  if (close(std::exchange(file_, -1)) != 0)
    return StorageError("close", path_, errno);
  return absl::OkStatus();
}

absl::Status WriteDurably(const std::string& path, std::string_view head,
                          std::span<const std::byte> body) {
  DPNMF_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Create(path));
  DPNMF_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(head))));
  DPNMF_RETURN_IF_ERROR(file.Write(body));
  return file.Finish();
}

static std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

absl::Status ReplaceDurably(const std::string& path, std::string_view head,
                            std::span<const std::byte> body) {
  const std::string unfinished = absl::StrCat(path, ".", getpid(), ".partial");
  absl::Status done = WriteDurably(unfinished, head, body);
  if (done.ok() && rename(unfinished.c_str(), path.c_str()) != 0)
    done = StorageError("write", path, errno);
  if (!done.ok()) {
    unlink(unfinished.c_str());
    return done;
  }
  return SyncEntries(FolderOf(path));
}

absl::Status AppendDurably(const std::string& path, std::string_view text) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return StorageError("open", path, errno);
  absl::Status done;
  if (write(file, text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      fsync(file) != 0) {
    done = StorageError("write", path, errno);
  }
  close(file);
  DPNMF_RETURN_IF_ERROR(done);
  return SyncEntries(FolderOf(path));
}

absl::Status SyncEntries(const std::string& path) {
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return StorageError("open", path, errno);
  const int result = fsync(directory);
  const int error = errno;
  close(directory);
  return result == 0 ? absl::OkStatus() : StorageError("sync", path, error);
}

absl::Status CreateDirectories(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0) {
    return S_ISDIR(facts.st_mode) ? absl::OkStatus()
                                  : StorageError("use", path, ENOTDIR);
  }
  const std::string parent =
      std::filesystem::absolute(path).lexically_normal().parent_path();
  if (parent != path) DPNMF_RETURN_IF_ERROR(CreateDirectories(parent));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return StorageError("create", path, errno);
  }
  return SyncEntries(parent);
}

absl::Status RenameNew(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_NOREPLACE) != 0) {
    return StorageError("create", to, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return StorageError("open", path, errno);
  FileLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "import-running",
                   "another import into this data directory is running; "
                   "try again when it has ended");
  }
  return lock;
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Create(
    const std::string& parent, std::string_view prefix) {
  std::string path = absl::StrCat(parent, "/", std::string(prefix), "XXXXXX");
  if (mkdtemp(path.data()) == nullptr)
    return StorageError("create", path, errno);
  return TemporaryDirectory(parent, path);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : parent_(std::move(other.parent_)),
      path_(std::exchange(other.path_, {})) {}

absl::Status TemporaryDirectory::Publish(const std::string& target) {
  DPNMF_RETURN_IF_ERROR(SyncEntries(path_));
  DPNMF_RETURN_IF_ERROR(RenameNew(path_, target));
  path_.clear();
  return SyncEntries(parent_);
}

}  // namespace dpnmf::curator
