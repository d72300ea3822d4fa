// CSV, TSV and blank-separated matrices: a row of numbers a line.
#ifndef DPNMF_COMMON_TABLES_TEXT_MATRIX_H_
#define DPNMF_COMMON_TABLES_TEXT_MATRIX_H_

#include "absl/status/statusor.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"

namespace dpnmf {

// separator: ',', '\t' or kBlanks (common/files/fields.h). Reads `header` and
// `label_columns` of the options.
absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_TEXT_MATRIX_H_
