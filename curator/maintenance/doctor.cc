#include "curator/maintenance/doctor.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/access/allow_list.h"
#include "common/base/error.h"
#include "common/doctor/doctor_checks.h"
#include "common/federation/federation.h"
#include "curator/data/file_digests.h"
#include "curator/data/rated_users.h"
#include "curator/data/removed.h"
#include "curator/import/dataset_people.h"
#include "curator/import/partitions.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/maintenance/backup.h"
#include "curator/maintenance/grant_names.h"
#include "curator/maintenance/remove_dataset.h"
#include "curator/session/catalog.h"
#include "curator/session/promise.h"

namespace dpnmf::curator {
namespace {

using absl::StrCat;

constexpr std::int64_t kSecondsPerDay = 24 * 3600;
constexpr double kWeakEpsilon = 10;

// Returns whether both paths are on one volume: one accident destroys both.
bool OnOneVolume(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 &&
         a.st_dev == b.st_dev;
}

Finding AnchorPlace(const std::string& data_dir, const std::string& anchor) {
  if (anchor.empty()) {
    return Bad("There is no anchor: a rollback would not be detected.",
               "Serve without --no-anchor.");
  }
  if (const absl::Status place = CheckAnchorPath(data_dir, anchor);
      !place.ok()) {
    return Bad(
        place.message(),
        "Stop the server, move the anchor, and give its new --anchor-dir.");
  }
  if (!OnOneVolume(data_dir, anchor))
    return Good(anchor + " is on a separate volume.");
  return Doubtful(
      anchor + " is on the same volume as the ledger.",
      "Move it to a separate volume (--anchor-dir) with its own snapshots.");
}

Finding Clock(const std::vector<LedgerRow>& rows, std::int64_t now) {
  if (rows.empty() || now >= rows.back().unix_seconds)
    return Good(StrCat(TimeText(now), ", after the ledger's last row."));
  return Doubtful(StrCat("This machine's clock says ", TimeText(now),
                         ", before the ledger's last row."),
                  "Set the clock (timedatectl set-ntp true).");
}

// Does the check of CheckPromiseIn, which needs an open ledger.
absl::Status PromiseIn(const LedgerAudit& audit,
                       const DatasetDescription& dataset) {
  for (const PopulationPolicy& policy : audit.policies) {
    if (policy.population != dataset.population) continue;
    DPNMF_RETURN_IF_ERROR(CheckPromise(dataset, policy));
    const auto partition =
        audit.partition_of.find({dataset.population, dataset.name});
    return CheckSamePartition(dataset, partition == audit.partition_of.end()
                                           ? AssignedPartition()
                                           : partition->second);
  }
  return absl::NotFoundError("The ledger has no such population.");
}

// Returns nullopt if the guarantee of the data set's population holds.
std::optional<Finding> VoidGuaranteeOf(const LedgerAudit& audit,
                                       const DatasetDescription& dataset) {
  for (std::size_t i = 0; i < audit.policies.size(); ++i) {
    const Position& position = audit.positions[i];
    if (audit.policies[i].population != dataset.population ||
        !position.void_since.has_value()) {
      continue;
    }
    return Doubtful(
        StrCat("The guarantee of population ", dataset.population,
               " is void since ", TimeText(*position.void_since),
               ": a table about these people was published without privacy."),
        "This cannot be undone. Tell the analysts and the people; see "
        "docs/decisions/0010-publishing.md.");
  }
  return std::nullopt;
}

// `audit` is null if the ledger cannot be trusted.
// `weak` holds the populations whose weak cap was named already.
Finding DatasetPromise(const DatasetDescription& dataset,
                       const LedgerAudit* audit, std::set<std::string>* weak) {
  if (audit != nullptr) {
    if (const absl::Status promise = PromiseIn(*audit, dataset); !promise.ok())
      return Bad(promise.message(),
                 "Restore the ledger and the data set that belong together, or "
                 "move the data set away and import it under another name.");
    const std::optional<Finding> broken = VoidGuaranteeOf(*audit, dataset);
    if (broken.has_value()) return *broken;
  }
  const bool is_private = !dataset.is_public;
  if (is_private && !(dataset.delta * static_cast<double>(dataset.users) < 1)) {
    return Doubtful("Its delta is not below 1 over the number of people.",
                    "Choose a smaller delta for a new population; this one's "
                    "cannot be changed.");
  }
  if (is_private && dataset.epsilon > kWeakEpsilon &&
      weak->insert(dataset.population).second) {
    return Doubtful(
        StrCat("The cap of its population ", dataset.population, ", epsilon ",
               dataset.epsilon, ", is a weak promise."),
        "See docs/reference/sign_off.md; a cap cannot be changed later.");
  }
  if (!dataset.partition.empty()) {
    return Good(
        StrCat("The ledger has the guarantee of its population, and "
               "charges partition ",
               dataset.partition, " alone."));
  }
  if (dataset.partitions.any()) {
    return Good(
        "The ledger has the guarantee of its population, and charges "
        "every partition.");
  }
  return Good("The ledger has the guarantee of its population.");
}

// Each data set by itself does not show how the population grows.
void AddGrowth(const std::vector<DatasetDescription>& datasets,
               CheckList* checks) {
  std::map<std::string, double> delta_of;  // of populations with partitions
  for (const DatasetDescription& dataset : datasets)
    if (dataset.partitions.any()) delta_of[dataset.population] = dataset.delta;
  for (const auto& [population, delta] : delta_of) {
    const std::uint64_t people = PeopleInPartitions(population, datasets);
    const std::string found =
        StrCat("The partitions of population ", population, " have at least ",
               people, " people");
    const bool any_in_none =
        std::any_of(datasets.begin(), datasets.end(),
                    [&name = population](const DatasetDescription& one) {
                      return one.population == name && one.partition.empty() &&
                             !one.is_public;
                    });
    checks->Add(
        StrCat("delta of ", population),
        !(delta * static_cast<double>(people) < 1)
            ? Doubtful(StrCat(found,
                              ", and its delta is not below 1 over "
                              "that."),
                       "Choose a smaller delta for a new population; this "
                       "one's cannot be changed.")
        : any_in_none
            ? Doubtful(StrCat(found,
                              ", and a data set in no partition may have other "
                              "people."),
                       "Check that delta is far below 1 over the number of "
                       "all people together.")
            : Good(StrCat(found, ", and its delta is below 1 over that.")));
  }
}

Finding FingerprintsIn(const std::string& directory) {
  const auto people = ReadPeople(directory);
  if (people.ok()) {
    return Good(people->has_ids ? "Its people are recognised by ids and rows."
                                : "Its people are recognised by their rows.");
  }
  if (absl::IsNotFound(people.status())) {
    return Doubtful(people.status().message(),
                    "Until then no table can be published from this data "
                    "directory.");
  }
  return Bad(people.status().message(),
             "Restore people.bin, or make it again with `dpnmf-curator "
             "people`.");
}

// `audit` is null if the ledger cannot be trusted.
Finding FilesOf(const CuratorDoctorOptions& options, const Dataset& dataset,
                const LedgerAudit* audit) {
  constexpr char kAdvice[] =
      "Do not serve this data directory. Restore the data set from a backup, "
      "or move it away and import it again under another name.";
  if (audit == nullptr)
    return Bad("Its files cannot be verified without the ledger.", kAdvice);
  const auto key = LoadOrCreateFingerprintKey(options.data_dir);
  if (!key.ok()) return Bad(key.status().message(), kAdvice);
  const DatasetDescription& description = dataset.description();
  const auto checks =
      dataset.Checks(audit->FilesOf(description.population, description.name),
                     KeyOfFiles(*key));
  if (!checks.ok()) return Bad(checks.status().message(), kAdvice);
  if (options.quick) {
    return Doubtful(StrCat("The names and lengths of its ", checks->size(),
                           " files are those of the import. What they hold was "
                           "not read (--quick)."),
                    "Run doctor without --quick.");
  }
  return Judged(CheckFiles(*checks, KeyOfFiles(*key)),
                checks->size() == 1 ? "Its file is that of the import."
                                    : StrCat("All of its ", checks->size(),
                                             " files are those of the import."),
                kAdvice);
}

void AddDatasets(const CuratorDoctorOptions& options, const LedgerAudit* audit,
                 CheckList* checks) {
  const absl::Status served = Catalog::Open(options.data_dir).status();
  // Each by itself: one that cannot be opened hides no other.
  std::vector<std::unique_ptr<Dataset>> all;
  const auto names = DatasetNames(options.data_dir);
  for (const std::string& name :
       names.ok() ? *names : std::vector<std::string>()) {
    absl::StatusOr<std::unique_ptr<Dataset>> dataset =
        Dataset::OpenNamed(options.data_dir, name);
    if (dataset.ok()) all.push_back(*std::move(dataset));
  }
  checks->Add("data sets",
              Judged(served, StrCat(all.size(), " can be served."),
                     "Restore it from a backup, or move it away and import "
                     "its file again under a new name."));
  bool sparse = false;
  std::set<std::string> weak;
  std::vector<DatasetDescription> descriptions;
  for (const std::unique_ptr<Dataset>& dataset : all) {
    descriptions.push_back(dataset->description());
    sparse = sparse || dataset->sparse();
    checks->Add(StrCat("data set ", dataset->description().name),
                DatasetPromise(dataset->description(), audit, &weak));
    const std::string& name = dataset->description().name;
    checks->Add(StrCat("files of ", name), FilesOf(options, *dataset, audit));
    checks->Add(StrCat("fingerprints of ", name),
                FingerprintsIn(DatasetDirectory(options.data_dir, name)));
    if (!dataset->description().ratings.has_value()) continue;
    checks->Add(StrCat("people of ", name),
                Judged(RatedUsers::Read(
                           DatasetDirectory(options.data_dir, name), *dataset)
                           .status(),
                       "The list of their ids can be read.",
                       "Restore the data set from a backup: without the list, "
                       "people's recommendations cannot be found."));
  }
  AddGrowth(descriptions, checks);
  if (sparse && !options.paced) {
    checks->Add("pace", Doubtful("Sparse data are served without paced mode: "
                                 "the time of replies may depend on the data.",
                                 "Serve with --pace-milliseconds if analysts "
                                 "may measure that time."));
  }
}

// A removal that was killed leaves people's data behind.
Finding RemovedData(const std::string& data_dir) {
  const auto left = RemovedWithData(data_dir);
  if (!left.ok()) {
    return Bad(left.status().message(),
               "Let the curator's user read the data directory.");
  }
  const auto names = RemovedNames(data_dir);
  for (const std::string& name :
       names.ok() ? *names : std::vector<std::string>()) {
    const absl::Status gone = CheckNotRemoved(data_dir, name);
    std::error_code error;
    if (std::filesystem::exists(DatasetDirectory(data_dir, name), error))
      return Bad(gone.message(), "Move it out of the data directory.");
  }
  if (left->empty()) return Good("Nothing is left of their data.");
  return Bad(StrCat("The data of ", absl::StrJoin(*left, ", "),
                    " were removed and are still there."),
             "Delete all of DATA_DIR/datasets/.removed/NAME but dataset.json "
             "and people.bin, and DATA_DIR/parts/NAME, or run "
             "`dpnmf-curator remove` on another data set, which deletes them "
             "first.");
}

Finding WidthOf(const std::vector<Grant>& grants) {
  std::vector<std::string> wide, uncapped;
  for (const Grant& grant : grants) {
    if (!grant.roles.contains(Role::kAnalyst)) continue;
    if (grant.all_datasets) wide.push_back(grant.identity);
    if (grant.epsilon_by_population.empty()) uncapped.push_back(grant.identity);
  }
  if (!wide.empty()) {
    return Doubtful(
        StrCat("May train on every data set, including future ones: ",
               absl::StrJoin(wide, ", "), "."),
        "List the data sets by name.");
  }
  if (uncapped.size() > 1) {
    return Doubtful(
        StrCat("Share a budget without caps of their own: ",
               absl::StrJoin(uncapped, ", "), "."),
        "Give `budgets`; otherwise one identity may spend everything.");
  }
  return Good("Data sets and budgets are listed.");
}

// Names that the allow-list may have: data sets, the federation (whose curators
// know the data set by its name) and populations.
struct KnownNames {
  std::vector<std::string> datasets, populations;
};

KnownNames NamesIn(const CuratorDoctorOptions& options,
                   const absl::StatusOr<LedgerAudit>& audit) {
  KnownNames known;
  std::set<std::string> populations;
  known.datasets =
      DatasetNames(options.data_dir).value_or(std::vector<std::string>());
  for (const std::string& name : known.datasets) {
    const auto dataset = Dataset::OpenNamed(options.data_dir, name);
    if (dataset.ok()) populations.insert((*dataset)->description().population);
  }
  if (audit.ok())
    for (const PopulationPolicy& policy : audit->policies)
      populations.insert(policy.population);
  known.populations.assign(populations.begin(), populations.end());
  if (const auto federation = ReadFederation(options.federation);
      federation.ok())
    known.datasets.push_back(federation->name);
  return known;
}

// Names of nothing, then the width of the grants.
Finding GrantsIn(const std::vector<Grant>& grants, const KnownNames& known) {
  const Finding width = WidthOf(grants);
  const std::vector<std::string> unknown =
      UnknownGrantNames(grants, known.datasets, known.populations);
  if (unknown.empty()) return width;
  const bool wide = width.result != Finding::kOk;
  return Doubtful(
      StrCat(absl::StrJoin(unknown, " "), wide ? " " + width.text : ""),
      StrCat("Correct the names, or import what they are for.",
             wide ? " " + width.remedy : ""));
}

// Import asks these records who was published.
void AddPublications(const std::string& data_dir, const LedgerAudit& audit,
                     CheckList* checks) {
  std::vector<Digest> labels;
  for (const LedgerRow& row : audit.rows)
    if (row.kind == RowKind::kVoid || row.kind == RowKind::kOverlap)
      labels.push_back(row.request_hash);
  const auto records = ReadPublished(data_dir);
  if (labels.empty() && records.ok() && records->empty()) return;
  checks->Add("publications",
              Judged(CheckRecords(data_dir, labels),
                     "The people of published tables are known.",
                     "Restore publications/ from a backup; until then imports "
                     "are refused."));
}

void AddAllowList(const CuratorDoctorOptions& options,
                  const absl::StatusOr<LedgerAudit>& audit, CheckList* checks) {
  const std::string& path = options.allow_list;
  const absl::StatusOr<std::vector<Grant>> grants =
      ReadAllowList(path, kCuratorAllowList);
  if (checks->Add(
          "allow-list",
          Judged(
              grants.status(),
              StrCat(grants.ok() ? grants->size() : 0, " entries."),
              "Access is denied to everyone until the file is corrected."))) {
    checks->Add("allow-list mode", NotWritableByOthers(path));
    checks->Add("grants", GrantsIn(*grants, NamesIn(options, audit)));
  }
}

// Warns if ranks may be elsewhere: the sums that they exchange have no noise.
Finding NetworkOfRanks(const CuratorDoctorOptions& options) {
  if (!options.private_network) {
    return Good(StrCat(options.ranks,
                       " ranks on this machine: exact sums do not leave it."));
  }
  return Doubtful(
      "Ranks may be on other machines: exact private sums cross the network "
      "between them, not encrypted, and MPI's ports are open there to "
      "everybody, without authentication.",
      "Use a separate network or an encrypted tunnel; see "
      "docs/reference/ranks.md.");
}

Finding LatestBackup(const std::string& backup, bool quick, std::int64_t now) {
  if (backup.empty()) {
    return Doubtful(
        "No backup is given.",
        "Make one (dpnmf-curator backup) and give it with --backup DIR.");
  }
  const absl::StatusOr<BackupReport> report =
      CheckBackup(backup, "", quick ? CheckDepth::kQuick : CheckDepth::kWhole);
  if (!report.ok()) return Bad(report.status().message(), "Make another.");
  struct stat info {};
  stat((backup + "/manifest.json").c_str(), &info);
  const std::int64_t days = (now - info.st_mtime) / kSecondsPerDay;
  const std::string text =
      StrCat(backup, " is complete and ", days, " days old.",
             quick ? " What its files hold was not read (--quick)." : "");
  if (days <= 7) return Good(text);
  return Doubtful(
      text,
      "Make backups from a timer. One that lacks charges cannot be restored.");
}

}  // namespace

v1::DoctorReport ExamineCurator(const CuratorDoctorOptions& options) {
  Ledger::Options ledger;
  ledger.directory = LedgerDirectory(options.data_dir);
  ledger.anchor_directory = options.anchor_dir;
  const absl::StatusOr<LedgerAudit> audit = Ledger::Audit(ledger);
  CheckList checks;
  checks.Add("user", NotRoot());
  AddTlsFiles(options.tls, Purpose::kServer, options.now, &checks);
  AddAllowList(options, audit, &checks);
  checks.Add("data directory", PrivateDirectory(options.data_dir));
  checks.Add("anchor", AnchorPlace(options.data_dir, options.anchor_dir));
  checks.Add(
      "ledger",
      Judged(audit.status(),
             StrCat(audit.ok() ? audit->rows.size() : 0,
                    " rows are verified, and the anchor agrees."),
             "See docs/reference/operations.md, incidents. Do not serve this "
             "data directory."));
  if (audit.ok()) checks.Add("clock", Clock(audit->rows, options.now));
  if (audit.ok()) AddPublications(options.data_dir, *audit, &checks);
  AddDatasets(options, audit.ok() ? &*audit : nullptr, &checks);
  if (options.ranks > 0) checks.Add("ranks", NetworkOfRanks(options));
  checks.Add("removed data sets", RemovedData(options.data_dir));
  checks.Add("audit log", AuditLogFile(options.audit_log));
  checks.Add("metrics", MetricsAddress(options.metrics_listen));
  checks.Add("disk of the data", FreeSpace(options.data_dir));
  if (!options.anchor_dir.empty())
    checks.Add("disk of the anchor", FreeSpace(options.anchor_dir));
  checks.Add("backup",
             LatestBackup(options.backup, options.quick, options.now));
  return checks.report();
}

}  // namespace dpnmf::curator
