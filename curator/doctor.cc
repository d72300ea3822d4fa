#include "curator/doctor.h"

#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/access/allow_list.h"
#include "common/rpc/machine_checks.h"
#include "curator/catalog.h"
#include "curator/keep/backup.h"
#include "curator/release/layout.h"
#include "curator/release/ledger.h"
#include "curator/release/places.h"

namespace dpnmf::curator {
namespace {

constexpr std::int64_t kSecondsPerDay = 24 * 3600;
constexpr double kWeakEpsilon = 10;

// Whether both lie on one volume: then one accident takes both.
bool OnOneVolume(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 &&
         a.st_dev == b.st_dev;
}

void CheckAnchor(const CuratorDoctorOptions& options, Findings* findings) {
  constexpr char kName[] = "anchor";
  if (options.anchor_dir.empty()) {
    findings->Fail(kName, "There is none: a rollback would not be noticed.",
                   "Serve without --no-anchor.");
  } else if (const absl::Status place =
                 CheckAnchorPlace(options.data_dir, options.anchor_dir);
             !place.ok()) {
    findings->Fail(kName, place.message(),
                   "Stop the server, move the anchor, and name its new "
                   "--anchor-dir.");
  } else if (OnOneVolume(options.data_dir, options.anchor_dir)) {
    findings->Warn(kName,
                   absl::StrCat(options.anchor_dir,
                                " lies on the same volume as the ledger."),
                   "Put it on a volume of its own (--anchor-dir), with "
                   "snapshots of its own.");
  } else {
    findings->Ok(kName, absl::StrCat(options.anchor_dir,
                                     " lies on a volume of its own."));
  }
}

// Nothing if the ledger cannot be trusted.
absl::StatusOr<LedgerAudit> CheckLedger(const CuratorDoctorOptions& options,
                                        Findings* findings) {
  Ledger::Options ledger;
  ledger.directory = LedgerDirectory(options.data_dir);
  ledger.anchor_directory = options.anchor_dir;
  absl::StatusOr<LedgerAudit> audit = Ledger::Audit(ledger);
  findings->Judge(
      "ledger", audit.status(),
      audit.ok() ? absl::StrCat(audit->rows.size(),
                                " rows, each verified, and the anchor agrees.")
                 : "",
      "See docs/operations.md, incidents. Do not serve it.");
  return audit;
}

void CheckClock(const LedgerAudit& audit, std::int64_t now,
                Findings* findings) {
  const std::int64_t last =
      audit.rows.empty() ? 0 : audit.rows.back().unix_seconds;
  if (now < last) {
    findings->Warn("clock",
                   absl::StrCat("This machine's clock says ", TimeText(now),
                                ", before the ledger's last row."),
                   "Set the clock (timedatectl set-ntp true).");
  } else {
    findings->Ok("clock",
                 absl::StrCat(TimeText(now), ", after the ledger's last row."));
  }
}

void CheckDatasets(const CuratorDoctorOptions& options,
                   const LedgerAudit* audit, Findings* findings) {
  const absl::StatusOr<Catalog> catalog = Catalog::Open(options.data_dir);
  if (!findings->Judge(
          "data sets", catalog.status(),
          catalog.ok() ? absl::StrCat(catalog->All().size(), " can be served.")
                       : "",
          "Import it again under a new name, or restore it.")) {
    return;
  }
  bool sparse = false;
  for (const Dataset* dataset : catalog->All()) {
    const DatasetDescription& description = dataset->description();
    sparse = sparse || dataset->sparse();
    const std::string name = absl::StrCat("data set ", description.name);
    const double n = static_cast<double>(description.users);
    bool known = audit == nullptr;
    if (audit != nullptr) {
      for (const PopulationPolicy& policy : audit->policies)
        known = known || policy.population == description.population;
    }
    if (!known) {
      findings->Fail(name, "The ledger does not know its population.",
                     "Restore the ledger that belongs to this directory.");
    } else if (!description.is_public && !(description.delta * n < 1)) {
      findings->Warn(name,
                     "Its delta is not below one in the number of people.",
                     "A new population takes a smaller delta; this one's is "
                     "fixed.");
    } else if (!description.is_public && description.epsilon > kWeakEpsilon) {
      findings->Warn(name,
                     absl::StrCat("Its cap, epsilon ", description.epsilon,
                                  ", is a weak promise."),
                     "See docs/sign_off.md; a cap is fixed for good.");
    } else {
      findings->Ok(name, "Its population has its promise in the ledger.");
    }
  }
  if (sparse && !options.paced) {
    findings->Warn("pace",
                   "Sparse data are served without paced mode: how long "
                   "replies take may depend on them.",
                   "Serve with --pace-milliseconds if analysts may measure "
                   "that.");
  }
}

void CheckAllowList(const std::string& path, Findings* findings) {
  const absl::StatusOr<ParsedAllowList> list =
      ReadAllowList(path, kCuratorAllowList);
  if (!findings->Judge(
          "allow-list", list.status(),
          list.ok() ? absl::StrCat(list->grants.size(), " entries.") : "",
          "Access is denied to everyone until the file is corrected.")) {
    return;
  }
  CheckNotWritableByOthers("allow-list mode", path, findings);
  std::vector<std::string> wide, uncapped;
  for (const Grant& grant : list->grants) {
    if (!grant.roles.contains(Role::kAnalyst)) continue;
    if (grant.all_datasets) wide.push_back(grant.identity);
    if (grant.epsilon_by_population.empty()) uncapped.push_back(grant.identity);
  }
  if (!wide.empty()) {
    findings->Warn("grants",
                   absl::StrCat("May train on every data set, also on those to "
                                "come: ",
                                absl::StrJoin(wide, ", "), "."),
                   "Name the data sets.");
  } else if (uncapped.size() > 1) {
    findings->Warn("grants",
                   absl::StrCat("Share a budget without a cap of their own: ",
                                absl::StrJoin(uncapped, ", "), "."),
                   "Give `budgets`, or one may spend what all share.");
  } else {
    findings->Ok("grants", "Data sets and budgets are named.");
  }
}

void CheckLatestBackup(const CuratorDoctorOptions& options,
                       Findings* findings) {
  constexpr char kName[] = "backup";
  if (options.backup.empty()) {
    findings->Warn(kName, "None is named.",
                   "Make one (dpnmf-curator backup) and name it here with "
                   "--backup DIR.");
    return;
  }
  const absl::StatusOr<BackupReport> report = CheckBackup(options.backup, "");
  if (!report.ok()) {
    findings->Fail(kName, report.status().message(), "Make another.");
    return;
  }
  struct stat info {};
  stat((options.backup + "/manifest.json").c_str(), &info);
  const std::int64_t days = (options.now - info.st_mtime) / kSecondsPerDay;
  const std::string finding =
      absl::StrCat(options.backup, " is whole, ", days, " days old.");
  if (days > 7) {
    findings->Warn(kName, finding,
                   "Make them from a timer. One that lacks charges cannot be "
                   "restored.");
  } else {
    findings->Ok(kName, finding);
  }
}

}  // namespace

v1::DoctorReport ExamineCurator(const CuratorDoctorOptions& options) {
  v1::DoctorReport report;
  Findings findings(&report);
  CheckUser(&findings);
  CheckOwnFiles(options.tls, Purpose::kServer, options.now, &findings);
  CheckAllowList(options.allow_list, &findings);
  CheckPrivateDirectory("data directory", options.data_dir, &findings);
  CheckAnchor(options, &findings);
  const absl::StatusOr<LedgerAudit> audit = CheckLedger(options, &findings);
  if (audit.ok()) CheckClock(*audit, options.now, &findings);
  CheckDatasets(options, audit.ok() ? &*audit : nullptr, &findings);
  CheckAuditLog(options.audit_log, &findings);
  CheckMetricsAddress(options.metrics_listen, &findings);
  CheckDisk("disk of the data", options.data_dir, &findings);
  if (!options.anchor_dir.empty())
    CheckDisk("disk of the anchor", options.anchor_dir, &findings);
  CheckLatestBackup(options, &findings);
  return report;
}

}  // namespace dpnmf::curator
