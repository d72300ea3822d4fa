// An allocation that fails when a test says so. operator new is replaced in
// programs that link this.
#ifndef DPNMF_TESTS_COMMON_BASE_FAILING_ALLOCATION_H_
#define DPNMF_TESTS_COMMON_BASE_FAILING_ALLOCATION_H_

namespace dpnmf {

// The next allocation by a thread other than this one throws std::bad_alloc,
// once.
void FailNextAllocationElsewhere();
// Returns true if such an allocation has failed.
bool AllocationHasFailed();

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_BASE_FAILING_ALLOCATION_H_
