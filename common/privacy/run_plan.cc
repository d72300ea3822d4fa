#include "common/privacy/run_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/column_bound.h"
#include "common/privacy/integer_root.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/ratings_bounds.h"

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
  return CeilRoot(2 * SquareOf(stddev));
}

void SetStddev(std::uint64_t stddev, PartPlan* part) {
  part->stddev_steps = stddev;
  part->diagonal_stddev_steps = part->symmetric ? DiagonalStddev(stddev) : 0;
}

absl::Status InvalidPlan(const PartPlan& part, std::string_view what) {
  return Refusal(absl::StatusCode::kInternal, "plan-invalid",
                 absl::StrFormat("The noise of part %s is not usable: %s.",
                                 part.name, what));
}

// mu^2 = Delta^2 / sigma^2, respectively Delta^2 / min(sigma_diag^2,
// 2 sigma_off^2), with Delta^2 = 2 left right, respectively left right. One
// rating may change all that its person adds: its price is that of a
// replacement.
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
  const bool doubled =
      adjacency != Adjacency::kAddRemoveOne && !part.whole_sensitivity;
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

// N_max times the largest entry, + 64 sigma/step, is below 2^62.
bool FitsIntegers(const PartPlan& part, Uint128 largest_entry,
                  const DatasetFacts& facts) {
  if (largest_entry >= kSumLimit) return false;
  const std::uint64_t stddev =
      std::max(part.stddev_steps, part.diagonal_stddev_steps);
  return largest_entry * LargestUserCount(facts) +
             64 * static_cast<Uint128>(stddev) <
         kSumLimit;
}

// The stages with their noise; nothing if `bits` leave no room for it.
std::optional<std::vector<StagePlan>> StagesWithBits(
    const Mechanism& mechanism, MuSquared whole, int bits,
    const RunParameters& parameters, const DatasetFacts& facts) {
  std::vector<StagePlan> stages;
  for (StageDraft& draft : mechanism.stages(whole, bits, parameters, facts)) {
    StagePlan& stage = stages.emplace_back();
    stage.release = std::move(draft.release);
    stage.rounds = draft.rounds;
    for (PartDraft& part : draft.parts) {
      if (!Calibrate(part.allowance, parameters.adjacency, &part.part) ||
          !FitsIntegers(part.part, part.largest_entry, facts)) {
        return std::nullopt;
      }
      stage.parts.push_back(std::move(part.part));
    }
  }
  return stages;
}

// Adds up what the stages cost. Holds every mechanism to its run's rounds and
// to its whole cost.
absl::Status SetCosts(MuSquared whole, const RunParameters& parameters,
                      RunPlan* plan) {
  plan->cost = MuSquared();
  std::uint64_t rounds = 0;
  for (StagePlan& stage : plan->stages) {
    rounds += stage.rounds;
    DPNMF_ASSIGN_OR_RETURN(stage.cost_per_round,
                           CostOfDrawing(stage.parts, parameters.adjacency));
    const auto cost = MuSquared::Multiply(stage.cost_per_round, stage.rounds);
    const auto sum =
        cost.has_value() ? MuSquared::Add(plan->cost, *cost) : std::nullopt;
    if (!sum.has_value() || *sum > whole) {
      return Refusal(
          absl::StatusCode::kInternal, "plan-invalid",
          "The plan costs more than the run allows; please report this.");
    }
    plan->cost = *sum;
  }
  if (rounds == parameters.rounds) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInternal, "plan-invalid",
                 "The plan and the run have different numbers of rounds; "
                 "please report this.");
}

// Checks that import may declare these classes (curator/data/description.h).
bool AreClasses(const ClassFacts& classes) {
  return classes.names.size() >= 2 && classes.names.size() <= kMostClasses &&
         (classes.sizes.empty() ||
          classes.sizes.size() == classes.names.size());
}

// Not too narrow for a lattice that the column bound decides.
bool IsEntryRange(const EntryRange& range, double column_bound) {
  return range.low >= 0 && range.high <= column_bound &&
         range.high - range.low >= column_bound / 256;
}

absl::Status CheckFacts(const DatasetFacts& facts) {
  const bool ok =
      facts.features >= 1 && facts.users >= 1 && facts.users <= kMostUsers &&
      facts.column_bound >= kLeastColumnBound && facts.column_bound <= 1e30 &&
      facts.max_rank >= 1 && facts.max_rounds >= 1 &&
      (!facts.ratings.has_value() || IsRatingScale(*facts.ratings)) &&
      (!facts.classes.has_value() || AreClasses(*facts.classes)) &&
      (!facts.range.has_value() ||
       IsEntryRange(*facts.range, facts.column_bound));
  if (ok) return absl::OkStatus();
  return Invalid("dataset-facts-invalid",
                 "The data set's declared facts are out of range (`features`, "
                 "`users` up to 2^40, `column_bound` from 2^-32 to 1e30, "
                 "`max_rank`, `max_rounds`, `ratings` up to 100,000, 2 to "
                 "1,000 `classes`, `range` within the column bound); import "
                 "it again.");
}

absl::Status CheckSize(const RunParameters& parameters,
                       const DatasetFacts& facts) {
  const std::uint64_t most_rank = std::min<std::uint64_t>(
      {facts.features, facts.users, facts.max_rank, kMaxRank});
  if (!(parameters.rank >= 1 && parameters.rank <= most_rank)) {
    return Invalid("rank-out-of-range",
                   absl::StrFormat(
                       "`rank` must be from 1 to %d for this data set, not %d.",
                       most_rank, parameters.rank));
  }
  return absl::OkStatus();
}

absl::Status CheckRounds(const Mechanism& mechanism,
                         const RunParameters& parameters,
                         const DatasetFacts& facts) {
  const RoundsRange range = mechanism.rounds(parameters, facts);
  const std::uint32_t most =
      std::min({facts.max_rounds, kMaxRounds, range.most});
  if (parameters.rounds >= range.least && parameters.rounds <= most)
    return absl::OkStatus();
  return Invalid("rounds-out-of-range",
                 absl::StrFormat("`rounds` must be from %d to %d for this data "
                                 "set and `mechanism`, not %d.",
                                 range.least, most, parameters.rounds));
}

absl::Status CheckPrivacy(const RunParameters& parameters) {
  if (!(parameters.epsilon > 0 && parameters.epsilon <= 1000)) {
    return Invalid("epsilon-out-of-range",
                   "`epsilon` must be above 0 and at most 1000; usual values "
                   "are up to 10.");
  }
  if (!(parameters.delta > 0 && parameters.delta < 1)) {
    return Invalid("delta-out-of-range",
                   "`delta` must be strictly between 0 and 1; usual values are "
                   "well below 1 over the number of people.");
  }
  return absl::OkStatus();
}

absl::StatusOr<const Mechanism*> MechanismNamed(const std::string& name) {
  const Mechanism* const mechanism = Mechanisms().Find(name);
  if (mechanism != nullptr) return mechanism;
  return Invalid(
      "mechanism-unknown",
      absl::StrCat(
          "`mechanism` must be ",
          NamesText(Mechanisms(), [](const Mechanism&) { return true; }), "."));
}

absl::Status CheckFits(const Mechanism& mechanism, const DatasetFacts& facts) {
  if (mechanism.for_ratings == facts.ratings.has_value())
    return absl::OkStatus();
  if (mechanism.for_ratings) {
    return Invalid("mechanism-mismatch",
                   absl::StrCat("`mechanism` ", std::string(mechanism.name),
                                " needs a data set of ratings, and this one "
                                "has none: choose another."));
  }
  return Invalid("mechanism-mismatch",
                 absl::StrCat("`mechanism` must be ",
                              NamesText(Mechanisms(), &Mechanism::for_ratings),
                              " for a data set of ratings."));
}

absl::Status CheckPolicy(const RunParameters& parameters,
                         const DatasetFacts& facts) {
  if (facts.adjacency == Adjacency::kOneRating && !facts.ratings.has_value()) {
    return Invalid("adjacency-mismatch",
                   "`adjacency` one_rating is only for data sets of ratings.");
  }
  if (parameters.adjacency != facts.adjacency) {
    return Invalid(
        "adjacency-mismatch",
        absl::StrFormat("`adjacency` must be %s for this population.",
                        NameOf(facts.adjacency)));
  }
  if (parameters.conversion != facts.conversion) {
    return Invalid(
        "conversion-mismatch",
        absl::StrFormat("`conversion` must be %s for this population.",
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

const StagePlan& RunPlan::StageOf(std::uint32_t round) const {
  for (const StagePlan& stage : stages) {
    if (round <= stage.rounds) return stage;
    round -= stage.rounds;
  }
  return stages.back();
}

std::uint64_t LargestUserCount(const DatasetFacts& facts) {
  return facts.adjacency != Adjacency::kAddRemoveOne ? facts.users
                                                     : 2 * facts.users + 1024;
}

double L2Sensitivity(const PartPlan& part, Adjacency adjacency) {
  const bool doubled =
      adjacency != Adjacency::kAddRemoveOne && !part.whole_sensitivity;
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
  DPNMF_ASSIGN_OR_RETURN(const Mechanism* const mechanism,
                         MechanismNamed(parameters.mechanism));
  DPNMF_RETURN_IF_ERROR(CheckFits(*mechanism, facts));
  DPNMF_RETURN_IF_ERROR(CheckKnobs(KnobsOfEveryRun(), parameters));
  DPNMF_RETURN_IF_ERROR(CheckKnobs(mechanism->knobs, parameters));
  for (const Knob* knob : Knobs()) {
    if (mechanism->uses(knob->name, parameters, facts))
      DPNMF_RETURN_IF_ERROR(CheckKnobs(std::span(knob, 1), parameters));
  }
  DPNMF_RETURN_IF_ERROR(mechanism->check(parameters, facts));
  DPNMF_RETURN_IF_ERROR(CheckRounds(*mechanism, parameters, facts));
  return CheckPolicy(parameters, facts);
}

absl::StatusOr<RunPlan> PlanRun(const RunParameters& parameters,
                                const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckRunParameters(parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(
      const MuSquared whole,
      LargestCost(parameters.conversion, parameters.epsilon, parameters.delta));
  DPNMF_ASSIGN_OR_RETURN(const Mechanism* const mechanism,
                         MechanismNamed(parameters.mechanism));
  const MuSquared allowance = LeadingBits(whole);
  // 2^exponent <= c < 2^(exponent + 1).
  const int exponent = std::ilogb(facts.column_bound);
  for (int bits = kMostEntryBits - exponent; bits >= kLeastEntryBits - exponent;
       --bits) {
    auto stages =
        StagesWithBits(*mechanism, allowance, bits, parameters, facts);
    if (!stages.has_value()) continue;
    RunPlan plan;
    plan.coefficient_bits = plan.data_bits = bits;
    plan.coefficient_bound = plan.data_bound = facts.column_bound;
    plan.stages = *std::move(stages);
    DPNMF_RETURN_IF_ERROR(SetCosts(whole, parameters, &plan));
    return plan;
  }
  // m < 2^10 leaves room for every number of users that CheckFacts lets pass.
  return Invalid(
      "noise-out-of-range",
      "The noise would exceed what the sums can hold: raise `epsilon` or "
      "`delta`, lower `rounds`, or move `share_of_a` towards 0.5.");
}

}  // namespace dpnmf
