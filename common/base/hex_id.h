// Ids of runs and of ledgers.
#ifndef DPNMF_COMMON_BASE_HEX_ID_H_
#define DPNMF_COMMON_BASE_HEX_ID_H_

#include <string_view>

namespace dpnmf {

// 32 lower-case hexadecimal digits.
inline bool IsHexId(std::string_view text) {
  return text.size() == 32 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_HEX_ID_H_
