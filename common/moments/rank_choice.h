// How many parts a released second moment supports, from the release alone:
// stability over starts and over splits of the known noise, as cNMF (Kotliar et
// al. 2019) has it over resampled data, and the fit to the half that was held
// out. Post-processing: costs no privacy. docs/research/utility.md has the
// measurements.
#ifndef DPNMF_COMMON_MOMENTS_RANK_CHOICE_H_
#define DPNMF_COMMON_MOMENTS_RANK_CHOICE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/moments/moments.h"
#include "common/threads/stop.h"

namespace dpnmf {

inline constexpr int kLargestChosenRank = 256;
inline constexpr int kMostChosenRanks = 64;
inline constexpr int kMostChoiceSeeds = 50;

struct RankFacts {
  int rank = 0;
  // Mean cosine of the matched parts of two halves: [0, 1].
  double stability = 0;
  // Share of the other half's second moment, off the diagonal, that the model
  // of one half predicts; its noise is taken out in the mean. At most about 1,
  // may be negative.
  double held_out = 0;
  // Standard error of held_out, over the seeds.
  double held_out_error = 0;
  // Share of the halves' estimates that their own models explain: [0, 1].
  double explained = 0;
  // Mean number of parts whose cosine is at least kReliablePart. Not corrected
  // for the halves' noise: non-negative columns have cosines of .4 to .7 by
  // chance, which a correction would lift above the bound.
  double stable_parts = 0;
};

struct RankChoice {
  std::vector<RankFacts> ranks;  // in the order of the options
  int rank = 0;                  // the advice; 0: none is supported
  std::string sentence;
};

struct RankChoiceOptions {
  // Rising, in [1, kLargestChosenRank], at most kMostChosenRanks of them.
  // Empty: RanksToCompare.
  std::vector<int> ranks;
  int seeds = 10;  // 2 to kMostChoiceSeeds
  std::uint64_t seed = 1;
  int threads = 1;
  Stop stop = {};
  // If not null: called with the share of the work that is done, rising, in
  // (0, 1], on the thread that called.
  std::function<void(double)> progress = {};
};

// 2 to three times the directions above the noise's edge, from 8 to 40, at most
// M; at most 39 ranks.
std::vector<int> RanksToCompare(const DenoisedMoments& denoised);

// With Z a fresh copy of the noise, Y + Z and Y - Z have independent noise,
// each of sqrt(2) the release's deviations. For each seed and rank W is fitted
// to both halves, each from a start of its own. The cosines of the matched
// columns say what comes again; since the halves have more noise than the
// release, they are on the low side. The model W A W' of one half (A = H H'/n)
// is held against the other half Y2 off the diagonal:
//   held_out = (2 <P, Y2> - |P|^2) / <Y1, Y2>,  1 - |P - G|^2 / |G|^2 in the
//   mean.
// Where <Y1, Y2> is not above 0 it is 0. The advice: ChooseAmong. The same bits
// for any thread count. INVALID_ARGUMENT "ranks-out-of-range",
// "seeds-out-of-range" and those of DenoiseMoments; CANCELLED "cancelled".
absl::StatusOr<RankChoice> ChooseRank(const NoisedMoments& moments,
                                      const RankChoiceOptions& options);

// Fills in rank and sentence from ranks: the largest rank of which all parts
// are stable but at most half a part in the mean, or 5 % of them, whose
// stability is within .04 of the best rank's, and whose held_out is above twice
// its error.
void ChooseAmong(RankChoice* choice);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_RANK_CHOICE_H_
