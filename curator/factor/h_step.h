// The H step on a block of users: a start h, the data v and W give the next h.
//
// Outliers off: min 1/2 |v - W h|^2 over h >= 0 in Gram form; c = W'v once,
// then `iterations` sweeps of cyclic coordinate descent. Outliers on: min 1/2
// |v - W h - r|^2 + lambda |r|_1 over h >= 0, |r_i| <= M by block coordinate
// descent; each iteration takes the best r for h, then one sweep on h. That is
// the H step of Zhao and Tan 2016, "Online nonnegative matrix factorization
// with outliers", with coordinate descent for h. Neither objective ever rises.
//
// docs/decisions/0003-h-step.md says why.
#ifndef DPNMF_CURATOR_FACTOR_H_STEP_H_
#define DPNMF_CURATOR_FACTOR_H_STEP_H_

#include <optional>

#include "Eigen/Core"
#include "curator/factor/kernels/kernels.h"
#include "curator/factor/kernels/sparse_kernels.h"

namespace dpnmf::curator {

// W (D x K) in the forms that the kernels read. Made once a round.
struct PackedDictionary {
  PackedDictionary(const Eigen::MatrixXd& w, bool outliers, bool sparse);
  // Without outliers; w: D rows, kept by the caller; gram: W'W.
  PackedDictionary(RowView w, int features, const Eigen::MatrixXd& gram,
                   bool sparse);

  int features, rank;
  std::optional<PackedRows> by_component;  // W', dense
  std::optional<PackedRows> by_feature;    // W, dense with outliers
  PackedGram gram;                         // W'W
  // W, sparse.
  RowView rows() const {
    return own_rows.has_value() ? own_rows->view() : borrowed_rows;
  }

  std::optional<PaddedRows> own_rows;
  RowView borrowed_rows;
};

// Buffers of one worker for a block of `strips` strips.
struct BlockBuffers {
  AlignedVector<float> v;         // D rows; only with outliers
  AlignedVector<double> u;        // D rows; v itself without outliers
  AlignedVector<double> c;        // K rows
  AlignedVector<double> h;        // K rows
  AlignedVector<double> partial;  // a few rows of u, in passing
};

// Buffers for blocks of up to `strips` strips. With them no function below, nor
// those of block_data.h, allocates memory. Their sizes follow from the shape of
// w alone.
BlockBuffers BuffersFor(const PackedDictionary& w, int strips);

// c = W'u.
void Correlate(const PackedDictionary& w, int strips, BlockBuffers* block);

// c = W'(v - S(v - W h)): v and h are in the block.
void CorrelateWithoutOutliers(const PackedDictionary& w,
                              const OutlierRule& rule, int strips,
                              BlockBuffers* block);

// c and h are in the block; h becomes the result of `iterations` sweeps.
void SweepBlock(const PackedDictionary& w, int iterations, int strips,
                BlockBuffers* block);

// v and h are in the block; h and u = v - r become the result.
void HStepWithOutliers(const PackedDictionary& w, const OutlierRule& rule,
                       int iterations, int strips, BlockBuffers* block);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_H_STEP_H_
