// One released matrix, as it stands in a release and on the wire.
#ifndef DPNMF_COMMON_NMF_NOISED_MATRIX_H_
#define DPNMF_COMMON_NMF_NOISED_MATRIX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace dpnmf {

// Either lattice integers (a noised sum: entry = lattice * 2^step_exponent) or
// reals (a function of noised sums). Full: column-major, rows * columns
// entries. Symmetric: the upper triangle by columns, (0,0) (0,1) (1,1) (0,2)
// ...
struct NoisedMatrix {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  bool symmetric = false;
  bool is_lattice = true;
  int step_exponent = 0;
  std::vector<std::int64_t> lattice;  // if is_lattice
  std::vector<double> reals;          // else

  friend bool operator==(const NoisedMatrix&, const NoisedMatrix&) = default;
};

// Entries that travel: rows * columns, or rows * (rows + 1) / 2 if symmetric.
// The largest 64-bit integer if that is more than 64 bits hold.
std::uint64_t EntryCount(std::uint64_t rows, std::uint64_t columns,
                         bool symmetric);

// The full real matrix, rows x columns, every entry divided by `users` (a sum
// becomes a mean). INVALID_ARGUMENT "release-malformed" if the entry count does
// not fit the shape, a mean is not finite or `users` is not positive.
absl::StatusOr<Eigen::MatrixXd> ToMean(const NoisedMatrix& matrix,
                                       double users);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_NOISED_MATRIX_H_
