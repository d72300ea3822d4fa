// The clock that dates what is stored.
#ifndef DPNMF_COMMON_BASE_SYSTEM_SECONDS_H_
#define DPNMF_COMMON_BASE_SYSTEM_SECONDS_H_

#include <chrono>
#include <cstdint>

namespace dpnmf {

// Seconds since 1970 by the system's clock, which may be set back. Any thread.
inline std::int64_t SystemSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_SYSTEM_SECONDS_H_
