// Estimates of a second moment G (M x M) from Y = G + E, E symmetric
// Gaussian noise of deviation `stddev` above the diagonal. One sees few
// directions that many features share, the other few large entries. More of
// them know one direction alone, begin at what is public, or read a declared
// order of the features. The steps of DenoiseMoments
// (common/moments/moments.h), which combines them.
//
// Post-processing; pure functions; y square and symmetric, finite, M >= 1,
// stddev > 0 (the first takes 0 as well and gives y back). `stop` as in
// common/threads/stop.h.
#ifndef DPNMF_COMMON_MOMENTS_MOMENT_ESTIMATES_H_
#define DPNMF_COMMON_MOMENTS_MOMENT_ESTIMATES_H_

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// 2 stddev sqrt(M): where the eigenvalues of the noise end.
double NoiseEdge(const Eigen::MatrixXd& y, double stddev);

struct SpectralEstimate {
  Eigen::MatrixXd g;       // M x M, symmetric
  Eigen::VectorXd spikes;  // shrunk eigenvalues above the edge, falling
};

// With s = stddev, edge = NoiseEdge:
//   1. Eigenvalues y > edge of Y are those of a spiked Wigner matrix; the
//      population's is l = (y + sqrt(y^2 - edge^2)) / 2 and the loss-optimal
//      one is l - s^2 M / l (Benaych-Georges and Nadakuditi 2011, Theorem 2.1;
//      Gavish and Donoho 2017). They make the base B = F F'.
//   2. Features alike in F share what lies below the edge: the rest Y - B off
//      the diagonal is regressed on |F_i - F_j|, falling (isotonic), in units
//      of sqrt(p_i p_j) with p = diag(Y - B). P is B plus that fit, plus p.
//   3. What P does not explain: P + (Y - P) with each eigenvalue x of Y - P
//      moved to x - 2 s^2 M h(x), h the Hilbert transform of its spectrum: the
//      rotationally invariant estimator of least error (Bun, Allez, Bouchaud
//      and Potters 2016, additive noise).
SpectralEstimate EstimateBySpectrum(const Eigen::MatrixXd& y, double stddev,
                                    const Stop& stop = {});

// Posterior means of the entries above the diagonal (empirical_bayes.h), in up
// to ten groups of equal count by Y_ii Y_jj, which has no noise in common with
// Y_ij. The diagonal is Y's.
Eigen::MatrixXd EstimateByEntries(const Eigen::MatrixXd& y, double stddev,
                                  const Stop& stop = {});

// G as q q' along one direction q >= 0 that all people share, for where Y tells
// no more than that (M x M, rank 1; zero if Y tells nothing). From `start` (>=
// 0, not zero, M; empty: all features alike) two steps of the power method, the
// entries of Y q replaced by their posterior means (empirical_bayes.h): a
// direction that is not sparse is found far below the edge of the noise, since
// the start is near it.
Eigen::MatrixXd EstimateByDirection(const Eigen::MatrixXd& y,
                                    const Eigen::VectorXd& start,
                                    double stddev);

// EstimateBySpectrum of U'YU for orthonormal columns U, `patterns` (M x d): g
// is d x d. U'YU has noise of the same law and a lower edge, 2 s sqrt(d):
// directions that few patterns make up show below the edge of Y. What no
// direction explains is a variance of each pattern, not of each feature.
SpectralEstimate EstimateInPatterns(const Eigen::MatrixXd& y,
                                    const Eigen::MatrixXd& patterns,
                                    double stddev, const Stop& stop = {});

// U g U' (M x M, symmetric): an estimate in patterns on the features.
Eigen::MatrixXd OnFeatures(const Eigen::MatrixXd& patterns,
                           const Eigen::MatrixXd& g, const Stop& stop = {});

// Two estimates of G - B from Y, for a base B (M x M, symmetric) that is known
// without Y.
struct ResidualEstimate {
  Eigen::MatrixXd within, beside;  // M x M, symmetric
};

// `within`: the entries of Y - B in the eigenvectors of B, where the noise is
// the same and the signal of people like those of B lies in few large entries:
// that of two directions of variance l_i and l_j has variance about l_i l_j.
// Each entry is shrunk by v / (v + s^2), v the signal's variance in its group
// of alike l_i l_j (James and Stein 1961), falling with them.
// `beside`: Y - B - within by the rotationally invariant estimator (step 3 of
// EstimateBySpectrum): directions that B does not have.
ResidualEstimate EstimateResidual(const Eigen::MatrixXd& y,
                                  const Eigen::MatrixXd& base, double stddev,
                                  const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_MOMENT_ESTIMATES_H_
