// The half line cut into cells of width h = 2^-cell_bits, and the exact binary
// digits of the cells' cumulative weights.
//
// Cell j = 0, 1, 2, ... has weight w_j = exp(-(j h)^2 / 2), the normal density
// at its left end. Its share of [0, 1) is [c_j, c_{j+1}) with
//
//   c_j = (w_0 + ... + w_{j-1}) / (w_0 + w_1 + ...).
//
// The digits come from integer arithmetic with a proved error (noise_cells.cc)
// and are computed when a process first draws noise: there are no constants to
// trust.
#ifndef DPNMF_CURATOR_NOISE_NOISE_CELLS_H_
#define DPNMF_CURATOR_NOISE_NOISE_CELLS_H_

#include <cstdint>
#include <vector>

namespace dpnmf::curator {

// A number in [0, 1), its binary digits 64 a word, most significant word first.
using BinaryFraction = std::vector<std::uint64_t>;

// floor(2^bits c_j) for j = 1, 2, ..., up to and including the first that is
// all ones. 0 <= cell_bits <= 4; bits is a multiple of 64, at most 1024.
std::vector<BinaryFraction> CellBoundaries(int cell_bits, int bits);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_NOISE_NOISE_CELLS_H_
