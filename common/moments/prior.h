// Public knowledge about the columns of a data set: the prior of a fit to its
// released second moment (NoisedMoments::priors of common/moments/moments.h).
//
// A prior is public by declaration, or it comes from a release that was charged
// before. It is read where post-processing is done and nowhere else: it costs
// nothing, and nothing that a curator does depends on it
// (docs/reference/prior.md).
//
// Pure functions; any thread may call. The same bits for any thread count.
#ifndef DPNMF_COMMON_MOMENTS_PRIOR_H_
#define DPNMF_COMMON_MOMENTS_PRIOR_H_

#include <vector>

#include "Eigen/Core"
#include "Eigen/SparseCore"
#include "absl/status/status.h"
#include "common/threads/stop.h"

namespace dpnmf {

// One source, on the M rows of a release. Exactly one of the matrices has
// entries. Scales do not matter: how much of it there is, is learned.
struct Prior {
  Eigen::MatrixXd columns;     // M x n, >= 0: columns of other people
  Eigen::MatrixXd dictionary;  // M x L, >= 0: parts; L need not be the rank
  Eigen::MatrixXd moment;      // M x M, symmetric: a second moment
};

inline constexpr std::size_t kMostPriors = 16;
// Limit of columns used of one prior. If a prior has more, those at even
// distances are used: j n / kMostPriorColumns, rounded down.
inline constexpr Eigen::Index kMostPriorColumns = 3000;

// INVALID_ARGUMENT "prior-shape-invalid" (not M rows, no entries, not
// symmetric), "prior-not-finite", "prior-negative", "prior-too-many".
absl::Status CheckPriors(const std::vector<Prior>& priors, Eigen::Index rows);

// Restricts priors on D features to `rows` (in [0, D), M of them).
std::vector<Prior> PriorsOnRows(const std::vector<Prior>& priors,
                                const std::vector<int>& rows);

// Public columns on all D features (D x n), for data of more features than a
// release has rows.
using PublicPeople = Eigen::SparseMatrix<float>;

// ChooseRows (common/moments/moments.h) with public columns. Where their mean
// explains at least half of the released one, beyond its noise, the `most` rows
// of the largest posterior mean: the public mean at the scale that fits best,
// plus what the released one has beyond it, shrunk in 20 groups of alike public
// means by the variance that the noise does not explain (James and Stein 1961).
// Else ChooseRows. No people (0 columns): ChooseRows.
std::vector<int> ChooseRowsWith(const PublicPeople& people,
                                const Eigen::VectorXd& mean, double stddev,
                                int most);

// LiftDictionary (common/moments/moments.h) with public columns. With H >= 0
// the best fit of w to them on `rows`, another feature gets the row of W that
// fits it there, drawn toward LiftDictionary's by a ridge that is chosen on
// held-out columns. These rows and LiftDictionary's are mixed in the shares >=
// 0 that predict a held-out half of the released mean best.
Eigen::MatrixXd LiftDictionaryWith(const PublicPeople& people,
                                   const Eigen::MatrixXd& w,
                                   const std::vector<int>& rows,
                                   const Eigen::VectorXd& mean, double stddev,
                                   int threads = 1, const Stop& stop = {});

// Second moments that the priors propose, each of trace 1, and the columns that
// come with them.
struct PriorMoments {
  struct Proposal {
    Eigen::MatrixXd moment;   // M x M, positive semidefinite, trace 1
    Eigen::MatrixXf columns;  // M x n: X X' = moment; may be empty
  };
  std::vector<Proposal> proposals;
};

// Columns and moments propose their own second moment. A dictionary W does not
// say how much its parts are used. With u >= 0 the best fit of W u to the
// largest eigenvector of y, it proposes the moment of independent exponential
// usages of means u, W (u u' + diag(u u')) W', with columns that are drawn from
// that law, and W W', parts of one size. y: M x M, the noised second moment.
// Priors without signal propose nothing. `priors` has passed CheckPriors.
PriorMoments ProposeMoments(const std::vector<Prior>& priors,
                            const Eigen::MatrixXd& y, const Stop& stop = {});

// sum_j c_j P_j with c >= 0 nearest to y off the diagonal, P_j the proposals'
// moments.
struct PriorBase {
  Eigen::MatrixXd moment;   // M x M
  Eigen::VectorXd weights;  // c
};
PriorBase FitBase(const PriorMoments& proposed, const Eigen::MatrixXd& y);

// The dictionaries beside each other, columns of length 1 (M x L, L may be 0).
Eigen::MatrixXf PartsOf(const std::vector<Prior>& priors);

// The columns of the proposals, sqrt(c_j) of each: M x n.
Eigen::MatrixXf ColumnsOfBase(const PriorMoments& proposed,
                              const PriorBase& base);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_PRIOR_H_
