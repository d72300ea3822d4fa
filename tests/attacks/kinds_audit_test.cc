// Membership, audited, for every kind of release beside A and B alone: second
// moments, a mean and then second moments, the objective, statistics with
// outliers, what moments leave, classes, gradients. The sums are those of the
// product's mechanisms, the noise is FillGaussian's with the plan's sigmas.
//
// Every verdict accuses a sound mechanism with probability at most 1e-7
// (MuLowerBound; rules fixed before the plays), all with fixed seeds.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "common/nmf/linear_algebra.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/gate_path.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator::kinds_audit {
namespace {

constexpr std::uint64_t kPlays = 1 << 18;

using Sums = std::vector<std::int64_t>;

// The bound that fails with probability 1e-7.
double Surely(const std::string& who, const RunPlan& plan,
              const Guesses& guesses) {
  return Report(who, plan, guesses).surely;
}

// A run of one round a stage, its plan, and the requests of its rounds.
struct Kind {
  std::string name;
  RunParameters parameters;
  RunPlan plan;
  std::vector<RoundInput> inputs;
  // The two targets.
  std::array<Eigen::VectorXf, 2> targets = {Direction(0b01), Direction(0b10)};
};

Kind KindOf(const std::string& name, RunParameters parameters,
            std::vector<RoundInput> inputs) {
  DatasetFacts facts;
  facts.name = facts.population = parameters.dataset = "people";
  facts.features = kAttackFeatures;
  facts.users = kAttackUsers;
  facts.conversion = parameters.conversion = Conversion::kGaussian;
  facts.max_rank = kAttackRank;
  facts.max_rounds = 1000;
  parameters.rank = kAttackRank;
  parameters.rounds = static_cast<std::uint32_t>(inputs.size());
  parameters.epsilon = 1;
  parameters.delta = kAttackDelta;
  return {name, parameters, PlanRun(parameters, facts).value(), inputs};
}

Kind Moments() {
  RunParameters parameters;
  parameters.mechanism = "moments";
  parameters.moment_rows = kAttackFeatures;
  return KindOf("moments", parameters, {RoundInput()});
}

Kind MeanAndMoments() {
  RunParameters parameters;
  parameters.mechanism = "moments";
  parameters.moment_rows = 2;
  RoundInput rows;
  rows.rows = {0, 1};
  return KindOf("mean, then moments on two rows", parameters,
                {RoundInput(), rows});
}

// The targets are orthogonal to what is taken out, and long enough for the gate
// to cut them.
Kind Aimed() {
  RunParameters parameters;
  parameters.mechanism = "aimed";
  parameters.moment_rows = kAttackFeatures;
  parameters.share_of_moments = 0.3;
  parameters.share_of_mean = 0.1;
  RoundInput aim;
  aim.w = Eigen::MatrixXd::Zero(kAttackFeatures, 1);
  aim.w(kAttackFeatures - 1, 0) = 0.7;
  aim.numbers = {2};
  return KindOf("moments, then what they leave", parameters,
                {RoundInput(), aim});
}

// One target is what the dictionary explains, the other is not at all.
Kind Objective() {
  RunParameters parameters;
  parameters.mechanism = "objective";
  Kind kind = KindOf("objective", parameters, {AxesDictionary(0, 1)});
  kind.targets[1] = Direction(0b100000);
  return kind;
}

Kind Outliers() {
  RunParameters parameters;
  parameters.outliers = true;
  parameters.lambda = 0.1;
  parameters.outlier_bound = 0.5;
  return KindOf("statistics with outliers", parameters, {AxesDictionary(0, 1)});
}

// With columns too short for h <= c_h: where the dictionary explains the
// targets there is no gradient.
Kind Gradient() {
  RunParameters parameters;
  parameters.mechanism = "gradient";
  return KindOf("gradient", parameters, {AxesDictionary(0, 1, 0.25)});
}

// All rounds' sums and sigmas, one after another. `plan` is what the curator
// computes with: the kind's, or a weak twin's.
LinearGame GameOf(const Kind& kind, const RunPlan& plan, double length = 1) {
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    const auto data =
        DenseOf(PeopleWith(kind.targets[world] * static_cast<float>(length)));
    std::unique_ptr<Coefficients> h;
    for (std::size_t i = 0; i < kind.inputs.size(); ++i) {
      const StagePlan& stage = plan.StageOf(static_cast<std::uint32_t>(i) + 1);
      const RoundSums sums =
          ReleaseKindOf(stage.release)
              .sums(kind.inputs[i], {*data, kind.parameters, plan, {}, &h})
              .value();
      for (const Sums& part : sums.parts)
        game.sums[world].insert(game.sums[world].end(), part.begin(),
                                part.end());
      if (world == 1) continue;
      const std::vector<std::uint64_t> stddevs = StddevsOf(stage.parts);
      game.stddevs.insert(game.stddevs.end(), stddevs.begin(), stddevs.end());
    }
  }
  return game;
}

struct KindCase {
  const char* name;
  Kind (*make)();
};

void PrintTo(const KindCase& kind, std::ostream* out) { *out << kind.name; }

class AuditOfKinds : public ::testing::TestWithParam<KindCase> {
 protected:
  // Seeds of one kind do not meet those of another.
  std::uint64_t Seed(const Kind& kind, std::uint64_t which) const {
    return 20'000'000'000 + 1'000'000'000 * which +
           100'000'000'000 * kind.name.size();
  }
};

TEST_P(AuditOfKinds, TheProductsBoundComesNearTheClaimFromBelow) {
  const Kind kind = GetParam().make();
  const double bound =
      Surely("product, " + kind.name, kind.plan,
             Play(GameOf(kind, kind.plan), kPlays, Seed(kind, 0)));
  EXPECT_LE(bound, MuOf(kind.plan));
  // It would notice a sigma short by a fifth.
  EXPECT_GT(bound, 0.85 * MuOf(kind.plan));
}

TEST_P(AuditOfKinds, SeesHalvedNoise) {
  const Kind kind = GetParam().make();
  LinearGame game = GameOf(kind, kind.plan);
  for (std::uint64_t& stddev : game.stddevs) stddev /= 2;
  EXPECT_GT(Surely("twin: halved noise, " + kind.name, kind.plan,
                   Play(game, kPlays, Seed(kind, 1))),
            MuOf(kind.plan));
}

// A person four times as long as was declared.
TEST_P(AuditOfKinds, SeesAMissingClip) {
  const Kind kind = GetParam().make();
  const auto play = [&](double bound, std::uint64_t which) {
    RunPlan plan = kind.plan;
    plan.data_bound = plan.coefficient_bound = bound;
    return Play(GameOf(kind, plan, 4), kPlays, Seed(kind, which));
  };
  EXPECT_LE(Surely("product, v at four times the bound, " + kind.name,
                   kind.plan, play(1, 2)),
            MuOf(kind.plan));
  EXPECT_GT(Surely("twin: not clipped, " + kind.name, kind.plan, play(16, 3)),
            MuOf(kind.plan));
}

std::string TestName(const ::testing::TestParamInfo<KindCase>& kind) {
  return kind.param.name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, AuditOfKinds,
                         ::testing::Values(KindCase{"Moments", Moments},
                                           KindCase{"MeanAndMoments",
                                                    MeanAndMoments},
                                           KindCase{"Aimed", Aimed},
                                           KindCase{"Objective", Objective},
                                           KindCase{"Outliers", Outliers}),
                         TestName);

// The first round is sound: a fault of the second alone is seen.
TEST(AuditOfAimed, SeesItsSecondRoundWithHalvedNoise) {
  const Kind kind = Aimed();
  LinearGame game = GameOf(kind, kind.plan);
  for (std::size_t i = game.stddevs.size() / 2; i < game.stddevs.size(); ++i)
    game.stddevs[i] /= 2;
  EXPECT_GT(Surely("twin: halved noise of what is left", kind.plan,
                   Play(game, kPlays, 33'000'000'000)),
            MuOf(kind.plan));
}

TEST(AuditOfAimed, SeesItsSecondRoundNotClipped) {
  const Kind kind = Aimed();
  RunPlan loose = kind.plan;
  loose.data_bound = 16;
  LinearGame game = GameOf(kind, kind.plan, 4);
  const LinearGame twin = GameOf(kind, loose, 4);
  for (int world = 0; world < 2; ++world) {
    // Z has as many entries as G.
    const auto half = static_cast<std::ptrdiff_t>(game.stddevs.size() / 2);
    std::copy(twin.sums[world].begin() + half, twin.sums[world].end(),
              game.sums[world].begin() + half);
  }
  EXPECT_GT(Surely("twin: what is left not clipped", kind.plan,
                   Play(game, kPlays, 34'000'000'000)),
            MuOf(kind.plan));
}

// G with the sigma off the diagonal on it too.
TEST(AuditOfMoments, SeesADiagonalNoisedLikeTheRest) {
  const Kind kind = Moments();
  LinearGame game = GameOf(kind, kind.plan);
  const PartPlan& part = kind.plan.stages[0].parts[0];
  for (std::uint64_t& stddev : game.stddevs) stddev = part.stddev_steps;
  EXPECT_GT(Surely("twin: sigma of G's diagonal as off it", kind.plan,
                   Play(game, kPlays, 30'000'000'000)),
            MuOf(kind.plan));
}

// ------------------------------------------------------------------ classes

// Three classes in the range [0, 1]. The target changes the label and the
// column, from one corner of the range to another.
struct ClassGame {
  RunPlan plan;
  LinearGame game;
};

ClassGame GameOfClasses(Adjacency adjacency, std::int32_t other_label) {
  DatasetDescription description;
  description.name = description.population = "people";
  description.features = kAttackFeatures;
  description.users = kAttackUsers;
  description.normalisation = Normalisation::kNone;
  description.column_bound = 3;
  description.conversion = Conversion::kGaussian;
  description.adjacency = adjacency;
  description.classes = ClassFacts{.names = {"a", "b", "c"}};
  description.range = EntryRange{.low = 0, .high = 1};
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.mechanism = "class_moments";
  parameters.rank = parameters.rounds = 1;
  parameters.epsilon = 1;
  parameters.delta = kAttackDelta;
  parameters.adjacency = adjacency;
  parameters.conversion = Conversion::kGaussian;
  ClassGame result{PlanRun(parameters, FactsOf(description)).value(), {}};
  const std::array<Eigen::VectorXf, 2> targets = {
      Eigen::VectorXf::Ones(kAttackFeatures),
      Eigen::VectorXf::Zero(kAttackFeatures)};
  for (int world = 0; world < 2; ++world) {
    const Eigen::MatrixXf v = PeopleWith(targets[world]).cwiseAbs();
    std::vector<std::int32_t> labels = {0, 1, 2, 0, 1, 2, 0, 1};
    labels[kTarget] = world == 0 ? 0 : other_label;
    const auto data =
        Dataset::FromDense(description, {v.data(), v.data() + v.size()}, labels)
            .value();
    std::unique_ptr<Coefficients> none;
    result.game.sums[world] =
        ReleaseKindOf("class moments")
            .sums(RoundInput(), {*data, parameters, result.plan, {}, &none})
            .value()
            .parts.at(0);
  }
  result.game.stddevs = StddevsOf(result.plan.stages[0].parts);
  return result;
}

TEST(AuditOfClasses, TheProductsBoundComesNearTheClaimFromBelow) {
  const ClassGame classes = GameOfClasses(Adjacency::kReplaceOne, 2);
  const double bound =
      Surely("product, class moments, another label", classes.plan,
             Play(classes.game, kPlays, 40'000'000'000));
  EXPECT_LE(bound, MuOf(classes.plan));
  EXPECT_GT(bound, 0.85 * MuOf(classes.plan));
}

// Priced as if one person were in one block alone: a replacement that changes
// the label moves two.
TEST(AuditOfClasses, SeesALabelChangePricedAsOneBlock) {
  ClassGame classes = GameOfClasses(Adjacency::kReplaceOne, 2);
  for (std::uint64_t& stddev : classes.game.stddevs)
    stddev = static_cast<std::uint64_t>(static_cast<double>(stddev) * 0.7071);
  EXPECT_GT(Surely("twin: a change of label priced as one block", classes.plan,
                   Play(classes.game, kPlays, 41'000'000'000)),
            MuOf(classes.plan));
}

// Sizes of the classes without noise, while labels are private.
TEST(AuditOfClasses, SeesExactSizesOfClasses) {
  ClassGame classes = GameOfClasses(Adjacency::kReplaceOne, 2);
  constexpr int kSide = kAttackFeatures + 1;
  for (int c = 0; c < 3; ++c)
    classes.game.stddevs[static_cast<std::size_t>(c) * kSide * kSide] = 0;
  EXPECT_GT(Surely("twin: exact sizes of classes", classes.plan,
                   Play(classes.game, kPlays, 42'000'000'000)),
            MuOf(classes.plan));
}

// ---------------------------------------------------------------- gradients

// Returns what is published for noised sums, in doubles.
Eigen::VectorXd Published(const Kind& kind, const Sums& noised) {
  std::vector<NoisedMatrix> parts;
  auto next = noised.begin();
  for (const PartPlan& plan : kind.plan.stages[0].parts) {
    NoisedMatrix part;
    part.name = plan.name;
    part.rows = plan.rows;
    part.columns = plan.columns;
    part.symmetric = plan.symmetric;
    part.step_exponent = plan.step_exponent;
    const auto size = plan.symmetric ? plan.rows * (plan.rows + 1) / 2
                                     : plan.rows * plan.columns;
    part.lattice.assign(next, next + size);
    next += size;
    parts.push_back(std::move(part));
  }
  const auto published =
      ReleaseKindOf("gradient").publish(kind.inputs[0])(std::move(parts));
  const std::vector<double>& reals = published.at(0).reals;
  return Eigen::Map<const Eigen::VectorXd>(reals.data(), reals.size());
}

// The gradient is linear in the noised sums: the best guess is by its mean in
// either world and its covariance.
Guesses PlayGradient(const Kind& kind, const LinearGame& game,
                     std::uint64_t plays, std::uint64_t seed) {
  std::cout << "seed " << seed << "\n";
  const std::size_t size = game.stddevs.size();
  const Eigen::VectorXd m0 = Published(kind, game.sums[0]),
                        m1 = Published(kind, game.sums[1]);
  Eigen::MatrixXd noise(m0.size(), size);
  for (std::size_t i = 0; i < size; ++i) {
    Sums moved = game.sums[0];
    moved[i] += static_cast<std::int64_t>(game.stddevs[i]);
    noise.col(i) = Published(kind, moved) - m0;
  }
  // The covariance's pseudoinverse times the means' difference.
  const SymmetricEigen covariance =
      EigenOfSymmetric(ProductTranspose(noise, noise));
  const Eigen::ArrayXd variances = covariance.values.array();
  const Eigen::VectorXd inverse =
      (variances > 1e-12 * variances.maxCoeff()).select(1 / variances, 0);
  const Eigen::VectorXd direction =
      Applied(Conjugated(covariance.vectors, inverse), m1 - m0);
  const double middle = direction.dot(m0 + m1) / 2;
  Guesses guesses{plays, 0, plays, 0};
  for (int world = 0; world < 2; ++world) {
    const Sums drawn = DrawNoise(game.stddevs, plays, seed + world);
    for (std::uint64_t play = 0; play < plays; ++play) {
      Sums noised = game.sums[world];
      for (std::size_t i = 0; i < size; ++i)
        noised[i] += drawn[play * size + i];
      const bool says_one = direction.dot(Published(kind, noised)) > middle;
      if (world == 0) guesses.said_1_in_0 += says_one ? 1 : 0;
      if (world == 1) guesses.said_0_in_1 += says_one ? 0 : 1;
    }
  }
  return guesses;
}

// The gradient hides a part of what A and B tell together, so its bound stays
// further below the claim.
TEST(AuditOfGradients, TheProductKeepsItsClaimAndHalvedNoiseDoesNot) {
  const Kind kind = Gradient();
  constexpr std::uint64_t kPlaysOfGradients = 1 << 17;
  LinearGame game = GameOf(kind, kind.plan);
  EXPECT_LE(Surely("product, gradient", kind.plan,
                   PlayGradient(kind, game, kPlaysOfGradients, 31'000'000'000)),
            MuOf(kind.plan));
  for (std::uint64_t& stddev : game.stddevs) stddev /= 4;
  EXPECT_GT(Surely("twin: a quarter of the noise, gradient", kind.plan,
                   PlayGradient(kind, game, kPlaysOfGradients, 32'000'000'000)),
            MuOf(kind.plan));
}

}  // namespace
}  // namespace dpnmf::curator::kinds_audit
