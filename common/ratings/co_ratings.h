// Which items are rated together, from the noised C of `co-ratings`.
// Post-processing.
//
// Of the ratings of a person with taste a ~ N(0, I) the next is of item i with
// a probability in proportion to c_i exp(y_i.a). To first order
//   C_ij ~ scale c_i c_j (1 + y_i.y_j).
#ifndef DPNMF_COMMON_RATINGS_CO_RATINGS_H_
#define DPNMF_COMMON_RATINGS_CO_RATINGS_H_

#include <vector>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// The largest eigenvalue of noise of finite size M lies about the edge by a
// part of M^(-2/3) (Tracy and Widom 1994); 1 + that.
double AboveEdge(Eigen::Index size);

// Directions of a noised symmetric matrix that rise above its noise.
struct Spikes {
  Eigen::VectorXd values;   // the population's, falling
  Eigen::VectorXd shrunk;   // of least loss
  Eigen::MatrixXd vectors;  // M x k
};
// Eigenvalues above AboveEdge(M) times the noise's edge 2 stddev sqrt(M), at
// most `most` of them (common/moments/moment_estimates.h has the theorems).
Spikes SpikesOf(const Eigen::MatrixXd& matrix, double stddev, Eigen::Index most,
                const Stop& stop = {});

// Released T C T with T = I - (1 - kept) p p', up to a factor that all entries
// share.
struct NoisedCoRatings {
  Eigen::MatrixXd c;  // M x M
  double stddev = 0;  // of an entry above the diagonal
  std::vector<Eigen::Index> rows;
  Eigen::VectorXd direction = {};  // p: M, of length 1; empty: T is I
  double kept = 1;                 // of what lies along p, above 0

  // T x and T^-1 x, column by column.
  Eigen::MatrixXd Damped(const Eigen::MatrixXd& x) const;
  Eigen::MatrixXd Undamped(const Eigen::MatrixXd& x) const;
};

// A second look at the counts of the rows: C's first direction, scaled to
// `counts`. False if noise covers it.
bool CountsFromCoRatings(const NoisedCoRatings& co_ratings,
                         const Eigen::VectorXd& counts, Eigen::VectorXd* second,
                         Eigen::VectorXd* stddev, const Stop& stop = {});

struct CoRatingModel {
  double scale = 0;
  Eigen::MatrixXd y;  // D x k, columns of falling weight; sum c_i y_i = 0
};
// Directions that features (D x p) and the counts' size explain are found among
// p + 2 combinations of rows, so that little noise is in the way, and reach
// items outside the rows; then those of the rest. k <= most.
CoRatingModel FitCoRatings(const NoisedCoRatings& co_ratings,
                           const Eigen::VectorXd& counts,
                           const Eigen::MatrixXd& features, Eigen::Index most,
                           const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_CO_RATINGS_H_
