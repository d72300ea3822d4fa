// Options of `dpnmf-lab evaluate`.
#ifndef DPNMF_LAB_EVALUATE_OPTIONS_H_
#define DPNMF_LAB_EVALUATE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/moments/fit_law.h"
#include "common/tables/load.h"
#include "lab/evaluate/methods.h"

namespace dpnmf::curator::lab {

enum class OutlierChoice { kOff, kOn, kBoth };

struct EvaluateOptions {
  std::string input;
  bool users_are_rows = false;
  MatrixFormat format = nullptr;  // null: "auto"
  int rank = 0;                   // K in [1, min(D, N, kMaxRank)]
  std::vector<double> epsilon;    // overall; each in (0, 1000]
  double delta = 1e-5;
  Conversion conversion = Conversion::kGaussian;  // of our mechanisms
  // "auto", "moments", "aimed", "statistics", "gradient", "paper",
  // "paper-nndsvd", "mean", "none", "all".
  std::vector<std::string> mechanisms = {"all"};
  std::uint32_t repeats = 3;  // 1 to 1000
  std::uint64_t seed = 1;
  OutlierChoice outliers = OutlierChoice::kOff;
  std::optional<double> lambda;         // 2 / sqrt(D) if not given
  std::optional<double> outlier_bound;  // 1 if not given
  // Also on data in which 10 % of the users have 70 % of their entries
  // distorted.
  bool outlier_experiment = false;
  bool is_public = false;
  std::string array;       // as in LoadOptions
  std::string vocabulary;  // a file with a word for each feature, or empty
  // 0: no pictures; else divides D, and moments are fitted to a grid of pixels.
  int image_width = 0;
  // Features fill a picture column by column, not row by row.
  bool image_by_columns = false;
  // "linear", "circular" or "graph:FILE" (LoadOrder); empty: none.
  std::string feature_order;
  // T of statistics and of the published algorithm. Empty: 30 of statistics;
  // 2, 10 and 50 of the published.
  std::vector<std::uint32_t> rounds;
  // Public knowledge: each FILE, dictionary:FILE or moment:FILE (LoadPriors).
  // With it moments are fitted to both, and the parts of the priors alone are
  // measured.
  std::vector<std::string> priors;
  // By what W of moments and of `none` is fitted. With kl all objectives are
  // the mean divergence of a person (DivergenceOf of common/moments/fit_law.h).
  FitLaw law;
  int threads = 1;
  std::string save_models;  // directory, or empty
  std::string output;       // directory
  std::string data_dir;     // where the use is recorded; empty: in `output`
  std::function<void(const std::string&)> note;  // as in LoadOptions
};

// INVALID_ARGUMENT "evaluate-option-out-of-range".
absl::Status EvaluateOptionOutOfRange(std::string_view sentence);

// Overall epsilons, at least one, each in (0, 1000], and delta in (0, 1).
// INVALID_ARGUMENT "epsilon-out-of-range", "delta-out-of-range".
absl::Status CheckPrivacy(const std::vector<double>& epsilons, double delta);

// Checks what can be checked before the file is read. INVALID_ARGUMENT
// "epsilon-out-of-range", "delta-out-of-range", "rounds-out-of-range",
// "mechanism-unknown", "outliers-off", "lambda-out-of-range",
// "outlier-bound-out-of-range", "evaluate-option-out-of-range",
// "loss-unused" (with outliers), those of CheckFitLaw;
// FAILED_PRECONDITION "evaluate-public-missing" for `paper-nndsvd` without
// is_public.
absl::Status CheckEvaluateOptions(const EvaluateOptions& options);

// The methods meant, in one order, each once. "auto" is what an analyst gets
// that names no mechanism: moments or aimed (IsAsked), and statistics where
// outliers are on. "all" has the two W_0 of V with is_public alone.
std::vector<Method> MethodsOf(const EvaluateOptions& options);

// Returns true if a method of MethodsOf is meant at this epsilon, on N users
// and D features: moments or aimed, if only "auto" names it, is meant if
// ChooseMechanism of common/learning/mechanism_choice.h chooses it.
bool IsAsked(const EvaluateOptions& options, Method method, double epsilon,
             std::uint64_t users, std::uint64_t features);

// T of a method; {0} where it has none.
std::vector<std::uint32_t> RoundsOf(const EvaluateOptions& options,
                                    Method method);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_OPTIONS_H_
