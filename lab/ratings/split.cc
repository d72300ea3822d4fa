#include "lab/ratings/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/base/enum_names.h"
#include "common/base/error.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {
namespace {

constexpr auto kHoldOutNames =
    EnumNamesOf<HoldOutBy>({{HoldOutBy::kRating, "rating"},
                            {HoldOutBy::kPerson, "person"},
                            {HoldOutBy::kTime, "time"}});

RatingTable EmptyLike(const RatingTable& table) {
  RatingTable empty;
  empty.scale = table.scale;
  empty.item_count = table.item_count;
  return empty;
}

void Append(const RatingTable& table, std::size_t at, RatingTable* to) {
  to->items.push_back(table.items[at]);
  to->units.push_back(table.units[at]);
  if (!table.times.empty()) to->times.push_back(table.times[at]);
}

// Decides over the ratings of one person: held_out[k] of the k-th.
using Decision = std::vector<bool>;

Decision ByChance(std::size_t count, double share, SeededNoise* random) {
  Decision held_out(count);
  for (std::size_t k = 0; k < count; ++k)
    held_out[k] = random->Uniform() < share;
  return held_out;
}

// floor(share * count + U): share * count on average. Of one time, any.
Decision ByTime(std::span<const std::int64_t> times, double share,
                SeededNoise* random) {
  std::vector<double> ties(times.size());
  for (double& tie : ties) tie = random->Uniform();
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return times[a] != times[b] ? times[a] > times[b] : ties[a] > ties[b];
  });
  const auto latest = static_cast<std::size_t>(std::floor(
      share * static_cast<double>(times.size()) + random->Uniform()));
  Decision held_out(times.size());
  for (std::size_t k = 0; k < std::min(latest, order.size()); ++k)
    held_out[order[k]] = true;
  return held_out;
}

// Appends the person's ratings to the one table or the other.
void Deal(const RatingTable& table, std::size_t person,
          const Decision& held_out, RatingTable* kept, RatingTable* measured) {
  const std::size_t begin = table.Begin(person);
  for (std::size_t k = 0; k < held_out.size(); ++k)
    Append(table, begin + k, held_out[k] ? measured : kept);
}

}  // namespace

std::string_view NameOf(HoldOutBy by) { return NameIn(kHoldOutNames, by); }
std::optional<HoldOutBy> HoldOutByOfName(std::string_view name) {
  return EnumOfName(kHoldOutNames, name);
}

absl::StatusOr<Split> HoldOut(const RatingTable& table, HoldOutBy by,
                              double share, std::uint64_t seed) {
  if (by == HoldOutBy::kTime && table.times.empty() && table.size() > 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "evaluate-times-missing",
                   "`--by time` needs a file whose fourth column is a time.");
  }
  SeededNoise random(SeedFor(seed, "held out"));
  Split split;
  split.train = split.held_out = EmptyLike(table);
  if (by == HoldOutBy::kPerson) split.known = EmptyLike(table);
  for (std::size_t person = 0; person < table.people(); ++person) {
    const std::size_t begin = table.Begin(person);
    const std::size_t count = table.Begin(person + 1) - begin;
    if (by == HoldOutBy::kPerson) {
      const bool unseen = random.Uniform() < share;
      const Decision measured =
          unseen ? ByChance(count, kMeasuredShare, &random) : Decision(count);
      Deal(table, person, measured, &*split.known, &split.held_out);
      split.known->EndPerson();
      if (!unseen) {
        Deal(table, person, measured, &split.train, &split.held_out);
        split.train.EndPerson();
      }
    } else {
      const Decision held_out =
          by == HoldOutBy::kRating
              ? ByChance(count, share, &random)
              : ByTime(std::span(table.times).subspan(begin, count), share,
                       &random);
      Deal(table, person, held_out, &split.train, &split.held_out);
      split.train.EndPerson();
    }
    split.held_out.EndPerson();
  }
  if (split.train.size() == 0 || split.held_out.size() == 0) {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "evaluate-nothing-held-out",
                   "The held-out share leaves no ratings to learn from or none "
                   "to measure: give another `--holdout` or more ratings.");
  }
  return split;
}

}  // namespace dpnmf::curator::lab
