#include "curator/recommend/recommender.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/threads/flush_subnormals.h"

namespace dpnmf::curator {
namespace {

constexpr std::size_t kMostReasons = 3;

absl::Status Differs(absl::string_view how) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "model-differs",
                 absl::StrCat("The model is not of this data set: ", how,
                              "; give the file of a run on this data set."));
}

absl::Status Degenerate() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "model-degenerate",
                 "The model's numbers overflow: use the model of another run.");
}

absl::Status CheckColumns(const ItemModel& model) {
  const Eigen::Index most =
      std::max(model.loadings.cols(), model.ranking.cols());
  if (most <= kMostColumns) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "model-too-wide",
      absl::StrCat("The model has ", most,
                   " factors, and lists are made with at most ", kMostColumns,
                   ": give the model of a run of smaller rank."));
}

// The profile's mean is the sum over own items j of
//   covariance x_j y_j / s_j^2,   y_j = rating_j - base_j,
// so j adds (x_i' covariance x_j / s_j^2) y_j to the prediction of item i. Of a
// non-negative model: over the parts that the person has, with y_j less what
// the others take away everywhere, and `covariance` is CovarianceWithin.
std::vector<Contribution> Reasons(const ItemModel& model,
                                  const Profile& profile,
                                  const Eigen::MatrixXd& covariance,
                                  const RatedItems& own,
                                  const std::vector<double>& ratings,
                                  std::int32_t item) {
  const Eigen::VectorXd weights =
      covariance * model.loadings.row(item).transpose();
  std::vector<Contribution> all(own.items.size());
  for (std::size_t j = 0; j < all.size(); ++j) {
    const std::int32_t rated = own.items[j];
    double y = ratings[j] - model.base(rated);
    for (const Eigen::Index k : profile.at_bound)
      y -= model.loadings(rated, k) * profile.mean(k);
    all[j] = {rated, ratings[j],
              model.loadings.row(rated).dot(weights) * y /
                  RatingVariance(model, rated)};
  }
  const std::size_t count = std::min(kMostReasons, all.size());
  std::partial_sort(all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Contribution& a, const Contribution& b) {
                      const double x = std::abs(a.adds), y = std::abs(b.adds);
                      return x != y ? x > y : a.item < b.item;
                    });
  all.resize(count);
  return all;
}

}  // namespace

Recommender::Recommender(NamedItemModel model)
    : model_(std::move(model)),
      basis_(RankingBasisOf(model_.model)),
      no_ratings_(SolveProfile(model_.model, basis_, {}, {})),
      popularity_scores_(
          RankingScores(model_.model, basis_, no_ratings_, {}, {})) {}

absl::StatusOr<Recommender> Recommender::Create(
    NamedItemModel model, const std::vector<std::string>& items,
    std::vector<std::string> names, const RatingScale& scale) {
  DPNMF_RETURN_IF_ERROR(CheckItemModel(model));
  DPNMF_RETURN_IF_ERROR(CheckColumns(model.model));
  if (model.items.size() != items.size()) {
    return Differs(absl::StrCat("it has ", model.items.size(),
                                " items and the data set ", items.size()));
  }
  const auto [one, other] =
      std::mismatch(items.begin(), items.end(), model.items.begin());
  if (one != items.end()) {
    return Differs(absl::StrCat("item ", one - items.begin() + 1, " is `",
                                *other, "` in the model and `", *one,
                                "` in the data set"));
  }
  // The declared units are converted as the analyst converts them.
  constexpr double kTolerance = kRatingUnit / 2;
  if (std::abs(model.model.low - scale.low_units * kRatingUnit) > kTolerance ||
      std::abs(model.model.high - scale.high_units * kRatingUnit) > kTolerance)
    return Differs("its range of ratings is another");
  // No prediction lies outside the declared range, by no bit.
  model.model.low = scale.low_units * kRatingUnit;
  model.model.high = scale.high_units * kRatingUnit;
  model.names = std::move(names);
  return Recommender(std::move(model));
}

absl::StatusOr<std::vector<Recommendation>> Recommender::Recommend(
    const RatedItems& own, const ListOptions& options,
    std::size_t* used) const {
  const FlushSubnormals flush;
  auto list = ListBy(own, own, options);
  if (used != nullptr) *used = list.ok() ? own.items.size() : 0;
  // One person's overflow must not cost the others their lists.
  if (list.ok() || own.items.empty()) return list;
  return ListBy(RatedItems{}, own, options);
}

absl::StatusOr<std::vector<Recommendation>> Recommender::ListBy(
    const RatedItems& own, const RatedItems& left_out,
    const ListOptions& options) const {
  const ItemModel& model = model_.model;
  std::vector<double> ratings(own.units.size());
  std::transform(own.units.begin(), own.units.end(), ratings.begin(),
                 [](std::int32_t units) { return units * kRatingUnit; });
  const bool any = !own.items.empty();
  const Profile profile =
      any ? SolveProfile(model, basis_, own.items, ratings) : no_ratings_;
  const Eigen::VectorXd scores =
      !any ? popularity_scores_
      : options.by_rating
          ? model.base + model.loadings * profile.mean
          : RankingScores(model, basis_, profile, own.items, ratings);
  // Not before: whoever cannot be solved for takes as much time.
  if (!profile.solved || !scores.allFinite()) return Degenerate();
  Eigen::MatrixXd covariance;
  if (options.explain) {
    covariance =
        model.level > 0 ? CovarianceWithin(profile) : profile.covariance;
  }
  std::vector<Recommendation> list;
  for (const std::int32_t item :
       TopItems(scores, left_out.items, options.top)) {
    const Prediction prediction = Predict(model, profile, item);
    if (!std::isfinite(prediction.rating) || !std::isfinite(prediction.stddev))
      return Degenerate();
    list.push_back({item, prediction.rating, prediction.stddev, {}});
    if (options.explain) {
      list.back().because =
          Reasons(model, profile, covariance, own, ratings, item);
    }
  }
  return list;
}

}  // namespace dpnmf::curator
