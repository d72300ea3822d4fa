// "user item rating" lines, with the range that was declared for them. What is
// missing is not 0, and a rating of 0 is a rating.
//
// Sentences of refusals may quote private values: for the operator's terminal.
#ifndef DPNMF_CURATOR_IMPORT_READERS_RATINGS_H_
#define DPNMF_CURATOR_IMPORT_READERS_RATINGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tables/load.h"
#include "curator/data/dataset.h"
#include "curator/import/readers/item_table.h"

namespace dpnmf::curator {

// "1,5" or "0.5,5": LOW,HIGH with LOW < HIGH, from -100000 to 100000, at most
// four decimals. INVALID_ARGUMENT "rating-range-out-of-range".
absl::StatusOr<RatingScale> ParseRatingRange(std::string_view text);

// Units of a rating of 1.
inline constexpr int kUnitsOfOne = 10'000;

// The rating as people write it: "3.5" of 35000 units.
std::string RatingText(std::int64_t units);

struct RatingsOptions {
  RatingScale scale;
  // Declared number of people: people without a rating are empty columns at the
  // end, more people are refused. Not set: those of the file.
  std::optional<std::uint64_t> users_count;
  // Lines of items that were not declared are left out, not refused.
  bool drop_unlisted = false;
  // Tells whether the command has a flag for drop_unlisted; refusals name the
  // flag.
  bool has_unlisted_flag = true;
  // Items that were not declared are appended to those that were, in the order
  // of the file: for research, where the items may come from the ratings.
  bool add_items = false;
  // Keep the fourth field (0 on a line without one).
  bool keep_times = false;
  // "csv", "tsv" or "text": the file has its separators ("input-malformed");
  // null or another: any.
  MatrixFormat format = nullptr;
  std::string place, spool_dir;  // as in LoadOptions
  LoadProgress progress;
  std::function<bool()> interrupted;
  // Told how the lines were understood.
  std::function<void(const std::string& sentence)> note;
  // Told each of the first kShownRefusals lines that are refused, if there is
  // more than one, before LoadRatings returns.
  std::function<void(const absl::Status&)> refused;
};

// By person as Dataset::FromRatings takes them.
struct LoadedRatings {
  std::uint64_t items = 0;  // D
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<std::int32_t> units;
  // Times of the ratings, if they were asked for and the file has any; the
  // decimals of a time are cut off.
  std::vector<std::int64_t> times;
  // The ids of the first people, in the order of their first appearance in the
  // file; the rest of the columns has no rating. Private.
  std::vector<std::string> users;
  // The items that `add_items` appended.
  std::vector<std::string> added_items;
  std::uint64_t replaced = 0;  // ratings for which a later line was taken
  std::uint64_t unlisted = 0;  // lines that were left out
  std::uint64_t rows = 0;      // lines of the file but its header

  std::uint64_t people() const { return indptr.size() - 1; }
};

// Lines of user, item, rating and perhaps a time
// (common/tables/triple_lines.h). The first line is a header if the name of its
// third field suggests ratings. Users are any words. Several lines of one user
// and item: the last one counts. Takes 20 bytes of memory a line, 8 of them
// with spool_dir; 16 more with times.
//
// Errors as LoadMatrix (common/tables/load.h), here "input-ragged",
// "input-malformed", "input-not-a-number", "input-not-finite",
// "input-ambiguous" (a comma in a rating), "input-out-of-range" (a rating out
// of the declared range), "item-unknown" (one sentence if most lines have
// such), "users-mismatch" (more people than declared),
// "users-count-out-of-range" (above 100,000,000) and "input-too-large" (a
// person with more than kMostRatingsOfAPerson, or more than 4e9 lines). All
// lines are looked at: the sentence is that of the first one that is refused
// and says how many more there are.
absl::StatusOr<LoadedRatings> LoadRatings(const std::string& path,
                                          const ItemTable& items,
                                          const RatingsOptions& options);

// The name that the file's header gives the items; empty if there is no header,
// or no such file. A list of items may have it above its ids
// (common/tables/names/name_list.h).
std::string ItemHeaderOf(const std::string& path,
                         const std::string& place = "");

// An in-memory data set. The description's features, ratings and (unless under
// add or remove one) users are set from the ratings and the scale.
absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(
    LoadedRatings ratings, const ItemTable& items, const RatingScale& scale,
    DatasetDescription description);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_READERS_RATINGS_H_
