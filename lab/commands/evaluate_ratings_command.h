// The half of `dpnmf-lab evaluate` that reads ratings.
#ifndef DPNMF_LAB_COMMANDS_EVALUATE_RATINGS_COMMAND_H_
#define DPNMF_LAB_COMMANDS_EVALUATE_RATINGS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/exit_code.h"
#include "common/cli/program.h"
#include "lab/ratings/options.h"

namespace dpnmf::curator::lab {

// Values that the flags point to. The caller fills in the values that both
// halves read (epsilon, delta, conversion, rank, repeats, seed, threads,
// output, data-dir, public).
struct EvaluateRatingsFlags {
  EvaluateRatingsOptions options;
  std::string adjacency = "replace_one", by = "rating", unlisted = "refuse";
};

// They need `--ratings`, as their rules say. `flags` outlives them.
std::vector<Flag> RatingsFlags(EvaluateRatingsFlags* flags);

absl::StatusOr<ExitCode> RunEvaluateRatings(const EvaluateRatingsFlags& flags);

// "trial 3 of 20: TITLE", one line that is rewritten on a terminal.
void PrintTrial(std::size_t number, std::size_t planned,
                const std::string& title);
void ClearTrial();
// NOT_FOUND "data-dir-missing" if it was given and is not there.
absl::Status CheckDataDir(const std::string& data_dir);
// Now, as evaluations.log says it.
std::string TimeOfUse();

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMMANDS_EVALUATE_RATINGS_COMMAND_H_
