#include "curator/recommend/recommender.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "common/base/error.h"
#include "common/ratings/person.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/ratings/sample_model.h"
#include "tests/curator/recommend/rated.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;

constexpr int kItems = 60;

Recommender Sample(int k = 3) {
  NamedItemModel model = SampleItemModel(kItems, 4, k);
  const std::vector<std::string> items = model.items;
  return Recommender::Create(std::move(model), items, {}, OneToFive()).value();
}

// Every bit of a list.
std::vector<std::uint64_t> BitsOf(const std::vector<Recommendation>& list) {
  std::vector<std::uint64_t> bits;
  for (const Recommendation& one : list) {
    bits.push_back(static_cast<std::uint64_t>(one.item));
    bits.push_back(std::bit_cast<std::uint64_t>(one.rating));
    bits.push_back(std::bit_cast<std::uint64_t>(one.stddev));
    for (const Contribution& reason : one.because) {
      bits.push_back(static_cast<std::uint64_t>(reason.item));
      bits.push_back(std::bit_cast<std::uint64_t>(reason.adds));
    }
  }
  return bits;
}

// Joint privacy: change everybody else, their number and one's own place, and
// not a bit of one's list changes.
TEST(Recommend, AListIsAFunctionOfTheModelAndOfThatPersonsRecordAlone) {
  const Recommender recommender = Sample();
  const Record own = SomeRatings(3, kItems);
  std::vector<Record> people, others;
  for (int u = 0; u < 30; ++u) people.push_back(SomeRatings(u, kItems));
  people[4] = own;
  for (int u = 0; u < 11; ++u) {
    others.push_back(SomeRatings(97 + 13 * u, kItems));
    if (u % 2 == 0) others.back().clear();
  }
  others[9] = own;
  const auto one = RatedBy(people, kItems), other = RatedBy(others, kItems);
  for (const bool by_rating : {false, true}) {
    const ListOptions options = {
        .top = 15, .by_rating = by_rating, .explain = true};
    const auto bits =
        BitsOf(recommender.Recommend(one->RatingsOf(4), options).value());
    EXPECT_EQ(
        bits,
        BitsOf(recommender.Recommend(other->RatingsOf(9), options).value()));
    EXPECT_NE(
        bits,
        BitsOf(recommender.Recommend(one->RatingsOf(5), options).value()));
  }
}

TEST(Recommend, TheOwnItemsAreLeftOutAndTheRestIsInOrder) {
  const Recommender recommender = Sample();
  const auto data = RatedBy({SomeRatings(1, kItems)}, kItems);
  const RatedItems own = data->RatingsOf(0);
  const auto list =
      recommender.Recommend(own, {.top = kMostTop, .by_rating = true}).value();
  EXPECT_EQ(list.size(), kItems - own.items.size());
  std::set<std::int32_t> items;
  for (const Recommendation& one : list) {
    EXPECT_FALSE(
        std::binary_search(own.items.begin(), own.items.end(), one.item));
    items.insert(one.item);
    EXPECT_GE(one.rating, 1);
    EXPECT_LE(one.rating, 5);
    EXPECT_GT(one.stddev, 0);
  }
  EXPECT_EQ(items.size(), list.size());
  EXPECT_TRUE(std::is_sorted(
      list.begin(), list.end(),
      [](const auto& a, const auto& b) { return a.rating > b.rating; }));
  const auto shorter =
      recommender.Recommend(own, {.top = 4, .by_rating = true}).value();
  EXPECT_EQ(BitsOf(shorter), BitsOf({list.begin(), list.begin() + 4}));
}

TEST(Recommend, ByRelevanceTheScoresOfTheModelDecide) {
  const Recommender recommender = Sample();
  const auto data = RatedBy({SomeRatings(2, kItems)}, kItems);
  const RatedItems own = data->RatingsOf(0);
  std::vector<double> ratings;
  for (const std::int32_t units : own.units)
    ratings.push_back(units * kRatingUnit);
  const ItemModel& model = recommender.model().model;
  const Eigen::VectorXd scores = RankingScores(
      model, SolveProfile(model, own.items, ratings), own.items, ratings);
  const auto list = recommender.Recommend(own, {.top = kMostTop}).value();
  for (std::size_t i = 1; i < list.size(); ++i)
    EXPECT_GE(scores(list[i - 1].item), scores(list[i].item));
}

// Whatever the order: there is nothing to tell one new person from another.
TEST(Recommend, ANewPersonGetsTheListOfThePrior) {
  const Recommender recommender = Sample();
  const ItemModel& model = recommender.model().model;
  const Eigen::VectorXd scores =
      RankingScores(model, SolveProfile(model, {}, {}), {}, {});
  for (const bool by_rating : {false, true}) {
    const auto list =
        recommender.Recommend({}, {.top = 10, .by_rating = by_rating}).value();
    ASSERT_EQ(list.size(), 10u);
    EXPECT_EQ(scores(list[0].item), scores.maxCoeff());
    for (std::size_t i = 1; i < list.size(); ++i)
      EXPECT_GE(scores(list[i - 1].item), scores(list[i].item));
  }
}

// A model file may say that nothing is popular.
TEST(Recommend, WithoutPopularityThereIsStillAList) {
  NamedItemModel model = SampleItemModel(kItems, 4, 3);
  model.model.popularity.setZero();
  const std::vector<std::string> items = model.items;
  const auto recommender =
      Recommender::Create(std::move(model), items, {}, OneToFive()).value();
  const auto data = RatedBy({SomeRatings(1, kItems)}, kItems);
  EXPECT_EQ(recommender.Recommend(data->RatingsOf(0), {}).value().size(), 20u);
  EXPECT_EQ(recommender.Recommend({}, {}).value().size(), 20u);
}

// A prediction within the range is the base and what each own rating adds.
TEST(Recommend, TheContributionsAddUpToThePrediction) {
  const Recommender recommender = Sample();
  const ItemModel& model = recommender.model().model;
  const auto data =
      RatedBy({{{3, 20'000}, {11, 45'000}, {40, 35'000}}}, kItems);
  const auto list =
      recommender
          .Recommend(data->RatingsOf(0),
                     {.top = kMostTop, .by_rating = true, .explain = true})
          .value();
  int inside = 0;
  for (const Recommendation& one : list) {
    ASSERT_EQ(one.because.size(), 3u);
    double sum = model.base(one.item);
    for (const Contribution& reason : one.because) sum += reason.adds;
    EXPECT_GE(std::abs(one.because[0].adds), std::abs(one.because[1].adds));
    if (sum <= 1 || sum >= 5) continue;
    ++inside;
    EXPECT_NEAR(one.rating, sum, 1e-12);
  }
  EXPECT_GT(inside, 20);
  EXPECT_TRUE(
      recommender.Recommend(data->RatingsOf(0), {}).value()[0].because.empty());
}

// How long a number takes would tell whose it is.
TEST(Recommend, SubnormalNumbersAreZeroWhileAListIsMade) {
  constexpr double kSmall = 1e-160;
  NamedItemModel named = SampleItemModel(kItems, 4, 0);
  named.model.loadings.setConstant(kSmall);
  const std::vector<std::string> items = named.items;
  const Recommender recommender =
      Recommender::Create(std::move(named), items, {}, OneToFive()).value();
  const auto data = RatedBy({SomeRatings(1, kItems)}, kItems);
  const auto list =
      recommender.Recommend(data->RatingsOf(0), {.explain = true}).value();
  ASSERT_FALSE(list.empty());
  for (const Recommendation& one : list) {
    ASSERT_FALSE(one.because.empty());
    EXPECT_EQ(one.because[0].adds, 0);  // about kSmall^2
  }
  const volatile double small = kSmall;
  EXPECT_NE(small * small, 0) << "the thread is as it was";
}

// Contributions of a non-negative model, and the amounts that parts which the
// person does not have take away.
TEST(Recommend, TheContributionsOfANonNegativeModelAddUpToo) {
  NamedItemModel named = SampleItemModel(kItems, 6, 3);
  named.model.loadings = named.model.loadings.cwiseAbs();
  named.model.level = 0.05;
  const std::vector<std::string> items = named.items;
  const Recommender recommender =
      Recommender::Create(std::move(named), items, {}, OneToFive()).value();
  const ItemModel& model = recommender.model().model;
  const auto data =
      RatedBy({{{3, 20'000}, {11, 15'000}, {40, 20'000}}}, kItems);
  const RatedItems own = data->RatingsOf(0);
  const Profile profile = SolveProfile(model, own.items, {{2, 1.5, 2}});
  ASSERT_FALSE(profile.at_bound.empty());
  const auto list =
      recommender
          .Recommend(own, {.top = kMostTop, .by_rating = true, .explain = true})
          .value();
  int inside = 0;
  for (const Recommendation& one : list) {
    double sum = model.base(one.item);
    for (const Contribution& reason : one.because) sum += reason.adds;
    for (const Eigen::Index k : profile.at_bound)
      sum -= 0.05 * model.loadings(one.item, k);
    if (sum <= 1 || sum >= 5) continue;
    ++inside;
    EXPECT_NEAR(one.rating, sum, 1e-9);
  }
  EXPECT_GT(inside, 20);
}

// The posterior covers ratings that are drawn from the model: 100,000 of them,
// each within two standard errors with probability .9545. False alarms: below
// 1e-6, as the count is binomial (a deviation of 5 standard deviations).
TEST(Recommend, TheErrorBarsCoverRatingsDrawnFromTheModel) {
  constexpr int kPeople = 2'000, kOwn = 15, kAsked = 50;
  NamedItemModel named = SampleItemModel(kOwn + kAsked, 4, 0);
  named.model.base_stddev.setZero();
  const ItemModel& model = named.model;
  std::uint64_t state = 20260101;
  const auto uniform = [&] {  // SplitMix64; not differentially private
    state += 0x9e3779b97f4a7c15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(uniform())) *
           std::cos(2 * 3.14159265358979323846 * uniform());
  };
  std::vector<std::int32_t> own(kOwn);
  for (int j = 0; j < kOwn; ++j) own[static_cast<std::size_t>(j)] = j;
  int within = 0;
  double centred = 0;
  for (int u = 0; u < kPeople; ++u) {
    Eigen::VectorXd h(4);
    for (double& entry : h) entry = normal();
    const auto rating = [&](int i) {
      return model.base(i) + model.loadings.row(i).dot(h) +
             model.residual_stddev * normal();
    };
    std::vector<double> ratings;
    for (int j = 0; j < kOwn; ++j) ratings.push_back(rating(j));
    const Profile profile = SolveProfile(model, own, ratings);
    for (int i = kOwn; i < kOwn + kAsked; ++i) {
      const double predicted =
          model.base(i) + model.loadings.row(i).dot(profile.mean);
      const double stddev = Predict(model, profile, i).stddev;
      const double z = (rating(i) - predicted) / stddev;
      within += std::abs(z) <= 2 ? 1 : 0;
      centred += z;
    }
  }
  // A person's predictions share h: at worst each person counts once.
  const double share = within / double{kPeople * kAsked};
  EXPECT_NEAR(share, 0.9545, 5 * std::sqrt(0.9545 * 0.0455 / kPeople));
  EXPECT_NEAR(centred / (kPeople * kAsked), 0, 5 / std::sqrt(double{kPeople}));
}

TEST(Recommend, AModelOfOtherItemsIsRefused) {
  const NamedItemModel model = SampleItemModel(4, 2, 0);
  const auto refusal = [&](std::vector<std::string> items,
                           const RatingScale& scale) {
    const absl::Status status =
        Recommender::Create(model, items, {}, scale).status();
    EXPECT_EQ(ReasonCode(status), "model-differs");
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({"i0", "i1", "i2"}, OneToFive()),
              HasSubstr("4 items and the data set 3"));
  EXPECT_THAT(refusal({"i0", "i1", "i3", "i2"}, OneToFive()),
              HasSubstr("item 3 is `i2` in the model and `i3`"));
  EXPECT_THAT(refusal(model.items, {.low_units = 0, .high_units = 50'000}),
              HasSubstr("range"));
  EXPECT_TRUE(Recommender::Create(model, model.items, {}, OneToFive()).ok());
}

// The range of a model may differ from the declared one by rounding.
TEST(Recommend, APredictionLiesInTheDeclaredRangeToTheLastBit) {
  NamedItemModel model = SampleItemModel(kItems, 4, 0);
  model.model.low -= 1e-13;
  model.model.high += 1e-13;
  model.model.base.head(2).setConstant(-100);
  model.model.base.tail(2).setConstant(100);
  const std::vector<std::string> items = model.items;
  const Recommender recommender =
      Recommender::Create(std::move(model), items, {}, OneToFive()).value();
  const auto data = RatedBy({{{7, 35'000}}}, kItems);
  const auto list =
      recommender
          .Recommend(data->RatingsOf(0), {.top = kMostTop, .by_rating = true})
          .value();
  EXPECT_EQ(list.front().rating, 5);
  EXPECT_EQ(list.back().rating, 1);
}

// The file's names are the analyst's words.
TEST(Recommend, TheNamesAreTheOperators) {
  const NamedItemModel model = SampleItemModel(2, 2, 0);
  const std::vector<std::string> names = {"one", ""};
  EXPECT_EQ(Recommender::Create(model, model.items, names, OneToFive())
                ->model()
                .names,
            names);
  EXPECT_TRUE(Recommender::Create(model, model.items, {}, OneToFive())
                  ->model()
                  .names.empty());
}

TEST(Recommend, AModelOfTooManyColumnsIsRefused) {
  for (const bool of_ranking : {false, true}) {
    for (const int columns : {256, 257}) {
      const NamedItemModel model = SampleItemModel(3, of_ranking ? 2 : columns,
                                                   of_ranking ? columns : 0);
      const absl::Status status =
          Recommender::Create(model, model.items, {}, OneToFive()).status();
      EXPECT_EQ(ReasonCode(status), columns == 256 ? "" : "model-too-wide");
    }
  }
}

// Columns that are nearly the same, of the largest numbers that a file may
// have, cannot be solved in double precision.
TEST(Recommend, SaysHowManyOwnRatingsTheListIsFrom) {
  const auto data = RatedBy({SomeRatings(1, kItems)}, kItems);
  const RatedItems own = data->RatingsOf(0);
  for (const bool large : {false, true}) {
    NamedItemModel model = SampleItemModel(kItems, 5, 2);
    if (large) {
      model.model.residual_stddev = 4e-6;
      for (Eigen::Index i = 0; i < kItems; ++i)
        for (Eigen::Index j = 0; j < 5; ++j)
          model.model.loadings(i, j) =
              (i % 3 == 0 ? 4e6 : -4e6) * (1 - 1e-3 * double(j % 2));
    }
    const std::vector<std::string> items = model.items;
    const Recommender recommender =
        Recommender::Create(std::move(model), items, {}, OneToFive()).value();
    std::size_t used = 1'000;
    ASSERT_TRUE(recommender.Recommend(own, {}, &used).ok());
    EXPECT_EQ(used, large ? 0 : own.items.size());
  }
}

// A hostile model within the limits of a file: no crash, and a list for
// everybody.
TEST(Recommend, ExtremeModelsGiveEverybodyAList) {
  const auto data = RatedBy({SomeRatings(1, kItems)}, kItems);
  for (const double size : {4e6, -4e6, 1e-300, 0.0, 1e3}) {
    for (const double noise : {4e-6, 4e6, 1.0}) {
      NamedItemModel model = SampleItemModel(kItems, 5, 2);
      model.model.residual_stddev = noise;
      for (Eigen::Index i = 0; i < kItems; ++i)
        for (Eigen::Index j = 0; j < 5; ++j)
          model.model.loadings(i, j) = (i + j) % 3 == 0 ? size : -size;
      const std::vector<std::string> items = model.items;
      const auto recommender =
          Recommender::Create(std::move(model), items, {}, OneToFive());
      ASSERT_TRUE(recommender.ok()) << recommender.status();
      const auto list =
          recommender->Recommend(data->RatingsOf(0), {.explain = true});
      ASSERT_TRUE(list.ok()) << list.status();
      for (const Recommendation& one : *list) {
        EXPECT_TRUE(one.rating >= 1 && one.rating <= 5) << one.rating;
        EXPECT_TRUE(std::isfinite(one.stddev));
      }
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator
