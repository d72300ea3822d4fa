// The page of `dpnmf web`: access, calls and server together.
#ifndef DPNMF_CLIENT_WEB_WEB_H_
#define DPNMF_CLIENT_WEB_WEB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/web/api.h"
#include "common/web/http_server.h"
#include "common/web/loopback_access.h"

namespace dpnmf::cli::web {

class WebPage {
 public:
  // Listens at the port as HttpServer does; 0 takes a free one. UNAVAILABLE
  // "port-unavailable".
  static absl::StatusOr<std::unique_ptr<WebPage>> Open(
      std::uint32_t port, std::shared_ptr<grpc::Channel> channel,
      ApiFacts facts);

  // For the one browser that may open it.
  std::string Address() const { return access_.Address(); }
  // Serves as HttpServer::Serve does.
  absl::Status Serve();
  // Thread-safe. Serve waits for the calls that are under way; their number.
  int Stop() { return server_->Stop(); }

 private:
  WebPage(std::unique_ptr<HttpServer> server,
          std::shared_ptr<grpc::Channel> channel, ApiFacts facts);

  const std::unique_ptr<HttpServer> server_;
  LoopbackAccess access_;
  const Api api_;
};

}  // namespace dpnmf::cli::web

#endif  // DPNMF_CLIENT_WEB_WEB_H_
