// Columns of V as a data set stores them: weighted, normalised or clipped.
#ifndef DPNMF_CURATOR_IMPORT_COLUMNS_H_
#define DPNMF_CURATOR_IMPORT_COLUMNS_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "common/tables/load.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Every column by itself, in double precision, rounded to float once.
// `weights`: of the D features, as LoadFeatureWeights gives them, or none;
// every entry is multiplied by that of its feature first, and lengths are those
// of the products. Entries of a sparse matrix that become 0 are removed. kL2:
// divided by its Euclidean length; a zero column stays zero. kNone: scaled down
// to length `column_bound` where it is longer. column_bound > 0; kL2 does not
// read it.
void NormaliseColumns(LoadedMatrix* matrix, Normalisation normalisation,
                      double column_bound,
                      std::span<const double> weights = {});

// An in-memory data set of the matrix. The description's features, users (under
// replace one) and sparse are set from the matrix.
absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(
    LoadedMatrix matrix, DatasetDescription description);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_COLUMNS_H_
