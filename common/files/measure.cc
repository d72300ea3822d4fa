#include "common/files/measure.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/base/utf8.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

constexpr std::string_view kFractions[] = {
    "\xC2\xBC",     "\xC2\xBD",     "\xC2\xBE",
    "\xE2\x85\x93", "\xE2\x85\x94", "\xE2\x85\x9B",
    "\xE2\x85\x9C", "\xE2\x85\x9D", "\xE2\x85\x9E"};
// Marks of footnotes, and of groups that are open above.
constexpr std::string_view kMarks[] = {"*", "+", "\xE2\x80\xA0", "\xE2\x80\xA1",
                                       "\xC2\xA7"};
// Plus-minus, minus, hyphens and dashes, and what begins a second number.
constexpr std::string_view kErrors[] = {"\xC2\xB1", "+/-", "+-"};
constexpr std::string_view kDashes[] = {"-", "\xE2\x80\x90", "\xE2\x80\x91",
                                        "\xE2\x80\x93", "\xE2\x88\x92"};
constexpr std::string_view kUnits[] = {
    "kg",      "mg",        "ug",       "\xC2\xB5g", "\xCE\xBCg", "ng",
    "lb",      "lbs",       "oz",       "ml",        "dl",        "cl",
    "ul",      "cm",        "mm",       "km",        "ft",        "mmhg",
    "bpm",     "ms",        "sec",      "secs",      "second",    "seconds",
    "min",     "mins",      "minute",   "minutes",   "hr",        "hrs",
    "hour",    "hours",     "day",      "days",      "week",      "weeks",
    "month",   "months",    "year",     "years",     "yr",        "yrs",
    "mmol",    "iu",        "kcal",     "kb",        "mb",        "gb",
    "kwh",     "k",         "mio",      "mrd",       "bn",        "mln",
    "kr",      "z\xC5\x82", "pln",      "sek",       "nok",       "dkk",
    "tage",    "tag",       "jahre",    "jahr",      "wochen",    "monate",
    "stunden", "std",       "ans",      "jours",     "heures",    "mois",
    "stk",     "pcs",       "\302\260", "\302\260c", "\302\260f"};
// Only behind a blank: 16s and 3d are names.
constexpr std::string_view kShortUnits[] = {"g", "l", "h", "d", "s",
                                            "m", "t", "x", "u"};

template <std::size_t kCount>
std::string_view BeginOf(std::string_view text,
                         const std::string_view (&begins)[kCount]) {
  for (const std::string_view begin : begins)
    if (text.starts_with(begin)) return begin;
  return {};
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

std::string_view WithoutBlankEnds(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Takes a number without exponent from the front of *text; empty if there is
// none.
std::string_view TakeNumber(std::string_view* text) {
  std::size_t end = 0;
  while (end < text->size() &&
         (IsDigit((*text)[end]) ||
          (end > 0 && end + 1 < text->size() &&
           absl::StrContains(".,", (*text)[end]) && IsDigit((*text)[end + 1]))))
    ++end;
  const std::string_view number = text->substr(0, end);
  *text = WithoutBlankEnds(text->substr(end));
  return number;
}

// Digits, at most four of them: longer ones are of ids.
std::optional<int> ShortWhole(std::string_view number) {
  constexpr std::size_t kMostDigits = 4;
  int whole = 0;
  return number.size() <= kMostDigits && absl::SimpleAtoi(View(number), &whole)
             ? std::optional(whole)
             : std::nullopt;
}

// A unit, or one and another measure: kg, mg/dl, days 01:00, h 30 min.
bool IsUnit(std::string_view text, bool behind_blank) {
  const std::size_t end = text.find_first_of(" /");
  const std::string_view unit = text.substr(0, end);
  if (!absl::c_linear_search(kUnits, unit) &&
      !(behind_blank && absl::c_linear_search(kShortUnits, unit)))
    return false;
  if (end == std::string_view::npos || text[end] == '/') return true;
  text = WithoutBlankEnds(text.substr(end));
  return !TakeNumber(&text).empty();
}

// Whatever is behind a second number ends the measure.
bool IsEndOfMeasure(std::string_view text) {
  return text.empty() || IsUnit(text, true);
}

// 20-29, but not 2024-001 and 29-20, which are ids.
bool IsRange(std::string_view first, std::string_view second) {
  const auto low = ShortWhole(first), high = ShortWhole(second);
  return low.has_value() && high.has_value() && *low < *high &&
         (first == "0" || first[0] != '0') && second[0] != '0';
}

// [0, 10) and (0.0, 10.0], as pandas and R cut numbers.
bool IsInterval(std::string_view text) {
  if (text.size() < 2 || !absl::StrContains("([", text.front()) ||
      !absl::StrContains(")]", text.back()))
    return false;
  text = text.substr(1, text.size() - 2);
  if (text.starts_with('-')) text.remove_prefix(1);
  // A comma before a blank belongs to no number.
  if (TakeNumber(&text).empty()) return false;
  if (!text.starts_with(',') && !text.starts_with(';')) return false;
  text = WithoutBlankEnds(text.substr(1));
  return !TakeNumber(&text).empty() && text.empty();
}

// 1:30 and 1:30:00.
bool IsTimeOfDay(std::string_view hours, std::string_view rest) {
  if (!ShortWhole(hours).has_value()) return false;
  for (int parts = 0; parts < 2 && rest.starts_with(':'); ++parts) {
    rest.remove_prefix(1);
    const std::string_view part = TakeNumber(&rest);
    const std::string_view whole = part.substr(0, part.find_first_of(".,"));
    if (whole.size() != 2) return false;
  }
  return rest.empty();
}

}  // namespace

bool IsDate(std::string_view text) {
  std::array<std::size_t, 3> digits = {};
  char joint = '\0';
  std::size_t part = 0, i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (IsDigit(c)) {
      ++digits[part];
    } else if (part < 2 && absl::StrContains("-/.", c) &&
               (joint == '\0' || joint == c)) {
      joint = c;
      ++part;
    } else {
      break;
    }
  }
  const auto is_short = [](std::size_t count) {
    return count == 1 || count == 2;
  };
  if (part != 2 || !is_short(digits[1])) return false;
  if (!(digits[0] == 4 && is_short(digits[2])) &&
      !(digits[2] == 4 && is_short(digits[0])))
    return false;
  return i == text.size() || absl::StrContains("Tt ", text[i]);
}

bool IsMeasure(std::string_view text) {
  if (absl::c_linear_search(kFractions, text) || IsInterval(text)) return true;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = text;
  const std::string_view number = TakeNumber(&text);
  if (number.empty() || text.empty()) return false;
  const bool behind_blank = whole[number.size()] == ' ';
  if (absl::c_linear_search(kFractions, text) || IsUnit(text, behind_blank))
    return true;
  const std::string_view sign = text.substr(0, 1);
  std::string_view joint = BeginOf(text, kErrors);
  const bool is_error = !joint.empty();
  if (!is_error) joint = BeginOf(text, kDashes);
  const bool is_range = !is_error && !joint.empty();
  if (joint.empty()) joint = sign;
  std::string_view rest = WithoutBlankEnds(text.substr(joint.size()));
  const std::string_view second = TakeNumber(&rest);
  if (second.empty()) {
    while (!BeginOf(text, kMarks).empty())
      text.remove_prefix(BeginOf(text, kMarks).size());
    return text.empty();
  }
  if ((rest == "i" || rest == "j") && (sign == "+" || sign == "-")) return true;
  if (is_error) return IsEndOfMeasure(rest);
  if (is_range) return IsRange(number, second) && IsEndOfMeasure(rest);
  if (sign == "/")
    return ShortWhole(number).has_value() && ShortWhole(second).has_value() &&
           IsEndOfMeasure(rest);
  if (sign == ":") return IsTimeOfDay(number, text);
  return (sign == "(" && rest.ends_with(')')) ||
         (sign == "[" && rest.ends_with(']'));
}

std::string WithAsciiDigits(std::string_view text) {
  // First digits, by all bytes of UTF-8.
  constexpr std::string_view kZeros[] = {"\xD9\xA0",     "\xDB\xB0",
                                         "\xE0\xA5\xA6", "\xE0\xA7\xA6",
                                         "\xE0\xB9\x90", "\xEF\xBC\x90"};
  std::string ascii;
  const auto is_ascii = [](char c) {
    return absl::ascii_isascii(static_cast<unsigned char>(c));
  };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return std::string(text);
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(CharacterLength(text), 1);
    const std::string_view character = text.substr(0, length);
    text.remove_prefix(length);
    const auto zero = std::find_if(
        std::begin(kZeros), std::end(kZeros), [&](std::string_view digit) {
          const int value = character.back() - digit.back();
          return character.size() == digit.size() && value >= 0 && value < 10 &&
                 character.substr(0, length - 1) == digit.substr(0, length - 1);
        });
    if (zero == std::end(kZeros)) {
      ascii += character;
    } else {
      ascii += static_cast<char>('0' + (character.back() - zero->back()));
    }
  }
  return ascii;
}

}  // namespace dpnmf
