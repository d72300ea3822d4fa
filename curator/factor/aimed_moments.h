// Exact sums of z z' over users, z = s (v - U U'v): the second release of
// `aimed`. U and s are public; z has entries of any sign. Private inputs,
// private outputs.
//
// Each user's z is scaled to |z| <= c_v, rounded toward zero to multiples of
// 2^-q_v and gated in integers. The gated integers are a function of that
// user's column and of the request alone; the sums are exact in any order.
#ifndef DPNMF_CURATOR_FACTOR_AIMED_MOMENTS_H_
#define DPNMF_CURATOR_FACTOR_AIMED_MOMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {

// Values of a request. None of them is trusted: the gate holds for any values.
struct AimRequest {
  // U: D x L, any sign. Entries below 2^-40 in size are read as 0, so that no
  // subnormal number makes the time that a person takes depend on the data.
  const Eigen::MatrixXd* directions = nullptr;
  double scale = 1;                     // s
  std::span<const std::uint32_t> rows;  // ascending, below D; empty: all
};

// Bytes that ComputeAimedMoments takes at most beside V, from public numbers.
std::uint64_t AimedMomentsBytes(std::uint64_t rows, std::uint64_t features,
                                std::uint64_t directions, std::uint64_t users,
                                int threads);

// The upper triangle by columns, in units of 4^-data_bits. v is cut to the rows
// first, and U with it. Errors as ComputeMoments.
absl::StatusOr<std::vector<std::int64_t>> ComputeAimedMoments(
    const Dataset& data, const AimRequest& request, double data_bound,
    int data_bits, const Execution& execution);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_AIMED_MOMENTS_H_
