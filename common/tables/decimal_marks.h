// Decimal marks of a text matrix: declared, or judged from all its entries.
#ifndef DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_
#define DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"

namespace dpnmf {

// The number with a point in the place of its one comma; nothing if that is no
// number.
std::optional<std::string> CommaAsPoint(std::string_view number);

// For one thread.
class DecimalMarks {
 public:
  DecimalMarks() = default;
  // `declared`: '.', ',' or nothing. Commas that are declared by nobody are
  // decimal marks only where fields are not separated by them.
  // `may_be_declared`: where nobody can, points are decimal marks.
  DecimalMarks(std::optional<char> declared, char separator,
               bool may_be_declared)
      : declared_(declared),
        separator_(separator),
        judges_points_(separator == ';' && may_be_declared) {}

  // Reads a number as ParseNumber does, with this mark. `column`: from 0.
  std::optional<EntryProblem> Parse(std::string_view field, std::uint64_t line,
                                    std::size_t column, bool refuse_negative,
                                    double* number);
  // A number of any sign with this mark, as ParseAnyFloat rounds it.
  float AnyFloat(std::string_view field) const;
  // Takes note of a number that was read elsewhere, with a point.
  void NoteNumber(std::string_view number, std::uint64_t line,
                  std::size_t column) {
    // Only between semicolons do they all count.
    const bool counts =
        judges_points_ || (separator_ != ',' && points_.line == 0);
    if (counts && number.find('.') != std::string_view::npos)
      points_.Note(number, line, column);
  }
  // After the last entry. "input-not-a-number" if some numbers have a point and
  // others a comma; "input-ambiguous" if every comma, or every point between
  // semicolons, could separate thousands, or if one that could ends in 0 while
  // other numbers have other decimals: 12,500 beside 1,23. A number such as
  // 0,250 clears its column of three decimals.
  absl::Status Verdict(const InputFile& input) const;
  // Returns whether a number had a decimal comma; also, that nobody declared.
  bool has_commas() const { return commas_.line != 0; }
  bool commas_were_seen() const {
    return has_commas() && !declared_.has_value();
  }

 private:
  // Numbers that have one of the marks.
  struct Seen {
    // The text of the number, with one mark and perhaps an exponent.
    void Note(std::string_view number, std::uint64_t of_line, std::size_t of);

    struct Column {
      bool is_sure = false;
      bool has_others = false;  // a number with more or fewer decimals than 3
      std::uint64_t round_line = 0;  // could separate thousands, and ends in 0
      std::string round;
    };
    std::uint64_t line = 0;  // of the first
    std::string first;
    bool is_sure = false;  // one of them separates no thousands
    bool has_others = false;
    std::vector<Column> columns;
  };
  absl::Status CheckThousands(const InputFile& input, const Seen& seen,
                              std::string_view mark) const;

  bool takes_commas() const {
    return declared_.has_value() ? *declared_ == ',' : separator_ != ',';
  }
  // The field with a point in the place of its comma, if that is its mark.
  std::optional<std::string> WithPoint(std::string_view field) const;

  std::optional<char> declared_;
  char separator_ = ',';
  bool judges_points_ = false;
  Seen commas_, points_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_DECIMAL_MARKS_H_
