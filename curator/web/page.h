// The operator's page: what a serving curator answers on its control socket,
// for a browser. Read-only: no request changes anything.
#ifndef DPNMF_CURATOR_WEB_PAGE_H_
#define DPNMF_CURATOR_WEB_PAGE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/web/http_server.h"
#include "nlohmann/json_fwd.hpp"

namespace dpnmf::curator::web {

// Asks the curator that; the answer is what stands under "ok".
using AskCurator =
    std::function<absl::StatusOr<nlohmann::json>(const std::string& request)>;

struct PageFacts {
  std::string version;
  std::string data_dir;
};

// Thread-safe if `ask` is.
class OperatorPage {
 public:
  OperatorPage(AskCurator ask, PageFacts facts);

  // The reply to a request that was admitted: a file of the page, the
  // facts above, or the curator's answer to "status" or "doctor". NOT_FOUND
  // "web-call-unknown" for everything else, each POST too. A server that is not
  // running is UNAVAILABLE here, so that the page tries again.
  HttpReply Handle(const HttpRequest& request) const;

 private:
  const AskCurator ask_;
  const PageFacts facts_;
};

}  // namespace dpnmf::curator::web

#endif  // DPNMF_CURATOR_WEB_PAGE_H_
