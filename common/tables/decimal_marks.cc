#include "common/tables/decimal_marks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {

std::optional<std::string> CommaAsPoint(std::string_view number) {
  const std::size_t comma = number.find(',');
  if (comma == std::string_view::npos ||
      number.find('.') != std::string_view::npos)
    return std::nullopt;
  std::string text(number);
  text[comma] = '.';
  return IsNumber(text) ? std::optional(text) : std::nullopt;
}

void DecimalMarks::Seen::Note(std::string_view number, std::uint64_t of_line,
                              std::size_t of) {
  if (line == 0) {
    line = of_line;
    first = number;
  }
  if (of >= columns.size()) columns.resize(of + 1);
  Column& column = columns[of];
  // Only a first round number can still change the verdict.
  if (is_sure && column.has_others &&
      (column.round_line != 0 || !number.ends_with('0')))
    return;
  constexpr std::size_t kGroup = 3;
  const std::string_view digits =
      number.substr(std::min(number.find_first_not_of("+-"), number.size()));
  const std::size_t whole = digits.find_first_of(".,");
  const std::string_view decimals =
      digits.substr(std::min(whole + 1, digits.size()));
  const bool is_group =
      decimals.size() == kGroup && ParseWhole(decimals).has_value();
  if (is_group && whole >= 1 && whole <= kGroup && digits[0] != '0') {
    if (column.round_line == 0 && decimals.ends_with('0')) {
      column.round_line = of_line;
      column.round = number;
    }
    return;
  }
  is_sure = true;
  column.is_sure = true;
  column.has_others = column.has_others || !is_group;
  has_others = has_others || !is_group;
}

std::optional<EntryProblem> DecimalMarks::Parse(std::string_view field,
                                                std::uint64_t line,
                                                std::size_t column,
                                                bool refuse_negative,
                                                double* number) {
  const bool has_point = field.find('.') != std::string_view::npos;
  if (declared_ == ',' && has_point && IsNumber(field)) {
    return EntryProblem{
        "input-not-a-number",
        absl::StrCat(Quoted(field),
                     " has a point, and --decimal comma declares commas; "
                     "write the number without it")};
  }
  const std::optional<std::string> text = WithPoint(field);
  if (!text.has_value()) {
    auto problem = ParseNumber(field, refuse_negative, number);
    if (!problem.has_value()) {
      if (has_point) NoteNumber(field, line, column);
    } else if (field.find(',') != std::string_view::npos &&
               NotationOf(field) == Notation::kDecimalComma) {
      // 1.234,5 has both.
      if (takes_commas()) return NotANumber(field, Notation::kThousands);
      if (!declared_.has_value())
        absl::StrAppend(&problem->sentence, ", or give --decimal comma");
    }
    return problem;
  }
  commas_.Note(field, line, column);
  return ParseNumber(*text, refuse_negative, number);
}

std::optional<std::string> DecimalMarks::WithPoint(
    std::string_view field) const {
  return takes_commas() ? CommaAsPoint(field) : std::nullopt;
}

float DecimalMarks::AnyFloat(std::string_view field) const {
  const std::optional<std::string> text = WithPoint(field);
  return ParseAnyFloat(text.has_value() ? std::string_view(*text) : field);
}

absl::Status DecimalMarks::Verdict(const InputFile& input) const {
  if (declared_.has_value()) return absl::OkStatus();
  if (commas_.line != 0 && points_.line != 0) {
    return input.RefuseAt(
        "input-not-a-number", commas_.line, 0,
        absl::StrCat(Quoted(commas_.first),
                     " has a comma, and other entries have a decimal point; "
                     "write all numbers with a point, and without separators "
                     "of thousands"));
  }
  DPNMF_RETURN_IF_ERROR(CheckThousands(input, commas_, "comma"));
  return judges_points_ ? CheckThousands(input, points_, "point")
                        : absl::OkStatus();
}

absl::Status DecimalMarks::CheckThousands(const InputFile& input,
                                          const Seen& seen,
                                          std::string_view mark) const {
  const auto mixed =
      std::find_if(seen.columns.begin(), seen.columns.end(),
                   [&seen](const Seen::Column& column) {
                     return column.round_line != 0 && seen.has_others &&
                            (column.has_others || !column.is_sure);
                   });
  const bool is_mixed = mixed != seen.columns.end();
  if (seen.line == 0 || (seen.is_sure && !is_mixed)) return absl::OkStatus();
  return input.RefuseAt(
      "input-ambiguous", is_mixed ? mixed->round_line : seen.line, 0,
      absl::StrCat("the ", View(mark), " of ",
                   Quoted(is_mixed ? mixed->round : seen.first),
                   " could be a decimal mark or separate thousands; give "
                   "--decimal ",
                   View(mark), ", or write the number without it"));
}

}  // namespace dpnmf
