// dpnmf-analyst: the server that learns dictionaries from a curator's releases.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "analyst/client_list.h"
#include "analyst/curator_client.h"
#include "analyst/run_manager.h"
#include "analyst/run_store.h"
#include "analyst/service.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/rpc/health.h"
#include "common/rpc/server.h"
#include "common/rpc/tls.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace dpnmf::analyst {
namespace {

struct ServeFlags {
  std::string state_dir;
  std::string listen = "127.0.0.1:7432";
  std::string curator;
  TlsFiles tls;
  std::string client_ca;
  std::string clients;
  std::string log_level = "info";
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
    "alternative name). The role analyst may do everything, auditor may only "
    "look:\n"
    "  {\"clients\": [{\"identity\": \"dns:alice.client\", \"roles\": "
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
  add("clients", &flags->clients, "JSON file: who may connect, and their roles")
      ->required();
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
      "trace, debug, info, warning, error or off")
      ->check(
          CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

void SetUpLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("dpnmf-analyst"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_level(spdlog::level::from_str(level));
  spdlog::flush_on(spdlog::level::info);
}

void GreetCurator(CuratorConnection* curator, const std::string& address) {
  const auto datasets = curator->ListDatasets();
  if (datasets.ok()) {
    spdlog::info("curator {} offers {} data set(s)", address,
                 datasets->datasets_size());
  } else {
    spdlog::warn("curator {} is not reachable now; runs wait for it: {}",
                 address, std::string(datasets.status().message()));
  }
}

absl::Status Serve(const ServeFlags& flags) {
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
  RunManager::Settings settings;
  settings.max_running = flags.max_running;
  settings.max_open_runs = flags.max_open_runs;
  DPNMF_ASSIGN_OR_RETURN(
      const auto runs,
      RunManager::Create(store.get(), curator.get(), settings));
  const auto service =
      MakeAnalystService({runs.get(), store.get(), curator.get(),
                          std::move(clients), &PeerIdentities, flags.limits});
  RpcServer::Options options;
  options.listen = flags.listen;
  options.credentials = server_credentials;
  options.service = service.get();
  DPNMF_ASSIGN_OR_RETURN(const auto server, RpcServer::Start(options));
  spdlog::info("dpnmf-analyst {} listens on {}", DPNMF_VERSION,
               server->address());
  GreetCurator(curator.get(), flags.curator);

  const int signal = WaitForSignal(signals);
  spdlog::info("signal {}: shutting down; runs go on after the next start",
               signal);
  // Ends watches too. Standard errors that are computed for a client may keep
  // the server for its shutdown time.
  runs->Stop();
  server->Shutdown();
  spdlog::info("stopped");
  return absl::OkStatus();
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
  app.set_version_flag("--version",
                       std::string("dpnmf-analyst ") + DPNMF_VERSION);
  app.set_config("--config", "",
                 "File with flags, as `name=value` under [serve]");
  app.require_subcommand(1);
  ServeFlags flags;
  CLI::App* serve = app.add_subcommand("serve", kServeAbout);
  AddFlags(serve, &flags);
  HealthFlags health_flags;
  CLI::App* health =
      app.add_subcommand("health",
                         "Ask the server on this machine whether it serves "
                         "(for container checks)");
  AddHealthFlags(health, &health_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (health->parsed()) return Report(Health(health_flags));
  SetUpLog(flags.log_level);
  return Report(Serve(flags));
}

}  // namespace
}  // namespace dpnmf::analyst

int main(int argc, char** argv) { return dpnmf::analyst::Main(argc, argv); }
