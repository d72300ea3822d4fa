// NumPy .npy files of two dimensions: booleans, integers of 1 to 8 bytes,
// floats of 4 and 8 bytes, either byte order, C or Fortran order.
#ifndef DPNMF_CURATOR_IMPORT_NPY_MATRIX_H_
#define DPNMF_CURATOR_IMPORT_NPY_MATRIX_H_

#include "absl/status/statusor.h"
#include "curator/import/input_file.h"
#include "curator/import/load.h"

namespace dpnmf::curator {

absl::StatusOr<LoadedMatrix> ReadNpyMatrix(InputFile* input,
                                           bool users_are_rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_NPY_MATRIX_H_
