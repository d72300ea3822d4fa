// Generated ratings for the tests of completions.
#ifndef DPNMF_TESTS_LAB_COMPLETE_COMPLETE_FIXTURES_H_
#define DPNMF_TESTS_LAB_COMPLETE_COMPLETE_FIXTURES_H_

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "lab/complete/completion.h"

namespace dpnmf::curator::lab {

// About `share` of the cells are rated, from 0 to 5; people and items have
// kinds, row % 3 and column % 2, that the ratings and the features show.
inline CompletionInput GeneratedInput(Eigen::Index people, Eigen::Index items,
                                      double share, std::uint64_t seed) {
  Draws draws(seed);
  CompletionInput input;
  input.ratings.columns = items;
  for (Eigen::Index i = 0; i < people; ++i) {
    for (Eigen::Index j = 0; j < items; ++j) {
      if (draws.Uniform() >= share) continue;
      input.ratings.indices.push_back(static_cast<std::int32_t>(j));
      const double liking =
          (i % 3 == j % 2 ? 4 : 1.5) + 2 * draws.Uniform() - 1;
      input.ratings.values.push_back(
          std::clamp(std::nearbyint(liking), 0.0, 5.0));
    }
    input.ratings.EndRow();
    input.people.push_back(absl::StrCat("p", i));
  }
  for (Eigen::Index j = 0; j < items; ++j)
    input.items.push_back(absl::StrCat("i", j));
  const auto describe = [&](Eigen::Index rows, Eigen::Index kinds,
                            Auxiliary* auxiliary) {
    auxiliary->feature_names = {"a", "b", "noise"};
    auxiliary->features.resize(rows, 3);
    for (Eigen::Index i = 0; i < rows; ++i) {
      auxiliary->features(i, 0) = i % kinds == 0;
      auxiliary->features(i, 1) = i % kinds == 1;
      auxiliary->features(i, 2) = 30 + draws.Uniform();
    }
  };
  describe(people, 3, &input.of_people);
  describe(items, 2, &input.of_items);
  return input;
}

// Rows `begin` to `end` of the input as people that come later.
inline NewRows LaterRows(const CompletionInput& input, Eigen::Index begin,
                         Eigen::Index end) {
  NewRows rows;
  rows.ids.assign(input.people.begin() + begin, input.people.begin() + end);
  rows.auxiliary.feature_names = input.of_people.feature_names;
  rows.auxiliary.features =
      input.of_people.features.middleRows(begin, end - begin);
  rows.ratings = RowRange(input.ratings, begin, end);
  return rows;
}

// The first `count` people alone.
inline CompletionInput FirstPeople(const CompletionInput& input,
                                   Eigen::Index count) {
  const NewRows rows = LaterRows(input, 0, count);
  CompletionInput first = input;
  first.people = rows.ids;
  first.of_people = rows.auxiliary;
  first.ratings = rows.ratings;
  return first;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_COMPLETE_COMPLETE_FIXTURES_H_
