// The answer of rank 0 to a command, and when it is accepted.
//
// The job is trusted with the data, but its answers are checked. An answer is
// accepted only if it came in time, is complete, has the right check, is for
// this command, from all ranks and about all people, and if no sum is more than
// so many people can add.
#ifndef DPNMF_CURATOR_RANKS_RANK_ANSWER_H_
#define DPNMF_CURATOR_RANKS_RANK_ANSWER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "curator/mechanism/round_sums.h"
#include "curator/ranks/frames.h"

namespace dpnmf::curator {

// UNAVAILABLE "ranks-failed".
absl::Status RanksFailed();

// Sends the command and waits for its answer: the words, as many as the command
// has entries and no more memory than that. Nothing if words of an earlier
// answer are left in the socket, if it is closed, or at the deadline.
std::optional<std::vector<std::uint64_t>> AskRanks(int socket,
                                                   const RankCommand& command,
                                                   SteadyTime deadline);

// Why such words are no answer to the command, for the operator's log alone;
// null if they are one.
const char* ProblemOfAnswer(const std::vector<std::uint64_t>& answer,
                            const RankCommand& command, std::uint64_t people);

// No entry of a part is negative, or more than `people` can add, and
// `most_people` could not reach 2^62. By Cauchy and Schwarz, and since the gate
// lets through no entry above floor(c 2^q), a person adds at most floor(sqrt
// left) floor(sqrt right), or of a part that states its whole sensitivity
// floor(sqrt(left right)). INTERNAL "sums-overflow", "sums-malformed".
absl::Status CheckPart(const PartPlan& part, std::uint64_t most_people,
                       std::uint64_t people,
                       std::span<const std::int64_t> sums);

// The sums of an answer that has no problem; the command's entries are those of
// `parts`. RanksFailed if a rank says that it failed; errors of CheckPart.
absl::StatusOr<RoundSums> SumsOfAnswer(const std::vector<std::uint64_t>& answer,
                                       const std::vector<PartPlan>& parts,
                                       std::uint64_t most_people,
                                       std::uint64_t people);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_RANK_ANSWER_H_
