// Debian's Abseil has a string_view of its own, which std::string_view does not
// convert to.
#ifndef DPNMF_COMMON_BASE_VIEW_H_
#define DPNMF_COMMON_BASE_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace dpnmf {

// The same bytes, for absl::StrCat and its like.
inline absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_VIEW_H_
