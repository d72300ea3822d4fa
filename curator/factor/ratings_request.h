// Public numbers by which a person's share of the sums of `ratings` is made.
#ifndef DPNMF_CURATOR_FACTOR_RATINGS_REQUEST_H_
#define DPNMF_CURATOR_FACTOR_RATINGS_REQUEST_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"

namespace dpnmf::curator {

// A model of the items: D x (1 + q). Column 0: the base, in units of ratings;
// then the loadings in units of the residual's deviation, the person's own bias
// first. Finite. A person's profile is h~ = (X'X + I)^-1 X'y over the own
// items, X the loadings' rows, y = rating - base.
struct RatingsRequest {
  const Eigen::MatrixXd* model = nullptr;
  double residual_stddev = 1;  // h = h~ / residual_stddev; above 0
};

// A direction along which every person's m is made shorter: with p the weights
// of the named rows, T m = m - (part/64) p (p.m)/|p|^2. Where all people rate
// what is popular, what tells them apart is then more of the whole.
struct Damping {
  std::vector<std::uint32_t> weights;  // at most kMostRowWeight; empty: none
  std::uint32_t part = 0;              // at most kDampingParts
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_RATINGS_REQUEST_H_
