#include "analyst/commands/serve_flags.h"

#include "common/server_commands/server_flags.h"

namespace dpnmf::analyst {

std::vector<Flag> FlagsOf(ServeFlags* flags) {
  return {
      Flag("--state-dir", &flags->state_dir,
           "Directory of runs, models and mirror (made if missing)",
           {.value = "DIR", .env = true, .required = true}),
      Flag("--listen", &flags->listen,
           "HOST:PORT for clients; port 0 takes a free one",
           {.env = true, .shown = true}),
      Flag("--curator", &flags->curator,
           "HOST:PORT of the curator; HOST as in its certificate [required "
           "without --federation]",
           {.env = true}),
      Flag("--federation", &flags->federation,
           "federation.json: curators that release their sums together, and "
           "their addresses [none]",
           {.value = "FILE", .env = true}),
      Flag("--use-proxy", &flags->use_proxy,
           "Connect to curators through the HTTP proxy of the environment "
           "(grpc_proxy, https_proxy, http_proxy, all_proxy; not for hosts in "
           "no_proxy)",
           {.env = true}),
      Flag("--ca", &flags->tls.ca_file,
           "PEM file of the CA that signs the curator and the clients",
           {.value = "FILE", .env = true, .required = true}),
      CertificateFlag(&flags->tls.certificate_file),
      Flag("--key", &flags->tls.key_file,
           "PEM file of this server's key; only its owner may read it",
           {.value = "FILE", .env = true, .required = true}),
      Flag("--client-ca", &flags->client_ca,
           "PEM file of the CA of clients, if it is not --ca",
           {.value = "FILE", .env = true}),
      Flag("--crl", &flags->tls.crl_file,
           "PEM file of the revocation list of --ca (and of --client-ca); once "
           "it has expired or is missing, access is denied to all peers [no "
           "list]",
           {.value = "FILE", .env = true}),
      Flag("--audit-log", &flags->audit_log,
           "Audit log file, JSON lines; a request or result that cannot be "
           "recorded there is not sent [STATE_DIR/audit.jsonl]",
           {.value = "FILE", .env = true}),
      MetricsListenFlag(&flags->metrics_listen),
      Flag("--clients", &flags->clients,
           "JSON file of those who may connect, and their roles",
           {.value = "FILE", .env = true, .required = true}),
      Flag("--receipt-key", &flags->receipt_key,
           "PEM file of the curator's receipt.pub. Releases whose receipts are "
           "signed with another key are refused; this key replaces a recorded "
           "one "
           "[recorded at the first receipt of a data set]",
           {.value = "FILE", .env = true}),
      Flag("--retain-days", &flags->retain_days,
           "Age at which ended runs are deleted, at start and whenever a run "
           "ends; their charges stay [never]",
           {.range = {1, 36500}, .env = true}),
      Flag("--max-running", &flags->max_running,
           "Most runs that train at the same time; others wait",
           {.range = {1, 256}, .env = true, .shown = true}),
      Flag("--max-open-runs", &flags->max_open_runs,
           "Most open runs (not ended) of one client",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--run-memory", &flags->run_memory_mebibytes,
           "MiB that all learning runs of one client may take together, by the "
           "plans' estimates; all clients together may take twice as much [a "
           "quarter of the machine's or the container's]",
           {.range = {1, 1 << 30}, .env = true}),
      Flag("--max-calls", &flags->limits.calls,
           "Most calls that one client may have open at once",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--max-messages-per-second", &flags->limits.messages_per_second,
           "Most calls that one client may start in a second",
           {.range = {1, 100'000'000}, .env = true, .shown = true}),
      Flag("--silence-seconds", &flags->silence_seconds,
           "Time without progress after which a call to the curator is ended "
           "and tried again; must exceed the time that the curator takes for "
           "one round",
           {.range = {1, 86'400}, .env = true, .shown = true}),
      LogLevelFlag(&flags->log_level),
      LogJsonFlag(&flags->log_json),
  };
}

std::string AuditFileOf(const ServeFlags& flags) {
  return flags.audit_log.empty() ? flags.state_dir + "/audit.jsonl"
                                 : flags.audit_log;
}

}  // namespace dpnmf::analyst
