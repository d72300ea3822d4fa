// Shares of the people in this process, without MPI.
#ifndef DPNMF_TESTS_CURATOR_RANKS_IN_SHARES_H_
#define DPNMF_TESTS_CURATOR_RANKS_IN_SHARES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "curator/import/people/fingerprint.h"
#include "curator/ranks/share_sums.h"
#include "tests/curator/ranks/rank_fixtures.h"

namespace dpnmf::curator {

inline RankCommand CommandFor(const std::string& data_dir, const Dataset& data,
                              const AskedRun& run, const AskedRound& round) {
  RankCommand command;
  command.number = 5;
  command.deadline_ms = 1000;
  command.dataset = data.description().name;
  command.files = data.private_files();
  command.file_key = KeyOfFiles(LoadOrCreateFingerprintKey(data_dir).value());
  command.release = std::string(round.kind->name);
  for (const PartPlan& part : round.parts)
    command.entries += EntryCount(part.rows, part.columns, part.symmetric);
  command.coefficients = 1;
  command.parameters = run.parameters;
  command.plan = run.plan;
  command.input = round.input;
  return command;
}

// All shares in this process, each with the data directory that `place` says,
// the first one the curator's; every command goes through its bytes.
inline ComputeRound InShares(
    const std::function<std::string(std::uint64_t)>& place, const Dataset& data,
    std::uint64_t count, int threads) {
  auto shares = std::make_shared<std::vector<std::unique_ptr<ShareSums>>>();
  for (std::uint64_t i = 0; i < count; ++i) {
    shares->push_back(
        std::make_unique<ShareSums>(place(i), Share{i, count}, threads));
  }
  const std::string data_dir = place(0);
  return [=, &data](const AskedRun& run,
                    const AskedRound& round) -> absl::StatusOr<RoundSums> {
    const auto command =
        CommandOf(BytesOf(CommandFor(data_dir, data, run, round)));
    if (!command.has_value()) return absl::InternalError("codec");
    std::vector<std::uint64_t> words(command->entries + 3);
    for (const auto& share : *shares) {
      const std::vector<std::uint64_t> own = share->Words(*command);
      EXPECT_EQ(own.size(), words.size());
      for (std::size_t i = 0; i < words.size(); ++i) words[i] += own.at(i);
    }
    EXPECT_EQ(words[0], 0u);
    EXPECT_EQ(words[1], data.private_whole_count());
    EXPECT_EQ(words.back(),
              LinearCheck(std::span(words).subspan(2, command->entries)));
    RoundSums sums;
    auto next = words.begin() + 2;
    for (const PartPlan& part : round.parts) {
      const auto entries = static_cast<std::ptrdiff_t>(
          EntryCount(part.rows, part.columns, part.symmetric));
      sums.parts.emplace_back(next, next + entries);
      next += entries;
    }
    return sums;
  };
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_RANKS_IN_SHARES_H_
