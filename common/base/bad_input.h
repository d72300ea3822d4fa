// A refusal of what the user gave: a flag, a file.
#ifndef DPNMF_COMMON_BASE_BAD_INPUT_H_
#define DPNMF_COMMON_BASE_BAD_INPUT_H_

#include <string_view>

#include "absl/status/status.h"
#include "common/base/error.h"

namespace dpnmf {

inline absl::Status BadInput(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_BAD_INPUT_H_
