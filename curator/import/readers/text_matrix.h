// CSV, TSV and blank-separated matrices: a row of numbers a line.
#ifndef DPNMF_CURATOR_IMPORT_READERS_TEXT_MATRIX_H_
#define DPNMF_CURATOR_IMPORT_READERS_TEXT_MATRIX_H_

#include "absl/status/statusor.h"
#include "curator/import/readers/input_file.h"
#include "curator/import/readers/load.h"

namespace dpnmf::curator {

// separator: ',', '\t' or kBlanks (common/files/fields.h). Reads `header` and
// `label_columns` of the options.
absl::StatusOr<LoadedMatrix> ReadTextMatrix(InputFile* input, char separator,
                                            bool users_are_rows,
                                            const LoadOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_READERS_TEXT_MATRIX_H_
