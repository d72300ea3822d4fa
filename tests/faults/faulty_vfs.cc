#include "tests/faults/faulty_vfs.h"

#include <sqlite3.h>

#include <cerrno>
#include <new>
#include <string>

#include "tests/faults/faulty_disk.h"

namespace dpnmf::faults {
namespace {

using Call = FaultyDisk::Call;

sqlite3_vfs* g_real = nullptr;

struct About {
  std::string path;
  FaultyDisk* disk = nullptr;
  // SQLite's own VFS syncs the directory with the first sync of a new log.
  bool sync_directory = false;
};

// The shim's part of SQLite's file object; the real file follows in memory.
struct ShimFile {
  sqlite3_file base;
  About* about;
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<ShimFile*>(file) + 1);
}
About& AboutOf(sqlite3_file* file) {
  return *reinterpret_cast<ShimFile*>(file)->about;
}

int Failure(int otherwise) { return errno == ENOSPC ? SQLITE_FULL : otherwise; }

int Close(sqlite3_file* file) {
  delete reinterpret_cast<ShimFile*>(file)->about;
  return Real(file)->pMethods->xClose(Real(file));
}

int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 from) {
  if (!AboutOf(file).disk->Allow(Call::kRead)) return SQLITE_IOERR_READ;
  return Real(file)->pMethods->xRead(Real(file), data, size, from);
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 from) {
  About& about = AboutOf(file);
  bool partial = false;
  const bool allowed = about.disk->Allow(Call::kWrite, &partial);
  const int failure = Failure(SQLITE_IOERR_WRITE);
  if (!allowed && !partial) return failure;
  if (partial) size /= 2;
  about.disk->Dirtied(about.path, static_cast<std::uint64_t>(from),
                      static_cast<std::uint64_t>(size));
  const int result = Real(file)->pMethods->xWrite(Real(file), data, size, from);
  return partial ? failure : result;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  About& about = AboutOf(file);
  if (!about.disk->Allow(Call::kChange)) return SQLITE_IOERR_TRUNCATE;
  about.disk->Dirtied(about.path, 0, 0);
  return Real(file)->pMethods->xTruncate(Real(file), size);
}

int Sync(sqlite3_file* file, int /*flags*/) {
  About& about = AboutOf(file);
  if (!about.disk->Allow(Call::kSync)) {
    about.disk->SyncFailed(about.path);
    return SQLITE_IOERR_FSYNC;
  }
  about.disk->Synced(about.path);
  if (about.sync_directory) {
    if (!about.disk->Allow(Call::kSync)) return SQLITE_OK;  // as SQLite's own
    about.disk->DirectorySynced(about.path.substr(0, about.path.rfind('/')));
    about.sync_directory = false;
  }
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xLock(Real(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}
int CheckReservedLock(sqlite3_file* file, int* result) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
}
int SectorSize(sqlite3_file* file) {
  return Real(file)->pMethods->xSectorSize(Real(file));
}
int DeviceCharacteristics(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend,
           void volatile** at) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, at);
}
int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, count, flags);
}
void ShmBarrier(sqlite3_file* file) {
  Real(file)->pMethods->xShmBarrier(Real(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

constexpr sqlite3_io_methods kMethods = {2,
                                         Close,
                                         Read,
                                         Write,
                                         Truncate,
                                         Sync,
                                         FileSize,
                                         Lock,
                                         Unlock,
                                         CheckReservedLock,
                                         FileControl,
                                         SectorSize,
                                         DeviceCharacteristics,
                                         ShmMap,
                                         ShmLock,
                                         ShmBarrier,
                                         ShmUnmap,
                                         nullptr,
                                         nullptr};

int Open(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags,
         int* flags_out) {
  auto* const shim = reinterpret_cast<ShimFile*>(file);
  FaultyDisk* const disk = name == nullptr ? nullptr : FaultyDisk::Of(name);
  // Files elsewhere are the real VFS's alone: it takes the whole room.
  if (disk == nullptr)
    return g_real->xOpen(g_real, name, file, flags, flags_out);
  shim->base.pMethods = nullptr;
  const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
  int exists = 0;
  g_real->xAccess(g_real, name, SQLITE_ACCESS_EXISTS, &exists);
  const bool is_new = creates && exists == 0;
  if (!disk->Allow(is_new ? Call::kChange : Call::kRead))
    return SQLITE_CANTOPEN;
  const int result = g_real->xOpen(g_real, name, Real(file), flags, flags_out);
  if (result != SQLITE_OK) return result;
  constexpr int kLogs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  if (is_new) disk->Created(name);
  shim->about = new About{name, disk, is_new && (flags & kLogs) != 0};
  shim->base.pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs* /*vfs*/, const char* name, int sync_directory) {
  FaultyDisk* const disk = FaultyDisk::Of(name);
  if (disk == nullptr) return g_real->xDelete(g_real, name, sync_directory);
  if (!disk->Allow(Call::kChange)) return SQLITE_IOERR_DELETE;
  const int result = g_real->xDelete(g_real, name, 0);
  if (result != SQLITE_OK) return result;
  disk->Unlinked(name);
  if (sync_directory != 0) {
    if (!disk->Allow(Call::kSync)) return SQLITE_IOERR_DIR_FSYNC;
    const std::string path = name;
    disk->DirectorySynced(path.substr(0, path.rfind('/')));
  }
  return SQLITE_OK;
}

}  // namespace

void PutFaultyVfsInPlace() {
  static sqlite3_vfs* const shim = [] {
    sqlite3_initialize();
    g_real = sqlite3_vfs_find("unix");
    auto* const vfs = new sqlite3_vfs(*g_real);
    vfs->pNext = nullptr;
    vfs->zName = "dpnmf-faulty";
    vfs->szOsFile = static_cast<int>(sizeof(ShimFile)) + g_real->szOsFile;
    vfs->xOpen = Open;
    vfs->xDelete = Delete;
    return vfs;
  }();
  sqlite3_vfs_register(shim, /*makeDflt=*/1);
}

}  // namespace dpnmf::faults
