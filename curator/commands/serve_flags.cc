#include "curator/commands/serve_flags.h"

#include "common/base/error.h"
#include "common/wire/address.h"
#include "curator/ledger/data_paths.h"

namespace dpnmf::curator {

std::vector<Flag> ServeFlags(ServeOptions* options) {
  return {
      Flag("--data-dir", &options->data_dir,
           "Directory of data sets, ledger and releases",
           {.env = true, .required = true}),
      Flag("--anchor-dir", &options->anchor_dir,
           "Directory of the ledger's anchor; keep it on another volume "
           "[DATA_DIR.anchor]",
           {.env = true}),
      Flag("--no-anchor", &options->no_anchor,
           "Go without an anchor; rollback of the ledger is then not noticed"),
      Flag("--listen", &options->listen, "HOST:PORT to listen on",
           {.env = true, .shown = true}),
      Flag("--ca", &options->tls.ca_file,
           "PEM file of the CA that signs analysts",
           {.env = true, .required = true}),
      Flag("--cert", &options->tls.certificate_file,
           "PEM file of the own certificate", {.env = true, .required = true}),
      Flag("--key", &options->tls.key_file, "PEM file of the own key",
           {.env = true, .required = true}),
      Flag("--crl", &options->tls.crl_file,
           "PEM file of the CA's revocation list; once it has expired or is "
           "gone, nobody is let in [none kept]",
           {.env = true}),
      Flag("--audit-log", &options->audit_log,
           "File of the audit log, JSON lines; nothing is released that cannot "
           "be written there [DATA_DIR/audit.jsonl]",
           {.env = true}),
      Flag("--metrics-listen", &options->metrics_listen,
           "HOST:PORT for Prometheus metrics, in plain HTTP: of the operator's "
           "network alone [off]",
           {.env = true}),
      Flag("--allow", &options->allow_list,
           "JSON file: which identity may do what (read again when it changes)",
           {.env = true, .required = true}),
      Flag("--threads", &options->threads,
           "Threads for the computation [all cores]",
           {.range = {0, 1024}, .env = true}),
      Flag("--idle-seconds", &options->idle_seconds,
           "A stream without a message for this long is ended",
           {.range = {1, 86400}, .env = true, .shown = true}),
      Flag("--max-calls", &options->limits.calls,
           "Calls that one identity may have open at once",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--max-messages-per-second", &options->limits.messages_per_second,
           "Messages that one identity may send a second",
           {.range = {1, 100'000'000}, .env = true, .shown = true}),
      Flag("--run-memory", &options->run_memory_mebibytes,
           "MiB that the open runs of one identity may take, all together "
           "twice as many [a quarter of the machine's or the container's]",
           {.range = {1, 1 << 30}, .env = true}),
      Flag("--max-uncharged-runs", &options->most_uncharged_runs,
           "Runs without a round that one identity may have, open or closed, "
           "beyond as many as it has charges",
           {.range = {1, 1'000'000'000}, .env = true, .shown = true}),
      Flag("--pace-milliseconds", &options->pace_milliseconds,
           "Paced mode: replies leave at ticks this far apart; a round that "
           "takes longer is refused [off]",
           {.range = {1, 600000}, .env = true}),
      Flag("--pace-nonzeros", &options->pace_nonzeros,
           "The number of nonzeros of a sparse data set that the period is "
           "calibrated for",
           {.needs = "--pace-milliseconds", .env = true}),
      Flag("--log-level", &options->log_level, "debug, info, warn or error",
           {.one_of = "debug|info|warn|error", .env = true, .shown = true}),
      Flag("--log-json", &options->log_json, "Log one line of JSON an entry",
           {.env = true}),
  };
}

std::string AuditFileOf(const ServeOptions& options) {
  return options.audit_log.empty() ? AuditFile(options.data_dir)
                                   : options.audit_log;
}

absl::Status CheckAddresses(const ServeOptions& options) {
  DPNMF_RETURN_IF_ERROR(ParseListenAddress(options.listen).status());
  if (options.metrics_listen.empty()) return absl::OkStatus();
  return ParseListenAddress(options.metrics_listen).status();
}

}  // namespace dpnmf::curator
