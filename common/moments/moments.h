// A dictionary from one released second moment.
//
// The release is Y = G + E, G = V V'/N (M x M) on M chosen features, E
// symmetric Gaussian with known deviations: stddev_off above the diagonal,
// stddev_diagonal on it. All here is post-processing of Y and of public
// numbers: it costs no privacy and never sees V.
//
//   NoisedMoments -> DenoiseMoments -> FitDictionary -> W (M x K)
//                                   -> LiftDictionary -> W (D x K)
//
// Everything is a function of its arguments alone: the same bits for any
// thread count (on one machine), and no state is kept; any thread may call.
// docs/research/utility.md derives the method and compares it with others.
#ifndef DPNMF_COMMON_MOMENTS_MOMENTS_H_
#define DPNMF_COMMON_MOMENTS_MOMENTS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/feature_order.h"
#include "common/moments/fit_law.h"
#include "common/moments/prior.h"
#include "common/privacy/run_plan.h"
#include "common/threads/stop.h"

namespace dpnmf {

class Draws;

// Largest M: the fit keeps 1,500 to 3,000 synthetic columns and a few M x M
// matrices (under 150 MB) and takes O(M^2 (M + 1500)) a step.
inline constexpr int kLargestMomentRows = 2048;

// Directions in which the noise is larger than the deviations of NoisedMoments:
// with orthonormal q_i the entry of E at (q_i, what is orthogonal to all q) has
// cross(i) times the deviation, that at (q_i, q_j) inner(i, j) times.
struct WiderNoise {
  Eigen::MatrixXd directions;  // q: M x L, L >= 1
  Eigen::VectorXd cross;       // L
  Eigen::MatrixXd inner;       // L x L, symmetric
};

struct NoisedMoments {
  Eigen::MatrixXd g;           // Y: M x M, symmetric, of the mean over users
  double stddev_off = 0;       // of one entry above the diagonal, >= 0
  double stddev_diagonal = 0;  // of one entry of the diagonal, >= stddev_off
  // Public knowledge on the M rows; null if there is none.
  std::shared_ptr<const std::vector<Prior>> priors = nullptr;
  // c_v^2, which no person's squared length exceeds.
  double largest_trace = std::numeric_limits<double>::infinity();
  // Posterior means of a released mean on the M rows (empirical_bayes.h), >= 0;
  // empty: none was released.
  Eigen::VectorXd mean = {};
  // The declared order of the M rows (as many as g has); null: none.
  std::shared_ptr<const OrderOnRows> order = nullptr;
  // PatternsOf(*order); null: made where they are needed.
  std::shared_ptr<const Patterns> patterns = nullptr;
  // Directions of larger noise; null if there are none. If set, stddev_diagonal
  // is sqrt(2) stddev_off.
  std::shared_ptr<const WiderNoise> wider = nullptr;
};

// A fresh draw of the noise of `moments` (M x M, symmetric).
Eigen::MatrixXd DrawNoise(const NoisedMoments& moments, Draws* draws);

// The deviation of <A, noise of `moments`> for a symmetric A (M x M), where
// stddev_diagonal is sqrt(2) stddev_off.
double DeviationOf(const NoisedMoments& moments, const Eigen::MatrixXd& of);

// Returns `mean` of NoisedMoments, from a released mean (D) whose entries have
// noise of deviation `stddev`.
Eigen::VectorXd MeanOnRows(const Eigen::VectorXd& mean, double stddev,
                           const std::vector<int>& rows);

struct DenoisedMoments {
  Eigen::MatrixXd g;  // estimate of G: M x M, symmetric, entries >= 0
  // Y's, negative entries as 0; in patterns that of U g U'.
  Eigen::VectorXd diagonal;
  Eigen::VectorXd spikes;  // shrunk eigenvalues above the edge, falling
  double noise_edge = 0;   // 2 stddev_off sqrt(M or d): where the noise ends
  // tr Y, at least noise_edge; in patterns tr U g U'. At most largest_trace.
  double trace = 0;
  // In patterns: variances (M) that single features have beyond `diagonal`, so
  // that both add up to tr Y. People have them; W is fitted without. Else
  // empty.
  Eigen::VectorXd beside = {};
  // The direction q that all people share, as far as Y or a released mean tell
  // of it: sqrt(q'Gq) q, M entries >= 0; empty: not known, or in patterns.
  Eigen::VectorXd direction = {};
  // With priors: their columns, X X' the part of g that they begin at (M x n);
  // and the share of the mix below that is theirs, [0, 1].
  Eigen::MatrixXf known = {};
  Eigen::MatrixXf parts = {};  // of their dictionaries, M x L: candidates
  double share_of_priors = 0;
  int directions() const { return static_cast<int>(spikes.size()); }
};

// The estimate of G: a mix of two (common/moments/moment_estimates.h), one by
// directions that features share and one by entries, in the shares >= 0 that
// predict best. What they are to predict is made of Y: with Z a fresh copy of
// the noise, Y + Z/2 and Y - 2 Z have independent noise, so the first is
// estimated from and the second is held out (Oliveira, Lei and Tibshirani
// 2021). The diagonals are mixed in proportion; negative entries become 0.
// Without noise it returns Y (its positive part).
// With a declared order, and where ChoosePatterns (common/moments/
// feature_order.h) finds that its d smoothest patterns are better, they take
// the place of both: EstimateInPatterns, with the diagonal and the trace that
// it has, and the spikes above the noise's edge in d patterns. Otherwise there
// stands beside the estimate one direction that all people share: the better of
// EstimateByDirection and the released mean.
// With priors three more are in the mix: the base that the priors propose
// (FitBase of common/moments/prior.h), and what Y says beyond it within and
// beside its directions (EstimateResidual). The shares that the held-out half
// gives them say how far the priors are to be trusted. `trace` and `diagonal`
// are those above and of the mix, by share_of_priors.
//
// INVALID_ARGUMENT "moments-shape-invalid" (not square, M not in [1,
// kLargestMomentRows]), "moments-not-finite", "moments-not-symmetric",
// "moments-noise-out-of-range", those of CheckPriors. FAILED_PRECONDITION
// "moments-empty": without noise and of trace <= 0. With noise there is always
// an answer, if need be the one that treats all features alike: what was paid
// for is never refused. CANCELLED "cancelled" once `stop` says so. The same
// bits for any thread count.
absl::StatusOr<DenoisedMoments> DenoiseMoments(const NoisedMoments& moments,
                                               const Stop& stop = {},
                                               int threads = 1);

struct FitOptions {
  int rank = 0;  // K in [1, 4096]; may exceed M and the directions that survive
  std::uint64_t seed = 1;
  int threads = 1;
  // If not empty (M x K, entries >= 0): where the fit begins. W then keeps the
  // order of its columns, most often.
  Eigen::MatrixXd start;
  // Once true the fit ends with CANCELLED "cancelled".
  Stop stop = {};
  // Not plain: from the least squares fit of step 3 W goes on to this one.
  FitLaw law = {};
  // If not null: called with the share of the work that is done, rising, in
  // (0, 1], on the thread that called.
  std::function<void(double)> progress = {};
};

// W (M x K), entries >= 0, columns of length 1:
//   1. Synthetic columns max(0, sum_i c_i q_i + e): q_i, l_i the eigenpairs of
//      the estimate, c_1 = sqrt(l_1), the others normal of variance l_i with a
//      common exponential factor a column (a multivariate Laplace law), e the
//      variance that the trace of Y has beyond them.
//      Above 256 rows the law keeps the 128 largest directions; what the others
//      have is left to the features' own variance.
//   2. Their second moment is brought to the estimate: accelerated projected
//      gradient on |G - X X'|^2 over X >= 0, |X|^2 <= tr Y. Above 256 rows on
//      the part of it that lies in the law's directions or on the diagonal.
//   3. Ordinary NMF of X (HALS: Cichocki and Phan 2009; several sweeps a
//      product: Gillis and Glineur 2012): two to six random starts by the size,
//      each for a few steps on a third of the columns, then the best of them on
//      all until little is gained. The parts of a prior are one more start.
// With public columns (moments.known) the drawn ones stand for at least 60 % or
// for nothing but what the public ones leave of the trace, whichever learns
// more from one half of the public columns about the other.
// Steps 1 to 3 are in single precision: X is drawn, and its error is far below
// that of the draw. Without a start the columns are in order of falling share
// of X that they explain (ExplainedBy of common/moments/column_fit.h);
// *explained, if not null, gets these shares (K), whose sum is what W explains
// of the estimate. INVALID_ARGUMENT "rank-out-of-range",
// "dictionary-start-invalid", those of CheckFitLaw; CANCELLED "cancelled".
absl::StatusOr<Eigen::MatrixXd> FitDictionary(
    const DenoisedMoments& moments, const FitOptions& options,
    Eigen::VectorXd* explained = nullptr);

// Work of DenoiseMoments and FitDictionary for M rows and rank K, with a
// declared order or without: numbers held at once, multiplications in all.
// Estimates from the shapes.
struct FitWork {
  double entries = 0, multiplications = 0;
};
FitWork WorkOfFit(int rows, int rank, bool has_order);

// Standard errors of w = FitDictionary(DenoiseMoments(moments), ...), entry by
// entry (M x K), from the known noise alone: parametric bootstrap, `replicates`
// draws (at least 2) of the noise around the estimate, each denoised and fitted
// from w, columns matched by their inner products. Not the sampling error of
// the users, and not the distance to the best W: bias is not in it.
// `denoised` belongs to `moments`; options as for the fit (start is not read).
// With `lift` each replicate's mean has its noise too and W is lifted: D x K.
// INVALID_ARGUMENT "bootstrap-out-of-range" and those above.
struct LiftedBy {
  std::vector<int> rows;  // arguments of LiftDictionary
  Eigen::VectorXd mean;
  double stddev = 0;
};
struct BootstrapOptions {
  int replicates = 16;  // 2 to 1000
  const LiftedBy* lift = nullptr;
};
absl::StatusOr<Eigen::MatrixXd> DictionaryStandardErrors(
    const NoisedMoments& moments, const DenoisedMoments& denoised,
    const Eigen::MatrixXd& w, const FitOptions& options,
    const BootstrapOptions& bootstrap);

// Facts about each column of w (M x K) that follow from the release only.
struct PartFacts {
  Eigen::VectorXd explained;    // K: shares as FitDictionary gives them
  Eigen::VectorXd reliability;  // K: mean cosine to the match, [0, 1]
};
// Fits W again, as DictionaryStandardErrors does, for each of `replicates`
// draws of the noise.
absl::StatusOr<PartFacts> PartFactsOf(const NoisedMoments& moments,
                                      const DenoisedMoments& denoised,
                                      const Eigen::MatrixXd& w,
                                      const FitOptions& options,
                                      int replicates);

// The features to take the second moment of when D is above kMostMomentRows,
// from their released mean (stddev: of the noise of one entry, > 0). As many of
// the largest as keep the expected share of pure noise among them at 1/4 or
// less (Benjamini and Hochberg 1995), but at least min(D, 200) and at most
// `most`. Ascending; ties go to the lower index; NaN counts as least.
inline constexpr int kMostMomentRows = static_cast<int>(kMaxMomentRows);
std::vector<int> ChooseRows(const Eigen::VectorXd& mean, double stddev,
                            int most = kMostMomentRows);

// W on all D features (D x K), columns of length 1 (or zero). rows: ascending,
// distinct, in [0, D), one for each row of w (M x K). On `rows` it is w. On
// another feature i all columns are alike, so that the mean is explained: with
// a >= 0 the best fit of w a to E(exact mean | mean) on `rows`,
//   E(exact mean_i | mean) / sum_k a_k
// (PosteriorMeans of common/moments/empirical_bayes.h), zero if a is.
Eigen::MatrixXd LiftDictionary(const Eigen::MatrixXd& w,
                               const std::vector<int>& rows,
                               const Eigen::VectorXd& mean, double stddev);

// OK, or CANCELLED "cancelled" once `stop` says so.
absl::Status CheckNotStopped(const Stop& stop);

// Forecast of a release of moments from public numbers only, replace-one,
// columns of length at most 1 (c_v = 1; edges are fractions of c_v^2).
struct MomentsForecast {
  double stddev_off = 0;  // 1 / (N mu): sensitivity sqrt(2)/N, mu^2 = 1/(N s)^2
  double noise_edge = 0;  // 2 stddev_off sqrt(M), a fraction of the trace
  // No more eigenvalues than this can be told from noise: those below edge / 2
  // do not show (Baik, Ben Arous and Peche 2005), and they add up to at most 1.
  int most_directions = 0;
  // 0.75 edge^-0.55: drawn through faces, mutation counts and digits, within
  // about 50 % there; text and counts of many users had up to 8 times as many.
  // A warning when it is small, not a prediction and not a bound.
  int typical_directions = 0;
};

// users N >= 1, rows M >= 1, mu^2 > 0 of the release of G.
MomentsForecast PredictMoments(double users, int rows, double mu_squared);

// Share of mu^2 for the mean that comes before G when D is above
// kMostMomentRows: three times the noise's edge in a G of 200 rows, from 0.1 to
// 0.8. Where G will tell little, the mean is what can be had. users >= 1,
// mu^2 > 0, of the whole run.
inline constexpr double kLeastShareOfMean = 0.1;
inline constexpr double kLargestShareOfMean = 0.8;
double DefaultShareOfMean(double users, double mu_squared);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_MOMENTS_H_
