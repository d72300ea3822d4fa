#include "common/tls/address.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {
namespace {

bool IsPort(std::string_view text, int least) {
  int port = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() &&
         text[0] != '-' && port >= least && port <= 65535;
}

// "[::1]" to "::1"; a host with a colon needs the brackets.
std::string_view WithoutBrackets(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host.find_first_of(":[]/ ") == std::string_view::npos
             ? host
             : std::string_view();
}

// For the refusal: on one line, and no longer than a host name may be.
std::string Shown(std::string_view text) {
  constexpr std::size_t kLongest = 253;
  return absl::Utf8SafeCHexEscape(
      absl::string_view(text.data(), std::min(text.size(), kLongest)));
}

absl::StatusOr<Address> Parse(std::string_view text, int least_port) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view host = WithoutBrackets(text.substr(0, colon));
    const std::string_view port = text.substr(colon + 1);
    if (!host.empty() && IsPort(port, least_port)) {
      return Address{std::string(host), std::string(port)};
    }
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "address-malformed",
      absl::StrCat("`", Shown(text),
                   "` is not an address; write HOST:PORT, for example "
                   "localhost:7432."));
}

}  // namespace

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  return Parse(text, 1);
}

absl::StatusOr<Address> ParseListenAddress(std::string_view text) {
  return Parse(text, 0);
}

}  // namespace dpnmf
