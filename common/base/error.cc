#include "common/base/error.h"

#include "absl/strings/cord.h"

namespace dpnmf {
namespace {
constexpr char kPayloadUrl[] = "type.dpnmf/reason-code";
}  // namespace

absl::Status Refusal(absl::StatusCode kind, std::string_view code,
                     std::string_view sentence) {
  absl::Status status(kind,
                      absl::string_view(sentence.data(), sentence.size()));
  status.SetPayload(kPayloadUrl,
                    absl::Cord(absl::string_view(code.data(), code.size())));
  return status;
}

std::string ReasonCode(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace dpnmf
