// Sentences about budgets for people.
#ifndef DPNMF_CURATOR_RELEASE_BUDGET_TEXT_H_
#define DPNMF_CURATOR_RELEASE_BUDGET_TEXT_H_

#include <string>
#include <string_view>

#include "common/privacy/mu_squared.h"
#include "curator/release/ledger.h"

namespace dpnmf::curator {

struct BudgetReading {
  MuSquared asked, charged, reserved, cap;
};

// "over the budget of `people`: asked epsilon 2, spent 0.5, reserved 0.25,
// left 0.25 of 1 (rdp at delta 1e-05); ask for epsilon 0.61 or less, ...".
// `owner` is what the budget belongs to. Epsilons are the policy's conversion
// at its delta, to four significant digits. Left is epsilon(cap) -
// epsilon(charged + reserved); since costs add and epsilons do not, a run of
// more than that may still fit: the sentence names the largest that does.
std::string OverBudgetSentence(std::string_view owner,
                               const PopulationPolicy& policy,
                               const BudgetReading& reading);

// Four significant digits, to nearest, respectively never above `value`.
std::string FourDigits(double value);
std::string FourDigitsDown(double value);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_BUDGET_TEXT_H_
