// Mechanisms at the curator: what is summed over people, and what is published
// of the noised sums. The descriptor that both parties share, and where the
// list is: common/privacy/mechanism.h.
#ifndef DPNMF_CURATOR_MECHANISM_MECHANISM_H_
#define DPNMF_CURATOR_MECHANISM_MECHANISM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/base/name_table.h"
#include "common/nmf/round_input.h"
#include "common/privacy/run_plan.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"
#include "curator/mechanism/round_sums.h"

namespace dpnmf::curator {

// Inputs that a round is computed from.
struct RoundContext {
  const Dataset& data;
  const RunParameters& parameters;
  const RunPlan& plan;
  Execution execution;
  // H of the run's rounds before; made by the first round that needs it.
  std::unique_ptr<Coefficients>* coefficients = nullptr;
};

// Bytes that a round may hold, from the request and public facts alone.
struct RoundMemory {
  Uint128 coefficients = 0;  // for the whole run: H
  Uint128 computing = 0;     // while the round is computed
};

// The rounds of a stage. Functions are pure; sums may use threads.
struct ReleaseKind {
  std::string_view name;  // StagePlan::release
  // From the request and public facts alone. Errors of CheckDictionary;
  // INVALID_ARGUMENT "matrix-shape", "rows-malformed", "numbers-malformed"; of
  // ratings and of aimed "model-out-of-range"; of co-ratings
  // "row-weights-malformed".
  absl::Status (*check)(const RoundInput& input,
                        const RunParameters& parameters,
                        const DatasetFacts& facts);
  // The exact sums of the stage's parts. No person adds more to a part than
  // its plan's norms say, whatever the data are.
  absl::StatusOr<RoundSums> (*sums)(const RoundInput& input,
                                    const RoundContext& context);
  // The post-processing of one round: it sees noised values and the request
  // alone.
  PostProcess (*publish)(const RoundInput& input);
  RoundMemory (*memory)(const RunParameters& parameters,
                        const DatasetDescription& data, int threads);
  // The planned parts as this request wants them: fewer entries, with the same
  // noise and price. Null: as planned.
  void (*narrow)(const RoundInput& input,
                 std::vector<PartPlan>* parts) = nullptr;
  // The sums of any ranges of people add up to the sums of all, entry by entry
  // and none of them negative; of `parameters` and `plan` they read no more
  // than a RankCommand has (curator/ranks/frames.h).
  bool by_ranges = false;
};

struct Mechanism {
  std::string_view name;
  // Releases of the mechanism's stages; no other mechanism's file has them.
  std::span<const ReleaseKind> releases;
};

// All of them, by name.
const NameTable<Mechanism>& Mechanisms();

// The kind of a stage of a plan. Stops the process unless there is exactly one
// of that name: a charge for one release must never pay for another.
const ReleaseKind& ReleaseKindOf(std::string_view release);

// Checks that the data set holds what a run needs. A data set without columns
// holds sums: it serves only runs of `moments`, on exactly the rows of its
// sums. CheckDataHoldsRun checks the number of rows when the run is opened, and
// CheckDataHoldsRound the rows themselves, which come with the round of the
// second moment. INVALID_ARGUMENT "sums-only".
absl::Status CheckDataHoldsRun(const DatasetDescription& data,
                               const RunParameters& parameters,
                               const RunPlan& plan);
absl::Status CheckDataHoldsRound(const DatasetDescription& data,
                                 std::string_view release,
                                 const RoundInput& input);

// Shared by the kinds.
absl::Status CheckTakesDictionary(const RoundInput& input,
                                  const RunParameters& parameters,
                                  const DatasetFacts& facts);
absl::Status CheckTakesNothing(const RoundInput& input,
                               const RunParameters& parameters,
                               const DatasetFacts& facts);
// "rows-malformed", "numbers-malformed" if there are any.
absl::Status CheckTakesNoRows(const RoundInput& input);
absl::Status CheckTakesNoNumbers(const RoundInput& input);
// 1 to M different rows below D, ascending: "rows-malformed".
absl::Status CheckRows(std::span<const std::uint32_t> rows,
                       const RunParameters& parameters,
                       const DatasetFacts& facts);
// CheckRows, and nothing else.
absl::Status CheckTakesRows(const RoundInput& input,
                            const RunParameters& parameters,
                            const DatasetFacts& facts);
absl::StatusOr<RoundSums> SumsOfStatistics(const RoundInput& input,
                                           const RoundContext& context);
StatisticsRequest StatisticsRequestOf(const RoundInput& input,
                                      const RoundContext& context);
PostProcess PublishAll(const RoundInput& input);
// H for as many people as there may be; StatisticsBytes.
RoundMemory MemoryOfHStep(const RunParameters& parameters,
                          const DatasetDescription& data, bool outliers,
                          bool objective, int threads);
// Memory of rounds of A and B.
RoundMemory MemoryOfStatistics(const RunParameters& parameters,
                               const DatasetDescription& data, int threads);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MECHANISM_MECHANISM_H_
