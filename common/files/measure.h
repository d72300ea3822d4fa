// Texts that begin with a number and are no number: measures and dates.
#ifndef DPNMF_COMMON_FILES_MEASURE_H_
#define DPNMF_COMMON_FILES_MEASURE_H_

#include <string>
#include <string_view>

namespace dpnmf {

// Returns whether the text is a date: 2024-01-31, 31.1.2024 or 1/31/2024, each
// perhaps with a time of day behind it.
bool IsDate(std::string_view text);

// Returns whether the text, in lower case, is a quantity but not one plain
// number: with a unit (12 kg, 5mg, 2 h 30 min), a range (20-29, 65+), a ratio
// (1/2), a time (1:30), an interval ([0, 10)), with an error or a count behind
// it (3±1, 3 (7 %)), with the mark of a footnote (3*), complex, or with a
// fraction as one character.
bool IsMeasure(std::string_view text);

// The text with digits of other scripts (Arabic, Devanagari, full width ...) as
// those of ASCII.
std::string WithAsciiDigits(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_MEASURE_H_
