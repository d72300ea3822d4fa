#include "common/privacy/ratings_bounds.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dpnmf {
namespace {

// units of 10^-4 times 2^bits / over, as a fraction. |bits| <= 64.
struct Fraction {
  Uint128 numerator;
  Uint128 denominator;
};

Fraction Scaled(std::int64_t units, int bits, std::uint64_t over) {
  const Uint128 numerator = static_cast<Uint128>(units);
  const Uint128 denominator = Uint128{10'000} * over;
  if (bits >= 0) return {numerator << bits, denominator};
  return {numerator, denominator << -bits};
}

std::int64_t Floor(const Fraction& x) {
  return static_cast<std::int64_t>(x.numerator / x.denominator);
}

std::int64_t Ceiling(const Fraction& x) {
  return static_cast<std::int64_t>((x.numerator + x.denominator - 1) /
                                   x.denominator);
}

std::int64_t RangeUnits(const RatingScale& scale) {
  return std::int64_t{scale.high_units} - scale.low_units;
}

double RangeOf(const RatingScale& scale) {
  return static_cast<double>(RangeUnits(scale)) * kRatingUnit;
}

// T / tau of `items`.
constexpr std::int64_t kClip = 3, kClipOver = 4;

// 181 / 256 < 1 / sqrt(2).
constexpr std::uint64_t kOneRatingMask = 181, kOneRatingMaskOver = 256;

std::uint64_t CeilingOfRoot(std::uint64_t x) {
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(x)));
  while (Uint128{root} * root < x) ++root;
  while (root > 0 && Uint128{root - 1} * (root - 1) >= x) --root;
  return root;
}

}  // namespace

bool IsRatingScale(const RatingScale& scale) {
  return scale.low_units < scale.high_units &&
         scale.low_units >= -kLargestDeclaredUnits &&
         scale.high_units <= kLargestDeclaredUnits;
}

RatingsBounds RatingsBoundsOf(const RatingScale& scale, Adjacency adjacency) {
  constexpr MaskRatio kRatio;
  const double range = RangeOf(scale), tau = range / 2;
  RatingsBounds bounds;
  bounds.tau = tau;
  if (adjacency == Adjacency::kOneRating) {
    bounds.clip = bounds.c = tau;
    bounds.a = range * kOneRatingMask / kOneRatingMaskOver;
  } else {
    bounds.clip = tau * kClip / kClipOver;
    bounds.a = bounds.clip * kRatio.numerator / kRatio.denominator;
    bounds.c = bounds.clip / 2;
  }
  bounds.c_z = tau / 2;
  return bounds;
}

ClippedRatings ClippedOf(const RatingsBounds& bounds, Adjacency adjacency,
                         double within) {
  if (adjacency == Adjacency::kOneRating) return {1, within};
  const double z = bounds.clip / std::sqrt(within);
  const double inside = std::erf(z / std::numbers::sqrt2);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double square =
      within * (inside - 2 * z * density + z * z * (1 - inside));
  const double cut = std::min(1.0, bounds.c / std::sqrt(square));
  return {inside * cut, square * cut * cut};
}

double ProfileMomentBound(std::uint32_t rank) {
  return 1 + std::sqrt(static_cast<double>(rank));
}

ItemsLattice ItemsLatticeOf(const RatingScale& scale, int bits) {
  const RatingsBounds bounds = RatingsBoundsOf(scale, Adjacency::kReplaceOne);
  const std::int64_t range = RangeUnits(scale);
  ItemsLattice lattice;
  lattice.bits = bits;
  lattice.range_units = range;
  lattice.most = Ceiling(Scaled(range, bits, 2));
  lattice.largest_rating = Floor(Scaled(range, bits, 2));
  lattice.clip = Floor(Scaled(range * kClip, bits, 2 * kClipOver));
  lattice.mask_norm = NormBoundSteps(bounds.a, bits);
  lattice.rating_norm = NormBoundSteps(bounds.c, bits);
  lattice.mask_step =
      Floor(Scaled(range * static_cast<std::int64_t>(kOneRatingMask), bits,
                   kOneRatingMaskOver));
  return lattice;
}

std::uint64_t OwnMeansSensitivity(const ItemsLattice& lattice,
                                  Adjacency adjacency) {
  const auto most = static_cast<std::uint64_t>(lattice.most);
  return adjacency == Adjacency::kAddRemoveOne ? most * most : 4 * most * most;
}

std::uint64_t ItemsSensitivity(const ItemsLattice& lattice, Adjacency adjacency,
                               std::uint64_t features) {
  const std::uint64_t mask = lattice.mask_norm, rating = lattice.rating_norm;
  switch (adjacency) {
    case Adjacency::kReplaceOne: {
      // 2 Q_a + 4 Q_c - 2 Q_c a^2 / T^2, rounded up.
      const Uint128 square =
          Uint128{lattice.ratio.numerator} * lattice.ratio.numerator;
      const Uint128 over =
          Uint128{lattice.ratio.denominator} * lattice.ratio.denominator;
      return 2 * mask + 4 * rating -
             static_cast<std::uint64_t>(2 * Uint128{rating} * square / over);
    }
    case Adjacency::kAddRemoveOne:
      return mask + rating;
    case Adjacency::kOneRating:
      break;
  }
  // (2^bits R + sqrt(D))^2, both rounded up.
  const std::uint64_t sum =
      static_cast<std::uint64_t>(
          Ceiling(Scaled(lattice.range_units, lattice.bits, 1))) +
      CeilingOfRoot(std::min(features, kMostGatedRatings));
  return sum * sum;
}

std::uint64_t ResidualNorm(const RatingScale& scale, int bits) {
  return NormBoundSteps(RatingsBoundsOf(scale, Adjacency::kReplaceOne).c_z,
                        bits);
}

std::uint64_t ProfileNorm(int bits) {
  // h_0 and the length are powers of two: exact.
  return NormBoundSteps(kProfileConstant, bits) +
         NormBoundSteps(kProfileLength, bits);
}

std::uint64_t ProfileMomentNorm(std::uint32_t rank, int bits) {
  return LargestEntrySteps(ProfileMomentBound(rank), 2 * bits);
}

int BitsFor(double bound, int entry_bits) {
  return entry_bits - std::ilogb(bound);
}

}  // namespace dpnmf
