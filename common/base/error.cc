#include "common/base/error.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {
constexpr char kPayloadUrl[] = "type.dpnmf/reason-code";
}  // namespace

absl::Status Refusal(absl::StatusCode kind, std::string_view code,
                     std::string_view sentence) {
  std::string line(sentence);
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
      ' ');
  absl::Status status(kind, line);
  status.SetPayload(kPayloadUrl, absl::Cord(View(code)));
  return status;
}

std::string ReasonCode(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace dpnmf
