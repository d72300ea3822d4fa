// People drawn from a release of class moments (common/moments/class_model.h),
// and what such a release would be worth: measured with noise that is not the
// gate's. The second part is without privacy.
#ifndef DPNMF_LAB_SYNTHESISE_SYNTHESISE_H_
#define DPNMF_LAB_SYNTHESISE_SYNTHESISE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "curator/draft/class_release.h"
#include "lab/attack/attack.h"
#include "lab/tables/draws.h"
#include "lab/tables/table.h"

namespace dpnmf::curator::lab {

// `count` people in random order, with classes, under the names of the
// features. A function of the release and of draws that have nothing to do with
// the data: post-processing, also where the draws are seeded. Errors of
// NoisedClassesOf.
absl::StatusOr<Table> SynthesiseTable(const ClassRelease& release,
                                      std::uint64_t count, Draws* draws);

// 1 / (D w^2), w the width of the range of entries.
double DefaultGamma(const DatasetFacts& facts);

// A release of this table by the plan that the curator would make, noised by
// `draws`: NOT the gate's noise and never to be published. The facts declare
// classes, column bound and range; `users` and `features` are set here. Errors
// of PlanRun, Dataset::FromDense.
absl::StatusOr<ClassRelease> MeasuredRelease(const Table& table,
                                             DatasetFacts facts, double epsilon,
                                             double delta, int threads,
                                             Draws* draws);

struct SynthesisTrial {
  double epsilon = 0;
  int repeat = 0;
  double accuracy = 0;  // learned from synthetic, tested on real people
  std::optional<Share> membership_auc = std::nullopt;
  // All attacks on the table, of the first release of each epsilon alone.
  std::optional<AttackReport> attacks = std::nullopt;
};

struct SynthesisOptions {
  std::vector<double> epsilons = {0.5, 1, 4};
  double delta = 1e-5;
  int repeats = 10;
  double gamma = 0;  // 0: DefaultGamma
  bool attack = true;
  int threads = 1;
  std::optional<std::uint64_t> seed;
  std::function<bool()> stop;  // asked before every trial
};

struct SynthesisMeasure {
  double accuracy_on_itself = 0;  // learned from and tested on real people
  std::vector<SynthesisTrial> trials;
};

// Errors of MeasuredRelease, TrainedAccuracy and Attack; CANCELLED "cancelled".
absl::StatusOr<SynthesisMeasure> MeasureSynthesis(
    const Table& table, const DatasetFacts& facts,
    const SynthesisOptions& options);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_SYNTHESISE_SYNTHESISE_H_
