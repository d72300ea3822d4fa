// Numbers for people: a few significant digits, rounded to a stated side.
#ifndef DPNMF_COMMON_BASE_DIGITS_H_
#define DPNMF_COMMON_BASE_DIGITS_H_

#include <string>

namespace dpnmf {

inline constexpr int kShownDigits = 4;

// `digits` significant digits as %g prints them: "0.01234", "1.235e-05", "12".
// digits in [1, 17]. Infinity is "inf", NaN "nan". Thread-safe.
//
// The nearest such number.
std::string FormatNumber(double value, int digits = kShownDigits);
// The least one that is not below `value`: for what is spent or promised.
std::string FormatUp(double value, int digits = kShownDigits);
// The greatest one that is not above `value`: for what may still be asked for.
std::string FormatDown(double value, int digits = kShownDigits);

// For files: the shortest text that reads back as the same number.
void AppendShortest(double value, std::string* text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_DIGITS_H_
