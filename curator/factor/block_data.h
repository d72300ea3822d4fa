// Users of a data set as strips.
#ifndef DPNMF_CURATOR_FACTOR_BLOCK_DATA_H_
#define DPNMF_CURATOR_FACTOR_BLOCK_DATA_H_

#include <algorithm>
#include <cstdint>

#include "curator/data/dataset.h"
#include "curator/factor/h_step.h"
#include "curator/factor/isa/simd_layout.h"

namespace dpnmf::curator {

// Users [first, first + count), the last strip padded with zero users.
struct UserRange {
  std::uint64_t first = 0;
  int count = 0;
  int strips() const { return (count + kStripUsers - 1) / kStripUsers; }
  // Users of a strip that are not padding.
  int InStrip(int strip) const {
    return std::min(kStripUsers, count - strip * kStripUsers);
  }
};

// V of the users as dense strips.
void LoadData(const Dataset& data, UserRange users,
              AlignedVector<float>* strips);
void LoadData(const Dataset& data, UserRange users,
              AlignedVector<double>* strips);

// c = W'v by the nonzeros of every user of a sparse data set. c: the strips of
// the block; `column` is room for one user.
void CorrelateNonzeros(const Dataset& data, const PackedDictionary& w,
                       UserRange users, AlignedVector<double>* column,
                       double* c);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_BLOCK_DATA_H_
