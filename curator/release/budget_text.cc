#include "curator/release/budget_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/view.h"
#include "common/privacy/accounting.h"

namespace dpnmf::curator {
namespace {

// Infinity for a cost beyond the range of the conversions.
double EpsilonOf(const PopulationPolicy& policy, MuSquared cost) {
  const auto epsilon = Epsilon(policy.conversion, cost, policy.delta);
  return epsilon.ok() ? *epsilon : std::numeric_limits<double>::infinity();
}

// Sum that cannot overflow in a ledger that keeps its rules.
MuSquared Sum(MuSquared a, MuSquared b) {
  return MuSquared::Add(a, b).value_or(a);
}

std::string Advice(const PopulationPolicy& policy, const BudgetReading& reading,
                   MuSquared used) {
  const MuSquared left =
      MuSquared::Subtract(reading.cap, used).value_or(MuSquared());
  const bool may_return = reading.reserved > MuSquared();
  if (left == MuSquared()) {
    return may_return ? "wait until open runs end and return what they do not "
                        "use"
                      : "the cap is used up and only the operator's policy for "
                        "another population can give more";
  }
  return absl::StrCat("ask for epsilon ",
                      FourDigitsDown(EpsilonOf(policy, left)),
                      " or less at this delta",
                      may_return ? ", or wait until open runs end" : "");
}

}  // namespace

std::string FourDigits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string FourDigitsDown(double value) {
  if (!(value > 0) || std::isinf(value)) return FourDigits(value);
  const double place = std::pow(10, std::floor(std::log10(value)) - 3);
  double down = std::floor(value / place) * place;
  while (std::strtod(FourDigits(down).c_str(), nullptr) > value) down -= place;
  return FourDigits(down);
}

std::string OverBudgetSentence(std::string_view owner,
                               const PopulationPolicy& policy,
                               const BudgetReading& reading) {
  const MuSquared used = Sum(reading.charged, reading.reserved);
  const double cap = EpsilonOf(policy, reading.cap);
  const double left = std::max(0.0, cap - EpsilonOf(policy, used));
  return absl::StrCat(
      "over the budget of ", View(owner), ": asked epsilon ",
      FourDigits(EpsilonOf(policy, reading.asked)), ", spent ",
      FourDigits(EpsilonOf(policy, reading.charged)), ", reserved ",
      FourDigits(EpsilonOf(policy, reading.reserved)), ", left ",
      FourDigits(left), " of ", FourDigits(cap), " (",
      View(NameOf(policy.conversion)), " at delta ", FourDigits(policy.delta),
      "); ", Advice(policy, reading, used));
}

}  // namespace dpnmf::curator
