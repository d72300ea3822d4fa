// Lists of items for people, from a published item model and one person's own
// record.
//
// Joint differential privacy rests on one condition
// (docs/reference/recommender.md): a list, its error bars and its explanation
// are a function of the model, of public facts and of that one person's record.
// Nothing here reads, counts or averages over anybody else. How long a list
// takes may show: as in common/ratings/person.h, no number of a hostile model
// is slower than others, and all items are scored for everybody.
#ifndef DPNMF_CURATOR_RECOMMEND_RECOMMENDER_H_
#define DPNMF_CURATOR_RECOMMEND_RECOMMENDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ratings/model_file.h"
#include "common/ratings/person.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

inline constexpr std::uint32_t kDefaultTop = 20;
inline constexpr std::uint32_t kMostTop = 1000;
// Cap on columns of a model's matrix: the time of a list grows as their cube.
inline constexpr std::int64_t kMostColumns = 256;

struct ListOptions {
  std::uint32_t top = kDefaultTop;  // 1 to kMostTop
  bool by_rating = false;           // else by relevance
  bool explain = false;
};

// Contribution of an item's own rating to a prediction, in units of ratings.
struct Contribution {
  std::int32_t item = 0;
  double rating = 0;
  double adds = 0;
};

struct Recommendation {
  std::int32_t item = 0;
  double rating = 0;  // predicted, within the declared range
  double stddev = 0;  // of the rating, about the prediction
  // The three largest in absolute value, the largest first; if asked for.
  std::vector<Contribution> because;
};

// Immutable; safe from any thread.
class Recommender {
 public:
  // `items`: the ids of the data set's items in their order; `names`: what the
  // operator calls them, as many or none. They replace the model's names, which
  // the analyst wrote: people see the operator's alone.
  // FAILED_PRECONDITION "model-differs" unless the model is of these items in
  // this order and of this range of ratings; "model-too-wide" above
  // kMostColumns.
  static absl::StatusOr<Recommender> Create(
      NamedItemModel model, const std::vector<std::string>& items,
      std::vector<std::string> names, const RatingScale& scale);

  // Best first, equal ones by their place; the own items are left out. Without
  // own ratings, and where the numbers of the model overflow for them: by
  // popularity, whatever the order; *used is how many own ratings the list is
  // from. FAILED_PRECONDITION "model-degenerate" if the numbers overflow
  // without ratings, too.
  absl::StatusOr<std::vector<Recommendation>> Recommend(
      const RatedItems& own, const ListOptions& options,
      std::size_t* used = nullptr) const;

  const NamedItemModel& model() const { return model_; }

 private:
  explicit Recommender(NamedItemModel model);
  // From the own ratings, without the items that are left out.
  absl::StatusOr<std::vector<Recommendation>> ListBy(
      const RatedItems& own, const RatedItems& left_out,
      const ListOptions& options) const;
  NamedItemModel model_;
  RankingBasis basis_;
  // Those of everybody without own ratings.
  Profile no_ratings_;
  Eigen::VectorXd popularity_scores_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RECOMMEND_RECOMMENDER_H_
