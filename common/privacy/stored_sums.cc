#include "common/privacy/stored_sums.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

absl::Status SumsOnly(const StoredSums& sums, std::uint64_t features) {
  if (sums.rows.empty()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "sums-only",
        absl::StrCat("The data set contains sums of products of its ", features,
                     " features and no people: use `moments` on all of them, "
                     "in one round, at an epsilon that is not extreme."));
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "sums-only",
      absl::StrCat(
          "The data set holds sums of products of ", sums.rows.size(),
          " of its ", features, " features (the first is ", sums.rows.front(),
          ", the last ", sums.rows.back(),
          ", from 0) and no people: use `moments` on these, with the file that "
          "was given to dpnmf-sums (`dpnmf train --rows FILE`), in two rounds, "
          "at an epsilon that is not extreme."));
}

}  // namespace

bool AreRowsOfSums(std::span<const std::uint32_t> rows,
                   std::uint64_t features) {
  return rows.size() <= kMaxMomentRows && rows.size() < features &&
         std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) ==
             rows.end() &&
         (rows.empty() ? features <= kMaxMomentRows : rows.back() < features);
}

std::uint64_t MomentRowsOf(const StoredSums& sums, std::uint64_t features) {
  return sums.rows.empty() ? features : sums.rows.size();
}

std::uint64_t CountOfSums(std::uint64_t features, std::uint64_t moment_rows) {
  return features + moment_rows * (moment_rows + 1) / 2;
}

absl::Status CheckSumsHoldRun(const StoredSums& sums, std::uint64_t features,
                              const RunParameters& parameters,
                              const RunPlan& plan) {
  // The mean comes first where the rows are fewer.
  const std::size_t stages = sums.rows.empty() ? 1 : 2;
  const bool moments_alone = plan.stages.size() == stages &&
                             plan.stages.back().release == kReleaseOfMoments;
  if (moments_alone && parameters.moment_rows == MomentRowsOf(sums, features) &&
      plan.data_bits == sums.bits)
    return absl::OkStatus();
  return SumsOnly(sums, features);
}

absl::Status CheckSumsHoldRows(const StoredSums& sums, std::uint64_t features,
                               std::span<const std::uint32_t> rows) {
  return std::ranges::equal(rows, sums.rows) ? absl::OkStatus()
                                             : SumsOnly(sums, features);
}

}  // namespace dpnmf
