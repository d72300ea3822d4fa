// The header of NumPy's .npy files (format versions 1.0 to 3.0).
#ifndef DPNMF_COMMON_FILES_NPY_H_
#define DPNMF_COMMON_FILES_NPY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf {

struct NpyHeader {
  std::string dtype;  // as in the file: "<f4", "<f8", "|u1", "<i4", ...
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;  // one or two dimensions
  std::size_t data_offset = 0;       // bytes before the first entry
};

// Magic, version and dictionary of a version 1.0 file, padded so that the data
// begin at a multiple of 64. `data_offset` is ignored.
std::string NpyHeaderBytes(const NpyHeader& header);

// From the first bytes of a file (all of it, or at least 64 KiB).
// INVALID_ARGUMENT "npy-malformed" with what is wrong. Pickled objects,
// structured types and more than two dimensions are refused. Python 2 wrote
// shapes as (6L, 4L).
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view beginning);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_NPY_H_
