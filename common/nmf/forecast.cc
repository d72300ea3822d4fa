#include "common/nmf/forecast.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/nmf/moments.h"
#include "common/nmf/statistics_update.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mechanism/mechanism.h"

namespace dpnmf {
namespace {

constexpr double kLargestEpsilon = 1000;

const PartPlan* FindPart(const RunPlan& plan, std::string_view name) {
  for (const StagePlan& stage : plan.stages) {
    for (const PartPlan& part : stage.parts)
      if (part.name == name) return &part;
  }
  return nullptr;
}

// Of the sum, in its own units.
double Stddev(const PartPlan& part) {
  return std::ldexp(static_cast<double>(part.stddev_steps), part.step_exponent);
}

// What the bounds say before they are cut to whole numbers and to the shape.
struct Reach {
  double noise = 0;
  double directions = 0;
  std::uint32_t typical = 0;  // 0: not known
  double limit = 0;           // of directions, by the shape
};

Reach OfMoments(const PartPlan& g, const RunPlan& plan,
                const DatasetFacts& facts) {
  const double stddev = Stddev(g) / (static_cast<double>(facts.users) *
                                     plan.data_bound * plan.data_bound);
  const double users = static_cast<double>(facts.users);
  // The mu^2 at which columns of length 1 would have this noise.
  const MomentsForecast moments = PredictMoments(
      users, static_cast<int>(g.rows), 1 / (users * stddev * users * stddev));
  return {moments.noise_edge, 2 / moments.noise_edge,
          static_cast<std::uint32_t>(moments.typical_directions),
          static_cast<double>(g.rows)};
}

Reach OfStatistics(const PartPlan& b, const RunPlan& plan,
                   const RunParameters& parameters, const DatasetFacts& facts) {
  // Of an average with weights in proportion to the round.
  const double share = VarianceShareOfAverage(parameters.rounds);
  const double stddev = Stddev(b) * std::sqrt(share) /
                        (static_cast<double>(facts.users) * plan.data_bound *
                         plan.coefficient_bound);
  const double features = static_cast<double>(b.rows),
               rank = static_cast<double>(b.columns);
  return {stddev * (std::sqrt(features) + std::sqrt(rank)),
          1 / (stddev * std::pow(features * rank, 0.25)), 0,
          std::min(features, rank)};
}

// The epsilon at which the noise is `factor` times smaller: it falls as 1 / mu.
double EpsilonForLessNoise(const RunPlan& plan, const RunParameters& parameters,
                           double factor) {
  const std::optional<MuSquared> cost =
      MuSquared::RoundUp(plan.cost.ToDouble() * factor * factor);
  if (!cost.has_value()) return 0;
  const absl::StatusOr<double> epsilon =
      Epsilon(parameters.conversion, *cost, parameters.delta);
  return epsilon.ok() && *epsilon <= kLargestEpsilon ? *epsilon : 0;
}

// The next number of two significant digits.
double UpToTwoDigits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit) * unit;
}

std::string TwoDigits(double value) {
  return value < 100 ? absl::StrFormat("%.2g", value)
                     : absl::StrFormat("%.0f", value);
}

std::string Directions(std::uint32_t count) {
  return absl::StrCat(count, count == 1 ? " direction" : " directions");
}

// `limit`: of directions, by the shape.
std::string SentenceOf(const Forecast& forecast,
                       const RunParameters& parameters, double limit) {
  std::string text = absl::StrFormat(
      "The noise reaches %s %% of the largest signal that there can be; at "
      "most %s can be told from it by their size",
      TwoDigits(100 * forecast.noise), Directions(forecast.most_directions));
  if (forecast.typical_directions > 0 &&
      forecast.typical_directions < forecast.most_directions) {
    absl::StrAppendFormat(&text, ", %s in data like faces or mutation counts",
                          absl::StrCat(forecast.typical_directions));
  }
  text += ".";
  if (!forecast.too_small) return text;
  if (limit < parameters.rank) {
    absl::StrAppendFormat(&text,
                          " Second moments of %.0f rows cannot tell %d parts "
                          "apart: ask for more rows or a smaller rank.",
                          limit, parameters.rank);
    return text;
  }
  absl::StrAppendFormat(
      &text,
      " That is fewer than the rank: the data set is too small for rank %d at "
      "this epsilon, and some parts may be guesses.",
      parameters.rank);
  std::string ways;
  if (forecast.most_directions >= 1)
    ways = absl::StrCat("a rank of ", forecast.most_directions);
  if (forecast.epsilon_needed > 0) {
    absl::StrAppend(&ways, ways.empty() ? "" : " or ", "an epsilon of ",
                    TwoDigits(UpToTwoDigits(forecast.epsilon_needed)));
  }
  if (!ways.empty()) absl::StrAppend(&text, " Try ", ways, ".");
  return text;
}

}  // namespace

Forecast ForecastOf(const RunPlan& plan, const RunParameters& parameters,
                    const DatasetFacts& facts) {
  const Mechanism* const mechanism = Mechanisms().Find(parameters.mechanism);
  if (mechanism == nullptr) return {};
  const PartPlan* const part = FindPart(plan, mechanism->forecast_part);
  if (part == nullptr) return {};
  Reach reach;
  switch (mechanism->forecast_by) {
    case ForecastBy::kNothing:
      return {};
    case ForecastBy::kSecondMoment:
      reach = OfMoments(*part, plan, facts);
      break;
    case ForecastBy::kAveragedProducts:
      reach = OfStatistics(*part, plan, parameters, facts);
      break;
  }
  Forecast forecast;
  forecast.noise = reach.noise;
  forecast.most_directions = static_cast<std::uint32_t>(
      std::floor(std::min(reach.directions, reach.limit)));
  forecast.typical_directions =
      std::min(reach.typical, forecast.most_directions);
  const double rank = parameters.rank;
  forecast.too_small = forecast.most_directions < parameters.rank;
  // A rank above the rows is not a matter of noise.
  if (forecast.too_small && rank <= reach.limit) {
    forecast.epsilon_needed =
        EpsilonForLessNoise(plan, parameters, rank / reach.directions);
  }
  forecast.sentence = SentenceOf(forecast, parameters, reach.limit);
  return forecast;
}

}  // namespace dpnmf
