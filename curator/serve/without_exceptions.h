// Exceptions end at the service's door.
#ifndef DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_
#define DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_

#include <exception>
#include <type_traits>

#include "common/base/error.h"
#include "common/base/log.h"

namespace dpnmf::curator {

// What f returns: a status or a StatusOr. An exception (memory or threads that
// the system does not give) is INTERNAL "internal-error" for all causes: the
// log has the rest.
template <typename F>
std::invoke_result_t<F> WithoutExceptions(F f) {
  try {
    return f();
  } catch (const std::exception& exception) {
    LogError("a call failed: {}", exception.what());
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   "the request failed for an internal reason; the server's "
                   "operator finds it in the server's log.");
  }
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_
