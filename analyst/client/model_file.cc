#include "analyst/client/model_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/csv.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/npy.h"
#include "common/base/read_file.h"

namespace dpnmf::cli {
namespace {

using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// 16 GiB: the bytes of a file that is given as a dictionary.
constexpr std::size_t kLargestMatrixFile = std::size_t{16} << 30;

absl::Status Malformed(absl::string_view code, absl::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 std::string_view(code.data(), code.size()),
                 std::string_view(sentence.data(), sentence.size()));
}

template <typename Scalar>
absl::StatusOr<Eigen::MatrixXd> NpyEntries(const NpyHeader& header,
                                           std::string_view bytes) {
  const auto rows = static_cast<Eigen::Index>(header.shape[0]);
  const auto columns = static_cast<Eigen::Index>(header.shape[1]);
  const std::string_view data = bytes.substr(header.data_offset);
  if (header.shape[1] == 0 ||
      data.size() / sizeof(Scalar) / header.shape[1] != header.shape[0] ||
      data.size() != header.shape[0] * header.shape[1] * sizeof(Scalar)) {
    return Malformed(
        "npy-malformed",
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
    return Malformed("npy-malformed",
                     "A dictionary has two dimensions, D x K.");
  if (header.data_offset > bytes.size())
    return Malformed("npy-malformed", "The .npy file ends inside its header.");
  if (header.dtype == "<f8") return NpyEntries<double>(header, bytes);
  if (header.dtype == "<f4") return NpyEntries<float>(header, bytes);
  return Malformed(
      "npy-malformed",
      absl::StrCat("A dictionary is read from <f8 or <f4, not from ",
                   header.dtype, "."));
}

// Header of the column of names.
constexpr absl::string_view kNamesColumn = "feature";

std::string CsvName(const std::string& name) {
  return name.find_first_of(",\"") == std::string::npos ? name
                                                        : CsvQuoted(name);
}

// The line behind its name and the comma.
absl::string_view WithoutName(absl::string_view line) {
  std::size_t end = 0;
  // Quotes come in pairs: a comma between two of them is part of the name.
  for (bool quoted = false; end < line.size(); ++end) {
    if (line[end] == '"') quoted = !quoted;
    if (line[end] == ',' && !quoted) return line.substr(end + 1);
  }
  return "";
}

bool IsHeader(absl::string_view line) {
  for (const absl::string_view field : absl::StrSplit(line, ',')) {
    double value = 0;
    if (absl::SimpleAtod(field, &value)) return false;
  }
  return true;
}

absl::StatusOr<std::vector<double>> CsvLine(absl::string_view line,
                                            std::size_t number, bool named) {
  std::vector<double> values;
  if (named) line = WithoutName(line);
  for (const absl::string_view field : absl::StrSplit(line, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(field, &value)) {
      return Malformed(
          "csv-malformed",
          absl::StrCat("Line ", number, ", column ",
                       values.size() + (named ? 2 : 1), " is not a number."));
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<Eigen::MatrixXd> MatrixOfCsv(std::istream& lines) {
  std::vector<std::vector<double>> rows;
  std::size_t number = 0;
  bool header = false, named = false;
  for (std::string line; std::getline(lines, line);) {
    absl::StripTrailingAsciiWhitespace(&line);
    ++number;
    if (line.empty()) continue;
    if (rows.empty() && !header && IsHeader(line)) {
      header = true;
      named = absl::StartsWith(line, absl::StrCat(kNamesColumn, ","));
      continue;
    }
    DPNMF_ASSIGN_OR_RETURN(auto row, CsvLine(line, number, named));
    if (!rows.empty() && row.size() != rows[0].size()) {
      return Malformed(
          "csv-malformed",
          absl::StrCat("Line ", number, " has ", row.size(),
                       " numbers; the first has ", rows[0].size(), "."));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return Malformed("csv-malformed", "The file is empty.");
  Eigen::MatrixXd matrix(rows.size(), rows[0].size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          rows[i][j];
  return matrix;
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

absl::StatusOr<Eigen::MatrixXd> ReadMatrixFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Refusal(absl::StatusCode::kNotFound, "file-not-found",
                   absl::StrCat("'", path, "' cannot be opened."));
  }
  const std::string extension = ExtensionOf(path);
  if (extension == ".csv") return MatrixOfCsv(file);
  if (extension != ".npy") {
    return Malformed("file-type-unknown",
                     absl::StrCat("'", path, "' must end in .npy or .csv."));
  }
  DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadFile(path, kLargestMatrixFile));
  return MatrixOfNpy(bytes);
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
