#include "common/privacy/class_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpnmf {
namespace {

constexpr Uint128 kMostWhole = Uint128{1} << 62;

// floor(sqrt(square)), square < 2^62.
std::uint64_t RootOf(std::uint64_t square) {
  auto root =
      static_cast<std::uint64_t>(std::sqrt(static_cast<double>(square)));
  while (root * root > square) --root;
  while ((root + 1) * (root + 1) <= square) ++root;
  return root;
}

}  // namespace

ClassBounds ClassBoundsOf(const DatasetFacts& facts, int bits) {
  ClassBounds bounds;
  Uint128 norm = 0;
  if (facts.range.has_value()) {
    const double half = (facts.range->high - facts.range->low) / 2;
    bounds.centre = facts.range->low + half;
    bounds.largest_entry = LargestEntrySteps(half, bits);
    // m^2 is cut to 2^62 and D to 2^30, so that the product stays below 2^92.
    // The result is cut below 2^62 in any case.
    const Uint128 square = std::min<Uint128>(
        Uint128{bounds.largest_entry} * bounds.largest_entry, kMostWhole);
    norm = square * std::min<std::uint64_t>(facts.features, 1u << 30);
  } else {
    bounds.largest_entry = LargestEntrySteps(facts.column_bound, bits);
    norm = NormBoundSteps(facts.column_bound, bits);
  }
  norm = std::min(norm, kMostWhole - 1);
  bounds.norm_bound = static_cast<std::uint64_t>(norm);
  bounds.constant = RootOf(bounds.norm_bound / 2);
  bounds.whole = static_cast<std::uint64_t>(
      std::min(norm + Uint128{bounds.constant} * bounds.constant, kMostWhole));
  return bounds;
}

std::uint64_t ClassEntriesOf(const DatasetFacts& facts) {
  const Uint128 side = std::min<Uint128>(Uint128{facts.features} + 1, 1u << 30);
  const Uint128 entries = side * side * facts.classes->names.size();
  return static_cast<std::uint64_t>(
      std::min<Uint128>(entries, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace dpnmf
