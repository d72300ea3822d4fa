// Whom an attack is tried on, and which rows occur once.
#ifndef DPNMF_LAB_ATTACK_SAMPLING_H_
#define DPNMF_LAB_ATTACK_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"

namespace dpnmf::curator::lab {

// 0 to count - 1.
std::vector<int> AllOf(Eigen::Index count);

struct RowKinds {
  std::vector<int> once;  // rows that no other row equals, ascending
  std::int64_t distinct = 0;
};
// Rows are equal if all numbers are (-0 is 0).
RowKinds KindsOfRows(const Eigen::MatrixXd& rows);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_SAMPLING_H_
