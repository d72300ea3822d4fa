// Users as SIMD lanes: the layout.
//
// A strip holds kStripUsers users side by side: entry (row, user) of a matrix
// with one column per user lies at strip[row * kStripUsers + user]. Every
// kernel of the H step, and every gate on strips, does the same operations on
// every lane and never mixes two, so that the bits of a user's results cannot
// depend on the user's place, on the neighbours, on how many there are or on
// the width of the machine's vectors. Kernels that add up over users
// (products.h) and those of one user's column (quantise.h, sparse.h) use lanes
// in other ways.
#ifndef DPNMF_CURATOR_FACTOR_ISA_SIMD_LAYOUT_H_
#define DPNMF_CURATOR_FACTOR_ISA_SIMD_LAYOUT_H_

#include <cstddef>

// Headers that the kernels of several instruction sets share must leave no code
// behind that the linker could take from the wrong one.
#define DPNMF_INLINE inline __attribute__((always_inline))

namespace dpnmf::curator {

// Two vectors of AVX-512, four of AVX2.
inline constexpr int kStripUsers = 16;

// Doubles in a strip of so many rows.
DPNMF_INLINE constexpr std::size_t StripSize(int rows) {
  return static_cast<std::size_t>(rows) * kStripUsers;
}

// The place of row 0 of a user of the block; rows are kStripUsers apart.
DPNMF_INLINE constexpr std::size_t LaneOf(int user, int rows) {
  return static_cast<std::size_t>(user / kStripUsers) * StripSize(rows) +
         user % kStripUsers;
}

// Cuts `rows` into ceil(rows / 6) panels whose sizes differ by at most one.
class RowCut {
 public:
  static constexpr int kLargestPanel = 6;
  DPNMF_INLINE explicit RowCut(int rows)
      : panels_((rows + kLargestPanel - 1) / kLargestPanel),
        base_(panels_ == 0 ? 0 : rows / panels_),
        longer_(panels_ == 0 ? 0 : rows % panels_) {}

  DPNMF_INLINE int panels() const { return panels_; }
  DPNMF_INLINE int First(int panel) const {
    return panel * base_ + (panel < longer_ ? panel : longer_);
  }
  DPNMF_INLINE int Rows(int panel) const {
    return base_ + (panel < longer_ ? 1 : 0);
  }

 private:
  int panels_, base_, longer_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_ISA_SIMD_LAYOUT_H_
