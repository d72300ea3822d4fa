#include "lab/tables/draws.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

TEST(Draws, OfASeedAreTheSameAndOfTheSystemAreNot) {
  Draws a(7), b(7), c(8), d(std::nullopt), e(std::nullopt);
  EXPECT_EQ(a.Bits(), b.Bits());
  EXPECT_NE(a.Bits(), c.Bits());
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 2000; ++i) {
    seen.insert(d.Bits());
    seen.insert(e.Bits());
  }
  EXPECT_EQ(seen.size(), 4000u);  // else with probability below 1e-12
}

// Standard errors: .5 / sqrt(12 * 1e5), 1 / sqrt(1e5), sqrt(2 / 1e5): with the
// fixed seed nothing is left to chance.
TEST(Draws, HaveTheirMoments) {
  Draws draws(1);
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = draws.Uniform(), n = draws.Normal();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform += u;
    normal += n;
    square += n * n;
  }
  EXPECT_NEAR(uniform / 1e5, .5, .005);
  EXPECT_NEAR(normal / 1e5, 0, .016);
  EXPECT_NEAR(square / 1e5, 1, .023);
}

TEST(Draws, SampleIsWithoutReplacement) {
  Draws draws(2);
  std::vector<int> all(50);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> count(50);
  for (int round = 0; round < 5000; ++round) {
    std::vector<int> some = all;
    draws.Sample(10, &some);
    ASSERT_EQ(some.size(), 10u);
    ASSERT_EQ(std::set<int>(some.begin(), some.end()).size(), 10u);
    for (const int i : some) ++count[static_cast<std::size_t>(i)];
  }
  // 1000 expected, standard deviation 28.
  EXPECT_GT(*std::min_element(count.begin(), count.end()), 850);
  EXPECT_LT(*std::max_element(count.begin(), count.end()), 1150);
  std::vector<int> few = {1, 2};
  draws.Sample(9, &few);
  EXPECT_EQ(few.size(), 2u);
}

}  // namespace
}  // namespace dpnmf::curator::lab
