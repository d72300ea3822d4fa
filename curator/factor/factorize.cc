#include "curator/factor/factorize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/exact_products.h"
#include "curator/factor/h_step.h"

namespace dpnmf::curator {
namespace {

constexpr int kBlockUsers = 96;
static_assert(kBlockUsers % kStripUsers == 0);
constexpr double kLeastGain = 1e-7;

// A = HH' and B = VH' (sums over users, not means), and W'B, W'W are formed
// from them without another look at V.
struct Moments {
  Eigen::MatrixXd a;  // K x K
  Eigen::MatrixXd b;  // D x K
};

// Sums of one worker: A as K, B as D rows of padded_rank.
struct PartialMoments {
  AlignedVector<double> a, b;
};

// H between iterations, as strips; W as strips of features.
struct State {
  const Dataset& data;
  const FactorizeOptions& options;
  int features, rank, padded_rank;
  std::uint64_t users;
  AlignedVector<double> h;  // K rows, users padded to whole strips
  AlignedVector<double> w;  // K rows, features padded to whole strips

  int feature_strips() const {
    return (features + kStripUsers - 1) / kStripUsers;
  }
};

State StateOf(const Dataset& data, const FactorizeOptions& options) {
  State state{data,
              options,
              static_cast<int>(data.features()),
              options.rank,
              PaddedColumns(options.rank),
              data.private_user_count(),
              {},
              {}};
  const std::uint64_t strips = (state.users + kStripUsers - 1) / kStripUsers;
  state.h.assign(strips * StripSize(state.rank), 0.0);
  state.w.assign(state.feature_strips() * StripSize(state.rank), 0.0);
  return state;
}

Eigen::MatrixXd DictionaryOf(const State& state) {
  Eigen::MatrixXd w(state.features, state.rank);
  for (int feature = 0; feature < state.features; ++feature) {
    const double* const from = state.w.data() + LaneOf(feature, state.rank);
    for (int k = 0; k < state.rank; ++k) w(feature, k) = from[k * kStripUsers];
  }
  return w;
}

// One user's column into strips of features, times `weight`.
void AddColumn(const Dataset& data, std::uint64_t user, double weight, int k,
               State* state) {
  const auto add = [&](int feature, float value) {
    state->w[LaneOf(feature, state->rank) + k * kStripUsers] += weight * value;
  };
  if (data.sparse()) {
    const SparseColumn column = data.SparseColumnOf(user);
    for (std::size_t i = 0; i < column.rows.size(); ++i)
      add(column.rows[i], column.values[i]);
    return;
  }
  const auto column = data.DenseColumn(user);
  for (int feature = 0; feature < state->features; ++feature)
    add(feature, column[feature]);
}

// The start of Langville et al. 2006 ("random Acol"): each column of W is the
// mean of a few columns of V.
void StartFromRandomColumns(State* state) {
  constexpr int kColumns = 5;
  std::mt19937_64 random(state->options.seed);
  for (int k = 0; k < state->rank; ++k) {
    for (int i = 0; i < kColumns; ++i) {
      AddColumn(state->data, random() % state->users, 1.0 / kColumns, k, state);
    }
  }
}

double SquaredNorm(const State& state) {
  std::vector<double> sums(std::max(1, state.options.threads), 0.0);
  const std::uint64_t share = (state.users + sums.size() - 1) / sums.size();
  ParallelFor(sums.size(), state.options.threads, [&](std::size_t part, int) {
    const std::uint64_t end =
        std::min<std::uint64_t>(state.users, (part + 1) * share);
    for (std::uint64_t user = part * share; user < end; ++user) {
      const auto values = state.data.sparse()
                              ? state.data.SparseColumnOf(user).values
                              : state.data.DenseColumn(user);
      for (const double value : values) sums[part] += value * value;
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// The H step of one block of users, and what it adds to the moments.
void ProcessBlock(const PackedDictionary& w, int sweeps, UserRange users,
                  State* state, BlockBuffers* block,
                  AlignedVector<double>* column, PartialMoments* moments) {
  const int strips = users.strips(), rank = state->rank,
            padded = state->padded_rank;
  double* const stored_h =
      state->h.data() + users.first / kStripUsers * StripSize(rank);
  block->h.assign(stored_h, stored_h + strips * StripSize(rank));
  block->c.resize(block->h.size());
  if (state->data.sparse()) {
    CorrelateNonzeros(state->data, w, users, column, block->c.data());
  } else {
    LoadData(state->data, users, &block->u);
    Correlate(w, strips, block);
  }
  SweepBlock(w, sweeps, strips, block);
  std::copy(block->h.begin(), block->h.end(), stored_h);

  block->partial.assign(strips * StripSize(padded), 0.0);  // h with padded rows
  for (int strip = 0; strip < strips; ++strip) {
    std::copy_n(block->h.data() + strip * StripSize(rank), StripSize(rank),
                block->partial.data() + strip * StripSize(padded));
  }
  const StripMatrix h{block->partial.data(), rank, padded};
  AddProducts(h, h, strips, /*upper=*/true, moments->a.data());
  if (!state->data.sparse()) {
    AddProducts({block->u.data(), state->features, state->features}, h, strips,
                /*upper=*/false, moments->b.data());
    return;
  }
  column->assign(padded, 0.0);
  for (int user = 0; user < users.count; ++user) {
    const double* const from = block->h.data() + LaneOf(user, rank);
    for (int k = 0; k < rank; ++k) (*column)[k] = from[k * kStripUsers];
    AddOuterProduct(state->data.SparseColumnOf(users.first + user), *column,
                    moments->b.data());
  }
}

Moments Collect(const State& state, const std::vector<PartialMoments>& parts) {
  using Rows =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Rows a = Rows::Zero(state.rank, state.padded_rank);
  Rows b = Rows::Zero(state.features, state.padded_rank);
  for (const PartialMoments& part : parts) {
    a += Eigen::Map<const Rows>(part.a.data(), state.rank, state.padded_rank);
    b += Eigen::Map<const Rows>(part.b.data(), state.features,
                                state.padded_rank);
  }
  Moments moments;
  moments.a = a.leftCols(state.rank).selfadjointView<Eigen::Upper>();
  moments.b = b.leftCols(state.rank);
  return moments;
}

// The H step for all users. Every worker has a fixed share of them and the
// shares are added in order: the result is a function of the thread count
// alone.
Moments UsersPass(const PackedDictionary& w, int sweeps, State* state) {
  const std::size_t shares = std::max(1, state->options.threads);
  const std::uint64_t blocks = (state->users + kBlockUsers - 1) / kBlockUsers;
  std::vector<PartialMoments> parts(shares);
  ParallelFor(shares, state->options.threads, [&](std::size_t share, int) {
    PartialMoments& part = parts[share];
    part.a.assign(static_cast<std::size_t>(state->rank) * state->padded_rank,
                  0.0);
    part.b.assign(
        static_cast<std::size_t>(state->features) * state->padded_rank, 0.0);
    BlockBuffers buffers;
    AlignedVector<double> column;
    for (std::uint64_t block = share * blocks / shares;
         block < (share + 1) * blocks / shares; ++block) {
      const std::uint64_t first = block * kBlockUsers;
      const UserRange users{first, static_cast<int>(std::min<std::uint64_t>(
                                       kBlockUsers, state->users - first))};
      ProcessBlock(w, sweeps, users, state, &buffers, &column, &part);
    }
  });
  return Collect(*state, parts);
}

// The same sweeps for W: its rows are the "users", A is their Gram matrix.
void FeaturesPass(const Moments& moments, int sweeps, State* state) {
  const PackedGram gram(moments.a);
  const int strips = state->feature_strips();
  AlignedVector<double> b(strips * StripSize(state->rank), 0.0);
  for (int feature = 0; feature < state->features; ++feature) {
    double* const to = b.data() + LaneOf(feature, state->rank);
    for (int k = 0; k < state->rank; ++k)
      to[k * kStripUsers] = moments.b(feature, k);
  }
  constexpr int kStripsAtOnce = 8;
  const int parts = (strips + kStripsAtOnce - 1) / kStripsAtOnce;
  ParallelFor(parts, state->options.threads, [&](std::size_t part, int) {
    const std::size_t first = part * kStripsAtOnce * StripSize(state->rank);
    const int count = std::min(kStripsAtOnce,
                               strips - static_cast<int>(part) * kStripsAtOnce);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      Sweep(gram, count, b.data() + first, state->w.data() + first);
    }
  });
  ClearNonFinite(state->w.size(), state->w.data());
}

// 1/(2N) |V - W H|^2 = 1/(2N) (|V|^2 - 2 tr(W'B) + tr(W'W A)).
double Objective(const State& state, double squared_norm,
                 const Eigen::MatrixXd& w, const Moments& moments) {
  const double cross = w.cwiseProduct(moments.b).sum();
  const double model = (w.transpose() * w).cwiseProduct(moments.a).sum();
  return std::max(0.0, squared_norm - 2 * cross + model) /
         (2.0 * static_cast<double>(state.users));
}

// Sweeps for one product with V: as many as cost about half of it.
struct SweepCounts {
  int h, w;
};

SweepCounts SweepsFor(const State& state) {
  double entries_a_user = state.features;
  if (state.data.sparse()) {
    double nonzeros = 0;
    for (std::uint64_t user = 0; user < state.users; ++user) {
      nonzeros +=
          static_cast<double>(state.data.SparseColumnOf(user).rows.size());
    }
    entries_a_user = nonzeros / static_cast<double>(state.users);
  }
  const double h = 0.5 * entries_a_user / state.rank;
  const double w = 0.5 * entries_a_user * static_cast<double>(state.users) /
                   (static_cast<double>(state.rank) * state.features);
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
  void Advance(AlignedVector<double>* w) {
    AlignedVector<double> next = *w;
    if (!last_w_.empty()) {
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] = std::max(0.0, (*w)[i] + weight_ * ((*w)[i] - last_w_[i]));
      }
    }
    last_w_ = std::move(*w);
    *w = std::move(next);
  }

  void ObjectiveFell() {
    weight_ = std::min(largest_weight_, weight_ * 1.05);
    largest_weight_ = std::min(1.0, largest_weight_ * 1.01);
  }

  // Back to the point before the extrapolation.
  void ObjectiveRose(AlignedVector<double>* w) {
    if (last_w_.empty()) return;
    largest_weight_ = weight_;
    weight_ /= 1.5;
    *w = last_w_;
  }

 private:
  double weight_ = 0.5, largest_weight_ = 1;
  AlignedVector<double> last_w_;
};

absl::Status CheckOptions(const Dataset& data,
                          const FactorizeOptions& options) {
  const std::uint64_t largest =
      std::min(data.features(), data.private_user_count());
  if (!(options.rank >= 1 &&
        static_cast<std::uint64_t>(options.rank) <= largest)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
                   absl::StrCat("`rank` must be from 1 to ", largest,
                                ", the lesser of features and users."));
  }
  if (!(options.iterations >= 1)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`iterations` must be at least 1.");
  }
  if (!(options.threads >= 1)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`threads` must be at least 1.");
  }
  if (options.seconds.has_value() && !(*options.seconds > 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`seconds` must be above 0.");
  }
  if (options.target_objective.has_value() &&
      !(*options.target_objective >= 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "factorize-option-out-of-range",
                   "`target-objective` must be 0 or more.");
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

void NormaliseColumns(Eigen::MatrixXd* w) {
  for (Eigen::Index k = 0; k < w->cols(); ++k) {
    const double length = w->col(k).norm();
    if (length > 0) w->col(k) /= length;
  }
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
  const auto start = std::chrono::steady_clock::now();
  State state = StateOf(data, options);
  StartFromRandomColumns(&state);
  const double squared_norm = SquaredNorm(state);
  const SweepCounts sweeps = SweepsFor(state);
  Extrapolation extrapolation;
  int small_gains = 0;
  FactorizeResult result;
  result.objective = std::numeric_limits<double>::infinity();
  for (std::optional<FactorizeStop> stop; !stop.has_value();) {
    Eigen::MatrixXd w = DictionaryOf(state);
    const Moments moments =
        UsersPass(PackedDictionary(w, /*outliers=*/false, data.sparse()),
                  sweeps.h, &state);
    const double objective = Objective(state, squared_norm, w, moments);
    ++result.iterations;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    const double gain = result.objective - objective;
    if (gain >= 0) {
      small_gains = gain > kLeastGain * objective ? 0 : small_gains + 1;
      result.w = std::move(w);
      result.objective = objective;
      FeaturesPass(moments, sweeps.w, &state);
      extrapolation.ObjectiveFell();
      extrapolation.Advance(&state.w);
    } else {
      extrapolation.ObjectiveRose(&state.w);
    }
    if (options.progress) {
      options.progress({result.iterations, result.objective, result.seconds});
    }
    stop = StopAfter(options, result, small_gains);
    if (stop.has_value()) result.stop = *stop;
  }
  NormaliseColumns(&result.w);
  return result;
}

}  // namespace dpnmf::curator
