// Bounds on what one person may add to the releases of `ratings`: real bounds
// for those who read a release, and the integers on a lattice that the plan,
// the price and the gate share (docs/reference/privacy.md, "Ratings").
//
// Symbols: R = high - low; tau = R / 2; t = rating - own mean, clipped to
// [-T, T]; w = 1 / sqrt(number of own ratings); Q = floor(c^2 4^bits) for a
// length c. Functions of public numbers alone.
#ifndef DPNMF_COMMON_PRIVACY_RATINGS_BOUNDS_H_
#define DPNMF_COMMON_PRIVACY_RATINGS_BOUNDS_H_

#include <cstdint>

#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// The largest rating that may be declared, in absolute value.
inline constexpr std::int32_t kLargestDeclaredUnits = 1'000'000'000;
// Nobody has more (import refuses it); the gate drops a person who does.
inline constexpr std::uint64_t kMostGatedRatings = 1'000'000;

// low < high, both in range.
bool IsRatingScale(const RatingScale& scale);

// In units of ratings.
struct RatingsBounds {
  double tau = 0;
  // T of `items`: 3/4 tau; tau under one_rating.
  double clip = 0;
  // Column 0 of `items`: a person adds a w to each own item, or under
  // one_rating a. T / 2; under one_rating R / sqrt(2) rounded down.
  double a = 0;
  // Column 1 of `items`: |w t| <= c = T / 2. one_rating: no bound on the
  // length.
  double c = 0;
  // `residuals`, `corrections`: residuals are clipped to [-tau, tau], weighted
  // by w, and scaled to |z| <= c_z.
  double c_z = 0;
};
RatingsBounds RatingsBoundsOf(const RatingScale& scale, Adjacency adjacency);

// Effect of clipping to [-T, T] and cutting to length on column 1 of `items`,
// if a rating is normal about its person's mean with variance `within` > 0: the
// factor of an effect (part, in (0, 1]) and the variance of a rating
// afterwards. Nothing is lost under one_rating.
struct ClippedRatings {
  double part = 1;
  double variance = 1;
};
ClippedRatings ClippedOf(const RatingsBounds& bounds, Adjacency adjacency,
                         double within);

// The profile that `corrections` multiply: (h_0, h_1 ... h_r) with h_0 constant
// and |(h_1 ... h_r)| <= 1, in units of the prior; |.|^2 <= c_h^2 = 5/4.
inline constexpr double kProfileConstant = 0.5;
inline constexpr double kProfileLength = 1;
// Limits of a request for `co-ratings`: rows have whole weights up to
// kMostRowWeight, and damping along the weights is in steps of 1 /
// kDampingParts.
inline constexpr std::uint32_t kMostRowWeight = 255, kDampingParts = 64;
// c_P of `profiles`: 1 + sqrt(q), q the run's `rank`.
double ProfileMomentBound(std::uint32_t rank);

// Shares of the cost of a release: `mean` of `items`, `A` of `corrections`.
inline constexpr double kShareOfOwnMeans = 0.04;
inline constexpr double kShareOfProfileMoment = 0.05;

// ------------------------------------------------------------- on the lattice
// `bits` may be negative. Entries lie on multiples of 2^-bits.

// a <= T as the ratio a / T of `items`, exactly.
struct MaskRatio {
  std::uint32_t numerator = 1;
  std::uint32_t denominator = 2;
};

// One person's integers for `items`: k for each own item and l_i.
struct ItemsLattice {
  int bits = 0;
  std::int64_t range_units = 0;
  // `mean`: integers (x, y) with x^2 + y most <= most^2, y >= 0; most =
  // ceil(2^bits tau).
  std::int64_t most = 0;
  // Clip of t: floor(2^bits T); not read under one_rating, whose is
  // largest_rating.
  std::int64_t clip = 0;
  std::int64_t largest_rating = 0;
  // Gate: n k^2 <= mask_norm, sum l^2 <= rating_norm, |l_i| a <= T k.
  std::uint64_t mask_norm = 0;
  std::uint64_t rating_norm = 0;
  MaskRatio ratio;
  // one_rating: k of every own item. There is no gate on lengths.
  std::int64_t mask_step = 0;
};
ItemsLattice ItemsLatticeOf(const RatingScale& scale, int bits);

// Squared L2 sensitivities in steps: of (x, y) of `mean`; of (k, l) of `items`
// on D = features items.
std::uint64_t OwnMeansSensitivity(const ItemsLattice& lattice,
                                  Adjacency adjacency);
std::uint64_t ItemsSensitivity(const ItemsLattice& lattice, Adjacency adjacency,
                               std::uint64_t features);

// floor(c_z^2 4^bits), floor(c_h^2 4^bits), floor(c_P 4^bits).
std::uint64_t ResidualNorm(const RatingScale& scale, int bits);
std::uint64_t ProfileNorm(int bits);
std::uint64_t ProfileMomentNorm(std::uint32_t rank, int bits);

// Bits such that the bound's entries take `entry_bits` bits: 2^entry_bits <=
// bound 2^bits < 2^(entry_bits + 1).
int BitsFor(double bound, int entry_bits);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_RATINGS_BOUNDS_H_
