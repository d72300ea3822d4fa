// A privacy cost as the ledger adds it: mu^2 in whole units of 2^-60.
//
// mu^2 is the squared parameter of Gaussian differential privacy; costs of
// successive releases add. Integers make the addition exact and the budget
// filter a comparison of integers (docs/reference/privacy.md, "Accounting").
#ifndef DPNMF_COMMON_PRIVACY_MU_SQUARED_H_
#define DPNMF_COMMON_PRIVACY_MU_SQUARED_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpnmf {

__extension__ typedef unsigned __int128 Uint128;

class MuSquared {
 public:
  static constexpr int kFractionBits = 60;

  constexpr MuSquared() = default;
  static constexpr MuSquared FromUnits(Uint128 units) {
    return MuSquared(units);
  }
  // The smallest (largest) cost that is at least (at most) `value`; nothing if
  // value is negative, NaN or 2^60 or more. `value` counts as exact.
  static std::optional<MuSquared> RoundUp(double value);
  static std::optional<MuSquared> RoundDown(double value);
  // A decimal integer without sign or leading zeros, below 2^120; else nothing.
  static std::optional<MuSquared> FromUnitsText(std::string_view text);

  constexpr Uint128 units() const { return units_; }
  std::string UnitsText() const;
  // Nearest double; for reading only.
  double ToDouble() const;
  // The smallest double that is at least the cost: for epsilons shown or
  // checked.
  double ToDoubleUp() const;

  // Returns no value if the result leaves [0, 2^60).
  static std::optional<MuSquared> Add(MuSquared a, MuSquared b);
  static std::optional<MuSquared> Subtract(MuSquared a, MuSquared b);
  static std::optional<MuSquared> Multiply(MuSquared a, std::uint32_t count);
  // Rounded down. count > 0.
  static MuSquared Divide(MuSquared a, std::uint32_t count);

  friend constexpr auto operator<=>(MuSquared a, MuSquared b) = default;

 private:
  explicit constexpr MuSquared(Uint128 units) : units_(units) {}
  Uint128 units_ = 0;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_MU_SQUARED_H_
