#include "tests/common/base/failing_allocation.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace dpnmf {
namespace {

std::atomic<bool> armed, failed;
thread_local bool is_spared = false;

}  // namespace

void FailNextAllocationElsewhere() {
  is_spared = true;
  failed = false;
  armed = true;
}

bool AllocationHasFailed() { return failed; }

}  // namespace dpnmf

void* operator new(std::size_t size) {
  if (!dpnmf::is_spared && dpnmf::armed.exchange(false)) {
    dpnmf::failed = true;
    throw std::bad_alloc();
  }
  void* const given = std::malloc(size);
  if (given == nullptr) throw std::bad_alloc();
  return given;
}

// Allocates with malloc like the others: sanitizers, which replace this
// operator too, compare how memory is taken and given back.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size);
}

void operator delete(void* given) noexcept { std::free(given); }
void operator delete(void* given, std::size_t) noexcept { std::free(given); }
