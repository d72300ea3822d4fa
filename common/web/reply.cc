#include "common/web/reply.h"

#include "common/base/error.h"
#include "common/web/assets.h"
#include "nlohmann/json.hpp"

namespace dpnmf {
namespace {

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return 409;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::optional<HttpReply> FileAt(const std::string& path,
                                std::initializer_list<WebFile> own) {
  const auto find = [&](const auto& files) -> std::optional<HttpReply> {
    for (const WebFile& file : files) {
      if (file.path != path) continue;
      return HttpReply{.content_type = std::string(file.type),
                       .body = std::string(file.bytes)};
    }
    return std::nullopt;
  };
  const WebFile shared[] = {
      {"/icon.svg", "image/svg+xml", kIcon},
      {"/closed.css", kStyleType, kClosedStyle},
      {"/page.css", kStyleType, kPageStyle},
      {"/frame.js", kScriptType, kFrameScript},
      {"/calls.js", kScriptType, kCallsScript},
      {"/dom.js", kScriptType, kDomScript},
      {"/draw.js", kScriptType, kDrawScript},
  };
  std::optional<HttpReply> found = find(own);
  return found.has_value() ? found : find(shared);
}

std::string ErrorJson(const absl::Status& status) {
  const nlohmann::json error = {
      {"code", ReasonCode(status)},
      {"kind", absl::StatusCodeToString(status.code())},
      {"message",
       std::string(status.message().data(), status.message().size())}};
  return nlohmann::json{{"error", error}}.dump();
}

HttpReply RefusedReply(const absl::Status& status) {
  return {.status = HttpStatusOf(status), .body = ErrorJson(status)};
}

}  // namespace dpnmf
