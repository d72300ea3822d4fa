// Refusals: an absl::Status that carries a stable, documented code.
//
// A refusal has three parts: the absl status code (what kind of thing went
// wrong), one fixed sentence that says what to change, and a short code such as
// "rank-out-of-range" that programs may match. docs/reference/errors.md lists
// the codes. Sentences that go to the other party are functions of requests and
// public facts alone.
#ifndef DPNMF_COMMON_BASE_ERROR_H_
#define DPNMF_COMMON_BASE_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpnmf {

// Kind, code and sentence: one printable line of UTF-8, at most 2,000 bytes.
absl::Status Refusal(absl::StatusCode kind, std::string_view code,
                     std::string_view sentence);

// The code that `Refusal` attached; empty if there is none.
std::string ReasonCode(const absl::Status& status);

// Returns from the enclosing function if the expression is not OK.
#define DPNMF_RETURN_IF_ERROR(expression)                             \
  do {                                                                \
    if (absl::Status dpnmf_status = (expression); !dpnmf_status.ok()) \
      return dpnmf_status;                                            \
  } while (false)

#define DPNMF_CONCAT_INNER(a, b) a##b
#define DPNMF_CONCAT(a, b) DPNMF_CONCAT_INNER(a, b)

// DPNMF_ASSIGN_OR_RETURN(auto x, F()): x = value of F(), or return its status.
#define DPNMF_ASSIGN_OR_RETURN(left, expression)                       \
  DPNMF_ASSIGN_OR_RETURN_IMPL(DPNMF_CONCAT(dpnmf_or_, __LINE__), left, \
                              expression)
#define DPNMF_ASSIGN_OR_RETURN_IMPL(name, left, expression) \
  auto name = (expression);                                 \
  if (!name.ok()) return name.status();                     \
  left = *std::move(name)

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_ERROR_H_
