// Floating-point numbers below the normal ones take a processor many times as
// long: where a hostile request makes them of some people's data alone, the
// time tells of these people.
#ifndef DPNMF_COMMON_THREADS_FLUSH_SUBNORMALS_H_
#define DPNMF_COMMON_THREADS_FLUSH_SUBNORMALS_H_

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace dpnmf {

// While one exists, subnormal numbers are 0 for the thread, as operands and as
// results; ParallelFor passes this on to its helpers. Objects of one thread end
// in the reverse order of their beginning. On processors of other makes than
// x86-64 and AArch64 nothing changes.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(Get()) { Set(before_ | kFlush); }
  ~FlushSubnormals() { Set(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlush = 0x8040;  // FTZ, DAZ
  static unsigned Get() { return _mm_getcsr(); }
  static void Set(unsigned control) { _mm_setcsr(control); }
#elif defined(__aarch64__)
  static constexpr unsigned kFlush = 1U << 24;  // FZ
  static unsigned Get() { return __builtin_aarch64_get_fpcr(); }
  static void Set(unsigned control) { __builtin_aarch64_set_fpcr(control); }
#else
  static constexpr unsigned kFlush = 0;
  static unsigned Get() { return 0; }
  static void Set(unsigned) {}
#endif

  const unsigned before_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_THREADS_FLUSH_SUBNORMALS_H_
