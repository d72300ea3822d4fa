#include "common/wire/convert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.h"

namespace dpnmf {
namespace {

absl::Status Invalid(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

v1::PartPlan ToProto(const PartPlan& part, const DatasetFacts& facts) {
  v1::PartPlan message;
  message.set_name(part.name);
  message.mutable_shape()->set_rows(part.rows);
  message.mutable_shape()->set_columns(part.columns);
  message.set_layout(part.symmetric ? v1::LAYOUT_UPPER : v1::LAYOUT_FULL);
  message.set_step_exponent(part.step_exponent);
  message.set_stddev_steps(part.stddev_steps);
  message.set_diagonal_stddev_steps(part.diagonal_stddev_steps);
  // A = S_A / N: a step of the sum is 2^step_exponent / N of the mean.
  const double step_of_mean =
      std::ldexp(1.0, part.step_exponent) / static_cast<double>(facts.users);
  message.set_stddev(static_cast<double>(part.stddev_steps) * step_of_mean);
  message.set_diagonal_stddev(static_cast<double>(part.diagonal_stddev_steps) *
                              step_of_mean);
  message.set_l2_sensitivity(L2Sensitivity(part, facts.adjacency));
  return message;
}

}  // namespace

v1::MuSquared ToProto(MuSquared cost) {
  v1::MuSquared message;
  message.set_units(cost.UnitsText());
  message.set_value(cost.ToDouble());
  return message;
}

absl::StatusOr<MuSquared> FromProto(const v1::MuSquared& cost) {
  const std::optional<MuSquared> value = MuSquared::FromUnitsText(cost.units());
  if (!value.has_value()) {
    return Invalid("cost-malformed",
                   "`units` must be a decimal integer below 2^120.");
  }
  return *value;
}

namespace {

template <typename Message>
absl::StatusOr<Budget> BudgetOf(const Message& message) {
  Budget budget;
  DPNMF_ASSIGN_OR_RETURN(budget.cap, FromProto(message.cap()));
  DPNMF_ASSIGN_OR_RETURN(budget.charged, FromProto(message.charged()));
  DPNMF_ASSIGN_OR_RETURN(budget.reserved, FromProto(message.reserved()));
  return budget;
}

}  // namespace

absl::StatusOr<Budget> FromProto(const v1::OwnLimit& limit) {
  return BudgetOf(limit);
}

absl::StatusOr<Budget> FromProto(const v1::LedgerPosition& position) {
  return BudgetOf(position);
}

absl::StatusOr<MuSquared> RoomOf(const v1::LedgerPosition& position) {
  DPNMF_ASSIGN_OR_RETURN(const Budget all, FromProto(position));
  if (!position.has_own_limit()) return RoomOf(all);
  DPNMF_ASSIGN_OR_RETURN(const Budget own, FromProto(position.own_limit()));
  return std::min(RoomOf(all), RoomOf(own));
}

StageOfRound StageOf(const v1::RunPlan& plan, std::uint32_t round) {
  for (const v1::StagePlan& stage : plan.stages()) {
    if (round <= stage.rounds()) return {&stage, round};
    round -= stage.rounds();
  }
  return {};
}

v1::StagePlan ToProto(const StagePlan& stage, const DatasetFacts& facts) {
  v1::StagePlan message;
  message.set_release(stage.release);
  message.set_rounds(stage.rounds);
  for (const PartPlan& part : stage.parts)
    *message.add_parts() = ToProto(part, facts);
  *message.mutable_cost_per_round() = ToProto(stage.cost_per_round);
  return message;
}

v1::Adjacency ToProto(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::kReplaceOne:
      return v1::ADJACENCY_REPLACE_ONE;
    case Adjacency::kAddRemoveOne:
      return v1::ADJACENCY_ADD_REMOVE_ONE;
    case Adjacency::kOneRating:
      return v1::ADJACENCY_ONE_RATING;
  }
  return v1::ADJACENCY_UNSPECIFIED;
}

v1::Conversion ToProto(Conversion conversion) {
  switch (conversion) {
    case Conversion::kRdp:
      return v1::CONVERSION_RDP;
    case Conversion::kRdpOptimal:
      return v1::CONVERSION_RDP_OPTIMAL;
    case Conversion::kGaussian:
      return v1::CONVERSION_GAUSSIAN;
  }
  return v1::CONVERSION_UNSPECIFIED;
}

absl::StatusOr<Adjacency> FromProto(v1::Adjacency adjacency) {
  switch (adjacency) {
    case v1::ADJACENCY_REPLACE_ONE:
      return Adjacency::kReplaceOne;
    case v1::ADJACENCY_ADD_REMOVE_ONE:
      return Adjacency::kAddRemoveOne;
    case v1::ADJACENCY_ONE_RATING:
      return Adjacency::kOneRating;
    default:
      return Invalid("adjacency-mismatch",
                     "`adjacency` must be ADJACENCY_REPLACE_ONE, "
                     "ADJACENCY_ADD_REMOVE_ONE or ADJACENCY_ONE_RATING.");
  }
}

absl::StatusOr<Conversion> FromProto(v1::Conversion conversion) {
  switch (conversion) {
    case v1::CONVERSION_RDP:
      return Conversion::kRdp;
    case v1::CONVERSION_RDP_OPTIMAL:
      return Conversion::kRdpOptimal;
    case v1::CONVERSION_GAUSSIAN:
      return Conversion::kGaussian;
    default:
      return Invalid("conversion-mismatch",
                     "`conversion` must be CONVERSION_RDP, "
                     "CONVERSION_RDP_OPTIMAL or CONVERSION_GAUSSIAN.");
  }
}

v1::Epsilons ToProto(const Epsilons& epsilons) {
  v1::Epsilons message;
  message.set_delta(epsilons.delta);
  message.set_rdp(epsilons.rdp);
  message.set_rdp_optimal(epsilons.rdp_optimal);
  message.set_gaussian(epsilons.gaussian);
  message.set_rdp_order(epsilons.rdp_order);
  message.set_rdp_optimal_order(epsilons.rdp_optimal_order);
  return message;
}

v1::RunParameters ToProto(const RunParameters& parameters) {
  v1::RunParameters message;
  message.set_dataset(parameters.dataset);
  message.set_rank(parameters.rank);
  message.set_rounds(parameters.rounds);
  message.set_epsilon(parameters.epsilon);
  message.set_delta(parameters.delta);
  message.set_mechanism(parameters.mechanism);
  message.set_outliers(parameters.outliers);
  message.set_lambda(parameters.lambda);
  message.set_outlier_bound(parameters.outlier_bound);
  message.set_inner_iterations(parameters.inner_iterations);
  message.set_share_of_a(parameters.share_of_a);
  message.set_adjacency(ToProto(parameters.adjacency));
  message.set_conversion(ToProto(parameters.conversion));
  message.set_moment_rows(parameters.moment_rows);
  message.set_share_of_moments(parameters.share_of_moments);
  message.set_share_of_mean(parameters.share_of_mean);
  message.mutable_shares()->Add(parameters.shares.begin(),
                                parameters.shares.end());
  message.set_profile_directions(parameters.profile_directions);
  return message;
}

RunParameters ValuesOf(const v1::RunParameters& message) {
  RunParameters parameters;
  parameters.dataset = message.dataset();
  parameters.rank = message.rank();
  parameters.rounds = message.rounds();
  parameters.epsilon = message.epsilon();
  parameters.delta = message.delta();
  parameters.mechanism = message.mechanism();
  parameters.outliers = message.outliers();
  parameters.lambda = message.lambda();
  parameters.outlier_bound = message.outlier_bound();
  parameters.inner_iterations = message.inner_iterations();
  parameters.share_of_a = message.share_of_a();
  parameters.moment_rows = message.moment_rows();
  parameters.share_of_moments = message.share_of_moments();
  parameters.share_of_mean = message.share_of_mean();
  parameters.shares.assign(message.shares().begin(), message.shares().end());
  parameters.profile_directions = message.profile_directions();
  return parameters;
}

absl::StatusOr<RunParameters> FromProto(const v1::RunParameters& message) {
  RunParameters parameters = ValuesOf(message);
  DPNMF_ASSIGN_OR_RETURN(parameters.adjacency, FromProto(message.adjacency()));
  DPNMF_ASSIGN_OR_RETURN(parameters.conversion,
                         FromProto(message.conversion()));
  return parameters;
}

absl::StatusOr<v1::RunPlan> ToProto(const RunPlan& plan,
                                    const RunParameters& parameters,
                                    const DatasetFacts& facts) {
  v1::RunPlan message;
  message.set_coefficient_bits(plan.coefficient_bits);
  message.set_data_bits(plan.data_bits);
  for (const StagePlan& stage : plan.stages)
    *message.add_stages() = ToProto(stage, facts);
  *message.mutable_cost() = ToProto(plan.cost);
  DPNMF_ASSIGN_OR_RETURN(const Epsilons epsilons,
                         AllEpsilons(plan.cost, parameters.delta));
  *message.mutable_epsilons() = ToProto(epsilons);
  return message;
}

absl::StatusOr<DatasetFacts> FactsOf(const v1::Dataset& dataset) {
  DatasetFacts facts;
  facts.name = dataset.name();
  facts.population = dataset.population();
  facts.features = dataset.features();
  facts.users = dataset.users();
  DPNMF_ASSIGN_OR_RETURN(facts.adjacency,
                         FromProto(dataset.guarantee().adjacency()));
  DPNMF_ASSIGN_OR_RETURN(facts.conversion,
                         FromProto(dataset.guarantee().conversion()));
  facts.column_bound = dataset.column_bound();
  facts.max_rank = dataset.max_rank();
  facts.max_rounds = dataset.max_rounds();
  if (dataset.has_ratings()) {
    facts.ratings = {.low_units = dataset.ratings().low_units(),
                     .high_units = dataset.ratings().high_units(),
                     .item_features = dataset.ratings().item_features()};
  }
  if (dataset.has_classes()) {
    const v1::Classes& classes = dataset.classes();
    facts.classes = {.names = {classes.names().begin(), classes.names().end()},
                     .sizes = {classes.sizes().begin(), classes.sizes().end()}};
  }
  if (dataset.has_range()) {
    facts.range = {.low = dataset.range().low(),
                   .high = dataset.range().high(),
                   .integers = dataset.range().integers()};
  }
  return facts;
}

v1::StoredSums ToProto(const StoredSums& sums) {
  v1::StoredSums message;
  message.mutable_rows()->Assign(sums.rows.begin(), sums.rows.end());
  message.set_bits(sums.bits);
  return message;
}

StoredSums FromProto(const v1::StoredSums& sums) {
  return {.bits = sums.bits(),
          .rows = {sums.rows().begin(), sums.rows().end()}};
}

}  // namespace dpnmf
