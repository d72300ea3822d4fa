#include "common/privacy/run_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/privacy/column_bound.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kLargestStddevSteps = std::uint64_t{1} << 50;
constexpr Uint128 kSumLimit = Uint128{1} << 62;
constexpr Uint128 kCostLimit = Uint128{1} << 120;
constexpr int kMostEntryBits = 20;  // m < 2^21
constexpr int kLeastEntryBits = 9;  // m >= 2^9
constexpr std::uint64_t kMostUsers = std::uint64_t{1} << 40;

absl::Status Invalid(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

// floor(value * 2^exponent), at most 2^64 - 1. value < 2^107.
std::uint64_t ScaledDown(Uint128 value, int exponent) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (value == 0 || exponent <= -128) return 0;
  if (exponent < 0) value >>= -exponent;
  for (; exponent > 0 && value <= kMost; --exponent) value <<= 1;
  return value > kMost ? kMost : static_cast<std::uint64_t>(value);
}

// A positive finite double is mantissa * 2^exponent, exactly.
struct ExactDouble {
  Uint128 mantissa;  // below 2^53
  int exponent;
};

ExactDouble Exactly(double value) {
  if (!(value > 0 && std::isfinite(value))) return {0, 0};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return {static_cast<Uint128>(std::ldexp(fraction, 53)), exponent - 53};
}

// ceil(numerator * 2^shift / denominator) by long division; nothing if that
// reaches 2^120. 0 < denominator < 2^127.
std::optional<Uint128> CeilOfScaledRatio(Uint128 numerator, int shift,
                                         Uint128 denominator) {
  Uint128 quotient = numerator / denominator;
  Uint128 remainder = numerator % denominator;
  for (; shift > 0; --shift) {
    if (quotient >= kCostLimit) return std::nullopt;
    remainder *= 2;
    quotient = 2 * quotient + (remainder >= denominator ? 1 : 0);
    if (remainder >= denominator) remainder -= denominator;
  }
  if (remainder != 0) ++quotient;
  if (quotient >= kCostLimit) return std::nullopt;
  return quotient;
}

// The smallest sigma_diag >= sqrt(2) sigma_off. sigma_off <= 2^50.
std::uint64_t DiagonalStddev(std::uint64_t stddev) {
  const Uint128 wanted = 2 * static_cast<Uint128>(stddev) * stddev;
  const auto square = [](std::uint64_t x) {
    return static_cast<Uint128>(x) * x;
  };
  auto diagonal =
      static_cast<std::uint64_t>(std::sqrt(2.0) * static_cast<double>(stddev));
  while (square(diagonal) < wanted) ++diagonal;
  while (diagonal > 0 && square(diagonal - 1) >= wanted) --diagonal;
  return diagonal;
}

void SetStddev(std::uint64_t stddev, PartPlan* part) {
  part->stddev_steps = stddev;
  part->diagonal_stddev_steps = part->symmetric ? DiagonalStddev(stddev) : 0;
}

absl::Status InvalidPlan(const PartPlan& part, std::string_view what) {
  return Refusal(absl::StatusCode::kInternal, "plan-invalid",
                 absl::StrFormat("the noise of part %s is not usable: %s",
                                 part.name, what));
}

// mu^2 = Delta^2 / sigma^2, respectively Delta^2 / min(sigma_diag^2,
// 2 sigma_off^2), with Delta^2 = 2 left right, respectively left right.
absl::StatusOr<MuSquared> CostOfPart(const PartPlan& part,
                                     Adjacency adjacency) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;
  const Uint128 stddev = part.stddev_steps;
  const Uint128 diagonal = part.diagonal_stddev_steps;
  if (stddev == 0 || stddev > kLargest || diagonal > kLargest) {
    return InvalidPlan(part, "a standard deviation is 0 or above 2^62");
  }
  Uint128 variance = stddev * stddev;
  if (part.symmetric) {
    if (diagonal * diagonal < 2 * variance) {
      return InvalidPlan(
          part, "that of the diagonal is below sqrt(2) times the other");
    }
    variance = 2 * variance;
  }
  const Uint128 norms =
      static_cast<Uint128>(part.left_norm_steps) * part.right_norm_steps;
  const bool doubled = adjacency == Adjacency::kReplaceOne && !part.one_sided;
  const int doublings = doubled ? 1 : 0;
  const auto units =
      CeilOfScaledRatio(norms, MuSquared::kFractionBits + doublings, variance);
  if (!units.has_value())
    return InvalidPlan(part, "it is too small for any budget");
  return MuSquared::FromUnits(*units);
}

// The smallest sigma whose cost stays within the allowance; false if 2^50 steps
// are not enough.
bool Calibrate(MuSquared allowance, Adjacency adjacency, PartPlan* part) {
  const auto fits = [&](std::uint64_t stddev) {
    SetStddev(stddev, part);
    const auto cost = CostOfPart(*part, adjacency);
    return cost.ok() && *cost <= allowance;
  };
  std::uint64_t too_small = 0, enough = kLargestStddevSteps;
  if (!fits(enough)) return false;
  while (enough - too_small > 1) {
    const std::uint64_t middle = too_small + (enough - too_small) / 2;
    (fits(middle) ? enough : too_small) = middle;
  }
  SetStddev(enough, part);
  return std::max(part->stddev_steps, part->diagonal_stddev_steps) <=
         kLargestStddevSteps;
}

// The allowance is first cut to its 32 leading bits: it comes from floating
// point, and both parties should find the same sigmas even where their
// mathematics libraries differ in a last bit.
MuSquared LeadingBits(MuSquared whole) {
  int dropped = 0;
  while ((whole.units() >> dropped) >= (Uint128{1} << 32)) ++dropped;
  return MuSquared::FromUnits((whole.units() >> dropped) << dropped);
}

// floor(share * whole), share in (0, 1) cut to 48 bits. whole < 2^73 (epsilon
// <= 1000), so the product stays below 2^121.
MuSquared ShareOf(MuSquared whole, double share) {
  const auto parts_of_2_48 = static_cast<Uint128>(std::ldexp(share, 48));
  return MuSquared::FromUnits((whole.units() * parts_of_2_48) >> 48);
}

MuSquared Less(MuSquared whole, MuSquared part) {
  return MuSquared::FromUnits(whole.units() - part.units());
}

// One stage before its noise, with what each part may cost a round.
struct Draft {
  StagePlan stage;
  std::vector<MuSquared> allowances;
};

// Sums of products of two vectors of length c at most, on the lattice 4^-bits.
PartPlan PartOfProducts(std::string name, std::uint64_t rows,
                        std::uint64_t columns, bool symmetric, int bits,
                        const DatasetFacts& facts) {
  const std::uint64_t norm = NormBoundSteps(facts.column_bound, bits);
  return {.name = std::move(name),
          .rows = rows,
          .columns = columns,
          .symmetric = symmetric,
          .step_exponent = -2 * bits,
          .left_norm_steps = norm,
          .right_norm_steps = norm};
}

// A (K x K) and B (D x K).
Draft DraftOfStatistics(ReleaseKind kind, std::uint32_t rounds,
                        MuSquared allowance, int bits,
                        const RunParameters& parameters,
                        const DatasetFacts& facts) {
  const std::uint64_t rank = parameters.rank;
  const MuSquared round = MuSquared::FromUnits(allowance.units() / rounds);
  const MuSquared a = ShareOf(round, parameters.share_of_a);
  return {
      .stage = {.kind = kind,
                .rounds = rounds,
                .parts = {PartOfProducts("A", rank, rank, true, bits, facts),
                          PartOfProducts("B", facts.features, rank, false, bits,
                                         facts)}},
      .allowances = {a, Less(round, a)}};
}

// S_v on the lattice 2^-bits.
Draft DraftOfMean(MuSquared allowance, int bits, const DatasetFacts& facts) {
  const PartPlan mean{
      .name = "mean",
      .rows = facts.features,
      .columns = 1,
      .step_exponent = -bits,
      .left_norm_steps = NormBoundSteps(facts.column_bound, bits),
      .right_norm_steps = 1};
  return {.stage = {.kind = ReleaseKind::kMean, .rounds = 1, .parts = {mean}},
          .allowances = {allowance}};
}

Draft DraftOfMoments(MuSquared allowance, int bits,
                     const RunParameters& parameters,
                     const DatasetFacts& facts) {
  const std::uint64_t rows = parameters.moment_rows;
  return {
      .stage = {.kind = ReleaseKind::kMoments,
                .rounds = 1,
                .parts = {PartOfProducts("G", rows, rows, true, bits, facts)}},
      .allowances = {allowance}};
}

// A user adds a number of [0, c^2 / 2].
Draft DraftOfObjective(MuSquared allowance, int bits,
                       const DatasetFacts& facts) {
  const std::uint64_t most = LargestLossSteps(facts.column_bound, bits);
  const PartPlan objective{.name = "objective",
                           .rows = 1,
                           .columns = 1,
                           .step_exponent = -2 * bits,
                           .left_norm_steps = most,
                           .right_norm_steps = most,
                           .one_sided = true};
  return {.stage = {.kind = ReleaseKind::kObjective,
                    .rounds = 1,
                    .parts = {objective}},
          .allowances = {allowance}};
}

bool SelectsRows(const RunParameters& parameters, const DatasetFacts& facts) {
  return parameters.moment_rows < facts.features;
}

// Rounds of a moments run before its statistics.
std::uint32_t RoundsOfMoments(const RunParameters& parameters,
                              const DatasetFacts& facts) {
  return SelectsRows(parameters, facts) ? 2 : 1;
}

std::vector<Draft> DraftsOfMomentsRun(MuSquared whole, int bits,
                                      const RunParameters& parameters,
                                      const DatasetFacts& facts) {
  const std::uint32_t later =
      parameters.rounds - RoundsOfMoments(parameters, facts);
  const MuSquared moments =
      later == 0 ? whole : ShareOf(whole, parameters.share_of_moments);
  std::vector<Draft> drafts;
  MuSquared left = moments;
  if (SelectsRows(parameters, facts)) {
    const MuSquared mean = ShareOf(moments, parameters.share_of_mean);
    drafts.push_back(DraftOfMean(mean, bits, facts));
    left = Less(moments, mean);
  }
  drafts.push_back(DraftOfMoments(left, bits, parameters, facts));
  if (later > 0) {
    drafts.push_back(DraftOfStatistics(ReleaseKind::kStatistics, later,
                                       Less(whole, moments), bits, parameters,
                                       facts));
  }
  return drafts;
}

std::vector<Draft> DraftsOf(MuSquared whole, int bits,
                            const RunParameters& parameters,
                            const DatasetFacts& facts) {
  if (parameters.mechanism == "moments")
    return DraftsOfMomentsRun(whole, bits, parameters, facts);
  if (parameters.mechanism == "objective")
    return {DraftOfObjective(whole, bits, facts)};
  const ReleaseKind kind = parameters.mechanism == "gradient"
                               ? ReleaseKind::kGradient
                               : ReleaseKind::kStatistics;
  return {DraftOfStatistics(kind, parameters.rounds, whole, bits, parameters,
                            facts)};
}

// Finds the noise of a draft; false if it does not fit.
bool CalibrateStage(Adjacency adjacency, Draft* draft) {
  for (std::size_t i = 0; i < draft->allowances.size(); ++i) {
    if (!Calibrate(draft->allowances[i], adjacency, &draft->stage.parts[i]))
      return false;
  }
  return true;
}

// N_max m_a m_b + 64 sigma/step < 2^62. No user adds more than m^2 to an entry
// of any part.
bool FitsIntegers(const StagePlan& stage, int bits, const DatasetFacts& facts) {
  const Uint128 m = LargestEntrySteps(facts.column_bound, bits);
  const Uint128 largest_sum = m * m * LargestUserCount(facts);
  return std::all_of(
      stage.parts.begin(), stage.parts.end(), [&](const PartPlan& part) {
        const std::uint64_t stddev =
            std::max(part.stddev_steps, part.diagonal_stddev_steps);
        return largest_sum + 64 * static_cast<Uint128>(stddev) < kSumLimit;
      });
}

// The stages with their noise; nothing if `bits` leave no room for it.
std::optional<std::vector<StagePlan>> StagesWithBits(
    MuSquared whole, int bits, const RunParameters& parameters,
    const DatasetFacts& facts) {
  std::vector<StagePlan> stages;
  for (Draft& draft : DraftsOf(whole, bits, parameters, facts)) {
    if (!CalibrateStage(parameters.adjacency, &draft) ||
        !FitsIntegers(draft.stage, bits, facts)) {
      return std::nullopt;
    }
    stages.push_back(std::move(draft.stage));
  }
  return stages;
}

// Adds up what the stages cost.
absl::Status SetCosts(MuSquared whole, Adjacency adjacency, RunPlan* plan) {
  plan->cost = MuSquared();
  for (StagePlan& stage : plan->stages) {
    DPNMF_ASSIGN_OR_RETURN(stage.cost_per_round,
                           CostOfDrawing(stage.parts, adjacency));
    const auto cost = MuSquared::Multiply(stage.cost_per_round, stage.rounds);
    const auto sum =
        cost.has_value() ? MuSquared::Add(plan->cost, *cost) : std::nullopt;
    if (!sum.has_value() || *sum > whole) {
      return Refusal(
          absl::StatusCode::kInternal, "plan-invalid",
          "the plan costs more than the run may; please report this");
    }
    plan->cost = *sum;
  }
  return absl::OkStatus();
}

absl::Status CheckFacts(const DatasetFacts& facts) {
  const bool ok =
      facts.features >= 1 && facts.users >= 1 && facts.users <= kMostUsers &&
      facts.column_bound >= kLeastColumnBound && facts.column_bound <= 1e30 &&
      facts.max_rank >= 1 && facts.max_rounds >= 1;
  if (ok) return absl::OkStatus();
  return Invalid(
      "dataset-facts-invalid",
      "the data set's declared facts are out of range (`features`, `users` up "
      "to 2^40, `column_bound` from 2^-32 to 1e30, `max_rank`, `max_rounds`); "
      "import it again");
}

absl::Status CheckSize(const RunParameters& parameters,
                       const DatasetFacts& facts) {
  const std::uint64_t most_rank = std::min<std::uint64_t>(
      {facts.features, facts.users, facts.max_rank, kMaxRank});
  if (!(parameters.rank >= 1 && parameters.rank <= most_rank)) {
    return Invalid(
        "rank-out-of-range",
        absl::StrFormat("`rank` must be from 1 to %d for this data set, not %d",
                        most_rank, parameters.rank));
  }
  return absl::OkStatus();
}

absl::Status CheckRounds(const RunParameters& parameters,
                         const DatasetFacts& facts) {
  std::uint32_t least = 1, most = std::min(facts.max_rounds, kMaxRounds);
  if (parameters.mechanism == "moments")
    least = RoundsOfMoments(parameters, facts);
  if (parameters.mechanism == "objective") most = 1;
  if (parameters.rounds >= least && parameters.rounds <= most)
    return absl::OkStatus();
  return Invalid(
      "rounds-out-of-range",
      absl::StrFormat("`rounds` must be from %d to %d for this data set and "
                      "`mechanism`, not %d",
                      least, most, parameters.rounds));
}

absl::Status CheckShare(std::string_view name, double share) {
  if (share > 0 && share < 1) return absl::OkStatus();
  return Invalid(
      "share-out-of-range",
      absl::StrFormat("`%s` must lie strictly between 0 and 1", name));
}

absl::Status CheckMoments(const RunParameters& parameters,
                          const DatasetFacts& facts) {
  if (parameters.mechanism != "moments") return absl::OkStatus();
  const std::uint64_t most =
      std::min<std::uint64_t>(facts.features, kMaxMomentRows);
  if (!(parameters.moment_rows >= 1 && parameters.moment_rows <= most)) {
    return Invalid(
        "moment-rows-out-of-range",
        absl::StrFormat(
            "`moment_rows` must be from 1 to %d for this data set, not %d",
            most, parameters.moment_rows));
  }
  DPNMF_RETURN_IF_ERROR(
      CheckShare("share_of_moments", parameters.share_of_moments));
  return CheckShare("share_of_mean", parameters.share_of_mean);
}

absl::Status CheckPrivacy(const RunParameters& parameters) {
  if (!(parameters.epsilon > 0 && parameters.epsilon <= 1000)) {
    return Invalid("epsilon-out-of-range",
                   "`epsilon` must be above 0 and at most 1000; values up to "
                   "10 are usual");
  }
  if (!(parameters.delta > 0 && parameters.delta < 1)) {
    return Invalid(
        "delta-out-of-range",
        "`delta` must lie strictly between 0 and 1; well below 1 over the "
        "number of people is usual");
  }
  return absl::OkStatus();
}

absl::Status CheckMechanism(const RunParameters& parameters) {
  constexpr std::string_view kMechanisms[] = {"statistics", "gradient",
                                              "moments", "objective"};
  if (std::ranges::find(kMechanisms, parameters.mechanism) ==
      std::end(kMechanisms)) {
    return Invalid("mechanism-unknown",
                   "`mechanism` must be statistics, gradient, moments or "
                   "objective");
  }
  if (!(parameters.lambda >= 0 && parameters.lambda <= 1e6)) {
    return Invalid("lambda-out-of-range",
                   "`lambda` must be from 0 to 1e6, in units of the data");
  }
  const double bound = parameters.outlier_bound;
  if (!(bound >= 0 && bound <= 1e6) || (parameters.outliers && bound == 0)) {
    return Invalid(
        "outlier-bound-out-of-range",
        "`outlier_bound` must be above 0 and at most 1e6, in units of the "
        "data (or 0 with `outliers` off)");
  }
  if (!(parameters.inner_iterations >= 1 &&
        parameters.inner_iterations <= 1000)) {
    return Invalid("inner-iterations-out-of-range",
                   "`inner_iterations` must be from 1 to 1000; 10 is usual");
  }
  return CheckShare("share_of_a", parameters.share_of_a);
}

absl::Status CheckPolicy(const RunParameters& parameters,
                         const DatasetFacts& facts) {
  if (parameters.adjacency != facts.adjacency) {
    return Invalid("adjacency-mismatch",
                   absl::StrFormat("`adjacency` must be %s for this population",
                                   NameOf(facts.adjacency)));
  }
  if (parameters.conversion != facts.conversion) {
    return Invalid(
        "conversion-mismatch",
        absl::StrFormat("`conversion` must be %s for this population",
                        NameOf(facts.conversion)));
  }
  return absl::OkStatus();
}

}  // namespace

std::uint64_t NormBoundSteps(double bound, int bits) {
  const ExactDouble exact = Exactly(bound);
  return ScaledDown(exact.mantissa * exact.mantissa,
                    2 * (exact.exponent + bits));
}

std::uint64_t LargestEntrySteps(double bound, int bits) {
  const ExactDouble exact = Exactly(bound);
  return ScaledDown(exact.mantissa, exact.exponent + bits);
}

std::uint64_t LargestLossSteps(double bound, int bits) {
  return NormBoundSteps(bound, bits) / 2;
}

std::string_view NameOf(ReleaseKind kind) {
  switch (kind) {
    case ReleaseKind::kMean:
      return "mean";
    case ReleaseKind::kMoments:
      return "moments";
    case ReleaseKind::kStatistics:
      return "statistics";
    case ReleaseKind::kGradient:
      return "gradient";
    case ReleaseKind::kObjective:
      return "objective";
  }
  return "unknown";
}

const StagePlan& RunPlan::StageOf(std::uint32_t round) const {
  for (const StagePlan& stage : stages) {
    if (round <= stage.rounds) return stage;
    round -= stage.rounds;
  }
  return stages.back();
}

std::uint64_t LargestUserCount(const DatasetFacts& facts) {
  return facts.adjacency == Adjacency::kReplaceOne ? facts.users
                                                   : 2 * facts.users + 1024;
}

double L2Sensitivity(const PartPlan& part, Adjacency adjacency) {
  const bool doubled = adjacency == Adjacency::kReplaceOne && !part.one_sided;
  const double neighbours = doubled ? 2 : 1;
  return std::ldexp(
      std::sqrt(neighbours * static_cast<double>(part.left_norm_steps) *
                static_cast<double>(part.right_norm_steps)),
      part.step_exponent);
}

absl::StatusOr<MuSquared> CostOfDrawing(const std::vector<PartPlan>& parts,
                                        Adjacency adjacency) {
  MuSquared total;
  for (const PartPlan& part : parts) {
    DPNMF_ASSIGN_OR_RETURN(const MuSquared cost, CostOfPart(part, adjacency));
    const auto sum = MuSquared::Add(total, cost);
    if (!sum.has_value())
      return InvalidPlan(part, "it is too small for any budget");
    total = *sum;
  }
  return total;
}

absl::Status CheckRunParameters(const RunParameters& parameters,
                                const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckFacts(facts));
  DPNMF_RETURN_IF_ERROR(CheckSize(parameters, facts));
  DPNMF_RETURN_IF_ERROR(CheckPrivacy(parameters));
  DPNMF_RETURN_IF_ERROR(CheckMechanism(parameters));
  DPNMF_RETURN_IF_ERROR(CheckMoments(parameters, facts));
  DPNMF_RETURN_IF_ERROR(CheckRounds(parameters, facts));
  return CheckPolicy(parameters, facts);
}

absl::StatusOr<RunPlan> PlanRun(const RunParameters& parameters,
                                const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckRunParameters(parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(
      const MuSquared whole,
      LargestCost(parameters.conversion, parameters.epsilon, parameters.delta));
  const MuSquared allowance = LeadingBits(whole);
  // 2^exponent <= c < 2^(exponent + 1).
  const int exponent = std::ilogb(facts.column_bound);
  for (int bits = kMostEntryBits - exponent; bits >= kLeastEntryBits - exponent;
       --bits) {
    auto stages = StagesWithBits(allowance, bits, parameters, facts);
    if (!stages.has_value()) continue;
    RunPlan plan;
    plan.coefficient_bits = plan.data_bits = bits;
    plan.coefficient_bound = plan.data_bound = facts.column_bound;
    plan.stages = *std::move(stages);
    DPNMF_RETURN_IF_ERROR(SetCosts(whole, parameters.adjacency, &plan));
    return plan;
  }
  // m < 2^10 leaves room for every number of users that CheckFacts lets pass.
  return Invalid(
      "noise-out-of-range",
      "the noise would exceed what the sums can carry: raise `epsilon` or "
      "`delta`, lower `rounds`, or move `share_of_a` towards 0.5");
}

}  // namespace dpnmf
