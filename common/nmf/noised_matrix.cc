#include "common/nmf/noised_matrix.h"

#include <cmath>
#include <limits>

#include "common/base/error.h"

namespace dpnmf {
namespace {

absl::Status Malformed(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 sentence);
}

double EntryOf(const NoisedMatrix& matrix, std::uint64_t index) {
  return matrix.is_lattice
             ? std::ldexp(static_cast<double>(matrix.lattice[index]),
                          matrix.step_exponent)
             : matrix.reals[index];
}

}  // namespace

std::uint64_t EntryCount(std::uint64_t rows, std::uint64_t columns,
                         bool symmetric) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide count = symmetric ? Wide{rows} * (Wide{rows} + 1) / 2
                               : Wide{rows} * Wide{columns};
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return count < kMost ? static_cast<std::uint64_t>(count) : kMost;
}

absl::StatusOr<Eigen::MatrixXd> ToMean(const NoisedMatrix& matrix,
                                       double users) {
  const std::uint64_t held =
      matrix.is_lattice ? matrix.lattice.size() : matrix.reals.size();
  if (matrix.rows == 0 || matrix.columns == 0 ||
      (matrix.symmetric && matrix.rows != matrix.columns) ||
      held != EntryCount(matrix.rows, matrix.columns, matrix.symmetric)) {
    return Malformed("The release's entries do not match its shape.");
  }
  if (!(users > 0) || !std::isfinite(users)) {
    return Malformed("The number of users must be positive.");
  }
  Eigen::MatrixXd mean(matrix.rows, matrix.columns);
  std::uint64_t index = 0;
  for (Eigen::Index column = 0; column < mean.cols(); ++column) {
    const Eigen::Index end = matrix.symmetric ? column + 1 : mean.rows();
    for (Eigen::Index row = 0; row < end; ++row) {
      const double value = EntryOf(matrix, index++) / users;
      if (!std::isfinite(value)) {
        return Malformed("The release has an entry that is not finite.");
      }
      mean(row, column) = value;
      if (matrix.symmetric) mean(column, row) = value;
    }
  }
  return mean;
}

}  // namespace dpnmf
