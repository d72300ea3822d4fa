// Non-negative factorisation of a table, A ~ W H, as the publication on data
// distortion does it: two algorithms from one random start. Without privacy.
//
//   min 1/2 |A - W H|_F^2   over W >= 0 (people x rank), H >= 0 (rank x
//   columns)
#ifndef DPNMF_LAB_DISTORT_NMF_H_
#define DPNMF_LAB_DISTORT_NMF_H_

#include <functional>
#include <optional>
#include <string_view>

#include "Eigen/Core"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

struct NmfFactors {
  Eigen::MatrixXd w;  // people x rank, >= 0
  Eigen::MatrixXd h;  // rank x columns, >= 0
};

// Sizes of standard normal numbers: the publication's first gradients (7,609.7
// at rank 7; 16,525 at rank 9) are of that law, and not of the uniform one.
NmfFactors NmfStart(Eigen::Index people, Eigen::Index columns,
                    Eigen::Index rank, Draws* draws);

struct NmfProgress {
  int iteration = 0;
  double distortion = 0;  // |A - W H|_F / |A|_F
  double seconds = 0;
};

struct NmfOptions {
  // Ends once the projected gradient is shorter than `tolerance` times the
  // gradient at the start.
  double tolerance = 1e-4;
  int iterations = 20'000;
  double seconds = 4000;
  // Ends once |A - W H|_F / |A|_F is at most this: iterations diminish it.
  std::optional<double> stop_at_vd;
  std::function<void(const NmfProgress&)> progress;
  // Asked before every iteration; true ends it there.
  std::function<bool()> stop;
};

enum class NmfStop { kTolerance, kIterations, kSeconds, kDistortion, kStopped };
std::string_view NameOf(NmfStop stop);

struct NmfResult {
  NmfFactors factors;
  int iterations = 0;
  double seconds = 0;
  double first_gradient = 0;   // Frobenius length of the gradient at the start
  double last_gradient = 0;    // of the projected gradient at the end
  double first_objective = 0;  // |A - W H|_F at the start and at the end
  double objective = 0;
  NmfStop stop = NmfStop::kTolerance;
};

// A >= 0, people x columns; neither is 0, nor is A. Both never raise the
// objective but by rounding. Memory: 8 times W beside A.
//
// Lin, Projected gradient methods for non-negative matrix factorization (2007):
// alternating least squares; each subproblem by projected gradients with step
// sizes of .1^t (sigma .01, at most 20 trials), to a tolerance of
// max(.001, tolerance) times the first gradient, which is cut to a tenth when
// a subproblem ends at its first iteration.
NmfResult NmfProjectedGradient(const Eigen::MatrixXd& a, NmfFactors start,
                               const NmfOptions& options);

// Lee and Seung (2001): H o= W'A / (W'W H + 1e-9), W o= A H' / (W H H' + 1e-9).
// Entries below 1e-16 become 0 at the end.
NmfResult NmfMultiplicative(const Eigen::MatrixXd& a, NmfFactors start,
                            const NmfOptions& options);

// Components by falling product of the lengths of w_j and h_j.
void SortByLength(NmfFactors* factors);

// |A - left right|_F, block by block.
double ResidualLength(const Eigen::MatrixXd& a, const Eigen::MatrixXd& left,
                      const Eigen::MatrixXd& right);

// Hoyer's sparseness of all entries in one vector of length n:
// (sqrt(n) - |x|_1 / |x|_2) / (sqrt(n) - 1), in [0, 1]; 0 for one entry, and 1
// if all are 0.
double Sparseness(const Eigen::MatrixXd& x);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_NMF_H_
