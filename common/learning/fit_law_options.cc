#include "common/learning/fit_law_options.h"

#include "common/base/error.h"

namespace dpnmf::analyst {

FitLaw FitLawOf(const v1::LearnerOptions& learner) {
  return {.loss = learner.loss() == v1::LOSS_KL ? Loss::kKullbackLeibler
                                                : Loss::kSquared,
          .sparseness = learner.sparseness()};
}

absl::Status CheckFitLawOf(const v1::LearnerOptions& learner) {
  if (!v1::Loss_IsValid(learner.loss())) return LossOfName("").status();
  return CheckFitLaw(FitLawOf(learner));
}

void CopyFitLaw(const v1::LearnerOptions& asked, v1::LearnerOptions* learner) {
  if (asked.loss() == v1::LOSS_UNSPECIFIED && !asked.has_sparseness()) return;
  learner->set_loss(asked.loss());
  if (asked.has_sparseness()) {
    learner->set_sparseness(asked.sparseness());
  } else {
    learner->clear_sparseness();
  }
}

}  // namespace dpnmf::analyst
