#include "client/files/model_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/files/input_stream.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/fields.h"
#include "common/files/npy.h"

namespace dpnmf::cli {
namespace {

using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// 16 GiB: the bytes of a .npy file, decompressed.
constexpr std::size_t kLargestMatrixFile = std::size_t{16} << 30;

template <typename Scalar>
absl::StatusOr<Eigen::MatrixXd> NpyEntries(const NpyHeader& header,
                                           std::string_view bytes) {
  const auto rows = static_cast<Eigen::Index>(header.shape[0]);
  const auto columns = static_cast<Eigen::Index>(header.shape[1]);
  const std::string_view data = bytes.substr(header.data_offset);
  if (header.shape[0] == 0 || header.shape[1] == 0) {
    return BadInput("npy-malformed", "The .npy file holds no entries.");
  }
  if (data.size() / sizeof(Scalar) / header.shape[1] != header.shape[0] ||
      data.size() != header.shape[0] * header.shape[1] * sizeof(Scalar)) {
    return BadInput("npy-malformed",
                    "The .npy file is longer or shorter than its header says.");
  }
  // Copied, since the bytes need not lie at a multiple of the scalar's size.
  std::vector<Scalar> values(header.shape[0] * header.shape[1]);
  std::memcpy(values.data(), data.data(), data.size());
  if (header.fortran_order) {
    return Eigen::MatrixXd(
        Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>>(
            values.data(), rows, columns)
            .template cast<double>());
  }
  return Eigen::MatrixXd(
      Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic,
                               Eigen::RowMajor>>(values.data(), rows, columns)
          .template cast<double>());
}

absl::StatusOr<Eigen::MatrixXd> MatrixOfNpy(std::string_view bytes) {
  DPNMF_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes));
  if (header.shape.size() != 2)
    return BadInput("npy-malformed", "The .npy file must have two dimensions.");
  if (header.data_offset > bytes.size())
    return BadInput("npy-malformed", "The .npy file ends inside its header.");
  const std::string& type = header.dtype;
  if (type == "<f8") return NpyEntries<double>(header, bytes);
  if (type == "<f4") return NpyEntries<float>(header, bytes);
  if (type == "<i8") return NpyEntries<std::int64_t>(header, bytes);
  if (type == "<i4") return NpyEntries<std::int32_t>(header, bytes);
  if (type == "<i2") return NpyEntries<std::int16_t>(header, bytes);
  if (type == "<u8") return NpyEntries<std::uint64_t>(header, bytes);
  if (type == "<u4") return NpyEntries<std::uint32_t>(header, bytes);
  if (type == "<u2") return NpyEntries<std::uint16_t>(header, bytes);
  if (type == "|i1") return NpyEntries<std::int8_t>(header, bytes);
  if (type == "|u1" || type == "|b1")
    return NpyEntries<std::uint8_t>(header, bytes);
  return BadInput(
      "npy-malformed",
      absl::StrCat(
          "A matrix must have a number type of NumPy such as <f8 or <i8, not ",
          type, "."));
}

absl::StatusOr<Eigen::MatrixXd> ReadNpy(InputStream* file) {
  std::string bytes;
  std::vector<char> chunk(1 << 20);
  while (file->read(chunk.data(), static_cast<std::streamsize>(chunk.size())),
         file->gcount() > 0) {
    bytes.append(chunk.data(), static_cast<std::size_t>(file->gcount()));
    if (bytes.size() > kLargestMatrixFile)
      return BadInput("file-too-large",
                      "The .npy file has more than 16 GiB; give a part of "
                      "it.");
  }
  return MatrixOfNpy(bytes);
}

// Header of the column of names.
constexpr std::string_view kNamesColumn = "feature";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string CsvName(const std::string& name) {
  return name.find_first_of(",\"") == std::string::npos ? name
                                                        : CsvQuoted(name);
}

// The fields of a line of CSV, without quotes.
std::vector<std::string> CsvFields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

bool IsNumber(const std::string& field) {
  double value = 0;
  return absl::SimpleAtod(field, &value);
}

// Lines of numbers beneath a header, if there is one.
class CsvReader {
 public:
  absl::Status Add(std::string line) {
    ++number_;
    if (number_ == 1 && line.starts_with(kByteOrderMark))
      line.erase(0, kByteOrderMark.size());
    absl::StripTrailingAsciiWhitespace(&line);
    if (line.empty()) return absl::OkStatus();
    std::vector<std::string> fields = CsvFields(line);
    if (rows_.empty() && header_.empty() &&
        std::none_of(fields.begin(), fields.end(), IsNumber)) {
      header_ = std::move(fields);
      return absl::OkStatus();
    }
    if (rows_.empty() && !header_.empty()) {
      named_ = fields.size() > 1 &&
               (header_.front() == kNamesColumn || header_.front().empty() ||
                !IsNumber(fields.front()));
    }
    return AddNumbers(fields);
  }

  absl::StatusOr<MatrixFile> Finish() {
    if (rows_.empty()) return BadInput("csv-malformed", "The file is empty.");
    MatrixFile file;
    file.entries.resize(static_cast<Eigen::Index>(rows_.size()),
                        static_cast<Eigen::Index>(rows_[0].size()));
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j < rows_[i].size(); ++j)
        file.entries(static_cast<Eigen::Index>(i),
                     static_cast<Eigen::Index>(j)) = rows_[i][j];
    if (named_) {
      header_.erase(header_.begin());
      file.row_names = std::move(names_);
    }
    if (header_.size() == rows_[0].size())
      file.column_names = std::move(header_);
    return file;
  }

 private:
  absl::Status AddNumbers(std::vector<std::string>& fields) {
    std::vector<double> values;
    if (named_) names_.push_back(std::move(fields.front()));
    for (std::size_t j = named_ ? 1 : 0; j < fields.size(); ++j) {
      double value = 0;
      if (!absl::SimpleAtod(fields[j], &value)) {
        return BadInput("csv-malformed",
                        absl::StrCat("Line ", number_, ", column ", j + 1,
                                     " is not a number."));
      }
      values.push_back(value);
    }
    if (!rows_.empty() && values.size() != rows_[0].size()) {
      return BadInput(
          "csv-malformed",
          absl::StrCat("Line ", number_, " has ", values.size(),
                       " numbers; the first has ", rows_[0].size(), "."));
    }
    rows_.push_back(std::move(values));
    return absl::OkStatus();
  }

  std::vector<std::string> header_, names_;
  std::vector<std::vector<double>> rows_;
  bool named_ = false;
  std::size_t number_ = 0;  // of the line
};

absl::StatusOr<MatrixFile> ReadCsv(InputStream* file) {
  CsvReader reader;
  for (std::string line; std::getline(*file, line);)
    DPNMF_RETURN_IF_ERROR(reader.Add(std::move(line)));
  return reader.Finish();
}

std::vector<std::string> MtxWords(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

absl::Status MtxMalformed(std::size_t line) {
  return BadInput(
      "mtx-malformed",
      absl::StrCat("Line ", line,
                   " is not that of a Matrix Market matrix of numbers "
                   "(coordinate or array, general or symmetric)."));
}

// Matrix Market: the header, comments, the shape, then entries.
absl::StatusOr<Eigen::MatrixXd> ReadMtx(InputStream* file) {
  std::string line;
  std::size_t number = 1;
  std::getline(*file, line);
  const std::vector<std::string> kind = MtxWords(absl::AsciiStrToLower(line));
  const bool is_header =
      kind.size() == 5 && kind[0] == "%%matrixmarket" && kind[1] == "matrix" &&
      (kind[2] == "coordinate" || kind[2] == "array") &&
      (kind[3] == "real" || kind[3] == "integer" || kind[3] == "pattern") &&
      (kind[4] == "general" || kind[4] == "symmetric");
  if (!is_header) return MtxMalformed(number);
  const bool sparse = kind[2] == "coordinate", pattern = kind[3] == "pattern",
             symmetric = kind[4] == "symmetric";
  if (symmetric && !sparse) return MtxMalformed(number);
  Eigen::MatrixXd matrix;
  Eigen::Index at = 0;
  std::uint64_t left = 0;
  while (std::getline(*file, line)) {
    ++number;
    const std::vector<std::string> words = MtxWords(line);
    if (words.empty() || words[0][0] == '%') continue;
    if (matrix.size() == 0) {
      std::uint64_t rows = 0, columns = 0;
      if (words.size() != (sparse ? 3 : 2) ||
          !absl::SimpleAtoi(words[0], &rows) ||
          !absl::SimpleAtoi(words[1], &columns) || rows < 1 || columns < 1 ||
          (sparse && !absl::SimpleAtoi(words[2], &left)) ||
          rows > (std::uint64_t{1} << 31) / columns ||
          (symmetric && rows != columns))
        return MtxMalformed(number);
      matrix = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(rows),
                                     static_cast<Eigen::Index>(columns));
      if (!sparse) left = rows * columns;
      continue;
    }
    if (left-- == 0) return MtxMalformed(number);
    double value = 1;
    if (!sparse) {
      if (words.size() != 1 || !absl::SimpleAtod(words[0], &value))
        return MtxMalformed(number);
      matrix(at++) = value;
      continue;
    }
    Eigen::Index row = 0, column = 0;
    if (words.size() != (pattern ? 2 : 3) ||
        !absl::SimpleAtoi(words[0], &row) ||
        !absl::SimpleAtoi(words[1], &column) ||
        (!pattern && !absl::SimpleAtod(words[2], &value)) || row < 1 ||
        column < 1 || row > matrix.rows() || column > matrix.cols())
      return MtxMalformed(number);
    matrix(row - 1, column - 1) = value;
    if (symmetric) matrix(column - 1, row - 1) = value;
  }
  if (matrix.size() == 0 || left > 0) return MtxMalformed(number);
  return matrix;
}

absl::StatusOr<MatrixFile> WithoutNames(
    absl::StatusOr<Eigen::MatrixXd> entries) {
  if (!entries.ok()) return entries.status();
  return MatrixFile{.entries = *std::move(entries)};
}

}  // namespace

std::string NpyBytes(const Eigen::MatrixXd& w) {
  NpyHeader header;
  header.dtype = "<f8";
  header.shape = {static_cast<std::uint64_t>(w.rows()),
                  static_cast<std::uint64_t>(w.cols())};
  std::string bytes = NpyHeaderBytes(header);
  const RowMajor rows = w;
  bytes.append(reinterpret_cast<const char*>(rows.data()),
               static_cast<std::size_t>(rows.size()) * sizeof(double));
  return bytes;
}

std::string CsvText(const Eigen::MatrixXd& w,
                    const std::vector<std::string>& names) {
  std::string text;
  if (!names.empty()) {
    text = std::string(kNamesColumn);
    for (Eigen::Index j = 0; j < w.cols(); ++j)
      absl::StrAppend(&text, ",part_", j + 1);
    text.push_back('\n');
  }
  for (Eigen::Index i = 0; i < w.rows(); ++i) {
    if (!names.empty()) {
      absl::StrAppend(&text, CsvName(names[static_cast<std::size_t>(i)]), ",");
    }
    for (Eigen::Index j = 0; j < w.cols(); ++j)
      absl::StrAppendFormat(&text, "%s%.17g", j == 0 ? "" : ",", w(i, j));
    text.push_back('\n');
  }
  return text;
}

std::string MatrixMarketText(const Eigen::MatrixXd& w) {
  std::string text =
      absl::StrFormat("%%%%MatrixMarket matrix array real general\n%d %d\n",
                      w.rows(), w.cols());
  for (Eigen::Index j = 0; j < w.cols(); ++j)
    for (Eigen::Index i = 0; i < w.rows(); ++i)
      absl::StrAppendFormat(&text, "%.17g\n", w(i, j));
  return text;
}

absl::StatusOr<MatrixFile> ReadMatrixAndNames(const std::string& path) {
  InputStream file(path);
  if (!file) {
    return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                   absl::StrCat("'", path, "' cannot be opened."));
  }
  const std::string type = InputTypeOf(path);
  absl::StatusOr<MatrixFile> read;
  if (type == ".csv") {
    read = ReadCsv(&file);
  } else if (type == ".npy") {
    read = WithoutNames(ReadNpy(&file));
  } else if (type == ".mtx") {
    read = WithoutNames(ReadMtx(&file));
  } else {
    return BadInput(
        "file-type-unknown",
        absl::StrCat("'", path,
                     "' must end in .npy, .csv or .mtx, or in one of these and "
                     ".gz."));
  }
  // Checks the end first: a damaged or cut file may look malformed, or whole.
  DPNMF_RETURN_IF_ERROR(file.End());
  return read;
}

absl::StatusOr<Eigen::MatrixXd> ReadMatrixFile(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(MatrixFile file, ReadMatrixAndNames(path));
  return std::move(file.entries);
}

absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view bytes) {
  const std::filesystem::path target(path);
  const std::filesystem::path directory =
      target.has_parent_path() ? target.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return Refusal(absl::StatusCode::kNotFound, "directory-not-found",
                   absl::StrCat("There is no directory '", directory.string(),
                                "' to write into."));
  }
  // A model is no secret: the umask says who may read it.
  const absl::Status written = ReplaceAtomically(path, bytes, {}, 0666);
  if (written.ok()) return written;
  return Refusal(absl::StatusCode::kInternal, "file-not-written",
                 std::string(written.message()));
}

std::string ExtensionOf(const std::string& path) {
  return absl::AsciiStrToLower(
      std::filesystem::path(path).extension().string());
}

absl::Status OutputTypeUnknown(const std::string& output, const char* types) {
  return Refusal(absl::StatusCode::kInvalidArgument, "file-type-unknown",
                 absl::StrCat("`--output` must end in ", types, ", and '",
                              output, "' does not."));
}

}  // namespace dpnmf::cli
