// Mechanisms at the analyst: defaults of a run, and what is done with each
// release: functions of released values and public facts alone, hence free
// post-processing. The descriptor that both parties share, and where the list
// is: common/privacy/mechanism.h.
#ifndef DPNMF_COMMON_LEARNING_MECHANISM_H_
#define DPNMF_COMMON_LEARNING_MECHANISM_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "Eigen/SparseCore"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/name_table.h"
#include "common/moments/aim.h"
#include "common/moments/feature_order.h"
#include "common/moments/fit_law.h"
#include "common/nmf/noised_matrix.h"
#include "common/nmf/round_input.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/item_model.h"
#include "common/ratings/learner.h"
#include "common/threads/parallel.h"
#include "common/threads/stop.h"

namespace dpnmf::analyst {

// Public knowledge for the fit of W, as a run keeps it: one of the three.
struct KeptPrior {
  Eigen::SparseMatrix<double> columns;  // D x n, >= 0: other people
  Eigen::MatrixXd dictionary;           // D x L, >= 0
  Eigen::MatrixXd moment;               // symmetric, on `rows`
  std::vector<int> rows;                // ascending, below D
};

// Figures of a fit, besides W.
struct FitFigures {
  // The share of the priors in the estimate, if there are any.
  std::optional<double> prior_share;
  // The share of people's squared length on the rows of the moments that W
  // explains, as the estimate has it: [0, 1].
  std::optional<double> explained;
};

// All that a run was given and has learned. It is stored after each round, and
// the next request is a function of it: that makes a run resume with the same
// bits.
struct LearnerState {
  // D x K: non-negative, columns of length at most 1. Of a run on ratings: its
  // model, D x (1 + q), of any sign.
  Eigen::MatrixXd w;
  std::vector<KeptPrior> priors;  // at most kMostPriors
  FeatureOrder order;             // has passed CheckFeatureOrder, or kNone
  FitFigures figures;             // of the fit that gave W
  // The run was ended while it learned from its last round: the memory has that
  // release, and W is that of the round before.
  bool unlearned = false;
  // Memory of the mechanism from round to round, by names of its choice.
  std::map<std::string, Eigen::MatrixXd> memory;
};

// Noise of one released part, as a mean over users.
struct PartNoise {
  double stddev = 0;           // off the diagonal, or everywhere
  double diagonal_stddev = 0;  // of symmetric parts
};

// Public facts of a round.
struct RoundFacts {
  std::uint32_t round = 1;  // t: 1 to rounds, within the round's stage
  std::uint32_t rounds = 1;
  std::uint32_t moment_rows = 0;           // M
  std::uint64_t seed = 0;                  // of the learner
  double stddev_of_mean = 0;               // of an entry of the run's mean
  PartNoise of_moments;                    // of G, if the run releases one
  double largest_moment = 1;               // c_v^2: no v v' is longer
  std::map<std::string, PartNoise> noise;  // by part
  double users = 1;                        // N or N0
  double step_size = 1;
  std::uint32_t steps_per_round = 1;
  // c_h^2: no user's hh' is longer, so |A|_F <= c_h^2.
  double largest_a_norm = 1;
  // c_v^2 of a second moment (LargestTrace of common/learning/round_facts.h).
  double largest_trace = std::numeric_limits<double>::infinity();
  // Standard deviation of the noise in A itself (not in its sum), off the
  // diagonal. 0: no noise (tests).
  double stddev_a = 0;
  // False: each round uses its own release alone.
  bool average = true;
  std::uint32_t round_of_run = 1;  // 1 to the rounds of the run
  // Facts for mechanisms that need items; else null.
  const RatingsFacts* ratings = nullptr;
  // Learning is broken off once it says so (common/threads/stop.h).
  Stop stopped = {};
  int threads = DefaultThreads();
  FitLaw law = {};  // by which W is fitted to moments
  // If not null: told the share of a long update that is done, in (0, 1].
  std::function<void(double)> progress = {};
};

// Updates the state with the parts of one release. INVALID_ARGUMENT
// "release-malformed" if the parts are not those of the mechanism or do not fit
// W; the state is then unchanged. CANCELLED "cancelled" once facts.stopped says
// so: the memory then has what was released (where it is kept at all), and W is
// not to be used.
using UpdateFunction = absl::Status (*)(const std::vector<NoisedMatrix>& parts,
                                        const RoundFacts& facts,
                                        LearnerState* state);

// Returns the next request of the kind: a function of what was released before.
// DATA_LOSS "state-damaged" if no release can have left the state.
using InputFunction = absl::StatusOr<RoundInput> (*)(const RoundFacts& facts,
                                                     const LearnerState& state);

// Standard errors of W (D x K) in a run that has ended with this release, from
// its facts and what the run has kept. FAILED_PRECONDITION
// "errors-unavailable"; DATA_LOSS "state-damaged"; CANCELLED "cancelled" once
// `stopped` says so.
using ErrorsFunction = absl::StatusOr<Eigen::MatrixXd> (*)(
    const RoundFacts& facts, const LearnerState& state,
    const std::function<bool()>& stopped);

// Estimate of the work of learning from one release.
struct LearningWork {
  double entries = 0;          // numbers of 8 bytes held at once
  double multiplications = 0;  // of the whole
  bool all_cores = false;
};
struct LearningShape {
  double features = 0, rank = 0, moment_rows = 0, steps_per_round = 0;
  bool has_order = false;
};

// The rounds of a stage.
struct ReleaseKind {
  std::string_view name;  // StagePlan.release
  InputFunction input;
  UpdateFunction update;
  // A run whose last release is of this kind has no answer without it.
  bool is_answer = false;
  // Kept as it came, too: others may fit to it (AddRelease).
  bool is_passed_on = false;
  ErrorsFunction standard_errors = nullptr;  // null: not known
  // Work of learning; null: W and the release only.
  LearningWork (*work)(const LearningShape& shape) = nullptr;
};

// Result of a run that learns no dictionary.
struct Figure {
  double value = 0;
  double stddev = 0;
};

struct Mechanism {
  std::string_view name;
  // Fills in what was left at 0. May find out-of-range values and leaves them.
  void (*fill_defaults)(const DatasetFacts& facts, RunParameters* parameters);
  // Releases of the mechanism's stages that no other mechanism's file has.
  std::span<const ReleaseKind> releases;
  // Returns the figure if one was released; null if a dictionary is learned.
  std::optional<Figure> (*figure)(const LearnerState& state) = nullptr;
  // Its rounds read the declared items (RoundFacts::ratings).
  bool needs_items = false;
  // Returns W before the first release; null for a dictionary that is drawn or
  // given.
  Eigen::MatrixXd (*first)(const DatasetFacts& facts,
                           const RunParameters& parameters) = nullptr;
  // Returns the item model; null if a dictionary is learned.
  // FAILED_PRECONDITION "model-not-ready" before the first release.
  absl::StatusOr<ItemModel> (*item_model)(const RatingsFacts& facts,
                                          const LearnerState& state) = nullptr;
};

// All of them, by name.
const NameTable<Mechanism>& Mechanisms();

// nullptr if no mechanism has a release of that name.
const ReleaseKind* FindReleaseKind(std::string_view name);

// kDefaultRounds where no number of rounds is asked for.
void FillDefaultRounds(const DatasetFacts& facts, RunParameters* parameters);

// "statistics": noised A (K x K) and B (D x K), averaged over rounds, then
// steps_per_round projected gradient steps. statistics.cc.
absl::Status UpdateFromStatistics(const std::vector<NoisedMatrix>& parts,
                                  const RoundFacts& facts, LearnerState* state);

// "gradient": noised W A - B (D x K). A and B are fitted to all rounds, then
// steps_per_round projected gradient steps (without facts.average: one step
// along -G). gradient.cc.
absl::Status UpdateFromGradient(const std::vector<NoisedMatrix>& parts,
                                const RoundFacts& facts, LearnerState* state);

// "mean": the noised mean of the columns (D x 1). Chooses the rows whose second
// moment is asked for next. moments.cc.
absl::Status UpdateFromMean(const std::vector<NoisedMatrix>& parts,
                            const RoundFacts& facts, LearnerState* state);

// "moments": the noised second moment G (M x M). Denoises it and fits W.
// moments.cc.
absl::Status UpdateFromMoments(const std::vector<NoisedMatrix>& parts,
                               const RoundFacts& facts, LearnerState* state);

// "objective": keeps the released mean and its standard deviation under
// "objective" (1 x 2). objective.cc.
absl::Status UpdateFromObjective(const std::vector<NoisedMatrix>& parts,
                                 const RoundFacts& facts, LearnerState* state);

// OK, or the CANCELLED "cancelled" of UpdateFunction.
absl::Status CheckLearning(const RoundFacts& facts);

// "errors-unavailable" and "state-damaged" of ErrorsFunction.
absl::Status ErrorsUnavailable();
absl::Status ErrorsDamaged();
// Returns the state's matrix of that name; nullptr if there is none.
const Eigen::MatrixXd* Kept(const LearnerState& state, const std::string& name);

// W itself; nothing; the rows that the mean has chosen (nothing if all are).
absl::StatusOr<RoundInput> SendDictionary(const RoundFacts& facts,
                                          const LearnerState& state);
absl::StatusOr<RoundInput> SendNothing(const RoundFacts& facts,
                                       const LearnerState& state);
absl::StatusOr<RoundInput> SendRows(const RoundFacts& facts,
                                    const LearnerState& state);

// The rows that a mean has chosen, as UpdateFromMean stored them (n x 1):
// ascending rows of W. DATA_LOSS "state-damaged".
absl::StatusOr<std::vector<int>> StoredRows(const Eigen::MatrixXd& kept,
                                            const LearnerState& state);
// The rows that G is on, M at most: those that the mean has chosen; all, or
// evenly spread ones if it is lost. DATA_LOSS "state-damaged".
absl::StatusOr<std::vector<int>> RowsOfMoments(std::uint32_t moment_rows,
                                               const LearnerState& state);

// Mixes `fresh` into the average kept under `name` and returns that
// (AverageRounds of common/nmf/statistics_update.h). Without facts.average it
// returns `fresh` and keeps nothing.
Eigen::MatrixXd AverageIn(const std::string& name, const RoundFacts& facts,
                          Eigen::MatrixXd fresh, LearnerState* state);

// VarianceShareOfAverage at that round. 1 without facts.average.
double VarianceShare(const RoundFacts& facts);

// ErrorsFunction of what a run of moments or aimed has kept: the noise of its
// release, or of both together, is drawn again. moments.cc.
absl::StatusOr<Eigen::MatrixXd> ErrorsOfMoments(
    const RoundFacts& facts, const LearnerState& state,
    const std::function<bool()>& stopped);

// Returns the aim of the second release of a run of aimed with this rank: the
// aim that the state has kept, else a function of the first release (on `rows`
// rows) and of public facts; without a first release (it was lost) nothing is
// taken out of v. The aim must not change: whoever adds a release finds it
// again. aimed.cc.
absl::StatusOr<Aim> AimAfter(const RoundFacts& facts, const LearnerState& state,
                             Eigen::Index rows, int rank);
// The request for it: `rows` of `features`, which ascend.
RoundInput RequestOf(const Aim& aim, const std::vector<int>& rows,
                     Eigen::Index features);

// DefaultShareOfMean of what the run may cost. moments.cc.
double ShareOfMeanFor(const RunParameters& run, const DatasetFacts& facts);

// The mean (sum / users) of the part `name`, which must be rows x columns.
// INVALID_ARGUMENT "release-malformed" otherwise.
absl::StatusOr<Eigen::MatrixXd> MeanOfPart(
    const std::vector<NoisedMatrix>& parts, std::string_view name,
    Eigen::Index rows, Eigen::Index columns, double users);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_MECHANISM_H_
