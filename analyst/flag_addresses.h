// Addresses as they stand in the server's flags, before anything is opened.
#ifndef DPNMF_ANALYST_FLAG_ADDRESSES_H_
#define DPNMF_ANALYST_FLAG_ADDRESSES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpnmf::analyst {

// INVALID_ARGUMENT "address-malformed", naming the flag, unless `address` is
// HOST:PORT.
absl::Status CheckPeerAddress(std::string_view flag,
                              const std::string& address);

// The same; port 0, which takes a free one, is an address too.
absl::Status CheckListenAddress(std::string_view flag,
                                const std::string& address);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_FLAG_ADDRESSES_H_
