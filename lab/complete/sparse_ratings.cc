#include "lab/complete/sparse_ratings.h"

#include <algorithm>
#include <cmath>

#include "curator/import/readers/ratings.h"

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

RatingScale ScaleOf(const SparseRatings& ratings) {
  RatingScale scale = {.low_units = 0, .high_units = kUnitsOfOne};
  if (ratings.values.empty()) return scale;
  const auto [low, high] =
      std::minmax_element(ratings.values.begin(), ratings.values.end());
  scale.low_units = static_cast<std::int32_t>(std::lround(*low * kUnitsOfOne));
  scale.high_units =
      static_cast<std::int32_t>(std::lround(*high * kUnitsOfOne));
  if (scale.low_units == scale.high_units)
    scale.high_units = scale.low_units + kUnitsOfOne;
  return scale;
}

RatingTable ToRatingTable(const SparseRatings& ratings,
                          const RatingScale& scale) {
  RatingTable table;
  table.scale = scale;
  table.item_count = static_cast<std::uint64_t>(ratings.columns);
  table.indptr = ratings.indptr;
  table.items = ratings.indices;
  table.units.reserve(ratings.size());
  for (const double value : ratings.values) {
    table.units.push_back(
        static_cast<std::int32_t>(std::lround(value * kUnitsOfOne)));
  }
  return table;
}

}  // namespace dpnmf::curator::lab
