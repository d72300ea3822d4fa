// Tables for the tests of lab/distort.
#ifndef DPNMF_TESTS_LAB_DISTORT_DISTORT_FIXTURES_H_
#define DPNMF_TESTS_LAB_DISTORT_DISTORT_FIXTURES_H_

#include <cstdint>
#include <string>

#include "Eigen/Core"
#include "gtest/gtest.h"
#include "lab/tables/draws.h"
#include "lab/tables/table.h"

namespace dpnmf::curator::lab {

// Wisconsin Breast Cancer, as the publication prepared it: 699 x 9.
inline const Table& Wisconsin() {
  static const Table& table = *[] {
    TableOptions options;
    options.class_column = 10;
    auto read = ReadTable(DPNMF_EXAMPLES "/wbc/wbc.csv", options);
    if (!read.ok()) ADD_FAILURE() << read.status();
    return new Table(*std::move(read));
  }();
  return table;
}

// Uniform on [0, 1).
inline Eigen::MatrixXd Generated(Eigen::Index rows, Eigen::Index columns,
                                 std::uint64_t seed) {
  Draws draws(seed);
  Eigen::MatrixXd values(rows, columns);
  for (double& entry : values.reshaped()) entry = draws.Uniform();
  return values;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_DISTORT_DISTORT_FIXTURES_H_
