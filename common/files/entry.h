// One entry of V: what a number in a file may be.
#ifndef DPNMF_COMMON_FILES_ENTRY_H_
#define DPNMF_COMMON_FILES_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpnmf {

// Rows, columns, features and users are at most this many.
inline constexpr std::uint64_t kLargestExtent = 100'000'000;

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

// Notation of a field, whoever wrote it.
enum class Notation {
  kNumber,        // as ParseNumber reads it; -inf too
  kNotFinite,     // the words nan, inf, infinity
  kEmpty,         // nothing, or blanks
  kMissing,       // a code for a missing value: NA, null, ., -, ?, #N/A
  kTruth,         // true, no
  kDecimalComma,  // 1,5 and 1.234,5
  kThousands,     // 1.234.567, 1,234.5 and 1'234
  kComma,         // 1,234: thousands, or a decimal comma
  kBlanks,        // 1 234, with any blank
  kPercent,       // 12%
  kCurrency,      // $12, 12 EUR
  kBound,         // <0.5, ~3
  kQuoted,        // '12, 0x1F and other numbers with signs around them
  kMeasure,       // 12 kg, 20-29, 1:30 (measure.h)
  kDate,          // 2024-01-31
  kWord,
};
Notation NotationOf(std::string_view text);

// Returns whether it is a number, in whatever notation.
bool HasNumber(Notation notation);

// Returns whether it could be a name: a word, or a date.
bool IsText(Notation notation);

// Why a field of this notation, which is not kNumber, is no number.
EntryProblem NotANumber(std::string_view text, Notation notation);

// A number of any sign, as ParseEntry rounds it; NaN if it is none, or larger
// than a float.
float ParseAnyFloat(std::string_view text);

// A whole number in [0, 2^63), without sign.
std::optional<std::uint64_t> ParseWhole(std::string_view text);

std::string_view TrimBlanks(std::string_view text);

// The text without blanks, of any kind, and signs that nobody sees at its ends.
std::string WithoutBlanks(std::string_view text);

// The text in quotes for a message: shortened, with control characters and
// bytes that are not UTF-8 escaped.
std::string Quoted(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_ENTRY_H_
