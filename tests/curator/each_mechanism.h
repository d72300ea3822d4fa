// A run of each mechanism of the table, on data that it takes, with what an
// analyst asks in each of its rounds. A kind of round that this file does not
// know stops the test: it needs a row here before tests can walk the table.
#ifndef DPNMF_TESTS_CURATOR_EACH_MECHANISM_H_
#define DPNMF_TESTS_CURATOR_EACH_MECHANISM_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/nmf/dictionary.h"
#include "common/nmf/round_input.h"
#include "common/privacy/mechanism.h"
#include "curator/data/dataset.h"
#include "curator/mechanism/mechanism.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/curator/factor/ratings_fixtures.h"

namespace dpnmf::curator {

enum class Holds { kColumns, kClasses, kRatings };

inline Holds DataFor(std::string_view mechanism) {
  if (dpnmf::Mechanisms().Find(mechanism)->for_ratings) return Holds::kRatings;
  return mechanism == "class_moments" ? Holds::kClasses : Holds::kColumns;
}

// Names in the order of the table.
inline std::vector<std::string> MechanismNames() {
  std::vector<std::string> names;
  for (const Mechanism* mechanism : Mechanisms().rows())
    names.emplace_back(mechanism->name);
  return names;
}

inline std::vector<std::string> ReleaseNames() {
  std::vector<std::string> names;
  for (const Mechanism* mechanism : Mechanisms().rows())
    for (const ReleaseKind& kind : mechanism->releases)
      names.emplace_back(kind.name);
  return names;
}

// The mechanism whose file has the release.
inline std::string MechanismOf(std::string_view release) {
  for (const Mechanism* mechanism : Mechanisms().rows())
    for (const ReleaseKind& kind : mechanism->releases)
      if (kind.name == release) return std::string(mechanism->name);
  std::abort();
}

// How the data of the last person but one differ between neighbours.
enum class Person { kEmpty, kFull };

// Random people and such a person, who has another class besides. The
// description's shape is set here, but N0 under add or remove one.
inline std::unique_ptr<Dataset> PeopleWith(Holds holds, Person person,
                                           int features, int users,
                                           DatasetDescription description = {},
                                           bool sparse = false) {
  const int which = users - 2;
  const bool full = person == Person::kFull;
  description.features = static_cast<std::uint64_t>(features);
  if (description.adjacency != Adjacency::kAddRemoveOne)
    description.users = static_cast<std::uint64_t>(users);
  if (holds == Holds::kRatings) {
    std::vector<Ratings> people = RandomPeople(users, features, 3);
    for (Ratings& ratings : people) ratings.emplace(0, kStars.low_units);
    people[which].clear();
    for (int item = 0; full && item < features; ++item)
      people[which][item] = 10'000 + item % 40'000;
    description.ratings = kStars;
    std::vector<std::int64_t> indptr = {0};
    std::vector<std::int32_t> items, units;
    for (const Ratings& ratings : people) {
      for (const auto& [item, rating] : ratings) {
        items.push_back(item);
        units.push_back(rating);
      }
      indptr.push_back(static_cast<std::int64_t>(items.size()));
    }
    return *Dataset::FromRatings(std::move(description), std::move(indptr),
                                 std::move(items), std::move(units));
  }
  Eigen::MatrixXf v = RandomColumns(features, users, 3, 0.3);
  v.col(which).setConstant(full ? 0.01F : 0);
  if (holds == Holds::kColumns) {
    return sparse ? SparseOf(v, std::move(description))
                  : DenseOf(v, std::move(description));
  }
  description.classes = ClassFacts{.names = {"one", "other"}};
  std::vector<std::int32_t> labels(static_cast<std::size_t>(users));
  for (std::size_t user = 0; user < labels.size(); ++user)
    labels[user] = user % 3 == 0;
  labels[static_cast<std::size_t>(which)] = full;
  return *Dataset::FromDense(std::move(description),
                             std::vector<float>(v.data(), v.data() + v.size()),
                             std::move(labels));
}

// The fewest rounds that have one of each kind.
inline RunParameters RunOfEach(const std::string& mechanism,
                               const DatasetFacts& facts, std::uint32_t rank,
                               std::uint32_t rows) {
  const dpnmf::Mechanism& descriptor = *dpnmf::Mechanisms().Find(mechanism);
  RunParameters parameters;
  parameters.dataset = facts.name;
  parameters.mechanism = mechanism;
  parameters.adjacency = facts.adjacency;
  parameters.conversion = facts.conversion;
  parameters.rank = rank;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  if (descriptor.for_ratings) {
    parameters.shares = std::vector<double>(5, 0.2);
    parameters.profile_directions = 1;
  }
  if (descriptor.uses("moment_rows", parameters, facts))
    parameters.moment_rows = rows;
  parameters.rounds = descriptor.rounds(parameters, facts).least;
  return parameters;
}

// A request that the round takes. Of second moments with M = D no rows.
inline RoundInput InputOf(std::string_view release,
                          const RunParameters& parameters,
                          const DatasetFacts& facts) {
  const auto features = static_cast<int>(facts.features);
  const auto rank = static_cast<int>(parameters.rank);
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), release) != names.end();
  };
  RoundInput input;
  if (is({"mean", "items", "class moments"})) return input;
  if (is({"moments", "co-ratings", "residuals", "aimed"})) {
    if (release != "moments" || parameters.moment_rows < facts.features) {
      input.rows.resize(parameters.moment_rows);
      std::iota(input.rows.begin(), input.rows.end(), 0U);
    }
    if (is({"moments", "co-ratings"})) return input;
  }
  if (is({"statistics", "gradient", "objective"})) {
    input.w = RandomDictionary(features, rank, 1);
  } else if (release == "aimed") {
    input.w = -RandomDictionary(features, 1, 1);
    input.numbers = {2};
  } else if (is({"profiles", "residuals", "corrections"})) {
    input.w = RandomModel(features, rank, 1);
    input.numbers = {1};
  } else {
    std::fprintf(stderr, "each_mechanism.h has no row for rounds of %s\n",
                 std::string(release).c_str());
    std::abort();
  }
  return input;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_EACH_MECHANISM_H_
