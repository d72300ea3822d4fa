// The law of a fit (common/moments/fit_law.h), from messages.
#ifndef DPNMF_COMMON_LEARNING_FIT_LAW_OPTIONS_H_
#define DPNMF_COMMON_LEARNING_FIT_LAW_OPTIONS_H_

#include "absl/status/status.h"
#include "common/moments/fit_law.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

FitLaw FitLawOf(const v1::LearnerOptions& learner);

// INVALID_ARGUMENT "loss-unknown" and those of CheckFitLaw.
absl::Status CheckFitLawOf(const v1::LearnerOptions& learner);

// The law of a refit: what is asked for, or the run's if nothing of it is.
void CopyFitLaw(const v1::LearnerOptions& asked, v1::LearnerOptions* learner);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_FIT_LAW_OPTIONS_H_
