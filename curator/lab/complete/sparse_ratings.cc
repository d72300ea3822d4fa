#include "curator/lab/complete/sparse_ratings.h"

namespace dpnmf::curator::lab {

using Eigen::Index;

void SparseRatings::AppendRow(const SparseRatings& from, Index row) {
  const auto begin = static_cast<std::ptrdiff_t>(from.Begin(row));
  const auto end = static_cast<std::ptrdiff_t>(from.Begin(row + 1));
  indices.insert(indices.end(), from.indices.begin() + begin,
                 from.indices.begin() + end);
  values.insert(values.end(), from.values.begin() + begin,
                from.values.begin() + end);
  EndRow();
}

SparseRatings Transposed(const SparseRatings& ratings) {
  SparseRatings turned;
  turned.columns = ratings.rows();
  turned.indptr.assign(static_cast<std::size_t>(ratings.columns) + 1, 0);
  for (const std::int32_t column : ratings.indices)
    ++turned.indptr[static_cast<std::size_t>(column) + 1];
  for (std::size_t i = 1; i < turned.indptr.size(); ++i)
    turned.indptr[i] += turned.indptr[i - 1];
  turned.indices.resize(ratings.size());
  turned.values.resize(ratings.size());
  std::vector<std::int64_t> next(turned.indptr.begin(),
                                 turned.indptr.end() - 1);
  for (Index row = 0; row < ratings.rows(); ++row) {
    for (std::size_t at = ratings.Begin(row); at < ratings.Begin(row + 1);
         ++at) {
      const auto place = static_cast<std::size_t>(
          next[static_cast<std::size_t>(ratings.indices[at])]++);
      turned.indices[place] = static_cast<std::int32_t>(row);
      turned.values[place] = ratings.values[at];
    }
  }
  return turned;
}

SparseRatings RowRange(const SparseRatings& ratings, Index begin, Index end) {
  SparseRatings part;
  part.columns = ratings.columns;
  for (Index row = begin; row < end; ++row) part.AppendRow(ratings, row);
  return part;
}

Eigen::VectorXd ColumnMeans(const SparseRatings& ratings) {
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(ratings.columns);
  Eigen::VectorXd counts = Eigen::VectorXd::Zero(ratings.columns);
  for (std::size_t at = 0; at < ratings.size(); ++at) {
    sums[ratings.indices[at]] += ratings.values[at];
    counts[ratings.indices[at]] += 1;
  }
  const double all = ratings.size() == 0
                         ? 0
                         : sums.sum() / static_cast<double>(ratings.size());
  return (counts.array() > 0)
      .select(sums.array() / counts.array().max(1), all)
      .matrix();
}

}  // namespace dpnmf::curator::lab
