// Exceptions end at the service's door.
#ifndef DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_
#define DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_

#include <exception>
#include <type_traits>

#include "absl/status/status.h"
#include "common/base/log.h"

namespace dpnmf::curator {

// What f returns: a status or a StatusOr. An exception (memory or threads that
// the system does not give) is one status without a code for all causes, so
// that the peer gets "internal-error" (ToGrpc): the log has the rest.
template <typename F>
std::invoke_result_t<F> WithoutExceptions(F f) {
  try {
    return f();
  } catch (const std::exception& exception) {
    LogError("a call failed: {}", exception.what());
    return absl::InternalError("exception");
  }
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_WITHOUT_EXCEPTIONS_H_
