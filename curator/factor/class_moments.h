// Exact sums of z z' by class, z = (a, k): what `class_moments` releases.
// Private inputs, private outputs.
//
// k is a function of one user's column and of declared numbers, gated in
// integers; the sums are exact in any order (docs/reference/privacy.md, Theorem
// "Classes").
#ifndef DPNMF_CURATOR_FACTOR_CLASS_MOMENTS_H_
#define DPNMF_CURATOR_FACTOR_CLASS_MOMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/class_bounds.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {

// Bytes that ComputeClassMoments takes at most beside V, from public numbers:
// `users` is LargestUserCount. All of it but the result, whose size is public,
// is allocated before the first user is read.
std::uint64_t ClassMomentsBytes(std::uint64_t features, std::uint64_t classes,
                                std::uint64_t users, int threads);

// z of one column: 1 + D integers, the constant first; all 0 if the column
// fails the gate. `facts` of the data set; `scratch` is overwritten.
void GatedMember(const DatasetFacts& facts, const ClassBounds& bounds, int bits,
                 std::span<const float> column, std::vector<double>* scratch,
                 std::span<std::int64_t> z);

// (D + 1) x C (D + 1) sums, column-major, in units of 4^-bits: the blocks of
// the classes side by side. Dense data with classes. Errors as LatticeBoundsOf;
// INTERNAL "sums-overflow" if the sums could reach 2^62; CANCELLED "cancelled"
// if execution.stop said so. Throws std::bad_alloc if the system refuses
// memory.
absl::StatusOr<std::vector<std::int64_t>> ComputeClassMoments(
    const Dataset& data, int bits, const Execution& execution);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_CLASS_MOMENTS_H_
