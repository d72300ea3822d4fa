#include "analyst/commands/serve_flags.h"

namespace dpnmf::analyst {

std::vector<Flag> FlagsOf(ServeFlags* flags) {
  return {
      Flag("--state-dir", &flags->state_dir,
           "Directory of runs, models and mirror (made if missing)",
           {.env = true, .required = true}),
      Flag("--listen", &flags->listen,
           "HOST:PORT for clients; port 0 takes a free one",
           {.env = true, .shown = true}),
      Flag("--curator", &flags->curator,
           "HOST:PORT of the curator; HOST as in its certificate",
           {.env = true, .required = true}),
      Flag("--ca", &flags->tls.ca_file,
           "PEM file: the CA that signs the curator and the clients",
           {.env = true, .required = true}),
      Flag("--cert", &flags->tls.certificate_file,
           "PEM file: this server's certificate",
           {.env = true, .required = true}),
      Flag("--key", &flags->tls.key_file,
           "PEM file: its private key, readable by its owner alone",
           {.env = true, .required = true}),
      Flag("--client-ca", &flags->client_ca,
           "PEM file: the CA of clients, if it is not --ca", {.env = true}),
      Flag("--crl", &flags->tls.crl_file,
           "PEM file: the revocation list of --ca (and of --client-ca); once "
           "it has expired or is gone, no peer is accepted [none kept]",
           {.env = true}),
      Flag("--audit-log", &flags->audit_log,
           "File of the audit log, JSON lines; nothing is asked for or handed "
           "out that cannot be written there [STATE_DIR/audit.jsonl]",
           {.env = true}),
      Flag("--metrics-listen", &flags->metrics_listen,
           "HOST:PORT for Prometheus metrics, in plain HTTP: of the operator's "
           "network alone [off]",
           {.env = true}),
      Flag("--clients", &flags->clients,
           "JSON file: who may connect, and their roles",
           {.env = true, .required = true}),
      Flag("--receipt-key", &flags->receipt_key,
           "PEM file: the curator's receipt.pub. Releases whose receipts are "
           "signed with another key are refused; it takes the place of a key "
           "that was recorded [recorded at the first receipt of a data set]",
           {.env = true}),
      Flag("--retain-days", &flags->retain_days,
           "Runs that ended so long ago are deleted, at start and whenever a "
           "run ends; what they were charged stays [never]",
           {.range = {1, 36500}, .env = true}),
      Flag("--max-running", &flags->max_running,
           "Runs that train at the same time; others wait",
           {.range = {1, 256}, .env = true, .shown = true}),
      Flag("--max-open-runs", &flags->max_open_runs,
           "Runs that one client may have that have not ended",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--max-calls", &flags->limits.calls,
           "Calls that one client may have open at once",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--max-messages-per-second", &flags->limits.messages_per_second,
           "Calls that one client may begin a second",
           {.range = {1, 100'000'000}, .env = true, .shown = true}),
      Flag("--silence-seconds", &flags->silence_seconds,
           "A call to the curator that does not move for so long is given up "
           "and tried again; must exceed the time that the curator takes for "
           "one round",
           {.range = {1, 86'400}, .env = true, .shown = true}),
      Flag("--log-level", &flags->log_level,
           "trace, debug, info, warn (or warning), error or off",
           {.one_of = "trace|debug|info|warn|warning|error|off",
            .env = true,
            .shown = true}),
      Flag("--log-json", &flags->log_json, "Log one line of JSON an entry",
           {.env = true}),
  };
}

std::string AuditFileOf(const ServeFlags& flags) {
  return flags.audit_log.empty() ? flags.state_dir + "/audit.jsonl"
                                 : flags.audit_log;
}

}  // namespace dpnmf::analyst
