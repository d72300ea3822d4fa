#include "common/learning/learning_cost.h"

#include <algorithm>

#include "common/learning/mechanism.h"
#include "common/nmf/noised_matrix.h"
#include "common/threads/parallel.h"

namespace dpnmf::analyst {
namespace {

// Speed of one core. Fits to faces (D = 361, K = 50) and text (M = 1,024,
// K = 30) take half of the time that this speed gives.
constexpr double kMultiplicationsPerSecond = 5e9;
// W in the store's hands and before and after the round.
constexpr double kCopiesOfW = 3;
// The release as it arrives, and as it is read.
constexpr double kCopiesOfARelease = 2;

double EntriesOf(const v1::StagePlan& stage) {
  double entries = 0;
  for (const v1::PartPlan& part : stage.parts()) {
    entries += static_cast<double>(
        EntryCount(part.shape().rows(), part.shape().columns(),
                   part.layout() == v1::LAYOUT_UPPER));
  }
  return entries;
}

}  // namespace

v1::LearningEstimate EstimateLearning(const v1::RunSpecification& specification,
                                      const v1::RunPlan& plan,
                                      std::uint64_t features) {
  const v1::RunParameters& run = specification.parameters();
  const LearningShape shape = {
      static_cast<double>(features), static_cast<double>(run.rank()),
      static_cast<double>(run.moment_rows()),
      static_cast<double>(specification.learner().steps_per_round()),
      specification.has_feature_order()};
  double entries = 0, seconds = 0;
  for (const v1::StagePlan& stage : plan.stages()) {
    const ReleaseKind* const kind = FindReleaseKind(stage.release());
    LearningWork work;
    if (kind != nullptr && kind->work != nullptr) work = kind->work(shape);
    entries =
        std::max(entries, work.entries + kCopiesOfARelease * EntriesOf(stage));
    const double cores = work.all_cores ? DefaultThreads() : 1;
    seconds += stage.rounds() * work.multiplications /
               (kMultiplicationsPerSecond * cores);
  }
  entries += kCopiesOfW * shape.features * shape.rank;
  v1::LearningEstimate estimate;
  estimate.set_memory_bytes(static_cast<std::uint64_t>(
      std::min(8 * entries, static_cast<double>(std::uint64_t{1} << 62))));
  estimate.set_seconds(seconds);
  return estimate;
}

std::uint64_t FeaturesOf(const v1::RunPlan& plan) {
  std::uint64_t features = 0;
  for (const v1::StagePlan& stage : plan.stages()) {
    for (const v1::PartPlan& part : stage.parts())
      features = std::max(features, part.shape().rows());
  }
  return features;
}

}  // namespace dpnmf::analyst
