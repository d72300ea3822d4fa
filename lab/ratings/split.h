// Which ratings are learned from and which are held out.
#ifndef DPNMF_LAB_RATINGS_SPLIT_H_
#define DPNMF_LAB_RATINGS_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

enum class HoldOutBy {
  kRating,  // every rating by itself, with probability `share`
  kPerson,  // people with probability `share`: the model never sees them. Of
            // their ratings a fifth is measured, the others are known to the
            // person's own solve
  kTime     // the latest ratings of each person, n * share of them on average
};
// "rating", "person", "time".
std::string_view NameOf(HoldOutBy by);
std::optional<HoldOutBy> HoldOutByOfName(std::string_view name);

// Share of a held-out person's ratings that is measured.
inline constexpr double kMeasuredShare = 0.2;

struct Split {
  RatingTable train;     // what a model learns from
  RatingTable held_out;  // a row for each person of the file: what is measured
  // Known ratings of each person of the file; if not set, those of `train`.
  std::optional<RatingTable> known;

  // A row for each person of the file.
  const RatingTable& own() const { return known ? *known : train; }
  // Returns true if the rows of `train` are the people of the file.
  bool same_people() const { return !known.has_value(); }
};

// A function of the table, the share and the seed. share in (0, 1).
// INVALID_ARGUMENT "evaluate-times-missing": kTime of a table without times.
// FAILED_PRECONDITION "evaluate-nothing-held-out": nothing to learn from or
// nothing to measure.
absl::StatusOr<Split> HoldOut(const RatingTable& table, HoldOutBy by,
                              double share, std::uint64_t seed);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_SPLIT_H_
