// The flags of the commands that make data sets: import, people, add-sums and
// join-parts. Each command takes some of one table.
#ifndef DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_FLAGS_H_
#define DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_FLAGS_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/cli/program.h"
#include "curator/import/import.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

// The flags as typed; words become values in ImportOptionsOf.
struct ImportFlags {
  ImportOptions import;
  // Those of `import`, once they are given.
  std::optional<double> epsilon, delta;
  std::string users;
  std::string format_in = "auto";
  std::string header = "auto";
  std::string delimiter;
  std::string decimal;
  std::string person_rows = "one";
  bool dry_run = false;
  std::string conversion = "gaussian";
  std::string adjacency = "replace_one";
  std::string normalise;
  std::string rating_range;
  std::string classes;
  std::string range;
  bool integers = false;
  std::string unlisted = "refuse";
  std::string shard_of;
  std::string anchor_dir;
  bool no_anchor = false;
  bool weak_delta = false;
  bool void_guarantee = false;
  bool accept_overlap = false;
  bool online = false;
  std::string format = "text";
};

// INVALID_ARGUMENT with the code of the flag whose words say nothing:
// "range-out-of-range", errors of ParsePartRange and ParseRatingRange. Words of
// a list must be of the list: the program checks it before.
absl::StatusOr<ImportOptions> ImportOptionsOf(const ImportFlags& flags);

// Promise that the first import of a population makes.
PopulationPolicy PolicyOf(const ImportOptions& options);

// All flags; `*flags` must outlive them. None of them is required by the
// table: MissingFlag says what is.
std::vector<Flag> AllImportFlags(ImportFlags* flags);

// The name of a flag that an import needs and that is not given, unless it is a
// dry run; "" if there is none.
std::string MissingFlag(const ImportFlags& flags);

// Those of these names, in the order of the names; what an import needs is
// required.
std::vector<Flag> ImportFlagsNamed(
    std::initializer_list<std::string_view> names, ImportFlags* flags);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_FLAGS_H_
