// Storage for strips, aligned to cache lines (for speed alone).
#ifndef DPNMF_CURATOR_FACTOR_ALIGNED_VECTOR_H_
#define DPNMF_CURATOR_FACTOR_ALIGNED_VECTOR_H_

#include <cstddef>
#include <new>
#include <vector>

namespace dpnmf::curator {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}  // NOLINT

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* values, std::size_t) {
    ::operator delete(values, kAlignment);
  }
  bool operator==(const CacheLineAllocator&) const = default;
};

template <typename T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_ALIGNED_VECTOR_H_
