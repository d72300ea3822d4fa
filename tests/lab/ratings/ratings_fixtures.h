// Small generated ratings for the tests of lab/ratings.
#ifndef DPNMF_TESTS_LAB_RATINGS_RATINGS_FIXTURES_H_
#define DPNMF_TESTS_LAB_RATINGS_RATINGS_FIXTURES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "lab/ratings/rating_table.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {

inline constexpr std::int32_t kOne = 10'000;  // units of a rating of 1

inline RatingTable EmptyTable(std::uint64_t items) {
  RatingTable table;
  table.scale = {.low_units = kOne, .high_units = 5 * kOne};
  table.item_count = items;
  return table;
}

// Rows of (item, rating).
using Row = std::vector<std::pair<std::int32_t, double>>;
inline RatingTable TableOf(std::uint64_t items, const std::vector<Row>& rows) {
  RatingTable table = EmptyTable(items);
  for (const Row& row : rows) {
    for (const auto& [item, rating] : row) {
      table.items.push_back(item);
      table.units.push_back(
          static_cast<std::int32_t>(std::lround(rating * kOne)));
    }
    table.EndPerson();
  }
  return table;
}

// Whole ratings of 1 to 5: 3 + item effect + person effect + f_i . h_u + noise
// of standard deviation 0.5, where a person rates an item with probability
// `density`, twice as often the first half of the items. Times ascend with the
// item.
struct GeneratedRatings {
  std::size_t people = 300;
  std::uint64_t items = 60;
  int rank = 2;
  double density = 0.3;
  std::uint64_t seed = 1;
};
inline RatingTable Generate(const GeneratedRatings& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto draw = [&](std::size_t rows, int columns) {
    Eigen::MatrixXd m(static_cast<Eigen::Index>(rows), columns);
    for (double& entry : m.reshaped()) entry = normal(random);
    return m;
  };
  const Eigen::MatrixXd f = draw(options.items, options.rank + 1);
  const Eigen::MatrixXd h = draw(options.people, options.rank + 1);
  RatingTable table = EmptyTable(options.items);
  for (Eigen::Index u = 0; u < h.rows(); ++u) {
    for (Eigen::Index i = 0; i < f.rows(); ++i) {
      const double share = options.density * (2 * i < f.rows() ? 4 : 2) / 3;
      if (!(uniform(random) < share)) continue;
      const double rating =
          3 + 0.5 * f(i, 0) + 0.5 * h(u, 0) +
          0.8 * f.row(i).tail(options.rank).dot(h.row(u).tail(options.rank)) +
          0.5 * normal(random);
      table.items.push_back(static_cast<std::int32_t>(i));
      table.units.push_back(static_cast<std::int32_t>(
          kOne * std::clamp(std::lround(rating), 1L, 5L)));
      table.times.push_back(1'000'000 + i);
    }
    table.EndPerson();
  }
  return table;
}

// A tenth of the ratings held out.
inline Split SplitOf(const RatingTable& table) {
  return *HoldOut(table, HoldOutBy::kRating, 0.1, 3);
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_RATINGS_RATINGS_FIXTURES_H_
