#include "lab/tables/trial_table.h"

#include <cmath>

#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

TEST(TrialTable, WritesEachKindOfCell) {
  TrialTable table("name,repeat,figure");
  table.Add({"plain", 3, 0.1234567891234});
  table.Add({std::string("a,\"b\"\n"), std::uint64_t{1} << 40, kNotMeasured});
  EXPECT_EQ(table.Csv(),
            "name,repeat,figure\n"
            "plain,3,0.123456789\n"
            "\"a,\"\"b\"\"\n\",1099511627776,\n");
}

TEST(SpreadOf, IsTheMiddleAndTheEnds) {
  const Spread odd = SpreadOf({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.least, 1);
  EXPECT_EQ(odd.largest, 3);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
}

TEST(SpreadOf, LeavesOutWhatWasNotMeasured) {
  EXPECT_EQ(SpreadOf({kNotMeasured, 5, kNotMeasured}).median, 5);
  EXPECT_TRUE(std::isnan(SpreadOf({}).median));
  EXPECT_TRUE(std::isnan(SpreadOf({kNotMeasured}).least));
}

TEST(RepeatsOf, KeepsTheOrderOfTheFirst) {
  const std::vector<int> trials = {7, 2, 17, 12, 27, 3};
  const auto groups = RepeatsOf(
      trials, [](int one, int other) { return one % 10 == other % 10; });
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0], (Repeats<int>{&trials[0], &trials[2], &trials[4]}));
  EXPECT_EQ(groups[1], (Repeats<int>{&trials[1], &trials[3]}));
  EXPECT_EQ(groups[2], (Repeats<int>{&trials[5]}));
  const auto itself = [](int trial) { return static_cast<double>(trial); };
  EXPECT_EQ(SpreadOver(groups[0], itself).median, 17);
}

}  // namespace
}  // namespace dpnmf::curator::lab
