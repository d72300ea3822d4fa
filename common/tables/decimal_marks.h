// Decimal marks of a text matrix: declared, or judged from all its entries.
#ifndef DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_
#define DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"

namespace dpnmf {

// For one thread.
class DecimalMarks {
 public:
  DecimalMarks() = default;
  // `declared`: '.', ',' or nothing. Commas that are declared by nobody are
  // decimal marks only where fields are not separated by them.
  DecimalMarks(std::optional<char> declared, char separator)
      : declared_(declared), separator_(separator) {}

  // Reads a number as ParseNumber does, with this mark.
  std::optional<EntryProblem> Parse(std::string_view field, std::uint64_t line,
                                    bool refuse_negative, double* number);
  // A number of any sign with this mark, as ParseAnyFloat rounds it.
  float AnyFloat(std::string_view field) const;
  // Takes note of a number that was read elsewhere, with a point.
  void NoteNumber(std::string_view number) {
    if (separator_ != ',' && !has_points_)
      has_points_ = number.find('.') != std::string_view::npos;
  }
  // After the last entry. "input-not-a-number" if some numbers have a point and
  // others a comma; "input-ambiguous" if every comma could separate thousands.
  absl::Status Verdict(const InputFile& input) const;
  // Returns whether a number had a decimal comma; also, that nobody declared.
  bool has_commas() const { return first_line_ != 0; }
  bool commas_were_seen() const {
    return has_commas() && !declared_.has_value();
  }

 private:
  bool takes_commas() const {
    return declared_.has_value() ? *declared_ == ',' : separator_ != ',';
  }
  // The field with a point in the place of its comma, if that is its mark.
  std::optional<std::string> WithPoint(std::string_view field) const;

  std::optional<char> declared_;
  char separator_ = ',';
  std::uint64_t first_line_ = 0;  // of a number with a decimal comma
  std::string first_;             // that number
  bool has_sure_commas_ = false;  // one of them separates no thousands
  bool has_points_ = false;       // a number has a decimal point
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_
