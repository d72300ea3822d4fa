// "mean" and "moments": one noised second moment of the data; W is fitted to it
// on this side, for nothing.
#include <algorithm>
#include <numeric>

#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"

namespace dpnmf::analyst {
namespace {

constexpr char kRows[] = "rows";

// The rows that G is on; all if none were chosen.
std::vector<std::uint32_t> ChosenRows(const RoundFacts& facts,
                                      const LearnerState& state) {
  std::vector<std::uint32_t> rows(facts.moment_rows);
  const auto kept = state.memory.find(kRows);
  if (kept != state.memory.end() &&
      kept->second.size() == static_cast<Eigen::Index>(rows.size())) {
    std::transform(kept->second.data(), kept->second.data() + rows.size(),
                   rows.begin(),
                   [](double row) { return static_cast<std::uint32_t>(row); });
    return rows;
  }
  // The mean is lost: every row has the same chance.
  const auto features = static_cast<std::uint64_t>(state.w.rows());
  for (std::uint64_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::uint32_t>(i * features / rows.size());
  return rows;
}

}  // namespace

absl::StatusOr<RoundInput> SendRows(const RoundFacts& facts,
                                    const LearnerState& state) {
  RoundInput input;
  if (static_cast<Eigen::Index>(facts.moment_rows) < state.w.rows())
    input.rows = ChosenRows(facts, state);
  return input;
}

absl::Status UpdateFromMean(const std::vector<NoisedMatrix>& parts,
                            const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(
      Eigen::MatrixXd mean,
      MeanOfPart(parts, "mean", state->w.rows(), 1, facts.users));
  // The M largest, in ascending order of the row.
  std::vector<Eigen::Index> order(static_cast<std::size_t>(mean.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(),
      [&](Eigen::Index a, Eigen::Index b) { return mean(a, 0) > mean(b, 0); });
  order.resize(facts.moment_rows);
  std::sort(order.begin(), order.end());
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(order.size()), 1);
  for (std::size_t i = 0; i < order.size(); ++i)
    rows(static_cast<Eigen::Index>(i), 0) = static_cast<double>(order[i]);
  state->memory[kRows] = std::move(rows);
  state->memory["mean"] = std::move(mean);
  return absl::OkStatus();
}

absl::Status UpdateFromMoments(const std::vector<NoisedMatrix>& parts,
                               const RoundFacts& facts, LearnerState* state) {
  const auto rows = static_cast<Eigen::Index>(facts.moment_rows);
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd g,
                         MeanOfPart(parts, "G", rows, rows, facts.users));
  state->memory["G"] = g;
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
