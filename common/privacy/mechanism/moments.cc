// "moments": the mean S_v = sum v (if M < D), then S_G = sum v v' on M rows,
// then rounds of `statistics` for the rounds that are left.
//
// Without rounds of statistics, moments have the whole cost, else
// share_of_moments of it; the mean has share_of_mean of theirs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {
absl::Status CheckMomentRows(const RunParameters& parameters,
                             const DatasetFacts& facts) {
  const std::uint64_t most =
      std::min<std::uint64_t>(facts.features, kMaxMomentRows);
  if (parameters.moment_rows >= 1 && parameters.moment_rows <= most)
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "moment-rows-out-of-range",
      absl::StrFormat(
          "`moment_rows` must be from 1 to %d for this data set, not %d.", most,
          parameters.moment_rows));
}

// On the lattice 2^-bits; 2 c^2 under replace one (docs/reference/privacy.md,
// theorem 4a).
StageDraft StageOfMean(MuSquared allowance, int bits,
                       const DatasetFacts& facts) {
  const PartPlan mean{
      .name = "mean",
      .rows = facts.features,
      .columns = 1,
      .step_exponent = -bits,
      .left_norm_steps = NormBoundSteps(facts.column_bound, bits),
      .right_norm_steps = 1};
  return {.release = "mean",
          .rounds = 1,
          .parts = {{mean, allowance, LargestProductSteps(bits, facts)}}};
}

namespace {

bool SelectsRows(const RunParameters& parameters, const DatasetFacts& facts) {
  return parameters.moment_rows < facts.features;
}

// Before the rounds of statistics.
std::uint32_t RoundsOfMoments(const RunParameters& parameters,
                              const DatasetFacts& facts) {
  return SelectsRows(parameters, facts) ? 2 : 1;
}

RoundsRange Rounds(const RunParameters& parameters, const DatasetFacts& facts) {
  return {.least = RoundsOfMoments(parameters, facts)};
}

std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  const std::uint32_t later =
      parameters.rounds - RoundsOfMoments(parameters, facts);
  const MuSquared moments =
      later == 0 ? whole : ShareOf(whole, parameters.share_of_moments);
  std::vector<StageDraft> stages;
  MuSquared left = moments;
  if (SelectsRows(parameters, facts)) {
    const MuSquared mean = ShareOf(moments, parameters.share_of_mean);
    stages.push_back(StageOfMean(mean, bits, facts));
    left = Less(moments, mean);
  }
  const std::uint64_t rows = parameters.moment_rows;
  stages.push_back(
      {.release = std::string(kReleaseOfMoments),
       .rounds = 1,
       .parts = {PartOfProducts("G", rows, rows, true, bits, left, facts)}});
  if (later > 0) {
    stages.push_back(StageOfStatistics(
        "statistics", later, Less(whole, moments), bits, parameters, facts));
  }
  return stages;
}

std::string RowsText(const RunParameters& parameters) {
  return absl::StrCat("up to ", parameters.moment_rows,
                      parameters.shares.empty() ? " features" : " items");
}

constexpr Knob kKnobs[] = {
    // The text is that of the flag; CheckMomentRows refuses 0.
    {{"moment_rows", 14, &RunParameters::moment_rows},
     {.text = "1 or more", .code = "moment-rows-out-of-range"},
     {"--moment-rows", "M",
      "Only for moments and ratings: the most features or items whose second "
      "moment is released [moments: up to 1024; ratings: by the data set's "
      "size]"},
     {"moments of", RowsText}},
    {{"share_of_moments", 15, &RunParameters::share_of_moments},
     kShareRange,
     {"--share-of-moments", "X",
      "Only for moments with further --rounds: share of the run's cost before "
      "them [0.5]"}},
    {{"share_of_mean", 16, &RunParameters::share_of_mean}, kShareRange}};

// A first dictionary plays no part: moments make the one that rounds start at.
bool Uses(std::string_view field, const RunParameters& parameters,
          const DatasetFacts& facts) {
  if (IsOneOf(field, {"rounds", "moment_rows", "share_of_mean"})) return true;
  const bool is_alone = parameters.rounds <= RoundsOfMoments(parameters, facts);
  if (IsOneOf(field, {"loss", "sparseness"})) return is_alone;
  if (is_alone) return false;
  return field == "share_of_moments" ||
         (field != "initialisation" && StatisticsUse(field, parameters, facts));
}

}  // namespace

extern const Mechanism kMomentsMechanism = {
    .name = "moments",
    .summary = "one noised second moment",
    .fits_moments = true,
    .takes_rows = true,
    .may_be_federated = true,
    .releases_can_be_added = true,
    .rounds = Rounds,
    .check = CheckMomentRows,
    .stages = Stages,
    .uses = Uses,
    .knobs = kKnobs,
    .forecast_by = ForecastBy::kSecondMoment,
    .forecast_part = "G",
};

}  // namespace dpnmf
