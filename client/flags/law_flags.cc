#include "client/flags/law_flags.h"

namespace dpnmf::cli {

std::vector<Flag> FlagsOfLaw(LawFlags* flags) {
  return {Flag("--loss", &flags->loss,
               "Only for moments: whether the fit minimises the squared error "
               "or the divergence of counts [squared]",
               {.one_of = "squared|kl"}),
          Flag("--sparse", &flags->sparse,
               "Only for moments: least sparseness of each part, from 0 (any) "
               "to below 1 (only one feature)",
               {.value = "S"})};
}

void SetLaw(const LawFlags& flags, v1::LearnerOptions* learner) {
  if (!flags.loss.empty())
    learner->set_loss(flags.loss == "kl" ? v1::LOSS_KL : v1::LOSS_SQUARED);
  if (flags.sparse.has_value()) learner->set_sparseness(*flags.sparse);
}

}  // namespace dpnmf::cli
