// The directory of a ZIP archive (PKWARE APPNOTE 6.3, sections 4.3 and 4.5.3),
// as far as numpy.savez and other writers use it: one disk, members that are
// stored or deflated, sizes of 64 bits.
#ifndef DPNMF_COMMON_FILES_ZIP_DIRECTORY_H_
#define DPNMF_COMMON_FILES_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf {

struct ZipMember {
  std::string name;           // as in the archive: any bytes
  std::uint64_t offset = 0;   // of its first stored byte in the file
  std::uint64_t stored = 0;   // bytes there; they lie within the file
  std::uint64_t content = 0;  // bytes that they make, as declared; not checked
  std::uint32_t crc = 0;      // of the content, as declared; not checked
  bool deflated = false;      // else stored == content
};

// Reads the members of the archive at `place`, which sentences call `path`, in
// the directory's order. INVALID_ARGUMENT "input-malformed" unless the file is
// such an archive, of at most 100,000 members whose directory takes at most 16
// MiB; encrypted members and other methods are refused. "input-unreadable" if
// the file cannot be read.
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    const std::string& place, const std::string& path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_ZIP_DIRECTORY_H_
