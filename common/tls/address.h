// Addresses as users write them: HOST:PORT, IPV4:PORT or [IPV6]:PORT.
#ifndef DPNMF_COMMON_TLS_ADDRESS_H_
#define DPNMF_COMMON_TLS_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpnmf {

struct Address {
  std::string host;  // without brackets
  std::string port;  // 1 to 65535; to listen on, also 0
};

// INVALID_ARGUMENT "address-malformed" unless the text is HOST:PORT.
absl::StatusOr<Address> ParseAddress(std::string_view text);
// The same of an address to listen on: port 0 takes a free one.
absl::StatusOr<Address> ParseListenAddress(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_ADDRESS_H_
