#include "client/web/web.h"

#include <utility>

#include "common/base/error.h"

namespace dpnmf::cli::web {

absl::StatusOr<std::unique_ptr<WebPage>> WebPage::Open(
    std::uint32_t port, std::shared_ptr<grpc::Channel> channel,
    ApiFacts facts) {
  DPNMF_ASSIGN_OR_RETURN(auto server, HttpServer::Listen(port));
  return std::unique_ptr<WebPage>(
      new WebPage(std::move(server), std::move(channel), std::move(facts)));
}

WebPage::WebPage(std::unique_ptr<HttpServer> server,
                 std::shared_ptr<grpc::Channel> channel, ApiFacts facts)
    : server_(std::move(server)),
      access_(server_->port(), "dpnmf web"),
      api_(std::move(channel), std::move(facts)) {
  server_->SetHeaders(LoopbackAccess::Headers());
}

absl::Status WebPage::Serve() {
  return server_->Serve(
      {.admit = [this](const HttpRequest& r) { return access_.Admit(r); },
       .handle = [this](const HttpRequest& r) { return api_.Handle(r); }});
}

}  // namespace dpnmf::cli::web
