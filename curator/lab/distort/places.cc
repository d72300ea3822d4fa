#include "curator/lab/distort/places.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// Sum of the changes, and how many there are not.
struct Changes {
  double sum = 0;
  double none = 0;

  void Add(const Eigen::Ref<const Eigen::VectorXd>& a,
           const Eigen::Ref<const Eigen::VectorXd>& b, Place place) {
    const std::vector<int> of_a = PlacesOf(a, place);
    const std::vector<int> of_b = PlacesOf(b, place);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      sum += std::abs(of_a[i] - of_b[i]);
      none += of_a[i] == of_b[i] ? 1 : 0;
    }
  }
};

}  // namespace

double ValueDifference(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).norm() / a.norm();
}

std::vector<int> PlacesOf(const Eigen::Ref<const Eigen::VectorXd>& column,
                          Place place) {
  std::vector<int> order(static_cast<std::size_t>(column.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return column[i] < column[j]; });
  if (place == Place::kSortIndex) return order;
  std::vector<int> ranks(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    ranks[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return ranks;
}

PlaceChanges PlaceChangesOf(const MatrixXd& a, const MatrixXd& b, Place place) {
  Changes cells, columns;
  for (Index j = 0; j < a.cols(); ++j) cells.Add(a.col(j), b.col(j), place);
  columns.Add(a.colwise().mean().transpose(), b.colwise().mean().transpose(),
              place);
  const auto size = static_cast<double>(a.size());
  const auto width = static_cast<double>(a.cols());
  return {.rp = cells.sum / size,
          .rk = cells.none / size,
          .cp = columns.sum / width,
          .ck = columns.none / width};
}

}  // namespace dpnmf::curator::lab
