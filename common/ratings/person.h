// One person's own solve with a published item model. Made where the person's
// ratings are, for that person's eyes: the result is a function of the model
// and of these ratings alone.
#ifndef DPNMF_COMMON_RATINGS_PERSON_H_
#define DPNMF_COMMON_RATINGS_PERSON_H_

#include <cstdint>
#include <span>

#include "Eigen/Core"
#include "common/ratings/item_model.h"

namespace dpnmf {

// h given the own ratings: mean (q) and covariance (q x q).
struct Profile {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

// items: below D, ascending; ratings: as many. No ratings: the prior.
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

// D scores by which a list is ordered: higher is better; finite. The own items
// are not left out.
Eigen::VectorXd RankingScores(const ItemModel& model, const Profile& profile,
                              std::span<const std::int32_t> items,
                              std::span<const double> ratings);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_PERSON_H_
