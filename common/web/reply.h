// Replies that all pages give.
#ifndef DPNMF_COMMON_WEB_REPLY_H_
#define DPNMF_COMMON_WEB_REPLY_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/web/http_message.h"

namespace dpnmf {

struct WebFile {
  std::string_view path;
  std::string_view type;
  std::string_view bytes;
};
inline constexpr std::string_view kHtmlType = "text/html; charset=utf-8";
inline constexpr std::string_view kScriptType =
    "text/javascript; charset=utf-8";
inline constexpr std::string_view kStyleType = "text/css; charset=utf-8";

// The file at the path: one of the page's own, or one that all pages have
// (common/web/assets.h). Nothing if there is none.
std::optional<HttpReply> FileAt(const std::string& path,
                                std::initializer_list<WebFile> own);

// {"error": {"code", "kind", "message"}}; kind is the gRPC name of the status.
std::string ErrorJson(const absl::Status& status);
// The same under a status of HTTP that follows from its kind.
HttpReply RefusedReply(const absl::Status& status);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_REPLY_H_
