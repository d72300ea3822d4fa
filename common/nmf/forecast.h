// What public numbers tell of a run's dictionary before anything is paid:
// D, N, the rank, the plan's noise. Nothing here has seen the data.
#ifndef DPNMF_COMMON_NMF_FORECAST_H_
#define DPNMF_COMMON_NMF_FORECAST_H_

#include <cstdint>
#include <string>

#include "common/privacy/run_plan.h"

namespace dpnmf {

// Bounds of random matrix theory, for the largest signal that the declared
// bounds allow; the true signal may be less, so no number here is a promise.
struct Forecast {
  // The largest singular value that the noise alone has, over the sum of all
  // that the data can have. moments: 2 sigma sqrt(M) / (N c_v^2), M the rows.
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
  // As PredictMoments: what faces, digits and mutation counts had, within a
  // half; text and counts of many people had up to eight times as many. 0:
  // nothing is known (statistics, gradient).
  std::uint32_t typical_directions = 0;
  // most_directions is below the rank: some parts may be guesses.
  bool too_small = false;
  // Where most_directions reaches the rank: an epsilon in the run's conversion
  // and delta (0: none up to 1000).
  double epsilon_needed = 0;
  // One to three sentences for people; what to change if it is too small.
  std::string sentence;
};

// `plan` is PlanRun(parameters, facts). Mechanisms with ForecastBy::kNothing
// give an empty forecast: noise 0 and no sentence.
Forecast ForecastOf(const RunPlan& plan, const RunParameters& parameters,
                    const DatasetFacts& facts);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_FORECAST_H_
