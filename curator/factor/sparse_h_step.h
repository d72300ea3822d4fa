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
#include "curator/factor/kernels/kernels.h"

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

// Inputs of the H step that are the same for every block.
struct SparseStep {
  const Dataset& data;
  const PackedDictionary& w;  // with rows()
  const LongRows& long_rows;
  OutlierRule rule;
};

// Buffers of one worker. A user's support is what can matter: the nonzeros of v
// and the long rows of a level, ascending, padded for the kernel with v = 0. It
// is kept from one iteration to the next while there is room, else it is put
// together again each time, a piece at a time: the size of the buffers follows
// from public numbers, not from the nonzeros.
class SparseBlock {
 public:
  SparseBlock() = default;
  // For blocks of up to `users` users.
  SparseBlock(const PackedDictionary& w, int users);
  // Bytes that it takes.
  static std::uint64_t Bytes(std::uint64_t features, std::uint64_t rank,
                             int users);

 private:
  friend class SparseSolver;
  struct Support {
    int level = -1;
    bool kept = false;
    std::size_t first = 0, count = 0;  // if kept
  };
  std::vector<Support> users_;
  // Entries of all kept supports, then those of one piece.
  UnsetVector<std::int32_t> rows_;
  UnsetVector<double> v_, u_;
  std::size_t room_ = 0;  // for kept supports
  std::size_t used_ = 0;  // of it
  AlignedVector<double> column_h_, column_c_;
};

// block->h becomes the result of `iterations` as HStepWithOutliers. Allocates
// nothing.
void SparseHStepWithOutliers(const SparseStep& step, int iterations,
                             UserRange users, BlockBuffers* block,
                             SparseBlock* sparse);

// After SparseHStepWithOutliers: u of one user of the block without its zeros.
// rows (ascending) and u have room for D entries. The number of entries.
std::size_t SparseInliers(const SparseStep& step, UserRange users, int user,
                          const BlockBuffers& block, SparseBlock* sparse,
                          std::int32_t* rows, double* u);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_SPARSE_H_STEP_H_
