// Flags by which a command of dpnmf-curator finds the ledger.
#ifndef DPNMF_CURATOR_COMMANDS_FLAGS_DATA_PATH_FLAGS_H_
#define DPNMF_CURATOR_COMMANDS_FLAGS_DATA_PATH_FLAGS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/error.h"
#include "common/cli/program.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

// --data-dir (required) and --anchor-dir, or their environment. Both strings
// outlive the table.
std::vector<Flag> DataPathFlags(std::string* data_dir, std::string* anchor_dir);

// The options of commands that read or write a ledger derive from it.
struct DataPaths {
  std::string data_dir, anchor_dir;
  bool no_anchor = false;
};

absl::StatusOr<Ledger::Options> LedgerPathsOf(const DataPaths& paths);

// The targets outlive the flags.
Flag AnchorDirFlag(std::string* anchor_dir);
Flag NoAnchorFlag(bool* no_anchor);
Flag AuditLogFlag(std::string* audit_log);

// To standard output.
void Print(const std::string& text);

// A command with the flags of DataPathFlags and `more`.
template <class Options>
Command LedgerPathCommand(const char* name, const char* summary,
                          const char* footer,
                          const std::shared_ptr<Options>& options,
                          absl::Status (*action)(const Options&),
                          const std::vector<Flag>& more) {
  std::vector<Flag> flags =
      DataPathFlags(&options->data_dir, &options->anchor_dir);
  flags.insert(flags.end(), more.begin(), more.end());
  return {.name = name,
          .summary = summary,
          .footer = footer,
          .flags = std::move(flags),
          .run = [options, action]() -> absl::StatusOr<ExitCode> {
            DPNMF_RETURN_IF_ERROR(action(*options));
            return kExitOk;
          }};
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_FLAGS_DATA_PATH_FLAGS_H_
