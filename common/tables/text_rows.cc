#include "common/tables/text_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/tables/separator.h"

namespace dpnmf {
namespace {

// A quoted field has at most so many lines: a quote that nothing closes would
// take the rest of the file.
constexpr int kMostLinesOfRow = 100;
constexpr std::size_t kLongestRowOfLines = std::size_t{1} << 20;

bool IsAnyNumber(std::string_view field) {
  return HasNumber(NotationOf(field));
}

}  // namespace

TextRows::TextRows(InputFile* input, char usual_separator,
                   const LoadOptions& options, bool users_are_rows,
                   RefusedLines* refused)
    : input_(*input),
      options_(options),
      users_are_rows_(users_are_rows),
      refused_(*refused),
      separator_(usual_separator) {
  if (options.class_column.has_value()) {
    places_.push_back(
        {*options.class_column, "--class-column", "class-column-out-of-range"});
  } else if (options.table != nullptr) {
    places_ = options.table->kept;
  }
  texts_.resize(places_.size());
  kept_.resize(places_.size());
}

absl::Status TextRows::Begin() {
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                         input_.Peek(kBeginning));
  const auto declared =
      DeclaredSeparator(beginning.substr(0, beginning.find_first_of("\r\n")));
  const std::vector<std::string_view> lines = FirstLines(beginning);
  if (lines.size() > 1) second_line_ = lines[1];
  if (!options_.delimiter.has_value()) {
    const char usual = separator_;
    separator_ = SeparatorOf(beginning, usual);
    if (separator_ != usual && options_.note) {
      options_.note(absl::StrCat("Fields are separated as by --delimiter ",
                                 NameOfSeparator(separator_)));
    }
  }
  std::string_view line;
  return declared.has_value() ? input_.ReadLine(&line).status()
                              : absl::OkStatus();
}

absl::StatusOr<bool> TextRows::NextLine(std::string_view* line) {
  std::uint64_t empty_line = 0;
  while (true) {
    DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(line));
    if (!more) return false;
    line_number_ = input_.line_number();
    if (IsBlank(*line, separator_)) {
      if (empty_line == 0 && begun_) empty_line = line_number_;
      continue;
    }
    if (!IsComment(*line)) break;
    ++comment_lines_;
    if (begun_) continue;
    comment_ = *line;
    comment_line_ = line_number_;
  }
  if (empty_line != 0) {
    refused_.Note(
        input_.RefuseAt("input-ragged", empty_line, 1,
                        "the line is empty; remove it or write its numbers"));
  }
  begun_ = true;
  return true;
}

absl::StatusOr<bool> TextRows::TakeRow(std::string_view line) {
  DPNMF_ASSIGN_OR_RETURN(const bool is_split, Split(line));
  if (!is_split) {
    absl::Status malformed =
        Refuse("input-malformed", fields_.size() + 1,
               "a quoted field must end with a quote before the separator; "
               "correct or remove the quotes");
    if (width_ == 0) return malformed;  // the layout is not known yet
    refused_.Note(std::move(malformed));
    return false;
  }
  if (IsKeptLine()) return false;
  const bool is_first = first_row_.empty();
  if (is_first) {
    for (const std::string_view field : fields_)
      first_row_.push_back(FieldText(line_, field));
  }
  // R's header may end before the class.
  first_row_lacks_class_ =
      is_first && options_.class_column.has_value() &&
      static_cast<std::size_t>(*options_.class_column) == fields_.size() + 1 &&
      options_.header.value_or(
          std::none_of(fields_.begin(), fields_.end(), IsAnyNumber));
  if (!first_row_lacks_class_) DPNMF_RETURN_IF_ERROR(TakeTexts());
  return true;
}

// A field in quotes may go on in further lines.
absl::StatusOr<bool> TextRows::Split(std::string_view line) {
  line_ = line;
  if (SplitFields(line_, separator_, &fields_)) return true;
  if (!HasOpenQuote(line_, separator_)) return false;
  joined_ = line;
  line_ = joined_;
  for (int i = 1; i < kMostLinesOfRow; ++i) {
    std::string_view next;
    DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&next));
    if (!more) break;
    absl::StrAppend(&joined_, "\n", View(next));
    line_ = joined_;
    if (joined_.size() > kLongestRowOfLines) break;
    if (next.find('"') == std::string_view::npos) continue;
    if (SplitFields(line_, separator_, &fields_))
      return std::none_of(
          fields_.begin(), fields_.end(),
          [this](std::string_view field) { return HoldsRows(field); });
    if (!HasOpenQuote(line_, separator_)) return false;
  }
  SplitFields(line_, separator_, &fields_);  // the field that does not end
  return false;
}

// Returns whether a field of several lines has numbers behind separators: a
// quote that nobody closed, and the rows of other people.
bool TextRows::HoldsRows(std::string_view field) const {
  if (separator_ == kBlanks || field.find('\n') == std::string_view::npos)
    return false;
  for (const absl::string_view line : absl::StrSplit(View(field), '\n')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, separator_);
    if (std::any_of(parts.begin() + 1, parts.end(), [](const auto& part) {
          return IsNumber({part.data(), part.size()});
        }))
      return true;
  }
  return false;
}

// Lines that begin with # are comments above the first row, unless a number
// in any notation follows a label such as "#word"; below it those of one
// field in a table of several. Nobody's row is left out.
bool TextRows::IsComment(std::string_view line) const {
  if (!line.starts_with('#')) return false;
  Fields fields;
  const bool is_one =
      !SplitFields(line, separator_, &fields) || fields.size() < 2;
  if (begun_) return is_one && width_ > 1;
  const bool has_label = line.size() > 1 && line[1] != ' ' && line[1] != '\t' &&
                         line[1] != separator_;
  return !has_label || is_one ||
         std::none_of(fields.begin() + 1, fields.end(), IsAnyNumber);
}

std::optional<std::vector<std::string>> TextRows::TakeNamesOfComment() {
  if (comment_.empty() || comment_line_ + 1 != line_number_ ||
      options_.header == false ||
      std::none_of(fields_.begin(), fields_.end(), IsAnyNumber))
    return std::nullopt;
  const std::string_view names = TrimBlanks(std::string_view(comment_).substr(
      std::min(comment_.find_first_not_of('#'), comment_.size())));
  Fields fields;
  if (!SplitFields(names, separator_, &fields) ||
      fields.size() != InFile(fields_.size()) ||
      std::any_of(fields.begin(), fields.end(), IsAnyNumber))
    return std::nullopt;
  --comment_lines_;
  return std::vector<std::string>(fields.begin(), fields.end());
}

// Takes the line if it is kept as texts: people are columns.
bool TextRows::IsKeptLine() {
  if (users_are_rows_ || places_.empty()) return false;
  ++lines_seen_;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (places_[k].place != lines_seen_) continue;
    for (const std::string_view field : fields_)
      kept_[k].push_back(FieldText(line_, field));
    return true;
  }
  return false;
}

// Takes the fields of texts out of the row: whatever the other fields are, they
// are so without them.
absl::Status TextRows::TakeTexts() {
  if (!users_are_rows_) return absl::OkStatus();
  const std::size_t in_file = fields_.size();
  for (std::size_t k = places_.size(); k-- > 0;) {
    const auto place = static_cast<std::size_t>(places_[k].place);
    if (places_[k].place < 1 || place > in_file)
      return NoPlace(places_[k], in_file);
    texts_[k] = FieldText(line_, fields_[place - 1]);
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(place) - 1);
  }
  if (!fields_.empty()) return absl::OkStatus();
  return Refuse("input-malformed", static_cast<std::uint64_t>(places_[0].place),
                "the line has no field besides the class; check the "
                "separator");
}

absl::Status TextRows::NoPlace(const KeptText& text, std::size_t places) const {
  return Refuse(
      text.code, places,
      absl::StrCat(users_are_rows_ ? "the line has " : "the file has ", places,
                   users_are_rows_ ? " fields" : " lines", ", and ",
                   View(text.flag), " declares ", text.place, "; correct ",
                   View(text.flag)));
}

absl::Status TextRows::RefuseFirstRow() const {
  return NoPlace(places_[0], fields_.size());
}

void TextRows::RemoveTexts(std::vector<std::string>* header) const {
  for (std::size_t k = users_are_rows_ ? places_.size() : 0; k-- > 0;)
    header->erase(header->begin() + places_[k].place - 1);
}

std::uint64_t TextRows::FieldNumber(std::size_t index) const {
  std::uint64_t number = index + 1;
  if (!users_are_rows_) return number;
  for (const KeptText& text : places_)
    if (number >= static_cast<std::uint64_t>(text.place)) ++number;
  return number;
}

std::size_t TextRows::InFile(std::size_t fields) const {
  return fields + (users_are_rows_ ? places_.size() : 0);
}

void TextRows::KeepTexts() {
  if (options_.table == nullptr || !users_are_rows_) return;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    if (texts_[k].empty()) {
      refused_.Note(
          Refuse("input-malformed",
                 static_cast<std::uint64_t>(places_[k].place),
                 absl::StrCat("the field is empty, and ", View(places_[k].flag),
                              " declares it; write a text for each person")),
          "text");
    }
    kept_[k].push_back(std::move(texts_[k]));
  }
}

absl::StatusOr<std::vector<std::vector<std::string>>> TextRows::TakeKept(
    std::size_t people, std::size_t labels) {
  for (std::size_t k = 0; k < places_.size() && !users_are_rows_; ++k) {
    std::vector<std::string>& texts = kept_[k];
    if (places_[k].place > lines_seen_ || places_[k].place < 1)
      return NoPlace(places_[k], static_cast<std::size_t>(lines_seen_));
    if (texts.size() == people + labels) {
      texts.erase(texts.begin(),
                  texts.begin() + static_cast<std::ptrdiff_t>(labels));
    }
    const bool any_empty =
        std::find(texts.begin(), texts.end(), "") != texts.end();
    if (texts.size() == people && !any_empty) continue;
    return input_.RefuseAt(
        any_empty ? "input-malformed" : "input-ragged", 0, 0,
        absl::StrCat("line ", places_[k].place, ", which ",
                     View(places_[k].flag), " declares, has ",
                     any_empty
                         ? "an empty text; write one for each person"
                         : absl::StrCat("texts of ", texts.size(),
                                        " people, and other lines have ",
                                        people, " numbers; make them equal")));
  }
  return std::move(kept_);
}

absl::Status TextRows::Refuse(std::string_view code, std::uint64_t column,
                              std::string_view problem) const {
  return input_.RefuseAt(code, line_number_, column, problem);
}

}  // namespace dpnmf
