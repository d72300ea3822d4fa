#include "curator/release/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/disk_error.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"

namespace dpnmf::curator {
namespace {

absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  const int value_;
};

absl::Status WriteAll(int descriptor, std::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written =
        DPNMF_SYSTEM(write)(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return StorageFailed("write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status StorageFailed(std::string_view action, const std::string& path) {
  const std::string reason = DiskErrorText(errno);
  return Refusal(
      absl::StatusCode::kUnavailable, "storage-failed",
      absl::StrCat("cannot ", View(action), " `", path, "`: ", reason));
}

absl::Status MakePrivateFile(const std::string& path) {
  const Descriptor file(DPNMF_SYSTEM(open)(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.value() >= 0) return absl::OkStatus();
  if (errno != EEXIST) return StorageFailed("create", path);
  struct stat about {};
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (::stat(path.c_str(), &about) != 0) return StorageFailed("open", path);
  // By name: closing a descriptor of it would drop SQLite's locks.
  if ((about.st_mode & kOthers) != 0 && ::chmod(path.c_str(), 0600) != 0)
    return StorageFailed("change the mode of", path);
  return absl::OkStatus();
}

absl::Status CreateDurableDirectory(const std::string& path) {
  std::filesystem::path directory =
      std::filesystem::path(path).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  const std::string parent =
      directory.has_parent_path() ? directory.parent_path().string() : ".";
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
  if (directory.value() < 0) return StorageFailed("open directory", path);
  if (DPNMF_SYSTEM(fsync)(directory.value()) != 0)
    return StorageFailed("sync directory", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const Descriptor file(DPNMF_SYSTEM(open)(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0 && errno == ENOENT) {
    return Refusal(absl::StatusCode::kNotFound, "file-missing",
                   absl::StrCat("there is no file `", path, "`"));
  }
  struct stat about {};
  if (file.value() < 0 || ::fstat(file.value(), &about) != 0)
    return StorageFailed("open", path);
  std::string content(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = DPNMF_SYSTEM(read)(
        file.value(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StorageFailed("read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

absl::Status RewriteDurably(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (absl::IsNotFound(content.status())) return absl::OkStatus();
  if (!content.ok()) return content.status();
  const Descriptor file(
      DPNMF_SYSTEM(open)(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.value() < 0) return StorageFailed("open", path);
  DPNMF_RETURN_IF_ERROR(WriteAll(file.value(), *content, path));
  if (DPNMF_SYSTEM(fsync)(file.value()) != 0)
    return StorageFailed("sync", path);
  return absl::OkStatus();
}

absl::StatusOr<StagedFile> StagedFile::Create(const std::string& directory,
                                              const std::string& name) {
  std::string path = absl::StrCat(directory, "/", name, ".new");
  const int descriptor = DPNMF_SYSTEM(open)(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
      0600);
  if (descriptor < 0) return StorageFailed("create", path);
  return StagedFile(directory, std::move(path), descriptor);
}

StagedFile::StagedFile(std::string directory, std::string path, int descriptor)
    : directory_(std::move(directory)),
      path_(std::move(path)),
      descriptor_(descriptor) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

StagedFile::~StagedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) DPNMF_SYSTEM(unlink)(path_.c_str());
}

absl::Status StagedFile::Reserve(std::uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const int failure =
      DPNMF_SYSTEM(posix_fallocate)(descriptor_, 0, static_cast<off_t>(bytes));
  if (failure == 0) return absl::OkStatus();
  errno = failure;
  return StorageFailed("reserve space for", path_);
}

absl::Status StagedFile::Write(std::string_view content) {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0)
    return StorageFailed("write", path_);
  DPNMF_RETURN_IF_ERROR(WriteAll(descriptor_, content, path_));
  if (DPNMF_SYSTEM(ftruncate)(descriptor_,
                              static_cast<off_t>(content.size())) != 0)
    return StorageFailed("truncate", path_);
  if (DPNMF_SYSTEM(fsync)(descriptor_) != 0)
    return StorageFailed("sync", path_);
  return absl::OkStatus();
}

absl::Status StagedFile::PublishAs(const std::string& name) {
  const std::string final_path = absl::StrCat(directory_, "/", name);
  if (DPNMF_SYSTEM(rename)(path_.c_str(), final_path.c_str()) != 0)
    return StorageFailed("rename", path_);
  path_.clear();
  return SyncDirectory(directory_);
}

}  // namespace dpnmf::curator
