#include "curator/import/text_matrix.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/import/assemble.h"
#include "curator/import/entry.h"
#include "curator/import/fields.h"
#include "curator/import/label_guess.h"

namespace dpnmf::curator {
namespace {

using Fields = std::vector<std::string_view>;

std::size_t LeadingNonNumbers(const Fields& fields) {
  return static_cast<std::size_t>(
      std::find_if(fields.begin(), fields.end(), IsNumber) - fields.begin());
}

class TextMatrixReader {
 public:
  TextMatrixReader(InputFile* input, char separator, const LoadOptions& options)
      : input_(*input), separator_(separator), options_(options) {}

  absl::StatusOr<LoadedMatrix> Read(bool users_are_rows) {
    DPNMF_ASSIGN_OR_RETURN(bool more, NextRow());
    if (!more)
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file is empty; give another");
    DPNMF_ASSIGN_OR_RETURN(const bool has_header, IsHeader());
    if (has_header) {
      KeepHeader();
      DPNMF_ASSIGN_OR_RETURN(more, NextRow());
      if (!more) {
        return input_.Refuse(
            "input-empty", 0,
            "there is a header, but no row of numbers after it");
      }
    }
    DPNMF_RETURN_IF_ERROR(FixLayout(has_header));
    while (more) {
      DPNMF_RETURN_IF_ERROR(AddRow());
      DPNMF_ASSIGN_OR_RETURN(more, NextRow());
    }
    DPNMF_RETURN_IF_ERROR(CheckLabelsOf(users_are_rows));
    DPNMF_RETURN_IF_ERROR(CheckIds());
    NoteNames();
    LoadedMatrix matrix = DenseOfRows(std::move(values_), rows_,
                                      width_ - label_columns_, users_are_rows);
    matrix.ids = std::move(ids_);
    matrix.labels = std::move(labels_);
    return matrix;
  }

 private:
  // Splits the next line that is not empty; empty lines may stand only at the
  // end of the file.
  absl::StatusOr<bool> NextRow() {
    std::uint64_t empty_line = 0;
    while (true) {
      std::string_view line;
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) return false;
      if (IsBlank(line, separator_)) {
        if (empty_line == 0) empty_line = input_.line_number();
        continue;
      }
      if (empty_line != 0) {
        return input_.RefuseAt(
            "input-ragged", empty_line, 1,
            "the line is empty; remove it or write its numbers");
      }
      if (SplitFields(line, separator_, &fields_)) {
        DPNMF_RETURN_IF_ERROR(TakeClass(line));
        return true;
      }
      return input_.Refuse("input-malformed", fields_.size() + 1,
                           "a quoted field must end with a quote before the "
                           "separator; correct or remove the quotes");
    }
  }

  // Takes the field of the class out of the line: whatever the other fields
  // are, they are so without it.
  absl::Status TakeClass(std::string_view line) {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto column = static_cast<std::size_t>(*options_.class_column);
    if (column < 1 || column > fields_.size()) {
      return input_.Refuse(
          "class-column-out-of-range", fields_.size(),
          absl::StrCat("the line has ", fields_.size(),
                       " fields, and the class is declared in field ", column,
                       "; correct --class-column"));
    }
    class_ = FieldText(line, fields_[column - 1]);
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(column) - 1);
    if (!fields_.empty()) return absl::OkStatus();
    return input_.Refuse("input-malformed", column,
                         "the line has no field besides the class; check the "
                         "separator");
  }

  // The number of fields_[index] in the file.
  std::uint64_t FieldNumber(std::size_t index) const {
    const bool behind =
        options_.class_column.has_value() &&
        index + 1 >= static_cast<std::size_t>(*options_.class_column);
    return index + (behind ? 2 : 1);
  }

  // So many fields, with that of the class.
  std::size_t InFile(std::size_t fields) const {
    return fields + (options_.class_column.has_value() ? 1 : 0);
  }

  absl::Status AddLabel() {
    if (!options_.class_column.has_value()) return absl::OkStatus();
    const auto& classes = options_.classes;
    const auto found = std::find(classes.begin(), classes.end(), class_);
    if (found == classes.end()) {
      return input_.Refuse(
          "class-unknown", static_cast<std::uint64_t>(*options_.class_column),
          absl::StrCat("the label ", Quoted(class_),
                       " is not declared; declare it with --classes, or "
                       "correct it"));
    }
    labels_.push_back(static_cast<std::int32_t>(found - classes.begin()));
    return absl::OkStatus();
  }

  // A header has no number in it. A first line of words and numbers could be a
  // header, the first labelled row, or a row with a missing value: nobody's row
  // is dropped on a guess.
  absl::StatusOr<bool> IsHeader() {
    if (options_.header.has_value()) return *options_.header;
    const auto labels = std::min(
        fields_.size(), static_cast<std::size_t>(LabelColumns().value_or(0)));
    const auto begin = fields_.begin() + static_cast<std::ptrdiff_t>(labels);
    const auto numbers = std::count_if(begin, fields_.end(), IsNumber);
    if (numbers == fields_.end() - begin) return false;
    if (numbers == 0) return true;
    const auto word = std::find_if_not(begin, fields_.end(), IsNumber);
    return input_.Refuse(
        "input-ambiguous",
        FieldNumber(static_cast<std::size_t>(word - fields_.begin())),
        absl::StrCat(Quoted(*word),
                     " is not a number, but other fields of the first line "
                     "are; give --header yes or --header no"));
  }

  void KeepHeader() {
    header_width_ = fields_.size();
    header_first_ = std::string(fields_[0]);
    while (header_empty_ < fields_.size() && fields_[header_empty_].empty())
      ++header_empty_;
  }

  // From the first row of numbers: its width and how many labels lead it.
  absl::Status FixLayout(bool has_header) {
    width_ = fields_.size();
    words_only_ = LeadingNonNumbers(fields_);
    std::size_t named = 0;  // by the header
    if (has_header) {
      // R writes no field above the row names.
      const bool unnamed_labels = header_width_ + 1 == width_;
      if (!unnamed_labels && header_width_ != width_) {
        return input_.Refuse(
            "input-ragged", std::min(header_width_, width_) + 1,
            absl::StrCat("the line has ", InFile(width_),
                         " fields and the header has ", InFile(header_width_),
                         "; make them equal"));
      }
      named = std::max(header_empty_, static_cast<std::size_t>(unnamed_labels));
    }
    label_columns_ = std::max(words_only_, named);
    guessed_ = words_only_ > named;
    if (LabelColumns().has_value()) {
      label_columns_ = static_cast<std::size_t>(*LabelColumns());
      words_only_ = 0;
      guessed_ = false;
    }
    if (label_columns_ < width_) return absl::OkStatus();
    return input_.Refuse(
        "input-not-a-number", 1,
        absl::StrCat("the line has no number after its labels (first field ",
                     Quoted(fields_[0]), "); check the separator"));
  }

  absl::Status AddRow() {
    if (fields_.size() != width_) {
      return input_.Refuse("input-ragged", std::min(fields_.size(), width_) + 1,
                           absl::StrCat("the line has ", InFile(fields_.size()),
                                        " fields and the lines before have ",
                                        InFile(width_), "; make them equal"));
    }
    for (std::size_t i = 0; i < words_only_; ++i) {
      if (!IsNumber(fields_[i])) continue;
      return input_.Refuse(
          "input-ambiguous", FieldNumber(i),
          absl::StrCat("the number ", Quoted(fields_[i]),
                       " is in a column of labels; give --label-columns K"));
    }
    if (options_.id_column.has_value()) {
      const std::size_t at = IdIndex();
      ids_.emplace_back(TrimBlanks(fields_[at]));
      if (ids_.back().empty()) {
        return input_.Refuse("input-malformed", FieldNumber(at),
                             "the id is empty; give every person one");
      }
    }
    for (std::size_t i = label_columns_; i < width_; ++i) {
      float entry = 0;
      if (const auto problem = ParseEntry(fields_[i], &entry)) {
        return input_.Refuse(problem->code, FieldNumber(i), problem->sentence);
      }
      values_.push_back(entry);
    }
    ++rows_;
    return AddLabel();
  }

  // As declared; an id alone declares that the fields up to it are labels.
  std::optional<int> LabelColumns() const {
    if (options_.label_columns.has_value() || !options_.id_column.has_value())
      return options_.label_columns;
    return static_cast<int>(IdIndex()) + 1;
  }

  // Of the id in fields_, which lack the class. There must be an id column.
  std::size_t IdIndex() const {
    const bool behind_class = options_.class_column.has_value() &&
                              *options_.class_column < *options_.id_column;
    return static_cast<std::size_t>(*options_.id_column) -
           (behind_class ? 2 : 1);
  }

  // Two people with one id: the column is no id, or a person has two rows.
  absl::Status CheckIds() const {
    std::vector<std::string_view> sorted(ids_.begin(), ids_.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice == sorted.end()) return absl::OkStatus();
    return input_.RefuseAt(
        "input-duplicate", 0, 0,
        absl::StrCat("the id ", Quoted(*twice),
                     " stands in two rows; give every person one row, or "
                     "another --id-column"));
  }

  // Labels that were guessed are in every row, so that any row tells how many
  // features there are: which one it is does not matter, and no person's data
  // decide it (docs/privacy.md). One row alone would.
  absl::Status CheckLabelsOf(bool users_are_rows) const {
    if (!users_are_rows || !guessed_ || rows_ > 1) return absl::OkStatus();
    return input_.Refuse("input-ambiguous", 1,
                         "the file has one row, which alone would determine "
                         "the number of features; give --label-columns K");
  }

  // A column of names that are numbers is data like any other, unless somebody
  // says otherwise.
  void NoteNames() const {
    if (!options_.note || LabelColumns().has_value() || label_columns_ != 0 ||
        !LooksLikeNames(header_first_, values_, width_))
      return;
    const std::string name =
        header_first_.empty() ? ""
                              : absl::StrCat(" (", Quoted(header_first_), ")");
    options_.note(absl::StrCat(
        "Column 1", name,
        " is read as data; give --label-columns 1 if it contains labels"));
  }

  InputFile& input_;
  const char separator_;
  const LoadOptions& options_;
  Fields fields_;  // of the current line
  std::string header_first_;
  std::size_t header_width_ = 0;
  std::size_t header_empty_ = 0;   // leading empty fields of the header
  std::size_t width_ = 0;          // fields of a row
  std::size_t label_columns_ = 0;  // leading fields that are not entries
  std::size_t words_only_ = 0;     // of these, the ones guessed from a word
  bool guessed_ = false;           // a word decided label_columns_
  std::vector<float> values_;      // row after row
  std::vector<std::string> ids_;   // of the rows, if there is an id column
  std::string class_;              // of the current line
  std::vector<std::int32_t> labels_;
  std::uint64_t rows_ = 0;
};

}  // namespace

absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options) {
  return TextMatrixReader(input, separator, options).Read(users_are_rows);
}

}  // namespace dpnmf::curator
