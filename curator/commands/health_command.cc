#include <memory>

#include "common/base/error.h"
#include "common/server/health.h"
#include "common/tls/tls.h"
#include "common/wire/address.h"
#include "curator/commands/commands.h"

namespace dpnmf::curator {
namespace {

struct HealthOptions {
  std::string listen = "127.0.0.1:7431";
  TlsFiles tls;
};

absl::StatusOr<ExitCode> Check(const HealthOptions& options) {
  DPNMF_RETURN_IF_ERROR(ParseAddress(options.listen).status());
  RequireTls13();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(options.tls));
  DPNMF_RETURN_IF_ERROR(
      CheckHealth(LocalAddress(options.listen), credentials, 4));
  return kExitOk;
}

}  // namespace

Command HealthCommand() {
  const auto options = std::make_shared<HealthOptions>();
  return {.name = "health",
          .summary =
              "Ask the server on this machine whether it serves (for container "
              "checks)",
          .flags = {Flag("--listen", &options->listen,
                         "The HOST:PORT that the server listens on",
                         {.env = true, .shown = true}),
                    Flag("--ca", &options->tls.ca_file, "PEM file of the CA",
                         {.env = true, .required = true}),
                    Flag("--cert", &options->tls.certificate_file,
                         "PEM file of the certificate",
                         {.env = true, .required = true}),
                    Flag("--key", &options->tls.key_file, "PEM file of the key",
                         {.env = true, .required = true})},
          .run = [options] { return Check(*options); }};
}

}  // namespace dpnmf::curator
