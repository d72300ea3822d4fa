// People who choose their own epsilon, as weights before the sums
// (docs/decisions/0009-personalised-privacy.md).
//
//   dpnmf_personalised RATINGS ITEMS FEATURES|- LOW,HIGH REPEATS
//
// A share of the people chooses epsilon 1, the others 10: by chance, or the
// rather the more they have rated ("active"). Ways to keep both promises with
// the mechanism `ratings` (replace one, delta 1e-5):
//   all at low     everybody, at epsilon 1
//   high alone     learned from the people who chose 10 alone
//   weights        a person of epsilon 1 has weight mu(1) / mu(10), all at 10
// and one that breaks the promise to those who chose 1:
//   all at high    everybody, at epsilon 10
// Prints medians of RMSE and recall@20 over all people, and over those of each
// choice.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/privacy/accounting.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/ratings/private_run.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {
namespace {

constexpr double kLow = 1, kHigh = 10, kDelta = 1e-5;
const Execution kExecution = {.threads = 2};

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", std::string(value.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(value);
}

double MuOf(double epsilon) {
  return std::sqrt(
      Must(LargestCost(Conversion::kGaussian, epsilon, kDelta)).ToDouble());
}

struct Input {
  RatingTable table;
  Eigen::MatrixXd features;
};

Input Load(char** argv) {
  const ItemTable items = Must(LoadItemTable(
      argv[2], std::string(argv[3]) == "-" ? "" : std::string(argv[3])));
  RatingsOptions options;
  options.scale = Must(ParseRatingRange(argv[4]));
  options.scale.item_features =
      static_cast<std::uint32_t>(items.feature_names.size());
  LoadedRatings loaded = Must(LoadRatings(argv[1], items, options));
  Input input;
  input.table.scale = options.scale;
  input.table.item_count = loaded.items;
  input.table.indptr = std::move(loaded.indptr);
  input.table.items = std::move(loaded.indices);
  input.table.units = std::move(loaded.units);
  input.features = Eigen::Map<const Eigen::MatrixXd>(
      items.features.data(), static_cast<Eigen::Index>(items.ids.size()),
      static_cast<Eigen::Index>(items.feature_names.size()));
  return input;
}

RatingTable EmptyLike(const RatingTable& table) {
  RatingTable empty;
  empty.scale = table.scale;
  empty.item_count = table.item_count;
  return empty;
}

// The people for whom wanted[u] is `value`; the others have no ratings, or no
// row if `drop`.
RatingTable Of(const RatingTable& table, const std::vector<bool>& wanted,
               bool value, bool drop) {
  RatingTable part = EmptyLike(table);
  for (std::size_t u = 0; u < table.people(); ++u) {
    if (wanted[u] == value) {
      const RatedItems own = table.Of(u);
      part.items.insert(part.items.end(), own.items.begin(), own.items.end());
      part.units.insert(part.units.end(), own.units.begin(), own.units.end());
      part.EndPerson();
    } else if (!drop) {
      part.EndPerson();
    }
  }
  return part;
}

// Who chooses the low epsilon.
std::vector<bool> Choose(const RatingTable& table, double share, bool active,
                         std::uint64_t seed) {
  SeededNoise random(SeedFor(seed, "choices"));
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t u = 0; u < table.people(); ++u) {
    const double activity =
        std::log(1.0 + static_cast<double>(table.Of(u).items.size()));
    order.emplace_back((active ? -2 * activity : 0) + random.Normal(), u);
  }
  std::sort(order.begin(), order.end());
  std::vector<bool> low(table.people());
  const double count = share * static_cast<double>(order.size());
  for (std::size_t k = 0; static_cast<double>(k) < count; ++k)
    low[order[k].second] = true;
  return low;
}

struct Figures {
  std::vector<double> rmse[3], recall[3];  // all, low, high
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Add(const Split& split, const std::vector<bool>& low,
         const Recommender& recommender, Figures* figures) {
  for (int part = 0; part < 3; ++part) {
    Split measured = split;
    if (part > 0)
      measured.held_out = Of(split.held_out, low, part == 1, /*drop=*/false);
    const Metrics metrics = Must(Measure(measured, recommender, kExecution));
    figures->rmse[part].push_back(metrics.rmse);
    figures->recall[part].push_back(metrics.recall20);
  }
}

void Print(const char* way, const Figures& figures) {
  std::printf("  %-12s", way);
  for (const auto& rmse : figures.rmse) std::printf(" %.4f", Median(rmse));
  std::printf("  ");
  for (const auto& recall : figures.recall)
    std::printf(" %.4f", Median(recall));
  std::printf("\n");
}

Recommender Learn(const std::vector<WeightedPeople>& groups,
                  const Eigen::MatrixXd& features, double epsilon,
                  std::uint64_t seed) {
  PrivateRunOptions options;
  options.epsilon = epsilon;
  options.delta = kDelta;
  options.users = groups[0].ratings->people();
  options.seed = seed;
  return RecommenderOf(
      Must(RunPrivately(groups, features, options, kExecution)).model);
}

void Compare(const Input& input, double share, bool active, int repeats) {
  const double weight = MuOf(kLow) / MuOf(kHigh);
  Figures all_low, high_alone, weights, all_high;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    const auto seed = static_cast<std::uint64_t>(1000 + repeat);
    const Split split =
        Must(HoldOut(input.table, HoldOutBy::kRating, 0.1, seed));
    const std::vector<bool> low = Choose(input.table, share, active, seed);
    const RatingTable of_low = Of(split.train, low, true, /*drop=*/true);
    const RatingTable of_high = Of(split.train, low, false, /*drop=*/true);
    const auto run = [&](const std::vector<WeightedPeople>& groups,
                         double epsilon, Figures* figures) {
      Add(split, low, Learn(groups, input.features, epsilon, seed), figures);
    };
    run({{&split.train, 1}}, kLow, &all_low);
    run({{&of_high, 1}}, kHigh, &high_alone);
    run({{&of_low, weight}, {&of_high, 1}}, kHigh, &weights);
    run({{&split.train, 1}}, kHigh, &all_high);
  }
  std::printf(
      "%.0f %% choose epsilon %g (%s), weight %.3f\n  %-12s RMSE: all, low, "
      "high; recall@20: all, low, high\n",
      100 * share, kLow, active ? "active" : "by chance", weight, "");
  Print("all at low", all_low);
  Print("high alone", high_alone);
  Print("weights", weights);
  Print("all at high", all_high);
}

}  // namespace
}  // namespace dpnmf::curator::lab

int main(int argc, char** argv) {
  using namespace dpnmf::curator::lab;
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: dpnmf_personalised RATINGS ITEMS FEATURES|- LOW,HIGH "
                 "REPEATS\n");
    return 2;
  }
  const Input input = Load(argv);
  for (const bool active : {false, true}) {
    for (const double share : {0.2, 0.5, 0.8, 0.95})
      Compare(input, share, active, std::atoi(argv[5]));
  }
  return 0;
}
