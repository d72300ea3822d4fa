// The second moments that a run has paid for, as all that is fitted to them
// reads them: released values, the known deviations of their noise, and public
// numbers. Everything that follows from them is post-processing and free.
#ifndef DPNMF_COMMON_LEARNING_PAID_RELEASE_H_
#define DPNMF_COMMON_LEARNING_PAID_RELEASE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "common/moments/aim.h"
#include "common/moments/moments.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Names in LearnerState::memory of a run of moments.
inline constexpr char kPaidMoments[] = "G";    // M x M, of the mean over users
inline constexpr char kPaidMean[] = "mean";    // D x 1
inline constexpr char kChosenRows[] = "rows";  // M x 1

// Names in a run of aimed, beside G: the mean of z z' (M x M); U (M x L); the
// aim's scale and rest, and the deviation of an entry of that mean (1 x 3).
inline constexpr char kPaidAimed[] = "aimed";
inline constexpr char kReleasedAimed[] = "Z";  // the part of the release
inline constexpr char kAimDirections[] = "aim";
inline constexpr char kAimNumbers[] = "aim numbers";

struct PaidMoments {
  std::uint64_t features = 0;  // D
  // The rows of W that `moments` is on: M of them, ascending. M <= D.
  std::vector<int> rows;
  // Y = G + E, the deviations of E (common/moments/moments.h), M x M, and what
  // the run's priors have on its rows.
  NoisedMoments moments;
  // Released if M < D, and not lost: D entries; else empty.
  Eigen::VectorXd mean;
  // The columns of the run's priors on all features, if M < D.
  PublicPeople people = {};
  double mean_stddev = 0;  // of the noise of one entry of `mean`

  bool covers_all() const { return rows.size() == features; }
};

// Returns the place of the moments of a run: features, rows, mean and people of
// PaidMoments, without moments and mean_stddev. DATA_LOSS "state-damaged".
absl::StatusOr<PaidMoments> PlaceOfMoments(std::uint32_t moment_rows,
                                           const LearnerState& state);

// A second release of moments and what was asked for (common/moments/aim.h).
struct AimedRelease {
  Aim aim;
  Eigen::MatrixXd z;
  double stddev = 0;  // of an entry of z off the diagonal
};
void KeepAimed(AimedRelease aimed, LearnerState* state);

// G as it was released with these deviations, or together with the second
// release that the state has. FAILED_PRECONDITION "release-missing"; DATA_LOSS
// "state-damaged".
absl::StatusOr<NoisedMoments> MomentsKept(const LearnerState& state,
                                          double stddev_off,
                                          double stddev_diagonal);

// Fills in what PlaceOfMoments leaves out of `paid`: these moments, the bound
// on their trace (NoisedMoments::largest_trace), what the run has declared, and
// the mean with noise of this deviation as a second estimate.
void FillPaidMoments(NoisedMoments moments, double largest_trace,
                     double mean_stddev, const LearnerState& state,
                     PaidMoments* paid);

// From a stored run and its state (RunStore::Get, RunStore::ReadLearner), in
// whatever state the run is: a run that was ended after its release came has
// it. FAILED_PRECONDITION "release-missing"; DATA_LOSS "state-damaged".
absl::StatusOr<PaidMoments> PaidMomentsOf(const v1::Run& run,
                                          const LearnerState& state);

// W (D x K): DenoiseMoments and FitDictionary, lifted to all features if M < D.
// options.start is W's rows on `rows` (M x K), or empty. The same bits for any
// options.threads. Errors of the two functions.
absl::StatusOr<Eigen::MatrixXd> FitPaidMoments(const PaidMoments& paid,
                                               const FitOptions& options,
                                               FitFigures* figures = nullptr);
// The same from DenoiseMoments of paid.moments, which several fits share.
absl::StatusOr<Eigen::MatrixXd> FitDenoised(const PaidMoments& paid,
                                            const DenoisedMoments& denoised,
                                            const FitOptions& options,
                                            FitFigures* figures = nullptr);

// Fits state->w to `paid` with the seed, law and threads of `facts`. Errors of
// FitPaidMoments.
absl::Status UpdateFromPaid(const PaidMoments& paid, const RoundFacts& facts,
                            LearnerState* state);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_PAID_RELEASE_H_
