#include "tests/faults/faulty_disk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/faults/faulty_system.h"
#include "tests/faults/faulty_vfs.h"

namespace dpnmf::faults {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSector = 512;

std::mutex g_disks_mutex;
std::vector<std::pair<std::string, FaultyDisk*>>& Disks() {
  static auto& disks = *new std::vector<std::pair<std::string, FaultyDisk*>>();
  return disks;
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string Parent(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The directory itself, or what is below it.
bool IsIn(const std::string& path, const std::string& directory) {
  return path == directory ||
         path.compare(0, directory.size() + 1, directory + "/") == 0;
}

// The path after the directory `from` was renamed to `to`.
std::string Moved(const std::string& path, const std::string& from,
                  const std::string& to) {
  return IsIn(path, from) ? to + path.substr(from.size()) : path;
}

// SQLite rebuilds its index of the log.
bool IsScratch(const std::string& path) {
  return path.size() > 4 && path.compare(path.size() - 4, 4, "-shm") == 0;
}

}  // namespace

std::string Describe(const Fault& fault) {
  const char* const kinds[] = {"no fault",    "power cut", "failure",
                               "short write", "disk full", "read-only disk"};
  return std::string(kinds[fault.kind]) + " at call " +
         std::to_string(fault.call) + " (errno " + std::to_string(fault.error) +
         ")";
}

FaultyDisk::FaultyDisk(std::string root, std::uint64_t seed)
    : root_(std::move(root)), random_(seed) {
  PutFaultySystemInPlace();
  PutFaultyVfsInPlace();
  fs::create_directories(root_);
  Adopt();
  const std::lock_guard<std::mutex> lock(g_disks_mutex);
  Disks().emplace_back(root_ + "/", this);
}

FaultyDisk::~FaultyDisk() {
  const std::lock_guard<std::mutex> lock(g_disks_mutex);
  std::erase_if(Disks(), [this](const auto& d) { return d.second == this; });
}

FaultyDisk* FaultyDisk::Of(const std::string& path) {
  const std::lock_guard<std::mutex> lock(g_disks_mutex);
  for (const auto& [prefix, disk] : Disks()) {
    if (path.compare(0, prefix.size(), prefix) == 0 ||
        path == prefix.substr(0, prefix.size() - 1)) {
      return disk;
    }
  }
  return nullptr;
}

void FaultyDisk::Arm(const Fault& fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fault_ = fault;
  calls_ = 0;
  struck_ = false;
}

std::uint64_t FaultyDisk::calls() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

bool FaultyDisk::struck() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return struck_;
}

bool FaultyDisk::dead() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dead_;
}

void FaultyDisk::SetSurvival(Survival survival) {
  const std::lock_guard<std::mutex> lock(mutex_);
  survival_ = static_cast<int>(survival);
}

bool FaultyDisk::Allow(Call call, bool* partial) {
  const std::lock_guard<std::mutex> lock(mutex_);
  errno = EIO;
  if (dead_) return false;
  ++calls_;
  if (fault_.kind == Fault::kNone || calls_ < fault_.call) return true;
  switch (fault_.kind) {
    case Fault::kPowerCut: {
      struck_ = true;
      const int survival =
          survival_ >= 0 ? survival_ : static_cast<int>(random_() % 3);
      Cut(static_cast<Survival>(survival));
      errno = EIO;
      return false;
    }
    case Fault::kFails:
    case Fault::kShort:
      if (calls_ != fault_.call) return true;
      struck_ = true;
      if (fault_.kind == Fault::kShort && partial != nullptr) *partial = true;
      errno = fault_.error;
      return false;
    case Fault::kFull:
      if (call != Call::kWrite) return true;
      struck_ = true;
      errno = ENOSPC;
      return false;
    case Fault::kReadOnly:
      if (call == Call::kRead || call == Call::kSync) return true;
      struck_ = true;
      errno = EROFS;
      return false;
    case Fault::kNone:
      break;
  }
  return true;
}

std::shared_ptr<FaultyDisk::File> FaultyDisk::FileAt(const std::string& path) {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

void FaultyDisk::Created(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dead_ || IsScratch(path) || FileAt(path) != nullptr) return;
  auto file = std::make_shared<File>();
  names_[path] = file;
  pending_[Parent(path)].push_back({NameChange::kCreate, "", path, file});
}

void FaultyDisk::Dirtied(const std::string& path, std::uint64_t from,
                         std::uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto file = dead_ ? nullptr : FileAt(path);
  if (file == nullptr) return;
  if (size == 0) {
    file->all_dirty = true;
  } else {
    file->dirty.push_back({from, size});
  }
}

void FaultyDisk::Synced(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto file = dead_ ? nullptr : FileAt(path);
  if (file == nullptr) return;
  if (file->all_dirty) {
    file->durable = Content(path);
  } else if (!file->dirty.empty()) {
    std::ifstream now(path, std::ios::binary);
    for (const Range& range : file->dirty) {
      if (file->durable.size() < range.from + range.size)
        file->durable.resize(range.from + range.size);
      now.seekg(static_cast<std::streamoff>(range.from));
      now.read(file->durable.data() + range.from,
               static_cast<std::streamsize>(range.size));
    }
  }
  file->dirty.clear();
  file->all_dirty = false;
}

void FaultyDisk::SyncFailed(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto file = FileAt(path);
  if (file == nullptr) return;
  file->dirty.clear();
  file->all_dirty = false;
}

void FaultyDisk::DirectorySynced(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dead_) return;
  for (const NameChange& change : pending_[path])
    Apply(change, &durable_names_, &durable_directories_);
  pending_.erase(path);
}

void FaultyDisk::MadeDirectory(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dead_) return;
  pending_[Parent(path)].push_back(
      {NameChange::kMakeDirectory, "", path, nullptr});
}

void FaultyDisk::RemovedDirectory(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dead_) return;
  pending_[Parent(path)].push_back(
      {NameChange::kRemoveDirectory, path, "", nullptr});
}

// Moves the changes that are pending in the directory and below with it.
void FaultyDisk::RenamedDirectory(const std::string& from,
                                  const std::string& to) {
  Apply({NameChange::kRenameDirectory, from, to, nullptr}, &names_, nullptr);
  std::map<std::string, std::vector<NameChange>> pending;
  for (auto& [directory, changes] : pending_) {
    for (NameChange& change : changes) {
      change.from = Moved(change.from, from, to);
      change.to = Moved(change.to, from, to);
    }
    pending[Moved(directory, from, to)] = std::move(changes);
  }
  pending_ = std::move(pending);
  pending_[Parent(to)].push_back(
      {NameChange::kRenameDirectory, from, to, nullptr});
}

void FaultyDisk::Renamed(const std::string& from, const std::string& to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!dead_ && fs::is_directory(to)) return RenamedDirectory(from, to);
  const auto file = dead_ ? nullptr : FileAt(from);
  if (file == nullptr) return;
  if (const auto old = FileAt(to); old != nullptr) old->there = false;
  names_[to] = file;
  names_.erase(from);
  pending_[Parent(to)].push_back({NameChange::kRename, from, to, file});
}

void FaultyDisk::Unlinked(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto file = dead_ ? nullptr : FileAt(path);
  if (file == nullptr) return;
  file->there = false;
  names_.erase(path);
  pending_[Parent(path)].push_back({NameChange::kUnlink, path, "", file});
}

void FaultyDisk::Apply(const NameChange& change, Names* names,
                       std::set<std::string>* directories) {
  switch (change.kind) {
    case NameChange::kMakeDirectory:
      directories->insert(change.to);
      return;
    case NameChange::kCreate:
      (*names)[change.to] = change.file;
      return;
    case NameChange::kRename:
      names->erase(change.from);
      (*names)[change.to] = change.file;
      return;
    case NameChange::kUnlink:
      names->erase(change.from);
      return;
    case NameChange::kRemoveDirectory:
      std::erase_if(*names,
                    [&](const auto& n) { return IsIn(n.first, change.from); });
      std::erase_if(*directories,
                    [&](const auto& d) { return IsIn(d, change.from); });
      return;
    case NameChange::kRenameDirectory: {
      Names moved;
      for (auto& [name, file] : *names)
        moved[Moved(name, change.from, change.to)] = file;
      *names = std::move(moved);
      if (directories == nullptr) return;
      std::set<std::string> all;
      for (const std::string& directory : *directories)
        all.insert(Moved(directory, change.from, change.to));
      *directories = std::move(all);
      return;
    }
  }
}

// The bytes under `path` after a cut, if the name survives.
std::string FaultyDisk::Surviving(const std::string& path, const File& file,
                                  Survival survival) {
  if (survival == Survival::kSynced) return file.durable;
  // Current place of the file; the name that survives may be another one.
  std::string place = path;
  if (!file.there) return file.durable;
  for (const auto& [name, other] : names_)
    if (other.get() == &file) place = name;
  const std::string now = Content(place);
  if (survival == Survival::kAll) return now;
  if (!file.all_dirty && file.dirty.empty()) return file.durable;
  std::string mixed = random_() % 2 == 0 ? file.durable : now;
  if (mixed.size() < std::max(file.durable.size(), now.size()) &&
      random_() % 2 == 0) {
    mixed.resize(std::max(file.durable.size(), now.size()));
  }
  // Each sector is old, or new, by a chance that is drawn for the file.
  const std::uint64_t odds = 1 + random_() % 8;
  for (std::uint64_t at = 0; at < mixed.size(); at += kSector) {
    const std::string& source = random_() % 8 < odds ? now : file.durable;
    const std::uint64_t end =
        std::min<std::uint64_t>(mixed.size(), at + kSector);
    for (std::uint64_t i = at; i < end; ++i)
      mixed[i] = i < source.size() ? source[i] : '\0';
  }
  return mixed;
}

void FaultyDisk::Cut(Survival survival) {
  dead_ = true;
  Names names = durable_names_;
  std::set<std::string> directories = durable_directories_;
  for (const auto& [directory, changes] : pending_) {
    for (const NameChange& change : changes) {
      const bool survives = survival == Survival::kAll ||
                            (survival == Survival::kSome && random_() % 2 == 0);
      if (survives) Apply(change, &names, &directories);
    }
  }
  surviving_files_.clear();
  surviving_directories_.clear();
  for (const std::string& directory : directories) {
    bool reachable = true;
    for (std::string up = Parent(directory); up.size() > root_.size();
         up = Parent(up)) {
      reachable = reachable && directories.contains(up);
    }
    if (reachable) surviving_directories_.insert(directory);
  }
  for (const auto& [path, file] : names) {
    const std::string parent = Parent(path);
    if (parent != root_ && !surviving_directories_.contains(parent)) continue;
    surviving_files_[path] = Surviving(path, *file, survival);
  }
}

void FaultyDisk::PowerCut(Survival survival) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!dead_) Cut(survival);
}

void FaultyDisk::Reboot() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const fs::directory_entry& entry : fs::directory_iterator(root_))
    fs::remove_all(entry.path());
  for (const std::string& directory : surviving_directories_)
    fs::create_directories(directory);
  for (const auto& [path, content] : surviving_files_)
    std::ofstream(path, std::ios::binary) << content;
  dead_ = false;
  fault_ = Fault();
  calls_ = 0;
  struck_ = false;
  AdoptLocked();
}

void FaultyDisk::Adopt() {
  const std::lock_guard<std::mutex> lock(mutex_);
  AdoptLocked();
}

void FaultyDisk::AdoptLocked() {
  names_.clear();
  pending_.clear();
  durable_directories_.clear();
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(root_)) {
    const std::string path = entry.path().string();
    if (entry.is_directory()) {
      durable_directories_.insert(path);
    } else if (!IsScratch(path)) {
      names_[path] = std::make_shared<File>();
      names_[path]->durable = Content(path);
    }
  }
  durable_names_ = names_;
}

}  // namespace dpnmf::faults
