// Sums of products over users: exact integers for what is released, plain
// doubles for factorize. Lanes are partial sums here.
#ifndef DPNMF_CURATOR_FACTOR_KERNELS_EXACT_PRODUCTS_H_
#define DPNMF_CURATOR_FACTOR_KERNELS_EXACT_PRODUCTS_H_

#include <cstdint>

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/simd_layout.h"
#include "curator/factor/kernels/aligned_vector.h"

namespace dpnmf::curator {

inline constexpr int PaddedColumns(int columns) {
  return (columns + kProductColumns - 1) / kProductColumns * kProductColumns;
}

// sums(i, j) += sum over users of x(i, user) y(j, user); row-major with
// PaddedColumns(y.rows) columns. If `upper`, only sums with j >= i are wanted
// (others may or may not be added).
//
// Entries are integers in [0, x_largest] and [0, y_largest], both below 2^32.
// Doubles are exact while a sum stays below 2^52, so at most
// floor(2^52 / (x_largest y_largest)) users are summed at a time; if that is
// less than a strip the products are done in integers. `packed` is a buffer; it
// grows to PackedSize(y.rows, strips) at most.
void AddExactProducts(const StripMatrix& x, const StripMatrix& y, int strips,
                      std::uint64_t x_largest, std::uint64_t y_largest,
                      bool upper, AlignedVector<double>* packed,
                      std::uint64_t* sums);

inline constexpr std::size_t PackedSize(int columns, int strips) {
  return StripSize(PaddedColumns(columns)) * static_cast<std::size_t>(strips);
}

// The same for reals, with rounding.
void AddProducts(const StripMatrix& x, const StripMatrix& y, int strips,
                 bool upper, double* sums);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_KERNELS_EXACT_PRODUCTS_H_
