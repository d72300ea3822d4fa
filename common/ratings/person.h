// One person's own solve with a published item model. Made where the person's
// ratings are, for that person's eyes: the result is a function of the model
// and of these ratings alone. The model may be hostile, and others may see how
// long the work takes: while a function about a person runs, subnormal numbers
// are 0 (FlushSubnormals), and iterations have a fixed number of steps.
#ifndef DPNMF_COMMON_RATINGS_PERSON_H_
#define DPNMF_COMMON_RATINGS_PERSON_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "common/ratings/item_model.h"

namespace dpnmf {

// h given the own ratings: mean (q) and covariance (q x q). Of a non-negative
// model: the most likely h and the covariance without its bounds, which is no
// smaller than that with them (Brascamp and Lieb 1976).
struct Profile {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  bool solved = true;  // false: the system could not be solved
  std::vector<Eigen::Index> at_bound = {};  // parts that the person has not
};

// s_j^2 = s^2 + base_stddev_j^2: of a rating about base and profile, since the
// item's effect is not known exactly.
double RatingVariance(const ItemModel& model, std::int32_t item);

// The covariance of the parts that are not at their bound, if the others stay
// there; 0 elsewhere. The mean of the former is that times the sum over own
// items of x_j y_j / s_j^2, y less what the latter add. As much work whoever is
// at a bound.
Eigen::MatrixXd CovarianceWithin(const Profile& profile);

// items: below D, ascending; ratings: as many. Without ratings the prior, mean
// 0 and the unit matrix; also, not `solved`, where the model's numbers are so
// large that the system is not positive definite in double precision.
Profile SolveProfile(const ItemModel& model,
                     std::span<const std::int32_t> items,
                     std::span<const double> ratings);

// The predicted rating of an item within the model's range, and its standard
// error (of the rating, e included).
struct Prediction {
  double rating = 0;
  double stddev = 0;
};
Prediction Predict(const ItemModel& model, const Profile& profile,
                   std::int32_t item);

// Data of a model that lists read for every person: made once for a model.
// Takes as much memory as the model.
struct RankingBasis {
  Eigen::MatrixXd stand_ins;   // rows x k: of items that stand for all
  Eigen::VectorXd weights;     // rows: at least 0, they sum to 1
  Eigen::MatrixXd covariance;  // k x k: of the rows under the weights
  // q x D and k x D: those of an item are side by side.
  Eigen::MatrixXd loadings, tastes;
};
RankingBasis RankingBasisOf(const ItemModel& model);

// Returns SolveProfile of the model, in less time; the same bits.
Profile SolveProfile(const ItemModel& model, const RankingBasis& basis,
                     std::span<const std::int32_t> items,
                     std::span<const double> ratings);

// D scores by which a list is ordered: higher is better. The own items are not
// left out. Finite, or all NaN if the model's numbers overflow.
Eigen::VectorXd RankingScores(const ItemModel& model, const RankingBasis& basis,
                              const Profile& profile,
                              std::span<const std::int32_t> items,
                              std::span<const double> ratings);
// The same with RankingBasisOf(model), for a person or two.
Eigen::VectorXd RankingScores(const ItemModel& model, const Profile& profile,
                              std::span<const std::int32_t> items,
                              std::span<const double> ratings);

// The best `length` items by score that are not among `own` (ascending), the
// highest first; equal scores: the smaller index first. Fewer if there are not
// as many. No score is NaN. Finds them in as many steps whatever the scores
// are; only the order within the list takes more or fewer.
std::vector<std::int32_t> TopItems(const Eigen::VectorXd& scores,
                                   std::span<const std::int32_t> own,
                                   std::size_t length);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_PERSON_H_
