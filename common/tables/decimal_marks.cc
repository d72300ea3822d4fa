#include "common/tables/decimal_marks.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {

std::optional<EntryProblem> DecimalMarks::Parse(std::string_view field,
                                                std::uint64_t line,
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
      has_points_ = has_points_ || has_point;
    } else if (field.find(',') != std::string_view::npos &&
               NotationOf(field) == Notation::kDecimalComma) {
      // 1.234,5 has both.
      if (takes_commas()) return NotANumber(field, Notation::kThousands);
      if (!declared_.has_value())
        absl::StrAppend(&problem->sentence, ", or give --decimal comma");
    }
    return problem;
  }
  if (!IsNumber(*text)) return ParseNumber(field, refuse_negative, number);
  if (first_line_ == 0) {
    first_line_ = line;
    first_ = field;
  }
  has_sure_commas_ =
      has_sure_commas_ || NotationOf(field) == Notation::kDecimalComma;
  return ParseNumber(*text, refuse_negative, number);
}

std::optional<std::string> DecimalMarks::WithPoint(
    std::string_view field) const {
  const std::size_t comma = field.find(',');
  if (!takes_commas() || comma == std::string_view::npos ||
      field.find('.') != std::string_view::npos)
    return std::nullopt;
  std::string text(field);
  text[comma] = '.';
  return text;
}

float DecimalMarks::AnyFloat(std::string_view field) const {
  const std::optional<std::string> text = WithPoint(field);
  return ParseAnyFloat(text.has_value() ? std::string_view(*text) : field);
}

absl::Status DecimalMarks::Verdict(const InputFile& input) const {
  if (!commas_were_seen()) return absl::OkStatus();
  if (has_points_) {
    return input.RefuseAt(
        "input-not-a-number", first_line_, 0,
        absl::StrCat(Quoted(first_),
                     " has a comma, and other entries have a decimal point; "
                     "write all numbers with a point, and without separators "
                     "of thousands"));
  }
  if (has_sure_commas_) return absl::OkStatus();
  return input.RefuseAt(
      "input-ambiguous", first_line_, 0,
      absl::StrCat("the comma of ", Quoted(first_),
                   " could be a decimal mark or separate thousands; give "
                   "--decimal comma, or write the number without it"));
}

}  // namespace dpnmf
