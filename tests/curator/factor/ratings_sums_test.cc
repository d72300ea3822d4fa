// Contributions of a person to the releases of `ratings`, and exactness of the
// sums: docs/reference/privacy.md, theorems 10 to 14.
#include "curator/factor/ratings_sums.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "Eigen/Core"
#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "common/ratings/solve.h"
#include "curator/factor/ratings_person.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/curator/factor/ratings_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr int kRatedItems = 40, kRank = 7, kDirections = 3;
const std::vector<std::uint32_t> kRows = {0, 1, 5, 6, 17, 20, 31, 39};

// Weights of kRows, and how far they damp.
Damping Damped(std::uint32_t part) {
  return {{255, 3, 90, 0, 17, 200, 41, 128}, part};
}

using Sums = std::vector<std::int64_t>;

// All sums of a release, one after another.
struct Release {
  std::string name;
  std::function<absl::StatusOr<Sums>(const Dataset&, const Execution&)> sums;
};

Sums Joined(const Sums& a, const Sums& b) {
  Sums all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

const Eigen::MatrixXd& Model() {
  static const Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 3);
  return model;
}

std::vector<Release> Releases(Adjacency adjacency) {
  const RatingsRequest request{&Model(), 0.9};
  return {
      {"items",
       [adjacency](const Dataset& data,
                   const Execution& execution) -> absl::StatusOr<Sums> {
         DPNMF_ASSIGN_OR_RETURN(
             const ItemSums sums,
             ComputeItemSums(data, adjacency, ItemsLatticeOf(kStars, 19),
                             execution));
         return Joined(sums.own_means, sums.items);
       }},
      {"co-ratings",
       [](const Dataset& data, const Execution& execution) {
         return ComputeCoRatings(data, kRows, {}, 20, execution);
       }},
      {"co-ratings, damped",
       [](const Dataset& data, const Execution& execution) {
         return ComputeCoRatings(data, kRows, Damped(45), 20, execution);
       }},
      {"profiles",
       [request](const Dataset& data, const Execution& execution) {
         return ComputeProfileMoments(data, request, kRank, 20, execution);
       }},
      {"residuals",
       [request](const Dataset& data, const Execution& execution) {
         return ComputeResidualMoments(data, request, kRows, 20, execution);
       }},
      {"corrections",
       [request](const Dataset& data,
                 const Execution& execution) -> absl::StatusOr<Sums> {
         DPNMF_ASSIGN_OR_RETURN(
             const CorrectionSums sums,
             ComputeCorrections(data, request, kDirections, 20, 20, execution));
         return Joined(sums.b, sums.a);
       }}};
}

constexpr Adjacency kAdjacencies[] = {
    Adjacency::kReplaceOne, Adjacency::kAddRemoveOne, Adjacency::kOneRating};

// Each person's integers come from that person alone, and the sums are exact:
// they are those of the people one by one, in any order, with any blocks and
// threads.
TEST(RatingsSums, Theorem10APersonsBitsAreThatPersonsAlone) {
  std::vector<Ratings> people = RandomPeople(61, kRatedItems, 11);
  people[7].clear();
  for (const Adjacency adjacency : kAdjacencies) {
    for (const Release& release : Releases(adjacency)) {
      SCOPED_TRACE(release.name);
      Sums one_by_one;
      for (const Ratings& person : people) {
        const Sums share =
            release.sums(*RatingsOf({person}, kRatedItems, adjacency), {})
                .value();
        one_by_one.resize(share.size());
        std::transform(share.begin(), share.end(), one_by_one.begin(),
                       one_by_one.begin(), std::plus<>());
      }
      std::mt19937_64 random(5);
      for (const Execution& execution :
           {Execution{1, 0}, Execution{3, 1}, Execution{2, 7}}) {
        EXPECT_EQ(
            release.sums(*RatingsOf(people, kRatedItems, adjacency), execution)
                .value(),
            one_by_one);
        std::shuffle(people.begin(), people.end(), random);
      }
    }
  }
}

TEST(RatingsSums, PeopleWithoutRatingsAddZeroAndSoDoesAnEmptyRestriction) {
  for (const Adjacency adjacency : kAdjacencies) {
    for (const Release& release : Releases(adjacency)) {
      const Sums sums =
          release.sums(*RatingsOf({{}, {}}, kRatedItems, adjacency), {})
              .value();
      EXPECT_EQ(sums, Sums(sums.size())) << release.name;
    }
  }
  // None of the named rows.
  const auto data = RatingsOf({{{2, 50'000}, {30, 10'000}}}, kRatedItems);
  const RatingsRequest request{&Model(), 1};
  const std::size_t size = kRows.size() * (kRows.size() + 1) / 2;
  EXPECT_EQ(ComputeCoRatings(*data, kRows, {}, 20, {}).value(), Sums(size));
  EXPECT_EQ(ComputeResidualMoments(*data, request, kRows, 20, {}).value(),
            Sums(size));
}

TEST(RatingsSums, StopsWhenToldTo) {
  const auto data = RatingsOf(RandomPeople(5, kRatedItems, 2), kRatedItems);
  Execution execution;
  execution.stop = [] { return true; };
  for (const Release& release : Releases(Adjacency::kReplaceOne)) {
    EXPECT_EQ(ReasonCode(release.sums(*data, execution).status()), "cancelled")
        << release.name;
  }
}

// A question costs as much as a small person's solve: many people share one,
// and a person of much work has one.
// How long a number takes would tell whose it is.
TEST(RatingsSums, SubnormalNumbersAreZeroOnEveryThread) {
  const auto data = RatingsOf(RandomPeople(40, kRatedItems, 2), kRatedItems);
  const volatile double small = 1e-160;
  for (const Release& release : Releases(Adjacency::kReplaceOne)) {
    std::atomic<int> asked = 0, subnormal = 0;
    Execution execution{3, 1};
    execution.stop = [&] {
      ++asked;
      if (small * small != 0) ++subnormal;
      return false;
    };
    ASSERT_TRUE(release.sums(*data, execution).ok());
    EXPECT_GE(asked, 40) << release.name;
    EXPECT_EQ(subnormal, 0) << release.name;
  }
  EXPECT_NE(small * small, 0);
}

TEST(RatingsSums, AsksForWorkNotForPeople) {
  constexpr int kPeople = 1000;
  const auto small =
      RatingsOf(RandomPeople(kPeople, kRatedItems, 2), kRatedItems);
  int questions = 0;
  Execution execution{.threads = 1, .block_users = kPeople};
  execution.stop = [&questions] {
    ++questions;
    return false;
  };
  for (const Release& release : Releases(Adjacency::kReplaceOne)) {
    questions = 0;
    ASSERT_TRUE(release.sums(*small, execution).ok());
    EXPECT_LE(questions, 10) << release.name;
  }
  constexpr int kColumns = 400;
  const Eigen::MatrixXd wide =
      Eigen::MatrixXd::Constant(kRatedItems, 1 + kColumns, 0.01);
  const auto few = RatingsOf(RandomPeople(10, kRatedItems, 2), kRatedItems);
  questions = 0;
  ASSERT_TRUE(
      ComputeProfileMoments(*few, {&wide, 1}, kColumns, 20, execution).ok());
  EXPECT_GE(questions, 9);
}

// ---------------------------------------------------------------------- items

ItemShare ShareOf(const Ratings& person, const ItemsLattice& lattice,
                  Adjacency adjacency, std::vector<std::int64_t>* room,
                  RatingScale scale = kStars) {
  const auto data = RatingsOf({person}, 100'000, adjacency, scale);
  room->resize(person.size());
  return ItemShareOf(data->RatingsOf(0), scale, lattice, adjacency, *room);
}

// (k, l) of the person's items.
using Pairs = std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>>;

Pairs PairsOf(const Ratings& person, const ItemsLattice& lattice,
              Adjacency adjacency, RatingScale scale = kStars) {
  std::vector<std::int64_t> room;
  const ItemShare share = ShareOf(person, lattice, adjacency, &room, scale);
  Pairs pairs;
  std::size_t i = 0;
  if (share.ratings.empty()) return pairs;
  for (const auto& [item, units] : person)
    pairs[item] = {share.mask, share.ratings[i++]};
  return pairs;
}

double GapOf(const Pairs& x, const Pairs& y) {
  double sum = 0;
  Pairs difference = x;
  for (const auto& [item, pair] : y) {
    difference[item].first -= pair.first;
    difference[item].second -= pair.second;
  }
  for (const auto& [item, pair] : difference) {
    sum += static_cast<double>(pair.first) * static_cast<double>(pair.first);
    sum += static_cast<double>(pair.second) * static_cast<double>(pair.second);
  }
  return sum;
}

// Means and centred ratings are fractions, cut toward zero: no floating point.
TEST(Items, OwnMeansAndCentredRatingsAreExact) {
  std::mt19937_64 random(17);
  for (const RatingScale scale :
       {kStars, RatingScale{0, 1}, RatingScale{-1'000'000'000, 1'000'000'000},
        RatingScale{-3, 4}}) {
    const double tau = RatingsBoundsOf(scale, Adjacency::kReplaceOne).tau;
    for (const int entry_bits : {9, 20}) {
      const ItemsLattice lattice =
          ItemsLatticeOf(scale, BitsFor(tau, entry_bits));
      for (int i = 0; i < 200; ++i) {
        const Ratings person = RandomPerson(random, 50, scale);
        if (person.empty()) continue;
        std::vector<std::int64_t> room;
        const ItemShare share =
            ShareOf(person, lattice, Adjacency::kOneRating, &room, scale);
        const auto n = static_cast<long double>(person.size());
        long double mean = 0, squares = 0;
        for (const auto& [item, units] : person) mean += units / n;
        for (const auto& [item, units] : person)
          squares += (units - mean) * (units - mean);
        const long double step = std::ldexp(1e-4L, lattice.bits);
        const long double middle =
            (static_cast<long double>(scale.low_units) + scale.high_units) / 2;
        const long double half =
            (static_cast<long double>(scale.high_units) - scale.low_units) / 2;
        const long double tiny = 1e-9L;  // of the reference's own rounding
        EXPECT_LE(std::abs(share.mean), lattice.most);
        EXPECT_LT(std::abs(share.mean - step * (mean - middle)), 1 + tiny);
        EXPECT_LT(std::abs(share.variance - step * squares / n / half),
                  1 + tiny);
        std::size_t at = 0;
        for (const auto& [item, units] : person) {
          const long double t = step * std::clamp(units - mean, -half, half);
          const auto l = static_cast<long double>(share.ratings[at++]);
          EXPECT_LT(std::abs(l - t), 1 + tiny);
          EXPECT_LE(std::abs(l), std::abs(t) + tiny) << "toward zero";
        }
      }
    }
  }
}

// Theorem 11. (x, y) of two people.
TEST(Items, Theorem11OwnMeansKeepTheirSensitivity) {
  std::mt19937_64 random(23);
  double largest = 0, longest = 0;
  for (const int bits : {2, 8, 19}) {
    const ItemsLattice lattice = ItemsLatticeOf(kStars, bits);
    const auto xy = [&](const Ratings& person) {
      std::vector<std::int64_t> room;
      const ItemShare share =
          ShareOf(person, lattice, Adjacency::kReplaceOne, &room);
      return std::pair{static_cast<double>(share.mean),
                       static_cast<double>(share.variance)};
    };
    const auto check = [&](const Ratings& one, const Ratings& other) {
      const auto [x, y] = xy(one);
      const auto [u, v] = xy(other);
      const double apart = (x - u) * (x - u) + (y - v) * (y - v);
      const double length = x * x + y * y;
      const auto replace = static_cast<double>(
          OwnMeansSensitivity(lattice, Adjacency::kReplaceOne));
      const auto add = static_cast<double>(
          OwnMeansSensitivity(lattice, Adjacency::kAddRemoveOne));
      EXPECT_LE(apart, replace);
      EXPECT_LE(length, add);
      EXPECT_EQ(OwnMeansSensitivity(lattice, Adjacency::kOneRating), replace);
      largest = std::max(largest, apart / replace);
      longest = std::max(longest, length / add);
    };
    for (int i = 0; i < 2000; ++i)
      check(RandomPerson(random, 12), RandomPerson(random, 12));
    check({{0, 10'000}}, {{3, 50'000}});
    check({{0, 10'000}, {1, 50'000}}, {{3, 50'000}});
  }
  EXPECT_EQ(largest, 1);
  EXPECT_EQ(longest, 1);
}

// Theorem 12: under replace one and add or remove one.
TEST(Items, Theorem12ItemsKeepTheirSensitivityAndAttainIt) {
  std::mt19937_64 random(29);
  double largest = 0, longest = 0;
  for (const int bits : {0, 1, 2, 3, 5, 8, 19}) {
    const ItemsLattice lattice = ItemsLatticeOf(kStars, bits);
    const auto replace = static_cast<double>(
        ItemsSensitivity(lattice, Adjacency::kReplaceOne, 1000));
    const auto add = static_cast<double>(
        ItemsSensitivity(lattice, Adjacency::kAddRemoveOne, 1000));
    const auto check = [&](const Ratings& one, const Ratings& other) {
      const Pairs x = PairsOf(one, lattice, Adjacency::kReplaceOne);
      const Pairs y = PairsOf(other, lattice, Adjacency::kReplaceOne);
      EXPECT_LE(GapOf(x, y), replace) << bits;
      EXPECT_LE(GapOf(x, {}), add) << bits;
      largest = std::max(largest, GapOf(x, y) / replace);
      longest = std::max(longest, GapOf(x, {}) / add);
    };
    for (int i = 0; i < 500; ++i) {
      const Ratings person = RandomPerson(random, 64);
      check(person, RandomPerson(random, 64));
      check(person, Mirrored(person));
      Ratings more = Mirrored(person);
      more[static_cast<std::int32_t>(random() % 64)] = 30'000;
      check(person, more);
    }
    for (const int n : {1, 2, 8, 50}) {
      check(Quarter(n, 1000, false), Quarter(n, 2000, true));
      check(Quarter(n, 1000, false), Quarter(n, 1000, true));
    }
  }
  EXPECT_GT(largest, 0.9999);
  EXPECT_GT(longest, 0.9999);
}

// Rounding each part by itself breaks |l_i| <= tau k_i / a, and with it the
// bound. A person of 256 items and one of 257, of which 256 are shared with
// opposite ratings; a = 1, c = tau = 17 / 16, on sixteenths.
TEST(Items, Theorem12RoundingBothPartsByThemselvesBreaksTheBound) {
  constexpr int kShared = 256;
  const RatingScale scale = {.low_units = 0, .high_units = 21'250};
  ItemsLattice lattice = ItemsLatticeOf(scale, 4);
  lattice.clip = lattice.largest_rating;
  lattice.ratio = {16, 17};
  lattice.mask_norm = 256;
  lattice.rating_norm = 289;
  const auto bound = static_cast<double>(
      ItemsSensitivity(lattice, Adjacency::kReplaceOne, 1000));
  EXPECT_EQ(bound, 2 * 256 + 4 * 289 - 512);
  Ratings one, other;
  for (int i = 0; i < kShared; ++i) {
    one[i] = i % 2 == 0 ? 21'250 : 0;
    other[i] = 21'250 - one[i];
  }
  other[kShared] = 10'625;
  const auto rounded = [](const Ratings& person) {
    Pairs pairs;
    const double w = 1 / std::sqrt(static_cast<double>(person.size()));
    for (const auto& [item, units] : person) {
      pairs[item] = {
          static_cast<std::int64_t>(16 * w),
          static_cast<std::int64_t>(16 * w * (units - 10'625) / 1e4)};
    }
    return pairs;
  };
  EXPECT_GT(GapOf(rounded(one), rounded(other)), bound);
  const Pairs x = PairsOf(one, lattice, Adjacency::kReplaceOne, scale);
  const Pairs y = PairsOf(other, lattice, Adjacency::kReplaceOne, scale);
  EXPECT_LE(GapOf(x, y), bound);
  EXPECT_GT(GapOf(x, {}), 500) << "the first adds k = 1 and |l| = 1";
}

// Theorem 12 under one_rating, where all roundings of a person may move.
TEST(Items, Theorem12OneRatingMovesAllRoundingsAndIsPaidFor) {
  std::mt19937_64 random(31);
  double largest = 0;
  for (const int bits : {0, 1, 2, 5, 9, 19}) {
    const ItemsLattice lattice = ItemsLatticeOf(kStars, bits);
    for (const int features : {1, 2, 7, 200}) {
      const auto bound = static_cast<double>(
          ItemsSensitivity(lattice, Adjacency::kOneRating, features));
      for (int i = 0; i < 300; ++i) {
        const Ratings person = RandomPerson(random, features);
        const Ratings moved = WithOneRatingMoved(random, person, features);
        const double apart =
            GapOf(PairsOf(person, lattice, Adjacency::kOneRating),
                  PairsOf(moved, lattice, Adjacency::kOneRating));
        EXPECT_LE(apart, bound) << bits << " " << features;
        largest = std::max(largest, apart / bound);
      }
    }
  }
  EXPECT_GT(largest, 0.98);
  // 200 items on quarters; the others lie where their rounding moves.
  Ratings person;
  for (int i = 1; i < 200; ++i) person[i] = i % 2 == 0 ? 32'500 : 27'500;
  Ratings moved = person;
  person[0] = 10'000;
  moved[0] = 50'000;
  const ItemsLattice lattice = ItemsLatticeOf(kStars, 2);
  const double apart = GapOf(PairsOf(person, lattice, Adjacency::kOneRating),
                             PairsOf(moved, lattice, Adjacency::kOneRating));
  EXPECT_GT(apart, 16.0 * 16.0) << "R without the lattice's term";
  EXPECT_LE(apart, static_cast<double>(
                       ItemsSensitivity(lattice, Adjacency::kOneRating, 200)));
}

// --------------------------------------------------- semidefinite
// contributions

PartPlan Symmetric(std::uint64_t rows) {
  return {.name = "X", .rows = rows, .columns = rows, .symmetric = true};
}

// v' X v of a triangle by columns.
Eigen::VectorXd EigenvaluesOf(const Sums& triangle, std::uint64_t rows) {
  const auto size = static_cast<Eigen::Index>(rows);
  Eigen::MatrixXd x(size, size);
  std::size_t at = 0;
  for (Eigen::Index j = 0; j < size; ++j)
    for (Eigen::Index i = 0; i <= j; ++i)
      x(i, j) = x(j, i) = static_cast<double>(triangle[at++]);
  return EigenOfSymmetric(x).values;
}

struct Semidefinite {
  std::string name;
  std::uint64_t rows;
  // Computes the sums of one person, with a model of loadings of some size.
  std::function<Sums(const Ratings&, const Eigen::MatrixXd&, int bits)> share;
  std::function<std::uint64_t(int bits)> norm;
};

std::vector<Semidefinite> SemidefiniteReleases() {
  constexpr double kStddev = 0.25;
  return {{"C", kRows.size(),
           [](const Ratings& person, const Eigen::MatrixXd&, int bits) {
             return ComputeCoRatings(*RatingsOf({person}, kRatedItems), kRows,
                                     {}, bits, {})
                 .value();
           },
           [](int bits) { return NormBoundSteps(1, bits); }},
          // Weights that a person's ratings may be in proportion to.
          {"C, damped", kRows.size(),
           [](const Ratings& person, const Eigen::MatrixXd& model, int bits) {
             const auto part = static_cast<std::uint32_t>(
                 std::fabs(model(0, 0)) * 1e4 + person.size());
             return ComputeCoRatings(*RatingsOf({person}, kRatedItems), kRows,
                                     part % 2 == 0
                                         ? Damping{{9, 9, 9, 9, 0, 0, 0, 9}, 64}
                                         : Damped(part % (kDampingParts + 1)),
                                     bits, {})
                 .value();
           },
           [](int bits) { return NormBoundSteps(1, bits); }},
          {"P", kRank,
           [](const Ratings& person, const Eigen::MatrixXd& model, int bits) {
             return ComputeProfileMoments(*RatingsOf({person}, kRatedItems),
                                          {&model, kStddev}, kRank, bits, {})
                 .value();
           },
           [](int bits) { return ProfileMomentNorm(kRank, bits); }},
          {"S", kRows.size(),
           [](const Ratings& person, const Eigen::MatrixXd& model, int bits) {
             return ComputeResidualMoments(*RatingsOf({person}, kRatedItems),
                                           {&model, kStddev}, kRows, bits, {})
                 .value();
           },
           [](int bits) { return ResidualNorm(kStars, bits); }},
          {"A", kDirections + 1,
           [](const Ratings& person, const Eigen::MatrixXd& model, int bits) {
             return ComputeCorrections(*RatingsOf({person}, kRatedItems),
                                       {&model, kStddev}, kDirections, bits,
                                       bits, {})
                 ->a;
           },
           [](int bits) { return ProfileNorm(bits); }}};
}

// Theorem 13, on fine and on coarse lattices, for models of any size.
TEST(Semidefinite, Theorem13SharesAreSemidefiniteAndKeepTheirBound) {
  for (const Semidefinite& release : SemidefiniteReleases()) {
    SCOPED_TRACE(release.name);
    std::mt19937_64 random(37);
    const PartPlan part = Symmetric(release.rows);
    for (const double size : {0.0, 0.1, 1.0, 1e3, 1e6}) {
      const Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 41, size);
      for (const int bits : {1, 3, 9, 19}) {
        const Uint128 norm = release.norm(bits);
        const Sums nothing(release.rows * (release.rows + 1) / 2);
        for (int i = 0; i < 40; ++i) {
          const Ratings person = RandomPerson(random, kRatedItems);
          const Ratings other = random() % 3 == 0
                                    ? Mirrored(person)
                                    : RandomPerson(random, kRatedItems);
          const Sums x = release.share(person, model, bits);
          const Sums y = release.share(other, model, bits);
          EXPECT_LE(SquaredDistance(part, x, nothing), norm * norm);
          EXPECT_LE(SquaredDistance(part, x, y), 2 * norm * norm);
          const Eigen::VectorXd eigenvalues = EigenvaluesOf(x, release.rows);
          EXPECT_GE(eigenvalues.minCoeff(),
                    -1e-12 * (1 + eigenvalues.maxCoeff()));
        }
      }
    }
  }
}

// In exact arithmetic, for every number of ratings and every sum of weights.
TEST(Semidefinite, TheGateOfDampedCoRatingsHoldsAndWastesLittle) {
  constexpr Uint128 kWhole = Uint128{kDampingParts} * kDampingParts;
  for (const int bits : {1, 5, 9, 13, 20, 25}) {
    const std::uint64_t norm = NormBoundSteps(1, bits);
    for (const std::uint32_t part : {0, 1, 13, 48, 63, 64}) {
      const Damping damping = Damped(part);
      std::uint64_t length = 0;
      for (const std::uint64_t weight : damping.weights)
        length += weight * weight;
      const CoRatingGate gate(damping, norm);
      EXPECT_EQ(gate.damps(), part > 0 && length < norm);
      for (std::uint64_t n = 1; n <= 8; ++n) {
        for (std::uint64_t along = 0; along * along <= n * length; along += 7) {
          const CoRatingShare share = gate.ShareOf(n, along);
          const double k = static_cast<double>(share.k),
                       b = static_cast<double>(share.b),
                       squares = k * k * static_cast<double>(n) -
                                 2 * k * b * static_cast<double>(along) +
                                 b * b * static_cast<double>(length);
          EXPECT_LE(squares, static_cast<double>(norm) * (1 + 1e-9));
          if (!gate.damps() || length * 64 > norm) continue;
          const double rest = static_cast<double>(kWhole * n * length -
                                                  Uint128{along} * along *
                                                      part * (128 - part)) /
                              static_cast<double>(kWhole * length);
          // Short of the bound by the rounding of k and b.
          if (rest > 1e-3) {
            EXPECT_GT(squares, 0.9 * static_cast<double>(norm));
          }
        }
      }
    }
  }
}

TEST(Semidefinite, DampedCoRatingsAreThoseOfTheFormula) {
  const Ratings person = {{0, 20'000}, {1, 45'000},  {4, 31'234}, {6, 50'000},
                          {9, 10'000}, {20, 33'000}, {31, 36'500}};
  const auto data = RatingsOf({person, person, {{39, 10'000}}}, kRatedItems);
  Eigen::VectorXd p(8), m(8), alone(8);
  for (Eigen::Index i = 0; i < 8; ++i)
    p(i) = Damped(0).weights[static_cast<std::size_t>(i)];
  m << 1, 1, 0, 1, 0, 1, 1, 0;
  alone << 0, 0, 0, 0, 0, 0, 0, 1;
  const Sums plain = ComputeCoRatings(*data, kRows, {}, 20, {}).value();
  EXPECT_EQ(ComputeCoRatings(*data, kRows, Damped(0), 20, {}).value(), plain);
  EXPECT_EQ(ComputeCoRatings(*data, kRows, {std::vector<std::uint32_t>(8), 40},
                             20, {})
                .value(),
            plain);
  for (const std::uint32_t part : {1U, 32U, 64U}) {
    const double g = part / static_cast<double>(kDampingParts);
    const auto damped = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
      return (x - g * p * p.dot(x) / p.squaredNorm()).normalized();
    };
    const Eigen::VectorXd z = damped(m), other = damped(alone);
    const Eigen::MatrixXd expected =
        2 * z * z.transpose() + other * other.transpose();
    const Sums sums =
        ComputeCoRatings(*data, kRows, Damped(part), 20, {}).value();
    std::size_t at = 0;
    for (Eigen::Index j = 0; j < 8; ++j) {
      for (Eigen::Index i = 0; i <= j; ++i, ++at) {
        EXPECT_NEAR(std::ldexp(static_cast<double>(sums[at]), -40),
                    expected(i, j), 1e-3);
      }
    }
  }
  // Whose ratings are the weights themselves has nothing left.
  const auto same = RatingsOf({{{0, 20'000}, {5, 30'000}}}, kRatedItems);
  const Damping all{{7, 0, 7, 0, 0, 0, 0, 0}, kDampingParts};
  EXPECT_EQ(ComputeCoRatings(*same, kRows, all, 20, {}).value(), Sums(36));
}

// Not a share of zeros: a person of middling numbers adds what the formulas
// say.
TEST(Semidefinite, SharesAreThoseOfTheFormulas) {
  const Ratings person = {{0, 20'000}, {1, 45'000},  {4, 31'234}, {6, 50'000},
                          {9, 10'000}, {20, 33'000}, {31, 36'500}};
  constexpr double kStddev = 0.8;
  const Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 43, 0.4);
  const auto data = RatingsOf({person}, kRatedItems);
  const auto n = static_cast<Eigen::Index>(person.size());
  Eigen::MatrixXd x(n, kRank);
  Eigen::VectorXd y(n);
  std::vector<Eigen::Index> named;
  Eigen::Index at = 0;
  for (const auto& [item, units] : person) {
    x.row(at) = model.row(item).tail(kRank);
    y(at) = units * 1e-4 - model(item, 0);
    if (std::count(kRows.begin(), kRows.end(), item) > 0) named.push_back(at);
    ++at;
  }
  const Eigen::MatrixXd covariance = InverseOfPositive(
      x.transpose() * x + Eigen::MatrixXd::Identity(kRank, kRank));
  const Eigen::VectorXd profile = covariance * (x.transpose() * y);
  const Eigen::VectorXd residual = (y - x * profile).array().min(2.0).max(-2.0);

  // P.
  const Eigen::VectorXd h = profile / kStddev;
  Eigen::MatrixXd moment = h * h.transpose() + covariance;
  moment *= std::min(1.0, ProfileMomentBound(kRank) / moment.norm());
  const Sums p =
      ComputeProfileMoments(*data, {&model, kStddev}, kRank, 18, {}).value();
  std::size_t next = 0;
  for (Eigen::Index j = 0; j < kRank; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i, ++next) {
      EXPECT_NEAR(std::ldexp(static_cast<double>(p[next]), -36), moment(i, j),
                  2e-4);
    }
  }
  // S: w of the named rows alone.
  Eigen::VectorXd z(static_cast<Eigen::Index>(named.size()));
  for (std::size_t i = 0; i < named.size(); ++i)
    z(static_cast<Eigen::Index>(i)) = residual(named[i]);
  z /= std::sqrt(static_cast<double>(named.size()));
  z *= std::min(1.0, 1 / z.norm());
  const Sums s =
      ComputeResidualMoments(*data, {&model, kStddev}, kRows, 19, {}).value();
  double trace = 0;
  for (std::size_t j = 0; j < kRows.size(); ++j)
    trace += std::ldexp(static_cast<double>(s[j * (j + 3) / 2]), -38);
  EXPECT_NEAR(trace, z.squaredNorm(), 1e-4);
  EXPECT_GT(trace, 0.01);
  // B and A.
  Eigen::VectorXd g(kDirections + 1);
  g << 0.5, h.segment(1, kDirections) *
                std::min(1.0, 1 / h.segment(1, kDirections).norm());
  const CorrectionSums corrections =
      ComputeCorrections(*data, {&model, kStddev}, kDirections, 19, 20, {})
          .value();
  Eigen::VectorXd full = residual / std::sqrt(static_cast<double>(n));
  full *= std::min(1.0, 1 / full.norm());
  at = 0;
  for (const auto& [item, units] : person) {
    for (int k = 0; k <= kDirections; ++k) {
      EXPECT_NEAR(
          std::ldexp(static_cast<double>(corrections.b[static_cast<std::size_t>(
                         k * kRatedItems + item)]),
                     -39),
          full(at) * g(k), 1e-4);
    }
    ++at;
  }
  EXPECT_NEAR(std::ldexp(static_cast<double>(corrections.a[0]), -40), 0.25,
              1e-9);
  EXPECT_NEAR(std::ldexp(static_cast<double>(corrections.a[1]), -40),
              g(0) * g(1), 1e-4);
}

// ---------------------------------------------------------------- corrections

// A person whose profile is `direction` and whose residual is +-tau at item 3
// alone: items 0 to 2 have one great loading each, item 3 has none.
struct Correction {
  Eigen::MatrixXd model = Eigen::MatrixXd::Zero(4, 4);
  Ratings person;
  Correction(std::int32_t units, bool best) {
    model.col(0).setConstant(3);
    for (int k = 0; k < 3; ++k) model(k, 1 + k) = 1e3;
    person = {
        {0, 30'000}, {1, units}, {2, 30'000}, {3, best ? 50'000 : 10'000}};
  }
};

// Theorem 14: signs add up to twice what one person adds; sqrt(2), as for
// vectors without signs, is not enough.
TEST(Corrections, Theorem14SignsMoveTheSumByTwiceAShare) {
  const Correction one(50'000, true), other(50'000, false);
  const auto share = [](const Correction& correction) {
    return ComputeCorrections(*RatingsOf({correction.person}, 4),
                              {&correction.model, 1e-6}, 2, 19, 20, {})
        .value()
        .b;
  };
  const PartPlan part = {.name = "B", .rows = 4, .columns = 3};
  const double apart =
      static_cast<double>(SquaredDistance(part, share(one), share(other)));
  const double norms = static_cast<double>(ResidualNorm(kStars, 19)) *
                       static_cast<double>(ProfileNorm(20));
  EXPECT_LE(apart, 4 * norms);
  EXPECT_GT(apart, 3.999 * norms);
}

TEST(Corrections, Theorem14RandomPeopleKeepTheBound) {
  std::mt19937_64 random(47);
  const PartPlan part = {
      .name = "B", .rows = kRatedItems, .columns = kDirections + 1};
  for (const double size : {0.0, 0.3, 1e3}) {
    const Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 53, size);
    for (const int bits : {1, 4, 19}) {
      const auto share = [&](const Ratings& person) {
        return ComputeCorrections(*RatingsOf({person}, kRatedItems),
                                  {&model, 0.5}, kDirections, bits, bits, {})
            .value()
            .b;
      };
      const Uint128 norms =
          static_cast<Uint128>(ResidualNorm(kStars, bits)) * ProfileNorm(bits);
      const Sums nothing(kRatedItems * (kDirections + 1));
      for (int i = 0; i < 60; ++i) {
        const Ratings person = RandomPerson(random, kRatedItems);
        const Sums x = share(person);
        EXPECT_LE(SquaredDistance(part, x, nothing), norms);
        EXPECT_LE(SquaredDistance(part, x, share(Mirrored(person))), 4 * norms);
        EXPECT_LE(
            SquaredDistance(part, x, share(RandomPerson(random, kRatedItems))),
            4 * norms);
      }
    }
  }
}

// -------------------------------------------------------------- hostile input

// Numbers that are not finite reach nobody's sums, whatever was checked before.
TEST(RatingsSums, WhatIsNotFiniteAddsZero) {
  const double kBad[] = {std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity(), 1e200,
                         -1e308};
  const auto data = RatingsOf({{{0, 20'000}, {5, 40'000}}}, kRatedItems);
  for (const double bad : kBad) {
    for (const int column : {0, 1, 2}) {
      Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 3);
      model(5, column) = bad;
      const RatingsRequest request{&model, 1};
      const auto is_within = [](const Sums& sums, const PartPlan& part,
                                Uint128 norm) {
        const Sums nothing(sums.size());
        return SquaredDistance(part, sums, nothing) <= norm * norm;
      };
      const Sums p =
          ComputeProfileMoments(*data, request, kRank, 18, {}).value();
      EXPECT_TRUE(is_within(p, Symmetric(kRank), ProfileMomentNorm(kRank, 18)));
      if (column > 0 || !std::isfinite(bad)) {
        EXPECT_EQ(p, Sums(p.size())) << bad << " " << column;
      }
      const Sums s =
          ComputeResidualMoments(*data, request, kRows, 18, {}).value();
      EXPECT_TRUE(
          is_within(s, Symmetric(kRows.size()), ResidualNorm(kStars, 18)));
    }
  }
  std::vector<std::int64_t> integers(2);
  EXPECT_FALSE(
      QuantiseSigned(std::vector<double>{1, kBad[0]}, 1, 4, 256, integers));
  EXPECT_FALSE(
      QuantiseSigned(std::vector<double>{1, kBad[1]}, 1, 4, 256, integers));
}

// The gate decides in integers: a bound that floating point was told wrongly
// lets nothing through.
TEST(RatingsSums, TheGateDoesNotTrustTheScale) {
  std::vector<std::int64_t> integers(2);
  EXPECT_TRUE(
      QuantiseSigned(std::vector<double>{-3, 4}, 5, 4, 25 * 256, integers));
  EXPECT_EQ(integers, (std::vector<std::int64_t>{-48, 64}));
  EXPECT_FALSE(QuantiseSigned(std::vector<double>{-3, 4}, 5.5, 4, 25 * 256 - 1,
                              integers));
}

}  // namespace
}  // namespace dpnmf::curator
