#include "client/web/web.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/files/coherence.h"
#include "client/session/interrupt.h"
#include "common/base/error.h"
#include "common/tls/address.h"

namespace dpnmf::cli {
namespace {

struct WebFlags {
  std::uint32_t port = 0;
  std::uint32_t image_width = 0;
  std::string image_order = "row";
  CoherenceFlags coherence;
};

absl::StatusOr<ExitCode> ServePage(const Session& session,
                                   const WebFlags& flags) {
  DPNMF_RETURN_IF_ERROR(session.Client().status());  // its flags and files
  DPNMF_RETURN_IF_ERROR(CheckCoherenceFlags(flags.coherence));
  DPNMF_ASSIGN_OR_RETURN(const auto channel, session.environment().connect(
                                                 session.options().connection));
  DPNMF_ASSIGN_OR_RETURN(
      const auto page,
      web::WebPage::Open(flags.port, channel,
                         {.version = session.environment().version,
                          .server = session.options().connection.server,
                          .image_width = flags.image_width,
                          .image_order = flags.image_order,
                          .coherence = flags.coherence}));
  *session.environment().out
      << (session.json()
              ? absl::StrCat("{\"address\": \"", page->Address(), "\"}\n")
              : absl::StrCat(page->Address(),
                             "\nOpen this address in a browser on this "
                             "machine; it works once. Ctrl-C ends the page, "
                             "and runs continue.\n"))
      << std::flush;
  Interrupt interrupt;
  interrupt.OnRaise([&page, &session] {
    if (page->Stop() == 0) return;
    *session.environment().err << "dpnmf: waiting for a running call; press "
                                  "Ctrl-C again to end at once.\n"
                               << std::flush;
  });
  const absl::Status served = page->Serve();
  interrupt.OnRaise({});
  DPNMF_RETURN_IF_ERROR(served);
  return kExitOk;
}

}  // namespace

Command WebCommand(const Session* session) {
  const auto flags = std::make_shared<WebFlags>();
  std::vector<Flag> all = {
      Flag("--port", &flags->port,
           "Port on 127.0.0.1 and [::1]; 0 takes a free one",
           {.range = {0, 65535}, .shown = true}),
      Flag("--image-width", &flags->image_width,
           "Pixels in a row of the picture of a part [a square, where the "
           "features fill one]",
           {.value = "N", .range = {1, 65536}}),
      Flag("--image-order", &flags->image_order,
           "Whether the features fill a picture row by row or column by "
           "column, as in MATLAB",
           {.one_of = "row|column", .shown = true})};
  for (const Flag& flag : FlagsOfCoherence(&flags->coherence))
    all.push_back(flag);
  return {.name = "web",
          .summary = "Show data sets, plans, runs and models in a browser",
          .footer =
              "The page listens only on this machine, and serves only the "
              "browser tab that first opens\nthe printed address, which is new "
              "at each start. It has the rights of this certificate,\nalso to "
              "start and cancel runs.\n\nExample:\n  dpnmf web --port 8080",
          .flags = std::move(all),
          .run = [session, flags] { return ServePage(*session, *flags); }};
}

}  // namespace dpnmf::cli
