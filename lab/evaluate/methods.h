// The ways to a dictionary that `evaluate` compares, in process, on V itself.
//
// RESEARCH ONLY: their noise is seeded (seeded_noise.h) and the curves are
// exact functions of V. Nothing here is private and nothing is charged.
#ifndef DPNMF_LAB_EVALUATE_METHODS_H_
#define DPNMF_LAB_EVALUATE_METHODS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/feature_order.h"
#include "common/moments/fit_law.h"
#include "common/moments/prior.h"
#include "common/privacy/accounting.h"
#include "curator/data/dataset.h"
#include "lab/evaluate/data_view.h"

namespace dpnmf::curator::lab {

enum class Method {
  kMoments,      // one noised second moment, W fitted to it
  kAimed,        // two, the second of what the first leaves
  kStatistics,   // rounds of noised A and B, averaged
  kGradient,     // rounds of noised W A - B, A and B fitted to them
  kPaper,        // the published algorithm, W_0 random
  kPaperNndsvd,  // the same, W_0 = NNDSVD(V): not private
  kNndsvd,       // that W_0 by itself
  kMean,         // the exact mean of the columns as the only column of W
  kPrior,        // parts of the priors alone (PartsOfPriors)
  kNone          // no privacy
};
// "moments", "aimed", "statistics", "gradient", "paper", "paper-nndsvd",
// "nndsvd", "mean", "prior", "none".
std::string_view NameOf(Method method);

// Returns whether the method has an epsilon, rounds of its own, a residual R.
bool TakesEpsilon(Method method);
bool TakesRounds(Method method);
bool TakesOutliers(Method method);

struct Trial {
  Method method = Method::kMoments;
  int rank = 1;              // K
  std::uint32_t rounds = 1;  // T; read where TakesRounds
  double epsilon = 1;        // overall
  double delta = 1e-5;
  Conversion conversion = Conversion::kGaussian;  // not of the paper's
  bool outliers = false;
  double lambda = 0;
  double outlier_bound = 0;
  std::uint64_t seed = 1;  // of the noise and of W_0
  int threads = 1;
  std::function<bool()> stop = {};  // asked now and then
  // Public knowledge on all D features, for kMoments, kAimed and kPrior; null:
  // none.
  std::shared_ptr<const std::vector<Prior>> priors = nullptr;
  // Declared order of the features, for kMoments and kAimed; null: none.
  std::shared_ptr<const FeatureOrder> order = nullptr;
  FitLaw law = {};  // of kMoments, kAimed and kNone; its loss measures all
};

struct CurvePoint {
  std::uint32_t round = 0;  // 0: W_0
  double objective = 0;
};

struct Learned {
  Eigen::MatrixXd w;  // D x K, columns of length 1 (or zero)
  double objective = 0;
  double epsilon_per_round = 0;  // kPaper...: of its calibration; else 0
  std::vector<CurvePoint> curve;
  double seconds = 0;  // without those for objectives
};

// Entries of V that DivergenceOf is computed of at most.
inline constexpr Eigen::Index kMostDivergentEntries = 100'000'000;

// Learns from `v` and measures on `clean` (the same object, or the data before
// outliers were added): 1/(2N) |V - W H|^2 with the best H >= 0.
// The product's mechanisms are run as they are shipped (product_run.h): replace
// one, the conversion named, columns of length at most 1, the analyst's
// defaults for all that a trial does not name. The paper's rounds: its
// sensitivities, calibration and accounting (paper.h), symmetric noise in A,
// one projected gradient step of size 1/|A|_F a round; its H step is this
// program's (docs/decisions/0003-h-step.md), which gets nearer to the optimum
// than as many projected gradient steps. With the loss kl the objective is
// DivergenceOf (common/moments/fit_law.h), of at most kMostDivergentEntries
// entries of V: INVALID_ARGUMENT "evaluate-option-out-of-range". Errors of
// PlanRun; CANCELLED "cancelled".
absl::StatusOr<Learned> Learn(const DataView& v, const DataView& clean,
                              const Trial& trial);

// Rounds whose objective is computed: all up to 10, then one whenever the round
// has grown by a fifth, and the last.
bool IsCurveRound(std::uint32_t round, std::uint32_t rounds);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_METHODS_H_
