#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/read_file.h"
#include "common/log/audit_log.h"
#include "common/log/log.h"
#include "common/server/metrics.h"
#include "common/server/peer_authorizer.h"
#include "common/server/server.h"
#include "common/server/server_log.h"
#include "common/threads/parallel.h"
#include "common/tls/tls.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/serve_flags.h"
#include "curator/commands/open_recommender.h"
#include "curator/commands/status_handlers.h"
#include "curator/control/control.h"
#include "curator/control/online_import.h"
#include "curator/control/transform_record.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "curator/maintenance/grant_names.h"
#include "curator/recommend/recommend_service.h"
#include "curator/serve/budget_metrics.h"
#include "curator/serve/open_membership.h"
#include "curator/serve/service_options.h"
#include "curator/session/promise.h"
#include "curator/session/verification.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

// Everything that a serving curator holds, in the order in which it depends on
// what stands before it.
struct Curator {
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<ReleaseGate> gate;
  std::optional<ReceiptSigner> receipts;
  Catalog catalog;
  std::unique_ptr<Membership> membership;  // null: in no federation
  std::unique_ptr<AccessControl> access;
  RunLocks locks;
  std::optional<RunMemoryLimit> memory;
  std::unique_ptr<RankJob> ranks;  // null: all sums are computed here
  SteadyPaceClock clock;
  std::unique_ptr<Pacer> pacer;  // null: not paced
  Digest file_key{};             // of the digests of data sets' files
  std::unique_ptr<Verification> verification;
  std::unique_ptr<AuditLog> audit;
  std::unique_ptr<Metrics> metrics;
};

absl::Status CheckDataDirectory(const std::string& data_dir) {
  if (std::filesystem::is_directory(data_dir)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kNotFound, "data-dir-missing",
                 absl::StrCat("The data directory ", data_dir,
                              " does not exist: import a data set first."));
}

// The period is calibrated for the declared number of nonzeros: a data set that
// holds more could overrun it. A data set in parts needs ranks.
absl::Status CheckServable(const ServeOptions& options,
                           const Dataset& dataset) {
  if (options.ranks.ranks == 0) DPNMF_RETURN_IF_ERROR(CheckHasColumns(dataset));
  if (options.pace_milliseconds == 0 || !dataset.sparse())
    return absl::OkStatus();
  const std::string& name = dataset.description().name;
  if (!options.pace_nonzeros.has_value()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "pace-nonzeros-missing",
        absl::StrCat("The data set ", name,
                     " is sparse: declare with --pace-nonzeros the number of "
                     "nonzeros that the period is calibrated for."));
  }
  std::uint64_t nonzeros = dataset.private_part_nonzeros();
  const bool ratings = dataset.description().ratings.has_value();
  for (std::uint64_t n = 0; n < dataset.private_user_count(); ++n) {
    nonzeros += ratings ? dataset.RatingsOf(n).items.size()
                        : dataset.SparseColumnOf(n).values.size();
  }
  if (nonzeros <= *options.pace_nonzeros) return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition,
                 "pace-nonzeros-exceeded",
                 absl::StrCat("The data set ", name,
                              " contains more nonzeros than --pace-nonzeros: "
                              "calibrate a longer period for more."));
}

// A data set that is not the imported one ends the server, as it does at start
// if it is small.
absl::Status StartVerification(Curator* curator) {
  Verification::Options verification;
  verification.catalog = &curator->catalog;
  verification.ledger = curator->ledger.get();
  verification.file_key = curator->file_key;
  verification.pacer = curator->pacer.get();
  verification.failed = [] { kill(getpid(), SIGTERM); };
  DPNMF_ASSIGN_OR_RETURN(curator->verification,
                         Verification::Start(std::move(verification)));
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
      LedgerPaths(options.data_dir, options.anchor_dir, options.no_anchor));
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
                              : DefaultRunMemoryLimit());
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  curator->file_key = KeyOfFiles(key);
  if (options.ranks.ranks > 0) {
    RankJobOptions job = RankJobOptionsOf(options);
    job.file_key = curator->file_key;
    DPNMF_ASSIGN_OR_RETURN(curator->ranks, RankJob::Start(std::move(job)));
  }
  for (const Dataset* dataset : curator->catalog.All())
    DPNMF_RETURN_IF_ERROR(CheckServable(options, *dataset));
  if (options.pace_milliseconds > 0) {
    curator->pacer = std::make_unique<Pacer>(
        std::chrono::milliseconds(options.pace_milliseconds), &curator->clock);
  }
  DPNMF_RETURN_IF_ERROR(CheckPromises(curator->catalog, *curator->ledger));
  DPNMF_RETURN_IF_ERROR(StartVerification(curator));
  if (options.federation.empty()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(
      curator->membership,
      OpenMembership(options.federation, curator->ledger.get(),
                     *curator->receipts, &curator->catalog));
  const Federation& federation = curator->membership->federation();
  LogInfo("member {} of federation {}: {} curators, at most {} against it",
          curator->membership->self().name, federation.name, federation.size(),
          federation.colluders);
  return absl::OkStatus();
}

// Those that the allow-list has at the start. It is read a second time: a file
// that was replaced meanwhile has no warnings.
void WarnOfGrants(const std::string& allow_list, const Curator& curator) {
  const auto grants = ReadAllowList(allow_list, kCuratorAllowList);
  if (!grants.ok()) return;
  std::vector<std::string> datasets;
  for (const Dataset* dataset : curator.catalog.All())
    datasets.push_back(dataset->description().name);
  if (curator.membership != nullptr)
    datasets.push_back(curator.membership->name());
  for (const std::string& sentence :
       UnknownGrantNames(*grants, datasets, curator.ledger->Populations()))
    LogWarning("allow-list: {}", sentence);
}

absl::Status OpenObservers(const ServeOptions& options, Curator* curator) {
  DPNMF_ASSIGN_OR_RETURN(curator->audit, AuditLog::Open(AuditFileOf(options)));
  DPNMF_ASSIGN_OR_RETURN(
      curator->metrics,
      Metrics::Create("dpnmf_curator", options.metrics_listen));
  LogRefusedPeers(curator->metrics.get());
  WarnOfGrants(options.allow_list, *curator);
  ShowBudgets(*curator->ledger, curator->catalog, curator->metrics.get());
  if (!curator->metrics->address().empty())
    LogInfo("metrics at http://{}/metrics", curator->metrics->address());
  return curator->audit->Write("server-started", {{"version", DPNMF_VERSION}},
                               AuditSync::kDurable);
}

// RecommendService and what it stands on; nothing of the ledger or the gate.
struct RecommendServer {
  explicit RecommendServer(OpenedRecommender parts)
      : opened(std::move(parts)) {}
  OpenedRecommender opened;
  std::unique_ptr<TokenGate> tokens;
  std::shared_ptr<grpc::Service> service;
  std::unique_ptr<RpcServer> server;
};

absl::StatusOr<TokenGate::Options> TokenOptionsOf(const ServeOptions& options) {
  const auto& recommend = options.recommend;
  DPNMF_ASSIGN_OR_RETURN(const std::string pem,
                         ReadFile(recommend.token_key, kSettingsFileLimit));
  const std::optional<PublicKey> key = PublicKeyOfPem(pem);
  if (!key.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "token-key-invalid",
                   absl::StrCat("`", recommend.token_key,
                                "` is not an Ed25519 public key: make one with "
                                "`openssl pkey -in token.key -pubout`."));
  }
  TokenGate::Options tokens;
  tokens.key = *key;
  tokens.audience =
      recommend.audience.empty() ? recommend.dataset : recommend.audience;
  tokens.expiry_file = TokenExpiryFile(options.data_dir);
  return tokens;
}

// Returns null if recommendations are off.
absl::StatusOr<std::unique_ptr<RecommendServer>> StartRecommendServer(
    const ServeOptions& options, const Curator& curator) {
  const auto& recommend = options.recommend;
  if (recommend.listen.empty()) return nullptr;
  const Dataset* const dataset = curator.catalog.Find(recommend.dataset);
  if (dataset == nullptr) {
    return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                   absl::StrCat("`--recommend-dataset`: there is no data set ",
                                recommend.dataset, " in ", options.data_dir,
                                "; import one or check the name."));
  }
  DPNMF_ASSIGN_OR_RETURN(TokenGate::Options tokens, TokenOptionsOf(options));
  DPNMF_ASSIGN_OR_RETURN(
      OpenedRecommender opened,
      OpenRecommender(options.data_dir, *dataset, recommend.model,
                      curator.catalog.ItemsOf(recommend.dataset)));
  auto served = std::make_unique<RecommendServer>(std::move(opened));
  DPNMF_ASSIGN_OR_RETURN(served->tokens, TokenGate::Create(std::move(tokens)));
  RecommendServiceOptions service_options;
  service_options.dataset = dataset;
  service_options.check_ready = [&catalog = curator.catalog,
                                 name = recommend.dataset] {
    return catalog.Served(name).status();
  };
  service_options.recommender = &served->opened.recommender;
  service_options.find = [users =
                              &served->opened.users](std::string_view person) {
    return users->Find(person);
  };
  service_options.tokens = served->tokens.get();
  service_options.access = curator.access.get();
  service_options.identify = PeerIdentities;
  service_options.observers = {curator.audit.get(), curator.metrics.get()};
  service_options.limits = options.limits;
  served->service = MakeRecommendService(std::move(service_options));
  RpcServer::Options server_options;
  server_options.listen = recommend.listen;
  server_options.flag = "--recommend-listen";
  // Credentials of its own: a gate belongs to one set.
  DPNMF_ASSIGN_OR_RETURN(server_options.credentials, ServerTls(options.tls));
  server_options.service = served->service.get();
  server_options.gate = MakePeerAuthorizer(
      options.tls,
      OrOneself(options.tls,
                [access = curator.access.get(), name = recommend.dataset](
                    const std::vector<std::string>& identities) {
                  return access->RequireFrontEnd(identities, name).status();
                }));
  DPNMF_ASSIGN_OR_RETURN(served->server, RpcServer::Start(server_options));
  LogInfo("lists of {} for front ends on {}", recommend.dataset,
          served->server->address());
  return served;
}

// Starts to answer the operator's programs while the server runs.
absl::StatusOr<std::unique_ptr<ControlServer>> StartControl(
    const ServeOptions& options, Curator* curator) {
  ControlHandlers handlers = OnlineImportHandlers(
      {options.data_dir, curator->ledger.get(), &curator->catalog,
       curator->audit.get(), curator->metrics.get(),
       [&options](const Dataset& dataset) {
         return CheckServable(options, dataset);
       },
       curator->file_key, curator->pacer.get()});
  handlers.merge(
      StatusHandlers(options, curator->ledger.get(), &curator->catalog));
  handlers.merge(TransformRecordHandlers(curator->audit.get()));
  return ControlServer::Start(options.data_dir, std::move(handlers));
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
      curator.access.get(), &curator.locks,     threads,
      curator.pacer.get(),  &*curator.memory,   options.most_uncharged_runs,
      curator.ranks.get()};
  service_options.context.membership = curator.membership.get();
  service_options.identify = PeerIdentities;
  service_options.check_peer = [tls = options.tls](const auto& context) {
    return CheckPeerStillValid(context, tls);
  };
  service_options.receipts = &*curator.receipts;
  service_options.version = DPNMF_VERSION;
  service_options.idle_seconds = options.idle_seconds;
  service_options.observers = {curator.audit.get(), curator.metrics.get()};
  service_options.limits = options.limits;
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<RecommendServer> recommend,
                         StartRecommendServer(options, curator));
  ServedCurator served = MakeCuratorService(service_options);
  RpcServer::Options server_options;
  server_options.listen = options.listen;
  server_options.credentials = credentials;
  server_options.service = served.service.get();
  server_options.gate = MakePeerAuthorizer(
      options.tls,
      OrOneself(options.tls, [&](const std::vector<std::string>& identities) {
        return curator.access->GrantOf(identities).status();
      }));
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> server,
                         RpcServer::Start(server_options));
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<ControlServer> control,
                         StartControl(options, &curator));
  LogInfo("dpnmf-curator {} serves {} data sets on {}", DPNMF_VERSION,
          curator.catalog.All().size(), server->address());
  if (options.pace_milliseconds > 0) {
    LogInfo("paced: replies leave at ticks of {} ms",
            options.pace_milliseconds);
  }
  if (options.no_anchor) {
    LogWarning("no anchor: a rollback of the ledger would not be detected");
  }
  const int signal = WaitForSignal(signals);
  LogInfo("signal {}: rounds that are charged are finished", signal);
  control.reset();
  if (recommend != nullptr) recommend->server->Shutdown();
  recommend.reset();
  served.begin_shutdown();
  server->Shutdown();
  server.reset();
  served = {};  // both hold the service, which writes what it still counts
                // (RefusedCalls)
  LogInfo("stopped");
  DPNMF_RETURN_IF_ERROR(
      curator.audit->Write("server-stopped", {}, AuditSync::kDurable));
  return curator.verification->status();
}

absl::StatusOr<ExitCode> ServeAndLog(const ServeOptions& options) {
  SetUpLog("dpnmf-curator", options.log_level,
           options.log_json ? LogFormat::kJson : LogFormat::kText);
  DPNMF_RETURN_IF_ERROR(Serve(options));
  return kExitOk;
}

}  // namespace

Command ServeCommand() {
  const auto options = std::make_shared<ServeOptions>();
  return {
      .name = "serve",
      .summary = "Serve analysts over mutual TLS",
      .footer =
          "The allow-list maps a certificate's subject alternative name to "
          "roles and data sets:\n  {\"peers\": [{\"identity\": "
          "\"dns:analyst\", \"roles\": [\"analyst\"],\n              "
          "\"datasets\": [\"digits\"]}]}\nSIGTERM finishes rounds that "
          "are charged and stops. Runs continue after a restart.\nExample:\n  "
          "dpnmf-curator serve --data-dir /var/lib/dpnmf --anchor-dir "
          "/mnt/anchor \\\n    --listen 0.0.0.0:7431 --ca ca.pem --cert "
          "curator.pem --key curator.key \\\n    --allow allow.json",
      .flags = ServeFlags(options.get()),
      .run = [options] { return ServeAndLog(*options); }};
}

}  // namespace dpnmf::curator
