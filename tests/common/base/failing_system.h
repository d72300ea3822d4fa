// Calls of the system that fail when a test says so. Only in tests that link
// twins with failpoints (cmake/Failpoints.cmake).
#ifndef DPNMF_TESTS_COMMON_BASE_FAILING_SYSTEM_H_
#define DPNMF_TESTS_COMMON_BASE_FAILING_SYSTEM_H_

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/base/failpoint.h"

namespace dpnmf {

// In the system's place while it lives. Not thread-safe but for `fails`.
class FailingSystem final : public failpoint::System {
 public:
  enum class Call { kOpen, kWrite, kSync, kSyncDirectory, kChange };
  // Asked at each call but reads, with the path that it changes; true: the call
  // fails with EIO.
  using Fails = std::function<bool(Call, const std::string& path)>;

  explicit FailingSystem(Fails fails) : fails_(std::move(fails)) {
    failpoint::in_place_of_the_system = this;
  }
  ~FailingSystem() override { failpoint::in_place_of_the_system = nullptr; }

  int Open(const char* path, int flags, mode_t mode) override {
    return Refuses(Call::kOpen, path) ? -1 : System::Open(path, flags, mode);
  }
  // Half of what is asked is written before the call that fails.
  ssize_t Write(int file, const void* data, std::size_t size) override {
    if (!Refuses(Call::kWrite, PathOf(file)))
      return System::Write(file, data, size);
    if (size > 1) (void)System::Write(file, data, size / 2);
    errno = EIO;
    return -1;
  }
  int Sync(int file) override {
    struct stat about {};
    const bool directory = ::fstat(file, &about) == 0 && S_ISDIR(about.st_mode);
    return Refuses(directory ? Call::kSyncDirectory : Call::kSync, PathOf(file))
               ? -1
               : System::Sync(file);
  }
  int Truncate(int file, off_t size) override {
    return Refuses(Call::kChange, PathOf(file)) ? -1
                                                : System::Truncate(file, size);
  }
  int Rename(const char* from, const char* to) override {
    return Refuses(Call::kChange, to) ? -1 : System::Rename(from, to);
  }
  int RenameNew(const char* from, const char* to) override {
    return Refuses(Call::kChange, to) ? -1 : System::RenameNew(from, to);
  }
  int Link(const char* file, const char* to) override {
    return Refuses(Call::kChange, to) ? -1 : System::Link(file, to);
  }
  int RemoveDirectory(const char* path) override {
    return Refuses(Call::kChange, path) ? -1 : System::RemoveDirectory(path);
  }
  int MakeDirectory(const char* path, mode_t mode) override {
    return Refuses(Call::kChange, path) ? -1
                                        : System::MakeDirectory(path, mode);
  }

 private:
  static std::string PathOf(int file) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
    return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
  }
  bool Refuses(Call call, const std::string& path) {
    if (!fails_(call, path)) return false;
    errno = EIO;
    return true;
  }
  Fails fails_;
};

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_BASE_FAILING_SYSTEM_H_
