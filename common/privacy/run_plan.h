// Plan of a run (draws and costs), from the request and public facts only.
//
// Both parties call PlanRun and get the same plan: the curator to charge and to
// draw, the analyst to show a price before anything is spent.
#ifndef DPNMF_COMMON_PRIVACY_RUN_PLAN_H_
#define DPNMF_COMMON_PRIVACY_RUN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"

namespace dpnmf {

// The declared range of a data set of ratings, in units of kRatingUnit.
inline constexpr double kRatingUnit = 1e-4;
struct RatingScale {
  std::int32_t low_units = 0;
  std::int32_t high_units = 0;      // above low_units
  std::uint32_t item_features = 0;  // columns of the items' public features

  friend bool operator==(const RatingScale&, const RatingScale&) = default;
};

// Classes of a data set: each person has one of these labels.
struct ClassFacts {
  std::vector<std::string> names;  // different
  // Sizes of the classes where the labels were declared public; else empty.
  std::vector<std::uint64_t> sizes = {};

  friend bool operator==(const ClassFacts&, const ClassFacts&) = default;
};

// The declared range of every entry, and whether entries are whole numbers.
struct EntryRange {
  double low = 0;   // at least 0
  double high = 0;  // above low, at most the column bound
  bool integers = false;

  friend bool operator==(const EntryRange&, const EntryRange&) = default;
};

// Public facts about a data set. In range: features and users at least 1, users
// at most 2^40, column_bound in [2^-32, 1e30], max_rank and max_rounds at
// least 1.
struct DatasetFacts {
  std::string name;
  std::string population;
  std::uint64_t features = 0;  // D
  std::uint64_t users = 0;     // N (replace one) or the declared N0
  Adjacency adjacency = Adjacency::kReplaceOne;
  Conversion conversion = Conversion::kRdp;  // the population's policy
  double column_bound = 1;                   // c_v
  std::uint32_t max_rank = 0;
  std::uint32_t max_rounds = 0;
  // Scale of a data set of ratings: what is missing is not 0.
  std::optional<RatingScale> ratings = std::nullopt;
  std::optional<ClassFacts> classes = std::nullopt;  // of declared classes
  std::optional<EntryRange> range = std::nullopt;    // where one is declared
};

// The gate's two integer bounds on a vector of declared Euclidean length
// `bound`, quantised to integers k = floor(2^bits x):
//   NormBoundSteps     floor(bound^2 4^bits):  sum k_i^2 must not exceed it;
//   LargestEntrySteps  m = floor(bound 2^bits): no k_i may exceed it.
// Exact: `bound` counts as the number that its bits are. The plan, the price
// and the gate use these same integers. bound > 0 and finite, else 0; 2^64 - 1
// where the result does not fit. `bits` may be negative, |bits| <= 1000.
std::uint64_t NormBoundSteps(double bound, int bits);
std::uint64_t LargestEntrySteps(double bound, int bits);
// Largest amount that one user may add to the objective, in steps of 4^-bits:
// floor(NormBoundSteps / 2) <= c^2 / 2.
std::uint64_t LargestLossSteps(double bound, int bits);

// Users that the exact sums leave room for: N, or 2 N0 + 1024 where N is
// private. Import refuses a file with more.
std::uint64_t LargestUserCount(const DatasetFacts& facts);

inline constexpr std::uint32_t kMaxRank = 1024;
inline constexpr std::uint32_t kMaxRounds = 100'000;
// Rows of a released second moment: 1024 x 1024 symmetric is a message of
// 4.2 MB in chunks and 24 MB of the curator's memory a thread.
inline constexpr std::uint32_t kMaxMomentRows = 1024;

// The request of a run; docs of the fields: proto/dpnmf/v1/curator.proto.
struct RunParameters {
  std::string dataset;
  std::uint32_t rank = 0;    // K
  std::uint32_t rounds = 0;  // T: releases of the run, of all stages
  double epsilon = 0;
  double delta = 0;
  std::string mechanism = "statistics";
  bool outliers = false;
  double lambda = 0;
  double outlier_bound = 0;  // M
  std::uint32_t inner_iterations = 10;
  double share_of_a = 0.1;
  std::uint32_t moment_rows = 0;  // M; `moments` alone
  double share_of_moments = 0.5;
  double share_of_mean = 0.1;
  // `ratings` alone: of the cost, by release; directions of corrections.
  std::vector<double> shares = {};
  std::uint32_t profile_directions = 0;  // r
  Adjacency adjacency = Adjacency::kReplaceOne;
  Conversion conversion = Conversion::kRdp;

  friend bool operator==(const RunParameters&, const RunParameters&) = default;
};

// One sum over users and its noise. Lattice: the sum is an integer times
// 2^step_exponent. Symmetric sums carry diagonal noise of another size.
struct PartPlan {
  std::string name;  // "mean", "G", "A", "B", "objective" ...
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  bool symmetric = false;
  int step_exponent = 0;
  std::uint64_t stddev_steps = 0;  // off the diagonal, or everywhere
  std::uint64_t diagonal_stddev_steps =
      0;  // symmetric sums; >= sqrt(2) times the above
  // floor(c^2 4^q) of the two factors of the sum, in lattice units: the squared
  // L2 sensitivity in steps is left * right under add or remove one, and
  // 2 * left * right under the other relations.
  std::uint64_t left_norm_steps = 0;
  std::uint64_t right_norm_steps = 0;
  // left * right is the squared L2 sensitivity under the run's own relation,
  // whichever it is, and nothing is doubled: a number of [0, Delta], signed
  // sums.
  bool whole_sensitivity = false;

  friend bool operator==(const PartPlan&, const PartPlan&) = default;
};

// Rounds of one kind, one after another.
struct StagePlan {
  // Name of the release of each round:
  //   mean        S_v = sum of v, D x 1
  //   moments     S_G = sum of v v' on M rows, symmetric
  //   statistics  S_A and S_B for a dictionary W
  //   gradient    W S_A - S_B
  //   objective   sum of min(1/2 |v - W h|^2, c_v^2 / 2), 1 x 1
  //   class moments  by class, sums of z z', z = (a, v less a centre)
  //   items, co-ratings, profiles, residuals, corrections
  //               of ratings (common/privacy/ratings_bounds.h)
  // and those of further mechanisms.
  std::string release;
  std::uint32_t rounds = 0;
  std::vector<PartPlan> parts;
  MuSquared cost_per_round = {};

  friend bool operator==(const StagePlan&, const StagePlan&) = default;
};

struct RunPlan {
  int coefficient_bits = 0;       // q_h
  int data_bits = 0;              // q_u
  double coefficient_bound = 1;   // c_h
  double data_bound = 1;          // c_u
  std::vector<StagePlan> stages;  // in the order of their rounds
  MuSquared cost;                 // of all rounds

  // The stage of a round, 1 to the run's rounds.
  const StagePlan& StageOf(std::uint32_t round) const;
};

// Euclidean sensitivity of a part's sum, in units of the sum (not of steps).
// add or remove one, and parts that state their whole sensitivity: c c'; else
// sqrt(2) c c' (docs/reference/privacy.md, theorems 3, 4, 4a and 4b).
double L2Sensitivity(const PartPlan& part, Adjacency adjacency);

// mu^2 of drawing all parts once with the sigmas in the plan, rounded up:
// sum over parts of Delta^2 / min(sigma_diag^2, 2 sigma_off^2), respectively
// Delta^2 / sigma^2. Integer arithmetic; each part is rounded up to a whole
// unit. INTERNAL "plan-invalid" if a sigma is 0 or above 2^62, sigma_diag <
// sqrt(2) sigma_off, or the cost reaches 2^60.
absl::StatusOr<MuSquared> CostOfDrawing(const std::vector<PartPlan>& parts,
                                        Adjacency adjacency);

// Checks every field of `parameters` against its range and against `facts`; the
// first that is wrong gives INVALID_ARGUMENT with one sentence that names the
// field and its range. Codes: "rank-out-of-range", "rounds-out-of-range",
// "epsilon-out-of-range", "delta-out-of-range", "mechanism-unknown",
// "lambda-out-of-range", "outlier-bound-out-of-range",
// "inner-iterations-out-of-range", "share-out-of-range",
// "adjacency-mismatch", "conversion-mismatch"; "mechanism-mismatch" if a
// mechanism for ratings meets a data set of counts or the other way round. NaN
// fails every check. lambda and M are checked with outliers off as well (then M
// may be 0). Facts out of range give "dataset-facts-invalid".
absl::Status CheckRunParameters(const RunParameters& parameters,
                                const DatasetFacts& facts);

// The plan. Its stages are those of the mechanism
// (common/privacy/mechanism/NAME.cc).
//
// Bits from N, the bounds and the noise such that
//   N_max m_a m_b + 64 sigma/step < 2^62   and   sigma/step <= 2^50,
// q the largest that does, with c_h = c_u = c_v and 2^9 <= m < 2^21 (so that a
// block of users summed in doubles without rounding holds 2^52 / m^2 > 1024);
// sigmas, the smallest integers, such that all rounds cost no more than
// LargestCost(conversion, epsilon, delta) and each part has the share that its
// mechanism gives it. Errors of CheckRunParameters; INVALID_ARGUMENT
// "noise-out-of-range" if the noise is too wide for the lattice (epsilon too
// small, rounds too many, share too uneven). N alone never is: facts allow
// 2^40.
absl::StatusOr<RunPlan> PlanRun(const RunParameters& parameters,
                                const DatasetFacts& facts);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_RUN_PLAN_H_
