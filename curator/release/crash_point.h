// Named places at which a test may stop the process, to see that what is on
// disk there is safe. In a shipped program the hook is null and nothing
// happens.
#ifndef DPNMF_CURATOR_RELEASE_CRASH_POINT_H_
#define DPNMF_CURATOR_RELEASE_CRASH_POINT_H_

#include <atomic>

namespace dpnmf::curator {

using CrashHook = void (*)(const char* place);
inline std::atomic<CrashHook> crash_hook_for_testing{nullptr};

inline void CrashPoint(const char* place) {
  const CrashHook hook = crash_hook_for_testing.load(std::memory_order_relaxed);
  if (hook != nullptr) hook(place);
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_CRASH_POINT_H_
