#include <signal.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/audit_log.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/parallel.h"
#include "common/rpc/address.h"
#include "common/rpc/call_gate.h"
#include "common/rpc/json.h"
#include "common/rpc/machine_checks.h"
#include "common/rpc/metrics.h"
#include "common/rpc/server.h"
#include "common/rpc/server_log.h"
#include "common/rpc/tls.h"
#include "curator/budget_metrics.h"
#include "curator/commands/commands.h"
#include "curator/commands/error_report.h"
#include "curator/doctor.h"
#include "curator/promise.h"
#include "curator/release/layout.h"
#include "curator/release/places.h"
#include "curator/service.h"

namespace dpnmf::curator {
namespace {

struct ServeOptions {
  std::string data_dir;
  std::string anchor_dir;
  bool no_anchor = false;
  std::string listen = "127.0.0.1:7431";
  TlsFiles tls;
  std::string allow_list;
  int threads = 0;
  int idle_seconds = 600;
  Quota::Limits limits;
  std::uint64_t run_memory_mebibytes = 0;  // 0: DefaultRunMemory
  std::uint64_t most_uncharged_runs = 1000;
  int pace_milliseconds = 0;                   // 0: not paced
  std::optional<std::uint64_t> pace_nonzeros;  // of all sparse data sets
  std::string log_level = "info";
  bool log_json = false;
  std::string audit_log;       // empty: DATA_DIR/audit.jsonl
  std::string metrics_listen;  // empty: no page
};

// Everything that a serving curator holds, in the order in which it depends on
// what stands before it.
struct Curator {
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<ReleaseGate> gate;
  std::optional<ReceiptSigner> receipts;
  Catalog catalog;
  std::unique_ptr<AccessControl> access;
  RunSeats seats;
  std::optional<RunMemory> memory;
  SteadyPaceClock clock;
  std::unique_ptr<Pacer> pacer;  // null: not paced
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<Metrics> metrics;
};

std::string AnchorDirectory(const ServeOptions& options) {
  if (options.no_anchor) return "";
  return options.anchor_dir.empty() ? DefaultAnchorDirectory(options.data_dir)
                                    : options.anchor_dir;
}

absl::Status CheckDataDirectory(const std::string& data_dir) {
  if (std::filesystem::is_directory(data_dir)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kNotFound, "data-dir-missing",
                 absl::StrCat("the data directory ", data_dir,
                              " does not exist: import a data set first."));
}

// The period is calibrated for the declared number of nonzeros: a data set that
// holds more could overrun it.
absl::Status CheckNonzeros(const Catalog& catalog,
                           std::optional<std::uint64_t> largest) {
  for (const Dataset* dataset : catalog.All()) {
    if (!dataset->sparse()) continue;
    const std::string& name = dataset->description().name;
    if (!largest.has_value()) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "pace-nonzeros-missing",
          absl::StrCat("the data set ", name,
                       " is sparse: declare with --pace-nonzeros for how many "
                       "nonzeros the period is calibrated."));
    }
    std::uint64_t nonzeros = 0;
    for (std::uint64_t n = 0; n < dataset->private_user_count(); ++n)
      nonzeros += dataset->SparseColumnOf(n).values.size();
    if (nonzeros <= *largest) continue;
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "pace-nonzeros-exceeded",
                   absl::StrCat("the data set ", name,
                                " holds more nonzeros than --pace-nonzeros: "
                                "calibrate a longer period for more."));
  }
  return absl::OkStatus();
}

absl::Status OpenCurator(const ServeOptions& options, int threads,
                         Curator* curator) {
  DPNMF_RETURN_IF_ERROR(CheckDataDirectory(options.data_dir));
  DPNMF_ASSIGN_OR_RETURN(curator->access,
                         AccessControl::FromFile(options.allow_list));
  DPNMF_ASSIGN_OR_RETURN(curator->catalog, Catalog::Open(options.data_dir));
  DPNMF_ASSIGN_OR_RETURN(
      const Ledger::Options ledger,
      LedgerPlaces(options.data_dir, options.anchor_dir, options.no_anchor));
  DPNMF_ASSIGN_OR_RETURN(curator->ledger, Ledger::Open(ledger));
  DPNMF_ASSIGN_OR_RETURN(
      curator->gate,
      ReleaseGate::Create(curator->ledger.get(),
                          ReleaseDirectory(options.data_dir), threads));
  DPNMF_ASSIGN_OR_RETURN(
      ReceiptSigner receipts,
      ReceiptSigner::Open(options.data_dir, curator->ledger.get()));
  curator->receipts.emplace(std::move(receipts));
  curator->memory.emplace(options.run_memory_mebibytes > 0
                              ? options.run_memory_mebibytes << 20
                              : DefaultRunMemory());
  if (options.pace_milliseconds > 0) {
    DPNMF_RETURN_IF_ERROR(
        CheckNonzeros(curator->catalog, options.pace_nonzeros));
    curator->pacer = std::make_unique<Pacer>(
        std::chrono::milliseconds(options.pace_milliseconds), &curator->clock);
  }
  return CheckPromises(curator->catalog, *curator->ledger);
}

std::string AuditFileOf(const ServeOptions& options) {
  return options.audit_log.empty() ? AuditFile(options.data_dir)
                                   : options.audit_log;
}

absl::Status OpenObservers(const ServeOptions& options, Curator* curator) {
  DPNMF_ASSIGN_OR_RETURN(curator->audit, AuditLog::Open(AuditFileOf(options)));
  DPNMF_ASSIGN_OR_RETURN(
      curator->metrics,
      Metrics::Create("dpnmf_curator", options.metrics_listen));
  LogRefusedPeers(curator->metrics.get());
  ShowBudgets(*curator->ledger, curator->catalog, curator->metrics.get());
  if (!curator->metrics->address().empty())
    LogInfo("metrics at http://{}/metrics", curator->metrics->address());
  return curator->audit->Write("server-started", {{"version", DPNMF_VERSION}},
                               AuditSync::kDurable);
}

// Before anything is opened: a slip of the pen needs no second look.
absl::Status CheckAddresses(const ServeOptions& options) {
  DPNMF_RETURN_IF_ERROR(ParseListenAddress(options.listen).status());
  if (options.metrics_listen.empty()) return absl::OkStatus();
  return ParseListenAddress(options.metrics_listen).status();
}

absl::Status Serve(const ServeOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckAddresses(options));
  const sigset_t signals = BlockTerminationSignals();
  RequireTls13();
  const int threads = options.threads > 0 ? options.threads : DefaultThreads();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ServerTls(options.tls));
  Curator curator;
  DPNMF_RETURN_IF_ERROR(OpenCurator(options, threads, &curator));
  DPNMF_RETURN_IF_ERROR(OpenObservers(options, &curator));
  const absl::Cleanup quiet = [] { OnPeerRefused(nullptr); };

  ServiceOptions service_options;
  service_options.context = {
      curator.ledger.get(), curator.gate.get(), &curator.catalog,
      curator.access.get(), &curator.seats,     threads,
      curator.pacer.get(),  &*curator.memory,   options.most_uncharged_runs};
  service_options.identify = PeerIdentities;
  service_options.check_peer = [tls = options.tls](const auto& context) {
    return CheckPeerStillValid(context, tls);
  };
  service_options.receipts = &*curator.receipts;
  service_options.version = DPNMF_VERSION;
  service_options.idle_seconds = options.idle_seconds;
  service_options.observers = {curator.audit.get(), curator.metrics.get()};
  service_options.limits = options.limits;
  auto service = std::make_unique<CuratorServiceImpl>(service_options);
  RpcServer::Options server_options;
  server_options.listen = options.listen;
  server_options.credentials = credentials;
  server_options.service = service.get();
  server_options.gate = MakeCallGate(
      options.tls,
      OrOneself(options.tls, [&](const std::vector<std::string>& identities) {
        return curator.access->GrantOf(identities).status();
      }));
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> server,
                         RpcServer::Start(server_options));
  LogInfo("dpnmf-curator {} serves {} data sets on {}", DPNMF_VERSION,
          curator.catalog.All().size(), server->address());
  if (options.pace_milliseconds > 0) {
    LogInfo("paced: replies leave at ticks of {} ms",
            options.pace_milliseconds);
  }
  if (options.no_anchor) {
    LogWarning("no anchor: a rolled-back ledger would not be noticed");
  }
  const int signal = WaitForSignal(signals);
  LogInfo("signal {}: finishing the rounds under way", signal);
  service->BeginShutdown();
  server->Shutdown();
  server.reset();
  service.reset();  // writes what it still counts (RefusedCalls)
  LogInfo("stopped");
  return curator.audit->Write("server-stopped", {}, AuditSync::kDurable);
}

absl::Status Examine(const ServeOptions& options, const std::string& backup,
                     const std::string& format) {
  DPNMF_RETURN_IF_ERROR(CheckAddresses(options));
  CuratorDoctorOptions doctor;
  doctor.data_dir = options.data_dir;
  doctor.anchor_dir = AnchorDirectory(options);
  doctor.tls = options.tls;
  doctor.allow_list = options.allow_list;
  doctor.audit_log = AuditFileOf(options);
  doctor.metrics_listen = options.metrics_listen;
  doctor.backup = backup;
  doctor.paced = options.pace_milliseconds > 0;
  doctor.now = std::time(nullptr);
  const v1::DoctorReport report = ExamineCurator(doctor);
  std::fputs((format == "json" ? ToJson(report) : TextOf(report)).c_str(),
             stdout);
  if (report.ok()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, "check-failed",
                 "a check failed: mend it before the curator is served.");
}

void AddFlags(CLI::App* command, ServeOptions* options) {
  command
      ->add_option("--data-dir", options->data_dir,
                   "Directory of data sets, ledger and releases")
      ->required()
      ->envname("DPNMF_CURATOR_DATA_DIR");
  command
      ->add_option(
          "--anchor-dir", options->anchor_dir,
          "Directory of the ledger's anchor; keep it on another volume "
          "[DATA_DIR.anchor]")
      ->envname("DPNMF_CURATOR_ANCHOR_DIR");
  command->add_flag(
      "--no-anchor", options->no_anchor,
      "Go without an anchor; rollback of the ledger is then not noticed");
  command->add_option("--listen", options->listen, "HOST:PORT to listen on")
      ->envname("DPNMF_CURATOR_LISTEN")
      ->capture_default_str();
  command
      ->add_option("--ca", options->tls.ca_file,
                   "PEM file of the CA that signs analysts")
      ->required()
      ->envname("DPNMF_CURATOR_CA");
  command
      ->add_option("--cert", options->tls.certificate_file,
                   "PEM file of the own certificate")
      ->required()
      ->envname("DPNMF_CURATOR_CERT");
  command->add_option("--key", options->tls.key_file, "PEM file of the own key")
      ->required()
      ->envname("DPNMF_CURATOR_KEY");
  command
      ->add_option("--crl", options->tls.crl_file,
                   "PEM file of the CA's revocation list; once it has expired "
                   "or is gone, nobody is let in [none kept]")
      ->envname("DPNMF_CURATOR_CRL");
  command
      ->add_option("--audit-log", options->audit_log,
                   "File of the audit log, JSON lines; nothing is released "
                   "that cannot be written there [DATA_DIR/audit.jsonl]")
      ->envname("DPNMF_CURATOR_AUDIT_LOG");
  command
      ->add_option("--metrics-listen", options->metrics_listen,
                   "HOST:PORT for Prometheus metrics, in plain HTTP: of the "
                   "operator's network alone [off]")
      ->envname("DPNMF_CURATOR_METRICS_LISTEN");
  command
      ->add_option(
          "--allow", options->allow_list,
          "JSON file: which identity may do what (read again when it changes)")
      ->required()
      ->envname("DPNMF_CURATOR_ALLOW");
  command
      ->add_option("--threads", options->threads,
                   "Threads for the computation [all cores]")
      ->envname("DPNMF_CURATOR_THREADS")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--idle-seconds", options->idle_seconds,
                   "A stream without a message for this long is ended")
      ->envname("DPNMF_CURATOR_IDLE_SECONDS")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command
      ->add_option("--max-calls", options->limits.calls,
                   "Calls that one identity may have open at once")
      ->envname("DPNMF_CURATOR_MAX_CALLS")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--max-messages-per-second",
                   options->limits.messages_per_second,
                   "Messages that one identity may send a second")
      ->envname("DPNMF_CURATOR_MAX_MESSAGES_PER_SECOND")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command
      ->add_option("--run-memory", options->run_memory_mebibytes,
                   "MiB that the open runs of one identity may take, all "
                   "together twice as many [a quarter of the machine's or the "
                   "container's]")
      ->envname("DPNMF_CURATOR_RUN_MEMORY")
      ->check(CLI::Range(1, 1 << 30));
  command
      ->add_option("--max-uncharged-runs", options->most_uncharged_runs,
                   "Runs without a round that one identity may have, open or "
                   "closed, beyond as many as it has charges")
      ->envname("DPNMF_CURATOR_MAX_UNCHARGED_RUNS")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  CLI::Option* const pace =
      command
          ->add_option(
              "--pace-milliseconds", options->pace_milliseconds,
              "Paced mode: replies leave at ticks this far apart; a round "
              "that takes longer is refused [off]")
          ->envname("DPNMF_CURATOR_PACE_MILLISECONDS")
          ->check(CLI::Range(1, 600000));
  command
      ->add_option("--pace-nonzeros", options->pace_nonzeros,
                   "The number of nonzeros of a sparse data set that the "
                   "period is calibrated for")
      ->envname("DPNMF_CURATOR_PACE_NONZEROS")
      ->needs(pace);
  command
      ->add_option("--log-level", options->log_level,
                   "debug, info, warn or error")
      ->envname("DPNMF_CURATOR_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command
      ->add_flag("--log-json", options->log_json,
                 "Log one line of JSON an entry")
      ->envname("DPNMF_CURATOR_LOG_JSON");
}

}  // namespace

void AddServeCommand(CLI::App* app, int* exit_code) {
  CLI::App* command =
      app->add_subcommand("serve", "Serve analysts over mutual TLS");
  command->footer(
      "The allow-list maps a certificate's subject alternative name to roles "
      "and data sets:\n"
      "  {\"peers\": [{\"identity\": \"dns:analyst\", \"roles\": "
      "[\"analyst\"],\n"
      "              \"datasets\": [\"digits\"]}]}\n"
      "SIGTERM finishes the rounds under way and stops. A run goes on after a "
      "restart.\n"
      "Example:\n"
      "  dpnmf-curator serve --data-dir /var/lib/dpnmf --anchor-dir "
      "/mnt/anchor \\\n"
      "    --listen 0.0.0.0:7431 --ca ca.pem --cert curator.pem --key "
      "curator.key "
      "--allow allow.json");
  auto options = std::make_shared<ServeOptions>();
  AddFlags(command, options.get());
  command->callback([options, exit_code] {
    SetUpLog("dpnmf-curator", options->log_level,
             options->log_json ? LogFormat::kJson : LogFormat::kText);
    *exit_code = ReportStatus(Serve(*options));
  });
}

void AddDoctorCommand(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "doctor", "Go through the checklist for production; flags as for serve");
  command->footer(
      "Each point of docs/operations.md, with what to do. Changes nothing; a "
      "server may\nrun meanwhile. What it prints is for the operator. Exit "
      "code "
      "7 if a check failed.");
  auto options = std::make_shared<ServeOptions>();
  auto backup = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  AddFlags(command, options.get());
  command->add_option("--backup", *backup, "The directory of the last backup");
  command->add_option("--format", *format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback(
      [=] { *exit_code = ReportStatus(Examine(*options, *backup, *format)); });
}

}  // namespace dpnmf::curator
