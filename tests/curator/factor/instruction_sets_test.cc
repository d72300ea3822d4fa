// The kernels of every instruction set that the build knows and this processor
// has: the same bits from all.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/moments.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

// Those that round a multiplication and an addition once.
std::vector<const KernelTable*> FusedKernels() {
  const KernelTables runnable = RunnableKernels();
#if defined(__x86_64__) && !defined(__FMA__)
  return {runnable.tables + 1, runnable.tables + runnable.count};
#else
  return {runnable.tables, runnable.tables + runnable.count};
#endif
}

class UsingKernels {
 public:
  explicit UsingKernels(const KernelTable* table) { UseKernels(table); }
  ~UsingKernels() { UseKernels(nullptr); }
};

struct Outcome {
  std::vector<double> h;
  std::vector<std::int64_t> users, a, b, moments, mean;
  std::int64_t objective = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome RunOn(const Dataset& data, const StatisticsRequest& request) {
  Outcome outcome;
  const Execution execution = {2, 0};
  Coefficients h(request.w->cols(), data.private_user_count());
  for (int round = 0; round < 2; ++round) {
    Coefficients before = h;
    const auto sums = ComputeStatistics(data, request, execution, &h);
    const auto users =
        ContributionsForTesting(data, request, execution, &before);
    EXPECT_TRUE(sums.ok() && users.ok()) << sums.status() << users.status();
    outcome.a.insert(outcome.a.end(), sums->a.begin(), sums->a.end());
    outcome.b.insert(outcome.b.end(), sums->b.begin(), sums->b.end());
    for (const UserContribution& user : *users) {
      outcome.users.insert(outcome.users.end(), user.k.begin(), user.k.end());
      outcome.users.insert(outcome.users.end(), user.l.begin(), user.l.end());
    }
  }
  for (std::uint64_t user = 0; user < h.users(); ++user)
    outcome.h.insert(outcome.h.end(), h.Of(user), h.Of(user) + h.rank());
  outcome.objective = *ComputeObjective(data, request, execution);
  outcome.moments = *ComputeMoments(data, {}, 1, 20, execution);
  outcome.mean = *ComputeMean(data, 1, 20, execution);
  return outcome;
}

TEST(InstructionSets, GiveTheSameBits) {
  const auto tables = FusedKernels();
  for (const int rank : {1, 7, 24}) {
    const Eigen::MatrixXf v = RandomColumns(131, 77, 31, 0.3);
    const Eigen::MatrixXd w = RandomW(131, rank, 32);
    for (const bool outliers : {false, true}) {
      StatisticsRequest request;
      request.w = &w;
      request.outliers = outliers;
      request.lambda = 0.03;
      request.outlier_bound = 0.2;
      request.inner_iterations = 5;
      const Outcome expected = RunOn(*DenseOf(v), request);
      for (const KernelTable* table : tables) {
        const UsingKernels using_kernels(table);
        EXPECT_EQ(RunOn(*DenseOf(v), request), expected) << table->name;
        EXPECT_EQ(RunOn(*SparseOf(v), request), expected) << table->name;
      }
    }
  }
}

TEST(InstructionSets, AddTheSameOuterProducts) {
  constexpr std::int32_t kRows[] = {0, 3, 4, 5, 6, 8, 9, 10, 13, 14, 15, 19};
  constexpr std::size_t kCount = std::size(kRows);
  for (const std::size_t columns : {1, 7, 8, 16, 37, 64}) {
    std::vector<float> values(kCount);
    std::vector<double> y(columns), before(20 * columns);
    for (std::size_t i = 0; i < kCount; ++i)
      values[i] = static_cast<float>(std::sin(i));
    for (std::size_t i = 0; i < columns; ++i) y[i] = std::cos(i);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = std::cos(3 * i);
    std::vector<double> expected = before;
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        double& sum =
            expected[static_cast<std::size_t>(kRows[i]) * columns + j];
        sum = std::fma(static_cast<double>(values[i]), y[j], sum);
      }
    }
    for (const KernelTable* table : FusedKernels()) {
      std::vector<double> sums = before;
      table->add_outer_product(kRows, values.data(), kCount, y.data(), columns,
                               sums.data());
      EXPECT_EQ(sums, expected) << table->name << ' ' << columns;
    }
  }
}

TEST(InstructionSets, TheBestOneIsChosen) {
  const KernelTables runnable = RunnableKernels();
  ASSERT_GE(runnable.count, 1);
  EXPECT_EQ(&Kernels(), runnable.tables[runnable.count - 1]);
  RecordProperty("kernels", Kernels().name);
  const UsingKernels using_kernels(runnable.tables[0]);
  EXPECT_EQ(&Kernels(), runnable.tables[0]);
}

}  // namespace
}  // namespace dpnmf::curator
