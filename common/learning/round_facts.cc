#include "common/learning/round_facts.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "common/learning/fit_law_options.h"

namespace dpnmf::analyst {
namespace {

const v1::PartPlan* PartOf(const v1::StagePlan& stage, std::string_view name) {
  for (const v1::PartPlan& part : stage.parts()) {
    if (part.name() == name) return &part;
  }
  return nullptr;
}

// |A|_F <= mean of |h|^2 <= c_h^2, read back from the sensitivity of S_A:
// c_h^2 (add or remove one) or sqrt(2) c_h^2 (the other relations).
double LargestNormOfA(const v1::PartPlan* part, v1::Adjacency adjacency) {
  const double sensitivity = part == nullptr ? 0 : part->l2_sensitivity();
  if (!(sensitivity > 0)) return 1;
  return adjacency == v1::ADJACENCY_ADD_REMOVE_ONE
             ? sensitivity
             : sensitivity / std::sqrt(2.0);
}

}  // namespace

double LargestTrace(const v1::PartPlan* part, v1::Adjacency adjacency) {
  const double sensitivity = part == nullptr ? 0 : part->l2_sensitivity();
  if (adjacency != v1::ADJACENCY_REPLACE_ONE || !(sensitivity > 0))
    return std::numeric_limits<double>::infinity();
  return sensitivity / std::sqrt(2.0);
}

RoundFacts FactsOfRound(const v1::RunSpecification& specification,
                        const v1::RunPlan& plan, const StageOfRound& at,
                        double users, bool average) {
  const v1::PartPlan* a = PartOf(*at.stage, "A");
  RoundFacts facts;
  facts.round = at.round;
  facts.rounds = at.stage->rounds();
  facts.moment_rows = specification.parameters().moment_rows();
  facts.seed = specification.learner().seed();
  facts.law = FitLawOf(specification.learner());
  for (const v1::PartPlan& part : at.stage->parts()) {
    if (average)
      facts.noise[part.name()] = {part.stddev(), part.diagonal_stddev()};
  }
  for (const v1::StagePlan& stage : plan.stages()) {
    const v1::PartPlan* const mean = PartOf(stage, "mean");
    if (mean != nullptr) facts.stddev_of_mean = mean->stddev();
    const v1::PartPlan* const g = PartOf(stage, "G");
    if (g == nullptr) continue;
    if (average) facts.of_moments = {g->stddev(), g->diagonal_stddev()};
    facts.largest_moment =
        LargestNormOfA(g, specification.parameters().adjacency());
    facts.largest_trace =
        LargestTrace(g, specification.parameters().adjacency());
  }
  facts.users = users;
  facts.step_size = specification.learner().step_size();
  facts.steps_per_round = specification.learner().steps_per_round();
  facts.largest_a_norm =
      LargestNormOfA(a, specification.parameters().adjacency());
  facts.stddev_a = a == nullptr || !average ? 0 : a->stddev();
  facts.average = average;
  return facts;
}

}  // namespace dpnmf::analyst
