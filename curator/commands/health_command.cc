#include <memory>

#include "common/base/error.h"
#include "common/rpc/address.h"
#include "common/rpc/health.h"
#include "common/rpc/tls.h"
#include "curator/commands/commands.h"
#include "curator/commands/error_report.h"

namespace dpnmf::curator {
namespace {

struct HealthOptions {
  std::string listen = "127.0.0.1:7431";
  TlsFiles tls;
};

absl::Status Check(const HealthOptions& options) {
  DPNMF_RETURN_IF_ERROR(ParseAddress(options.listen).status());
  RequireTls13();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(options.tls));
  return CheckHealth(LocalAddress(options.listen), credentials, 4);
}

}  // namespace

void AddHealthCommand(CLI::App* app, int* exit_code) {
  CLI::App* command =
      app->add_subcommand("health",
                          "Ask the server on this machine whether it serves "
                          "(for container checks)");
  auto options = std::make_shared<HealthOptions>();
  command
      ->add_option("--listen", options->listen,
                   "The HOST:PORT that the server listens on")
      ->envname("DPNMF_CURATOR_LISTEN")
      ->capture_default_str();
  command->add_option("--ca", options->tls.ca_file, "PEM file of the CA")
      ->required()
      ->envname("DPNMF_CURATOR_CA");
  command
      ->add_option("--cert", options->tls.certificate_file,
                   "PEM file of the certificate")
      ->required()
      ->envname("DPNMF_CURATOR_CERT");
  command->add_option("--key", options->tls.key_file, "PEM file of the key")
      ->required()
      ->envname("DPNMF_CURATOR_KEY");
  command->callback(
      [options, exit_code] { *exit_code = ReportStatus(Check(*options)); });
}

}  // namespace dpnmf::curator
