// Forecast of a run's dictionary from public numbers, before anything is paid:
// D, N, the rank, the plan's noise. Nothing here has seen the data.
#ifndef DPNMF_ANALYST_PLANNING_FORECAST_H_
#define DPNMF_ANALYST_PLANNING_FORECAST_H_

#include <cstdint>
#include <string>

#include "common/privacy/run_plan.h"

namespace dpnmf {

// Bounds of random matrix theory, for the largest signal that the declared
// bounds allow; the true signal may be less, so no number here is a promise.
struct Forecast {
  // The largest singular value that the noise alone has, over the sum of all
  // that the data can have. moments: 2 sigma sqrt(M) / (N c_v^2), M the rows.
  // aimed: the same, sigma that of the mean of both releases by precision.
  // statistics and gradient: sigma_B (sqrt D + sqrt K) / (N c_u c_h), sigma_B
  // that of the average over the rounds (VarianceShareOfAverage).
  double noise = 0;
  // No more directions than this can be told from the noise by their size; at
  // most D (M). Parts on a few features may show beside it.
  // moments: 2 / noise, since eigenvalues below half the noise's edge do not
  // show and all of them add up to at most c_v^2 (Baik, Ben Arous and Peche
  // 2005; Benaych-Georges and Nadakuditi 2011). statistics: singular values of
  // B below sigma_B (D K)^(1/4) / N do not show and add up to c_u c_h at most.
  std::uint32_t most_directions = 0;
  // Directions by PredictMoments: as many as in faces, digits and mutation
  // counts, within a half; text and counts of many people had up to eight times
  // as many. 0: nothing is known (statistics, gradient).
  std::uint32_t typical_directions = 0;
  // Parts that can be expected to be reliable (the cosine to the part without
  // noise is above 0.8), at most the rank: 0.75 noise^-0.55, the law of
  // typical_directions, for every mechanism; at least 1 unless most_directions
  // is 0. 0: the run is hopeless.
  std::uint32_t reliable_parts = 0;
  // reliable_parts is below the rank: the others are guesses.
  bool too_small = false;
  // Epsilon at which reliable_parts reaches the rank, in the run's conversion
  // and at its delta (0: none up to 1000).
  double epsilon_needed = 0;
  // Sentences for people: what to expect first, then why, then what to change
  // within what is left.
  std::string sentence;

  bool hopeless() const { return noise > 0 && reliable_parts == 0; }
};

// `plan` is PlanRun(parameters, facts). Mechanisms with ForecastBy::kNothing
// give an empty forecast: noise 0 and no sentence. `largest_epsilon`: of one
// run that the budget still has room for; no larger one is advised.
inline constexpr double kLargestForecastEpsilon = 1000;
Forecast ForecastOf(const RunPlan& plan, const RunParameters& parameters,
                    const DatasetFacts& facts,
                    double largest_epsilon = kLargestForecastEpsilon);

}  // namespace dpnmf

#endif  // DPNMF_ANALYST_PLANNING_FORECAST_H_
