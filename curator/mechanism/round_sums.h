// Exact sums over users, before the gate, and what is published of them once
// they are noised.
#ifndef DPNMF_CURATOR_MECHANISM_ROUND_SUMS_H_
#define DPNMF_CURATOR_MECHANISM_ROUND_SUMS_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/nmf/noised_matrix.h"
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

// Turns the noised sums into what is published: a function of noised values and
// the request alone (often the identity; W A - B for `gradient`).
using PostProcess =
    std::function<std::vector<NoisedMatrix>(std::vector<NoisedMatrix> noised)>;

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MECHANISM_ROUND_SUMS_H_
