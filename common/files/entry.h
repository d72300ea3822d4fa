// One entry of V: what a number in a file may be.
#ifndef DPNMF_COMMON_FILES_ENTRY_H_
#define DPNMF_COMMON_FILES_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpnmf {

// Why a text or a number is no entry, as a refusal says it.
struct EntryProblem {
  std::string_view code;
  std::string sentence;
};

// The number nearest to `value` that V can hold (float). A problem if it is
// NaN, infinite, negative or above the largest float. -0 becomes 0.
std::optional<EntryProblem> ToEntry(double value, float* entry);

// The same in double precision, for tables that are no V: negative numbers are
// entries unless they are refused. -0 becomes 0.
std::optional<EntryProblem> ToNumber(double value, bool refuse_negative,
                                     double* entry);

// ToEntry from decimal text such as 12, +1.5, 3e-7. Blanks around it are
// ignored. A number too small for a double is 0.
std::optional<EntryProblem> ParseEntry(std::string_view text, float* entry);

// ToNumber from decimal text.
std::optional<EntryProblem> ParseNumber(std::string_view text,
                                        bool refuse_negative, double* entry);

// The whole of `text` as a double, finite or not; what is out of range becomes
// the nearest double, of the same side of 0. Nothing if it is no number.
std::optional<double> ParseNumber(std::string_view text);

// Returns whether the text is a number, finite or not.
bool IsNumber(std::string_view text);

// A number of any sign, as ParseEntry rounds it; NaN if it is none, or larger
// than a float.
float ParseAnyFloat(std::string_view text);

// A whole number in [0, 2^63), without sign.
std::optional<std::uint64_t> ParseWhole(std::string_view text);

std::string_view TrimBlanks(std::string_view text);

// The text in quotes for a message: shortened, control characters escaped.
std::string Quoted(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_ENTRY_H_
