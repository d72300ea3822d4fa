// The first W of factorize.
#ifndef DPNMF_LAB_FACTORIZE_START_H_
#define DPNMF_LAB_FACTORIZE_START_H_

#include <cstdint>

#include "curator/data/dataset.h"
#include "lab/factorize/passes.h"

namespace dpnmf::curator::lab {

// Each column is the mean of five random columns of V ("random Acol":
// Langville et al. 2006). For dense data: a start by singular vectors costs
// more than it saves there (docs/decisions/0006-numeric-core.md).
RowMatrix StartFromColumns(const Dataset& data, int rank, std::uint64_t seed);

// NNDSVD (Boutsidis and Gallopoulos 2008): of each pair of singular vectors the
// sign part of larger product. The vectors by block Lanczos from a random start
// (Golub and Underwood 1977; Musco and Musco 2015). For sparse data, where
// means of columns lead to worse optima. Columns of length 1.
RowMatrix StartFromSingularVectors(FactorizePasses* passes, int features,
                                   std::uint64_t users, int rank,
                                   std::uint64_t seed);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_FACTORIZE_START_H_
