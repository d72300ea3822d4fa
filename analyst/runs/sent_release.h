// The paid release of a run, as it is handed out (GetRelease): what came, with
// what proves it, or the matrices that are fitted to.
#ifndef DPNMF_ANALYST_RUNS_SENT_RELEASE_H_
#define DPNMF_ANALYST_RUNS_SENT_RELEASE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyst/runs/run_items.h"
#include "analyst/store/run_store.h"
#include "common/learning/paid_release.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

struct SentRelease {
  std::string run_id;  // of the run that has it
  v1::ReleaseHeader header;
  FeatureFacts features;  // where there are
  bool matrices = false;
  PaidMoments paid;  // with `matrices`
};

// Before anything is sent. A child is taken for its parent, but for the
// matrices, of which it has a copy. NOT_FOUND "run-unknown";
// FAILED_PRECONDITION "release-missing", "release-unsigned"; DATA_LOSS
// "state-damaged".
absl::StatusOr<SentRelease> FindRelease(const std::string& run_id,
                                        bool matrices, RunStore* store);

// Stops when write returns false.
absl::Status WriteRelease(
    const SentRelease& release, RunStore* store,
    const std::function<bool(const v1::ReleaseReply&)>& write);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_SENT_RELEASE_H_
