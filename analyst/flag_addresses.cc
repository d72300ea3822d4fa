#include "analyst/flag_addresses.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/wire/address.h"

namespace dpnmf::analyst {

absl::Status CheckPeerAddress(std::string_view flag,
                              const std::string& address) {
  const absl::Status status = ParseAddress(address).status();
  if (status.ok()) return status;
  return Refusal(status.code(), ReasonCode(status),
                 absl::StrCat("`", View(flag), "`: ", status.message()));
}

absl::Status CheckListenAddress(std::string_view flag,
                                const std::string& address) {
  if (absl::EndsWith(address, ":0"))
    return CheckPeerAddress(flag, address.substr(0, address.size() - 1) + "1");
  return CheckPeerAddress(flag, address);
}

}  // namespace dpnmf::analyst
