// A file mapped read-only.
#ifndef DPNMF_CURATOR_DATA_MAPPED_FILE_H_
#define DPNMF_CURATOR_DATA_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace dpnmf::curator {

// The file must not shrink while it is mapped: data sets are immutable.
class MappedFile {
 public:
  // Files that fit in half of the memory are read ahead, longer ones are
  // announced as read from front to back. NOT_FOUND or UNAVAILABLE
  // "storage-failed" with the system's reason.
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // Begins at a page boundary. Empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_MAPPED_FILE_H_
