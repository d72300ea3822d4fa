#include "curator/factor/kernels/exact_products.h"

#include <cstdint>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "curator/factor/kernels/sparse_kernels.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

struct Random {
  StripMatrix matrix;
  std::vector<double> values;

  Random(int rows, int strip_rows, int strips, std::uint64_t largest, int seed)
      : values(static_cast<std::size_t>(strip_rows) * strips * kStripUsers,
               0.0) {
    std::mt19937_64 random(seed);
    for (int strip = 0; strip < strips; ++strip) {
      for (int i = 0; i < rows * kStripUsers; ++i) {
        // Mostly the largest value, so that sums come close to the limits.
        values[static_cast<std::size_t>(strip) * strip_rows * kStripUsers + i] =
            static_cast<double>(random() % 2 == 0 ? largest
                                                  : random() % (largest + 1));
      }
    }
    matrix = {values.data(), rows, strip_rows};
  }
  std::uint64_t At(int row, int user) const {
    return static_cast<std::uint64_t>(
        values[static_cast<std::size_t>(user / kStripUsers) *
                   matrix.strip_rows * kStripUsers +
               row * kStripUsers + user % kStripUsers]);
  }
};

TEST(ExactProducts, EqualIntegerLoopsForAllShapesAndSizes) {
  AlignedVector<double> packed;
  for (const std::uint64_t largest :
       {std::uint64_t{1}, std::uint64_t{1} << 20, (std::uint64_t{1} << 21) - 1,
        (std::uint64_t{1} << 24) + 1, (std::uint64_t{1} << 26) - 1,
        (std::uint64_t{1} << 29) - 1}) {
    for (const auto& [rows, columns, strips] :
         std::vector<std::tuple<int, int, int>>{{1, 1, 1},
                                                {3, 4, 2},
                                                {7, 5, 9},
                                                {8, 9, 40},
                                                {14, 10, 3},
                                                {6, 12, 2},
                                                {25, 20, 2},
                                                {11, 17, 3},
                                                {13, 26, 5}}) {
      const Random x(rows, rows + 2, strips, largest, 1);
      const Random y(columns, PaddedColumns(columns), strips, largest, 2);
      const int stride = PaddedColumns(columns);
      std::vector<std::uint64_t> sums(rows * stride,
                                      7);  // added to what is there
      AddExactProducts(x.matrix, y.matrix, strips, largest, largest, false,
                       &packed, sums.data());
      const KernelTables runnable = RunnableKernels();
      for (int table = 0; table < runnable.count; ++table) {
        UseKernels(runnable.tables[table]);
        std::vector<std::uint64_t> again(rows * stride, 7);
        AddExactProducts(x.matrix, y.matrix, strips, largest, largest, false,
                         &packed, again.data());
        EXPECT_EQ(again, sums) << runnable.tables[table]->name;
      }
      UseKernels(nullptr);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          std::uint64_t expected = 7;
          for (int user = 0; user < strips * kStripUsers; ++user) {
            expected += x.At(i, user) * y.At(j, user);
          }
          ASSERT_EQ(sums[i * stride + j], expected)
              << largest << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

TEST(ExactProducts, UpperGivesTheUpperTriangle) {
  AlignedVector<double> packed;
  for (const int rows : {1, 2, 5, 10, 12, 13, 19, 34}) {
    const Random x(rows, PaddedColumns(rows), 3, 1000, 3);
    const int stride = PaddedColumns(rows);
    std::vector<std::uint64_t> all(rows * stride), upper(rows * stride);
    AddExactProducts(x.matrix, x.matrix, 3, 1000, 1000, false, &packed,
                     all.data());
    AddExactProducts(x.matrix, x.matrix, 3, 1000, 1000, true, &packed,
                     upper.data());
    for (int i = 0; i < rows; ++i) {
      for (int j = i; j < rows; ++j)
        ASSERT_EQ(upper[i * stride + j], all[i * stride + j]);
    }
  }
}

TEST(ExactProducts, NonzerosAddTheSame) {
  const std::vector<std::int32_t> rows = {1, 3};
  const std::vector<double> l = {4294967295.0, 17};
  const std::vector<std::uint32_t> y = {0, 1, 4294967295u};
  std::vector<std::uint64_t> sums(4 * 3, 5);
  AddExactOuterProduct(rows, l, y, sums.data());
  for (int row = 0; row < 4; ++row) {
    for (int j = 0; j < 3; ++j) {
      const std::uint64_t factor = row == 1 ? 4294967295u : row == 3 ? 17 : 0;
      EXPECT_EQ(sums[row * 3 + j], 5 + factor * y[j]);
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator
