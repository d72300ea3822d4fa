// Membership, audited, for the releases of `ratings`: pairs of people that come
// near each sensitivity, the product's sums, FillGaussian's noise with the
// plan's sigmas; and twins, each with one fault of a plausible implementation,
// that must be seen.
//
// Every verdict accuses a sound mechanism with probability at most 1e-7
// (MuLowerBound; rules fixed before the plays); 20 claims of the product, all
// with fixed seeds.
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/privacy/ratings_bounds.h"
#include "curator/factor/ratings_sums.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/gate_path.h"
#include "tests/curator/factor/ratings_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kPlaysOfRatings = 1 << 17;
constexpr int kRatedItems = 14, kRatedRank = 3;

using Integers = std::vector<std::int64_t>;

// One release with its price, and the pair of people that differ most in it.
// Under add_remove_one the second is not there; under one_rating `moved` has
// one rating more than the first, fewer, or with another value.
struct Case {
  std::string release;
  std::array<Ratings, 2> targets;
  Ratings moved;
  std::vector<std::uint32_t> rows = {};
  bool takes_model = false;
  std::vector<double> weights = {};  // of co-ratings that are damped
  Adjacency adjacency = Adjacency::kReplaceOne;

  std::string name() const {
    return absl::StrCat(release, weights.empty() ? "" : " damped", ", ",
                        std::string(NameOf(adjacency)));
  }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name(); }

std::vector<Case> Cases() {
  const auto corrected = [](std::int32_t units) {
    return Ratings{{0, 30'000}, {1, 50'000}, {2, 30'000}, {3, units}};
  };
  const Ratings low = Quarter(1, 2, false);
  Ratings high = low;
  high.begin()->second = high.begin()->second == 50'000 ? 10'000 : 50'000;
  const Ratings fixed = {{0, 30'000}, {1, 50'000}, {2, 30'000}};
  const std::vector<Case> cases = {
      {"items", {low, Quarter(1, 8, true)}, high},
      {"co-ratings",
       {Ratings{{4, 10'000}}, Ratings{{5, 10'000}}},
       {{4, 10'000}, {5, 10'000}},
       {4, 5}},
      // Damped: little would be left of people who rate only weighted items.
      {"co-ratings",
       {Ratings{{4, 10'000}, {5, 10'000}}, Ratings{{5, 10'000}, {6, 10'000}}},
       {{4, 10'000}},
       {4, 5, 6},
       false,
       {200, 0, 200}},
      {"profiles",
       {fixed, Ratings{{0, 30'000}, {1, 30'000}, {2, 50'000}}},
       {{0, 50'000}, {1, 50'000}, {2, 30'000}},
       {},
       true},
      {"residuals",
       {Ratings{{4, 10'000}}, Ratings{{5, 50'000}}},
       {{4, 10'000}, {5, 50'000}},
       {4, 5},
       true},
      {"corrections",
       {corrected(50'000), corrected(10'000)},
       corrected(10'000),
       {},
       true}};
  std::vector<Case> all;
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne,
        Adjacency::kOneRating}) {
    for (Case one : cases) {
      one.adjacency = adjacency;
      all.push_back(std::move(one));
    }
  }
  return all;
}

Case CaseOf(const std::string& release) {
  for (const Case& one : Cases())
    if (one.release == release) return one;
  throw std::logic_error(release);
}

// Items 0 to 2 fix the profile, the others tell nothing of it.
Eigen::MatrixXd DecidingModel() {
  Eigen::MatrixXd model = Eigen::MatrixXd::Zero(kRatedItems, 1 + kRatedRank);
  model.col(0).setConstant(3);
  for (int k = 0; k < kRatedRank; ++k) model(k, 1 + k) = 1e3;
  return model;
}

RunParameters ParametersOf(Adjacency adjacency) {
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.mechanism = "ratings";
  parameters.adjacency = adjacency;
  parameters.rank = kRatedRank;
  parameters.rounds = 5;
  parameters.epsilon = 12;
  parameters.delta = kAttackDelta;
  parameters.shares = {0.2, 0.2, 0.2, 0.2, 0.2};
  parameters.moment_rows = 3;
  parameters.profile_directions = 2;
  parameters.conversion = Conversion::kGaussian;
  return parameters;
}

RunPlan Plan(Adjacency adjacency) {
  DatasetFacts facts;
  facts.name = facts.population = "people";
  facts.features = kRatedItems;
  facts.users = 4;
  facts.adjacency = adjacency;
  facts.conversion = Conversion::kGaussian;
  facts.max_rank = 100;
  facts.max_rounds = 100;
  facts.ratings = kStars;
  return PlanRun(ParametersOf(adjacency), facts).value();
}

// The plan of that release alone: its claim.
RunPlan ClaimOf(const Case& one) {
  RunPlan plan = Plan(one.adjacency);
  std::erase_if(plan.stages, [&](const StagePlan& stage) {
    return stage.release != one.release;
  });
  plan.cost = plan.stages.at(0).cost_per_round;
  return plan;
}

LinearGame RatedGame(const Case& one, const RunPlan& claim) {
  RoundInput input;
  input.rows = one.rows;
  if (one.takes_model) {
    input.w = DecidingModel();
    input.numbers = {1e-6};
  }
  if (!one.weights.empty()) {
    input.w = Eigen::Map<const Eigen::VectorXd>(
        one.weights.data(), static_cast<Eigen::Index>(one.weights.size()));
    input.numbers = {48};
  }
  const ReleaseKind& kind = ReleaseKindOf(one.release);
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    std::vector<Ratings> people = RandomPeople(3, kRatedItems, 5);
    if (world == 0 || one.adjacency == Adjacency::kReplaceOne)
      people.push_back(one.targets[world]);
    else if (one.adjacency == Adjacency::kOneRating)
      people.push_back(one.moved);
    std::unique_ptr<Coefficients> none;
    const RoundSums sums =
        kind.sums(input, {*RatingsOf(people, kRatedItems, one.adjacency),
                          ParametersOf(one.adjacency),
                          claim,
                          {},
                          &none})
            .value();
    for (const Integers& part : sums.parts)
      game.sums[world].insert(game.sums[world].end(), part.begin(), part.end());
  }
  std::vector<PartPlan> parts = claim.stages[0].parts;
  if (kind.narrow != nullptr) kind.narrow(input, &parts);
  game.stddevs = StddevsOf(parts);
  return game;
}

// Keeps the coordinates that differ: the others do not tell the worlds apart.
LinearGame Reduced(const LinearGame& game) {
  LinearGame reduced;
  for (std::size_t i = 0; i < game.stddevs.size(); ++i) {
    if (game.sums[0][i] == game.sums[1][i]) continue;
    for (int world = 0; world < 2; ++world)
      reduced.sums[world].push_back(game.sums[world][i]);
    reduced.stddevs.push_back(game.stddevs[i]);
  }
  return reduced;
}

double SurelyOfRatings(const std::string& who, const RunPlan& claim,
                       const LinearGame& game, std::uint64_t seed) {
  return Report(who, claim, Play(Reduced(game), kPlaysOfRatings, seed)).surely;
}

class AuditOfRatings : public ::testing::TestWithParam<Case> {
 protected:
  std::uint64_t Seed(std::uint64_t which) const {
    const Case& one = GetParam();
    return 50'000'000'000 + 1'000'000'000 * which +
           100'000'000'000 * one.release.size() +
           10'000'000'000 * static_cast<std::uint64_t>(one.release[0]) +
           100'000'000 * static_cast<std::uint64_t>(one.adjacency) +
           (one.weights.empty() ? 0 : 50'000'000);
  }
};

// Under one_rating the releases behind the profile are charged as for a
// replacement, which one rating does not come near.
bool IsCloselyCharged(const Case& one) {
  return one.adjacency != Adjacency::kOneRating || one.release == "items";
}

TEST_P(AuditOfRatings, TheProductsBoundComesNearTheClaimFromBelow) {
  const RunPlan claim = ClaimOf(GetParam());
  const double bound = SurelyOfRatings("product, " + GetParam().name(), claim,
                                       RatedGame(GetParam(), claim), Seed(0));
  EXPECT_LE(bound, MuOf(claim));
  if (IsCloselyCharged(GetParam())) {
    EXPECT_GT(bound, 0.8 * MuOf(claim));
  }
}

TEST_P(AuditOfRatings, SeesTooLittleNoise) {
  const RunPlan claim = ClaimOf(GetParam());
  LinearGame game = RatedGame(GetParam(), claim);
  // An eighth of the noise of releases that are charged for more, else half.
  for (std::uint64_t& stddev : game.stddevs)
    stddev /= IsCloselyCharged(GetParam()) ? 2 : 8;
  EXPECT_GT(SurelyOfRatings("twin: less noise, " + GetParam().name(), claim,
                            game, Seed(1)),
            MuOf(claim));
}

INSTANTIATE_TEST_SUITE_P(Releases, AuditOfRatings, ::testing::ValuesIn(Cases()),
                         [](const auto& one) {
                           std::string name = one.param.name();
                           std::erase(name, '-');
                           std::erase(name, ',');
                           std::erase(name, '_');
                           std::erase(name, ' ');
                           return name;
                         });

// A person adds z h' with signs. A price of sqrt(2) c_z c_h, right for vectors
// without signs, buys noise that is too small by sqrt(2).
TEST(AuditOfCorrections, SeesTheSensitivityOfVectorsWithoutSigns) {
  const Case corrections = CaseOf("corrections");
  const RunPlan claim = ClaimOf(corrections);
  RunPlan twin = claim;
  PartPlan& b = twin.stages[0].parts[0];
  b.stddev_steps = static_cast<std::uint64_t>(
      static_cast<double>(b.stddev_steps) / std::sqrt(2.0));
  EXPECT_GT(SurelyOfRatings("twin: sqrt(2) c_z c_h for B", claim,
                            RatedGame(corrections, twin), 900'000'000'000),
            MuOf(claim));
}

// ------------------------------------------------------- faults of the lattice
//
// On lattices so coarse that the fault is large beside the bound. sigma is the
// one that `square`, the claimed squared sensitivity, asks for at mu = 2.

constexpr double kMuOfTwo = 2;

RunPlan ClaimOfTwo() {
  RunPlan plan;
  plan.cost = MuSquared::RoundUp(kMuOfTwo * kMuOfTwo).value();
  return plan;
}

std::uint64_t SigmaFor(double square) {
  return static_cast<std::uint64_t>(std::ceil(std::sqrt(square) / kMuOfTwo));
}

// 16 items, and 17 with the same 16 at opposite ratings; a = 1, c = tau = 1.04
// on quarters.
LinearGame SeparatelyRounded(const ItemsLattice& lattice) {
  constexpr int kShared = 16;
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    const int n = kShared + world;
    const double w = 1 / std::sqrt(static_cast<double>(n));
    for (int i = 0; i <= kShared; ++i) {
      const int sign = i == kShared ? 0 : ((i + world) % 2 == 0 ? 1 : -1);
      game.sums[world].push_back(i < n ? static_cast<std::int64_t>(4 * w) : 0);
      game.sums[world].push_back(
          static_cast<std::int64_t>(4 * w * 1.04 * sign));
    }
  }
  game.stddevs.assign(game.sums[0].size(),
                      SigmaFor(static_cast<double>(ItemsSensitivity(
                          lattice, Adjacency::kReplaceOne, 17))));
  return game;
}

// The same people through the product's rounding.
LinearGame JointlyRounded(const ItemsLattice& lattice, RatingScale scale) {
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    Ratings person;
    for (int i = 0; i < 16; ++i) person[i] = (i + world) % 2 == 0 ? 20'800 : 0;
    if (world == 1) person[16] = 10'400;
    game.sums[world] =
        ComputeItemSums(*RatingsOf({person}, 17, Adjacency::kReplaceOne, scale),
                        Adjacency::kReplaceOne, lattice, {})
            ->items;
  }
  game.stddevs.assign(game.sums[0].size(),
                      SigmaFor(static_cast<double>(ItemsSensitivity(
                          lattice, Adjacency::kReplaceOne, 17))));
  return game;
}

TEST(AuditOfItems, SeesPartsThatAreRoundedByThemselves) {
  const RatingScale scale = {.low_units = 0, .high_units = 20'800};
  ItemsLattice lattice = ItemsLatticeOf(scale, 2);
  lattice.clip = lattice.largest_rating;
  lattice.ratio = {25, 26};
  lattice.mask_norm = 16;
  lattice.rating_norm = 17;
  // sqrt(69) / 2 = 4.2 steps: in units of a 64th of a step.
  const auto finer = [&](LinearGame game) {
    constexpr std::int64_t kFiner = 64;
    for (Integers& sums : game.sums)
      for (std::int64_t& sum : sums) sum *= kFiner;
    const double square = static_cast<double>(
        ItemsSensitivity(lattice, Adjacency::kReplaceOne, 17));
    game.stddevs.assign(game.stddevs.size(),
                        SigmaFor(square * kFiner * kFiner));
    return game;
  };
  EXPECT_LE(
      SurelyOfRatings("product, on quarters", ClaimOfTwo(),
                      finer(JointlyRounded(lattice, scale)), 910'000'000'000),
      kMuOfTwo);
  EXPECT_GT(SurelyOfRatings("twin: mask and ratings rounded by themselves",
                            ClaimOfTwo(), finer(SeparatelyRounded(lattice)),
                            920'000'000'000),
            kMuOfTwo);
}

// hh' with h = (s ... s, b ... b), s < 1 < b, and h = (b ... b, -s ... -s):
// orthogonal, both of length sqrt(m (s^2 + b^2)). Cut to integers entry by
// entry, the squares of s vanish and the products of s and b do not: the
// matrices have a negative inner product.
TEST(AuditOfSemidefinite, SeesMatricesCutEntryByEntry) {
  constexpr int kHalf = 6, kSize = 2 * kHalf;
  constexpr double kSmall = 0.995, kGreat = 1.01;
  const double norm = kHalf * (kSmall * kSmall + kGreat * kGreat);
  constexpr std::int64_t kFiner = 64;
  const auto sigma = SigmaFor(2 * norm * norm * kFiner * kFiner);
  LinearGame cut, product;
  for (int world = 0; world < 2; ++world) {
    std::vector<double> h(kSize);
    for (int i = 0; i < kSize; ++i) {
      const bool first = i < kHalf;
      h[static_cast<std::size_t>(i)] =
          world == 0 ? (first ? kSmall : kGreat) : (first ? kGreat : -kSmall);
    }
    for (std::size_t j = 0; j < kSize; ++j) {
      for (std::size_t i = 0; i <= j; ++i) {
        cut.sums[world].push_back(kFiner *
                                  static_cast<std::int64_t>(h[i] * h[j]));
        // A product of integers, as the product makes them.
        product.sums[world].push_back(kFiner * static_cast<std::int64_t>(h[i]) *
                                      static_cast<std::int64_t>(h[j]));
        // sigma_diag = sqrt(2) sigma_off: each entry off the diagonal counts
        // twice.
        if (world == 1) continue;
        const std::uint64_t stddev =
            i == j ? sigma
                   : static_cast<std::uint64_t>(std::ceil(
                         static_cast<double>(sigma) / std::sqrt(2.0)));
        cut.stddevs.push_back(stddev);
        product.stddevs.push_back(stddev);
      }
    }
  }
  EXPECT_LE(SurelyOfRatings("products of integers, on whole numbers",
                            ClaimOfTwo(), product, 930'000'000'000),
            kMuOfTwo);
  EXPECT_GT(SurelyOfRatings("twin: matrices cut entry by entry", ClaimOfTwo(),
                            cut, 940'000'000'000),
            kMuOfTwo);
}

// Theorem 12, one_rating: one rating from end to end moves the roundings of 199
// others.
TEST(AuditOfOneRating, SeesALatticeThatIsNotPaidFor) {
  constexpr int kMany = 200;
  const ItemsLattice lattice = ItemsLatticeOf(kStars, 2);
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    Ratings person;
    for (int i = 1; i < kMany; ++i) person[i] = i % 2 == 0 ? 32'500 : 27'500;
    person[0] = world == 0 ? 10'000 : 50'000;
    game.sums[world] =
        ComputeItemSums(*RatingsOf({person}, kMany, Adjacency::kOneRating),
                        Adjacency::kOneRating, lattice, {})
            ->items;
  }
  const auto with = [&](double square) {
    LinearGame scaled = game;
    constexpr std::int64_t kFiner = 16;
    for (Integers& sums : scaled.sums)
      for (std::int64_t& sum : sums) sum *= kFiner;
    scaled.stddevs.assign(scaled.sums[0].size(),
                          SigmaFor(square * kFiner * kFiner));
    return scaled;
  };
  const double range = 16;  // R = 4 on quarters
  EXPECT_LE(
      SurelyOfRatings("product, one rating of 200 on quarters", ClaimOfTwo(),
                      with(static_cast<double>(ItemsSensitivity(
                          lattice, Adjacency::kOneRating, kMany))),
                      950'000'000'000),
      kMuOfTwo);
  EXPECT_GT(SurelyOfRatings("twin: R without the lattice's term", ClaimOfTwo(),
                            with(range * range), 960'000'000'000),
            kMuOfTwo);
}

}  // namespace
}  // namespace dpnmf::curator
