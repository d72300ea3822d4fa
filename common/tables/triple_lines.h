// Lines of a user, an item, a number and perhaps a time: what ratings and
// triples have in common.
//
// Sentences of refusals may quote private values: for the operator's terminal.
#ifndef DPNMF_COMMON_TABLES_TRIPLE_LINES_H_
#define DPNMF_COMMON_TABLES_TRIPLE_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/input_file.h"

namespace dpnmf {

// The fields point into the line that Begin or Split was given last. For one
// thread.
class TripleLines {
 public:
  // `what` the numbers are: "rating" or "value".
  TripleLines(const InputFile* input, std::string_view what)
      : input_(*input), what_(what) {}

  // Returns whether the line stands above the first one: it is empty or a
  // comment ("# ...", as numpy writes). Only before Begin.
  bool IsAbove(std::string_view line);

  // Splits the first line. The separator is the first of tab, "::", semicolon,
  // comma, bar and blanks that gives three or four fields. "input-ragged".
  absl::Status Begin(std::string_view line);
  bool begun() const { return separator_ != '\0'; }
  // After Begin; ':' for "::".
  char separator() const { return separator_; }
  // Takes the line of Begin for a header. "input-malformed" if it names the
  // user second, or a fourth field that is no time.
  absl::Status TakeHeader();

  // Splits a further line, or that of Begin if it is no header.
  // "input-malformed" (a quote that is not closed, an empty user or item, a
  // fourth field that is no time), "input-ragged".
  absl::Status Split(std::string_view line);

  const std::vector<std::string_view>& fields() const { return fields_; }
  // A field as it was meant: quotes of the line undone.
  std::string Text(std::size_t field) const;
  // The third field with a decimal point, in the place of a decimal comma that
  // can be nothing else. "input-ambiguous": 1,234, or commas after points.
  absl::StatusOr<std::string_view> Number();

  // Returns whether Split refused the last line for its fourth field.
  bool refused_time() const { return refused_time_; }
  // How the lines were understood, for the operator; empty if they are nothing
  // but users, items and numbers.
  std::string Summary(bool times_are_read) const;

 private:
  bool SplitLine(std::string_view line, char separator);
  absl::Status CheckTime();
  absl::Status RefuseRagged() const;

  const InputFile& input_;
  const std::string_view what_;
  char separator_ = '\0';
  std::string_view line_;
  std::vector<std::string_view> fields_;
  std::string header_;  // empty: the first line is none
  std::size_t header_fields_ = 0;
  bool declares_time_ = false;  // the header does
  bool has_times_ = false;
  bool refused_time_ = false;
  std::uint64_t comments_ = 0;
  std::uint64_t point_line_ = 0, comma_line_ = 0;  // the first; 0: none
  std::string comma_text_;                         // the number of comma_line_
  std::string number_;                             // with a point
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_TRIPLE_LINES_H_
