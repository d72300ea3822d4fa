// Exact sums over people of what `ratings` releases. Private inputs, private
// outputs.
//
// What a person adds is made of integers that are a function of that person's
// ratings and the request alone: not of other people, the order, the blocks or
// the threads. Floating point comes before the gate; the gate is in integers,
// and a person who fails it, or whose numbers are not finite, adds zero. The
// sums are exact in any order. Theorems: docs/reference/privacy.md, "Ratings".
//
// Sums are in the entry order of NoisedMatrix. Errors of all: CANCELLED
// "cancelled" if execution.stop said so; INTERNAL "sums-overflow" if the sums
// could reach 2^62 (never with the bits of PlanRun). They throw std::bad_alloc
// if the system refuses memory. Data sets of ratings alone.
#ifndef DPNMF_CURATOR_FACTOR_RATINGS_SUMS_H_
#define DPNMF_CURATOR_FACTOR_RATINGS_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/nmf/round_input.h"
#include "common/privacy/accounting.h"
#include "common/privacy/ratings_bounds.h"
#include "curator/data/dataset.h"
#include "curator/factor/ratings_request.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {

struct ItemSums {
  std::vector<std::int64_t> own_means;  // 2: of own mean and variance
  std::vector<std::int64_t> items;      // D x 2
};
// In units of 2^-lattice.bits.
absl::StatusOr<ItemSums> ComputeItemSums(const Dataset& data,
                                         Adjacency adjacency,
                                         const ItemsLattice& lattice,
                                         const Execution& execution);

// Damping of a valid request: w (M x 1) and one number; none without w.
Damping DampingOf(const RoundInput& input);

// Sum of z z' with z = T m / |T m| and m the person's ratings among the named
// rows (strictly ascending, below D): the upper triangle, in units of 4^-bits.
// Without damping it is the sum of m m' / n, n the number of these ratings.
absl::StatusOr<std::vector<std::int64_t>> ComputeCoRatings(
    const Dataset& data, std::span<const std::uint32_t> rows,
    const Damping& damping, int bits, const Execution& execution);

// Sum of h h' + (X'X + I)^-1 over people with ratings, |.| <= c_P of `rank`
// (ProfileMomentBound), in units of 4^-bits. q x q.
absl::StatusOr<std::vector<std::int64_t>> ComputeProfileMoments(
    const Dataset& data, const RatingsRequest& request, std::uint32_t rank,
    int bits, const Execution& execution);

// Sum of z z' over the named rows, z = w clip(y - X h~), in units of 4^-bits.
absl::StatusOr<std::vector<std::int64_t>> ComputeResidualMoments(
    const Dataset& data, const RatingsRequest& request,
    std::span<const std::uint32_t> rows, int bits, const Execution& execution);

struct CorrectionSums {
  std::vector<std::int64_t> b;  // D x (r + 1), units 2^-(z_bits + g_bits)
  std::vector<std::int64_t> a;  // (r + 1) x (r + 1), units 4^-g_bits
};
// Sums of z g' and of g g', g = (h_0, h_1 ... h_r): the r loadings after the
// bias; 0 <= r < q.
absl::StatusOr<CorrectionSums> ComputeCorrections(const Dataset& data,
                                                  const RatingsRequest& request,
                                                  std::uint32_t directions,
                                                  int z_bits, int g_bits,
                                                  const Execution& execution);

// Bytes that one of these takes at most beside the data and the request, from
// public numbers: no allocation depends on what people have rated, nor on how
// many there are. 2^64 - 1 if it is more than that.
struct RatingsShape {
  std::uint64_t features = 0;  // D
  std::uint64_t rank = 0;      // q; 0: no model
  std::uint64_t entries = 0;   // of all sums of the release
  std::uint64_t users = 0;     // LargestUserCount
  int threads = 1;
};
std::uint64_t RatingsBytes(const RatingsShape& shape);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_RATINGS_SUMS_H_
