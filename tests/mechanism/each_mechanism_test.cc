// Properties of every mechanism of the table while the curator sums.
#include "tests/curator/each_mechanism.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

// How long a number takes would tell whose it is: a dictionary of entries such
// as 1e-310 would make a round slower for some people's data.
TEST(EachMechanism, SubnormalNumbersAreZeroOnEveryThreadThatSums) {
  constexpr int kPeople = 40;
  const volatile double small = 1e-160;
  for (const std::string& mechanism : MechanismNames()) {
    const auto data = PeopleWith(DataFor(mechanism), Person::kFull, 6, kPeople);
    const DatasetFacts facts = FactsOf(data->description());
    const RunParameters parameters = RunOfEach(mechanism, facts, 2, 3);
    const auto plan = PlanRun(parameters, facts);
    ASSERT_TRUE(plan.ok()) << mechanism << ": " << plan.status();
    for (const StagePlan& stage : plan->stages) {
      SCOPED_TRACE(stage.release);
      std::atomic<int> asked = 0, subnormal = 0;
      Execution execution{3, 1, {}};
      execution.stop = [&] {
        ++asked;
        if (small * small != 0) ++subnormal;
        return false;
      };
      std::unique_ptr<Coefficients> h;
      const auto sums = ReleaseKindOf(stage.release)
                            .sums(InputOf(stage.release, parameters, facts),
                                  {*data, parameters, *plan, execution, &h});
      ASSERT_TRUE(sums.ok()) << sums.status();
      EXPECT_GE(asked, 2);
      // The last question may come after the sums, and from this thread.
      EXPECT_LE(subnormal, 1);
    }
  }
  EXPECT_NE(small * small, 0);
}

}  // namespace
}  // namespace dpnmf::curator
