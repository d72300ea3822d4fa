// Between wire messages and plain structs. Wire input is validated elsewhere
// (CheckRunParameters); here only what a message cannot express is refused.
#ifndef DPNMF_COMMON_WIRE_CONVERT_H_
#define DPNMF_COMMON_WIRE_CONVERT_H_

#include "absl/status/statusor.h"
#include "common/privacy/accounting.h"
#include "common/privacy/budget.h"
#include "common/privacy/run_plan.h"
#include "common/privacy/stored_sums.h"
#include "dpnmf/v1/curator.pb.h"
#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf {

v1::MuSquared ToProto(MuSquared cost);
// INVALID_ARGUMENT "cost-malformed" if `units` is not a decimal integer.
absl::StatusOr<MuSquared> FromProto(const v1::MuSquared& cost);

// cap, charged and reserved; `left` follows from them. INVALID_ARGUMENT
// "cost-malformed".
absl::StatusOr<Budget> FromProto(const v1::OwnLimit& limit);
// The population's.
absl::StatusOr<Budget> FromProto(const v1::LedgerPosition& position);
// Returns the most that one run of the caller may cost: the rest of the
// population's budget, or of the caller's own limit if that is less.
absl::StatusOr<MuSquared> RoomOf(const v1::LedgerPosition& position);

v1::Adjacency ToProto(Adjacency adjacency);
v1::Conversion ToProto(Conversion conversion);
// INVALID_ARGUMENT "adjacency-mismatch" / "conversion-mismatch" if unspecified.
absl::StatusOr<Adjacency> FromProto(v1::Adjacency adjacency);
absl::StatusOr<Conversion> FromProto(v1::Conversion conversion);

// The stage of a round (from 1) and the round's number within it (from 1);
// nullptr past the last.
struct StageOfRound {
  const v1::StagePlan* stage = nullptr;
  std::uint32_t round = 0;
};
StageOfRound StageOf(const v1::RunPlan& plan, std::uint32_t round);

v1::Epsilons ToProto(const Epsilons& epsilons);
v1::StagePlan ToProto(const StagePlan& stage, const DatasetFacts& facts);

v1::RunParameters ToProto(const RunParameters& parameters);
absl::StatusOr<RunParameters> FromProto(const v1::RunParameters& parameters);
// The same without adjacency and conversion, which may be malformed.
RunParameters ValuesOf(const v1::RunParameters& parameters);

// `users` (N or N0) turns deviations of sums into those of A and B.
absl::StatusOr<v1::RunPlan> ToProto(const RunPlan& plan,
                                    const RunParameters& parameters,
                                    const DatasetFacts& facts);

absl::StatusOr<DatasetFacts> FactsOf(const v1::Dataset& dataset);

v1::StoredSums ToProto(const StoredSums& sums);
StoredSums FromProto(const v1::StoredSums& sums);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_CONVERT_H_
