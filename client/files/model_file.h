// A dictionary W (D x K) as the bytes of a file, and back.
#ifndef DPNMF_CLIENT_FILES_MODEL_FILE_H_
#define DPNMF_CLIENT_FILES_MODEL_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpnmf::cli {

// NumPy: D x K, "<f8", C order.
std::string NpyBytes(const Eigen::MatrixXd& w);
// D lines of K numbers with 17 significant digits. With names of the rows (D):
// the name comes first in each line, and a header "feature,part_1,..." above.
std::string CsvText(const Eigen::MatrixXd& w,
                    const std::vector<std::string>& names = {});
// Matrix Market, "array real general": column-major, 17 significant digits.
std::string MatrixMarketText(const Eigen::MatrixXd& w);

struct MatrixFile {
  Eigen::MatrixXd entries = {};
  // Names above the columns of `entries`, for a .csv with a header, whose
  // fields are no numbers; else empty.
  std::vector<std::string> column_names = {};
  // First column of a .csv with a header, if it is no column of numbers (its
  // field of the header is "feature" or empty, or its first entry is no
  // number); else empty.
  std::vector<std::string> row_names = {};
};

// Reads a matrix from .npy (little-endian numbers, two dimensions), .csv (as
// CsvText writes it, with another header, or without) or .mtx (Matrix Market:
// coordinate or array, general or symmetric), each also compressed by gzip, as
// .csv.gz. NOT_FOUND "file-not-found"; INVALID_ARGUMENT "npy-malformed",
// "csv-malformed" and "mtx-malformed" (with the line), "file-too-large",
// "file-type-unknown" or "input-unreadable" (damaged).
absl::StatusOr<MatrixFile> ReadMatrixAndNames(const std::string& path);
// Its entries.
absl::StatusOr<Eigen::MatrixXd> ReadMatrixFile(const std::string& path);

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
