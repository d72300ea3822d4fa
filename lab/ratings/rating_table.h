// Ratings in memory, by person. Without privacy: for `dpnmf-lab evaluate`.
#ifndef DPNMF_LAB_RATINGS_RATING_TABLE_H_
#define DPNMF_LAB_RATINGS_RATING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator::lab {

// D items, a row of ratings a person; a person may have none.
struct RatingTable {
  RatingScale scale;
  std::uint64_t item_count = 0;            // D
  std::vector<std::int64_t> indptr = {0};  // people + 1 offsets
  std::vector<std::int32_t> items;         // ascending for each person
  std::vector<std::int32_t> units;         // of kRatingUnit, within the scale
  std::vector<std::int64_t> times;         // as many, or empty: not known

  std::size_t people() const { return indptr.size() - 1; }
  std::size_t size() const { return items.size(); }
  std::size_t Begin(std::size_t person) const {
    return static_cast<std::size_t>(indptr[person]);
  }
  RatedItems Of(std::size_t person) const;
  // Ends the row of the person that was appended to last.
  void EndPerson() {
    indptr.push_back(static_cast<std::int64_t>(items.size()));
  }
};

inline double RatingOf(std::int32_t units) { return units * kRatingUnit; }
double LowOf(const RatingScale& scale);
double HighOf(const RatingScale& scale);

// The same ratings by item: indptr has D + 1 offsets, people ascend within an
// item, `at` is the rating's place in the table.
struct ByItem {
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> people;
  std::vector<std::int64_t> at;
};
ByItem Transpose(const RatingTable& table);

// Number of ratings of each item: D.
std::vector<std::int64_t> CountsOf(const RatingTable& table);

// Items that a rating of is a sign of liking: at least low + 3/4 of the range
// (4 of 1 to 5), in exact integers.
bool IsRelevant(const RatingScale& scale, std::int32_t units);

// Description that ToDataset declares.
DatasetDescription DescriptionOf(const RatingTable& table, Adjacency adjacency,
                                 std::uint64_t users);

// The table as a data set of the relation; N is `users` (the number of people
// unless the relation is add_remove_one).
absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(const RatingTable& table,
                                                   Adjacency adjacency,
                                                   std::uint64_t users);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_RATING_TABLE_H_
