// Input that the analyst sends with a round.
#ifndef DPNMF_COMMON_NMF_ROUND_INPUT_H_
#define DPNMF_COMMON_NMF_ROUND_INPUT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "Eigen/Core"

namespace dpnmf {

// No kind reads more of RoundInput::numbers.
inline constexpr int kMostRequestNumbers = 16;

struct RoundInput {
  RoundInput() = default;
  RoundInput(Eigen::MatrixXd dictionary)  // NOLINT(google-explicit-constructor)
      : w(std::move(dictionary)) {}

  // D x K, or a model of ratings (D x up to 1 + K, any sign); empty where the
  // kind needs none.
  Eigen::MatrixXd w;
  std::vector<std::uint32_t> rows;  // of moments on some rows; else empty
  std::vector<double> numbers;      // what else a kind reads; else empty
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_ROUND_INPUT_H_
