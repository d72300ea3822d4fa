#include "common/base/error.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "common/base/utf8.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {
constexpr char kPayloadUrl[] = "type.dpnmf/reason-code";
constexpr std::size_t kLongestSentence = 2000;
constexpr std::string_view kCutOff = "...";

// Control characters become spaces, and bytes that are not UTF-8 question
// marks; what is too long is cut off.
std::string OneLine(std::string_view sentence) {
  std::string line;
  std::size_t end = 0;  // of what stays if the line is cut off
  while (!sentence.empty()) {
    const std::size_t length = CharacterLength(sentence);
    const auto c = static_cast<unsigned char>(sentence[0]);
    if (length == 0) {
      line += '?';
    } else if (c < ' ' || c == '\x7f') {
      line += ' ';
    } else {
      line += sentence.substr(0, length);
    }
    sentence.remove_prefix(std::max<std::size_t>(length, 1));
    if (line.size() <= kLongestSentence - kCutOff.size()) end = line.size();
    if (line.size() > kLongestSentence)
      return line.substr(0, end).append(kCutOff);
  }
  return line;
}
}  // namespace

absl::Status Refusal(absl::StatusCode kind, std::string_view code,
                     std::string_view sentence) {
  absl::Status status(kind, OneLine(sentence));
  status.SetPayload(kPayloadUrl, absl::Cord(View(code)));
  return status;
}

std::string ReasonCode(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace dpnmf
