// The priors of a run: public knowledge for the fit of its W. They come with
// the request, are stored with the run (LearnerState::priors) and stay with
// this analyst: no request to the curator contains anything of them.
#ifndef DPNMF_COMMON_LEARNING_RUN_PRIORS_H_
#define DPNMF_COMMON_LEARNING_RUN_PRIORS_H_

#include <memory>
#include <vector>

#include "common/learning/mechanism.h"
#include "common/moments/prior.h"

namespace dpnmf::analyst {

// The run's priors on `rows`, which ascend below D; null if there are none.
std::shared_ptr<const std::vector<Prior>> PriorsOf(
    const LearnerState& state, const std::vector<int>& rows);

// The columns of the run's priors on all D features; 0 x 0 if there are none.
PublicPeople PeopleOf(const LearnerState& state);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_RUN_PRIORS_H_
