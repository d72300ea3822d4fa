// Membership, audited in one run (Steinke, Nasr and Jagielski 2023): fifty
// thousand canaries, each in one of two states by a coin of its own, and the
// analyst guesses the few that the release shows best.
//
// The product is accused with probability at most 1e-7 (OneRunPValue). One run
// proves less than many: it sees gross faults alone.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/attack_statistics.h"
#include "tests/attacks/gate_path.h"

namespace dpnmf::curator::one_run {
namespace {

// K blocks of rows; column j of W is 1/kBlockRows on block j, so that a unit
// vector in block j has h = e_j. A canary holds one of two rows of its own.
constexpr int kRank = 10, kCanaries = 50'000, kFeatures = 2 * kCanaries;
constexpr int kBlockRows = kFeatures / kRank;
constexpr int kGuesses = 1000;
constexpr double kEpsilon = 2, kDelta = 1e-10;
constexpr std::uint64_t kSeed = 20230515;

RunPlan CanaryPlan() {
  DatasetFacts facts;
  facts.name = facts.population = "canaries";
  facts.features = kFeatures;
  facts.users = kCanaries;
  facts.conversion = Conversion::kGaussian;
  facts.max_rank = kRank;
  facts.max_rounds = 1;
  RunParameters parameters;
  parameters.dataset = "canaries";
  parameters.rank = kRank;
  parameters.rounds = 1;
  parameters.epsilon = kEpsilon;
  parameters.delta = kDelta;
  parameters.share_of_a = 0.01;  // the canaries differ in B
  parameters.conversion = Conversion::kGaussian;
  return PlanRun(parameters, facts).value();
}

std::unique_ptr<Dataset> CanariesWith(const std::vector<bool>& coins,
                                      double length) {
  DatasetDescription description;
  description.features = kFeatures;
  description.users = kCanaries;
  description.sparse = true;
  std::vector<std::int64_t> indptr(kCanaries + 1);
  std::iota(indptr.begin(), indptr.end(), 0);
  std::vector<std::int32_t> rows(kCanaries);
  for (int canary = 0; canary < kCanaries; ++canary)
    rows[canary] = 2 * canary + (coins[canary] ? 1 : 0);
  return Dataset::FromSparse(
             description, std::move(indptr), std::move(rows),
             std::vector<float>(kCanaries, static_cast<float>(length)))
      .value();
}

Eigen::MatrixXd BlockDictionary() {
  Eigen::MatrixXd w = Eigen::MatrixXd::Zero(kFeatures, kRank);
  for (int row = 0; row < kFeatures; ++row)
    w(row, row / kBlockRows) = 1.0 / kBlockRows;
  return w;
}

struct Weakness {
  std::uint64_t noise_divisor = 1;
  double data_bound = 1;
};

// Guesses that are right, of kGuesses.
std::uint64_t AuditOneRun(const Weakness& weakness, double length,
                          std::uint64_t seed) {
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  std::vector<bool> coins(kCanaries);
  for (auto coin : coins) coin = (random() >> 40) & 1;
  const RunPlan plan = CanaryPlan();
  const Eigen::MatrixXd w = BlockDictionary();
  StatisticsRequest request = RequestWith(plan, w);
  request.data_bound = weakness.data_bound;
  Coefficients h(kRank, kCanaries);
  std::vector<std::int64_t> view = Flat(
      ComputeStatistics(*CanariesWith(coins, length), request, {}, &h).value());
  std::vector<std::uint64_t> stddevs = StddevsOf(plan.stages[0].parts);
  for (std::uint64_t& stddev : stddevs) stddev /= weakness.noise_divisor;
  const std::vector<std::int64_t> noise = DrawNoise(stddevs, 1, seed);
  for (std::size_t i = 0; i < view.size(); ++i) view[i] += noise[i];

  // score: B at the row of one state less that of the other.
  std::vector<std::pair<double, bool>> scores(kCanaries);
  const std::size_t b = kRank * (kRank + 1) / 2;
  for (int canary = 0; canary < kCanaries; ++canary) {
    const std::size_t row = 2 * static_cast<std::size_t>(canary);
    const std::size_t at = b + row / kBlockRows * kFeatures + row;
    scores[canary] = {static_cast<double>(view[at + 1] - view[at]),
                      coins[canary]};
  }
  // The ends of the order are guessed, the rest is abstained from.
  std::sort(scores.begin(), scores.end());
  std::uint64_t right = 0;
  for (int i = 0; i < kGuesses / 2; ++i) {
    right += scores[i].second ? 0 : 1;
    right += scores[kCanaries - 1 - i].second ? 1 : 0;
  }
  return right;
}

double PValueOfClaim(const std::string& who, std::uint64_t right) {
  const double p = OneRunPValue(kCanaries, kGuesses, right, kEpsilon, kDelta);
  PrintFigure(
      "membership in one run", who,
      absl::StrFormat(
          "claimed epsilon %.3f, measured at least %.3f (95 %%), %.3f "
          "(1 - 1e-7); %d of %d guesses right",
          kEpsilon, OneRunEpsilon(kCanaries, kGuesses, right, kDelta, kReading),
          OneRunEpsilon(kCanaries, kGuesses, right, kDelta, kAccusation), right,
          kGuesses));
  return p;
}

TEST(OneRunAudit, TheProductKeepsItsClaim) {
  EXPECT_GT(PValueOfClaim("product", AuditOneRun({}, 1, kSeed)), kAccusation);
}

TEST(OneRunAudit, SeesAQuarterOfTheNoise) {
  const Weakness weak = {.noise_divisor = 4};
  EXPECT_LE(PValueOfClaim("twin: a quarter of the noise",
                          AuditOneRun(weak, 1, kSeed + 1)),
            kAccusation);
}

// Columns four times as long as was declared.
TEST(OneRunAudit, SeesAMissingClipOfU) {
  const Weakness weak = {.data_bound = 16};
  EXPECT_LE(
      PValueOfClaim("twin: u not clipped", AuditOneRun(weak, 4, kSeed + 2)),
      kAccusation);
  EXPECT_GT(PValueOfClaim("product, v at four times the bound",
                          AuditOneRun({}, 4, kSeed + 3)),
            kAccusation);
}

}  // namespace
}  // namespace dpnmf::curator::one_run
