#include "common/server_commands/health_command.h"

#include <memory>
#include <utility>

#include "common/base/error.h"
#include "common/server/health.h"
#include "common/tls/flag_addresses.h"
#include "common/tls/tls.h"

namespace dpnmf {
namespace {

struct HealthFlags {
  std::string listen;
  TlsFiles tls;
};

absl::StatusOr<ExitCode> Health(const HealthFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckPeerAddress("--listen", flags.listen));
  RequireTls13();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(flags.tls));
  DPNMF_RETURN_IF_ERROR(
      CheckHealth(LocalAddress(flags.listen), credentials, 4));
  return kExitOk;
}

}  // namespace

Command HealthCommandOf(std::string default_listen) {
  const auto flags = std::make_shared<HealthFlags>();
  flags->listen = std::move(default_listen);
  return {.name = "health",
          .summary =
              "Ask the server on this machine whether it is serving (for "
              "container checks)",
          .flags = {Flag("--listen", &flags->listen,
                         "HOST:PORT that the server listens on",
                         {.env = true, .shown = true}),
                    Flag("--ca", &flags->tls.ca_file, "PEM file of the CA",
                         {.value = "FILE", .env = true, .required = true}),
                    Flag("--cert", &flags->tls.certificate_file,
                         "PEM file of the certificate",
                         {.value = "FILE", .env = true, .required = true}),
                    Flag("--key", &flags->tls.key_file, "PEM file of the key",
                         {.value = "FILE", .env = true, .required = true})},
          .run = [flags] { return Health(*flags); },
          .also_section = "serve"};
}

}  // namespace dpnmf
