#include "lab/factorize/factorize.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "lab/factorize/passes.h"
#include "lab/factorize/start.h"

namespace dpnmf::curator::lab {
namespace {

constexpr double kLeastGain = 1e-7;

// 1/(2N) |V - W H|^2 = 1/(2N) (|V|^2 - 2 tr(W'B) + tr(W'W A)).
double Objective(const FactorizePasses& passes, std::uint64_t users,
                 double squared_norm, const RowMatrix& w,
                 const Eigen::MatrixXd& gram) {
  const double cross = passes.Cross(w, passes.b());
  const double model = gram.cwiseProduct(passes.a()).sum();
  return std::max(0.0, squared_norm - 2 * cross + model) /
         (2.0 * static_cast<double>(users));
}

// Sweeps for one product with V: as many as cost about half of it.
struct SweepCounts {
  int h, w;
};

SweepCounts SweepsFor(const Dataset& data, int rank) {
  const auto features = static_cast<double>(data.features());
  const auto users = static_cast<double>(data.private_user_count());
  double entries_a_user = features;
  if (data.sparse()) {
    double nonzeros = 0;
    for (std::uint64_t user = 0; user < data.private_user_count(); ++user)
      nonzeros += static_cast<double>(data.SparseColumnOf(user).rows.size());
    entries_a_user = nonzeros / users;
  }
  const double h = 0.5 * entries_a_user / rank;
  const double w = 0.5 * entries_a_user * users / (rank * features);
  return {std::clamp(static_cast<int>(h), 1, 4),
          std::clamp(static_cast<int>(w), 1, 8)};
}

// Extrapolation between iterations (Ang and Gillis 2019, "Accelerating
// nonnegative matrix factorization algorithms using extrapolation", with their
// constants): W goes on in the direction of its last change, further while the
// objective falls; when it rises the step is taken back.
class Extrapolation {
 public:
  // w: the result of the sweeps on W; becomes the next point.
  void Advance(RowMatrix* w) {
    if (last_w_.values.empty()) {
      last_w_ = *w;
      return;
    }
    double* const last = last_w_.values.data();
    double* const now = w->values.data();
    for (std::size_t i = 0; i < w->values.size(); ++i) {
      const double swept = now[i];
      now[i] = std::max(0.0, swept + weight_ * (swept - last[i]));
      last[i] = swept;
    }
  }

  void ObjectiveFell() {
    weight_ = std::min(largest_weight_, weight_ * 1.05);
    largest_weight_ = std::min(1.0, largest_weight_ * 1.01);
  }

  // Back to the point before the extrapolation.
  void ObjectiveRose(RowMatrix* w) {
    if (last_w_.values.empty()) return;
    largest_weight_ = weight_;
    weight_ /= 1.5;
    *w = last_w_;
  }

 private:
  double weight_ = 0.5, largest_weight_ = 1;
  RowMatrix last_w_;
};

absl::Status CheckOptions(const Dataset& data,
                          const FactorizeOptions& options) {
  const std::uint64_t largest =
      std::min(data.features(), data.private_user_count());
  if (!(options.rank >= 1 &&
        static_cast<std::uint64_t>(options.rank) <= largest)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
                   absl::StrCat("`--rank` must be from 1 to ", largest,
                                ", the smaller of features and users."));
  }
  if (!(options.iterations >= 1)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`--iterations` must be at least 1.");
  }
  if (!(options.threads >= 1)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`--threads` must be at least 1.");
  }
  if (options.seconds.has_value() && !(*options.seconds > 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`--seconds` must be above 0.");
  }
  if (options.target_objective.has_value() &&
      !(*options.target_objective >= 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`--target-objective` must be 0 or more.");
  }
  return absl::OkStatus();
}

// Why to stop after an iteration, if so. small_gains: iterations in a row that
// gained next to nothing; a single one may be an extrapolation gone too far.
std::optional<FactorizeStop> StopAfter(const FactorizeOptions& options,
                                       const FactorizeResult& now,
                                       int small_gains) {
  constexpr int kConvergedAfter = 3;
  if (options.target_objective.has_value() &&
      now.objective <= *options.target_objective) {
    return FactorizeStop::kTargetObjective;
  }
  if (now.iterations >= options.iterations) return FactorizeStop::kIterations;
  if (options.seconds.has_value() && now.seconds >= *options.seconds) {
    return FactorizeStop::kSeconds;
  }
  if (options.interrupted && options.interrupted())
    return FactorizeStop::kInterrupted;
  if (small_gains >= kConvergedAfter) return FactorizeStop::kConverged;
  return std::nullopt;
}

// Columns of length 1 (or zero).
Eigen::MatrixXd Normalised(const RowMatrix& w) {
  Eigen::MatrixXd normalised(w.rows, w.columns);
  for (int row = 0; row < w.rows; ++row) {
    for (int k = 0; k < w.columns; ++k) normalised(row, k) = w.Row(row)[k];
  }
  for (Eigen::Index k = 0; k < normalised.cols(); ++k) {
    const double length = normalised.col(k).norm();
    if (length > 0) normalised.col(k) /= length;
  }
  return normalised;
}

RowMatrix StartOf(const Dataset& data, const FactorizeOptions& options,
                  FactorizePasses* passes) {
  if (!data.sparse()) return StartFromColumns(data, options.rank, options.seed);
  return StartFromSingularVectors(passes, static_cast<int>(data.features()),
                                  data.private_user_count(), options.rank,
                                  options.seed);
}

}  // namespace

std::string_view NameOf(FactorizeStop stop) {
  switch (stop) {
    case FactorizeStop::kIterations:
      return "iterations";
    case FactorizeStop::kTargetObjective:
      return "target-objective";
    case FactorizeStop::kSeconds:
      return "seconds";
    case FactorizeStop::kConverged:
      return "converged";
    case FactorizeStop::kInterrupted:
      return "interrupted";
  }
  return "";
}

absl::StatusOr<FactorizeResult> Factorize(const Dataset& data,
                                          const FactorizeOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckOptions(data, options));
  const Stopwatch watch;
  FactorizePasses passes(data, options.rank, options.threads);
  RowMatrix w = StartOf(data, options, &passes), best = w;
  FactorizeResult result;
  result.start_seconds = watch.Seconds();
  const double squared_norm = passes.SquaredNorm();
  const SweepCounts sweeps = SweepsFor(data, options.rank);
  Extrapolation extrapolation;
  int small_gains = 0;
  result.objective = std::numeric_limits<double>::infinity();
  for (std::optional<FactorizeStop> stop; !stop.has_value();) {
    const Eigen::MatrixXd gram = passes.Gram(w);
    const double before = watch.Seconds();
    passes.UpdateH(w, gram, sweeps.h);
    result.users_seconds += watch.Seconds() - before;
    const double objective =
        Objective(passes, data.private_user_count(), squared_norm, w, gram);
    ++result.iterations;
    const double gain = result.objective - objective;
    if (gain >= 0) {
      small_gains = gain > kLeastGain * objective ? 0 : small_gains + 1;
      std::swap(best, w);
      result.objective = objective;
      w.values = best.values;
      passes.UpdateW(sweeps.w, &w);
      extrapolation.ObjectiveFell();
      extrapolation.Advance(&w);
    } else {
      extrapolation.ObjectiveRose(&w);
    }
    result.seconds = watch.Seconds();
    if (options.progress) {
      options.progress({result.iterations, result.objective, result.seconds});
    }
    stop = StopAfter(options, result, small_gains);
    if (stop.has_value()) result.stop = *stop;
  }
  result.w = Normalised(best);
  return result;
}

}  // namespace dpnmf::curator::lab
