// A data set of ratings in memory, person by person.
#ifndef DPNMF_TESTS_CURATOR_RECOMMEND_RATED_H_
#define DPNMF_TESTS_CURATOR_RECOMMEND_RATED_H_

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Item -> rating in units.
using Record = std::map<std::int32_t, std::int32_t>;

// Ratings from 1 to 5.
inline RatingScale OneToFive() {
  return {.low_units = 10'000, .high_units = 50'000};
}

inline std::unique_ptr<Dataset> RatedBy(const std::vector<Record>& people,
                                        int items) {
  DatasetDescription description;
  description.name = "films";
  description.population = "people";
  description.features = static_cast<std::uint64_t>(items);
  description.users = people.size();
  description.normalisation = Normalisation::kNone;
  description.epsilon = 1;
  description.delta = 1e-6;
  description.sparse = true;
  description.ratings = OneToFive();
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> indices, units;
  for (const Record& record : people) {
    for (const auto& [item, rating] : record) {
      indices.push_back(item);
      units.push_back(rating);
    }
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  return Dataset::FromRatings(description, std::move(indptr),
                              std::move(indices), std::move(units))
      .value();
}

// Every fifth item or so, with ratings that differ by person; the same at every
// call.
inline Record SomeRatings(int person, int items) {
  Record record;
  for (int i = person % 5; i < items; i += 3 + (person + i) % 4)
    record[i] = 10'000 * (1 + (person * 7 + i * 3) % 5);
  return record;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_RECOMMEND_RATED_H_
