// Ratings of a known model, for tests.
#ifndef DPNMF_TESTS_COMMON_RATINGS_GENERATED_RATINGS_H_
#define DPNMF_TESTS_COMMON_RATINGS_GENERATED_RATINGS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "common/privacy/run_plan.h"
#include "common/ratings/learner.h"
#include "tests/common/ratings/simulated_run.h"

namespace dpnmf::testing {

struct GeneratedOptions {
  int people = 900, items = 150, ratings = 40, factors = 2;
  double effect = 0.5, factor = 0.35, noise = 0.7;
  double low = 1, high = 5;
  std::uint64_t seed = 1;
};

// rating = 3.2 + bias + effect_i + factors_i.h + noise, within the range, of
// items that the popular and the alike are picked from; a tenth is held out.
struct Generated {
  std::vector<Person> people, held_out;
  Eigen::VectorXd effects;
  Eigen::MatrixXd factors;
  Eigen::MatrixXd features;  // D x 3: two marks and a number
};

inline Generated Generate(const GeneratedOptions& options = {}) {
  std::mt19937_64 engine(options.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto normals = [&](Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd matrix(rows, columns);
    for (double& value : matrix.reshaped()) value = normal(engine);
    return matrix;
  };
  Generated result;
  result.effects = options.effect * normals(options.items, 1);
  result.factors = options.factor * normals(options.items, options.factors);
  const Eigen::VectorXd popularity = normals(options.items, 1);
  result.features.resize(options.items, 3);
  for (Eigen::Index i = 0; i < options.items; ++i) {
    result.features.row(i) << double(result.factors(i, 0) > 0),
        double(i % 3 == 0), result.effects(i) + 0.3 * normal(engine);
  }
  const double middle = (options.low + options.high) / 2;
  for (int u = 0; u < options.people; ++u) {
    const Eigen::VectorXd h = normals(options.factors, 1);
    const double bias = 0.4 * normal(engine);
    const Eigen::VectorXd taste = result.factors * h;
    std::vector<std::pair<double, std::int32_t>> order;
    for (std::int32_t i = 0; i < options.items; ++i) {
      order.emplace_back(
          std::log(-std::log(uniform(engine))) - popularity(i) - 2 * taste(i),
          i);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::size_t(std::min(options.ratings, options.items)));
    std::sort(order.begin(), order.end(),
              [](auto& a, auto& b) { return a.second < b.second; });
    Person own, held;
    for (const auto& [key, i] : order) {
      const double rating =
          std::clamp(middle + 0.2 + bias + result.effects(i) + taste(i) +
                         options.noise * normal(engine),
                     options.low, options.high);
      Person& where = uniform(engine) < 0.1 ? held : own;
      where.items.push_back(i);
      where.ratings.push_back(rating);
    }
    result.people.push_back(own);
    result.held_out.push_back(held);
  }
  return result;
}

inline RatingsFacts FactsOf(const Generated& data, double epsilon,
                            bool features = false,
                            const GeneratedOptions& options = {}) {
  RatingsFacts facts;
  facts.dataset.name = "ratings";
  facts.dataset.population = "people";
  facts.dataset.features = std::uint64_t(data.effects.size());
  facts.dataset.users = data.people.size();
  facts.dataset.conversion = Conversion::kGaussian;
  facts.dataset.max_rank = 128;
  facts.dataset.max_rounds = 100;
  facts.dataset.ratings =
      RatingScale{std::int32_t(std::lround(options.low / kRatingUnit)),
                  std::int32_t(std::lround(options.high / kRatingUnit)),
                  features ? 3u : 0u};
  facts.item_features =
      features ? data.features : Eigen::MatrixXd(data.effects.size(), 0);
  facts.parameters.mechanism = "ratings";
  facts.parameters.epsilon = epsilon;
  facts.parameters.delta = 1e-5;
  facts.parameters.conversion = Conversion::kGaussian;
  return facts;
}

}  // namespace dpnmf::testing

#endif  // DPNMF_TESTS_COMMON_RATINGS_GENERATED_RATINGS_H_
