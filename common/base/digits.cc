#include "common/base/digits.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_format.h"

namespace dpnmf {
namespace {

// `value` cut to its first `digits` decimal digits, plus one unit of the last
// of them if `up` and something was cut off. The digits are those of the
// shortest text that reads back as `value`, so that 0.1 stays 0.1.
double CutDigits(double value, int digits, bool up) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 std::chars_format::scientific);
  const std::string_view whole(text, static_cast<std::size_t>(end.ptr - text));
  const std::size_t e = whole.find('e');
  // "d.ddd": the point takes one place.
  const std::size_t keep = static_cast<std::size_t>(digits) + 1;
  if (e == std::string_view::npos || e <= keep) return value;
  std::string mantissa(whole.substr(0, keep));
  const std::string exponent(whole.substr(e));
  if (up) {
    // One unit of the last digit kept; a carry out of the front is harmless.
    const double unit = std::pow(10.0, 1 - digits);
    mantissa =
        absl::StrFormat("%.*f", digits - 1, std::atof(mantissa.c_str()) + unit);
  }
  return std::strtod((mantissa + exponent).c_str(), nullptr);
}

std::string Format(double value, int digits, bool away_from_zero) {
  if (!std::isfinite(value)) return absl::StrFormat("%g", value);
  const double size = CutDigits(std::fabs(value), digits, away_from_zero);
  return absl::StrFormat("%.*g", digits, std::copysign(size, value) + 0.0);
}

}  // namespace

std::string FormatNumber(double value, int digits) {
  return absl::StrFormat("%.*g", digits, value + 0.0);
}

std::string FormatUp(double value, int digits) {
  return Format(value, digits, value > 0);
}

std::string FormatDown(double value, int digits) {
  return Format(value, digits, value < 0);
}

void AppendShortest(double value, std::string* text) {
  char digits[32];
  text->append(digits,
               std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace dpnmf
