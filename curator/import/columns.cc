#include "curator/import/columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dpnmf::curator {
namespace {

// Column by column: the values that normalisation touches.
std::span<float> ValuesOf(LoadedMatrix* matrix, std::uint64_t user) {
  if (!matrix->sparse) {
    return std::span(matrix->values)
        .subspan(user * matrix->features, matrix->features);
  }
  const auto begin = static_cast<std::size_t>(matrix->indptr[user]);
  const auto end = static_cast<std::size_t>(matrix->indptr[user + 1]);
  return std::span(matrix->values).subspan(begin, end - begin);
}

// The weights of the entries of ValuesOf; 1 without weights.
class EntryWeights {
 public:
  EntryWeights(const LoadedMatrix& matrix, std::span<const double> weights,
               std::uint64_t user)
      : weights_(weights) {
    if (matrix.sparse && !weights.empty())
      rows_ = std::span(matrix.indices)
                  .subspan(static_cast<std::size_t>(matrix.indptr[user]));
  }
  double operator[](std::size_t entry) const {
    if (weights_.empty()) return 1;
    return weights_[rows_.empty() ? entry
                                  : static_cast<std::size_t>(rows_[entry])];
  }

 private:
  std::span<const double> weights_;
  std::span<const std::int32_t> rows_;  // of sparse entries
};

// Added up in the order of the features, so that a column's bits depend on the
// column alone; zeros add nothing, so that dense and sparse agree.
double LengthOf(std::span<const float> column, const EntryWeights& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const double value = static_cast<double>(column[i]) * weights[i];
    sum += value * value;
  }
  return std::sqrt(sum);
}

void RemoveZeros(LoadedMatrix* matrix) {
  std::size_t kept = 0, at = 0;
  for (std::uint64_t n = 0; n < matrix->users; ++n) {
    const auto end = static_cast<std::size_t>(matrix->indptr[n + 1]);
    matrix->indptr[n] = static_cast<std::int64_t>(kept);
    for (; at < end; ++at) {
      if (matrix->values[at] == 0) continue;
      matrix->values[kept] = matrix->values[at];
      matrix->indices[kept++] = matrix->indices[at];
    }
  }
  matrix->indptr[matrix->users] = static_cast<std::int64_t>(kept);
  matrix->values.resize(kept);
  matrix->indices.resize(kept);
}

}  // namespace

void NormaliseColumns(LoadedMatrix* matrix, Normalisation normalisation,
                      double column_bound, std::span<const double> weights) {
  for (std::uint64_t n = 0; n < matrix->users; ++n) {
    const std::span<float> column = ValuesOf(matrix, n);
    const EntryWeights weight_of(*matrix, weights, n);
    const double length = LengthOf(column, weight_of);
    const double target = normalisation == Normalisation::kL2
                              ? 1
                              : std::min(length, column_bound);
    const bool keeps = !(length > 0) || length == target;
    if (keeps && weights.empty()) continue;
    const double scale = keeps ? 1 : target / length;
    for (std::size_t i = 0; i < column.size(); ++i) {
      column[i] = static_cast<float>(static_cast<double>(column[i]) *
                                     weight_of[i] * scale);
    }
  }
  if (matrix->sparse && !weights.empty()) RemoveZeros(matrix);
}

absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(
    LoadedMatrix matrix, DatasetDescription description) {
  description.features = matrix.features;
  description.sparse = matrix.sparse;
  if (description.adjacency == Adjacency::kReplaceOne)
    description.users = matrix.users;
  if (matrix.sparse) {
    return Dataset::FromSparse(std::move(description), std::move(matrix.indptr),
                               std::move(matrix.indices),
                               std::move(matrix.values));
  }
  return Dataset::FromDense(std::move(description), std::move(matrix.values));
}

}  // namespace dpnmf::curator
