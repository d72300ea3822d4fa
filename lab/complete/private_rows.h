// Differentially private completion beside the published methods: the mechanism
// of ratings (docs/reference/recommender.md) on the same ratings, in process.
//
// RESEARCH ONLY: the noise comes from a seeded generator, and nothing is
// charged, so its tables are no releases and get no draft.
#ifndef DPNMF_LAB_COMPLETE_PRIVATE_ROWS_H_
#define DPNMF_LAB_COMPLETE_PRIVATE_ROWS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/complete/input.h"
#include "lab/complete/report.h"

namespace dpnmf::curator::lab {

struct PrivateRowsOptions {
  std::vector<double> epsilon;
  double delta = 1e-5;
  int threads = 1;
};

// "dp-item-effects" (the first release alone, and each person's own mean) and
// "dp-ratings" (all releases) for each epsilon; neighbours replace one person.
// A person's own row is solved from the model and that person's own ratings: it
// is for this person alone, and is no part of a published table.
// INVALID_ARGUMENT "complete-range-missing" without a declared range; errors of
// RunPrivately.
absl::StatusOr<std::vector<CompletionResult>> PrivateResults(
    const LoadedCompletion& loaded, const PrivateRowsOptions& options,
    Draws* draws, const std::function<bool()>& stop);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_PRIVATE_ROWS_H_
