// How well a method predicts what was held out.
#ifndef DPNMF_LAB_RATINGS_METRICS_H_
#define DPNMF_LAB_RATINGS_METRICS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/factor/statistics.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {

inline constexpr int kListLength = 20;

// Predictions of a method for one person. Each vector has D entries, or none if
// the method does not make this prediction.
struct Opinion {
  Eigen::VectorXd ratings;  // predicted; not clipped
  Eigen::VectorXd scores;   // a list goes by these, the highest first
};

// `person`: its row in the file's table. `own`: what is known of it. Called
// from several threads.
using Recommender = std::function<Opinion(std::size_t person, RatedItems own)>;

// Items of like popularity: those whose rank by the number of learned ratings
// (ties: the smaller index first) is within a share of the catalogue.
struct PopularityGroup {
  std::string name;            // "the first 1 %"
  std::uint64_t items = 0;     // how many
  double rating_share = 0;     // of the learned ratings
  double list_share = 0;       // of the places in all lists; NaN without lists
  double listed_share = 0;     // of the group's items that stand in a list
  double rmse = 0;             // NaN: nothing measured
  double recall = 0;           // found among the lists / held out and relevant
  std::uint64_t measured = 0;  // held-out ratings
};

struct Metrics {
  double rmse = std::numeric_limits<double>::quiet_NaN();
  double mae = std::numeric_limits<double>::quiet_NaN();
  double recall20 = std::numeric_limits<double>::quiet_NaN();
  double ndcg20 = std::numeric_limits<double>::quiet_NaN();
  double coverage = std::numeric_limits<double>::quiet_NaN();
  std::vector<PopularityGroup> groups;
};

// Over a list, best first, and the relevant items (ascending, not empty):
//   recall  hits / min(length, relevant)
//   nDCG    sum over hits of 1/log2(place + 1), places from 1, divided by the
//           sum over the first min(length, relevant) places.
double RecallOf(std::span<const std::int32_t> list,
                std::span<const std::int32_t> relevant, int length);
double NdcgOf(std::span<const std::int32_t> list,
              std::span<const std::int32_t> relevant, int length);

// RMSE and MAE over all held-out ratings, predictions clipped to the range;
// recall@20 and nDCG@20 averaged over people with a relevant held-out rating
// (IsRelevant); coverage: the share of the catalogue that stands in a list of
// one of these. The same bits for any number of threads. CANCELLED "cancelled".
absl::StatusOr<Metrics> Measure(const Split& split,
                                const Recommender& recommender,
                                const Execution& execution);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_METRICS_H_
