// The state of a learner as matrices with names, as the database has it.
#ifndef DPNMF_ANALYST_STORE_STORED_LEARNER_H_
#define DPNMF_ANALYST_STORE_STORED_LEARNER_H_

#include <functional>
#include <map>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"

namespace dpnmf::analyst {

// Names of numbers (1 x 1) that the store reads by themselves: is there if the
// run is unlearned (LearnerState); FitFigures.
inline constexpr char kUnlearned[] = "unlearned";
inline constexpr char kPriorShare[] = "prior share";
inline constexpr char kExplainedShare[] = "explained share";

using NamedMatrices = std::map<std::string, Eigen::MatrixXd>;
using MatrixWriter =
    std::function<void(const std::string& name, const Eigen::MatrixXd& matrix)>;

// Calls write(name, matrix) for all of the state but W; for the figures.
void WriteMatrices(const LearnerState& state, const MatrixWriter& write);
void WriteFigures(const FitFigures& figures, const MatrixWriter& write);

// The state that was written so. DATA_LOSS "state-damaged" if none was, as far
// as its typed fields tell; the mechanism checks its own memory.
absl::StatusOr<LearnerState> LearnerOf(Eigen::MatrixXd w,
                                       NamedMatrices matrices);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_STORE_STORED_LEARNER_H_
