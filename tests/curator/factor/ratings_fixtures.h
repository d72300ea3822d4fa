// People with ratings, and pairs of them that come near the sensitivities of
// `ratings`.
#ifndef DPNMF_TESTS_CURATOR_FACTOR_RATINGS_FIXTURES_H_
#define DPNMF_TESTS_CURATOR_FACTOR_RATINGS_FIXTURES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// From 1 to 5.
inline constexpr RatingScale kStars = {.low_units = 10'000,
                                       .high_units = 50'000};

// One person: units by item.
using Ratings = std::map<std::int32_t, std::int32_t>;

inline std::unique_ptr<Dataset> RatingsOf(
    const std::vector<Ratings>& people, std::uint64_t features,
    Adjacency adjacency = Adjacency::kReplaceOne, RatingScale scale = kStars) {
  DatasetDescription description;
  description.name = description.population = "people";
  description.features = features;
  description.users = people.size();
  description.adjacency = adjacency;
  description.ratings = scale;
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> items, units;
  for (const Ratings& person : people) {
    for (const auto& [item, rating] : person) {
      items.push_back(item);
      units.push_back(rating);
    }
    indptr.push_back(static_cast<std::int64_t>(items.size()));
  }
  auto data = Dataset::FromRatings(std::move(description), std::move(indptr),
                                   std::move(items), std::move(units));
  return *std::move(data);
}

inline std::int32_t RandomUnits(std::mt19937_64& random, RatingScale scale) {
  const auto range = static_cast<std::uint64_t>(std::int64_t{scale.high_units} -
                                                scale.low_units);
  // Ends, middle, whole stars, anything.
  switch (random() % 4) {
    case 0:
      return random() % 2 == 0 ? scale.low_units : scale.high_units;
    case 1:
      return static_cast<std::int32_t>(
          (std::int64_t{scale.low_units} + scale.high_units) / 2);
    case 2:
      return scale.low_units +
             static_cast<std::int32_t>(range / 4 * (random() % 5));
    default:
      return scale.low_units +
             static_cast<std::int32_t>(random() % (range + 1));
  }
}

// Any number of ratings from 0 to D.
inline Ratings RandomPerson(std::mt19937_64& random, int features,
                            RatingScale scale = kStars) {
  Ratings person;
  const std::uint64_t wanted =
      random() % 3 == 0 ? random() % 3 : random() % (features + 1);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    person[static_cast<std::int32_t>(random() % features)] =
        RandomUnits(random, scale);
  }
  return person;
}

inline std::vector<Ratings> RandomPeople(int count, int features,
                                         std::uint64_t seed,
                                         RatingScale scale = kStars) {
  std::mt19937_64 random(seed);
  std::vector<Ratings> people;
  for (int i = 0; i < count; ++i)
    people.push_back(RandomPerson(random, features, scale));
  return people;
}

// The same items, ratings mirrored at the middle.
inline Ratings Mirrored(Ratings person, RatingScale scale = kStars) {
  for (auto& [item, units] : person)
    units = scale.low_units + scale.high_units - units;
  return person;
}

// The same person with one rating added, removed or given another value.
inline Ratings WithOneRatingMoved(std::mt19937_64& random, Ratings person,
                                  int features, RatingScale scale = kStars) {
  const auto item = static_cast<std::int32_t>(random() % features);
  if (person.contains(item) && random() % 2 == 0) {
    person.erase(item);
  } else {
    person[item] = random() % 2 == 0 ? scale.high_units : scale.low_units;
  }
  return person;
}

// Ratings of 8 n items: of the first 2 n items half best and half worst, which
// `mirrored` exchanges, and 6 n from `first_of_rest` on in the middle. Two
// people with opposite ratings of the first 2 n items and no other common item
// attain the sensitivity of `items` under replace one if c^2 / T^2 = 1 / 4.
inline Ratings Quarter(int n, std::int32_t first_of_rest, bool mirrored,
                       RatingScale scale = kStars) {
  Ratings person;
  for (int i = 0; i < 2 * n; ++i) {
    person[i] = (i % 2 == 0) != mirrored ? scale.high_units : scale.low_units;
  }
  for (int i = 0; i < 6 * n; ++i)
    person[first_of_rest + i] = (scale.low_units + scale.high_units) / 2;
  return person;
}

// D x (1 + rank): bases within the range, loadings of all sizes.
inline Eigen::MatrixXd RandomModel(int features, int rank, std::uint64_t seed,
                                   double size = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd model(features, 1 + rank);
  for (double& entry : model.reshaped()) entry = size * normal(random);
  model.col(0).array() = model.col(0).array().min(2).max(-2) + 3;
  return model;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_FACTOR_RATINGS_FIXTURES_H_
