#include "curator/factor/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "common/base/error.h"
#include "common/base/parallel.h"
#include "common/privacy/run_plan.h"
#include "curator/factor/block_data.h"
#include "curator/factor/exact_products.h"
#include "curator/factor/h_step.h"
#include "curator/factor/quantise.h"
#include "curator/factor/sparse_h_step.h"
#include "curator/factor/sparse_kernels.h"

namespace dpnmf::curator {
namespace {

constexpr int kBlockUnit = 16;
constexpr int kLargestBlock = 256;
// A block's buffers should leave room for W in a second-level cache of 1 MiB.
constexpr std::int64_t kBlockBytes = 512 * 1024;
static_assert(kBlockUnit % kStripUsers == 0);

// What every block reads.
struct Round {
  const Dataset& data;
  const StatisticsRequest& request;
  PackedDictionary w;
  LatticeBounds h_bounds;
  LatticeBounds u_bounds;
  std::optional<LongRows> long_rows;  // sparse data with outliers

  int features() const { return w.features; }
  int rank() const { return w.rank; }
  int padded_rank() const { return PaddedColumns(w.rank); }
  // No zero of v is visited that could add nothing.
  bool by_nonzeros() const { return data.sparse(); }
};

// l by nonzeros, user after user.
struct SparseOutput {
  std::vector<std::int32_t> rows;
  std::vector<double> l;
  std::vector<std::size_t> ends;

  void Clear() {
    rows.clear();
    l.clear();
    ends.clear();
  }
  std::size_t First(int user) const { return user == 0 ? 0 : ends[user - 1]; }
  std::size_t Count(int user) const { return ends[user] - First(user); }
  std::span<const std::int32_t> RowsOf(int user) const {
    return std::span(rows).subspan(First(user), Count(user));
  }
  std::span<const double> LOf(int user) const {
    return std::span(l).subspan(First(user), Count(user));
  }
};

// What one block leaves behind: gated integers.
struct BlockOutput {
  AlignedVector<double> k;  // strips x K
  // l of sparse data; else it is in the block's u (strips x D).
  SparseOutput sparse;
};

struct Worker {
  BlockBuffers block;
  BlockOutput output;
  SparseBlock sparse;
  AlignedVector<double> column_c;
  std::vector<std::uint32_t> column_k;
  AlignedVector<std::uint64_t> sums_a;  // K x padded_rank, row-major
  AlignedVector<std::uint64_t> sums_b;  // D x padded_rank, row-major
  std::uint64_t loss = 0;               // of the objective
};

absl::Status CheckShapes(const Dataset& data, const StatisticsRequest& request,
                         const Coefficients& h) {
  const bool fits =
      request.w != nullptr && request.w->cols() >= 1 &&
      static_cast<std::uint64_t>(request.w->rows()) == data.features() &&
      static_cast<std::uint64_t>(request.w->cols()) == h.rank() &&
      h.users() >= data.private_user_count() &&
      data.features() <= std::numeric_limits<int>::max() / (4 * kStripUsers) &&
      request.inner_iterations >= 0 &&
      (!request.outliers ||
       (request.lambda >= 0 && request.outlier_bound >= 0));
  if (fits) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInternal, "statistics-request-malformed",
                 "W, H and the data set do not fit one another.");
}

absl::StatusOr<Round> PrepareRound(const Dataset& data,
                                   const StatisticsRequest& request,
                                   const Coefficients& h) {
  DPNMF_RETURN_IF_ERROR(CheckShapes(data, request, h));
  DPNMF_ASSIGN_OR_RETURN(
      const LatticeBounds h_bounds,
      LatticeBoundsOf(request.coefficient_bound, request.coefficient_bits));
  DPNMF_ASSIGN_OR_RETURN(
      const LatticeBounds u_bounds,
      LatticeBoundsOf(request.data_bound, request.data_bits));
  Round round{data,
              request,
              PackedDictionary(*request.w, request.outliers, data.sparse()),
              h_bounds,
              u_bounds,
              std::nullopt};
  if (data.sparse() && request.outliers) round.long_rows.emplace(*request.w);
  const std::uint64_t users = data.private_user_count();
  const std::uint64_t m_h = h_bounds.largest_entry;
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, m_h, m_h));
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, m_h, u_bounds.largest_entry));
  return round;
}

int BlockUsers(const Round& round, const Execution& execution) {
  if (execution.block_users > 0) {
    return (execution.block_users + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
  }
  // The rows of W of a strip's nonzeros stay in the cache over its sweeps.
  if (round.long_rows.has_value()) return kBlockUnit;
  const std::int64_t bytes_a_user =
      (round.by_nonzeros() ? 0
                           : (round.request.outliers ? 12 : 8) *
                                 std::int64_t{round.features()}) +
      24 * std::int64_t{round.rank()};
  const std::int64_t fitting =
      kBlockBytes / bytes_a_user / kBlockUnit * kBlockUnit;
  return static_cast<int>(
      std::clamp<std::int64_t>(fitting, kBlockUnit, kLargestBlock));
}

// All users in blocks: towards the end smaller ones, so that no thread waits
// long for the last. What a user adds does not depend on it.
std::vector<UserRange> BlocksOf(const Round& round,
                                const Execution& execution) {
  constexpr std::uint64_t kSharesLeft = 2;  // of every thread
  const std::uint64_t users = round.data.private_user_count();
  const auto width = static_cast<std::uint64_t>(BlockUsers(round, execution));
  const bool chosen = execution.block_users > 0;
  const std::uint64_t shares =
      chosen || execution.threads <= 1
          ? 1
          : kSharesLeft * static_cast<std::uint64_t>(execution.threads);
  std::vector<UserRange> blocks;
  blocks.reserve(LargestUserCount(FactsOf(round.data.description())) / width +
                 1);
  for (std::uint64_t first = 0; first < users;) {
    const std::uint64_t left = users - first;
    const std::uint64_t fair =
        (left / shares + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
    const std::uint64_t count =
        std::min(left, std::clamp<std::uint64_t>(fair, kBlockUnit, width));
    blocks.push_back({first, static_cast<int>(count)});
    first += count;
  }
  return blocks;
}

void LoadCoefficients(const Coefficients& h, UserRange users,
                      BlockBuffers* block) {
  const int rank = static_cast<int>(h.rank());
  block->h.resize(users.strips() * StripSize(rank));
  block->c.resize(block->h.size());
  for (int strip = 0; strip < users.strips(); ++strip) {
    const double* columns[kStripUsers] = {};
    for (int lane = 0; lane < users.InStrip(strip); ++lane)
      columns[lane] = h.Of(users.first + strip * kStripUsers + lane);
    LoadStrip(columns, rank, block->h.data() + strip * StripSize(rank));
  }
}

void StoreCoefficients(UserRange users, const BlockBuffers& block,
                       Coefficients* h) {
  const int rank = static_cast<int>(h->rank());
  for (int strip = 0; strip < users.strips(); ++strip) {
    double* columns[kStripUsers] = {};
    for (int lane = 0; lane < users.InStrip(strip); ++lane)
      columns[lane] = h->Of(users.first + strip * kStripUsers + lane);
    StoreStrip(block.h.data() + strip * StripSize(rank), rank, columns);
  }
}

// Steps 1 and 2: h and u = v - S(v - W h) of every user of the block.
void HStep(const Round& round, UserRange users, Worker* worker) {
  const StatisticsRequest& request = round.request;
  BlockBuffers& block = worker->block;
  if (round.long_rows.has_value()) {
    SparseHStepWithOutliers(round.data, round.w, *round.long_rows,
                            {request.lambda, request.outlier_bound},
                            request.inner_iterations, users, &block,
                            &worker->sparse);
    return;
  }
  if (request.outliers) {
    LoadData(round.data, users, &block.v);
    block.u.resize(block.v.size());
    HStepWithOutliers(round.w, {request.lambda, request.outlier_bound},
                      request.inner_iterations, users.strips(), &block);
    return;
  }
  if (round.by_nonzeros()) {
    CorrelateNonzeros(round.data, round.w, users, &worker->column_c,
                      block.c.data());
  } else {
    LoadData(round.data, users, &block.u);
    Correlate(round.w, users.strips(), &block);
  }
  SweepBlock(round.w, request.inner_iterations, users.strips(), &block);
}

// u of one user by nonzeros, behind what is there.
void AppendNonzeros(const Round& round, const Worker& worker, UserRange users,
                    int user, SparseOutput* to) {
  if (!round.long_rows.has_value()) {
    const SparseColumn column = round.data.SparseColumnOf(users.first + user);
    to->rows.insert(to->rows.end(), column.rows.begin(), column.rows.end());
    to->l.insert(to->l.end(), column.values.begin(), column.values.end());
    return;
  }
  const Support& support = worker.sparse.users[user];
  for (std::size_t i = 0; i < support.count; ++i) {
    if (support.u[i] == 0) continue;
    to->rows.push_back(support.rows[i]);
    to->l.push_back(support.u[i]);
  }
}

void QuantiseNonzeros(const Round& round, UserRange users, Worker* worker) {
  SparseOutput& output = worker->output.sparse;
  output.Clear();
  for (int user = 0; user < users.count; ++user) {
    AppendNonzeros(round, *worker, users, user, &output);
    output.ends.push_back(output.l.size());
    QuantiseColumn(round.u_bounds,
                   std::span(output.l).subspan(output.First(user)));
  }
}

// Steps 3 and 4: gated integers k and l.
void Quantise(const Round& round, UserRange users, Worker* worker) {
  BlockOutput& output = worker->output;
  const int rank = round.rank();
  output.k = worker->block.h;
  QuantiseStrips(round.h_bounds, rank, rank, users.strips(), output.k.data());
  if (round.by_nonzeros()) return QuantiseNonzeros(round, users, worker);
  QuantiseStrips(round.u_bounds, round.features(), round.features(),
                 users.strips(), worker->block.u.data());
}

void ProcessBlock(const Round& round, UserRange users, Worker* worker,
                  Coefficients* h) {
  LoadCoefficients(*h, users, &worker->block);
  HStep(round, users, worker);
  StoreCoefficients(users, worker->block, h);
  Quantise(round, users, worker);
}

// S_B += sum of l k' by the nonzeros of l.
void AddNonzeros(const Round& round, UserRange users, Worker* worker) {
  const SparseOutput& output = worker->output.sparse;
  std::vector<std::uint32_t>& k = worker->column_k;
  k.assign(round.padded_rank(), 0);
  for (int user = 0; user < users.count; ++user) {
    const double* const from =
        worker->output.k.data() + LaneOf(user, round.rank());
    for (int j = 0; j < round.rank(); ++j)
      k[j] = static_cast<std::uint32_t>(from[j * kStripUsers]);
    AddExactOuterProduct(output.RowsOf(user), output.LOf(user), k,
                         worker->sums_b.data());
  }
}

void AddBlock(const Round& round, UserRange users, Worker* worker) {
  const int padded = round.padded_rank();
  if (worker->sums_a.empty()) {
    worker->sums_a.assign(static_cast<std::size_t>(round.rank()) * padded, 0);
    worker->sums_b.assign(static_cast<std::size_t>(round.features()) * padded,
                          0);
  }
  const StripMatrix k{worker->output.k.data(), round.rank(), round.rank()};
  const std::uint64_t m_h = round.h_bounds.largest_entry;
  const std::uint64_t m_u = round.u_bounds.largest_entry;
  AddExactProducts(k, k, users.strips(), m_h, m_h, /*upper=*/true,
                   worker->sums_a.data());
  if (round.by_nonzeros()) return AddNonzeros(round, users, worker);
  const StripMatrix l{worker->block.u.data(), round.features(),
                      round.features()};
  AddExactProducts(l, k, users.strips(), m_u, m_h, /*upper=*/false,
                   worker->sums_b.data());
}

// to += from, modulo 2^64.
void Add(std::uint64_t from, std::int64_t* to) {
  *to = static_cast<std::int64_t>(static_cast<std::uint64_t>(*to) + from);
}

// Sums of all workers, in the order of ExactSums.
ExactSums Collect(const Round& round, const std::vector<Worker>& workers,
                  int threads) {
  const std::size_t rank = round.rank(), features = round.features();
  const std::size_t padded = round.padded_rank();
  ExactSums sums;
  sums.a.resize(rank * (rank + 1) / 2);
  sums.b.resize(features * rank);
  for (const Worker& worker : workers) {
    if (worker.sums_a.empty()) continue;
    for (std::size_t column = 0, at = 0; column < rank; ++column) {
      for (std::size_t row = 0; row <= column; ++row)
        Add(worker.sums_a[row * padded + column], &sums.a[at++]);
    }
  }
  // A few rows at a time: both orders then stay in the cache.
  constexpr std::size_t kRows = 64;
  ParallelFor((features + kRows - 1) / kRows,
              features < 16 * kRows ? 1 : threads, [&](std::size_t index, int) {
                const std::size_t first = index * kRows;
                const std::size_t end = std::min(first + kRows, features);
                for (const Worker& worker : workers) {
                  if (worker.sums_b.empty()) continue;
                  for (std::size_t column = 0; column < rank; ++column) {
                    for (std::size_t row = first; row < end; ++row)
                      Add(worker.sums_b[row * padded + column],
                          &sums.b[column * features + row]);
                  }
                }
              });
  return sums;
}

// Calls visit(users, worker) for every block after it was processed.
template <typename Visit>
std::vector<Worker> ForEachBlock(const Round& round, const Execution& execution,
                                 Coefficients* h, const Visit& visit) {
  const std::vector<UserRange> blocks = BlocksOf(round, execution);
  std::vector<Worker> workers(std::max(1, execution.threads));
  ParallelFor(blocks.size(), execution.threads,
              [&](std::size_t index, int worker) {
                if (execution.Stopped()) return;
                ProcessBlock(round, blocks[index], &workers[worker], h);
                visit(blocks[index], &workers[worker]);
              });
  return workers;
}

double SquaredLengthOf(const Dataset& data, std::uint64_t user) {
  double sum = 0;
  const auto values =
      data.sparse() ? data.SparseColumnOf(user).values : data.DenseColumn(user);
  for (const float value : values) sum += double{value} * value;
  return sum;
}

// 1/2 |v - W h|^2 = 1/2 |v|^2 - h'(c - 1/2 W'W h), c = W'v.
double LossOf(const Round& round, const Eigen::MatrixXd& gram,
              const BlockBuffers& block, int user, double squared_length) {
  const int rank = round.rank();
  const double* const h = block.h.data() + LaneOf(user, rank);
  const double* const c = block.c.data() + LaneOf(user, rank);
  double loss = squared_length / 2;
  for (int k = 0; k < rank; ++k) {
    double product = 0;
    for (int j = 0; j < rank; ++j) product += gram(j, k) * h[j * kStripUsers];
    loss -= h[k * kStripUsers] * (c[k * kStripUsers] - product / 2);
  }
  return loss;
}

// floor(loss / step) in [0, most]; 0 for what is not a number.
std::uint64_t LossSteps(double loss, double steps_per_unit,
                        std::uint64_t most) {
  const double steps = loss * steps_per_unit;
  if (!(steps > 0)) return 0;
  if (!(steps < static_cast<double>(most))) return most;
  return std::min(most, static_cast<std::uint64_t>(steps));
}

std::vector<std::int64_t> LaneToIntegers(const double* lane, int rows) {
  std::vector<std::int64_t> integers(rows);
  for (int row = 0; row < rows; ++row) {
    integers[row] = static_cast<std::int64_t>(
        lane[static_cast<std::size_t>(row) * kStripUsers]);
  }
  return integers;
}

}  // namespace

absl::Status Execution::CheckNotStopped() const {
  if (!Stopped()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The computation was stopped.");
}

Coefficients::Coefficients(std::uint64_t rank, std::uint64_t users)
    : rank_(rank), values_(rank * users) {}

Coefficients CoefficientsFor(const Dataset& data, std::uint64_t rank) {
  return {rank, LargestUserCount(FactsOf(data.description()))};
}

absl::StatusOr<ExactSums> ComputeStatistics(const Dataset& data,
                                            const StatisticsRequest& request,
                                            const Execution& execution,
                                            Coefficients* h) {
  DPNMF_ASSIGN_OR_RETURN(const Round round, PrepareRound(data, request, *h));
  const std::vector<Worker> workers = ForEachBlock(
      round, execution, h,
      [&](UserRange users, Worker* worker) { AddBlock(round, users, worker); });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  return Collect(round, workers, execution.threads);
}

absl::StatusOr<std::int64_t> ComputeObjective(const Dataset& data,
                                              StatisticsRequest request,
                                              const Execution& execution) {
  request.outliers = false;
  Coefficients h = CoefficientsFor(
      data,
      request.w == nullptr ? 0 : static_cast<std::uint64_t>(request.w->cols()));
  DPNMF_ASSIGN_OR_RETURN(const Round round, PrepareRound(data, request, h));
  const Eigen::MatrixXd gram = request.w->transpose() * *request.w;
  const double steps_per_unit = std::ldexp(1.0, 2 * request.data_bits);
  const std::uint64_t most =
      LargestLossSteps(request.data_bound, request.data_bits);
  const std::vector<Worker> workers =
      ForEachBlock(round, execution, &h, [&](UserRange users, Worker* worker) {
        for (int user = 0; user < users.count; ++user) {
          const double loss = LossOf(round, gram, worker->block, user,
                                     SquaredLengthOf(data, users.first + user));
          worker->loss += LossSteps(loss, steps_per_unit, most);
        }
      });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  std::uint64_t sum = 0;
  for (const Worker& worker : workers) sum += worker.loss;
  return static_cast<std::int64_t>(sum);
}

absl::StatusOr<std::vector<UserContribution>> ContributionsForTesting(
    const Dataset& data, const StatisticsRequest& request,
    const Execution& execution, Coefficients* h) {
  DPNMF_ASSIGN_OR_RETURN(const Round round, PrepareRound(data, request, *h));
  std::vector<UserContribution> contributions(data.private_user_count());
  ForEachBlock(round, execution, h, [&](UserRange users, Worker* worker) {
    for (int user = 0; user < users.count; ++user) {
      UserContribution& to = contributions[users.first + user];
      to.k = LaneToIntegers(
          worker->output.k.data() + LaneOf(user, round.rank()), round.rank());
      if (!round.by_nonzeros()) {
        to.l = LaneToIntegers(
            worker->block.u.data() + LaneOf(user, round.features()),
            round.features());
        continue;
      }
      to.l.assign(round.features(), 0);
      const SparseOutput& sparse = worker->output.sparse;
      for (std::size_t i = 0; i < sparse.Count(user); ++i) {
        to.l[sparse.RowsOf(user)[i]] =
            static_cast<std::int64_t>(sparse.LOf(user)[i]);
      }
    }
  });
  return contributions;
}

}  // namespace dpnmf::curator
