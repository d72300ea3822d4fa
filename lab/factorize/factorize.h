// Local NMF without privacy, for the operator: a baseline for what private
// training can reach, and the speed of the machine.
//
//   min 1/(2N) |V - W H|_F^2 over W, H >= 0
//
// by alternating coordinate descent (accelerated HALS: Cichocki and Phan 2009;
// Gillis and Glineur 2012, several sweeps for every product with V). Users are
// lanes for H, features are lanes for W: both are the same kernel.
#ifndef DPNMF_LAB_FACTORIZE_FACTORIZE_H_
#define DPNMF_LAB_FACTORIZE_FACTORIZE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator::lab {

enum class FactorizeStop {
  kIterations,
  kTargetObjective,
  kSeconds,
  kConverged,  // several iterations in a row gained less than a relative 1e-7
  kInterrupted
};
// "iterations", "target-objective", "seconds", "converged", "interrupted".
std::string_view NameOf(FactorizeStop stop);

struct FactorizeProgress {
  int iteration = 0;
  double objective = 0;
  double seconds = 0;
};

struct FactorizeOptions {
  int rank = 0;  // K in [1, min(D, N)]
  int iterations = 200;
  std::optional<double> target_objective;
  std::optional<double> seconds;
  std::uint64_t seed = 1;
  int threads = 1;
  std::function<void(const FactorizeProgress&)>
      progress;                       // after each iteration
  std::function<bool()> interrupted;  // asked between two
};

struct FactorizeResult {
  Eigen::MatrixXd w;  // D x K, columns of length 1 (or zero)
  double objective = 0;
  int iterations = 0;
  double seconds = 0;        // of which
  double start_seconds = 0;  // the first W
  double users_seconds = 0;  // passes over the data; the rest is W's
  FactorizeStop stop = FactorizeStop::kIterations;
};

// The same for the same options (threads included) on the same machine.
// INVALID_ARGUMENT "rank-out-of-range", "factorize-option-out-of-range".
absl::StatusOr<FactorizeResult> Factorize(const Dataset& data,
                                          const FactorizeOptions& options);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_FACTORIZE_FACTORIZE_H_
