// Aux-NMF and iAux-NMF (Wang, Zhang, Lin, Thapa, Wang and Wang, "Incorporating
// Auxiliary Information in Collaborative Filtering Data Update with Privacy
// Preservation", equations 9, 21 to 23 and 37). Without privacy.
//
// R (people x items) with its mask W, U (people x k), S (k x l), V (items x l),
// all >= 0; C_U and C_I: one 1 a row, the cluster of the person and the item.
//   L = alpha |W o (R - U S V')|^2 + beta |U - C_U|^2 + gamma |V - C_I|^2
//
// The publication imposes no orthogonality, though it writes it, and takes
// ratings of 0 for missing ones; here a mask says what is missing.
#ifndef DPNMF_LAB_COMPLETE_AUX_NMF_H_
#define DPNMF_LAB_COMPLETE_AUX_NMF_H_

#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "lab/complete/sparse_ratings.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

using RowMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct AuxWeights {
  double ratings = 0.2;  // alpha
  double people = 0;     // beta
  double items = 0.8;    // gamma
};
// INVALID_ARGUMENT "complete-weights": each must be from 0 to 1, and the sum 1
// within 1e-9.
absl::Status CheckAuxWeights(const AuxWeights& weights);

// The cluster of each row, or kNoLabel: nothing draws such a row to a cluster.
using Labels = std::vector<int>;
inline constexpr int kNoLabel = -1;

struct AuxFactors {
  RowMatrix u;  // people x k
  RowMatrix s;  // k x l
  RowMatrix v;  // items x l
};
// Uniform on [0, 1).
RowMatrix UniformMatrix(Eigen::Index rows, Eigen::Index columns, Draws* draws);

struct AuxRun {
  AuxFactors factors;
  // L of the start and after each round that was kept: it never rises.
  std::vector<double> objective;
  bool undone = false;  // the last round raised L and was undone
};

// At most `rounds` rounds of U, V, S, each in
// O(ratings (k + l) + (people + items) k l). `by_item` is the transpose of
// `ratings`. `people` and `items` may be empty where their weight is 0. A round
// that raises L is undone and ends it; so does `stop`.
AuxRun FitAuxNmf(const SparseRatings& ratings, const SparseRatings& by_item,
                 const Labels& people, const Labels& items,
                 const AuxWeights& weights, int rounds, AuxFactors start,
                 const std::function<bool()>& stop = {});

struct RowsRun {
  RowMatrix x;                    // rows x k
  std::vector<double> objective;  // L at the start and after each round
  // A round raised a row's part of L: it was undone and ended this row.
  bool undone = false;
};

// Rows X of new people for a fixed basis B = V S' (items x k), or of new items
// for B = U S (people x l):
//   L = alpha |W o (T - X B')|^2 + w |X - C|^2
RowsRun FitRows(const SparseRatings& rows, const RowMatrix& basis,
                double ratings_weight, double labels_weight,
                const Labels& labels, int rounds, RowMatrix start);

// Counts of rows without a rating, by the way they are filled. With a weight,
// the updates give a row that has a label the indicator of its cluster (its row
// of C), and the row keeps this value. Otherwise the row gets the mean of the
// rows of its cluster that have a rating, or of all rows that have a rating if
// the cluster has none or there is no label (the prior).
struct ColdRows {
  int by_weight = 0;
  int by_cluster = 0;
  int by_prior = 0;
};
// Rows `begin` to the last; means over rows 0 to the last with a rating.
ColdRows FillColdRows(const SparseRatings& ratings, const Labels& labels,
                      double labels_weight, Eigen::Index begin, RowMatrix* x);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_AUX_NMF_H_
