// Failpoints: places at which a test makes a program stop, fail or lose what it
// has not synced. They stand at every write, sync, rename and removal of files:
// common/files/durable_file.cc and audit_log.cc make all of them but those of
// SQLite (wall.includes holds it). They stand at every send and receive of
// CuratorService and AnalystService; RecommendService, the control socket and
// the socket of the ranks have none.
//
// In a shipped program each macro is the plain call and nothing else; only
// libraries made by dpnmf_with_failpoints (cmake/Failpoints.cmake), which tests
// alone link, have DPNMF_FAILPOINTS defined and hold the hooks below.
//
//   DPNMF_FAILPOINT("after-charge");               a place
//   DPNMF_SYSTEM(fsync)(descriptor)                a call of the system
//   DPNMF_TRANSFER("send", stream->Write(reply))   a send or receive (bool)
#ifndef DPNMF_COMMON_BASE_FAILPOINT_H_
#define DPNMF_COMMON_BASE_FAILPOINT_H_

#ifndef DPNMF_FAILPOINTS

#define DPNMF_FAILPOINT(place) static_cast<void>(0)
#define DPNMF_SYSTEM(call) ::call
#define DPNMF_TRANSFER(place, call) (call)

#else  // test builds

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

namespace dpnmf::failpoint {

// Called at each DPNMF_FAILPOINT with its name; null: nobody looks.
using ReachHook = void (*)(const char* place);
inline std::atomic<ReachHook> on_reach{nullptr};

// Outcome of a send or receive.
enum class Fate { kPasses, kFailsBefore, kFailsAfter };
using TransferHook = Fate (*)(const char* place);
inline std::atomic<TransferHook> on_transfer{nullptr};

// The calls that change or read files; a test may put its own in place. They
// return and set errno as the system's do.
class System {
 public:
  virtual ~System() = default;
  virtual int Open(const char* path, int flags, mode_t mode) {
    return ::open(path, flags, mode);
  }
  virtual ssize_t Read(int file, void* data, std::size_t size) {
    return ::read(file, data, size);
  }
  virtual ssize_t Write(int file, const void* data, std::size_t size) {
    return ::write(file, data, size);
  }
  virtual int Sync(int file) { return ::fsync(file); }
  virtual int Truncate(int file, off_t size) { return ::ftruncate(file, size); }
  virtual int Allocate(int file, off_t from, off_t size) {
    return ::posix_fallocate(file, from, size);
  }
  virtual int Rename(const char* from, const char* to) {
    return ::rename(from, to);
  }
  // Fails if `to` exists.
  virtual int RenameNew(const char* from, const char* to) {
    return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
  }
  // Gives a file without a name the name; fails if it is taken.
  virtual int Link(const char* file, const char* to) {
    return ::linkat(AT_FDCWD, file, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
  }
  virtual int Unlink(const char* path) { return ::unlink(path); }
  virtual int RemoveDirectory(const char* path) { return ::rmdir(path); }
  virtual int MakeDirectory(const char* path, mode_t mode) {
    return ::mkdir(path, mode);
  }
};
inline std::atomic<System*> in_place_of_the_system{nullptr};

inline System& CurrentSystem() {
  static System real;
  System* const other = in_place_of_the_system.load();
  return other != nullptr ? *other : real;
}

inline void Reach(const char* place) {
  if (const ReachHook hook = on_reach.load(); hook != nullptr) hook(place);
}

template <typename Call>
bool Transfer(const char* place, const Call& call) {
  const TransferHook hook = on_transfer.load();
  const Fate fate = hook == nullptr ? Fate::kPasses : hook(place);
  if (fate == Fate::kFailsBefore) return false;
  const bool passed = call();
  return passed && fate == Fate::kPasses;
}

// NOLINTBEGIN(readability-identifier-naming): the system's names.
inline int open(const char* path, int flags, mode_t mode = 0) {
  return CurrentSystem().Open(path, flags, mode);
}
inline ssize_t read(int file, void* data, std::size_t size) {
  return CurrentSystem().Read(file, data, size);
}
inline ssize_t write(int file, const void* data, std::size_t size) {
  return CurrentSystem().Write(file, data, size);
}
inline int fsync(int file) { return CurrentSystem().Sync(file); }
inline int fdatasync(int file) { return CurrentSystem().Sync(file); }
inline int ftruncate(int file, off_t size) {
  return CurrentSystem().Truncate(file, size);
}
inline int posix_fallocate(int file, off_t from, off_t size) {
  return CurrentSystem().Allocate(file, from, size);
}
inline int rename(const char* from, const char* to) {
  return CurrentSystem().Rename(from, to);
}
// Calls RenameNew as the product needs it: with any paths, never replacing.
inline int renameat2(int /*AT_FDCWD*/, const char* from, int /*AT_FDCWD*/,
                     const char* to, unsigned /*RENAME_NOREPLACE*/) {
  return CurrentSystem().RenameNew(from, to);
}
// Calls Link: the product gives /proc/self/fd/N as `file`.
inline int linkat(int /*AT_FDCWD*/, const char* file, int /*AT_FDCWD*/,
                  const char* to, int /*AT_SYMLINK_FOLLOW*/) {
  return CurrentSystem().Link(file, to);
}
inline int unlink(const char* path) { return CurrentSystem().Unlink(path); }
inline int rmdir(const char* path) {
  return CurrentSystem().RemoveDirectory(path);
}
inline int mkdir(const char* path, mode_t mode) {
  return CurrentSystem().MakeDirectory(path, mode);
}
// NOLINTEND(readability-identifier-naming)

}  // namespace dpnmf::failpoint

#define DPNMF_FAILPOINT(place) ::dpnmf::failpoint::Reach(place)
#define DPNMF_SYSTEM(call) ::dpnmf::failpoint::call
#define DPNMF_TRANSFER(place, call) \
  (::dpnmf::failpoint::Transfer(place, [&] { return (call); }))

#endif  // DPNMF_FAILPOINTS

#endif  // DPNMF_COMMON_BASE_FAILPOINT_H_
