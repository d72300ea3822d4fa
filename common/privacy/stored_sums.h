// Data sets of sums that were made elsewhere, without people
// (docs/reference/ranks.md): the one kind of run that can be made of them.
#ifndef DPNMF_COMMON_PRIVACY_STORED_SUMS_H_
#define DPNMF_COMMON_PRIVACY_STORED_SUMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// Public: declared, or a function of what is declared.
struct StoredSums {
  int bits = 0;  // q_u of the lattice that the sums are on
  // Rows of the second moment: features counted from 0, ascending, fewer than D
  // and at most kMaxMomentRows. If empty, all features.
  std::vector<std::uint32_t> rows = {};

  friend bool operator==(const StoredSums&, const StoredSums&) = default;
};

// Checks that the rows are as StoredSums requires.
bool AreRowsOfSums(std::span<const std::uint32_t> rows, std::uint64_t features);

// M, and the length of the sums: D of the mean, then the upper triangle.
std::uint64_t MomentRowsOf(const StoredSums& sums, std::uint64_t features);
std::uint64_t CountOfSums(std::uint64_t features, std::uint64_t moment_rows);

// INVALID_ARGUMENT "sums-only" unless the run is `moments` alone, on as many
// rows, on that lattice.
absl::Status CheckSumsHoldRun(const StoredSums& sums, std::uint64_t features,
                              const RunParameters& parameters,
                              const RunPlan& plan);
// INVALID_ARGUMENT "sums-only" unless the rows of its second moment are those
// of the sums; empty: all features.
absl::Status CheckSumsHoldRows(const StoredSums& sums, std::uint64_t features,
                               std::span<const std::uint32_t> rows);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_STORED_SUMS_H_
