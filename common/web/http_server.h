// A small HTTP/1.1 server on the loopback addresses, 127.0.0.1 and [::1], which
// share a port: browsers try both for one name, so a program of somebody else
// may hold neither. http_server.cc alone includes cpp-httplib.
#ifndef DPNMF_COMMON_WEB_HTTP_SERVER_H_
#define DPNMF_COMMON_WEB_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/web/http_message.h"

namespace dpnmf {

class HttpServer {
 public:
  // Both run on many threads at once. `admit` sees a request before its body is
  // read: a reply ends it there. `handle` makes the reply of an admitted one;
  // an exception is "internal-error".
  struct Handlers {
    std::function<std::optional<HttpReply>(const HttpRequest&)> admit;
    std::function<HttpReply(const HttpRequest&)> handle;
  };

  // Listens on both addresses before it returns; on 127.0.0.1 alone where the
  // machine has no [::1]. 0 takes a port that is free on both. UNAVAILABLE
  // "port-unavailable" if one of the two is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(std::uint32_t port);
  virtual ~HttpServer() = default;

  virtual std::uint32_t port() const = 0;
  // Every reply carries these. Before Serve.
  virtual void SetHeaders(std::map<std::string, std::string> headers) = 0;
  // Until Stop, which may come first, or until an address fails: UNAVAILABLE
  // "web-ended". Once.
  virtual absl::Status Serve(const Handlers& handlers) = 0;
  // Thread-safe. Open streams end; Serve waits for the requests that are
  // handled now, whose number is returned.
  virtual int Stop() = 0;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WEB_HTTP_SERVER_H_
