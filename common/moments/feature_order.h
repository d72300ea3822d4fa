// The declared order of the features of a data set: they are pixels of a
// picture, points of a series or of a circle, or nodes of a graph. The order is
// public, like the number of features, and only post-processing reads it. So it
// costs nothing, and nothing that a curator does depends on it
// (docs/reference/feature_order.md).
//
// In most such data, features that are near to each other are alike. How much
// they are is estimated from the release (DenoiseMoments of
// common/moments/moments.h).
//
// Pure functions; any thread may call.
#ifndef DPNMF_COMMON_MOMENTS_FEATURE_ORDER_H_
#define DPNMF_COMMON_MOMENTS_FEATURE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "common/threads/stop.h"

namespace dpnmf {

// Feature i of D, counted from 0.
struct FeatureOrder {
  enum class Kind {
    kNone,
    kGrid,      // row i / width, column i % width of a picture
    kLinear,    // i on a line
    kCircular,  // i on a circle of D points
    kGraph      // a node; `edges` has its neighbours
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;  // in [0, D); one direction is enough
  };
  Kind kind = Kind::kNone;
  std::uint64_t width = 0;  // kGrid: at least 1, divides D
  std::vector<Edge> edges;  // kGraph: at least one
};

inline constexpr std::size_t kMostFeatureEdges = 65'536;

// INVALID_ARGUMENT "image-width-invalid" (0, or no divisor of D),
// "feature-graph-invalid" (no edge, too many, or an end that is no feature).
absl::Status CheckFeatureOrder(const FeatureOrder& order,
                               std::uint64_t features);

// An order of D features, for M of them.
struct OrderOnRows {
  FeatureOrder order;  // has passed CheckFeatureOrder; not kNone
  std::uint64_t features = 0;
  std::vector<int> rows;  // ascending, distinct, in [0, D)
};

struct Patterns {
  Eigen::MatrixXd columns;    // M x M, orthonormal, from smooth to rough
  Eigen::VectorXd roughness;  // of each, not falling
};

// Patterns on the M features: cosines on a line or a picture, waves on a
// circle. They are the eigenvectors of exp(-distance / r); distances are those
// of pixels (Euclid) or places, or edges to go, and r is half of the largest.
// On a line or a picture they are rougher the smaller their eigenvalue is. On a
// circle and on a graph eigenvalues do not tell: there the roughness of u is
// sum_{i < j} exp(-distance / n) (u_i - u_j)^2, n the mean distance of a
// feature to its nearest. No columns if there is no way from one feature of a
// graph to another: its parts cannot be compared. One eigendecomposition of
// M x M.
Patterns PatternsOf(const OrderOnRows& on, const Stop& stop = {},
                    int threads = 1);

// A release in two: with a fresh copy Z of its noise and c the thinning,
// Y + c Z is fitted and Y - Z/c held out; their noises are independent.
struct HeldOutSplit {
  Eigen::MatrixXd fitted, held_out;  // M x M
  double stddev = 0;                 // of the noise in `fitted`
};

// The release and its order. The functions are called from any thread.
struct PatternQuestion {
  const Patterns* patterns = nullptr;
  double stddev = 0;    // of the release, > 0
  double thinning = 1;  // c
  // Returns that of <A, noise of the release>, A symmetric.
  std::function<double(const Eigen::MatrixXd& a)> deviation;
  // The i-th split, the same at each call.
  std::function<HeldOutSplit(std::size_t i)> split;
  // The estimate (M x M) from `fitted` without an order.
  std::function<Eigen::MatrixXd(const HeldOutSplit&, const Stop&)> unordered;
};

// Returns d of M/2, M/4, ..., M/32 (at least 4; less where patterns of one
// roughness, as the two waves of a circle, would be cut): by so many patterns
// the held-out halves of several splits are estimated best. 0: the estimate
// without an order is as good. At most two splits are held at once.
//
// The estimate is used to find parts of people, to which a direction counts by
// its variance and not by its square. So the error Y2 - E off the diagonal is
// measured after the leading directions are damped to the level t, a quarter of
// the edge of the noise: |A (Y2 - E) A|^2, A = I - sum (1 - sqrt(t/l_k)) q_k
// q_k' over at most 16 directions of an estimate from Y1 with l_k > t. At ties
// the smaller d is taken. An estimate in d patterns loses what the others hold.
// So its leading directions must have more of the trace of Y2 than as many of
// the estimate without an order, by 1.5 deviations of the noise: as many as the
// latter has above the edge of the noise, from 8 to 16.
Eigen::Index ChoosePatterns(const PatternQuestion& question, int threads,
                            const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_FEATURE_ORDER_H_
