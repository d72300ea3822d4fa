// Tables whose attacks have known results.
#ifndef DPNMF_TESTS_LAB_ATTACK_ATTACK_FIXTURES_H_
#define DPNMF_TESTS_LAB_ATTACK_ATTACK_FIXTURES_H_

#include <cmath>
#include <cstdint>
#include <utility>

#include "Eigen/Core"
#include "lab/evaluate/seeded_noise.h"
#include "lab/tables/table.h"

namespace dpnmf::curator::lab {

inline Table TableOf(Eigen::MatrixXd values) {
  Table table;
  table.values = std::move(values);
  return table;
}

// Whole numbers of 0 to most.
inline Eigen::MatrixXd WholeNumbers(Eigen::Index people, Eigen::Index columns,
                                    int most, std::uint64_t seed) {
  SeededNoise noise(seed);
  Eigen::MatrixXd values(people, columns);
  for (double& value : values.reshaped())
    value = std::floor(noise.Uniform() * (most + 1));
  return values;
}

inline Eigen::MatrixXd NormalNumbers(Eigen::Index people, Eigen::Index columns,
                                     std::uint64_t seed) {
  SeededNoise noise(seed);
  Eigen::MatrixXd values(people, columns);
  for (double& value : values.reshaped()) value = noise.Normal();
  return values;
}

inline Eigen::MatrixXd UniformNumbers(Eigen::Index people, Eigen::Index columns,
                                      std::uint64_t seed) {
  SeededNoise noise(seed);
  Eigen::MatrixXd values(people, columns);
  for (double& value : values.reshaped()) value = noise.Uniform();
  return values;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_TESTS_LAB_ATTACK_ATTACK_FIXTURES_H_
