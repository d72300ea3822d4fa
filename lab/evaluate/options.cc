#include "lab/evaluate/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/learning/mechanism_choice.h"
#include "common/nmf/defaults.h"
#include "common/privacy/accounting.h"

namespace dpnmf::curator::lab {
namespace {

constexpr std::array<std::string_view, 10> kMechanisms = {
    "auto",  "moments",      "aimed", "statistics", "gradient",
    "paper", "paper-nndsvd", "mean",  "none",       "all"};

bool Names(const EvaluateOptions& options, std::string_view mechanism) {
  return std::find(options.mechanisms.begin(), options.mechanisms.end(),
                   mechanism) != options.mechanisms.end();
}

absl::Status CheckMechanisms(const EvaluateOptions& options) {
  for (const std::string& mechanism : options.mechanisms) {
    if (std::find(kMechanisms.begin(), kMechanisms.end(), mechanism) ==
        kMechanisms.end()) {
      return BadInput(
          "mechanism-unknown",
          absl::StrCat("`--mechanism` must be auto, moments, aimed, "
                       "statistics, gradient, "
                       "paper, paper-nndsvd, mean, none or all, not \"",
                       mechanism, "\"."));
    }
  }
  if (options.mechanisms.empty()) {
    return BadInput("mechanism-unknown", "`--mechanism` needs a value.");
  }
  if (Names(options, "paper-nndsvd") && !options.is_public) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "evaluate-public-missing",
        "The mechanism paper-nndsvd begins with a decomposition of V without "
        "noise: it may run only on data that is declared `--public`.");
  }
  return absl::OkStatus();
}

absl::Status CheckOutliers(const EvaluateOptions& options) {
  if (options.outliers == OutlierChoice::kOff &&
      (options.lambda.has_value() || options.outlier_bound.has_value())) {
    return BadInput(
        "outliers-off",
        "`--lambda` and `--outlier-bound` need --outliers on or both.");
  }
  const double lambda = options.lambda.value_or(0);
  if (!(lambda >= 0 && lambda <= 1e6)) {
    return BadInput("lambda-out-of-range",
                    "`--lambda` must be from 0 to 1e6, in units of the data.");
  }
  const double bound = options.outlier_bound.value_or(1);
  if (!(bound > 0 && bound <= 1e6)) {
    return BadInput("outlier-bound-out-of-range",
                    "`--outlier-bound` must be above 0 and at most 1e6.");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EvaluateOptionOutOfRange(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 "evaluate-option-out-of-range", sentence);
}

absl::Status CheckPrivacy(const std::vector<double>& epsilons, double delta) {
  if (epsilons.empty()) {
    return BadInput("epsilon-out-of-range", "`--epsilon` needs a value.");
  }
  for (const double epsilon : epsilons) {
    if (!(epsilon > 0 && epsilon <= 1000)) {
      return BadInput("epsilon-out-of-range",
                      "Each `--epsilon` must be above 0 and at most 1000.");
    }
  }
  if (!(delta > 0 && delta < 1)) {
    return BadInput("delta-out-of-range",
                    "`--delta` must be above 0 and below 1.");
  }
  return absl::OkStatus();
}

absl::Status CheckEvaluateOptions(const EvaluateOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckPrivacy(options.epsilon, options.delta));
  DPNMF_RETURN_IF_ERROR(CheckMechanisms(options));
  DPNMF_RETURN_IF_ERROR(CheckOutliers(options));
  for (const std::uint32_t rounds : options.rounds) {
    if (!(rounds >= 1 && rounds <= 10'000)) {
      return BadInput("rounds-out-of-range",
                      "Each of `--rounds` must be from 1 to 10,000.");
    }
  }
  DPNMF_RETURN_IF_ERROR(CheckFitLaw(options.law));
  if (!options.law.is_plain() && options.outliers != OutlierChoice::kOff) {
    return BadInput("loss-unused",
                    "`--loss` and `--sparse` are of fits without outliers: "
                    "leave one of the two out.");
  }
  if (!(options.repeats >= 1 && options.repeats <= 1000))
    return EvaluateOptionOutOfRange("`--repeats` must be from 1 to 1000.");
  if (!(options.threads >= 1 && options.threads <= 1024))
    return EvaluateOptionOutOfRange("`--threads` must be from 1 to 1024.");
  if (!(options.image_width >= 0))
    return EvaluateOptionOutOfRange(
        "`--image-width` must be positive and divide D.");
  return absl::OkStatus();
}

std::vector<Method> MethodsOf(const EvaluateOptions& options) {
  const bool all = Names(options, "all");
  const bool automatic = Names(options, "auto");
  const bool on = options.outliers != OutlierChoice::kOff;
  const bool off = options.outliers != OutlierChoice::kOn;
  std::vector<Method> methods;
  const auto add = [&](bool wanted, Method method) {
    if (wanted) methods.push_back(method);
  };
  add(Names(options, "none") || all, Method::kNone);
  add(Names(options, "mean") || all, Method::kMean);
  add(!options.priors.empty(), Method::kPrior);
  add(Names(options, NameOf(Method::kMoments)) || all || (automatic && off),
      Method::kMoments);
  add(Names(options, NameOf(Method::kAimed)) || all || (automatic && off),
      Method::kAimed);
  add(Names(options, NameOf(Method::kStatistics)) || all || (automatic && on),
      Method::kStatistics);
  add(Names(options, NameOf(Method::kGradient)) || all, Method::kGradient);
  add(Names(options, "paper") || all, Method::kPaper);
  const bool nndsvd =
      Names(options, "paper-nndsvd") || (all && options.is_public);
  add(nndsvd, Method::kPaperNndsvd);
  add(nndsvd, Method::kNndsvd);
  return methods;
}

bool IsAsked(const EvaluateOptions& options, Method method, double epsilon,
             std::uint64_t users, std::uint64_t features) {
  if ((method != Method::kMoments && method != Method::kAimed) ||
      Names(options, "all") || Names(options, NameOf(method)))
    return true;
  const absl::StatusOr<MuSquared> cost =
      LargestCost(options.conversion, epsilon, options.delta);
  const MechanismChoice choice = ChooseMechanism(
      {.users = static_cast<double>(users),
       .features = static_cast<double>(features),
       .rank = static_cast<double>(options.rank),
       .mu_squared = cost.ok() ? cost->ToDouble() : 0,
       .has_order = options.image_width > 0 || !options.feature_order.empty(),
       .has_priors = !options.priors.empty()});
  return choice.mechanism == NameOf(method);
}

std::vector<std::uint32_t> RoundsOf(const EvaluateOptions& options,
                                    Method method) {
  if (!TakesRounds(method)) return {0};
  if (!options.rounds.empty()) return options.rounds;
  if (method == Method::kStatistics || method == Method::kGradient)
    return {kDefaultRounds};
  return {2, 10, 50};
}

}  // namespace dpnmf::curator::lab
