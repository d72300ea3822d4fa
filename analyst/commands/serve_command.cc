#include <memory>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "analyst/commands/commands.h"
#include "analyst/commands/serve_flags.h"
#include "analyst/curators/curator_client.h"
#include "analyst/curators/federated_curator.h"
#include "analyst/curators/void_marks.h"
#include "analyst/runs/run_manager.h"
#include "analyst/serve/client_list.h"
#include "analyst/serve/service.h"
#include "analyst/store/run_store.h"
#include "common/base/error.h"
#include "common/base/machine_memory.h"
#include "common/crypto/sha256.h"
#include "common/log/audit_log.h"
#include "common/log/log.h"
#include "common/server/metrics.h"
#include "common/server/peer_authorizer.h"
#include "common/server/server.h"
#include "common/server/server_log.h"
#include "common/tls/flag_addresses.h"
#include "common/tls/tls.h"
#include "common/wire/receipt.h"

namespace dpnmf::analyst {
namespace {

void GreetCurator(CuratorConnection* curator, const std::string& address) {
  const auto datasets = curator->ListDatasets();
  if (datasets.ok()) {
    LogInfo("curator {} offers {} data set{}", address,
            datasets->datasets_size(),
            datasets->datasets_size() == 1 ? "" : "s");
  } else {
    LogWarning("curator {} is not reachable now; runs wait for it: {}", address,
               std::string(datasets.status().message()));
  }
}

// The curator, the federation's curators, or both. Addresses are checked.
absl::StatusOr<std::unique_ptr<CuratorConnection>> Connect(
    const ServeFlags& flags,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    RunStore* store, Metrics* metrics) {
  const auto to = [&](const std::string& address) {
    return ConnectCurator(address, credentials, flags.use_proxy,
                          std::chrono::seconds(flags.silence_seconds));
  };
  std::unique_ptr<CuratorConnection> all;
  if (!flags.curator.empty()) {
    DPNMF_ASSIGN_OR_RETURN(all, to(flags.curator));
  }
  if (!flags.federation.empty()) {
    DPNMF_ASSIGN_OR_RETURN(Federation federation,
                           ReadFederation(flags.federation));
    std::vector<std::unique_ptr<CuratorConnection>> members;
    for (const FederationMember& member : federation.members) {
      DPNMF_RETURN_IF_ERROR(CheckPeerAddress("--federation", member.address));
      DPNMF_ASSIGN_OR_RETURN(members.emplace_back(), to(member.address));
    }
    all = FederateCurators(std::move(all), std::move(federation),
                           std::move(members));
  }
  return RememberVoidGuarantees(std::move(all), store, metrics);
}

absl::Status CheckCuratorFlags(const ServeFlags& flags) {
  if (!flags.curator.empty())
    return CheckPeerAddress("--curator", flags.curator);
  if (!flags.federation.empty()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                 "--curator is required, or --federation; see 'dpnmf-analyst "
                 "serve --help'.");
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
  if (changed) LogWarning("receipts must now be signed with {}", HexOf(key));
  return absl::OkStatus();
}

absl::Status Serve(const ServeFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckCuratorFlags(flags));
  DPNMF_RETURN_IF_ERROR(CheckListenAddress("--listen", flags.listen));
  if (!flags.metrics_listen.empty()) {
    DPNMF_RETURN_IF_ERROR(
        CheckListenAddress("--metrics-listen", flags.metrics_listen));
  }
  const sigset_t signals = BlockTerminationSignals();
  RequireTls13();
  TlsFiles client_side = flags.tls;
  if (!flags.client_ca.empty()) client_side.ca_file = flags.client_ca;
  DPNMF_ASSIGN_OR_RETURN(const auto channel_credentials, ChannelTls(flags.tls));
  DPNMF_ASSIGN_OR_RETURN(const auto server_credentials, ServerTls(client_side));
  DPNMF_ASSIGN_OR_RETURN(ClientList clients, ClientList::Read(flags.clients));
  DPNMF_ASSIGN_OR_RETURN(const auto store, RunStore::Open(flags.state_dir));
  DPNMF_ASSIGN_OR_RETURN(const auto audit, AuditLog::Open(AuditFileOf(flags)));
  DPNMF_ASSIGN_OR_RETURN(
      const auto metrics,
      Metrics::Create("dpnmf_analyst", flags.metrics_listen));
  LogRefusedPeers(metrics.get());
  const absl::Cleanup quiet = [] { OnPeerRefused(nullptr); };
  DPNMF_ASSIGN_OR_RETURN(
      const auto curator,
      Connect(flags, channel_credentials, store.get(), metrics.get()));
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
  settings.run_memory = flags.run_memory_mebibytes > 0
                            ? flags.run_memory_mebibytes << 20
                            : MachineMemory() / 4;
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
  options.gate = MakePeerAuthorizer(
      client_side,
      OrOneself(client_side, [&](const std::vector<std::string>& identities) {
        return clients.Authorise(identities, Permission::kRead).status();
      }));
  DPNMF_ASSIGN_OR_RETURN(auto server, RpcServer::Start(options));
  LogInfo("dpnmf-analyst {} listens on {}", DPNMF_VERSION, server->address());
  GreetCurator(curator.get(),
               flags.curator.empty() ? flags.federation : flags.curator);

  const int signal = WaitForSignal(signals);
  LogInfo("signal {}: shutting down; runs continue after the next start",
          signal);
  // Ends watches too, and breaks learning off. Standard errors that are
  // computed for a client end with their call, after the server's shutdown
  // time.
  runs->Stop();
  server->Shutdown();
  server.reset();
  service.reset();  // writes what it still counts (RefusedCalls)
  LogInfo("stopped");
  return audit->Write("server-stopped", {}, AuditSync::kDurable);
}

absl::StatusOr<ExitCode> ServeAndLog(const ServeFlags& flags) {
  SetUpLog("dpnmf-analyst", flags.log_level,
           flags.log_json ? LogFormat::kJson : LogFormat::kText);
  DPNMF_RETURN_IF_ERROR(Serve(flags));
  return kExitOk;
}

}  // namespace

Command ServeCommand() {
  const auto flags = std::make_shared<ServeFlags>();
  return {
      .name = "serve",
      .summary = "Serve clients (the program `dpnmf`) until SIGTERM or SIGINT",
      .footer =
          "Runs are stored: after a restart, also after kill -9, each "
          "continues from its last\nstored round and nothing is charged "
          "twice.\n\nExample:\n  dpnmf-analyst serve --state-dir "
          "/var/lib/dpnmf --curator curator.hospital:7431 \\\n    --ca ca.pem "
          "--cert analyst.pem --key analyst.key --clients "
          "clients.json\n\nclients.json lists who may connect, by the name in "
          "the client's certificate (subject\nalternative name). The role "
          "analyst may start runs and end its own, operator may end "
          "and\nforget anyone's, auditor may only read:\n  {\"peers\": "
          "[{\"identity\": \"dns:alice.client\", \"roles\": "
          "[\"analyst\"]}]}\n\nYou can also set every flag in a file given "
          "with --config (one `name=value` on each line\nunder [serve]) or in "
          "the environment as DPNMF_ANALYST_NAME, for "
          "example\nDPNMF_ANALYST_STATE_DIR. A flag overrides the environment, "
          "which overrides the file.",
      .flags = FlagsOf(flags.get()),
      .run = [flags] { return ServeAndLog(*flags); }};
}

}  // namespace dpnmf::analyst
