// Shares and areas under curves, with their intervals.
#ifndef DPNMF_LAB_ATTACK_FIGURES_H_
#define DPNMF_LAB_ATTACK_FIGURES_H_

#include <cstdint>
#include <span>

#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {

// A share of `of` people (or trials) with its Clopper-Pearson interval at 95 %.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
  std::int64_t of = 0;
  friend bool operator==(const Share&, const Share&) = default;
};
// count in [0, of]. Nobody: 0, within 0 to 1.
Share ShareOf(std::int64_t count, std::int64_t of);
// Share of an expected count (ties are shared): `low` is that of the next whole
// number below, `high` that of the next whole number above.
Share ShareOfExpected(double count, std::int64_t of);
nlohmann::ordered_json ToJson(const Share& share);

// x with I_x(a, b) = p, where I is the regularised incomplete beta function;
// a, b > 0, p in (0, 1).
double BetaQuantile(double a, double b, double p);

// P(a member's score > an outsider's) + P(equal) / 2, with the interval of
// DeLong, DeLong and Clarke-Pearson (1988). Where its variance is 0, that of
// Clopper and Pearson for the smaller group. `of`: both groups. Not empty.
Share AreaUnderCurve(std::span<const double> members,
                     std::span<const double> outsiders);

// Members above the score that at most 1 % of the outsiders exceed (none of
// fewer than 100 outsiders).
Share FoundAtOnePercent(std::span<const double> members,
                        std::span<const double> outsiders);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_FIGURES_H_
