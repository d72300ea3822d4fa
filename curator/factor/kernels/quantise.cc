#include "curator/factor/kernels/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"

namespace dpnmf::curator {
absl::StatusOr<LatticeBounds> LatticeBoundsOf(double bound, int bits) {
  const auto refusal = [] {
    return Refusal(absl::StatusCode::kInternal, "bits-out-of-range",
                   "Bounds and bits must give lattice integers below 2^32.");
  };
  if (!(bound > 0) || !(bits >= -1000 && bits <= 52)) return refusal();
  if (!(std::ldexp(bound, bits) < 0x1p32)) return refusal();
  return LatticeBounds{.bound = bound,
                       .steps_per_unit = std::ldexp(1.0, bits),
                       .largest_entry = LargestEntrySteps(bound, bits),
                       .norm_bound = NormBoundSteps(bound, bits)};
}

absl::Status CheckSumsFit(std::uint64_t users, std::uint64_t m,
                          std::uint64_t m_other) {
  const std::uint64_t product = m * m_other;  // below 2^64
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
  if (product == 0 || users <= (kLimit - 1) / product) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInternal, "sums-overflow",
                 "The sums over all users could reach 2^62.");
}

void GateStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                int strips, double* values) {
  Kernels().gate_strips(bounds, rows, strip_rows, strips, values);
}

void QuantiseStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                    int strips, double* values) {
  Kernels().quantise_strips(bounds, rows, strip_rows, strips, values);
}

void GateColumn(const LatticeBounds& bounds, std::span<double> column) {
  Kernels().gate_column(bounds, column.size(), column.data());
}

void QuantiseColumn(const LatticeBounds& bounds, std::span<double> column) {
  Kernels().quantise_column(bounds, column.size(), column.data());
}

}  // namespace dpnmf::curator
