#include "common/nmf/noised_matrix.h"

#include <limits>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

NoisedMatrix Lattice(std::uint64_t rows, std::uint64_t columns, bool symmetric,
                     std::vector<std::int64_t> entries) {
  NoisedMatrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.symmetric = symmetric;
  matrix.lattice = std::move(entries);
  return matrix;
}

TEST(EntryCount, CountsWhatTravels) {
  EXPECT_EQ(EntryCount(3, 4, false), 12u);
  EXPECT_EQ(EntryCount(3, 3, true), 6u);
  EXPECT_EQ(EntryCount(1, 1, true), 1u);
}

TEST(EntryCount, NeverWrapsAround) {
  EXPECT_EQ(EntryCount(kMost, kMost, false), kMost);
  EXPECT_EQ(EntryCount(kMost, kMost, true), kMost);
  EXPECT_EQ(EntryCount(std::uint64_t{1} << 32, std::uint64_t{1} << 32, false),
            kMost);
}

TEST(ToMean, LaysAFullMatrixOutByColumns) {
  NoisedMatrix matrix = Lattice(2, 3, false, {1, 2, 3, 4, 5, -6});
  matrix.step_exponent = -1;
  const auto mean = ToMean(matrix, 2);
  ASSERT_TRUE(mean.ok()) << mean.status();
  Eigen::MatrixXd expected(2, 3);
  expected << 0.25, 0.75, 1.25, 0.5, 1.0, -1.5;
  EXPECT_EQ(*mean, expected);
}

TEST(ToMean, MirrorsTheUpperTriangle) {
  const auto mean = ToMean(Lattice(3, 3, true, {1, 2, 3, 4, 5, 6}), 1);
  ASSERT_TRUE(mean.ok()) << mean.status();
  Eigen::MatrixXd expected(3, 3);
  expected << 1, 2, 4, 2, 3, 5, 4, 5, 6;
  EXPECT_EQ(*mean, expected);
}

TEST(ToMean, ReadsReals) {
  NoisedMatrix matrix = Lattice(1, 2, false, {});
  matrix.is_lattice = false;
  matrix.reals = {3.0, -1.5};
  const auto mean = ToMean(matrix, 3);
  ASSERT_TRUE(mean.ok());
  EXPECT_EQ((*mean)(0, 0), 1.0);
  EXPECT_EQ((*mean)(0, 1), -0.5);
}

TEST(ToMean, RefusesWhatDoesNotFit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  NoisedMatrix with_nan = Lattice(1, 1, false, {});
  with_nan.is_lattice = false;
  with_nan.reals = {nan};
  NoisedMatrix too_large = Lattice(1, 1, false, {1});
  too_large.step_exponent = 2000;
  const NoisedMatrix good = Lattice(1, 1, false, {1});
  const struct {
    const char* what;
    NoisedMatrix matrix;
    double users;
  } cases[] = {
      {"an entry too few", Lattice(2, 2, false, {1, 2, 3}), 1},
      {"an entry too many", Lattice(2, 2, true, {1, 2, 3, 4}), 1},
      {"no rows", Lattice(0, 2, false, {}), 1},
      {"symmetric and not square", Lattice(2, 3, true, {1, 2, 3}), 1},
      {"NaN", with_nan, 1},
      {"overflow to infinity", too_large, 1},
      {"no users", good, 0},
      {"fewer than no users", good, -1},
      {"users NaN", good, nan},
      {"huge shape", Lattice(kMost, kMost, false, {1}), 1},
  };
  for (const auto& c : cases) {
    const auto mean = ToMean(c.matrix, c.users);
    EXPECT_FALSE(mean.ok()) << c.what;
    EXPECT_EQ(ReasonCode(mean.status()), "release-malformed") << c.what;
  }
}

}  // namespace
}  // namespace dpnmf
