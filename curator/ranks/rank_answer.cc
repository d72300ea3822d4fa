#include "curator/ranks/rank_answer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/base/error.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/integer_root.h"

namespace dpnmf::curator {
namespace {

absl::Status AnswerMalformed() {
  return Refusal(absl::StatusCode::kInternal, "sums-malformed",
                 "The sums of the ranks do not match the run's plan, and "
                 "nothing was charged.");
}

// Checks that no byte of an earlier answer is left and the other end is open.
bool IsQuiet(int socket) {
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

absl::Status RanksFailed() {
  return Refusal(absl::StatusCode::kUnavailable, "ranks-failed",
                 "The sums of the round were not computed, and nothing was "
                 "charged: ask for the round again.");
}

std::optional<std::vector<std::uint64_t>> AskRanks(int socket,
                                                   const RankCommand& command,
                                                   SteadyTime deadline) {
  const std::string bytes = BytesOf(command);
  const std::uint64_t length = bytes.size();
  std::vector<std::uint64_t> answer(AnswerWords(command.entries));
  const bool complete =
      IsQuiet(socket) &&
      SendAll(socket, std::as_bytes(std::span(&length, 1)), deadline) ==
          Transfer::kDone &&
      SendAll(socket, std::as_bytes(std::span(bytes)), deadline) ==
          Transfer::kDone &&
      ReceiveAll(socket, std::as_writable_bytes(std::span(answer)), deadline) ==
          Transfer::kDone;
  if (!complete) return std::nullopt;
  return answer;
}

const char* ProblemOfAnswer(const std::vector<std::uint64_t>& answer,
                            const RankCommand& command, std::uint64_t people) {
  if (answer.size() != AnswerWords(command.entries) ||
      answer[0] != kAnswerMagic || answer[1] != command.number ||
      answer.back() != kAnswerEnd || answer[4] != command.entries)
    return "the answer belongs to another command";
  const auto entries = std::span(answer).subspan(kAnswerHead, command.entries);
  if (LinearCheck(entries) != answer[kAnswerHead + command.entries])
    return "the check of the sums is wrong";
  if (answer[3] != people) return "the ranks do not hold all people once";
  return nullptr;
}

absl::Status CheckPart(const PartPlan& part, std::uint64_t most_people,
                       std::uint64_t people,
                       std::span<const std::int64_t> sums) {
  const std::uint64_t of_a_person =
      part.whole_sensitivity
          ? FloorRoot(Uint128{part.left_norm_steps} * part.right_norm_steps)
          : FloorRoot(part.left_norm_steps) * FloorRoot(part.right_norm_steps);
  if (Uint128{most_people} * of_a_person >= Uint128{1} << 62 ||
      people > most_people) {
    return Refusal(absl::StatusCode::kInternal, "sums-overflow",
                   "The sums over all people could leave the range of exact "
                   "sums.");
  }
  if (sums.size() != EntryCount(part.rows, part.columns, part.symmetric))
    return AnswerMalformed();
  const auto most = static_cast<std::int64_t>(people * of_a_person);
  if (std::any_of(sums.begin(), sums.end(),
                  [most](std::int64_t sum) { return sum < 0 || sum > most; }))
    return AnswerMalformed();
  return absl::OkStatus();
}

absl::StatusOr<RoundSums> SumsOfAnswer(const std::vector<std::uint64_t>& answer,
                                       const std::vector<PartPlan>& parts,
                                       std::uint64_t most_people,
                                       std::uint64_t people) {
  // Ranks that say that they failed are well: the others keep their H.
  if (answer[2] != 0) return RanksFailed();
  RoundSums sums;
  auto next = answer.begin() + kAnswerHead;
  for (const PartPlan& part : parts) {
    const auto entries = static_cast<std::ptrdiff_t>(
        EntryCount(part.rows, part.columns, part.symmetric));
    sums.parts.emplace_back(next, next + entries);
    next += entries;
    DPNMF_RETURN_IF_ERROR(
        CheckPart(part, most_people, people, sums.parts.back()));
  }
  return sums;
}

}  // namespace dpnmf::curator
