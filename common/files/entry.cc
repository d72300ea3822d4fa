#include "common/files/entry.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace dpnmf {
namespace {

// A number of the text, finite or not, or what is wrong with the text.
std::optional<EntryProblem> AnyNumber(std::string_view text, double* number) {
  text = TrimBlanks(text);
  if (text.empty()) {
    return EntryProblem{
        "input-not-a-number",
        "the field is empty; write 0 where nothing was observed"};
  }
  const std::optional<double> value = ParseNumber(text);
  if (!value.has_value()) {
    return EntryProblem{"input-not-a-number",
                        absl::StrCat(Quoted(text),
                                     " is not a number; write decimal "
                                     "numbers with a point")};
  }
  *number = *value;
  return std::nullopt;
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
  double value = 0;
  return ParseNumber(text, /*refuse_negative=*/false, &value).has_value()
             ? std::numeric_limits<float>::quiet_NaN()
             : static_cast<float>(value);
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

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const bool is_long = text.size() > kLongest;
  const std::string shown(text.substr(0, kLongest));
  return absl::StrCat("'", absl::CHexEscape(shown), is_long ? "..." : "", "'");
}

}  // namespace dpnmf
