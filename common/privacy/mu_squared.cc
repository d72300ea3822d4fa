#include "common/privacy/mu_squared.h"

#include <algorithm>
#include <cmath>

namespace dpnmf {
namespace {

constexpr Uint128 kLimit = Uint128{1} << (60 + MuSquared::kFractionBits);
constexpr double kLargestValue = 0x1p60;  // kLimit in units of mu^2

bool IsCost(double value) { return value >= 0 && value < kLargestValue; }

std::optional<MuSquared> InRange(Uint128 units) {
  if (units >= kLimit) return std::nullopt;
  return MuSquared::FromUnits(units);
}

}  // namespace

// A double below 2^60 times 2^60 is exact and below 2^120; from 2^53 on it is
// an integer, so ceil and floor are exact as well.
std::optional<MuSquared> MuSquared::RoundUp(double value) {
  if (!IsCost(value)) return std::nullopt;
  return FromUnits(
      static_cast<Uint128>(std::ceil(std::ldexp(value, kFractionBits))));
}

std::optional<MuSquared> MuSquared::RoundDown(double value) {
  if (!IsCost(value)) return std::nullopt;
  return FromUnits(
      static_cast<Uint128>(std::floor(std::ldexp(value, kFractionBits))));
}

std::optional<MuSquared> MuSquared::FromUnitsText(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0'))
    return std::nullopt;
  Uint128 units = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    units = 10 * units + static_cast<Uint128>(digit - '0');
    if (units >= kLimit) return std::nullopt;
  }
  return FromUnits(units);
}

std::string MuSquared::UnitsText() const {
  std::string text;
  Uint128 rest = units_;
  do {
    text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

double MuSquared::ToDouble() const {
  return std::ldexp(static_cast<double>(units_), -kFractionBits);
}

double MuSquared::ToDoubleUp() const {
  double rounded = static_cast<double>(units_);
  // 2^128 itself does not fit the integer, and no cost lies above it.
  if (rounded < 0x1p128 && static_cast<Uint128>(rounded) < units_) {
    rounded = std::nextafter(rounded, HUGE_VAL);
  }
  return std::ldexp(rounded, -kFractionBits);
}

std::optional<MuSquared> MuSquared::Add(MuSquared a, MuSquared b) {
  if (a.units_ >= kLimit || b.units_ >= kLimit) return std::nullopt;
  return InRange(a.units_ + b.units_);
}

std::optional<MuSquared> MuSquared::Subtract(MuSquared a, MuSquared b) {
  if (a.units_ < b.units_) return std::nullopt;
  return InRange(a.units_ - b.units_);
}

std::optional<MuSquared> MuSquared::Multiply(MuSquared a, std::uint32_t count) {
  if (count != 0 && a.units_ > (kLimit - 1) / count) return std::nullopt;
  return FromUnits(a.units_ * count);
}

MuSquared MuSquared::Divide(MuSquared a, std::uint32_t count) {
  return FromUnits(a.units_ / count);
}

}  // namespace dpnmf
