#include "curator/commands/flags/data_path_flags.h"

#include <cstdio>

#include "curator/ledger/data_paths.h"

namespace dpnmf::curator {

std::vector<Flag> DataPathFlags(std::string* data_dir,
                                std::string* anchor_dir) {
  return {Flag("--data-dir", data_dir,
               "Directory of data sets, ledger and releases",
               {.value = "DIR", .env = true, .required = true}),
          AnchorDirFlag(anchor_dir)};
}

Flag AnchorDirFlag(std::string* anchor_dir) {
  return Flag("--anchor-dir", anchor_dir,
              "Directory of the ledger's anchor; keep it on another volume "
              "[DATA_DIR.anchor]",
              {.value = "DIR", .env = true});
}

Flag NoAnchorFlag(bool* no_anchor) {
  return Flag("--no-anchor", no_anchor,
              "The curator is served without an anchor: a rollback of the "
              "ledger is not detected");
}

Flag AuditLogFlag(std::string* audit_log) {
  return Flag("--audit-log", audit_log, "Audit log file [DATA_DIR/audit.jsonl]",
              {.value = "FILE", .env = true});
}

absl::StatusOr<Ledger::Options> LedgerPathsOf(const DataPaths& paths) {
  return LedgerPaths(paths.data_dir, paths.anchor_dir, paths.no_anchor);
}

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

}  // namespace dpnmf::curator
