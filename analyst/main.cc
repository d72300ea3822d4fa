// dpnmf-analyst: the server that learns dictionaries from a curator's releases.
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/cleanup/cleanup.h"
#include "analyst/client_list.h"
#include "analyst/curator_client.h"
#include "analyst/flag_addresses.h"
#include "analyst/run_manager.h"
#include "analyst/run_store.h"
#include "analyst/server_doctor.h"
#include "analyst/service.h"
#include "common/base/audit_log.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/base/log.h"
#include "common/base/sha256.h"
#include "common/rpc/call_gate.h"
#include "common/rpc/health.h"
#include "common/rpc/json.h"
#include "common/rpc/machine_checks.h"
#include "common/rpc/metrics.h"
#include "common/rpc/receipt.h"
#include "common/rpc/server.h"
#include "common/rpc/server_log.h"
#include "common/rpc/tls.h"
#include "common/rpc/usage_error.h"

namespace dpnmf::analyst {
namespace {

struct ServeFlags {
  std::string state_dir;
  std::string listen = "127.0.0.1:7432";
  std::string curator;
  TlsFiles tls;
  std::string client_ca;
  std::string clients;
  std::string receipt_key;  // empty: recorded at the first receipt
  std::string log_level = "info";
  bool log_json = false;
  std::string audit_log;       // empty: STATE_DIR/audit.jsonl
  std::string metrics_listen;  // empty: no page
  int retain_days = 0;         // 0: for good
  int max_running = 16;
  int max_open_runs = 64;
  Quota::Limits limits = {.calls = 256};
  int silence_seconds = 600;
};

constexpr char kAbout[] =
    "The analyst's server: runs trainings against a curator, keeps their "
    "models and mirrors\n"
    "the privacy ledger. It never sees private data.";

constexpr char kServeAbout[] =
    "Serve clients (the program `dpnmf`) until SIGTERM or SIGINT.\n\n"
    "Runs are stored: after a restart, also after kill -9, each goes on from "
    "its last stored\n"
    "round and nothing is charged twice.\n\n"
    "Example:\n"
    "  dpnmf-analyst serve --state-dir /var/lib/dpnmf --curator "
    "curator.hospital:7431 \\\n"
    "    --ca ca.pem --cert analyst.pem --key analyst.key --clients "
    "clients.json\n\n"
    "clients.json lists who may connect, by the name in the client's "
    "certificate (subject\n"
    "alternative name). The role analyst may start runs and end its own, "
    "operator may end and\n"
    "forget anyone's, auditor may only look:\n"
    "  {\"peers\": [{\"identity\": \"dns:alice.client\", \"roles\": "
    "[\"analyst\"]}]}\n\n"
    "Every flag may also stand in a file given with --config (one `name=value` "
    "a line under\n"
    "[serve]) or in the environment as DPNMF_ANALYST_NAME, for example\n"
    "DPNMF_ANALYST_STATE_DIR. A flag beats the environment, which beats the "
    "file.";

void AddFlags(CLI::App* serve, ServeFlags* flags) {
  const auto add = [&](const std::string& name, auto* value,
                       const std::string& help) {
    std::string variable = "DPNMF_ANALYST_" + name;
    for (char& c : variable)
      c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return serve->add_option("--" + name, *value, help)->envname(variable);
  };
  add("state-dir", &flags->state_dir,
      "Directory of runs, models and mirror (made if missing)")
      ->required();
  add("listen", &flags->listen,
      "HOST:PORT for clients; port 0 takes a free one")
      ->capture_default_str();
  add("curator", &flags->curator,
      "HOST:PORT of the curator; HOST as in its certificate")
      ->required();
  add("ca", &flags->tls.ca_file,
      "PEM file: the CA that signs the curator and the clients")
      ->required();
  add("cert", &flags->tls.certificate_file,
      "PEM file: this server's certificate")
      ->required();
  add("key", &flags->tls.key_file,
      "PEM file: its private key, readable by its owner alone")
      ->required();
  add("client-ca", &flags->client_ca,
      "PEM file: the CA of clients, if it is not --ca");
  add("crl", &flags->tls.crl_file,
      "PEM file: the revocation list of --ca (and of --client-ca); once it has "
      "expired or is gone, no peer is accepted [none kept]");
  add("audit-log", &flags->audit_log,
      "File of the audit log, JSON lines; nothing is asked for or handed out "
      "that cannot be written there [STATE_DIR/audit.jsonl]");
  add("metrics-listen", &flags->metrics_listen,
      "HOST:PORT for Prometheus metrics, in plain HTTP: of the operator's "
      "network alone [off]");
  add("clients", &flags->clients, "JSON file: who may connect, and their roles")
      ->required();
  add("receipt-key", &flags->receipt_key,
      "PEM file: the curator's receipt.pub. Releases whose receipts are signed "
      "with another key are refused; it takes the place of a key that was "
      "recorded [recorded at the first receipt of a data set]");
  serve
      ->add_option("--retain-days", flags->retain_days,
                   "Runs that ended so long ago are deleted, at start and "
                   "whenever a run ends; what they were charged stays "
                   "[never]")
      ->envname("DPNMF_ANALYST_RETAIN_DAYS")
      ->check(CLI::Range(1, 36500));
  add("max-running", &flags->max_running,
      "Runs that train at the same time; others wait")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add("max-open-runs", &flags->max_open_runs,
      "Runs that one client may have that have not ended")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add("max-calls", &flags->limits.calls,
      "Calls that one client may have open at once")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add("max-messages-per-second", &flags->limits.messages_per_second,
      "Calls that one client may begin a second")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  add("silence-seconds", &flags->silence_seconds,
      "A call to the curator that does not move for so long is given up and "
      "tried again; "
      "must exceed the time that the curator takes for one round")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  add("log-level", &flags->log_level,
      "trace, debug, info, warn (or warning), error or off")
      ->check(
          OneOf({"trace", "debug", "info", "warn", "warning", "error", "off"}))
      ->capture_default_str();
  serve
      ->add_flag("--log-json", flags->log_json, "Log one line of JSON an entry")
      ->envname("DPNMF_ANALYST_LOG_JSON");
}

void GreetCurator(CuratorConnection* curator, const std::string& address) {
  const auto datasets = curator->ListDatasets();
  if (datasets.ok()) {
    LogInfo("curator {} offers {} data set(s)", address,
            datasets->datasets_size());
  } else {
    LogWarning("curator {} is not reachable now; runs wait for it: {}", address,
               std::string(datasets.status().message()));
  }
}

std::string AuditFileOf(const ServeFlags& flags) {
  return flags.audit_log.empty() ? flags.state_dir + "/audit.jsonl"
                                 : flags.audit_log;
}

// Written down before it counts.
absl::Status TakeReceiptKey(const std::string& path, AuditLog* audit,
                            RunStore* store) {
  if (path.empty()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const PublicKey key, ReadReceiptKey(path));
  DPNMF_RETURN_IF_ERROR(audit->Write("receipt-key-given", {{"key", HexOf(key)}},
                                     AuditSync::kDurable));
  DPNMF_ASSIGN_OR_RETURN(const bool changed, store->GiveReceiptKey(std::string(
                                                 key.begin(), key.end())));
  if (changed) LogWarning("receipts must be signed with {} now", HexOf(key));
  return absl::OkStatus();
}

absl::Status Serve(const ServeFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckPeerAddress("--curator", flags.curator));
  DPNMF_RETURN_IF_ERROR(CheckListenAddress("--listen", flags.listen));
  const sigset_t signals = BlockTerminationSignals();
  RequireTls13();
  TlsFiles client_side = flags.tls;
  if (!flags.client_ca.empty()) client_side.ca_file = flags.client_ca;
  DPNMF_ASSIGN_OR_RETURN(const auto channel_credentials, ChannelTls(flags.tls));
  DPNMF_ASSIGN_OR_RETURN(const auto server_credentials, ServerTls(client_side));
  DPNMF_ASSIGN_OR_RETURN(ClientList clients, ClientList::Read(flags.clients));
  DPNMF_ASSIGN_OR_RETURN(const auto store, RunStore::Open(flags.state_dir));
  const auto curator =
      ConnectCurator(CuratorChannel(flags.curator, channel_credentials),
                     std::chrono::seconds(flags.silence_seconds));
  DPNMF_ASSIGN_OR_RETURN(const auto audit, AuditLog::Open(AuditFileOf(flags)));
  DPNMF_ASSIGN_OR_RETURN(
      const auto metrics,
      Metrics::Create("dpnmf_analyst", flags.metrics_listen));
  LogRefusedPeers(metrics.get());
  const absl::Cleanup quiet = [] { OnPeerRefused(nullptr); };
  if (!metrics->address().empty())
    LogInfo("metrics at http://{}/metrics", metrics->address());
  DPNMF_RETURN_IF_ERROR(audit->Write(
      "server-started", {{"version", DPNMF_VERSION}}, AuditSync::kDurable));
  DPNMF_RETURN_IF_ERROR(
      TakeReceiptKey(flags.receipt_key, audit.get(), store.get()));
  const Observers observers{audit.get(), metrics.get()};
  RunManager::Settings settings;
  settings.learner.observers = observers;
  settings.retain_seconds = std::int64_t{86'400} * flags.retain_days;
  settings.max_running = flags.max_running;
  settings.max_open_runs = flags.max_open_runs;
  DPNMF_ASSIGN_OR_RETURN(
      const auto runs,
      RunManager::Create(store.get(), curator.get(), settings));
  auto service =
      MakeAnalystService({runs.get(), store.get(), curator.get(), clients,
                          &PeerIdentities, observers,
                          [client_side](const auto& context) {
                            return CheckPeerStillValid(context, client_side);
                          },
                          flags.limits});
  RpcServer::Options options;
  options.listen = flags.listen;
  options.credentials = server_credentials;
  options.service = service.get();
  options.gate = MakeCallGate(
      client_side,
      OrOneself(client_side, [&](const std::vector<std::string>& identities) {
        return clients.Authorise(identities, Permission::kRead).status();
      }));
  DPNMF_ASSIGN_OR_RETURN(auto server, RpcServer::Start(options));
  LogInfo("dpnmf-analyst {} listens on {}", DPNMF_VERSION, server->address());
  GreetCurator(curator.get(), flags.curator);

  const int signal = WaitForSignal(signals);
  LogInfo("signal {}: shutting down; runs go on after the next start", signal);
  // Ends watches too. Standard errors that are computed for a client may keep
  // the server for its shutdown time.
  runs->Stop();
  server->Shutdown();
  server.reset();
  service.reset();  // writes what it still counts (RefusedCalls)
  LogInfo("stopped");
  return audit->Write("server-stopped", {}, AuditSync::kDurable);
}

int Examine(const ServeFlags& flags, const std::string& format) {
  AnalystDoctorOptions doctor;
  doctor.state_dir = flags.state_dir;
  doctor.curator = flags.curator;
  doctor.listen = flags.listen;
  doctor.tls = doctor.client_tls = flags.tls;
  if (!flags.client_ca.empty()) doctor.client_tls.ca_file = flags.client_ca;
  doctor.clients = flags.clients;
  doctor.receipt_key = flags.receipt_key;
  doctor.audit_log = AuditFileOf(flags);
  doctor.metrics_listen = flags.metrics_listen;
  doctor.now = std::time(nullptr);
  const v1::DoctorReport report = ExamineAnalyst(doctor);
  std::fputs((format == "json" ? ToJson(report) : TextOf(report)).c_str(),
             stdout);
  return report.ok() ? kExitOk : kExitState;
}

struct HealthFlags {
  std::string listen = "127.0.0.1:7432";
  TlsFiles tls;
};

void AddHealthFlags(CLI::App* health, HealthFlags* flags) {
  health
      ->add_option("--listen", flags->listen,
                   "The HOST:PORT that the server listens on")
      ->envname("DPNMF_ANALYST_LISTEN")
      ->capture_default_str();
  health->add_option("--ca", flags->tls.ca_file, "PEM file of the CA")
      ->required()
      ->envname("DPNMF_ANALYST_CA");
  health
      ->add_option("--cert", flags->tls.certificate_file,
                   "PEM file of the certificate")
      ->required()
      ->envname("DPNMF_ANALYST_CERT");
  health->add_option("--key", flags->tls.key_file, "PEM file of the key")
      ->required()
      ->envname("DPNMF_ANALYST_KEY");
}

absl::Status Health(const HealthFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckPeerAddress("--listen", flags.listen));
  RequireTls13();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(flags.tls));
  return CheckHealth(LocalAddress(flags.listen), credentials, 4);
}

int Report(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "dpnmf-analyst: %s [%s]\n",
               std::string(status.message()).c_str(),
               ReasonCode(status).c_str());
  return ExitCodeOf(status);
}

int Main(int argc, char** argv) {
  CLI::App app(kAbout, "dpnmf-analyst");
  app.add_flag("--health")->description("The same as the subcommand health");
  app.set_version_flag("--version",
                       std::string("dpnmf-analyst ") + DPNMF_VERSION);
  app.set_config("--config", "",
                 "File with flags, as `name=value` under [serve]");
  app.require_subcommand(1);
  ServeFlags flags;
  CLI::App* serve = app.add_subcommand("serve", kServeAbout);
  AddFlags(serve, &flags);
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Go through the checklist for production (docs/operations.md); flags as "
      "for serve. Exit code 7 if a check failed");
  ServeFlags doctor_flags;
  std::string format = "text";
  AddFlags(doctor, &doctor_flags);
  doctor->add_option("--format", format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str();
  HealthFlags health_flags;
  CLI::App* health =
      app.add_subcommand("health",
                         "Ask the server on this machine whether it serves "
                         "(for container checks)");
  AddHealthFlags(health, &health_flags);
  try {
    std::vector<const char*> arguments(argv, argv + argc);
    // `--health` is the subcommand, as container checks expect it.
    if (argc > 1 && std::string_view(argv[1]) == "--health")
      arguments[1] = "health";
    app.parse(argc, arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fputs(UsageErrorText(app, error).c_str(), stderr);
    return kExitUsage;
  }
  if (health->parsed()) return Report(Health(health_flags));
  if (doctor->parsed()) {
    SetUpLog("dpnmf-analyst", "off", LogFormat::kText);
    return Examine(doctor_flags, format);
  }
  SetUpLog("dpnmf-analyst", flags.log_level,
           flags.log_json ? LogFormat::kJson : LogFormat::kText);
  return Report(Serve(flags));
}

}  // namespace
}  // namespace dpnmf::analyst

int main(int argc, char** argv) { return dpnmf::analyst::Main(argc, argv); }
