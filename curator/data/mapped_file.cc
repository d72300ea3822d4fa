#include "curator/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/base/descriptor.h"
#include "common/files/disk_error.h"

namespace dpnmf::curator {
namespace {

// Half of the machine's memory, in bytes.
std::size_t ReadAheadLimit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_size <= 0) return 0;
  return static_cast<std::size_t>(pages) / 2 *
         static_cast<std::size_t>(page_size);
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return StorageFailed("open", path);
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return StorageFailed("read", path);
  if (!S_ISREG(facts.st_mode)) return StorageFailed("read", path, EISDIR);
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return MappedFile(path, {});
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) return StorageFailed("map", path);
  // Advice may be ignored; a failure changes nothing but speed.
  (void)madvise(address, size,
                size <= ReadAheadLimit() ? MADV_WILLNEED : MADV_SEQUENTIAL);
  return MappedFile(path,
                    std::span(static_cast<const std::byte*>(address), size));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace dpnmf::curator
