#include "lab/evaluate/product_run.h"

#include <cmath>
#include <utility>

#include "common/base/error.h"
#include "common/learning/round_facts.h"
#include "common/nmf/defaults.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator::lab {
namespace {

// The release's sums over all groups, each times its weight.
absl::StatusOr<std::vector<std::vector<double>>> WeightedSums(
    const ReleaseKind& kind, const RoundInput& input,
    const RunParameters& parameters, const RunPlan& plan,
    const Execution& execution, std::vector<GroupOfRun>* people) {
  std::vector<std::vector<double>> total;
  for (GroupOfRun& group : *people) {
    DPNMF_ASSIGN_OR_RETURN(
        const RoundSums sums,
        kind.sums(input, {*group.data, parameters, plan, execution, &group.h}));
    total.resize(sums.parts.size());
    for (std::size_t p = 0; p < sums.parts.size(); ++p) {
      total[p].resize(sums.parts[p].size());
      for (std::size_t i = 0; i < sums.parts[p].size(); ++i)
        total[p][i] += group.weight * static_cast<double>(sums.parts[p][i]);
    }
  }
  return total;
}

}  // namespace

NoisedMatrix Noised(const PartPlan& part, const std::vector<double>& sums,
                    SeededNoise* noise) {
  NoisedMatrix matrix;
  matrix.name = part.name;
  matrix.symmetric = part.symmetric;
  matrix.step_exponent = part.step_exponent;
  matrix.rows = part.rows;
  matrix.columns = part.columns;
  matrix.lattice.reserve(sums.size());
  std::size_t next_diagonal = 0, column = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool diagonal = part.symmetric && i == next_diagonal;
    if (diagonal) next_diagonal += ++column + 1;  // 0, 2, 5, 9 ...
    const auto stddev = static_cast<double>(
        diagonal ? part.diagonal_stddev_steps : part.stddev_steps);
    matrix.lattice.push_back(
        static_cast<std::int64_t>(std::nearbyint(sums[i])) +
        static_cast<std::int64_t>(std::nearbyint(stddev * noise->Normal())));
  }
  return matrix;
}

absl::StatusOr<ProductRun> ProductRun::Create(RunParameters parameters,
                                              const DatasetFacts& facts,
                                              v1::LearnerOptions learner,
                                              Execution execution) {
  ProductRun run;
  const analyst::Mechanism& mechanism =
      *analyst::Mechanisms().Find(parameters.mechanism);
  mechanism.fill_defaults(facts, &parameters);
  DPNMF_ASSIGN_OR_RETURN(run.plan_, PlanRun(parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(run.planned_, ToProto(run.plan_, parameters, facts));
  if (mechanism.first != nullptr) {
    run.state_.w = mechanism.first(facts, parameters);
  } else {
    run.state_.w =
        RandomDictionary(facts.features, parameters.rank, learner.seed());
  }
  learner.set_step_size(kDefaultStepSize);
  learner.set_steps_per_round(kDefaultStepsPerRound);
  *run.specification_.mutable_parameters() = ToProto(parameters);
  *run.specification_.mutable_learner() = std::move(learner);
  run.parameters_ = std::move(parameters);
  run.facts_ = facts;
  run.execution_ = std::move(execution);
  return run;
}

absl::Status ProductRun::Round(std::uint32_t round,
                               std::vector<GroupOfRun>* people,
                               const RatingsFacts* ratings,
                               SeededNoise* noise) {
  DPNMF_RETURN_IF_ERROR(execution_.CheckNotStopped());
  const StageOfRound at = StageOf(planned_, round);
  const analyst::ReleaseKind& learning =
      *analyst::FindReleaseKind(at.stage->release());
  const ReleaseKind& summing = ReleaseKindOf(at.stage->release());
  analyst::RoundFacts facts = analyst::FactsOfRound(
      specification_, planned_, at, static_cast<double>(facts_.users));
  facts.round_of_run = round;
  facts.ratings = ratings;
  facts.stopped = execution_.stop;
  facts.threads = execution_.threads;
  DPNMF_ASSIGN_OR_RETURN(const RoundInput input, learning.input(facts, state_));
  DPNMF_RETURN_IF_ERROR(summing.check(input, parameters_, facts_));
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<std::vector<double>> sums,
      WeightedSums(summing, input, parameters_, plan_, execution_, people));
  std::vector<PartPlan> parts = plan_.StageOf(round).parts;
  if (summing.narrow != nullptr) summing.narrow(input, &parts);
  std::vector<NoisedMatrix> noised;
  for (std::size_t p = 0; p < parts.size(); ++p)
    noised.push_back(Noised(parts[p], sums[p], noise));
  return learning.update(summing.publish(input)(std::move(noised)), facts,
                         &state_);
}

}  // namespace dpnmf::curator::lab
