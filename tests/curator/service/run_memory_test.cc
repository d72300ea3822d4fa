#include "curator/run_memory.h"

#include <limits>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

DatasetDescription Data() {
  DatasetDescription data;
  data.name = data.population = "people";
  data.features = 50;
  data.users = 1'000'000;
  data.conversion = Conversion::kRdp;
  return data;
}

std::uint64_t BytesOf(const std::string& mechanism,
                      const DatasetDescription& data, int threads = 1) {
  RunParameters parameters;
  parameters.dataset = data.name;
  parameters.rank = 10;
  parameters.rounds = mechanism == "moments" ? 1 : 10;
  parameters.epsilon = 1;
  parameters.delta = 1e-7;
  parameters.mechanism = mechanism;
  if (mechanism == "moments") parameters.moment_rows = 50;
  parameters.adjacency = data.adjacency;
  return MemoryOfRun(PlanRun(parameters, FactsOf(data)).value(), parameters,
                     data, threads);
}

TEST(MemoryOfRun, IsMostlyHWhereThereIsOne) {
  DatasetDescription data = Data();
  const double h = 8.0 * 10 * 1e6;
  EXPECT_NEAR(static_cast<double>(BytesOf("statistics", data)), h, 0.01 * h);
  EXPECT_NEAR(static_cast<double>(BytesOf("gradient", data)), h, 0.01 * h);
  EXPECT_LT(static_cast<double>(BytesOf("moments", data)), 0.01 * h);
  EXPECT_LT(BytesOf("statistics", data, 1), BytesOf("statistics", data, 8));
  // Room for as many as there may be, not for those there are.
  data.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_NEAR(static_cast<double>(BytesOf("statistics", data)), 2 * h,
              0.01 * h);
}

TEST(RunMemory, AnIdentityAndAllTogetherHaveLimits) {
  RunMemory memory(100);
  EXPECT_EQ(ReasonCode(memory.Take("a", 101).status()), "run-too-large");
  EXPECT_EQ(
      ReasonCode(
          memory.Take("a", std::numeric_limits<std::uint64_t>::max()).status()),
      "run-too-large");
  auto a = memory.Take("a", 60).value();
  EXPECT_EQ(ReasonCode(memory.Take("a", 41).status()), "too-much-memory");
  const auto more = memory.Take("a", 40).value();
  const auto b = memory.Take("b", 100).value();
  EXPECT_EQ(ReasonCode(memory.Take("c", 10).status()), "too-much-memory");
  a = RunMemory::Lease();
  EXPECT_EQ(ReasonCode(memory.Take("c", 70).status()), "too-much-memory");
  EXPECT_TRUE(memory.Take("c", 60).ok());
  EXPECT_TRUE(memory.Take("c", 60).ok()) << "given back";
}

TEST(RunMemory, TheDefaultIsPartOfTheMachine) {
  EXPECT_GT(DefaultRunMemory(), std::uint64_t{1} << 20);
  EXPECT_LT(DefaultRunMemory(), std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace dpnmf::curator
