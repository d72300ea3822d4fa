// Storage aligned to cache lines, of a few MB and more on huge pages (for speed
// alone).
#ifndef DPNMF_CURATOR_FACTOR_KERNELS_ALIGNED_VECTOR_H_
#define DPNMF_CURATOR_FACTOR_KERNELS_ALIGNED_VECTOR_H_

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <new>
#include <vector>

namespace dpnmf::curator {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::size_t kHuge = 2 * kHugePage;
  static constexpr std::align_val_t AlignmentOf(std::size_t bytes) {
    return std::align_val_t{bytes >= kHuge ? kHugePage : kCacheLine};
  }

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* const values = ::operator new(bytes, AlignmentOf(bytes));
#if defined(__linux__)
    // Advice may be ignored; a failure changes nothing but speed.
    if (bytes >= kHuge) (void)madvise(values, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(values);
  }
  void deallocate(T* values, std::size_t count) {
    ::operator delete(values, AlignmentOf(count * sizeof(T)));
  }
  bool operator==(const CacheLineAllocator&) const = default;
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

// Leaves new numbers as they are found in memory.
template <typename T>
struct UnsetAllocator : CacheLineAllocator<T> {
  template <typename U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <typename U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
};

// For large buffers of which a part is used: what nobody has written is not
// read, and costs no time.
template <typename T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_KERNELS_ALIGNED_VECTOR_H_
