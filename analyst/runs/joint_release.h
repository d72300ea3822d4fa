// One release of several: the sum over people of second moments (and means)
// that different runs have paid for.
//
// Run i has released G_i + E_i, the mean over its N_i people, with independent
// Gaussian noise of known deviation s_i. With N = sum N_i
//   G = sum (N_i / N) (G_i + E_i)
// is the mean over all N people plus noise of deviation
//   s = sqrt(sum (N_i s_i)^2) / N,
// on the diagonal and off it. It is the sum over people and not the average of
// least variance: every person has the same weight, whatever the noise of the
// release that the person is in. All of it is post-processing and free.
#ifndef DPNMF_ANALYST_RUNS_JOINT_RELEASE_H_
#define DPNMF_ANALYST_RUNS_JOINT_RELEASE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyst/runs/refit.h"
#include "analyst/runs/run_items.h"
#include "analyst/store/run_store.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Terms of one sum.
inline constexpr int kMostJoinedRuns = 64;

// Stored data of a run that is a term.
struct JoinedSource {
  RunRecord record;
  LearnerState state;
  std::optional<v1::Dataset> dataset;
  FeatureFacts features;  // names and weights, where there are
};

// The terms of a request: refit.run_id first. Errors of the store.
absl::StatusOr<std::vector<JoinedSource>> JoinedSources(const v1::Refit& refit,
                                                        RunStore* store);

// ChildOf of the sum, with at least two sources. The same bits in whatever
// order the sources come; the child's first parent is the first source's. The
// guarantee is the first's, void if that of any is. Errors of ChildOf;
// INVALID_ARGUMENT "releases-overlap" (a run or a data set is a term twice),
// "releases-differ" (features, their names, normalisation, bound, relation, a
// number of people that is not known, or a run of another mechanism than
// moments: two releases in one have no noise of one deviation),
// "release-rows-differ". Law, priors and order are those of `refit` alone.
absl::StatusOr<NewRun> JointChildOf(std::vector<JoinedSource> sources,
                                    const v1::Refit& refit);

// "jan+feb+mar"; of more than three "jan+11 more". No data set has a name with
// a plus.
std::string NameOfJoined(const std::vector<std::string>& datasets);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_JOINT_RELEASE_H_
