#include "curator/factor/kernels/exact_products.h"

#include <algorithm>

#include "curator/factor/kernels/aligned_vector.h"

namespace dpnmf::curator {
namespace {

// For products too large for doubles: slower, exact modulo 2^64.
void AddInIntegers(const StripMatrix& x, const StripMatrix& y, int strips,
                   std::uint64_t* sums) {
  const std::size_t stride = PaddedColumns(y.rows);
  for (int strip = 0; strip < strips; ++strip) {
    const double* const xs =
        x.values + static_cast<std::size_t>(strip) * x.strip_rows * kStripUsers;
    const double* const ys =
        y.values + static_cast<std::size_t>(strip) * y.strip_rows * kStripUsers;
    for (int i = 0; i < x.rows; ++i) {
      for (int j = 0; j < y.rows; ++j) {
        std::uint64_t sum = 0;
        for (int user = 0; user < kStripUsers; ++user) {
          sum += static_cast<std::uint64_t>(xs[i * kStripUsers + user]) *
                 static_cast<std::uint64_t>(ys[j * kStripUsers + user]);
        }
        sums[i * stride + j] += sum;
      }
    }
  }
}

// y for the kernel.
const double* Packed(const StripMatrix& y, int first_strip, int strips,
                     bool exact, AlignedVector<double>* packed) {
  packed->resize(PackedSize(y.rows, strips));
  Kernels().pack_columns(y, first_strip, strips, exact, packed->data());
  return packed->data();
}

}  // namespace

void AddExactProducts(const StripMatrix& x, const StripMatrix& y, int strips,
                      std::uint64_t x_largest, std::uint64_t y_largest,
                      bool upper, AlignedVector<double>* packed,
                      std::uint64_t* sums) {
  const std::uint64_t largest =
      std::max<std::uint64_t>(1, x_largest * y_largest);
  const std::uint64_t users = (std::uint64_t{1} << 52) / largest;
  if (users < kStripUsers) return AddInIntegers(x, y, strips, sums);
  const int step =
      static_cast<int>(std::min<std::uint64_t>(strips, users / kStripUsers));
  for (int first = 0; first < strips; first += step) {
    const int count = std::min(step, strips - first);
    Kernels().add_exact_products(
        x, y, first, count, Packed(y, first, count, /*exact=*/true, packed),
        upper, sums);
  }
}

void AddProducts(const StripMatrix& x, const StripMatrix& y, int strips,
                 bool upper, double* sums) {
  static thread_local AlignedVector<double> packed;
  Kernels().add_products(x, 0, strips, y.rows,
                         Packed(y, 0, strips, /*exact=*/false, &packed), upper,
                         sums);
}

}  // namespace dpnmf::curator
