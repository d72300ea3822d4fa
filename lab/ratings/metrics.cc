#include "lab/ratings/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "common/base/error.h"
#include "common/ratings/person.h"
#include "common/threads/parallel.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

// Ranks of a group end at this share of the catalogue, rounded up.
struct GroupEnd {
  const char* name;
  double share;
};
constexpr std::array<GroupEnd, 5> kGroups = {{{"most rated 1 %", 0.01},
                                              {"1 to 5 %", 0.05},
                                              {"5 to 20 %", 0.2},
                                              {"20 to 50 %", 0.5},
                                              {"least rated 50 %", 1}}};

struct Grouping {
  std::vector<std::uint8_t> group_of;  // D
  std::vector<PopularityGroup> groups;
};

Grouping GroupsOf(const RatingTable& train) {
  const std::vector<std::int64_t> counts = CountsOf(train);
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  Grouping grouping;
  grouping.group_of.resize(counts.size());
  std::size_t rank = 0;
  for (std::size_t g = 0; g < kGroups.size(); ++g) {
    PopularityGroup group;
    group.name = kGroups[g].name;
    const auto end = static_cast<std::size_t>(
        std::ceil(kGroups[g].share * static_cast<double>(counts.size())));
    std::int64_t ratings = 0;
    for (; rank < end; ++rank) {
      grouping.group_of[order[rank]] = static_cast<std::uint8_t>(g);
      ratings += counts[order[rank]];
      ++group.items;
    }
    group.rating_share =
        static_cast<double>(ratings) / static_cast<double>(train.size());
    grouping.groups.push_back(group);
  }
  return grouping;
}

// Errors of one person's held-out ratings, and the list.
struct PersonResult {
  double squared = 0, absolute = 0;
  std::array<double, kGroups.size()> squared_of = {};
  double recall = kNotMeasured, ndcg = kNotMeasured;
  std::vector<std::int32_t> list;
};

std::vector<std::int32_t> RelevantOf(const RatingTable& table,
                                     std::size_t person) {
  const RatedItems rated = table.Of(person);
  std::vector<std::int32_t> relevant;
  for (std::size_t k = 0; k < rated.items.size(); ++k) {
    if (IsRelevant(table.scale, rated.units[k]))
      relevant.push_back(rated.items[k]);
  }
  return relevant;
}

// NaN counts as the middle of the range.
double Clipped(double rating, const RatingScale& scale) {
  if (std::isnan(rating)) return (LowOf(scale) + HighOf(scale)) / 2;
  return std::clamp(rating, LowOf(scale), HighOf(scale));
}

PersonResult ResultOf(const Split& split, const Grouping& grouping,
                      const Opinion& opinion, std::size_t person) {
  PersonResult result;
  const RatingTable& held_out = split.held_out;
  const RatedItems rated = held_out.Of(person);
  if (opinion.ratings.size() > 0) {
    for (std::size_t k = 0; k < rated.items.size(); ++k) {
      const double error =
          Clipped(opinion.ratings[rated.items[k]], held_out.scale) -
          RatingOf(rated.units[k]);
      result.squared += error * error;
      result.absolute += std::abs(error);
      result.squared_of[grouping.group_of[static_cast<std::size_t>(
          rated.items[k])]] += error * error;
    }
  }
  const std::vector<std::int32_t> relevant = RelevantOf(held_out, person);
  if (opinion.scores.size() > 0 && !relevant.empty()) {
    result.list =
        TopItems(opinion.scores, split.own().Of(person).items, kListLength);
    result.recall = RecallOf(result.list, relevant, kListLength);
    result.ndcg = NdcgOf(result.list, relevant, kListLength);
  }
  return result;
}

// Adds people up, one after another.
class Totals {
 public:
  Totals(const Split& split, Grouping grouping)
      : split_(split),
        grouping_(std::move(grouping)),
        listed_(split.held_out.item_count) {}

  void Add(std::size_t person, const PersonResult& result) {
    squared_ += result.squared;
    absolute_ += result.absolute;
    const RatedItems rated = split_.held_out.Of(person);
    for (std::size_t k = 0; k < rated.items.size(); ++k) {
      const std::size_t g = GroupOf(rated.items[k]);
      ++grouping_.groups[g].measured;
      if (IsRelevant(split_.held_out.scale, rated.units[k])) ++relevant_[g];
    }
    for (std::size_t g = 0; g < kGroups.size(); ++g)
      squared_of_[g] += result.squared_of[g];
    if (std::isnan(result.recall)) return;
    ++lists_;
    recall_ += result.recall;
    ndcg_ += result.ndcg;
    const std::vector<std::int32_t> relevant =
        RelevantOf(split_.held_out, person);
    for (const std::int32_t item : result.list) {
      ++places_[GroupOf(item)];
      listed_[static_cast<std::size_t>(item)] = true;
      if (std::binary_search(relevant.begin(), relevant.end(), item))
        ++found_[GroupOf(item)];
    }
  }

  // Returns the metrics. Figures of ratings are NaN unless `predicts`, figures
  // of lists unless `lists`.
  Metrics Of(bool predicts, bool lists) && {
    Metrics metrics;
    const auto measured = static_cast<double>(split_.held_out.size());
    if (predicts) {
      metrics.rmse = std::sqrt(squared_ / measured);
      metrics.mae = absolute_ / measured;
    }
    lists = lists && lists_ > 0;
    if (lists) {
      metrics.recall20 = recall_ / lists_;
      metrics.ndcg20 = ndcg_ / lists_;
      metrics.coverage = static_cast<double>(
                             std::count(listed_.begin(), listed_.end(), true)) /
                         static_cast<double>(listed_.size());
    }
    const double places = std::accumulate(places_.begin(), places_.end(), 0.0);
    for (std::size_t g = 0; g < kGroups.size(); ++g) {
      PopularityGroup& group = grouping_.groups[g];
      group.rmse =
          predicts && group.measured > 0
              ? std::sqrt(squared_of_[g] / static_cast<double>(group.measured))
              : kNotMeasured;
      group.recall =
          lists && relevant_[g] > 0 ? found_[g] / relevant_[g] : kNotMeasured;
      group.list_share = lists ? places_[g] / places : kNotMeasured;
      group.listed_share =
          lists && group.items > 0 ? ListedShare(g) : kNotMeasured;
    }
    metrics.groups = std::move(grouping_.groups);
    return metrics;
  }

 private:
  std::size_t GroupOf(std::int32_t item) const {
    return grouping_.group_of[static_cast<std::size_t>(item)];
  }
  double ListedShare(std::size_t g) const {
    double listed = 0;
    for (std::size_t i = 0; i < listed_.size(); ++i)
      listed += listed_[i] && grouping_.group_of[i] == g ? 1 : 0;
    return listed / static_cast<double>(grouping_.groups[g].items);
  }

  const Split& split_;
  Grouping grouping_;
  std::vector<bool> listed_;
  double squared_ = 0, absolute_ = 0, recall_ = 0, ndcg_ = 0, lists_ = 0;
  std::array<double, kGroups.size()> squared_of_ = {}, places_ = {},
                                     found_ = {}, relevant_ = {};
};

double Discount(std::size_t place) {
  return 1 / std::log2(static_cast<double>(place) + 2);
}

bool Contains(std::span<const std::int32_t> ascending, std::int32_t item) {
  return std::binary_search(ascending.begin(), ascending.end(), item);
}

}  // namespace

double RecallOf(std::span<const std::int32_t> list,
                std::span<const std::int32_t> relevant, int length) {
  const auto hits = std::count_if(
      list.begin(), list.end(),
      [&](std::int32_t item) { return Contains(relevant, item); });
  return static_cast<double>(hits) /
         std::min<double>(length, static_cast<double>(relevant.size()));
}

double NdcgOf(std::span<const std::int32_t> list,
              std::span<const std::int32_t> relevant, int length) {
  double gain = 0, best = 0;
  for (std::size_t place = 0; place < list.size(); ++place)
    gain += Contains(relevant, list[place]) ? Discount(place) : 0;
  const std::size_t most =
      std::min(relevant.size(), static_cast<std::size_t>(length));
  for (std::size_t place = 0; place < most; ++place) best += Discount(place);
  return gain / best;
}

absl::StatusOr<Metrics> Measure(const Split& split,
                                const Recommender& recommender,
                                const Execution& execution) {
  constexpr std::size_t kBlock = 1024;  // people whose lists are held at once
  Grouping grouping = GroupsOf(split.train);
  Totals totals(split, grouping);
  std::atomic<bool> predicts = false, lists = false;
  std::vector<PersonResult> results(kBlock);
  for (std::size_t begin = 0; begin < split.held_out.people();
       begin += kBlock) {
    DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
    const std::size_t count = std::min(kBlock, split.held_out.people() - begin);
    ParallelFor(count, execution.threads, [&](std::size_t k, int) {
      const std::size_t person = begin + k;
      results[k] = {};
      if (split.held_out.Of(person).items.empty()) return;
      const Opinion opinion = recommender(person, split.own().Of(person));
      if (opinion.ratings.size() > 0) predicts = true;
      if (opinion.scores.size() > 0) lists = true;
      results[k] = ResultOf(split, grouping, opinion, person);
    });
    for (std::size_t k = 0; k < count; ++k) totals.Add(begin + k, results[k]);
  }
  return std::move(totals).Of(predicts, lists);
}

}  // namespace dpnmf::curator::lab
