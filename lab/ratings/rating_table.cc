#include "lab/ratings/rating_table.h"

#include <span>

namespace dpnmf::curator::lab {

RatedItems RatingTable::Of(std::size_t person) const {
  const std::size_t begin = Begin(person);
  const std::size_t count = Begin(person + 1) - begin;
  return {std::span(items).subspan(begin, count),
          std::span(units).subspan(begin, count)};
}

double LowOf(const RatingScale& scale) { return RatingOf(scale.low_units); }
double HighOf(const RatingScale& scale) { return RatingOf(scale.high_units); }

std::vector<std::int64_t> CountsOf(const RatingTable& table) {
  std::vector<std::int64_t> counts(table.item_count);
  for (const std::int32_t item : table.items)
    ++counts[static_cast<std::size_t>(item)];
  return counts;
}

ByItem Transpose(const RatingTable& table) {
  ByItem by_item;
  by_item.indptr.assign(table.item_count + 1, 0);
  for (const std::int32_t item : table.items)
    ++by_item.indptr[static_cast<std::size_t>(item) + 1];
  for (std::size_t i = 0; i < table.item_count; ++i)
    by_item.indptr[i + 1] += by_item.indptr[i];
  by_item.people.resize(table.size());
  by_item.at.resize(table.size());
  std::vector<std::int64_t> next(by_item.indptr.begin(),
                                 by_item.indptr.end() - 1);
  for (std::size_t person = 0; person < table.people(); ++person) {
    for (std::size_t at = table.Begin(person); at < table.Begin(person + 1);
         ++at) {
      const auto place = static_cast<std::size_t>(
          next[static_cast<std::size_t>(table.items[at])]++);
      by_item.people[place] = static_cast<std::int32_t>(person);
      by_item.at[place] = static_cast<std::int64_t>(at);
    }
  }
  return by_item;
}

bool IsRelevant(const RatingScale& scale, std::int32_t units) {
  const std::int64_t above = std::int64_t{units} - scale.low_units;
  const std::int64_t range = std::int64_t{scale.high_units} - scale.low_units;
  return 4 * above >= 3 * range;
}

DatasetDescription DescriptionOf(const RatingTable& table, Adjacency adjacency,
                                 std::uint64_t users) {
  DatasetDescription description;
  description.name = "evaluation";
  description.population = "evaluation";
  description.features = table.item_count;
  description.users = users;
  description.adjacency = adjacency;
  description.conversion = Conversion::kGaussian;
  description.sparse = true;
  description.ratings = table.scale;
  return description;
}

absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(const RatingTable& table,
                                                   Adjacency adjacency,
                                                   std::uint64_t users) {
  return Dataset::FromRatings(DescriptionOf(table, adjacency, users),
                              table.indptr, table.items, table.units);
}

}  // namespace dpnmf::curator::lab
