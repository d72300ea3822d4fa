#include "client/session/run_id.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

constexpr std::size_t kRunIdDigits = 32;
constexpr std::size_t kShown = 4;

absl::Status Ambiguous(const std::string& prefix,
                       std::vector<std::string> matches) {
  const bool more = matches.size() > kShown;
  if (more) matches.resize(kShown);
  return Refusal(
      absl::StatusCode::kInvalidArgument, "run-id-ambiguous",
      absl::StrCat("More than one run begins with '", prefix,
                   "': ", absl::StrJoin(matches, ", "),
                   more ? ", ...; give more digits." : "; give more digits."));
}

}  // namespace

absl::StatusOr<std::string> ResolveRunId(const AnalystClient& client,
                                         const std::string& prefix) {
  const std::string digits = absl::AsciiStrToLower(prefix);
  if (digits.empty() || digits.size() > kRunIdDigits ||
      !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "run-id-malformed",
                   absl::StrCat("'", prefix,
                                "' is not a run id: give the first hexadecimal "
                                "digits that 'dpnmf runs' shows."));
  }
  if (digits.size() == kRunIdDigits) return digits;
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.ListRuns());
  std::vector<std::string> matches;
  for (const v1::Run& run : reply.runs())
    if (absl::StartsWith(run.run_id(), digits)) matches.push_back(run.run_id());
  if (matches.size() == 1) return matches[0];
  if (matches.size() > 1) return Ambiguous(prefix, std::move(matches));
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 absl::StrCat("No run begins with '", prefix,
                              "'; 'dpnmf runs' shows them."));
}

}  // namespace dpnmf::cli
