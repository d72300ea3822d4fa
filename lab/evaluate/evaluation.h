// All trials of an evaluation, and what came of them.
#ifndef DPNMF_LAB_EVALUATE_EVALUATION_H_
#define DPNMF_LAB_EVALUATE_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/evaluate/coherence.h"
#include "lab/evaluate/options.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {

// Properties that the repeats of a trial share.
struct Setting {
  bool distorted = false;  // learned from data with outliers added
  Method method = Method::kNone;
  bool outliers = false;          // R in the model
  double epsilon = kNotMeasured;  // overall; NaN: no privacy
  std::uint32_t rounds = 0;       // 0: no rounds

  friend bool operator==(const Setting& a, const Setting& b) {
    return a.distorted == b.distorted && a.method == b.method &&
           a.outliers == b.outliers && a.rounds == b.rounds &&
           (a.epsilon == b.epsilon ||
            (a.epsilon != a.epsilon && b.epsilon != b.epsilon));
  }
};

// "as given", "outliers added".
std::string_view DataNameOf(const Setting& setting);

struct Result {
  Setting setting;
  std::uint32_t repeat = 1;
  double epsilon_per_round = kNotMeasured;  // of the published algorithm
  double objective = 0;
  double npmi = kNotMeasured;  // means over topics; NaN without a vocabulary
  double umass = kNotMeasured;
  double seconds = 0;
  std::vector<CurvePoint> curve;
  // Model and topics of the first repeat only.
  Eigen::MatrixXd w;          // with image_width
  std::vector<Topic> topics;  // with a vocabulary
};

// Over the repeats of a setting.
struct Summary {
  Setting setting;
  std::uint32_t repeats = 0;
  double epsilon_per_round = kNotMeasured;
  Spread objective;
  double npmi = kNotMeasured, umass = kNotMeasured;  // medians
  double seconds = 0;                                // median
};

struct Evaluation {
  std::string name;  // of the input, without its folder
  std::uint64_t features = 0, users = 0;
  double lambda = 0, outlier_bound = 0;  // those used
  std::vector<std::string> vocabulary;
  std::vector<Result> results;
  std::size_t planned = 0;  // trials; fewer results: interrupted
  bool complete() const { return results.size() == planned; }
};

std::vector<Summary> Summarise(const Evaluation& evaluation);

struct EvaluateHooks {
  // After each trial; what it returns ends the evaluation.
  std::function<absl::Status(const Evaluation&)> after_trial;
  // Before each, with its number from 1.
  std::function<void(std::size_t number, std::size_t planned, const Setting&,
                     std::uint32_t repeat)>
      before_trial;
  std::function<bool()> stop;  // asked now and then, from any thread
};

// Reads the file, scales the columns to length 1 and runs all trials, repeats
// outermost. Stopped by hooks.stop it returns what is done. Saves models where
// options.save_models says. Errors of CheckEvaluateOptions, LoadMatrix, PlanRun
// and storage; INVALID_ARGUMENT "rank-out-of-range", "features-mismatch" (the
// vocabulary), "evaluate-option-out-of-range" (the image width).
absl::StatusOr<Evaluation> Evaluate(const EvaluateOptions& options,
                                    const EvaluateHooks& hooks);

// The outlier experiment (the published one's): of a tenth of the users,
// chosen by the seed, 70 % of the entries get uniform noise of [-1, 1] added
// where the largest entry of the matrix is 1, and become max(0, .). For
// matrices as read, before their columns are scaled.
void AddOutliers(std::uint64_t seed, LoadedMatrix* matrix);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_EVALUATION_H_
