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
      if (SplitFields(line, separator_, &fields_)) return true;
      return input_.Refuse("input-malformed", fields_.size() + 1,
                           "a quoted field must end with a quote before the "
                           "separator; correct or remove the quotes");
    }
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
        static_cast<std::uint64_t>(word - fields_.begin()) + 1,
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
            absl::StrCat("the line has ", width_, " fields and the header has ",
                         header_width_, "; make them equal"));
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
                           absl::StrCat("the line has ", fields_.size(),
                                        " fields and the lines before have ",
                                        width_, "; make them equal"));
    }
    for (std::size_t i = 0; i < words_only_; ++i) {
      if (!IsNumber(fields_[i])) continue;
      return input_.Refuse(
          "input-ambiguous", i + 1,
          absl::StrCat("the number ", Quoted(fields_[i]),
                       " is in a column of labels; give --label-columns K"));
    }
    if (options_.id_column.has_value()) {
      const auto at = static_cast<std::size_t>(*options_.id_column) - 1;
      ids_.emplace_back(TrimBlanks(fields_[at]));
      if (ids_.back().empty()) {
        return input_.Refuse("input-malformed", at + 1,
                             "the id is empty; give every person one");
      }
    }
    for (std::size_t i = label_columns_; i < width_; ++i) {
      float entry = 0;
      if (const auto problem = ParseEntry(fields_[i], &entry)) {
        return input_.Refuse(problem->code, i + 1, problem->sentence);
      }
      values_.push_back(entry);
    }
    ++rows_;
    return absl::OkStatus();
  }

  // As declared; an id alone declares that the fields up to it are labels.
  std::optional<int> LabelColumns() const {
    return options_.label_columns.has_value() ? options_.label_columns
                                              : options_.id_column;
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
  std::uint64_t rows_ = 0;
};

}  // namespace

absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options) {
  return TextMatrixReader(input, separator, options).Read(users_are_rows);
}

}  // namespace dpnmf::curator
