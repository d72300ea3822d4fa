// What the analyst sends with a round.
#ifndef DPNMF_COMMON_NMF_ROUND_INPUT_H_
#define DPNMF_COMMON_NMF_ROUND_INPUT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "Eigen/Core"

namespace dpnmf {

struct RoundInput {
  RoundInput() = default;
  RoundInput(Eigen::MatrixXd dictionary)  // NOLINT(google-explicit-constructor)
      : w(std::move(dictionary)) {}

  Eigen::MatrixXd w;                // D x K; empty where the kind needs none
  std::vector<std::uint32_t> rows;  // moments on M < D rows; else empty
  std::vector<double> numbers;      // what else a kind reads; else empty
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_ROUND_INPUT_H_
