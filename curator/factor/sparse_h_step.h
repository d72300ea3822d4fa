// The H step with outliers on sparse data, by the nonzeros and by few zeros.
//
// At a zero of v the residual is -(W h)_i, so u_i = (v - S(v - W h))_i is zero
// unless (W h)_i > lambda. Since (W h)_i <= |W_i| |h|, only rows of W longer
// than lambda / |h| need a look: at most (|W| |h| / lambda)^2 of them, however
// many features there are. All others would add +0 to every sum, so that h and
// u have the bits of the dense H step.
#ifndef DPNMF_CURATOR_FACTOR_SPARSE_H_STEP_H_
#define DPNMF_CURATOR_FACTOR_SPARSE_H_STEP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "curator/data/dataset.h"
#include "curator/factor/block_data.h"
#include "curator/factor/h_step.h"
#include "curator/factor/kernels.h"

namespace dpnmf::curator {

// The rows of W by length, in levels: each holds the 16, 32, 64 ... longest
// rows, the last one all.
class LongRows {
 public:
  // w: D x K, D >= 1.
  explicit LongRows(const Eigen::Ref<const Eigen::MatrixXd>& w);

  // The least level with every row at which (W h)_i can be more than lambda as
  // it is computed; 0 if there is none.
  int LevelFor(std::span<const double> h, double lambda) const;
  // Ascending. Level 0 is empty, the last is all rows.
  std::span<const std::int32_t> Rows(int level) const { return levels_[level]; }
  int last_level() const { return static_cast<int>(levels_.size()) - 1; }

 private:
  std::vector<double> lengths_;  // descending, slightly too large
  std::vector<std::vector<std::int32_t>> levels_;
};

// One user's entries that can matter, by ascending rows: the nonzeros of v and
// the long rows of a level. Padded for the kernel with v = 0.
struct Support {
  int level = -1;
  std::size_t count = 0;
  std::vector<std::int32_t> rows;
  AlignedVector<double> v;
  AlignedVector<double> u;  // after the H step; may be 0
};

// Buffers of one worker.
struct SparseBlock {
  std::vector<Support> users;
  AlignedVector<double> column_h, column_c;
};

// block->h becomes the result of `iterations` as HStepWithOutliers, the
// supports that of every user of the block, with its u. w.rows is there.
void SparseHStepWithOutliers(const Dataset& data, const PackedDictionary& w,
                             const LongRows& long_rows, const OutlierRule& rule,
                             int iterations, UserRange users,
                             BlockBuffers* block, SparseBlock* sparse);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_SPARSE_H_STEP_H_
