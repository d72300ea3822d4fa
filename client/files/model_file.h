// A dictionary W (D x K) as the bytes of a file, and back.
#ifndef DPNMF_CLIENT_FILES_MODEL_FILE_H_
#define DPNMF_CLIENT_FILES_MODEL_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tables/load.h"

namespace dpnmf::cli {

// NumPy: D x K, "<f8", C order.
std::string NpyBytes(const Eigen::MatrixXd& w);
// "part_1", "part_2", ...
std::vector<std::string> NamesOfParts(Eigen::Index parts);
struct NamesOfTable {
  std::vector<std::string> columns = {}, rows = {};  // empty: none
  std::string corner = "feature";  // above the names of the rows
};
// A line of numbers with 17 significant digits for each row.
std::string CsvText(const Eigen::MatrixXd& matrix,
                    const NamesOfTable& names = {});
// Matrix Market, "array real general": column-major, 17 significant digits.
std::string MatrixMarketText(const Eigen::MatrixXd& w);

// Reads a matrix as LoadTable does, people or parts in columns, with negative
// numbers. Errors of LoadTable.
absl::StatusOr<Eigen::MatrixXd> ReadMatrixFile(const std::string& path);
// The numbers of a table (LoadTable), D x N.
Eigen::Map<const Eigen::MatrixXd> EntriesOf(const LoadedMatrix& table);

// All of `bytes` under `path`, or nothing: a temporary file beside it is
// written, synced and renamed. An existing file is replaced. NOT_FOUND
// "directory-not-found"; INTERNAL "file-not-written" (a full disk, for one).
absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view bytes);

// ".npy" of "out/W.npy"; empty if there is none. Lower case.
std::string ExtensionOf(const std::string& path);
// INVALID_ARGUMENT "file-type-unknown": the file of `--output` is of none of
// the types that are named, ".npy or .csv".
absl::Status OutputTypeUnknown(const std::string& output, const char* types);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FILES_MODEL_FILE_H_
