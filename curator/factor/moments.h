// Exact sums of v and of v v' over users: what `moments` releases. Private
// inputs, private outputs.
//
// Each user's column is scaled to |v| <= c_v, rounded toward zero to multiples
// of 2^-q_v and gated in integers (quantise.h). The gated integers are a
// function of that column alone; the sums are exact in any order.
#ifndef DPNMF_CURATOR_FACTOR_MOMENTS_H_
#define DPNMF_CURATOR_FACTOR_MOMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {

// Bytes that ComputeMean takes at most beside V, from public numbers: `users`
// is LargestUserCount. All of it but the result, whose size is public, is
// allocated before the first user is read.
std::uint64_t MeanBytes(std::uint64_t features, std::uint64_t users,
                        int threads);
// The same of ComputeMoments on so many rows.
std::uint64_t MomentsBytes(std::uint64_t rows, std::uint64_t features,
                           std::uint64_t users, int threads);

// S_v: D sums in units of 2^-data_bits. Errors as LatticeBoundsOf; INTERNAL
// "sums-overflow" if the sums could reach 2^62; CANCELLED "cancelled" if
// execution.stop said so. Throws std::bad_alloc if the system refuses memory.
absl::StatusOr<std::vector<std::int64_t>> ComputeMean(
    const Dataset& data, double data_bound, int data_bits,
    const Execution& execution);

// S_G on `rows` (ascending, below D; empty: all rows): the upper triangle by
// columns, in units of 4^-data_bits. The gate sees the column cut to those
// rows. Errors as ComputeMean.
absl::StatusOr<std::vector<std::int64_t>> ComputeMoments(
    const Dataset& data, std::span<const std::uint32_t> rows, double data_bound,
    int data_bits, const Execution& execution);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_MOMENTS_H_
