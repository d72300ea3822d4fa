#include "tests/faults/faulty_system.h"

#include <cerrno>
#include <string>

#include "common/base/failpoint.h"
#include "tests/faults/faulty_disk.h"

namespace dpnmf::faults {
namespace {

using Call = FaultyDisk::Call;

std::string PathOf(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

bool IsDirectory(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 && S_ISDIR(about.st_mode);
}

class FaultySystem final : public failpoint::System {
 public:
  int Open(const char* path, int flags, mode_t mode) override {
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::open(path, flags, mode);
    // No files without a name on this disk: it knows files by their names.
    if ((flags & O_TMPFILE) == O_TMPFILE) {
      errno = EOPNOTSUPP;
      return -1;
    }
    const bool creates = (flags & O_CREAT) != 0;
    if (!disk->Allow(creates ? Call::kChange : Call::kRead)) return -1;
    const int file = ::open(path, flags, mode);
    if (file < 0 || !creates) return file;
    disk->Created(path);
    if ((flags & O_TRUNC) != 0) disk->Dirtied(path, 0, 0);
    return file;
  }

  ssize_t Read(int file, void* data, std::size_t size) override {
    FaultyDisk* const disk = FaultyDisk::Of(PathOf(file));
    if (disk != nullptr && !disk->Allow(Call::kRead)) return -1;
    return ::read(file, data, size);
  }

  ssize_t Write(int file, const void* data, std::size_t size) override {
    const std::string path = PathOf(file);
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::write(file, data, size);
    bool partial = false;
    if (!disk->Allow(Call::kWrite, &partial)) {
      if (!partial || size < 2) return -1;
      size /= 2;
    }
    disk->Dirtied(path, 0, 0);
    return ::write(file, data, size);
  }

  int Sync(int file) override {
    const std::string path = PathOf(file);
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::fsync(file);
    if (!disk->Allow(Call::kSync)) {
      const int error = errno;
      disk->SyncFailed(path);
      errno = error;
      return -1;
    }
    if (IsDirectory(file)) {
      disk->DirectorySynced(path);
    } else {
      disk->Synced(path);
    }
    return 0;
  }

  int Truncate(int file, off_t size) override {
    const std::string path = PathOf(file);
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::ftruncate(file, size);
    if (!disk->Allow(Call::kChange)) return -1;
    disk->Dirtied(path, 0, 0);
    return ::ftruncate(file, size);
  }

  int Allocate(int file, off_t from, off_t size) override {
    const std::string path = PathOf(file);
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::posix_fallocate(file, from, size);
    if (!disk->Allow(Call::kWrite)) return errno;
    disk->Dirtied(path, 0, 0);
    return ::posix_fallocate(file, from, size);
  }

  int Rename(const char* from, const char* to) override {
    FaultyDisk* const disk = FaultyDisk::Of(to);
    if (disk == nullptr) return ::rename(from, to);
    if (!disk->Allow(Call::kChange)) return -1;
    const int result = ::rename(from, to);
    if (result == 0) disk->Renamed(from, to);
    return result;
  }

  int RenameNew(const char* from, const char* to) override {
    FaultyDisk* const disk = FaultyDisk::Of(to);
    if (disk == nullptr) return System::RenameNew(from, to);
    if (!disk->Allow(Call::kChange)) return -1;
    const int result = System::RenameNew(from, to);
    if (result == 0) disk->Renamed(from, to);
    return result;
  }

  int Unlink(const char* path) override {
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::unlink(path);
    if (!disk->Allow(Call::kChange)) return -1;
    const int result = ::unlink(path);
    if (result == 0) disk->Unlinked(path);
    return result;
  }

  int RemoveDirectory(const char* path) override {
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::rmdir(path);
    if (!disk->Allow(Call::kChange)) return -1;
    const int result = ::rmdir(path);
    if (result == 0) disk->RemovedDirectory(path);
    return result;
  }

  int MakeDirectory(const char* path, mode_t mode) override {
    FaultyDisk* const disk = FaultyDisk::Of(path);
    if (disk == nullptr) return ::mkdir(path, mode);
    if (!disk->Allow(Call::kChange)) return -1;
    const int result = ::mkdir(path, mode);
    if (result == 0) disk->MadeDirectory(path);
    return result;
  }
};

}  // namespace

void PutFaultySystemInPlace() {
  static FaultySystem system;
  failpoint::in_place_of_the_system = &system;
}

}  // namespace dpnmf::faults
