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

#include <cstdint>
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

// Orthonormal columns, patterns on the M features from smooth to rough (M x M):
// cosines on a line or a picture, waves on a circle. They are the eigenvectors
// of exp(-distance / r) by falling eigenvalue. Distances are those of pixels
// (Euclid) or places, or edges to go, just above twice the largest where there
// is no way; r is half of the largest that has a way. One eigendecomposition of
// M x M.
Eigen::MatrixXd PatternsOf(const OrderOnRows& on, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_FEATURE_ORDER_H_
