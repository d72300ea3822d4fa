// Ratings by row, as the completions read them: what is not listed is missing,
// and a listed 0 is a rating of 0. Without privacy.
#ifndef DPNMF_LAB_COMPLETE_SPARSE_RATINGS_H_
#define DPNMF_LAB_COMPLETE_SPARSE_RATINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

struct SparseRatings {
  Eigen::Index columns = 0;
  std::vector<std::int64_t> indptr = {0};  // rows + 1 offsets
  std::vector<std::int32_t> indices = {};  // ascending in each row
  std::vector<double> values = {};

  Eigen::Index rows() const {
    return static_cast<Eigen::Index>(indptr.size()) - 1;
  }
  std::size_t size() const { return indices.size(); }
  std::size_t Begin(Eigen::Index row) const {
    return static_cast<std::size_t>(indptr[static_cast<std::size_t>(row)]);
  }
  bool IsEmptyRow(Eigen::Index row) const {
    return Begin(row) == Begin(row + 1);
  }
  // Ends the row whose entries were appended.
  void EndRow() { indptr.push_back(static_cast<std::int64_t>(size())); }
  // Appends row `row` of another table.
  void AppendRow(const SparseRatings& from, Eigen::Index row);
};

SparseRatings Transposed(const SparseRatings& ratings);

// Rows `begin` to `end` (without it).
SparseRatings RowRange(const SparseRatings& ratings, Eigen::Index begin,
                       Eigen::Index end);

// Mean of each column; that of all ratings where a column has none.
Eigen::VectorXd ColumnMeans(const SparseRatings& ratings);

// The least and the largest rating; 0 to 1 if there are not two.
RatingScale ScaleOf(const SparseRatings& ratings);
// The same ratings in units (lab/ratings). Each lies within the scale.
RatingTable ToRatingTable(const SparseRatings& ratings,
                          const RatingScale& scale);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_SPARSE_RATINGS_H_
