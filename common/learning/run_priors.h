// The priors of a run: public knowledge for the fit of its W. They come with
// the request, are stored with the run (LearnerState::memory) and stay with
// this analyst: no request to the curator contains anything of them.
#ifndef DPNMF_COMMON_LEARNING_RUN_PRIORS_H_
#define DPNMF_COMMON_LEARNING_RUN_PRIORS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "common/moments/prior.h"

namespace dpnmf::analyst {

// Puts prior `number` (0 to kMostPriors - 1) into the memory of a run on D
// features. Columns (D x n) are kept as triples where these are smaller.
void KeepPriorColumns(std::size_t number, Eigen::MatrixXd columns,
                      LearnerState* state);
// Columns as (nonzeros + 1) x 3: D, n and 0, then row, column and value of
// each.
void KeepPriorTriples(std::size_t number, Eigen::MatrixXd triples,
                      LearnerState* state);
// D x L.
void KeepPriorDictionary(std::size_t number, Eigen::MatrixXd dictionary,
                         LearnerState* state);
// A second moment on these rows, ascending.
void KeepPriorMoment(std::size_t number, Eigen::MatrixXd moment,
                     const std::vector<int>& rows, LearnerState* state);
// Checks for a whole number from 0 to `count` - 1.
bool IsIndexBelow(double value, std::uint64_t count);

// The priors of another state, in the place of those that are there.
void CopyPriors(const LearnerState& from, LearnerState* to);

// Returns the kept priors on `rows`; null if there are none. DATA_LOSS
// "state-damaged".
absl::StatusOr<std::shared_ptr<const std::vector<Prior>>> PriorsOf(
    const LearnerState& state, const std::vector<int>& rows);
// The columns of the kept priors on all D features; none if there are none.
// DATA_LOSS "state-damaged".
absl::StatusOr<PublicPeople> PeopleOf(const LearnerState& state);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_RUN_PRIORS_H_
