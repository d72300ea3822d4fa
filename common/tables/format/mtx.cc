// Matrix Market files (NIST): coordinate (a sparse matrix) and array (a dense
// one); real, integer or pattern; general or symmetric. Programs also write the
// fields double and unsigned-integer, and Fortran's exponents (1.0D+00).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/tables/assemble.h"
#include "common/tables/formats.h"

namespace dpnmf {
namespace {

class MatrixMarketReader {
 public:
  MatrixMarketReader(InputFile* input, const LoadOptions& options)
      : input_(*input), options_(options) {}

  absl::StatusOr<LoadedMatrix> Read(bool users_are_rows) {
    DPNMF_RETURN_IF_ERROR(ReadBanner());
    DPNMF_RETURN_IF_ERROR(ReadSizes());
    if (options_.table != nullptr) {
      return coordinate_ ? ReadTable(users_are_rows)
                         : ReadArray<double>(users_are_rows);
    }
    if (symmetric_ && options_.note) {
      options_.note(
          "The matrix is symmetric: an entry of two people counts in the "
          "columns of both, and a guarantee for one person covers one column");
    }
    return coordinate_ ? ReadCoordinates(users_are_rows)
                       : ReadArray<float>(users_are_rows);
  }

 private:
  // %%MatrixMarket matrix coordinate|array real|integer|pattern general
  absl::Status ReadBanner() {
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
    if (!more)
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file is empty; give another");
    SplitFields(line, kBlanks, &fields_);
    std::vector<std::string> words;
    for (const std::string_view field : fields_) {
      words.push_back(absl::AsciiStrToLower(std::string(field)));
    }
    if (words.size() != 5 || words[0] != "%%matrixmarket" ||
        words[1] != "matrix") {
      return input_.Refuse("input-malformed", 1,
                           "the first line must be '%%MatrixMarket matrix "
                           "FORMAT FIELD general'");
    }
    coordinate_ = words[2] == "coordinate";
    if (!coordinate_ && words[2] != "array") {
      return input_.Refuse("input-malformed", 3,
                           "the format must be coordinate or array");
    }
    DPNMF_RETURN_IF_ERROR(ReadField(words[3]));
    symmetric_ = words[4] == "symmetric";
    if (symmetric_ || words[4] == "general") return absl::OkStatus();
    if (words[4] == "skew-symmetric" || words[4] == "hermitian") {
      return input_.Refuse(
          "input-malformed", 5,
          absl::StrCat("a ", words[4],
                       " matrix is no matrix of non-negative numbers; the "
                       "symmetry must be general or symmetric"));
    }
    return input_.Refuse("input-malformed", 5,
                         "the symmetry must be general or symmetric");
  }

  absl::Status ReadField(const std::string& field) {
    pattern_ = field == "pattern";
    for (const char* number : {"real", "double", "integer", "unsigned-integer"})
      if (field == number) return absl::OkStatus();
    if (pattern_ && coordinate_) return absl::OkStatus();
    return input_.Refuse(
        "input-malformed", 4,
        field == "complex"
            ? "a complex matrix is no matrix of non-negative numbers; write "
              "the real parts, with the field real"
            : "the field must be real, integer or (coordinate only) pattern");
  }

  // Splits the next line that is neither a comment nor empty.
  absl::StatusOr<bool> NextLine() {
    std::string_view line;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) return false;
      if (IsBlank(line, kBlanks) || TrimBlanks(line)[0] == '%') continue;
      if (SplitFields(line, kBlanks, &fields_)) return true;
      return input_.Refuse(
          "input-malformed", fields_.size() + 1,
          "a Matrix Market file must not contain quotes; remove them");
    }
  }

  absl::Status ReadSizes() {
    DPNMF_ASSIGN_OR_RETURN(const bool more, NextLine());
    const std::size_t expected = coordinate_ ? 3 : 2;
    if (!more || fields_.size() != expected) {
      return input_.Refuse("input-malformed", 1,
                           coordinate_
                               ? "this line must be 'ROWS COLUMNS ENTRIES'"
                               : "this line must be 'ROWS COLUMNS'");
    }
    std::uint64_t sizes[3] = {0, 0, 0};
    for (std::size_t i = 0; i < expected; ++i) {
      const auto size = ParseWhole(fields_[i]);
      if (!size.has_value()) {
        return input_.Refuse(
            "input-malformed", i + 1,
            absl::StrCat(Quoted(fields_[i]), " is not a whole number"));
      }
      sizes[i] = *size;
      if (i == 2) continue;
      if (*size == 0) {
        return input_.Refuse("input-empty", i + 1,
                             "a matrix needs at least one row and column");
      }
      if (*size > kLargestExtent) {
        return input_.Refuse("input-too-large", i + 1,
                             absl::StrCat("at most ", kLargestExtent,
                                          " rows and columns are supported"));
      }
    }
    rows_ = sizes[0];
    columns_ = sizes[1];
    count_ = coordinate_  ? sizes[2]
             : symmetric_ ? rows_ * (rows_ + 1) / 2
                          : rows_ * columns_;
    if (!symmetric_ || rows_ == columns_) return absl::OkStatus();
    return input_.Refuse("input-malformed", 2,
                         absl::StrCat("a symmetric matrix has as many columns "
                                      "as rows, and this one has ",
                                      columns_, " and ", rows_,
                                      "; write general and all entries"));
  }

  // Calls add(entry) on each of the count_ lines of entries.
  template <typename Add>
  absl::Status ForEachLine(std::size_t field_count, Add add) {
    for (std::uint64_t i = 0; i < count_; ++i) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, NextLine());
      if (!more) {
        return input_.Refuse(
            "input-malformed", 1,
            absl::StrCat("the file ends here after ", i, " of ", count_,
                         " entries; copy it again or mend the size line"));
      }
      if (fields_.size() != field_count) {
        return input_.Refuse("input-ragged",
                             std::min(fields_.size(), field_count) + 1,
                             absl::StrCat("the line has ", fields_.size(),
                                          " fields; it needs ", field_count));
      }
      DPNMF_RETURN_IF_ERROR(add());
    }
    DPNMF_ASSIGN_OR_RETURN(const bool more, NextLine());
    if (!more) return absl::OkStatus();
    return input_.Refuse(
        "input-malformed", 1,
        absl::StrCat("this is more than the ", count_,
                     " entries of the size line; correct the size line"));
  }

  // Index in [1, extent] of the file, as an index from 0.
  absl::StatusOr<std::int32_t> ReadIndex(std::size_t field,
                                         std::uint64_t extent) const {
    const auto index = ParseWhole(fields_[field]);
    if (index.has_value() && *index >= 1 && *index <= extent) {
      return static_cast<std::int32_t>(*index - 1);
    }
    return input_.Refuse("input-out-of-range", field + 1,
                         absl::StrCat("the index ", Quoted(fields_[field]),
                                      " is not in 1 to ", extent));
  }

  std::optional<EntryProblem> Parse(std::string_view text, float* entry) const {
    return ParseEntry(text, entry);
  }
  std::optional<EntryProblem> Parse(std::string_view text,
                                    double* number) const {
    return ParseNumber(text, !options_.table->negative, number);
  }

  template <typename Entry>
  absl::StatusOr<Entry> ReadValue(std::size_t field) const {
    Entry entry = 0;
    auto problem = Parse(fields_[field], &entry);
    if (!problem.has_value()) return entry;
    std::string text(fields_[field]);
    const std::size_t exponent = text.find_first_of("dD");
    if (exponent != std::string::npos) text[exponent] = 'e';
    if (exponent != std::string::npos && IsNumber(text))
      problem = Parse(text, &entry);
    if (!problem.has_value()) return entry;
    return input_.Refuse(problem->code, field + 1, problem->sentence);
  }

  absl::StatusOr<LoadedMatrix> ReadCoordinates(bool users_are_rows) {
    RecordLog<SparseEntry> entries(options_.spool_dir);
    DPNMF_RETURN_IF_ERROR(ForEachLine(pattern_ ? 2 : 3, [&]() -> absl::Status {
      DPNMF_ASSIGN_OR_RETURN(const std::int32_t row, ReadIndex(0, rows_));
      DPNMF_ASSIGN_OR_RETURN(const std::int32_t column, ReadIndex(1, columns_));
      float value = 1;
      if (!pattern_) {
        DPNMF_ASSIGN_OR_RETURN(value, ReadValue<float>(2));
      }
      SparseEntry entry = {.feature = users_are_rows ? column : row,
                           .user = users_are_rows ? row : column,
                           .value = value,
                           .line = LineForMessages(input_)};
      DPNMF_RETURN_IF_ERROR(entries.Add(entry));
      if (!symmetric_ || row == column) return absl::OkStatus();
      std::swap(entry.feature, entry.user);
      return entries.Add(entry);
    }));
    return AssembleSparse(input_, entries, users_are_rows ? columns_ : rows_,
                          users_are_rows ? rows_ : columns_);
  }

  // Coordinates as a full matrix.
  absl::StatusOr<LoadedMatrix> ReadTable(bool users_are_rows) {
    constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 28;
    if (rows_ > kMostEntries / columns_) {
      return input_.Refuse("input-too-large", 1,
                           absl::StrCat("at most ", kMostEntries,
                                        " entries are supported here"));
    }
    constexpr double kNotRead = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> numbers(rows_ * columns_, kNotRead);
    const auto place = [&](std::int32_t row, std::int32_t column) -> double& {
      return numbers[static_cast<std::uint64_t>(column) * rows_ +
                     static_cast<std::uint64_t>(row)];
    };
    DPNMF_RETURN_IF_ERROR(ForEachLine(pattern_ ? 2 : 3, [&]() -> absl::Status {
      DPNMF_ASSIGN_OR_RETURN(const std::int32_t row, ReadIndex(0, rows_));
      DPNMF_ASSIGN_OR_RETURN(const std::int32_t column, ReadIndex(1, columns_));
      double value = 1;
      if (!pattern_) {
        DPNMF_ASSIGN_OR_RETURN(value, ReadValue<double>(2));
      }
      if (!std::isnan(place(row, column))) {
        return input_.Refuse("input-duplicate", 1,
                             "this entry is also in a line before; keep one of "
                             "them");
      }
      place(row, column) = value;
      if (symmetric_) place(column, row) = value;
      return absl::OkStatus();
    }));
    for (double& number : numbers)
      if (std::isnan(number)) number = 0;
    return DenseOfRows(std::move(numbers), columns_, rows_, !users_are_rows);
  }

  // Column after column.
  template <typename Entry>
  absl::StatusOr<LoadedMatrix> ReadArray(bool users_are_rows) {
    std::vector<Entry> values;
    DPNMF_RETURN_IF_ERROR(ForEachLine(1, [&]() -> absl::Status {
      DPNMF_ASSIGN_OR_RETURN(const Entry value, ReadValue<Entry>(0));
      values.push_back(value);
      return absl::OkStatus();
    }));
    if (symmetric_) values = BothTriangles(values);
    // Column-major rows x columns is row-major columns x rows.
    return DenseOfRows(std::move(values), columns_, rows_, !users_are_rows);
  }

  // The whole matrix from its lower triangle, each column after column.
  template <typename Entry>
  std::vector<Entry> BothTriangles(const std::vector<Entry>& lower) const {
    std::vector<Entry> all(rows_ * rows_);
    auto value = lower.begin();
    for (std::uint64_t column = 0; column < rows_; ++column) {
      for (std::uint64_t row = column; row < rows_; ++row)
        all[row * rows_ + column] = all[column * rows_ + row] = *value++;
    }
    return all;
  }

  InputFile& input_;
  const LoadOptions& options_;
  std::vector<std::string_view> fields_;  // of the current line
  bool coordinate_ = false;
  bool pattern_ = false;
  bool symmetric_ = false;  // the file has one triangle
  std::uint64_t rows_ = 0, columns_ = 0, count_ = 0;
};

}  // namespace

extern const InputFormat kMtxFormat = {
    .name = "mtx",
    .title = "Matrix Market",
    .extension = ".mtx",
    .signature = "%%MatrixMarket",
    .read = [](InputFile* input, bool users_are_rows,
               const LoadOptions& options) {
      return MatrixMarketReader(input, options).Read(users_are_rows);
    }};

}  // namespace dpnmf
