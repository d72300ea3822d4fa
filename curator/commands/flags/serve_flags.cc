#include "curator/commands/flags/serve_flags.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/server_commands/server_flags.h"
#include "common/threads/parallel.h"
#include "common/tls/flag_addresses.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/ledger/data_paths.h"

namespace dpnmf::curator {

namespace {

std::string AnchorDirectory(const ServeOptions& options) {
  if (options.no_anchor) return "";
  return options.anchor_dir.empty() ? DefaultAnchorDirectory(options.data_dir)
                                    : options.anchor_dir;
}

}  // namespace

std::vector<Flag> ServeFlags(ServeOptions* options) {
  return {
      Flag("--data-dir", &options->data_dir,
           "Directory of data sets, ledger and releases",
           {.value = "DIR", .env = true, .required = true}),
      AnchorDirFlag(&options->anchor_dir),
      NoAnchorFlag(&options->no_anchor),
      Flag("--listen", &options->listen, "HOST:PORT to listen on",
           {.env = true, .shown = true}),
      Flag("--ca", &options->tls.ca_file,
           "PEM file of the CA that signs analysts",
           {.value = "FILE", .env = true, .required = true}),
      CertificateFlag(&options->tls.certificate_file),
      Flag("--key", &options->tls.key_file, "PEM file of this server's key",
           {.value = "FILE", .env = true, .required = true}),
      Flag("--crl", &options->tls.crl_file,
           "PEM file of the CA's revocation list; once it has expired or is "
           "missing, access is denied to all peers [no list]",
           {.value = "FILE", .env = true}),
      Flag("--audit-log", &options->audit_log,
           "Audit log file, JSON lines; nothing is released that cannot be "
           "written there [DATA_DIR/audit.jsonl]",
           {.value = "FILE", .env = true}),
      MetricsListenFlag(&options->metrics_listen),
      Flag("--allow", &options->allow_list,
           "JSON file of identities, their roles and data sets (read again "
           "when it changes)",
           {.value = "FILE", .env = true, .required = true}),
      Flag("--threads", &options->threads,
           "Threads for the computation [all cores]",
           {.range = {0, 1024}, .env = true}),
      Flag("--idle-seconds", &options->idle_seconds,
           "Time after which a stream without a message is ended",
           {.range = {1, 86400}, .env = true, .shown = true}),
      Flag("--max-calls", &options->limits.calls,
           "Most calls that one identity may have open at once",
           {.range = {1, 100'000}, .env = true, .shown = true}),
      Flag("--max-messages-per-second", &options->limits.messages_per_second,
           "Most messages that one identity may send a second",
           {.range = {1, 100'000'000}, .env = true, .shown = true}),
      Flag("--run-memory", &options->run_memory_mebibytes,
           "MiB that the open runs of one identity may take; all identities "
           "together may take twice as much [a quarter of the memory of the "
           "machine or the container]",
           {.range = {1, 1 << 30}, .env = true}),
      Flag("--max-uncharged-runs", &options->most_uncharged_runs,
           "Most runs without a round that one identity may have, open or "
           "closed, in addition to its number of charges",
           {.range = {1, 1'000'000'000}, .env = true, .shown = true}),
      Flag("--pace-milliseconds", &options->pace_milliseconds,
           "Paced mode: replies leave at ticks this far apart; a round that "
           "takes longer is refused [off]",
           {.range = {1, 600000}, .env = true}),
      Flag("--pace-nonzeros", &options->pace_nonzeros,
           "Number of nonzeros of a sparse data set for which the period is "
           "calibrated",
           {.needs = "--pace-milliseconds", .env = true}),
      Flag("--federation", &options->federation,
           "federation.json: release sums together with the curators that it "
           "names, masked so that only their total can be read [none]",
           {.value = "FILE", .env = true}),
      Flag("--ranks", &options->ranks.ranks,
           "Number of processes of an MPI job that computes sums over people, "
           "each with --threads threads [none]",
           {.range = {1, 4096}, .env = true}),
      Flag("--hosts", &options->ranks.hosts,
           "File of the hosts of ranks in mpirun's format; this machine must "
           "be the first [this machine]",
           {.value = "FILE", .needs = "--ranks", .env = true}),
      Flag("--mpi-run", &options->ranks.mpi_run,
           "Command that starts the job, with its arguments [mpirun]",
           {.value = "COMMAND", .needs = "--ranks", .env = true}),
      Flag("--private-network", &options->ranks.private_network,
           "Declare the network between ranks private, because exact sums "
           "cross it",
           {.needs = "--ranks", .env = true}),
      Flag("--ranks-seconds", &options->ranks.seconds,
           "Longest time of a round in the ranks; after it the ranks are "
           "stopped and started again",
           {.range = {1, 86400},
            .needs = "--ranks",
            .env = true,
            .shown = true}),
      Flag("--recommend-listen", &options->recommend.listen,
           "HOST:PORT for RecommendService: people's lists for front ends of "
           "the operator (role front_end) [off]",
           {.env = true}),
      Flag("--recommend-dataset", &options->recommend.dataset,
           "Data set of ratings whose people get lists",
           {.needs = "--recommend-listen", .env = true}),
      Flag("--recommend-model", &options->recommend.model,
           "File of `dpnmf model RUN --output`, .npz or .csv",
           {.value = "FILE", .needs = "--recommend-listen", .env = true}),
      Flag("--recommend-token-key", &options->recommend.token_key,
           "PEM file of the Ed25519 public key of the system that signs "
           "tokens",
           {.value = "FILE", .needs = "--recommend-listen", .env = true}),
      Flag("--recommend-audience", &options->recommend.audience,
           "Audience that a token must name [the data set's name]",
           {.needs = "--recommend-listen", .env = true}),
      LogLevelFlag(&options->log_level),
      LogJsonFlag(&options->log_json),
  };
}

std::string AuditFileOf(const ServeOptions& options) {
  return options.audit_log.empty() ? AuditFile(options.data_dir)
                                   : options.audit_log;
}

RankJobOptions RankJobOptionsOf(const ServeOptions& options) {
  const auto& flags = options.ranks;
  RankJobOptions job;
  job.ranks = flags.ranks;
  job.hosts = flags.hosts;
  std::error_code error;
  job.program = std::filesystem::read_symlink("/proc/self/exe", error)
                    .replace_filename("dpnmf-ranks");
  job.data_dir = std::filesystem::absolute(options.data_dir, error);
  job.threads = options.threads > 0
                    ? options.threads
                    : std::max(1, DefaultThreads() / std::max(1, flags.ranks));
  job.private_network = flags.private_network;
  job.loopback_only = flags.mpi_run.empty() && IsOfOneMachine(job);
  job.mpi_run = flags.mpi_run.empty()
                    ? DefaultMpiRun(job)
                    : absl::StrSplit(flags.mpi_run, ' ', absl::SkipEmpty());
  job.deadline = std::chrono::seconds(flags.seconds);
  return job;
}

absl::Status CheckAddresses(const ServeOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckListenAddress("--listen", options.listen));
  if (!options.metrics_listen.empty()) {
    DPNMF_RETURN_IF_ERROR(
        CheckListenAddress("--metrics-listen", options.metrics_listen));
  }
  const auto& recommend = options.recommend;
  if (!recommend.listen.empty()) {
    DPNMF_RETURN_IF_ERROR(
        CheckListenAddress("--recommend-listen", recommend.listen));
  }
  if (!recommend.listen.empty() &&
      (recommend.dataset.empty() || recommend.model.empty() ||
       recommend.token_key.empty())) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "--recommend-listen needs --recommend-dataset, "
                   "--recommend-model and --recommend-token-key.");
  }
  return absl::OkStatus();
}

CuratorDoctorOptions DoctorOptionsOf(const ServeOptions& options) {
  CuratorDoctorOptions doctor;
  doctor.data_dir = options.data_dir;
  doctor.anchor_dir = AnchorDirectory(options);
  doctor.tls = options.tls;
  doctor.allow_list = options.allow_list;
  doctor.federation = options.federation;
  doctor.audit_log = AuditFileOf(options);
  doctor.metrics_listen = options.metrics_listen;
  doctor.ranks = options.ranks.ranks;
  doctor.private_network = options.ranks.private_network;
  doctor.paced = options.pace_milliseconds > 0;
  doctor.now = std::time(nullptr);
  return doctor;
}

}  // namespace dpnmf::curator
