// Outlook for a run on ratings, from public numbers only.
#ifndef DPNMF_ANALYST_PLANNING_RATINGS_FORECAST_H_
#define DPNMF_ANALYST_PLANNING_RATINGS_FORECAST_H_

#include <string>

#include "common/privacy/run_plan.h"

namespace dpnmf {

// Sentences about the noise of the release `items`, in people and in units of
// ratings. Empty for a plan without that release. facts.ratings is set.
std::string ForecastSentence(const RunPlan& plan, const DatasetFacts& facts);

}  // namespace dpnmf

#endif  // DPNMF_ANALYST_PLANNING_RATINGS_FORECAST_H_
