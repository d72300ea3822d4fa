#include "analyst/planning/forecast.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/view.h"
#include "common/moments/moments.h"
#include "common/nmf/statistics_update.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

const PartPlan* FindPart(const RunPlan& plan, std::string_view name) {
  for (const StagePlan& stage : plan.stages) {
    for (const PartPlan& part : stage.parts)
      if (part.name == name) return &part;
  }
  return nullptr;
}

// Deviation of the noise of the sum, in the sum's own units.
double Stddev(const PartPlan& part) {
  return std::ldexp(static_cast<double>(part.stddev_steps), part.step_exponent);
}

// Bounds before they are cut to whole numbers and to the shape.
struct Reach {
  double noise = 0;
  double directions = 0;
  std::uint32_t typical = 0;  // 0: not known
  double limit = 0;           // of directions, by the shape
};

// Reach of one or two releases of moments. Two have the noise of their mean by
// precision, as if the second took nothing out of v; aimed better, they know
// more.
Reach OfMoments(const PartPlan& g, const RunPlan& plan,
                const DatasetFacts& facts) {
  const PartPlan* const first = FindPart(plan, "G");
  const bool are_two = first != nullptr && first != &g;
  const double of_sum =
      are_two ? 1 / std::hypot(1 / Stddev(g), 1 / Stddev(*first)) : Stddev(g);
  const double stddev = of_sum / (static_cast<double>(facts.users) *
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
  // Variance of an average with weights in proportion to the round.
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
  return epsilon.ok() && *epsilon <= kLargestForecastEpsilon ? *epsilon : 0;
}

// Down to two significant digits, so that an advised epsilon has room.
double DownToTwoDigits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::floor(value / unit) * unit;
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

std::string Counted(std::uint32_t count, std::string_view what) {
  return absl::StrCat(count, " ", View(what), count == 1 ? "" : "s");
}

// Forecast.reliable_parts of a noise, before it is cut to the rank.
constexpr double kPartsAtFullNoise = 0.75, kPartsExponent = 0.55;
double PartsAt(double noise, const Reach& reach, double directions) {
  if (std::min(directions, reach.limit) < 1) return 0;
  return std::clamp(
      std::round(kPartsAtFullNoise * std::pow(noise, -kPartsExponent)), 1.0,
      std::floor(reach.limit));
}

// How many times less noise the rank needs.
double FactorFor(double rank, double noise) {
  // Rounded down to the half above which PartsAt rounds up.
  return noise / std::pow(kPartsAtFullNoise / (rank - 0.5), 1 / kPartsExponent);
}

// How many times less noise the run has at that epsilon; 0: not known.
double FactorAt(double epsilon, const RunPlan& plan,
                const RunParameters& parameters) {
  const absl::StatusOr<MuSquared> cost =
      LargestCost(parameters.conversion, epsilon, parameters.delta);
  return cost.ok() ? std::sqrt(cost->ToDouble() / plan.cost.ToDouble()) : 0;
}

// Advises what to change, within what is left; empty if nothing helps.
std::string AdviceOf(const Forecast& forecast, const Reach& reach,
                     const RunPlan& plan, const RunParameters& parameters,
                     double largest_epsilon) {
  const std::uint32_t parts = forecast.reliable_parts;
  std::string ways;
  if (parts >= 1) ways = absl::StrCat("a rank of ", parts);
  const auto or_epsilon = [&ways](double epsilon) {
    absl::StrAppend(&ways, ways.empty() ? "" : " or ", "an epsilon of ",
                    TwoDigits(epsilon));
  };
  if (forecast.epsilon_needed > 0) {
    const double enough = UpToTwoDigits(forecast.epsilon_needed);
    if (enough <= largest_epsilon) {
      or_epsilon(enough);
      return absl::StrCat(" Try ", ways, ".");
    }
  }
  if (largest_epsilon > parameters.epsilon) {
    const double all = DownToTwoDigits(largest_epsilon);
    const double factor = FactorAt(all, plan, parameters);
    const auto more = static_cast<std::uint32_t>(std::min(
        PartsAt(forecast.noise / factor, reach, reach.directions * factor),
        static_cast<double>(parameters.rank)));
    if (factor > 1 && more > parts) {
      or_epsilon(all);
      return absl::StrCat(" Try ", ways, ", which is about all that is left (",
                          Counted(more, "part"), ").");
    }
  }
  return ways.empty() ? " Nothing that the budget has left changes that."
                      : absl::StrCat(" Try ", ways, ".");
}

std::string SentenceOf(const Forecast& forecast, const Reach& reach,
                       const RunPlan& plan, const RunParameters& parameters,
                       double largest_epsilon) {
  std::string text =
      forecast.reliable_parts == 0
          ? "Expect no part that you can rely on"
          : absl::StrCat("Expect about ",
                         Counted(forecast.reliable_parts, "part"),
                         " you can rely on");
  absl::StrAppend(&text, "; you asked for ", parameters.rank, ".");
  absl::StrAppendFormat(
      &text,
      " The noise reaches %s %% of the largest possible signal; up to %s "
      "stronger "
      "than the noise.",
      TwoDigits(100 * forecast.noise),
      forecast.most_directions == 1
          ? "1 pattern is"
          : absl::StrCat(forecast.most_directions, " patterns are"));
  if (!forecast.too_small) return text;
  if (reach.limit < parameters.rank) {
    absl::StrAppendFormat(&text,
                          " Second moments of %.0f rows cannot distinguish %d "
                          "parts: request more rows or a smaller rank.",
                          reach.limit, parameters.rank);
    return text;
  }
  return text + AdviceOf(forecast, reach, plan, parameters, largest_epsilon);
}

}  // namespace

Forecast ForecastOf(const RunPlan& plan, const RunParameters& parameters,
                    const DatasetFacts& facts, double largest_epsilon) {
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
  forecast.reliable_parts = static_cast<std::uint32_t>(
      std::min(rank, PartsAt(reach.noise, reach, reach.directions)));
  forecast.too_small = forecast.reliable_parts < parameters.rank;
  // A rank above the rows is not a matter of noise.
  if (forecast.too_small && rank <= reach.limit) {
    forecast.epsilon_needed = EpsilonForLessNoise(
        plan, parameters,
        std::max(FactorFor(rank, reach.noise), 1 / reach.directions));
  }
  forecast.sentence =
      SentenceOf(forecast, reach, plan, parameters, largest_epsilon);
  return forecast;
}

}  // namespace dpnmf
