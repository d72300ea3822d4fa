#include "curator/import/columns.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

LoadedMatrix Dense(std::uint64_t features, std::vector<float> values) {
  LoadedMatrix matrix;
  matrix.features = features;
  matrix.users = values.size() / features;
  matrix.values = std::move(values);
  return matrix;
}

TEST(Normalise, ScalesEachColumnToLengthOneAndLeavesZeroColumns) {
  LoadedMatrix matrix = Dense(2, {3, 4, 0, 0, 0, 2});
  NormaliseColumns(&matrix, Normalisation::kL2, 0);
  EXPECT_EQ(matrix.values, (std::vector<float>{0.6f, 0.8f, 0, 0, 0, 1}));
}

TEST(Normalise, WithoutScalingShortensOnlyColumnsAboveTheBound) {
  LoadedMatrix matrix = Dense(2, {3, 4, 1, 0, 30, 40});
  NormaliseColumns(&matrix, Normalisation::kNone, 5);
  EXPECT_EQ(matrix.values, (std::vector<float>{3, 4, 1, 0, 3, 4}));
}

TEST(Normalise, GivesDenseAndSparseTheSameBits) {
  const Scratch scratch;
  auto dense = LoadMatrix(scratch.Write("m.csv", "0.1,0,0.7\n0,0.3,0\n"),
                          /*users_are_rows=*/true);
  auto sparse = LoadMatrix(
      scratch.Write("m.mtx",
                    "%%MatrixMarket matrix coordinate real general\n2 3 3\n"
                    "2 2 0.3\n1 3 0.7\n1 1 0.1\n"),
      /*users_are_rows=*/true);
  ASSERT_TRUE(dense.ok() && sparse.ok());
  NormaliseColumns(&*dense, Normalisation::kL2, 1);
  NormaliseColumns(&*sparse, Normalisation::kL2, 1);
  EXPECT_EQ(ColumnsOf(*dense), ColumnsOf(*sparse));
}

TEST(Normalise, TakesExtremesOfFloat) {
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::denorm_min();
  LoadedMatrix matrix = Dense(2, {largest, largest, smallest, 0});
  NormaliseColumns(&matrix, Normalisation::kL2, 1);
  EXPECT_FLOAT_EQ(matrix.values[0], std::sqrt(0.5f));
  EXPECT_EQ(matrix.values[2], 1);
}

// The bits of a user's column are a function of that user's data alone.
TEST(Normalise, PermutationOfUsersPermutesTheBits) {
  LoadedMatrix matrix = Dense(7, {});
  constexpr std::size_t kUsers = 50;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < 7 * kUsers; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    matrix.values.push_back(static_cast<float>(state >> 40) / 1000.0f);
  }
  matrix.users = kUsers;
  LoadedMatrix permuted = matrix;
  for (std::size_t n = 0; n < kUsers; ++n) {
    std::memcpy(&permuted.values[7 * n], &matrix.values[7 * (n * 17 % kUsers)],
                7 * sizeof(float));
  }
  NormaliseColumns(&matrix, Normalisation::kL2, 1);
  NormaliseColumns(&permuted, Normalisation::kL2, 1);
  for (std::size_t n = 0; n < kUsers; ++n) {
    EXPECT_EQ(
        std::memcmp(&permuted.values[7 * n],
                    &matrix.values[7 * (n * 17 % kUsers)], 7 * sizeof(float)),
        0);
  }
}

}  // namespace
}  // namespace dpnmf::curator
