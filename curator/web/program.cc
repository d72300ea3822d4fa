#include "curator/web/program.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "common/cli/program.h"
#include "common/web/http_server.h"
#include "common/web/loopback_access.h"
#include "curator/control/control.h"
#include "curator/web/page.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::web {
namespace {

constexpr char kName[] = "dpnmf-curator-web";
// The checks read the whole ledger.
constexpr std::chrono::seconds kPatience(120);

struct WebOptions {
  std::string data_dir;
  std::uint32_t port = 0;
};

absl::StatusOr<ExitCode> ServePage(const WebOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  DPNMF_ASSIGN_OR_RETURN(const auto server, HttpServer::Listen(options.port));
  LoopbackAccess access(server->port(), kName);
  server->SetHeaders(LoopbackAccess::Headers());
  const OperatorPage page(
      [&](const std::string& request) {
        return AskControl(options.data_dir, {{"request", request}}, kPatience);
      },
      {DPNMF_VERSION, options.data_dir});
  std::cout << access.Address()
            << "\nOpen this address in a browser on this machine; it works "
               "once. Ctrl-C ends the page.\n"
            << std::flush;
  std::thread waiter([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    server->Stop();
  });
  const absl::Status served = server->Serve(
      {.admit =
           [&](const HttpRequest& request) { return access.Admit(request); },
       .handle =
           [&](const HttpRequest& request) { return page.Handle(request); }});
  // It waits still if the page ended by itself.
  pthread_kill(waiter.native_handle(), SIGTERM);
  waiter.join();
  DPNMF_RETURN_IF_ERROR(served);
  return kExitOk;
}

}  // namespace

ExitCode RunOperatorPage(int argc, const char* const* argv) {
  WebOptions options;
  const Program program = {
      .root =
          {.name = kName,
           .summary =
               "The operator's read-only page: budgets, peers, runs, ledger "
               "and audit log of a running dpnmf-curator. It never shows data.",
           .footer =
               "Run it on the curator's machine as the user of the "
               "server. The page listens only on\nthis machine, and serves "
               "only the browser tab that first opens the "
               "printed\naddress, which is new at each start.\n\nExample:\n  "
               "runuser -u dpnmf-curator -- "
               "dpnmf-curator-web --data-dir /var/lib/dpnmf-curator",
           .flags = {Flag("--data-dir", &options.data_dir,
                          "Directory of the server's data sets and ledger",
                          {.value = "DIR", .env = true, .required = true}),
                     Flag("--port", &options.port,
                          "Port on 127.0.0.1 and [::1]; 0 takes a free one",
                          {.range = {0, 65535}, .shown = true})},
           .run = [&] { return ServePage(options); }},
      .version = DPNMF_VERSION,
      .env_prefix = "DPNMF_CURATOR_"};
  return Main(program, argc, argv);
}

}  // namespace dpnmf::curator::web
