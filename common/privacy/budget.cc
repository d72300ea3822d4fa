#include "common/privacy/budget.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

constexpr double kLargestRequest = 1000;  // that a run may ask for
constexpr MuSquared kLargestCost =
    MuSquared::FromUnits((Uint128{1} << (60 + MuSquared::kFractionBits)) - 1);

std::string ShownUp(const absl::StatusOr<double>& epsilon) {
  return epsilon.ok() ? FormatUp(*epsilon) : "unknown";
}

std::string Advice(const Budget& budget, MuSquared room, bool used_up,
                   bool is_own_limit) {
  const bool may_return = budget.reserved > MuSquared();
  if (!used_up) {
    return absl::StrCat("ask for at most the largest run",
                        may_return ? ", or wait until open runs end" : "");
  }
  if ((is_own_limit && !may_return) || RoomOf(budget) > room)
    return "this identity has used up its own limit; ask the curator's "
           "operator, who can raise it (`budgets` in the allow-list)";
  return may_return ? "wait until open runs end and return what they do not use"
                    : "the cap is used up; only another population, with a "
                      "policy from the operator, has more budget";
}

}  // namespace

MuSquared Committed(const Budget& budget) {
  return MuSquared::Add(budget.charged, budget.reserved).value_or(kLargestCost);
}

MuSquared RoomOf(const Budget& budget) {
  return MuSquared::Subtract(budget.cap, Committed(budget))
      .value_or(MuSquared());
}

absl::StatusOr<double> Spent(const Budget& budget, Conversion conversion,
                             double delta) {
  return Epsilon(conversion, budget.charged, delta);
}

absl::StatusOr<double> SpentAndReserved(const Budget& budget,
                                        Conversion conversion, double delta) {
  return Epsilon(conversion, Committed(budget), delta);
}

absl::StatusOr<double> LargestRun(MuSquared room, Conversion conversion,
                                  double delta) {
  DPNMF_ASSIGN_OR_RETURN(const double above, Epsilon(conversion, room, delta));
  // The number that `room` was made from, as an operator types it.
  const double typed = std::strtod(FormatUp(above, 6).c_str(), nullptr);
  const auto cost = LargestCost(conversion, typed, delta);
  if (cost.ok() && *cost <= room) return typed;
  // Let E(c) be the epsilon of a cost c as computed and e(c) the true one:
  // e(c) <= E(c) <= e(c) + 1e-12 max(e, mu). A cost c > room has
  // E(c) >= e(c) >= e(room) >= E(room) - 1e-12 max(e, mu), which is above what
  // is returned here; LargestCost of that, or of less, is therefore <= room.
  const double margin = 2e-12 * std::max(above, std::sqrt(room.ToDoubleUp()));
  return std::clamp(above - margin, 0.0, kLargestRequest);
}

bool IsUsedUp(double largest_run, MuSquared cap, Conversion conversion,
              double delta) {
  const auto whole = Epsilon(conversion, cap, delta);
  return whole.ok() && largest_run < 1e-3 * std::min(1.0, *whole);
}

std::string OverBudgetSentence(std::string_view owner, MuSquared asked,
                               const Budget& budget, MuSquared room,
                               Conversion conversion, double delta,
                               bool is_own_limit) {
  const auto largest = LargestRun(room, conversion, delta);
  const bool used_up =
      IsUsedUp(largest.value_or(0), budget.cap, conversion, delta);
  return absl::StrCat(
      "The run exceeds the ", is_own_limit ? "own limit" : "budget", " of ",
      View(owner), ": asked epsilon ",
      ShownUp(Epsilon(conversion, asked, delta)), ", spent ",
      ShownUp(Spent(budget, conversion, delta)), ", spent and reserved ",
      ShownUp(SpentAndReserved(budget, conversion, delta)), ", largest run ",
      !largest.ok() ? "unknown"
      : used_up     ? "0"
                    : FormatDown(*largest),
      is_own_limit ? ", limit " : ", cap ",
      ShownUp(Epsilon(conversion, budget.cap, delta)), " (",
      View(NameOf(conversion)), " at delta ", FormatNumber(delta), "); ",
      Advice(budget, room, used_up, is_own_limit), ".");
}

}  // namespace dpnmf
