// Exceptions end where a call or a thread's work begins.
#ifndef DPNMF_COMMON_LOG_WITHOUT_EXCEPTIONS_H_
#define DPNMF_COMMON_LOG_WITHOUT_EXCEPTIONS_H_

#include <exception>
#include <type_traits>

#include "absl/status/status.h"
#include "common/log/log.h"

namespace dpnmf {

// Returns f(): a status or a StatusOr. An exception (memory or threads that the
// system does not give) becomes one status for all causes, INTERNAL without a
// code, which is reported as "internal-error"; the log has the details.
template <typename F>
std::invoke_result_t<F> WithoutExceptions(F f) {
  try {
    return f();
  } catch (const std::exception& exception) {
    LogError("a call failed: {}", exception.what());
  } catch (...) {
    LogError("a call failed: {}", "an exception of an unknown type");
  }
  return absl::InternalError("exception");
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_LOG_WITHOUT_EXCEPTIONS_H_
