// dpnmf-curator synthesise: one paid release of class_moments, on the
// operator's machine, through session, ledger and gate like any other.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/log/audit_log.h"
#include "common/privacy/mechanism.h"
#include "common/server/server_log.h"
#include "common/threads/parallel.h"
#include "common/wire/receipt.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/draft/class_release.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/readers/item_table.h"
#include "curator/ledger/data_paths.h"
#include "curator/serve/receipt_signer.h"
#include "curator/serve/run_observer.h"
#include "curator/session/promise.h"
#include "curator/session/session.h"
#include "curator/session/verification.h"

namespace dpnmf::curator {
namespace {

// Identity that the ledger names as the charged one. No certificate has this
// name: names in certificates begin with dns: or uri:.
constexpr char kOperator[] = "operator";

struct SynthesiseOptions : DataPaths {
  std::string name, output, audit_log;
  double epsilon = 0;
  std::optional<double> delta;
  std::uint32_t draw = 1;
};

absl::Status CheckOutput(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (std::filesystem::exists(status)) {
    return Refusal(
        absl::StatusCode::kAlreadyExists, "output-exists",
        absl::StrCat("The file ", path,
                     " exists already; choose another --output. The same "
                     "release again costs nothing."));
  }
  const auto parent = std::filesystem::path(path).parent_path();
  if (parent.empty() || std::filesystem::is_directory(parent, error))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kNotFound, "directory-not-found",
                 absl::StrCat("The directory ", parent.string(),
                              " of --output does not exist: make it first."));
}

// Everything that the command holds, in the order in which it depends on what
// stands before it.
struct Synthesiser {
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<ReleaseGate> gate;
  std::optional<ReceiptSigner> receipts;
  Catalog catalog;
  std::unique_ptr<AccessControl> access;
  RunLocks locks;
  std::unique_ptr<AuditLog> audit;
};

absl::Status OpenSynthesiser(const SynthesiseOptions& options, int threads,
                             Synthesiser* opened) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  // Open would make a ledger where there is none.
  DPNMF_RETURN_IF_ERROR(Ledger::Audit(ledger_paths).status());
  std::vector<std::unique_ptr<Dataset>> datasets;
  DPNMF_ASSIGN_OR_RETURN(datasets.emplace_back(),
                         Dataset::OpenNamed(options.data_dir, options.name));
  DPNMF_RETURN_IF_ERROR(CheckHasColumns(*datasets.front()));
  opened->catalog = Catalog::FromDatasets(std::move(datasets));
  DPNMF_ASSIGN_OR_RETURN(opened->ledger, Ledger::Open(ledger_paths));
  DPNMF_ASSIGN_OR_RETURN(
      opened->gate,
      ReleaseGate::Create(opened->ledger.get(),
                          ReleaseDirectory(options.data_dir), threads));
  DPNMF_ASSIGN_OR_RETURN(
      ReceiptSigner receipts,
      ReceiptSigner::Open(options.data_dir, opened->ledger.get()));
  opened->receipts.emplace(std::move(receipts));
  opened->access = AccessControl::FromGrants(
      {{kOperator, {Role::kAnalyst}, {options.name}, false, {}}});
  DPNMF_ASSIGN_OR_RETURN(
      opened->audit,
      AuditLog::Open(options.audit_log.empty() ? AuditFile(options.data_dir)
                                               : options.audit_log));
  DPNMF_RETURN_IF_ERROR(CheckPromises(opened->catalog, *opened->ledger));
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  return VerifyDataset(*opened->catalog.Find(options.name), *opened->ledger,
                       KeyOfFiles(key));
}

// The bytes that say which release is asked for.
std::string NameOfRequest(const RunParameters& parameters, std::uint32_t draw) {
  return absl::StrCat(HexOf(HashOf(parameters)), " ", draw);
}

// A function of the request and the operator's key: the same command finds its
// release again, and no analyst can open a run of that id before.
absl::StatusOr<std::string> RunIdOf(const SynthesiseOptions& options,
                                    const RunParameters& parameters) {
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  return HexOf(KeyedHashFor("dpnmf synthesise",
                            NameOfRequest(parameters, options.draw), key))
      .substr(0, 32);
}

absl::StatusOr<RunParameters> ParametersOf(const SynthesiseOptions& options,
                                           const Synthesiser& opened) {
  const Dataset* const dataset = opened.catalog.Find(options.name);
  if (dataset == nullptr) return UnknownDataset();
  DPNMF_ASSIGN_OR_RETURN(
      const PopulationPolicy policy,
      opened.ledger->Policy(dataset->description().population));
  RunParameters parameters;
  parameters.dataset = options.name;
  parameters.mechanism = kClassMomentsMechanism.name;
  parameters.rank = parameters.rounds = 1;
  parameters.epsilon = options.epsilon;
  parameters.delta = options.delta.value_or(policy.delta);
  parameters.adjacency = policy.adjacency;
  parameters.conversion = policy.conversion;
  return parameters;
}

// Draft::charge.
absl::StatusOr<nlohmann::ordered_json> ChargeOf(const Ledger& ledger,
                                                const ReleasedRound& round) {
  DPNMF_ASSIGN_OR_RETURN(const LedgerRow row, ledger.RowAt(round.row));
  return nlohmann::ordered_json{{"ledger", ledger.id()},
                                {"sequence", row.sequence},
                                {"row_hash", HexOf(row.hash)},
                                {"population", row.population},
                                {"dataset", row.dataset},
                                {"run_id", row.run_id},
                                {"mechanism", row.mechanism},
                                {"round", row.round},
                                {"cost_units", row.cost.UnitsText()}};
}

absl::StatusOr<ClassRelease> FileOf(const SynthesiseOptions& options,
                                    const Synthesiser& opened,
                                    const RunParameters& parameters,
                                    const OpenedSession& session,
                                    const ReleasedRound& round) {
  ClassRelease release;
  release.facts = session.facts;
  release.epsilon = parameters.epsilon;
  release.delta = parameters.delta;
  release.data_bits = session.plan.data_bits;
  release.stddev_steps = session.plan.stages.at(0).parts.at(0).stddev_steps;
  release.sums = round.parts.at(0).lattice;
  // Those that analysts see as well.
  DPNMF_ASSIGN_OR_RETURN(
      release.features,
      ReadFeatureNames(DatasetDirectory(options.data_dir, options.name),
                       opened.catalog.Find(options.name)->description()));
  DPNMF_ASSIGN_OR_RETURN(release.charge, ChargeOf(*opened.ledger, round));
  DPNMF_ASSIGN_OR_RETURN(const v1::Receipt receipt,
                         opened.receipts->ReceiptOf(round.row));
  release.receipt = nlohmann::ordered_json::parse(LineOf(receipt));
  return release;
}

// Under a name of its own first: no half of a release ever has the name.
absl::Status WriteNewFile(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  (void)RemoveFile(draft);
  DPNMF_RETURN_IF_ERROR(WriteDurably(draft, text));
  DPNMF_RETURN_IF_ERROR(RenameNew(draft, path));
  return SyncParent(path);
}

absl::Status Synthesise(const SynthesiseOptions& options) {
  SetUpLog("dpnmf-curator", "warn", LogFormat::kText);
  DPNMF_RETURN_IF_ERROR(CheckOutput(options.output));
  const int threads = DefaultThreads();
  Synthesiser opened;
  DPNMF_RETURN_IF_ERROR(OpenSynthesiser(options, threads, &opened));
  DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters,
                         ParametersOf(options, opened));
  SessionContext context;
  context.ledger = opened.ledger.get();
  context.gate = opened.gate.get();
  context.catalog = &opened.catalog;
  context.access = opened.access.get();
  context.locks = &opened.locks;
  context.threads = threads;

  Session session(context, {kOperator});
  RunObserver observer({opened.audit.get(), nullptr}, *opened.ledger,
                       kOperator);
  DPNMF_ASSIGN_OR_RETURN(const std::string run_id,
                         RunIdOf(options, parameters));
  DPNMF_RETURN_IF_ERROR(observer.Asked());
  DPNMF_ASSIGN_OR_RETURN(const OpenedSession run,
                         session.Open(run_id, parameters));
  DPNMF_RETURN_IF_ERROR(observer.Opened(run_id, parameters, run));
  const bool paid = run.next_round > 1;
  DPNMF_RETURN_IF_ERROR(observer.RoundAsked(1));
  DPNMF_ASSIGN_OR_RETURN(const Released<ReleasedRound> released,
                         session.Round(1, RoundInput()));
  DPNMF_RETURN_IF_ERROR(observer.RoundReleased(released.value()));
  if (released.value().lost) {
    return Refusal(
        absl::StatusCode::kDataLoss, "release-lost",
        "The release was charged and its bytes are lost; it is never drawn "
        "again. Give --draw N for another release, which is charged again.");
  }
  DPNMF_ASSIGN_OR_RETURN(
      const ClassRelease file,
      FileOf(options, opened, parameters, run, released.value()));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         opened.ledger->PositionOf(run.facts.population));
  DPNMF_RETURN_IF_ERROR(WriteNewFile(options.output, ToJson(file)));
  Print(absl::StrFormat(
      "wrote %s: class moments of %s, epsilon %g at delta %g, run %s%s%s\n",
      options.output, options.name, parameters.epsilon, parameters.delta,
      run_id, paid ? "; it was paid for before, and nothing was charged" : "",
      position.void_since.has_value()
          ? absl::StrCat("; the guarantee of population ", run.facts.population,
                         " is VOID since ", MomentText(*position.void_since))
          : ""));
  return absl::OkStatus();
}

}  // namespace

Command SynthesiseCommand() {
  const auto options = std::make_shared<SynthesiseOptions>();
  return LedgerPathCommand<SynthesiseOptions>(
      "synthesise",
      "Pay for one release of class moments, from which people can be drawn",
      "The data set needs classes (import --class-column). The release is "
      "charged to\nthe population like any other, under the name operator. The "
      "same command again\nwrites the same release and is not charged. The "
      "server must not be running.\nPeople are drawn by `dpnmf-lab synthesise "
      "--release FILE`.\nExample:\n  dpnmf-curator synthesise --data-dir "
      "/var/lib/dpnmf --name wbc --epsilon 1 \\\n    --output wbc.json",
      options, Synthesise,
      {NoAnchorFlag(&options->no_anchor),
       Flag("--name", &options->name, "Name of the data set",
            {.required = true}),
       Flag("--epsilon", &options->epsilon, "Epsilon of the release: (0, 1000]",
            {.required = true}),
       Flag("--delta", &options->delta,
            "Delta of the release [the population's]"),
       Flag("--draw", &options->draw,
            "Another number requests another release, which is charged again",
            {.shown = true}),
       Flag("--output", &options->output, "File of the release; must not exist",
            {.value = "FILE", .required = true}),
       Flag("--audit-log", &options->audit_log,
            "File of the audit log [DATA_DIR/audit.jsonl]",
            {.value = "FILE", .env = true})});
}

}  // namespace dpnmf::curator
