// Matrix Market files (NIST): coordinate and array, real, integer or pattern,
// general symmetry.
#ifndef DPNMF_CURATOR_IMPORT_MATRIX_MARKET_H_
#define DPNMF_CURATOR_IMPORT_MATRIX_MARKET_H_

#include "absl/status/statusor.h"
#include "curator/import/input_file.h"
#include "curator/import/load.h"

namespace dpnmf::curator {

// Coordinate gives a sparse matrix, array a dense one.
absl::StatusOr<LoadedMatrix> ReadMatrixMarket(InputFile* input,
                                              bool users_are_rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_MATRIX_MARKET_H_
