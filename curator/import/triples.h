// "user item value" lines, as recommender data come.
#ifndef DPNMF_CURATOR_IMPORT_TRIPLES_H_
#define DPNMF_CURATOR_IMPORT_TRIPLES_H_

#include "absl/status/statusor.h"
#include "curator/import/input_file.h"
#include "curator/import/load.h"

namespace dpnmf::curator {

// Separated by blanks, a tab or a comma (the first line decides). A fourth
// field (a time) is ignored. The first line is a header if it has no number in
// its third field. Users and items are any words; users become columns in the
// order of their first appearance. Reads `feature_names` and `users_count` of
// the options.
absl::StatusOr<LoadedMatrix> ReadTriples(InputFile* input,
                                         const LoadOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_TRIPLES_H_
