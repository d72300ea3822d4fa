// Work of one rank: the exact sums of a round over its share of the people,
// with the code of one process. No MPI here.
#ifndef DPNMF_CURATOR_RANKS_SHARE_SUMS_H_
#define DPNMF_CURATOR_RANKS_SHARE_SUMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"
#include "curator/mechanism/round_sums.h"
#include "curator/ranks/frames.h"

namespace dpnmf::curator {

// Opens data sets at first use, when it verifies the files of its share, and
// keeps H of each run between its rounds. Not
// thread-safe; computes on `threads` threads.
class ShareSums {
 public:
  ShareSums(std::string data_dir, const Share& share, int threads);

  // The words that the ranks add up, entry by entry modulo 2^64, of every share
  // as many: ranks that failed, people counted, the entries of all parts in the
  // plan's order, and their LinearCheck. A share that fails, for whatever
  // reason, says so on standard error and in its first word, and adds nothing
  // else.
  std::vector<std::uint64_t> Words(const RankCommand& command);

 private:
  absl::StatusOr<RoundSums> Compute(const RankCommand& command);
  absl::StatusOr<const Dataset*> Find(const RankCommand& command);

  const std::string data_dir_;
  const Share share_;
  const int threads_;
  std::map<std::string, std::unique_ptr<Dataset>> datasets_;
  std::map<std::uint64_t, std::unique_ptr<Coefficients>> coefficients_;
};

// The answer that says the words which were added up over all ranks.
std::vector<std::uint64_t> AnswerOf(std::uint64_t number,
                                    const std::vector<std::uint64_t>& words);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_SHARE_SUMS_H_
