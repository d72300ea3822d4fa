// A run of one of the product's mechanisms in process: its plan, its inputs,
// its exact sums, what it publishes of them and what it learns are the
// product's.
//
// RESEARCH ONLY: the noise alone is the lab's, which is seeded
// (seeded_noise.h), and nothing is charged.
#ifndef DPNMF_LAB_EVALUATE_PRODUCT_RUN_H_
#define DPNMF_LAB_EVALUATE_PRODUCT_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/learner.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"
#include "dpnmf/v1/analyst.pb.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {

// Sums of a part, in the order of its entries, with noise of exactly the plan's
// deviations, rounded to steps.
NoisedMatrix Noised(const PartPlan& part, const std::vector<double>& sums,
                    SeededNoise* noise);

// People whose contributions are multiplied by a public weight of (0, 1] after
// the gate; 1: the mechanism as it is.
struct GroupOfRun {
  const Dataset* data = nullptr;
  double weight = 1;
  std::unique_ptr<Coefficients> h = nullptr;
};

class ProductRun {
 public:
  // `parameters`: what is 0 or empty gets the mechanism's default. `learner`:
  // its seed and law. W_0 is random. The data must outlive the run. Errors of
  // PlanRun.
  static absl::StatusOr<ProductRun> Create(RunParameters parameters,
                                           const DatasetFacts& facts,
                                           v1::LearnerOptions learner,
                                           Execution execution);

  const RunParameters& parameters() const { return parameters_; }
  const RunPlan& plan() const { return plan_; }
  // Public knowledge is put into it before the first round.
  analyst::LearnerState& state() { return state_; }

  // Rounds are asked for in order, from 1 to parameters().rounds. The noise of
  // a release is drawn once, for the weighted sum over all groups. `ratings`:
  // facts of mechanisms that need items, else null. Errors of the mechanism;
  // CANCELLED "cancelled".
  absl::Status Round(std::uint32_t round, std::vector<GroupOfRun>* people,
                     const RatingsFacts* ratings, SeededNoise* noise);

 private:
  ProductRun() = default;

  RunParameters parameters_;
  DatasetFacts facts_;
  RunPlan plan_;
  Execution execution_;
  // The same as the analyst has them.
  v1::RunSpecification specification_;
  v1::RunPlan planned_;
  analyst::LearnerState state_;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_PRODUCT_RUN_H_
