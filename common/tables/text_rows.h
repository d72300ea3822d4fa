// Lines of a text matrix as rows of fields: separator, comments, quotes, and
// texts that stand beside the entries.
#ifndef DPNMF_COMMON_TABLES_TEXT_ROWS_H_
#define DPNMF_COMMON_TABLES_TEXT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"
#include "common/tables/refused_lines.h"

namespace dpnmf {

// For one thread. All arguments outlive the object.
class TextRows {
 public:
  using Fields = std::vector<std::string_view>;

  TextRows(InputFile* input, char usual_separator, const LoadOptions& options,
           bool users_are_rows, RefusedLines* refused);

  // Finds the separator: the one that a flag or the first line declares, else
  // the one that the first lines have. Before all other functions.
  absl::Status Begin();

  // Goes to the next line that is neither empty nor a comment; false at the end
  // of the file. Empty lines may stand only above the first such line and at
  // the end. The line is valid until the next call.
  absl::StatusOr<bool> NextLine(std::string_view* line);

  // Splits this line, and more of them where a quoted field has line breaks,
  // into fields() and texts; false if it is no row of fields: its texts were
  // kept, or its quotes are wrong, which is noted. Before set_width wrong
  // quotes are "input-malformed".
  absl::StatusOr<bool> TakeRow(std::string_view line);

  // Fields of a row, without texts, once they are known.
  void set_width(std::size_t width) { width_ = width; }

  // The names in the comment directly above the first row, if it names its
  // fields, as numpy.savetxt writes it; no longer a comment then.
  std::optional<std::vector<std::string>> TakeNamesOfComment();

  char separator() const { return separator_; }
  // Fields of the current row; they point into line().
  const Fields& fields() const { return fields_; }
  std::string_view line() const { return line_; }
  std::uint64_t line_number() const { return line_number_; }  // its first
  // The first row, with texts; the second line, as FirstLines has it.
  const std::vector<std::string>& first_row() const { return first_row_; }
  const std::string& second_line() const { return second_line_; }
  std::uint64_t comment_lines() const { return comment_lines_; }
  std::uint64_t last_comment() const { return comment_line_; }

  // ---- Texts: the class of LoadOptions, or TableOptions::kept

  bool has_texts() const { return !places_.empty(); }
  // The class of the current row.
  const std::string& class_text() const { return texts_[0]; }
  // Returns whether the first row ends before the class, as R's header may.
  bool first_row_lacks_class() const { return first_row_lacks_class_; }
  absl::Status RefuseFirstRow() const;
  // Removes the names of texts from a header.
  void RemoveTexts(std::vector<std::string>* header) const;
  // The number in the file of fields()[index], from 1.
  std::uint64_t FieldNumber(std::size_t index) const;
  // So many fields, with those of texts.
  std::size_t InFile(std::size_t fields) const;
  // Keeps the texts of the current row, for LoadTable.
  void KeepTexts();
  // All that were kept: one a person, where people are columns perhaps behind
  // so many `labels`.
  absl::StatusOr<std::vector<std::vector<std::string>>> TakeKept(
      std::size_t people, std::size_t labels);

  // InputFile::Refuse, of the line in which the current row begins.
  absl::Status Refuse(std::string_view code, std::uint64_t column,
                      std::string_view problem) const;

 private:
  absl::StatusOr<bool> Split(std::string_view line);
  bool HoldsRows(std::string_view field) const;
  bool IsComment(std::string_view line) const;
  bool IsKeptLine();
  absl::Status TakeTexts();
  absl::Status NoPlace(const KeptText& text, std::size_t places) const;

  InputFile& input_;
  const LoadOptions& options_;
  const bool users_are_rows_;
  RefusedLines& refused_;
  char separator_;
  Fields fields_;
  std::string_view line_;
  std::string joined_;  // lines of one row
  std::uint64_t line_number_ = 0;
  bool begun_ = false;  // a line was read that is no comment
  std::size_t width_ = 0;
  std::vector<std::string> first_row_;
  std::string second_line_;
  std::uint64_t comment_lines_ = 0;
  std::string comment_;  // the last one above the first row
  std::uint64_t comment_line_ = 0;
  std::vector<KeptText> places_;    // ascending
  std::vector<std::string> texts_;  // of the current row, as places_
  std::vector<std::vector<std::string>> kept_;  // of all, as places_
  int lines_seen_ = 0;  // where people are columns and texts are kept
  bool first_row_lacks_class_ = false;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_TEXT_ROWS_H_
