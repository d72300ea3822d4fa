// NumPy .npy files, and arrays of .npz files, of two dimensions: booleans,
// integers of 1 to 8 bytes, floats of 2, 4 and 8 bytes, either byte order, C or
// Fortran order.
#ifndef DPNMF_COMMON_TABLES_NPY_MATRIX_H_
#define DPNMF_COMMON_TABLES_NPY_MATRIX_H_

#include "absl/status/statusor.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"

namespace dpnmf {

absl::StatusOr<LoadedMatrix> ReadNpyMatrix(InputFile* input,
                                           bool users_are_rows,
                                           const LoadOptions& options);

// The array options.array of an .npz file; empty: its only array.
absl::StatusOr<LoadedMatrix> ReadNpzMatrix(InputFile* input,
                                           bool users_are_rows,
                                           const LoadOptions& options);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_NPY_MATRIX_H_
