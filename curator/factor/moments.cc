#include "curator/factor/moments.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "common/threads/flush_subnormals.h"
#include "common/threads/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/kernels/exact_products.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/factor/row_places.h"
#include "curator/factor/user_blocks.h"

namespace dpnmf::curator {
namespace {

// Users of the mean that one thread takes at a time.
constexpr std::uint64_t kMeanUsers = 1024;

std::size_t WorkersFor(const Dataset& data, std::uint64_t width,
                       const Execution& execution) {
  return WorkerCount(LargestUserCount(FactsOf(data.description())), width,
                     execution.threads);
}

// Calls work(users, worker) for consecutive ranges of users. So many threads
// begin as there are workers, whether or not there are users for them.
template <typename Work>
void ForEachRange(std::uint64_t users, std::uint64_t width, std::size_t workers,
                  const Execution& execution, const Work& work) {
  const FlushSubnormals flush;  // of a person's entries
  ParallelFor(
      std::max<std::size_t>((users + width - 1) / width, workers),
      static_cast<int>(workers), [&](std::size_t index, int worker) {
        const std::uint64_t first = index * width;
        if (first >= users || execution.Stopped()) return;
        work(UserRange{first, static_cast<int>(std::min(width, users - first))},
             worker);
      });
}

// Buffers of one thread for the mean.
struct MeanWorker {
  std::vector<double> column;       // D: of one user
  std::vector<std::uint64_t> sums;  // D
};

// Adds the gated integers of one user.
void AddColumn(const Dataset& data, const LatticeBounds& bounds,
               std::uint64_t user, MeanWorker* worker) {
  std::vector<std::uint64_t>& sums = worker->sums;
  const SparseColumn sparse =
      data.sparse() ? data.SparseColumnOf(user) : SparseColumn();
  const std::span<const float> values =
      data.sparse() ? sparse.values : data.DenseColumn(user);
  const std::span<double> column =
      std::span(worker->column).first(values.size());
  std::copy(values.begin(), values.end(), column.begin());
  QuantiseColumn(bounds, column);
  for (std::size_t i = 0; i < column.size(); ++i) {
    const std::size_t row =
        data.sparse() ? static_cast<std::size_t>(sparse.rows[i]) : i;
    sums[row] += static_cast<std::uint64_t>(column[i]);
  }
}

// Inputs that every block of users reads.
struct Selection {
  const Dataset& data;
  LatticeBounds bounds;
  std::vector<std::uint32_t> rows;
  std::vector<std::int32_t> places;  // sparse data alone

  int size() const { return static_cast<int>(rows.size()); }
  int padded() const { return PaddedColumns(size()); }
};

// Buffers of one thread: none grows over the blocks.
struct Worker {
  AlignedVector<double> strips;     // of padded() rows
  AlignedVector<double> packed;     // the same for the kernel
  std::vector<std::uint64_t> sums;  // size() x padded(), row-major
};

Worker MakeWorker(const Selection& selection, std::uint64_t width) {
  const int strips = static_cast<int>(width) / kStripUsers;
  Worker worker;
  worker.strips.reserve(PackedSize(selection.size(), strips));
  worker.packed.resize(PackedSize(selection.size(), strips));
  worker.sums.resize(static_cast<std::size_t>(selection.size()) *
                     static_cast<std::size_t>(selection.padded()));
  return worker;
}

void LoadUser(const Selection& selection, std::uint64_t user, double* lane) {
  if (!selection.data.sparse()) {
    const std::span<const float> column = selection.data.DenseColumn(user);
    for (std::size_t i = 0; i < selection.rows.size(); ++i)
      lane[i * kStripUsers] = column[selection.rows[i]];
    return;
  }
  const SparseColumn column = selection.data.SparseColumnOf(user);
  for (std::size_t i = 0; i < column.rows.size(); ++i) {
    const std::int32_t place =
        selection.places[static_cast<std::size_t>(column.rows[i])];
    if (place >= 0)
      lane[static_cast<std::size_t>(place) * kStripUsers] = column.values[i];
  }
}

void AddBlock(const Selection& selection, UserRange users, Worker* worker) {
  const std::size_t strip_size = StripSize(selection.padded());
  worker->strips.assign(static_cast<std::size_t>(users.strips()) * strip_size,
                        0.0);
  for (int user = 0; user < users.count; ++user) {
    LoadUser(selection, users.first + static_cast<std::uint64_t>(user),
             worker->strips.data() + LaneOf(user, selection.padded()));
  }
  QuantiseStrips(selection.bounds, selection.size(), selection.padded(),
                 users.strips(), worker->strips.data());
  const StripMatrix l{worker->strips.data(), selection.size(),
                      selection.padded()};
  const std::uint64_t m = selection.bounds.largest_entry;
  AddExactProducts(l, l, users.strips(), m, m, /*upper=*/true, &worker->packed,
                   worker->sums.data());
}

std::vector<std::int64_t> UpperTriangle(const Selection& selection,
                                        const std::vector<Worker>& workers) {
  const auto size = static_cast<std::size_t>(selection.size());
  const auto padded = static_cast<std::size_t>(selection.padded());
  std::vector<std::uint64_t> triangle(size * (size + 1) / 2);
  for (const Worker& worker : workers) {
    for (std::size_t column = 0, at = 0; column < size; ++column) {
      for (std::size_t row = 0; row <= column; ++row)
        triangle[at++] += worker.sums[row * padded + column];
    }
  }
  return {triangle.begin(), triangle.end()};
}

std::uint64_t Bounded(Uint128 bytes) {
  return static_cast<std::uint64_t>(
      std::min<Uint128>(bytes, std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace

std::uint64_t MeanBytes(std::uint64_t features, std::uint64_t users,
                        int threads) {
  const Uint128 worker = sizeof(MeanWorker) + Uint128{16} * features;
  return Bounded(worker * WorkerCount(users, kMeanUsers, threads) +
                 Uint128{16} * features);
}

std::uint64_t MomentsBytes(std::uint64_t rows, std::uint64_t features,
                           std::uint64_t users, int threads) {
  const std::uint64_t width = BlockWidth(rows, users);
  const Uint128 padded = Uint128{rows} + kProductColumns;
  const Uint128 worker =
      sizeof(Worker) + 8 * (2 * padded * width + rows * padded);
  // The triangle twice; rows and where each stands.
  return Bounded(worker * WorkerCount(users, width, threads) +
                 8 * padded * (padded + 1) + 4 * (padded + features));
}

absl::StatusOr<std::vector<std::int64_t>> ComputeMean(
    const Dataset& data, double data_bound, int data_bits,
    const Execution& execution) {
  DPNMF_ASSIGN_OR_RETURN(const LatticeBounds bounds,
                         LatticeBoundsOf(data_bound, data_bits));
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, bounds.largest_entry, 1));
  std::vector<MeanWorker> workers(WorkersFor(data, kMeanUsers, execution));
  for (MeanWorker& worker : workers) {
    worker.column.resize(data.features());
    worker.sums.resize(data.features());
  }
  ForEachRange(users, kMeanUsers, workers.size(), execution,
               [&](UserRange range, int index) {
                 MeanWorker& worker = workers[static_cast<std::size_t>(index)];
                 for (int user = 0; user < range.count; ++user) {
                   AddColumn(data, bounds,
                             range.first + static_cast<std::uint64_t>(user),
                             &worker);
                 }
               });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  std::vector<std::uint64_t> total(data.features());
  for (const MeanWorker& worker : workers) {
    for (std::size_t row = 0; row < total.size(); ++row)
      total[row] += worker.sums[row];
  }
  return std::vector<std::int64_t>(total.begin(), total.end());
}

absl::StatusOr<std::vector<std::int64_t>> ComputeMoments(
    const Dataset& data, std::span<const std::uint32_t> rows, double data_bound,
    int data_bits, const Execution& execution) {
  DPNMF_ASSIGN_OR_RETURN(const LatticeBounds bounds,
                         LatticeBoundsOf(data_bound, data_bits));
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(
      CheckSumsFit(users, bounds.largest_entry, bounds.largest_entry));
  Selection selection{data, bounds, {rows.begin(), rows.end()}, {}};
  if (rows.empty()) {
    selection.rows.resize(data.features());
    std::iota(selection.rows.begin(), selection.rows.end(), 0u);
  }
  if (data.sparse())
    selection.places = PlacesOf(selection.rows, data.features());
  std::uint64_t width = BlockWidth(
      selection.rows.size(), LargestUserCount(FactsOf(data.description())));
  if (execution.block_users > 0) {
    width =
        (static_cast<std::uint64_t>(execution.block_users) + kStripUsers - 1) /
        kStripUsers * kStripUsers;
  }
  std::vector<Worker> workers(WorkersFor(data, width, execution));
  for (Worker& worker : workers) worker = MakeWorker(selection, width);
  ForEachRange(users, width, workers.size(), execution,
               [&](UserRange range, int worker) {
                 AddBlock(selection, range,
                          &workers[static_cast<std::size_t>(worker)]);
               });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  return UpperTriangle(selection, workers);
}

}  // namespace dpnmf::curator
