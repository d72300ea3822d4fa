#include "common/files/durable_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/view.h"
#include "common/files/disk_error.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

constexpr mode_t kPrivate = 0600;

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string ParentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

absl::Status WriteAll(int descriptor, std::string_view content,
                      const std::string& path) {
  return WriteWhole(descriptor, content) ? absl::OkStatus()
                                         : StorageFailed("write", path);
}

absl::Status Sync(int descriptor, const std::string& path) {
  return DPNMF_SYSTEM(fsync)(descriptor) == 0 ? absl::OkStatus()
                                              : StorageFailed("sync", path);
}

absl::Status Closed(Descriptor* file, const std::string& path) {
  return file->Close() ? absl::OkStatus() : StorageFailed("close", path);
}

// Opens with `flags`, writes, syncs and closes.
absl::Status WriteFile(const std::string& path, int flags, mode_t mode,
                       std::string_view head, std::span<const std::byte> body) {
  Descriptor file(DPNMF_SYSTEM(open)(
      path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode));
  if (!file.ok()) return StorageFailed("create", path);
  DPNMF_RETURN_IF_ERROR(WriteAll(file.get(), head, path));
  DPNMF_RETURN_IF_ERROR(WriteAll(file.get(), Text(body), path));
  DPNMF_RETURN_IF_ERROR(Sync(file.get(), path));
  return Closed(&file, path);
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  const auto about = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::is_directory(about)) {
    return DPNMF_SYSTEM(unlink)(path.c_str()) == 0 || errno == ENOENT
               ? absl::OkStatus()
               : StorageFailed("remove", path);
  }
  const std::vector<std::string> entries = EntriesOf(path, &error);
  if (error) return StorageFailed("list", path, error.value());
  for (const std::string& entry : entries)
    DPNMF_RETURN_IF_ERROR(RemoveTree(entry));
  return DPNMF_SYSTEM(rmdir)(path.c_str()) == 0 ? absl::OkStatus()
                                                : StorageFailed("remove", path);
}

}  // namespace

bool WriteWhole(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        DPNMF_SYSTEM(write)(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

absl::Status CreateDurableDirectory(const std::string& path) {
  std::filesystem::path directory =
      std::filesystem::path(path).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  const std::string parent = ParentOf(directory);
  if (DPNMF_SYSTEM(mkdir)(directory.c_str(), 0700) == 0)
    return SyncDirectory(parent);
  if (errno == EEXIST && std::filesystem::is_directory(directory)) {
    // Whoever made it may have been stopped before this sync, or have failed.
    // A parent that may not be read was not made here.
    const absl::Status synced = SyncDirectory(parent);
    return ::access(parent.c_str(), R_OK) == 0 ? synced : absl::OkStatus();
  }
  if (errno != ENOENT || !directory.has_parent_path())
    return StorageFailed("create directory", path);
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(parent));
  if (DPNMF_SYSTEM(mkdir)(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return StorageFailed("create directory", path);
  return SyncDirectory(parent);
}

absl::Status SyncDirectory(const std::string& path) {
  const Descriptor directory(
      DPNMF_SYSTEM(open)(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.ok()) return StorageFailed("open directory", path);
  if (DPNMF_SYSTEM(fsync)(directory.get()) != 0)
    return StorageFailed("sync directory", path);
  return absl::OkStatus();
}

absl::Status SyncParent(const std::string& path) {
  return SyncDirectory(ParentOf(path));
}

absl::Status ReplaceAtomically(const std::string& path, std::string_view head,
                               std::span<const std::byte> body, mode_t mode) {
  const std::string staged = absl::StrCat(path, ".", ::getpid(), ".partial");
  absl::Status done = WriteFile(staged, O_TRUNC | O_NOFOLLOW, mode, head, body);
  if (done.ok()) done = RenameOver(staged, path);
  if (!done.ok()) DPNMF_SYSTEM(unlink)(staged.c_str());
  return done;
}

absl::Status ReplaceDurably(const std::string& path, std::string_view head,
                            std::span<const std::byte> body) {
  DPNMF_RETURN_IF_ERROR(ReplaceAtomically(path, head, body));
  return SyncParent(path);
}

absl::Status WriteDurably(const std::string& path, std::string_view head,
                          std::span<const std::byte> body) {
  return WriteFile(path, O_EXCL, kPrivate, head, body);
}

absl::Status AppendDurably(const std::string& path, std::string_view text) {
  DPNMF_RETURN_IF_ERROR(WriteFile(path, O_APPEND, kPrivate, text, {}));
  return SyncParent(path);
}

absl::Status CopyDurably(const std::string& from, const std::string& to) {
  const Descriptor source(
      DPNMF_SYSTEM(open)(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!source.ok() || ::fstat(source.get(), &about) != 0)
    return StorageFailed("open", from);
  Descriptor target(DPNMF_SYSTEM(open)(to.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                       about.st_mode & 0777));
  if (!target.ok()) return StorageFailed("create", to);
  std::string buffer(std::size_t{1} << 20, '\0');
  while (true) {
    const ssize_t got =
        DPNMF_SYSTEM(read)(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StorageFailed("read", from);
    if (got == 0) break;
    DPNMF_RETURN_IF_ERROR(WriteAll(
        target.get(), {buffer.data(), static_cast<std::size_t>(got)}, to));
  }
  DPNMF_RETURN_IF_ERROR(Sync(target.get(), to));
  return Closed(&target, to);
}

absl::Status RewriteDurably(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadFile(path, kOwnFileLimit);
  if (absl::IsNotFound(content.status())) return absl::OkStatus();
  if (!content.ok()) return content.status();
  const Descriptor file(
      DPNMF_SYSTEM(open)(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.ok()) return StorageFailed("open", path);
  DPNMF_RETURN_IF_ERROR(WriteAll(file.get(), *content, path));
  return Sync(file.get(), path);
}

absl::Status MakePrivateFile(const std::string& path) {
  const Descriptor file(DPNMF_SYSTEM(open)(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivate));
  if (file.ok()) return absl::OkStatus();
  if (errno != EEXIST) return StorageFailed("create", path);
  struct stat about {};
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (::stat(path.c_str(), &about) != 0) return StorageFailed("open", path);
  // By name: closing a descriptor of it would drop SQLite's locks.
  if ((about.st_mode & kOthers) != 0 && ::chmod(path.c_str(), kPrivate) != 0)
    return StorageFailed("change the mode of", path);
  return absl::OkStatus();
}

absl::Status SyncFile(const std::string& path) {
  const Descriptor file(DPNMF_SYSTEM(open)(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return StorageFailed("open", path);
  return Sync(file.get(), path);
}

absl::Status RenameOver(const std::string& from, const std::string& to) {
  return DPNMF_SYSTEM(rename)(from.c_str(), to.c_str()) == 0
             ? absl::OkStatus()
             : StorageFailed("write", to);
}

absl::Status RenameNew(const std::string& from, const std::string& to) {
  return DPNMF_SYSTEM(renameat2)(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                                 RENAME_NOREPLACE) == 0
             ? absl::OkStatus()
             : StorageFailed("create", to);
}

absl::Status RemoveFile(const std::string& path) {
  return DPNMF_SYSTEM(unlink)(path.c_str()) == 0
             ? absl::OkStatus()
             : StorageFailed("remove", path);
}

absl::Status RemoveTreeDurably(const std::string& path) {
  DPNMF_RETURN_IF_ERROR(RemoveTree(path));
  std::error_code error;
  const std::string parent = ParentOf(path);
  return std::filesystem::exists(parent, error) ? SyncDirectory(parent)
                                                : absl::OkStatus();
}

absl::StatusOr<StagedFile> StagedFile::Create(const std::string& directory,
                                              const std::string& name) {
  std::string path = absl::StrCat(directory, "/", name, ".new");
  Descriptor file(DPNMF_SYSTEM(open)(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
      kPrivate));
  if (!file.ok()) return StorageFailed("create", path);
  return StagedFile(directory, std::move(path), std::move(file));
}

StagedFile::StagedFile(std::string directory, std::string path, Descriptor file)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      file_(std::move(file)) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      path_(std::exchange(other.path_, {})),
      file_(std::move(other.file_)) {}

StagedFile::~StagedFile() {
  if (!path_.empty()) DPNMF_SYSTEM(unlink)(path_.c_str());
}

absl::Status StagedFile::Reserve(std::uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const int failure =
      DPNMF_SYSTEM(posix_fallocate)(file_.get(), 0, static_cast<off_t>(bytes));
  if (failure == 0) return absl::OkStatus();
  return StorageFailed("reserve space for", path_, failure);
}

absl::Status StagedFile::Write(std::string_view content) {
  if (::lseek(file_.get(), 0, SEEK_SET) != 0)
    return StorageFailed("write", path_);
  DPNMF_RETURN_IF_ERROR(WriteAll(file_.get(), content, path_));
  if (DPNMF_SYSTEM(ftruncate)(file_.get(),
                              static_cast<off_t>(content.size())) != 0)
    return StorageFailed("truncate", path_);
  return Sync(file_.get(), path_);
}

absl::Status StagedFile::PublishAs(const std::string& name) {
  DPNMF_RETURN_IF_ERROR(RenameOver(path_, absl::StrCat(directory_, "/", name)));
  path_.clear();
  return SyncDirectory(directory_);
}

GrowingFile::GrowingFile(const std::string& path)
    : path_(path), staged_(absl::StrCat(path, ".", ::getpid(), ".partial")) {}

absl::StatusOr<GrowingFile> GrowingFile::Create(const std::string& path) {
  GrowingFile file(path);
  file.file_ = Descriptor(DPNMF_SYSTEM(open)(
      ParentOf(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, kPrivate));
  if (!file.file_.ok() && (errno == EOPNOTSUPP || errno == EISDIR)) {
    // Removes a file left by a killed process that had the same number.
    DPNMF_SYSTEM(unlink)(file.staged_.c_str());
    file.file_ = Descriptor(DPNMF_SYSTEM(open)(
        file.staged_.c_str(),
        O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kPrivate));
    file.named_ = file.file_.ok();
  }
  if (!file.file_.ok()) return StorageFailed("create", path);
  return file;
}

absl::StatusOr<GrowingFile> GrowingFile::InMemory() {
  GrowingFile file("(memory)");
  file.file_ = Descriptor(::memfd_create("input", MFD_CLOEXEC));
  if (!file.file_.ok()) return StorageFailed("create", file.path_);
  return file;
}

absl::StatusOr<GrowingFile> GrowingFile::Spool(const std::string& directory) {
  if (directory.empty()) return InMemory();
  DPNMF_ASSIGN_OR_RETURN(GrowingFile file, Create(directory + "/.import-rows"));
  if (std::exchange(file.named_, false))
    DPNMF_SYSTEM(unlink)(file.staged_.c_str());
  return file;
}

absl::Status GrowingFile::Read(std::uint64_t offset,
                               std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return StorageFailed("read", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return absl::OkStatus();
}

std::string GrowingFile::place() const {
  return absl::StrCat("/proc/self/fd/", file_.get());
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)),
      staged_(std::move(other.staged_)),
      named_(std::exchange(other.named_, false)),
      file_(std::move(other.file_)) {}

GrowingFile::~GrowingFile() {
  if (named_) DPNMF_SYSTEM(unlink)(staged_.c_str());
}

absl::Status GrowingFile::Append(std::string_view bytes) {
  return WriteAll(file_.get(), bytes, path_);
}

absl::Status GrowingFile::Publish() {
  DPNMF_RETURN_IF_ERROR(Sync(file_.get(), path_));
  const std::string file = place();
  const auto link_to = [&file](const std::string& to) {
    return DPNMF_SYSTEM(linkat)(AT_FDCWD, file.c_str(), AT_FDCWD, to.c_str(),
                                AT_SYMLINK_FOLLOW) == 0;
  };
  if (!named_) {
    if (link_to(path_)) return SyncParent(path_);
    if (errno != EEXIST) return StorageFailed("create", path_);
    DPNMF_SYSTEM(unlink)(staged_.c_str());
    named_ = link_to(staged_);
    if (!named_) return StorageFailed("create", staged_);
  }
  DPNMF_RETURN_IF_ERROR(RenameOver(staged_, path_));
  named_ = false;
  return SyncParent(path_);
}

absl::StatusOr<TemporaryDirectory> TemporaryDirectory::Create(
    const std::string& parent, std::string_view prefix) {
  std::string path = absl::StrCat(parent, "/", View(prefix), ::getpid());
  if (DPNMF_SYSTEM(mkdir)(path.c_str(), 0700) != 0)
    return StorageFailed("create", path);
  return TemporaryDirectory(parent, std::move(path));
}

TemporaryDirectory::TemporaryDirectory(std::string parent, std::string path)
    : parent_(std::move(parent)), path_(std::move(path)) {}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : parent_(std::move(other.parent_)),
      path_(std::exchange(other.path_, {})) {}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) RemoveTreeDurably(path_).IgnoreError();
}

absl::Status TemporaryDirectory::Publish(const std::string& target) {
  DPNMF_RETURN_IF_ERROR(SyncDirectory(path_));
  DPNMF_RETURN_IF_ERROR(RenameNew(path_, target));
  path_.clear();
  return SyncDirectory(parent_);
}

absl::StatusOr<FileLock> FileLock::Take(const std::string& path,
                                        const absl::Status& held) {
  Descriptor file(DPNMF_SYSTEM(open)(
      path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivate));
  if (!file.ok()) return StorageFailed("open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    return FileLock(std::move(file));
  if (errno == EWOULDBLOCK) return held;
  return StorageFailed("lock", path);
}

}  // namespace dpnmf
