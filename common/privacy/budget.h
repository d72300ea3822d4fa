// Amounts that a budget has spent and still allows, in the two epsilons that
// every program shows.
//
//   spent        epsilon(charged), rounded up. A reading of the ledger. The
//                guarantee is that of the cap.
//   largest run  the largest epsilon that one run may still ask for: what
//                room = cap - charged - reserved allows in mu^2, rounded down.
//
// Costs (mu^2) add; epsilons do not. So `spent` and `largest run` do not add up
// to the epsilon of the cap, and no difference of epsilons means anything.
// Epsilons are those of a conversion at a delta (common/privacy/accounting.h).
//
// All functions are pure and thread-safe. delta in (0, 1), else
// INVALID_ARGUMENT "delta-out-of-range"; a cost above mu^2 = 1e15 is
// "mu-out-of-range".
#ifndef DPNMF_COMMON_PRIVACY_BUDGET_H_
#define DPNMF_COMMON_PRIVACY_BUDGET_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"

namespace dpnmf {

// Budget of a population, or of one identity on it. charged + reserved <= cap
// in a sound ledger.
struct Budget {
  MuSquared cap;
  MuSquared charged = {};   // of all appended charges
  MuSquared reserved = {};  // held for open runs, not yet charged
};

// charged + reserved. The largest cost if a peer's numbers overflow.
MuSquared Committed(const Budget& budget);
// cap - charged - reserved; 0 if that is negative.
MuSquared RoomOf(const Budget& budget);

absl::StatusOr<double> Spent(const Budget& budget, Conversion conversion,
                             double delta);
// The same of charged + reserved: what will be spent if no open run returns
// anything.
absl::StatusOr<double> SpentAndReserved(const Budget& budget,
                                        Conversion conversion, double delta);

// In [0, 1000]. Every epsilon in (0, LargestRun] costs at most `room`:
// LargestCost(conversion, epsilon, delta) <= room. Below the best such bound by
// at most 1e-11 max(epsilon, mu); the operator's own number, of up to six
// digits, if `room` is what it allows. 0: no run fits.
absl::StatusOr<double> LargestRun(MuSquared room, Conversion conversion,
                                  double delta);
// True if the largest run is below a thousandth of what `cap` allows, or of 1:
// what is left of the budget is rounding. False if `cap` has no epsilon.
bool IsUsedUp(double largest_run, MuSquared cap, Conversion conversion,
              double delta);

// "over the budget of population `people`: asked epsilon 1, spent 0.3488, spent
// and reserved 0.7028, largest run 0.7027, cap 1 (rdp at delta 1e-05); ask for
// the largest run or less, or wait until open runs end". `owner` is what the
// budget belongs to; is_own_limit: it is the limit that an operator set for one
// identity. `room` is what a run may cost: RoomOf(budget), or less if another
// budget has less. Four digits; the largest run is rounded down, all
// else up. "unknown" stands for what has no epsilon.
std::string OverBudgetSentence(std::string_view owner, MuSquared asked,
                               const Budget& budget, MuSquared room,
                               Conversion conversion, double delta,
                               bool is_own_limit = false);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_BUDGET_H_
