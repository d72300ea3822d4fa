// Small generated data for the tests of lab/evaluate.
#ifndef DPNMF_TESTS_LAB_EVALUATE_EVALUATE_FIXTURES_H_
#define DPNMF_TESTS_LAB_EVALUATE_EVALUATE_FIXTURES_H_

#include <random>
#include <string>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "lab/evaluate/options.h"

namespace dpnmf::curator::lab {

// V = W H (D x N) with W, H sparse and uniform where they are not 0.
inline Eigen::MatrixXd GeneratedColumns(int features, int users, int rank,
                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto draw = [&](int rows, int columns) {
    Eigen::MatrixXd m(rows, columns);
    for (double& entry : m.reshaped()) {
      const double value = uniform(random);
      entry = uniform(random) < 0.4 ? value : 0;
    }
    return m;
  };
  Eigen::MatrixXd w = draw(features, rank);
  w.topRows(1).setOnes();
  Eigen::MatrixXd h = draw(rank, users);
  h.topRows(1).array() += 0.1;
  return w * h;
}

// A line a user.
inline std::string CsvOf(const Eigen::MatrixXd& v) {
  std::string csv;
  for (Eigen::Index n = 0; n < v.cols(); ++n) {
    for (Eigen::Index i = 0; i < v.rows(); ++i) {
      absl::StrAppend(&csv, i == 0 ? "" : ",", v(i, n));
    }
    csv += "\n";
  }
  return csv;
}

// Over a file of users as rows.
inline EvaluateOptions SmallOptions(const std::string& input) {
  EvaluateOptions options;
  options.input = input;
  options.users_are_rows = true;
  options.rank = 3;
  options.epsilon = {2, 20};
  options.rounds = {2, 4};
  options.repeats = 2;
  options.output = "unused";
  return options;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_EVALUATE_EVALUATE_FIXTURES_H_
