#include "curator/maintenance/retention.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"

namespace dpnmf::curator {
namespace {

struct KnownRun {
  std::string id;
  std::vector<Digest> charges;
  std::optional<std::int64_t> closed;
};

// In the order in which they were opened.
std::vector<KnownRun> RunsOf(const std::vector<LedgerRow>& rows) {
  std::vector<KnownRun> runs;
  std::map<std::string, std::size_t> index;
  for (const LedgerRow& row : rows) {
    if (row.run_id.empty()) continue;
    const auto [at, is_new] = index.emplace(row.run_id, runs.size());
    if (is_new) runs.push_back({row.run_id, {}, std::nullopt});
    KnownRun& run = runs[at->second];
    if (row.kind == RowKind::kCharge) run.charges.push_back(row.hash);
    if (row.kind == RowKind::kClose) run.closed = row.unix_seconds;
  }
  return runs;
}

absl::Status CheckNamed(const std::vector<KnownRun>& runs,
                        const std::string& id) {
  for (const KnownRun& run : runs) {
    if (run.id != id) continue;
    if (run.closed.has_value()) return absl::OkStatus();
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "run-not-ended",
        absl::StrCat("The run ", id,
                     " is open: its analyst may still ask for its releases."));
  }
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 absl::StrCat("The ledger has no run ", id,
                              ": give the full id, as `dpnmf-curator ledger "
                              "show --format json` prints it."));
}

bool IsMeant(const KnownRun& run, const RetentionRequest& request) {
  if (!run.closed.has_value()) return false;
  return (request.closed_before.has_value() &&
          *run.closed < *request.closed_before) ||
         std::find(request.runs.begin(), request.runs.end(), run.id) !=
             request.runs.end();
}

absl::StatusOr<ForgottenRun> Forget(const KnownRun& run,
                                    const std::string& directory,
                                    bool dry_run) {
  namespace fs = std::filesystem;
  ForgottenRun forgotten{run.id, 0, 0};
  for (const Digest& charge : run.charges) {
    const std::string path =
        absl::StrCat(directory, "/", HexOf(charge), ".release");
    std::error_code failure;
    const std::uintmax_t size = fs::file_size(path, failure);
    if (failure) continue;  // gone already
    if (!dry_run) DPNMF_RETURN_IF_ERROR(RemoveFile(path));
    ++forgotten.releases;
    forgotten.bytes += size;
  }
  return forgotten;
}

}  // namespace

absl::StatusOr<std::vector<ForgottenRun>> ForgetReleases(
    const std::vector<LedgerRow>& rows, const std::string& release_directory,
    const RetentionRequest& request) {
  const std::vector<KnownRun> runs = RunsOf(rows);
  for (const std::string& id : request.runs)
    DPNMF_RETURN_IF_ERROR(CheckNamed(runs, id));
  std::vector<ForgottenRun> all;
  for (const KnownRun& run : runs) {
    if (!IsMeant(run, request)) continue;
    DPNMF_ASSIGN_OR_RETURN(ForgottenRun forgotten,
                           Forget(run, release_directory, request.dry_run));
    if (forgotten.releases > 0) all.push_back(std::move(forgotten));
  }
  if (!all.empty() && !request.dry_run)
    DPNMF_RETURN_IF_ERROR(SyncDirectory(release_directory));
  return all;
}

}  // namespace dpnmf::curator
