#include "client/session/options.h"

#include <cstdlib>
#include <filesystem>

namespace dpnmf::cli {
namespace {

std::string ValueOf(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<Flag> GlobalFlags(GlobalOptions* options) {
  TlsFiles* const tls = &options->connection.tls;
  return {
      Flag("--server", &options->connection.server,
           "HOST:PORT of the analyst's server",
           {.value = "HOST:PORT", .env = true, .shown = true}),
      Flag("--ca", &tls->ca_file, "PEM file of the CA's certificate",
           {.value = "FILE", .env = true}),
      Flag("--cert", &tls->certificate_file, "PEM file of your certificate",
           {.value = "FILE", .env = true}),
      Flag("--key", &tls->key_file, "PEM file of your key",
           {.value = "FILE", .env = true}),
      Flag("--crl", &tls->crl_file,
           "PEM file of the CA's revocation list; once it has expired or is "
           "missing, no server is trusted [no list]",
           {.value = "FILE", .env = true}),
      Flag("--use-proxy", &options->connection.use_proxy,
           "Connect through the HTTP proxy of the environment (grpc_proxy, "
           "https_proxy, http_proxy, all_proxy; not for hosts in no_proxy)",
           {.env = true}),
      Flag("--format", &options->format,
           "Output format: text, or json: the reply in the protobuf JSON "
           "mapping",
           {.one_of = "text|json", .env = true, .shown = true}),
  };
}

ConfigFile ClientConfig() {
  ConfigFile config = {
      .help =
          "Configuration file, TOML: the names of flags as keys, those of a "
          "subcommand in a [section] [DPNMF_CONFIG, else ./dpnmf.toml, else "
          "~/.config/dpnmf.toml]",
      .path = ValueOf("DPNMF_CONFIG"),
      .must_exist = true};
  if (!config.path.empty()) return config;
  config.must_exist = false;
  std::error_code ignored;
  for (const std::string& path :
       {std::string("dpnmf.toml"), ValueOf("HOME") + "/.config/dpnmf.toml"}) {
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    config.path = path;
    break;
  }
  return config;
}

}  // namespace dpnmf::cli
