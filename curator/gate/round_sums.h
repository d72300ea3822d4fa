// Exact sums over users, before the gate.
#ifndef DPNMF_CURATOR_GATE_ROUND_SUMS_H_
#define DPNMF_CURATOR_GATE_ROUND_SUMS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "curator/factor/statistics.h"

namespace dpnmf::curator {

// The sums of one round in lattice units, part by part in the plan's order,
// each in the entry order of NoisedMatrix. Has no wire codec: it leaves only
// through the release gate, noised.
struct RoundSums {
  RoundSums() = default;
  // A, then B.
  RoundSums(ExactSums sums) {  // NOLINT(google-explicit-constructor)
    parts.push_back(std::move(sums.a));
    parts.push_back(std::move(sums.b));
  }
  std::vector<std::vector<std::int64_t>> parts;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_GATE_ROUND_SUMS_H_
