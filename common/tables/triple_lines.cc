#include "common/tables/triple_lines.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/measure.h"
#include "common/tables/decimal_marks.h"
#include "common/tables/names/header_words.h"
#include "common/tables/separator.h"

namespace dpnmf {
namespace {

constexpr char kDoubleColon = ':';

std::string SeparatorsOf(char separator) {
  return separator == kDoubleColon
             ? "`::`"
             : absl::StrCat(NameOfSeparator(separator), "s");
}

// A number of seconds (or of parts of them) since 1970 that is after 1973, or a
// day as 20240131.
bool IsTimeNumber(std::string_view text) {
  constexpr double kYear1973 = 1e8, kLatest = 1e19;
  const auto number = ParseNumber(text);
  if (!number.has_value()) return false;
  if (*number >= kYear1973 && *number < kLatest) return true;
  const auto day = ParseWhole(text);
  if (!day.has_value() || text.size() != 8) return false;
  const std::uint64_t year = *day / 10000, month = *day / 100 % 100;
  return year >= 1900 && year <= 2100 && month >= 1 && month <= 12 &&
         *day % 100 >= 1 && *day % 100 <= 31;
}

bool IsTriple(const std::vector<std::string_view>& fields) {
  return fields.size() == 3 || fields.size() == 4;
}

}  // namespace

// SplitFields, where kDoubleColon stands for "::".
bool TripleLines::SplitLine(std::string_view line, char separator) {
  line_ = line;
  if (separator != kDoubleColon) return SplitFields(line, separator, &fields_);
  fields_.clear();
  while (true) {
    const std::size_t end = line.find("::");
    fields_.push_back(TrimBlanks(line.substr(0, end)));
    if (end == std::string_view::npos) return true;
    line.remove_prefix(end + 2);
  }
}

bool TripleLines::IsAbove(std::string_view line) {
  if (IsBlank(line, kBlanks)) return true;
  if (!line.starts_with("# ")) return false;
  ++comments_;
  return true;
}

absl::Status TripleLines::Begin(std::string_view line) {
  for (const char separator : {'\t', kDoubleColon, ';', ',', '|', kBlanks}) {
    if (!SplitLine(line, separator) || !IsTriple(fields_)) continue;
    separator_ = separator;
    return absl::OkStatus();
  }
  return input_.Refuse(
      "input-ragged", 0,
      absl::StrCat("the line is not a triple; write user, item, ", View(what_),
                   " and optionally a time, with commas between them and a "
                   "point in decimal numbers"));
}

absl::Status TripleLines::TakeHeader() {
  header_ = absl::StrJoin(
      fields_, ", ", [](std::string* out, auto field) { out->append(field); });
  header_fields_ = fields_.size();
  const std::string second = absl::AsciiStrToLower(View(fields_[1]));
  const std::string first = absl::AsciiStrToLower(View(fields_[0]));
  if (absl::StrContains(second, "user") && !absl::StrContains(first, "user")) {
    return input_.Refuse("input-malformed", 2,
                         absl::StrCat("the header names ", Quoted(fields_[0]),
                                      " before ", Quoted(fields_[1]),
                                      "; write the user first, then the item"));
  }
  if (fields_.size() == 3 || fields_[3].empty()) return absl::OkStatus();
  declares_time_ = IsHeaderOfTimes(fields_[3]);
  if (declares_time_) return absl::OkStatus();
  return input_.Refuse(
      "input-malformed", 4,
      absl::StrCat("the fourth column is called ", Quoted(fields_[3]),
                   ", and only a time may stand there: remove the column, or "
                   "call it `time` if it is one"));
}

absl::Status TripleLines::Split(std::string_view line) {
  refused_time_ = false;
  if (!SplitLine(line, separator_)) {
    return input_.Refuse("input-malformed", fields_.size() + 1,
                         "a quoted field must end with a quote before the "
                         "separator, and on its line; correct or remove the "
                         "quotes");
  }
  if (!IsTriple(fields_)) return RefuseRagged();
  for (const std::size_t i : {0, 1}) {
    if (fields_[i].empty()) {
      return input_.Refuse("input-malformed", i + 1,
                           "the field is empty; write a user and an item");
    }
  }
  return fields_.size() == 4 ? CheckTime() : absl::OkStatus();
}

absl::Status TripleLines::RefuseRagged() const {
  return input_.Refuse(
      "input-ragged", std::min<std::size_t>(fields_.size() + 1, 5),
      absl::StrCat("the line has ", fields_.size(),
                   " fields; write user, item and ", View(what_),
                   fields_.size() > 4 && separator_ == ','
                       ? ", with a point in decimal numbers"
                       : ""));
}

absl::Status TripleLines::CheckTime() {
  const std::string_view time = fields_[3];
  if (time.empty()) return absl::OkStatus();
  has_times_ = true;
  if (declares_time_) return absl::OkStatus();
  if (header_fields_ != 3 && (IsTimeNumber(time) || IsDate(time)))
    return absl::OkStatus();
  refused_time_ = true;
  const auto is_whole = [](std::string_view text) {
    return ParseWhole(text).has_value();
  };
  const bool is_decimal =
      separator_ == ',' && is_whole(time) && IsNumber(fields_[2]);
  return input_.Refuse(
      "input-malformed", 4,
      absl::StrCat(
          "the fourth field ", Quoted(time),
          header_fields_ == 3 ? " is not in the header"
                              : " is no time (seconds since 1970 or a date)",
          is_decimal ? absl::StrCat(": if ", std::string(fields_[2]), ",",
                                    std::string(time), " is one ", View(what_),
                                    " with a decimal comma, write a point")
                     : "",
          "; remove the field, or call it `time` in a first line `user,item,",
          View(what_), ",time` if it is one"));
}

std::string TripleLines::Text(std::size_t field) const {
  return FieldText(line_, fields_[field]);
}

absl::StatusOr<std::string_view> TripleLines::Number() {
  const std::string_view text = fields_[2];
  const bool has_point = text.find('.') != std::string_view::npos;
  if (has_point && point_line_ == 0) point_line_ = input_.line_number();
  const bool has_comma = text.find(',') != std::string_view::npos;
  const Notation notation = has_comma ? NotationOf(text) : Notation::kNumber;
  if (notation == Notation::kComma) {
    return input_.Refuse(
        "input-ambiguous", 3,
        absl::StrCat("the ", View(what_), " ", Quoted(text),
                     " is a thousand or has a decimal comma; write decimal "
                     "numbers with a point, and no separator of thousands"));
  }
  const std::optional<std::string> number =
      notation == Notation::kDecimalComma ? CommaAsPoint(text) : std::nullopt;
  if (number.has_value() && comma_line_ == 0) {
    comma_line_ = input_.line_number();
    comma_text_ = std::string(text);
  }
  if (point_line_ != 0 && comma_line_ != 0 && (has_point || number)) {
    return input_.Refuse(
        "input-ambiguous", 3,
        absl::StrCat("the ", View(what_), " ", Quoted(text), " has a ",
                     has_point ? "point" : "comma", ", and that of line ",
                     has_point ? comma_line_ : point_line_, " a ",
                     has_point ? "comma" : "point",
                     "; write decimal numbers with a point"));
  }
  if (!number.has_value()) return text;
  number_ = *number;
  return number_;
}

std::string TripleLines::Summary(bool times_are_read) const {
  std::string summary;
  if (comments_ > 0)
    absl::StrAppend(&summary, "; lines left out as comments: ", comments_);
  if (!header_.empty()) {
    absl::StrAppend(&summary, "; the first line is a header (",
                    IsPlainText(header_) ? header_ : Quoted(header_), ")");
  }
  if (comma_line_ > 0) {
    absl::StrAppend(&summary, "; decimal commas are read (line ", comma_line_,
                    ": ", comma_text_, ")");
  }
  if (has_times_ && !times_are_read)
    absl::StrAppend(&summary, "; the fourth field, a time, is not read");
  if (summary.empty()) return summary;
  return absl::StrCat("Fields are separated by ", SeparatorsOf(separator_),
                      summary);
}

}  // namespace dpnmf
