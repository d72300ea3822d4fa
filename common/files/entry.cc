#include "common/files/entry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/measure.h"

namespace dpnmf {
namespace {

// A number of the text, finite or not, or what is wrong with the text.
std::optional<EntryProblem> AnyNumber(std::string_view text, double* number) {
  text = TrimBlanks(text);
  const std::optional<double> value = ParseNumber(text);
  if (!value.has_value()) return NotANumber(text, NotationOf(text));
  *number = *value;
  return std::nullopt;
}

// ---- Notations

constexpr std::string_view kMissingCodes[] = {
    "na",           "n/a",          "n.a.",    "<na>",   "#n/a",    "null",
    "nil",          "none",         ".",       "..",     "...",     "-",
    "--",           "---",          "?",       "*",      "\\n",     "#na",
    "\xE2\x80\x93", "\xE2\x80\x94", "missing", "#null!", "#div/0!", "#value!",
    "#ref!",        "#name?",       "#num!",   "nd",     "n.d.",    "nr",
    "bdl",          "bld",          "<lod",    "nat",    "(null)",  "*null*",
    "unknown",      "1.#qnan",      "-1.#ind", ":"};
constexpr std::string_view kTruths[] = {"true", "false",  "yes",  "no",
                                        "wahr", "falsch", "vrai", "faux"};
// No-break space, figure space, thin space, narrow no-break space, ideographic
// space, and signs that nobody sees: zero-width space, word joiner, byte order
// mark, control characters that end lines or pages.
constexpr std::string_view kOtherBlanks[] = {"\xC2\xA0",
                                             "\xE2\x80\x87",
                                             "\xE2\x80\x89",
                                             "\xE2\x80\xAF",
                                             "\xE3\x80\x80",
                                             "\xE2\x80\x8B",
                                             "\xE2\x81\xA0",
                                             "\xEF\xBB\xBF",
                                             "\r",
                                             "\n",
                                             "\v",
                                             "\f",
                                             std::string_view("\0", 1)};
std::string WithPlainBlanks(std::string text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7F'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  for (const std::string_view blank : kOtherBlanks)
    if (text.find(blank) != std::string::npos)
      text = absl::StrReplaceAll(text, {{View(blank), " "}});
  return text;
}

constexpr std::string_view kBounds[] = {
    "<=", ">=", "<", ">", "~", "\xE2\x89\xA4", "\xE2\x89\xA5", "\xE2\x89\x88"};
// Dollar, euro, pound, yen, cent, rupee, and codes.
constexpr std::string_view kCurrencies[] = {
    "$",   "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5", "\xC2\xA2", "\xE2\x82\xB9",
    "eur", "usd",          "gbp",      "chf",      "jpy",      "us$"};
constexpr std::string_view kPercents[] = {"%", "\xE2\x80\xB0"};
// Quotes, an accent, right quotes, brackets, and the minus of typesetters.
constexpr std::string_view kSigns[] = {
    "'", "\"", "`", "\xE2\x80\x99", "\xE2\x80\x9C", "\xE2\x80\x9D",
    "(", ")",  ",", "\xE2\x88\x92"};

// Removes one of the texts at either end of *text, and blanks there.
template <std::size_t kCount>
bool Strip(const std::string_view (&ends)[kCount], std::string_view* text) {
  for (const std::string_view end : ends) {
    if (text->size() <= end.size()) continue;
    if (text->starts_with(end)) {
      *text = TrimBlanks(text->substr(end.size()));
      return true;
    }
    if (text->ends_with(end)) {
      *text = TrimBlanks(text->substr(0, text->size() - end.size()));
      return true;
    }
  }
  return false;
}

// Digits in groups of three, the first of one to three, between separators.
bool AreGroups(std::string_view digits, std::string_view separators) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end =
        std::min(digits.find_first_of(separators, begin), digits.size());
    const std::size_t length = end - begin;
    if (begin == 0 ? length < 1 || length > 3 : length != 3) return false;
    if (end == digits.size()) return true;
    begin = end + 1;
  }
}

// Numbers of programs: 1_234, 0x1F, 1234-, 1D+03 and ="12".
bool IsNumberOfPrograms(std::string_view text) {
  if (text.starts_with("=\"") && text.ends_with('"') && text.size() > 3)
    return ParseNumber(text.substr(2, text.size() - 3)).has_value();
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text[0])))
    return false;
  if (text.starts_with("0x"))
    return text.size() > 2 &&
           text.find_first_not_of("0123456789abcdef", 2) == text.npos;
  if (text.ends_with('-'))
    return ParseNumber(text.substr(0, text.size() - 1)).has_value();
  const std::size_t exponent = text.find('d');
  // 12d3 may be a name.
  if (exponent != text.npos &&
      text.find_first_of("+-.") != std::string_view::npos) {
    std::string number(text);
    number[exponent] = 'e';
    return ParseNumber(number).has_value();
  }
  return text.find('_') != text.npos &&
         text.find_first_not_of("0123456789_") == text.npos &&
         AreGroups(text, "_");
}

// "p12": what begins with a letter is no number but behind a currency.
bool IsWordWithDigit(std::string_view text) {
  if (!absl::ascii_isalpha(static_cast<unsigned char>(text[0])) ||
      text.find_first_of("0123456789") == std::string_view::npos)
    return false;
  const std::string begin = absl::AsciiStrToLower(View(text.substr(0, 3)));
  return !absl::c_linear_search(kCurrencies, begin);
}

// The notation of digits, points, commas, apostrophes and blanks, with a sign
// and an exponent perhaps.
Notation NotationOfDigits(std::string_view text) {
  if (ParseNumber(text).has_value()) return Notation::kNumber;
  if (text[0] == '+' || text[0] == '-') text.remove_prefix(1);
  if (text.find_first_of(" '") != std::string_view::npos) {
    return text.find(' ') != std::string_view::npos ? Notation::kBlanks
                                                    : Notation::kThousands;
  }
  const auto commas = std::count(text.begin(), text.end(), ',');
  const std::size_t comma = text.rfind(','), point = text.rfind('.');
  if (commas == 0) {  // more than one point
    return AreGroups(text, ".") ? Notation::kThousands : Notation::kWord;
  }
  if (point != std::string_view::npos) {
    return point > comma ? Notation::kThousands : Notation::kDecimalComma;
  }
  if (!AreGroups(text, ","))
    return commas == 1 ? Notation::kDecimalComma : Notation::kThousands;
  // 0,125 is no number of thousands.
  if (commas > 1) return Notation::kThousands;
  return text.starts_with('0') ? Notation::kDecimalComma : Notation::kComma;
}

bool HasOnlyDigitsAndMarks(std::string_view text) {
  const std::size_t exponent = text.find_last_of("eE");
  if (exponent != std::string_view::npos && exponent > 0) {
    std::string_view power = text.substr(exponent + 1);
    if (!power.empty() && (power[0] == '+' || power[0] == '-'))
      power.remove_prefix(1);
    if (power.empty() ||
        power.find_first_not_of("0123456789") != std::string_view::npos)
      return false;
    text = text.substr(0, exponent);
  }
  const std::size_t sign = text.find_last_of("+-");
  return text.find_first_of("0123456789") != std::string_view::npos &&
         text.find_first_not_of("0123456789.,' +-") == std::string_view::npos &&
         (sign == std::string_view::npos || sign == 0);
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '-') return std::nullopt;
  }
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  double value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // Out of range: std says only that; absl says on which side.
  absl::from_chars(begin, end, value);
  using Limits = std::numeric_limits<double>;
  if (std::abs(value) < 1)
    return std::signbit(value) ? -Limits::denorm_min() : 0.0;
  return std::copysign(Limits::max(), value);
}

std::optional<EntryProblem> ToEntry(double value, float* entry) {
  if (std::isnan(value)) {
    return EntryProblem{"input-not-finite",
                        "the entry is not a number (NaN); give a number, "
                        "0 where nothing was observed"};
  }
  if (std::isinf(value)) {
    return EntryProblem{"input-not-finite",
                        "the entry is infinite; give a finite number"};
  }
  if (!(value >= 0)) {
    return EntryProblem{
        "input-negative",
        absl::StrCat("the entry ", value,
                     " is negative; entries must be 0 or more")};
  }
  if (!(value <= std::numeric_limits<float>::max())) {
    return EntryProblem{"input-not-finite",
                        "the entry is above 3.4e38; rescale the data"};
  }
  *entry = static_cast<float>(value) + 0.0f;  // -0 + 0 = 0
  return std::nullopt;
}

std::optional<EntryProblem> ToNumber(double value, bool refuse_negative,
                                     double* entry) {
  float ignored = 0;
  auto problem = ToEntry(refuse_negative ? value : std::abs(value), &ignored);
  if (!problem.has_value()) *entry = value + 0.0;  // -0 + 0 = 0
  return problem;
}

std::optional<EntryProblem> ParseEntry(std::string_view text, float* entry) {
  double value = 0;
  auto problem = AnyNumber(text, &value);
  return problem.has_value() ? problem : ToEntry(value, entry);
}

std::optional<EntryProblem> ParseNumber(std::string_view text,
                                        bool refuse_negative, double* entry) {
  double value = 0;
  auto problem = AnyNumber(text, &value);
  return problem.has_value() ? problem
                             : ToNumber(value, refuse_negative, entry);
}

float ParseAnyFloat(std::string_view text) {
  const std::optional<double> value = ParseNumber(TrimBlanks(text));
  double entry = 0;
  if (!value.has_value() || ToNumber(*value, /*refuse_negative=*/false, &entry))
    return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(entry);
}

bool IsNumber(std::string_view text) {
  return ParseNumber(TrimBlanks(text)).has_value();
}

std::optional<std::uint64_t> ParseWhole(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error != std::errc() || value >> 63 != 0)
    return std::nullopt;
  return value;
}

std::string_view TrimBlanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string WithoutBlanks(std::string_view text) {
  return std::string(TrimBlanks(WithPlainBlanks(std::string(text))));
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string shown;
  std::size_t at = 0;
  while (at < text.size() && at < kLongest) {
    const std::size_t length =
        std::max<std::size_t>(CharacterLength(text.substr(at)), 1);
    const std::string_view character = text.substr(at, length);
    const bool plain = IsPlainText(character) && character != "'" &&
                       character != "\"" && character != "\\";
    shown += plain ? std::string(character)
                   : absl::CHexEscape(std::string(character));
    at += length;
  }
  return absl::StrCat("'", shown, at < text.size() ? "..." : "", "'");
}

Notation NotationOf(std::string_view text) {
  text = TrimBlanks(text);
  if (text.empty()) return Notation::kEmpty;
  if (ParseNumber(text).has_value()) {
    return absl::ascii_isalpha(static_cast<unsigned char>(text[0]))
               ? Notation::kNotFinite
               : Notation::kNumber;
  }
  if (IsWordWithDigit(text)) return Notation::kWord;
  std::string bare = WithAsciiDigits(text);
  const bool has_other_digits = bare != text;
  bare = WithPlainBlanks(std::move(bare));
  // A right quote between digits is an apostrophe.
  bare = absl::StrReplaceAll(bare, {{"\xE2\x80\x99", "'"}});
  absl::AsciiStrToLower(&bare);
  std::string_view rest = TrimBlanks(bare);
  if (rest.empty()) return Notation::kEmpty;
  if (ParseNumber(rest).has_value())
    return has_other_digits ? Notation::kQuoted : Notation::kBlanks;
  if (absl::c_linear_search(kMissingCodes, rest)) return Notation::kMissing;
  if (absl::c_linear_search(kTruths, rest)) return Notation::kTruth;
  if (IsNumberOfPrograms(rest)) return Notation::kQuoted;
  if (IsDate(rest)) return Notation::kDate;
  if (IsMeasure(rest)) return Notation::kMeasure;
  Notation around = Notation::kNumber;
  while (!HasOnlyDigitsAndMarks(rest) || rest.starts_with('\'')) {
    if (Strip(kPercents, &rest)) {
      around = Notation::kPercent;
    } else if (Strip(kCurrencies, &rest)) {
      around = Notation::kCurrency;
    } else if (Strip(kBounds, &rest)) {
      around = Notation::kBound;
    } else if (Strip(kSigns, &rest)) {
      if (around == Notation::kNumber) around = Notation::kQuoted;
    } else {
      return Notation::kWord;
    }
  }
  const Notation digits = NotationOfDigits(rest);
  return digits == Notation::kWord || around == Notation::kNumber ? digits
                                                                  : around;
}

bool HasNumber(Notation notation) {
  switch (notation) {
    case Notation::kNotFinite:
    case Notation::kEmpty:
    case Notation::kMissing:
    case Notation::kTruth:
    case Notation::kMeasure:
    case Notation::kDate:
    case Notation::kWord:
      return false;
    default:
      return true;
  }
}

bool IsText(Notation notation) {
  return notation == Notation::kWord || notation == Notation::kDate;
}

EntryProblem NotANumber(std::string_view text, Notation notation) {
  const std::string quoted = Quoted(TrimBlanks(text));
  const auto problem = [&quoted](const char* why) {
    return EntryProblem{"input-not-a-number", absl::StrCat(quoted, why)};
  };
  switch (notation) {
    case Notation::kEmpty:
      return {"input-not-a-number",
              "the field is empty; write 0 where nothing was observed"};
    case Notation::kMissing:
      return problem(
          " stands for a missing value; write 0 where nothing was observed");
    case Notation::kTruth:
      return problem(" is a truth value; write 1 or 0");
    case Notation::kDecimalComma:
      return problem(
          " has a decimal comma; write decimal numbers with a point");
    case Notation::kThousands:
      return problem(
          " has separators of thousands; write the number without them");
    case Notation::kComma:
      return problem(
          " is written with a comma; write the number without it, or with a "
          "point if the comma is a decimal mark");
    case Notation::kBlanks: {
      const bool is_other =
          std::any_of(std::begin(kOtherBlanks), std::end(kOtherBlanks),
                      [&](std::string_view blank) {
                        return text.find(blank) != std::string_view::npos;
                      });
      return problem(is_other ? " has a no-break space or another special "
                                "space; write the number without it"
                              : " has a blank inside; write the number "
                                "without it, or check the separator");
    }
    case Notation::kPercent:
      return problem(" is a percentage; write the number alone");
    case Notation::kCurrency:
      return problem(" has a sign of currency; write the number alone");
    case Notation::kBound:
      return problem(
          " is a bound and not a value; write a number, 0 where nothing was "
          "observed");
    case Notation::kQuoted:
      return problem(
          text.find_first_of("'\"`()=") != std::string_view::npos
              ? " has quotes or brackets around the number; write the number "
                "alone"
              : " is a number in another notation; write it in decimal digits, "
                "with a point");
    case Notation::kMeasure:
      return problem(
          " has a unit, or is a range, a ratio, a time or two numbers; write "
          "one number alone");
    case Notation::kDate:
      return problem(" is a date and no number; leave it out");
    default:
      return problem(" is not a number; write decimal numbers with a point");
  }
}

}  // namespace dpnmf
