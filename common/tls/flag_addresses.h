// Addresses as they stand in a program's flags, before anything is opened.
// Functions of their arguments: any thread may call them.
#ifndef DPNMF_COMMON_TLS_FLAG_ADDRESSES_H_
#define DPNMF_COMMON_TLS_FLAG_ADDRESSES_H_

#include <string_view>

#include "absl/status/status.h"

namespace dpnmf {

// INVALID_ARGUMENT "address-malformed", naming the flag, unless `address` is
// HOST:PORT.
absl::Status CheckPeerAddress(std::string_view flag, std::string_view address);

// The same; port 0, which takes a free one, is an address too.
absl::Status CheckListenAddress(std::string_view flag,
                                std::string_view address);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_FLAG_ADDRESSES_H_
