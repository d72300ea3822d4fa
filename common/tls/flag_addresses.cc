#include "common/tls/flag_addresses.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/tls/address.h"

namespace dpnmf {
namespace {

absl::Status OfFlag(std::string_view flag, const absl::Status& status) {
  if (status.ok()) return status;
  return Refusal(status.code(), ReasonCode(status),
                 absl::StrCat("`", View(flag), "`: ", status.message()));
}

}  // namespace

absl::Status CheckPeerAddress(std::string_view flag, std::string_view address) {
  return OfFlag(flag, ParseAddress(address).status());
}

absl::Status CheckListenAddress(std::string_view flag,
                                std::string_view address) {
  return OfFlag(flag, ParseListenAddress(address).status());
}

}  // namespace dpnmf
