#include "client/files/model_file.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/fields.h"
#include "common/files/npy.h"

namespace dpnmf::cli {
namespace {

using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::string CsvName(const std::string& name) {
  return name.find_first_of(",\"") == std::string::npos ? name
                                                        : CsvQuoted(name);
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

std::vector<std::string> NamesOfParts(Eigen::Index parts) {
  std::vector<std::string> names;
  for (Eigen::Index k = 1; k <= parts; ++k)
    names.push_back(absl::StrCat("part_", k));
  return names;
}

std::string CsvText(const Eigen::MatrixXd& matrix, const NamesOfTable& names) {
  std::string text;
  const auto begin = [&](const std::string& name) {
    return names.rows.empty() ? "" : absl::StrCat(CsvName(name), ",");
  };
  if (!names.columns.empty()) {
    absl::StrAppend(&text, begin(names.corner));
    for (std::size_t j = 0; j < names.columns.size(); ++j)
      absl::StrAppend(&text, j == 0 ? "" : ",", CsvName(names.columns[j]));
    text.push_back('\n');
  }
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    if (!names.rows.empty())
      absl::StrAppend(&text, begin(names.rows[static_cast<std::size_t>(i)]));
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
      absl::StrAppendFormat(&text, "%s%.17g", j == 0 ? "" : ",", matrix(i, j));
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
  DPNMF_ASSIGN_OR_RETURN(
      const LoadedMatrix table,
      LoadTable(path, /*users_are_rows=*/false, {.negative = true}));
  return EntriesOf(table);
}

Eigen::Map<const Eigen::MatrixXd> EntriesOf(const LoadedMatrix& table) {
  return {table.numbers.data(), static_cast<Eigen::Index>(table.features),
          static_cast<Eigen::Index>(table.users)};
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
