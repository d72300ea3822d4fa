#include "common/server_commands/server_flags.h"

#include "common/server/server_log.h"

namespace dpnmf {

Flag CertificateFlag(std::string* certificate_file) {
  return Flag("--cert", certificate_file,
              "PEM file of this server's certificate",
              {.value = "FILE", .env = true, .required = true});
}

Flag MetricsListenFlag(std::string* metrics_listen) {
  return Flag("--metrics-listen", metrics_listen,
              "HOST:PORT for Prometheus metrics in plain HTTP; use an address "
              "of the operator's network [off]",
              {.env = true});
}

Flag LogLevelFlag(std::string* log_level) {
  return Flag("--log-level", log_level,
              "Least level of a log entry: info, warn or error; or off",
              {.one_of = kLogLevels, .env = true, .shown = true});
}

Flag LogJsonFlag(bool* log_json) {
  return Flag("--log-json", log_json,
              "Write each log entry as one line of JSON", {.env = true});
}

}  // namespace dpnmf
