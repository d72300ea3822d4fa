// "aimed": the mean S_v (if M < D), S_G = sum v v' on M rows, and
// S_Z = sum z z' with z = s (v - U U'v), gated at |z| <= c_v: what is left of v
// beside directions U that the analyst found in the first, scaled up. The gate
// bounds z whatever U and s are, so S_Z has the sensitivity of S_G
// (docs/reference/privacy.md, theorem 4d).
//
// share_of_mean of the cost is the mean's; of the rest, share_of_moments is
// S_G's and all else S_Z's.
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

bool NamesSomeRows(const RunParameters& parameters, const DatasetFacts& facts) {
  return parameters.moment_rows < facts.features;
}

RoundsRange RoundsOfAimed(const RunParameters& parameters,
                          const DatasetFacts& facts) {
  const std::uint32_t rounds = NamesSomeRows(parameters, facts) ? 3 : 2;
  return {.least = rounds, .most = rounds};
}

std::vector<StageDraft> StagesOfAimed(MuSquared whole, int bits,
                                      const RunParameters& parameters,
                                      const DatasetFacts& facts) {
  std::vector<StageDraft> stages;
  MuSquared left = whole;
  if (NamesSomeRows(parameters, facts)) {
    const MuSquared mean = ShareOf(whole, parameters.share_of_mean);
    stages.push_back(StageOfMean(mean, bits, facts));
    left = Less(left, mean);
  }
  const std::uint64_t rows = parameters.moment_rows;
  const MuSquared first = ShareOf(left, parameters.share_of_moments);
  stages.push_back(
      {.release = std::string(kReleaseOfMoments),
       .rounds = 1,
       .parts = {PartOfProducts("G", rows, rows, true, bits, first, facts)}});
  stages.push_back({.release = "aimed",
                    .rounds = 1,
                    .parts = {PartOfProducts("Z", rows, rows, true, bits,
                                             Less(left, first), facts)}});
  return stages;
}

bool UsesOfAimed(std::string_view field, const RunParameters&,
                 const DatasetFacts&) {
  return IsOneOf(field, {"rounds", "moment_rows", "share_of_mean",
                         "share_of_moments", "loss", "sparseness"});
}

}  // namespace

extern const Mechanism kAimedMechanism = {
    .name = "aimed",
    .summary =
        "two noised second moments; the first sets the directions of the "
        "second",
    .fits_moments = true,
    .rounds = RoundsOfAimed,
    .check = CheckMomentRows,
    .stages = StagesOfAimed,
    .uses = UsesOfAimed,
    .forecast_by = ForecastBy::kSecondMoment,
    .forecast_part = "Z",
};

}  // namespace dpnmf
