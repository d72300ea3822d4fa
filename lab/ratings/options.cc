#include "lab/ratings/options.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "curator/import/readers/ratings.h"
#include "lab/evaluate/options.h"
#include "lab/ratings/baselines.h"

namespace dpnmf::curator::lab {
namespace {

constexpr std::array<RatingsMethod, 7> kMethods = {
    RatingsMethod::kMean,   RatingsMethod::kPopularity,
    RatingsMethod::kBias,   RatingsMethod::kAls,
    RatingsMethod::kEase,   RatingsMethod::kPublished,
    RatingsMethod::kRatings};

bool Names(const EvaluateRatingsOptions& options, std::string_view name) {
  return std::find(options.methods.begin(), options.methods.end(), name) !=
         options.methods.end();
}

absl::Status CheckMethods(const EvaluateRatingsOptions& options) {
  for (const std::string& method : options.methods) {
    const bool known =
        method == "all" ||
        std::any_of(kMethods.begin(), kMethods.end(),
                    [&](RatingsMethod one) { return NameOf(one) == method; });
    if (!known) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "mechanism-unknown",
          absl::StrCat("`--methods` must be ratings, bias, popularity, als, "
                       "ease, published, mean or all, not \"",
                       method, "\"."));
    }
  }
  if (options.methods.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "mechanism-unknown",
                   "`--methods` needs a value.");
  }
  if (options.by == HoldOutBy::kPerson &&
      (Names(options, "published") || options.published_study)) {
    return EvaluateOptionOutOfRange(
        "The published algorithm has no profile of a person that it was not "
        "trained with: it needs `--by rating` or `--by time`.");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view NameOf(RatingsMethod method) {
  switch (method) {
    case RatingsMethod::kMean:
      return "mean";
    case RatingsMethod::kPopularity:
      return "popularity";
    case RatingsMethod::kBias:
      return "bias";
    case RatingsMethod::kAls:
      return "als";
    case RatingsMethod::kEase:
      return "ease";
    case RatingsMethod::kPublished:
      return "published";
    case RatingsMethod::kRatings:
      return kRatingsMechanism.name;
  }
  return "";
}

absl::Status CheckEvaluateRatingsOptions(
    const EvaluateRatingsOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckPrivacy(options.epsilon, options.run.delta));
  DPNMF_RETURN_IF_ERROR(ParseRatingRange(options.rating_range).status());
  DPNMF_RETURN_IF_ERROR(CheckMethods(options));
  if (!(options.holdout > 0 && options.holdout < 1))
    return EvaluateOptionOutOfRange("`--holdout` must be above 0 and below 1.");
  if (!(options.repeats >= 1 && options.repeats <= 1000))
    return EvaluateOptionOutOfRange("`--repeats` must be from 1 to 1000.");
  if (!(options.threads >= 1 && options.threads <= 1024))
    return EvaluateOptionOutOfRange("`--threads` must be from 1 to 1024.");
  return absl::OkStatus();
}

std::vector<RatingsMethod> MethodsOf(const EvaluateRatingsOptions& options,
                                     std::uint64_t items) {
  std::vector<RatingsMethod> methods;
  for (const RatingsMethod method : kMethods) {
    const bool possible =
        !(method == RatingsMethod::kEase && items > kMostEaseItems) &&
        !(method == RatingsMethod::kPublished &&
          options.by == HoldOutBy::kPerson);
    if (Names(options, NameOf(method)) || (Names(options, "all") && possible))
      methods.push_back(method);
  }
  return methods;
}

}  // namespace dpnmf::curator::lab
