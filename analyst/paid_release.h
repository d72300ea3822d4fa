// The second moments that a run has paid for, as all that is fitted to them
// reads them: released values, the known deviations of their noise, and public
// numbers. Everything that follows from them is post-processing and free.
#ifndef DPNMF_ANALYST_PAID_RELEASE_H_
#define DPNMF_ANALYST_PAID_RELEASE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "analyst/mechanism/mechanism.h"
#include "common/nmf/moments.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Names in LearnerState::memory of a run of moments.
inline constexpr char kPaidMoments[] = "G";    // M x M, of the mean over users
inline constexpr char kPaidMean[] = "mean";    // D x 1
inline constexpr char kChosenRows[] = "rows";  // M x 1

struct PaidMoments {
  std::uint64_t features = 0;  // D
  // The rows of W that `moments` is on: M of them, ascending. M <= D.
  std::vector<int> rows;
  // Y = G + E, the deviations of E (common/nmf/moments.h), M x M, and what the
  // run's priors have on its rows.
  NoisedMoments moments;
  // Released if M < D, and not lost: D entries; else empty.
  Eigen::VectorXd mean;
  double mean_stddev = 0;  // of the noise of one entry of `mean`

  bool covers_all() const { return rows.size() == features; }
};

// From a stored run and its state (RunStore::Get, RunStore::ReadLearner), in
// whatever state the run is: a run that was ended after its release came has
// it. FAILED_PRECONDITION "release-missing"; DATA_LOSS "state-damaged".
absl::StatusOr<PaidMoments> PaidMomentsOf(const v1::Run& run,
                                          const LearnerState& state);

// W (D x K): DenoiseMoments and FitDictionary, lifted to all features if M < D.
// options.start is W's rows on `rows` (M x K), or empty. The same bits for any
// options.threads. Errors of the two functions.
// *prior_share, if not null, gets the share of paid.moments.priors in the
// estimate, if there are any.
absl::StatusOr<Eigen::MatrixXd> FitPaidMoments(
    const PaidMoments& paid, const FitOptions& options,
    std::optional<double>* prior_share = nullptr);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_PAID_RELEASE_H_
