#include "curator/session/run_memory_limit.h"

#include <limits>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

DatasetDescription Description() {
  DatasetDescription description;
  description.name = description.population = "people";
  description.features = 50;
  description.users = 1'000'000;
  return description;
}

RunParameters ParametersOf(const std::string& mechanism,
                           const DatasetDescription& data) {
  RunParameters parameters;
  parameters.dataset = data.name;
  parameters.rank = 10;
  parameters.rounds = mechanism == "moments" ? 1 : 10;
  parameters.epsilon = 1;
  parameters.delta = 1e-7;
  parameters.mechanism = mechanism;
  if (mechanism == "moments") parameters.moment_rows = 50;
  parameters.adjacency = data.adjacency;
  return parameters;
}

std::uint64_t BytesOf(const RunParameters& parameters,
                      const DatasetDescription& data, int threads = 1) {
  return MemoryOfRun(PlanRun(parameters, FactsOf(data)).value(), parameters,
                     data, threads);
}

std::uint64_t BytesOf(const std::string& mechanism,
                      const DatasetDescription& data, int threads = 1) {
  return BytesOf(ParametersOf(mechanism, data), data, threads);
}

TEST(MemoryOfRun, IsMostlyHWhereThereIsOne) {
  DatasetDescription data = Description();
  const double h = 8.0 * 10 * 1e6;
  EXPECT_NEAR(static_cast<double>(BytesOf("statistics", data)), h, 0.01 * h);
  EXPECT_NEAR(static_cast<double>(BytesOf("gradient", data)), h, 0.01 * h);
  EXPECT_LT(static_cast<double>(BytesOf("moments", data)), 0.02 * h);
  EXPECT_LT(BytesOf("statistics", data, 1), BytesOf("statistics", data, 8));
  // Room for as many as there may be, not for those there are.
  data.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_NEAR(static_cast<double>(BytesOf("statistics", data)), 2 * h,
              0.01 * h);
}

// Four million features: what each thread's sums and buffers take, in bytes a
// feature. W and the packed W; sums of padded rank 8; one column of l.
TEST(MemoryOfRun, CountsTheBuffersOfEveryThread) {
  DatasetDescription data = Description();
  data.features = 4'000'000;
  data.users = 32;
  RunParameters parameters = ParametersOf("statistics", data);
  parameters.rank = 1;
  parameters.lambda = 0.1;
  parameters.outlier_bound = 1;
  const double d = 4e6;
  const auto of_a_thread = [&] {
    return static_cast<double>(BytesOf(parameters, data, 2) -
                               BytesOf(parameters, data, 1));
  };
  data.sparse = true;
  EXPECT_NEAR(of_a_thread(), (72 + 8) * d, 0.01 * 80 * d);
  parameters.outliers = true;
  EXPECT_NEAR(of_a_thread(), (72 + 12) * d + 20 * 1048576, 0.01 * 84 * d);
  data.sparse = false;
  EXPECT_NEAR(of_a_thread(), (72 + 12 * 16) * d, 0.01 * 264 * d);
}

// Each rank has room for its share. Under add_remove_one a share of parts may
// hold everybody.
TEST(MemoryOfRun, CountsTheRoomOfEveryShare) {
  constexpr int kRanks = 6;
  DatasetDescription data = Description();
  const double h = 8.0 * 10 * 1e6;
  const auto counted = [&](bool in_parts) {
    const RunParameters parameters = ParametersOf("statistics", data);
    return static_cast<double>(
        MemoryOfRun(PlanRun(parameters, FactsOf(data)).value(), parameters,
                    data, 1, {.ranks = kRanks, .in_parts = in_parts}));
  };
  EXPECT_NEAR(counted(false), h, 0.05 * h);
  EXPECT_EQ(counted(true), counted(false));
  data.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_NEAR(counted(false), 2 * h, 0.05 * h);
  EXPECT_NEAR(counted(true), kRanks * 2 * h, 0.05 * h);
}

TEST(RunMemoryLimit, AnIdentityAndAllTogetherHaveLimits) {
  RunMemoryLimit memory(100);
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
  a = RunMemoryLimit::Lease();
  EXPECT_EQ(ReasonCode(memory.Take("c", 70).status()), "too-much-memory");
  EXPECT_TRUE(memory.Take("c", 60).ok());
  EXPECT_TRUE(memory.Take("c", 60).ok()) << "given back";
}

TEST(RunMemoryLimit, TheDefaultIsPartOfTheMachine) {
  EXPECT_GT(DefaultRunMemoryLimit(), std::uint64_t{1} << 20);
  EXPECT_LT(DefaultRunMemoryLimit(), std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace dpnmf::curator
