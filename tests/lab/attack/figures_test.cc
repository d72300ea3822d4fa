#include "lab/attack/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {
namespace {

// scipy.stats.beta.ppf of scipy 1.10.
TEST(Figures, QuantilesOfBetaAreScipys) {
  EXPECT_NEAR(BetaQuantile(0.5, 0.5, 0.3), 0.2061073738537634, 1e-13);
  EXPECT_NEAR(BetaQuantile(2, 3, 0.5), 0.3857275681323895, 1e-13);
  EXPECT_NEAR(BetaQuantile(200, 1800, 0.975), 0.11351784968332439, 1e-13);
  EXPECT_NEAR(BetaQuantile(1, 1, 0.25), 0.25, 1e-13);
}

TEST(Figures, IntervalsAreThoseOfClopperAndPearson) {
  struct {
    int count, of;
    double low, high;
  } const cases[] = {{0, 10, 0, 0.3084971078187608},
                     {1, 10, 0.0025285785444617848, 0.4450161170281954},
                     {5, 10, 0.18708602844739855, 0.8129139715526015},
                     {10, 10, 0.6915028921812392, 1},
                     {328, 411, 0.7559375767807127, 0.83581572326055},
                     {3, 2000, 0.00030944294931233306, 0.004377320104529616}};
  for (const auto& one : cases) {
    const Share share = ShareOf(one.count, one.of);
    EXPECT_DOUBLE_EQ(share.value, static_cast<double>(one.count) / one.of);
    EXPECT_NEAR(share.low, one.low, 1e-12);
    EXPECT_NEAR(share.high, one.high, 1e-12);
    EXPECT_EQ(share.of, one.of);
  }
  EXPECT_EQ(ShareOf(0, 0), Share());
}

TEST(Figures, AnExpectedCountHasTheIntervalsOfTheWholeNumbersAroundIt) {
  const Share share = ShareOfExpected(3.4, 50);
  EXPECT_DOUBLE_EQ(share.value, 3.4 / 50);
  EXPECT_EQ(share.low, ShareOf(3, 50).low);
  EXPECT_EQ(share.high, ShareOf(4, 50).high);
  EXPECT_EQ(ShareOfExpected(2.9999999999999996, 50), ShareOf(3, 50));
}

// Sun and Xu (2014): the components by every pair of a member and an outsider.
Share AreaByTrial(const std::vector<double>& members,
                  const std::vector<double>& outsiders) {
  const auto beats = [](double a, double b) {
    return a > b ? 1.0 : a == b ? 0.5 : 0.0;
  };
  std::vector<double> v10(members.size()), v01(outsiders.size());
  double area = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t j = 0; j < outsiders.size(); ++j) {
      const double one = beats(members[i], outsiders[j]);
      v10[i] += one / static_cast<double>(outsiders.size());
      v01[j] += one / static_cast<double>(members.size());
      area += one / static_cast<double>(members.size() * outsiders.size());
    }
  }
  double variance = 0;
  for (const std::vector<double>* v : {&v10, &v01}) {
    double sum = 0;
    for (const double one : *v) sum += (one - area) * (one - area);
    const double n = static_cast<double>(v->size());
    variance += sum / (n - 1) / n;
  }
  const double half = 1.959963984540054 * std::sqrt(variance);
  return {.value = area,
          .low = std::max(0.0, area - half),
          .high = std::min(1.0, area + half),
          .of = static_cast<std::int64_t>(members.size() + outsiders.size())};
}

TEST(Figures, TheAreaIsThatOfAllPairsWithDeLongsInterval) {
  SeededNoise noise(3);
  std::vector<double> members, outsiders;
  for (int i = 0; i < 70; ++i)  // whole numbers: ties
    members.push_back(std::floor(10 * noise.Uniform()) + 2);
  for (int i = 0; i < 50; ++i)
    outsiders.push_back(std::floor(10 * noise.Uniform()));
  const Share area = AreaUnderCurve(members, outsiders);
  const Share trial = AreaByTrial(members, outsiders);
  EXPECT_NEAR(area.value, trial.value, 1e-12);
  EXPECT_NEAR(area.low, trial.low, 1e-12);
  EXPECT_NEAR(area.high, trial.high, 1e-12);
  EXPECT_EQ(area.of, 120);
}

TEST(Figures, GroupsApartHaveAnAreaOfOneThatIsNotCertain) {
  const std::vector<double> members = {3, 4, 5, 6, 7}, outsiders = {1, 2, 2};
  const Share area = AreaUnderCurve(members, outsiders);
  EXPECT_EQ(area.value, 1);
  EXPECT_EQ(area.high, 1);
  EXPECT_EQ(area.low, ShareOf(3, 3).low);
}

TEST(Figures, AtOnePercentTheThresholdIsTheOutsidersOwn) {
  std::vector<double> outsiders;
  for (int i = 1; i <= 200; ++i) outsiders.push_back(i);
  // Two of 200 may exceed the threshold: it is 198.
  const std::vector<double> members = {197, 198, 199, 1000};
  EXPECT_EQ(FoundAtOnePercent(members, outsiders), ShareOf(2, 4));
  // None of 50 outsiders may exceed the threshold.
  outsiders.resize(50);
  EXPECT_EQ(FoundAtOnePercent(std::vector<double>{50, 50.5}, outsiders),
            ShareOf(1, 2));
}

}  // namespace
}  // namespace dpnmf::curator::lab
