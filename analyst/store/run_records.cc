#include "analyst/store/run_records.h"

#include "common/base/error.h"
#include "common/log/log.h"

namespace dpnmf::analyst {

void StateChange::SetError(const absl::Status& failure) {
  error = std::string(failure.message());
  error_code = ReasonCode(failure);
  if (!error_code->empty()) return;
  LogError("a run failed: {}", *error);
  error =
      "The run failed for an internal reason; the operator of the analyst "
      "finds the reason in its log.";
  error_code = "internal-error";
}

}  // namespace dpnmf::analyst
