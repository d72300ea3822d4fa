// NumPy .npy files of two dimensions: booleans, integers of 1 to 8 bytes,
// floats of 4 and 8 bytes, either byte order, C or Fortran order.
#ifndef DPNMF_CURATOR_DATA_NPY_MATRIX_H_
#define DPNMF_CURATOR_DATA_NPY_MATRIX_H_

#include "absl/status/statusor.h"
#include "curator/data/input_file.h"
#include "curator/data/load.h"

namespace dpnmf::curator {

absl::StatusOr<LoadedMatrix> ReadNpyMatrix(InputFile* input,
                                           bool users_are_rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_NPY_MATRIX_H_
