// How much a distorted table differs from the original: the publication's
// measures. They are no measures of privacy: a table with a value difference of
// .12 can give away every person (lab/attack).
#ifndef DPNMF_LAB_DISTORT_PLACES_H_
#define DPNMF_LAB_DISTORT_PLACES_H_

#include <vector>

#include "Eigen/Core"

namespace dpnmf::curator::lab {

// VD: |A - B|_F / |A|_F. A is not 0.
double ValueDifference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

// Meaning of the "place" of entry i of a column. Ties go by i.
enum class Place {
  // The index of the i-th smallest entry: the second output of a stable sort,
  // which the publication's program took. It reproduces its figures.
  kSortIndex,
  // How many entries come before entry i: what the publication's text says.
  kRank
};

// Finite numbers.
std::vector<int> PlacesOf(const Eigen::Ref<const Eigen::VectorXd>& column,
                          Place place);

struct PlaceChanges {
  double rp = 0;  // mean over all cells of the change of place in its column
  double rk = 0;  // share of cells whose place is unchanged
  double cp = 0;  // the same of the columns, by their means
  double ck = 0;
};
// With either reading of "place".
struct BothPlaceChanges {
  PlaceChanges by_sort_index, by_rank;
};

// Both have the same shape, not 0, and finite numbers. A column is sorted once
// for both readings.
BothPlaceChanges PlaceChangesOf(const Eigen::MatrixXd& a,
                                const Eigen::MatrixXd& b);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_PLACES_H_
