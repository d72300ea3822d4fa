#include "curator/factor/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "common/threads/flush_subnormals.h"
#include "common/threads/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/h_step.h"
#include "curator/factor/kernels/exact_products.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/factor/kernels/sparse_kernels.h"
#include "curator/factor/sparse_h_step.h"

namespace dpnmf::curator {
namespace {

constexpr int kBlockUnit = 16;
constexpr int kLargestBlock = 256;
// A block's buffers should leave room for W in a second-level cache of 1 MiB.
constexpr std::int64_t kBlockBytes = 512 * 1024;
static_assert(kBlockUnit % kStripUsers == 0);

// Inputs that every block reads.
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
  // On sparse data, zeros of v that cannot add anything are not visited.
  bool by_nonzeros() const { return data.sparse(); }
  // Sparse data with outliers.
  SparseStep sparse_step() const {
    return {data, w, *long_rows, {request.lambda, request.outlier_bound}};
  }
};

// Kinds of sums that a round adds up.
enum class Sums { kProducts, kLosses };

// Buffers of one thread, made before the first block: none grows later, so that
// how much memory a round takes follows from its shape alone.
struct Worker {
  BlockBuffers block;
  AlignedVector<double> k;  // strips x K: gated integers
  // Gated integers of l of one user of sparse data, without zeros, and (with
  // outliers) their rows. For dense data, l is in the block's u (strips x D).
  AlignedVector<double> column_l;
  std::vector<std::int32_t> column_rows;
  SparseBlock sparse;
  AlignedVector<double> column_c;
  std::vector<std::uint32_t> column_k;
  AlignedVector<double> packed;
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

RoundShape ShapeOf(const Round& round, const Execution& execution) {
  return {.features = static_cast<std::uint64_t>(round.features()),
          .rank = static_cast<std::uint64_t>(round.rank()),
          .users = LargestUserCount(FactsOf(round.data.description())),
          .sparse = round.data.sparse(),
          .outliers = round.request.outliers,
          .threads = execution.threads};
}

// A multiple of kBlockUnit.
int BlockUsers(const RoundShape& shape) {
  // The rows of W of a strip's nonzeros stay in the cache over its sweeps.
  if (shape.sparse && shape.outliers) return kBlockUnit;
  const std::uint64_t bytes_a_user =
      (shape.sparse ? 0 : (shape.outliers ? 12 : 8) * shape.features) +
      24 * shape.rank;
  const std::uint64_t fitting = kBlockBytes /
                                std::max<std::uint64_t>(1, bytes_a_user) /
                                kBlockUnit * kBlockUnit;
  const std::uint64_t all =
      (shape.users + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
  return static_cast<int>(std::max<std::uint64_t>(
      std::min<std::uint64_t>({fitting, all, kLargestBlock}), kBlockUnit));
}

int BlockUsers(const RoundShape& shape, const Execution& execution) {
  if (execution.block_users <= 0) return BlockUsers(shape);
  return (execution.block_users + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
}

// No more threads than there may be blocks.
std::size_t WorkerCount(const RoundShape& shape) {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(
      (shape.users + kBlockUnit - 1) / kBlockUnit, 1,
      static_cast<std::uint64_t>(std::max(1, shape.threads))));
}

Worker MakeWorker(const Round& round, int block_users, Sums sums) {
  const int strips = block_users / kStripUsers;
  const auto features = static_cast<std::size_t>(round.features());
  const auto padded = static_cast<std::size_t>(round.padded_rank());
  Worker worker;
  worker.block = BuffersFor(round.w, strips);
  worker.k.reserve(worker.block.h.size());
  if (round.by_nonzeros()) {
    worker.column_c.resize(static_cast<std::size_t>(round.w.rows().stride));
    worker.column_l.resize(features);
  }
  if (round.long_rows.has_value()) {
    worker.sparse = SparseBlock(round.w, block_users);
    worker.column_rows.resize(features);
  }
  if (sums == Sums::kLosses) return worker;
  worker.column_k.resize(padded);
  worker.packed.resize(PackedSize(round.rank(), strips));
  worker.sums_a.resize(static_cast<std::size_t>(round.rank()) * padded);
  worker.sums_b.resize(features * padded);
  return worker;
}

std::vector<Worker> MakeWorkers(const Round& round, const RoundShape& shape,
                                int block_users, Sums sums) {
  // Large buffers take long to get: every thread gets its own.
  constexpr std::uint64_t kManyBytes = std::uint64_t{4} << 20;
  std::vector<Worker> workers(WorkerCount(shape));
  ParallelFor(workers.size(),
              StatisticsBytes(shape) < kManyBytes ? 1 : shape.threads,
              [&](std::size_t index, int) {
                workers[index] = MakeWorker(round, block_users, sums);
              });
  return workers;
}

// Parts into which what is left is cut.
std::uint64_t SharesLeft(const RoundShape& shape) {
  constexpr std::uint64_t kSharesLeft = 2;  // of every thread
  return shape.threads <= 1
             ? 1
             : kSharesLeft * static_cast<std::uint64_t>(shape.threads);
}

// At least the number of blocks. Those of full width; then every `shares`
// blocks halve what is left, at most log2(kLargestBlock / kBlockUnit) = 4
// times; then `shares` of kBlockUnit.
std::uint64_t MostBlocks(const RoundShape& shape, std::uint64_t width) {
  return shape.users / width + 1 + 6 * SharesLeft(shape);
}

// All users in blocks: towards the end smaller ones, so that no thread waits
// long for the last. What a user adds does not depend on it. At least as many
// as there are workers, the last ones empty where there are few users: how many
// threads begin does not tell how many users there are.
std::vector<UserRange> BlocksOf(const Round& round, const RoundShape& shape,
                                const Execution& execution) {
  const std::uint64_t users = round.data.private_user_count();
  const auto width = static_cast<std::uint64_t>(BlockUsers(shape, execution));
  const std::uint64_t shares =
      execution.block_users > 0 ? 1 : SharesLeft(shape);
  std::vector<UserRange> blocks;
  blocks.reserve(MostBlocks(shape, width));
  for (std::uint64_t first = 0; first < users;) {
    const std::uint64_t left = users - first;
    const std::uint64_t fair =
        (left / shares + kBlockUnit - 1) / kBlockUnit * kBlockUnit;
    const std::uint64_t count =
        std::min(left, std::clamp<std::uint64_t>(fair, kBlockUnit, width));
    blocks.push_back({first, static_cast<int>(count)});
    first += count;
  }
  blocks.resize(std::max(blocks.size(), WorkerCount(shape)));
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
    SparseHStepWithOutliers(round.sparse_step(), request.inner_iterations,
                            users, &block, &worker->sparse);
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

// l of one user of sparse data without zeros.
struct SparseL {
  std::span<const std::int32_t> rows;
  std::span<const double> l;
};

// Steps 3 and 4 for l of one user of sparse data, in the worker's buffers.
SparseL QuantisedColumn(const Round& round, UserRange users, int user,
                        Worker* worker) {
  std::span<const std::int32_t> rows;
  if (round.long_rows.has_value()) {
    const std::size_t count = SparseInliers(
        round.sparse_step(), users, user, worker->block, &worker->sparse,
        worker->column_rows.data(), worker->column_l.data());
    rows = std::span(worker->column_rows).first(count);
  } else {
    const SparseColumn column = round.data.SparseColumnOf(users.first + user);
    std::copy(column.values.begin(), column.values.end(),
              worker->column_l.begin());
    rows = column.rows;
  }
  const std::span<double> l = std::span(worker->column_l).first(rows.size());
  QuantiseColumn(round.u_bounds, l);
  return {rows, l};
}

// Steps 3 and 4: gated integers k, and l of dense data.
void Quantise(const Round& round, UserRange users, Worker* worker) {
  const int rank = round.rank();
  worker->k = worker->block.h;
  QuantiseStrips(round.h_bounds, rank, rank, users.strips(), worker->k.data());
  if (round.by_nonzeros()) return;
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
  std::vector<std::uint32_t>& k = worker->column_k;
  for (int user = 0; user < users.count; ++user) {
    const double* const from = worker->k.data() + LaneOf(user, round.rank());
    for (int j = 0; j < round.rank(); ++j)
      k[j] = static_cast<std::uint32_t>(from[j * kStripUsers]);
    const SparseL l = QuantisedColumn(round, users, user, worker);
    AddExactOuterProduct(l.rows, l.l, k, worker->sums_b.data());
  }
}

void AddBlock(const Round& round, UserRange users, Worker* worker) {
  const StripMatrix k{worker->k.data(), round.rank(), round.rank()};
  const std::uint64_t m_h = round.h_bounds.largest_entry;
  const std::uint64_t m_u = round.u_bounds.largest_entry;
  AddExactProducts(k, k, users.strips(), m_h, m_h, /*upper=*/true,
                   &worker->packed, worker->sums_a.data());
  if (round.by_nonzeros()) return AddNonzeros(round, users, worker);
  const StripMatrix l{worker->block.u.data(), round.features(),
                      round.features()};
  AddExactProducts(l, k, users.strips(), m_u, m_h, /*upper=*/false,
                   &worker->packed, worker->sums_b.data());
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
                                 Sums sums, Coefficients* h,
                                 const Visit& visit) {
  const RoundShape shape = ShapeOf(round, execution);
  const std::vector<UserRange> blocks = BlocksOf(round, shape, execution);
  std::vector<Worker> workers =
      MakeWorkers(round, shape, BlockUsers(shape, execution), sums);
  const FlushSubnormals flush;  // of a hostile W, and what follows from it
  ParallelFor(blocks.size(), static_cast<int>(workers.size()),
              [&](std::size_t index, int worker) {
                if (blocks[index].count == 0 || execution.Stopped()) return;
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

std::uint64_t StatisticsBytes(const RoundShape& shape) {
  const Uint128 features = shape.features, rank = shape.rank;
  const Uint128 padded = rank + kProductColumns;
  const int block_users = BlockUsers(shape);
  const auto users = static_cast<unsigned>(block_users);
  // A worker: h, c and k; then the packed k and the sums.
  Uint128 worker = 8 * (3 * users * rank + padded);
  if (!shape.objective)
    worker += 8 * (users + rank + features) * padded + 4 * padded;
  // W in the order of the kernels, and W'W; then what a block needs of V.
  Uint128 packed = 3 * 8 * rank * rank;
  if (!shape.sparse) {
    packed += 2 * 8 * features * rank;
    worker += (shape.outliers ? 12 : 8) * features * users + 8 * 96 * 16;
  } else {
    packed += 8 * features * padded;
    worker += 8 * features;
  }
  if (shape.sparse && shape.outliers) {
    packed += 32 * features;
    worker += 4 * features +
              SparseBlock::Bytes(shape.features, shape.rank, block_users);
  }
  const Uint128 blocks =
      sizeof(UserRange) *
      Uint128{MostBlocks(shape, static_cast<std::uint64_t>(block_users))};
  const Uint128 sums =
      shape.objective ? 0 : 8 * (rank * rank + rank + features * rank);
  const Uint128 bytes =
      packed + blocks + sums +
      (worker + sizeof(Worker)) * static_cast<Uint128>(WorkerCount(shape));
  return static_cast<std::uint64_t>(
      std::min<Uint128>(bytes, std::numeric_limits<std::uint64_t>::max()));
}

Coefficients CoefficientsFor(const Dataset& data, std::uint64_t rank) {
  return {rank, LargestUserCount(FactsOf(data.description()))};
}

absl::StatusOr<ExactSums> ComputeStatistics(const Dataset& data,
                                            const StatisticsRequest& request,
                                            const Execution& execution,
                                            Coefficients* h) {
  DPNMF_ASSIGN_OR_RETURN(const Round round, PrepareRound(data, request, *h));
  const std::vector<Worker> workers = ForEachBlock(
      round, execution, Sums::kProducts, h,
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
  const std::vector<Worker> workers = ForEachBlock(
      round, execution, Sums::kLosses, &h,
      [&](UserRange users, Worker* worker) {
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
  ForEachBlock(
      round, execution, Sums::kProducts, h,
      [&](UserRange users, Worker* worker) {
        for (int user = 0; user < users.count; ++user) {
          UserContribution& to = contributions[users.first + user];
          to.k = LaneToIntegers(worker->k.data() + LaneOf(user, round.rank()),
                                round.rank());
          if (!round.by_nonzeros()) {
            to.l = LaneToIntegers(
                worker->block.u.data() + LaneOf(user, round.features()),
                round.features());
            continue;
          }
          to.l.assign(round.features(), 0);
          const SparseL sparse = QuantisedColumn(round, users, user, worker);
          for (std::size_t i = 0; i < sparse.rows.size(); ++i)
            to.l[sparse.rows[i]] = static_cast<std::int64_t>(sparse.l[i]);
        }
      });
  return contributions;
}

}  // namespace dpnmf::curator
