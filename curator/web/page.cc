#include "curator/web/page.h"

#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/web/reply.h"
#include "curator/web/assets.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::web {
namespace {

using nlohmann::json;

std::string Text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

OperatorPage::OperatorPage(AskCurator ask, PageFacts facts)
    : ask_(std::move(ask)), facts_(std::move(facts)) {}

HttpReply OperatorPage::Handle(const HttpRequest& request) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const std::string path = reads ? request.path : "";
  const std::optional<HttpReply> file =
      FileAt(path, {{"/", kHtmlType, kOperatorPage},
                    {"/operator.js", kScriptType, kOperatorScript}});
  if (file.has_value()) return *file;
  if (path == "/api/facts") {
    return {.body = Text(
                {{"version", facts_.version}, {"data_dir", facts_.data_dir}})};
  }
  if (path != "/api/status" && path != "/api/doctor")
    return RefusedReply(Refusal(absl::StatusCode::kNotFound, "web-call-unknown",
                                "There is no such page."));
  const absl::StatusOr<json> answer = ask_(path.substr(5));
  if (answer.ok()) return {.body = Text(*answer)};
  const std::string code = ReasonCode(answer.status());
  if (code != "server-not-running") return RefusedReply(answer.status());
  return RefusedReply(Refusal(absl::StatusCode::kUnavailable, code,
                              std::string(answer.status().message())));
}

}  // namespace dpnmf::curator::web
