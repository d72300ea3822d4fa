// A disk that fails when a test says so and, when the power is cut, loses what
// was not synced.
//
// It watches one directory tree of real files. The program under test reaches
// it by the failpoints of its own calls (common/base/failpoint.h) and, for
// SQLite, by a VFS shim (faulty_vfs.h); both are put in place by the first disk
// that is made. Threads may call at once.
//
// What POSIX promises is all that survives: a file's bytes by fsync of the
// file, its name by fsync of its directory. What was written since may or may
// not be there, sector by sector and name by name.
#ifndef DPNMF_TESTS_FAULTS_FAULTY_DISK_H_
#define DPNMF_TESTS_FAULTS_FAULTY_DISK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace dpnmf::faults {

struct Fault {
  enum Kind {
    kNone,
    kPowerCut,  // this call and all later ones fail; see PowerCut
    kFails,     // this call fails, once
    kShort,     // as kFails, but half of a write is done
    kFull,      // from this call on nothing can be written (ENOSPC)
    kReadOnly,  // from this call on nothing can be changed (EROFS)
  };
  Kind kind = kNone;
  std::uint64_t call = 0;  // counted from Arm, from 1
  int error = 5;           // EIO; of kFails and kShort
};
std::string Describe(const Fault& fault);

// Data that a power cut leaves.
enum class Survival {
  kSynced,  // what was synced and nothing else
  kAll,     // everything, as when the process alone dies
  kSome,    // what was synced, and any part of the rest
};

class FaultyDisk {
 public:
  // All that lies in `root` now is durable.
  FaultyDisk(std::string root, std::uint64_t seed);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  // Replaces an earlier fault and counts calls again.
  void Arm(const Fault& fault);
  void Disarm() { Arm(Fault()); }
  // Number of calls since Arm.
  std::uint64_t calls() const;
  // The armed fault has struck.
  bool struck() const;
  bool dead() const;

  // The power goes off now, unless it is off: no call succeeds until Reboot.
  void PowerCut(Survival survival);
  // Sets the outcome of an armed kPowerCut; by default, drawn for each cut.
  void SetSurvival(Survival survival);
  // Puts what survived in place of all files. Nothing may be open.
  void Reboot();
  // All that lies in `root` now is durable: after a test changed files.
  void Adopt();

  // ---- for the shims; false (with errno set) if the call is to fail

  enum class Call { kRead, kChange, kWrite, kSync };
  // `partial`: half of the write should be done all the same.
  bool Allow(Call call, bool* partial = nullptr);
  void Created(const std::string& path);
  // [from, from + size) differs from what is synced; all of it if size is 0.
  void Dirtied(const std::string& path, std::uint64_t from, std::uint64_t size);
  void Synced(const std::string& path);
  // The kernel drops pages that it could not write.
  void SyncFailed(const std::string& path);
  void DirectorySynced(const std::string& path);
  void MadeDirectory(const std::string& path);
  void RemovedDirectory(const std::string& path);
  // Notes a new name of a file, or of a directory with all its contents.
  void Renamed(const std::string& from, const std::string& to);
  void Unlinked(const std::string& path);

  // The disk that holds `path`, or null.
  static FaultyDisk* Of(const std::string& path);

 private:
  struct Range {
    std::uint64_t from, size;
  };
  struct File {
    std::string durable;
    std::vector<Range> dirty;
    bool all_dirty = false;
    bool there = true;  // under its name in `names_`
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;
  // A change of names in a directory that was not synced since.
  struct NameChange {
    enum Kind {
      kCreate,
      kRename,
      kUnlink,
      kMakeDirectory,
      kRemoveDirectory,
      kRenameDirectory
    } kind;
    std::string from, to;
    std::shared_ptr<File> file;
  };

  void Cut(Survival survival);
  void RenamedDirectory(const std::string& from, const std::string& to);
  std::shared_ptr<File> FileAt(const std::string& path);
  std::string Surviving(const std::string& path, const File& file,
                        Survival survival);
  static void Apply(const NameChange& change, Names* names,
                    std::set<std::string>* directories);
  void AdoptLocked();

  const std::string root_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  Fault fault_;
  std::uint64_t calls_ = 0;
  bool struck_ = false, dead_ = false;
  int survival_ = -1;
  Names names_, durable_names_;
  std::set<std::string> durable_directories_;
  std::map<std::string, std::vector<NameChange>> pending_;  // by directory
  // After a cut: what Reboot writes.
  std::map<std::string, std::string> surviving_files_;
  std::set<std::string> surviving_directories_;
};

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_FAULTY_DISK_H_
