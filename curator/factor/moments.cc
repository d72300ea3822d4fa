#include "curator/factor/moments.h"

#include <algorithm>
#include <numeric>

#include "common/base/error.h"
#include "common/base/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/exact_products.h"
#include "curator/factor/quantise.h"

namespace dpnmf::curator {
namespace {

// Users of the mean that one thread takes at a time.
constexpr std::uint64_t kMeanUsers = 1024;
// A block's buffer should stay in a second-level cache of 1 MiB.
constexpr std::uint64_t kBlockBytes = 512 * 1024;
constexpr std::uint64_t kLargestBlock = 256;

// Calls work(users, worker) for consecutive ranges of users.
template <typename Work>
void ForEachRange(std::uint64_t users, std::uint64_t width,
                  const Execution& execution, const Work& work) {
  ParallelFor(
      (users + width - 1) / width, execution.threads,
      [&](std::size_t index, int worker) {
        if (execution.Stopped()) return;
        const std::uint64_t first = index * width;
        work(UserRange{first, static_cast<int>(std::min(width, users - first))},
             worker);
      });
}

// Adds the gated integers of one user.
void AddColumn(const Dataset& data, const LatticeBounds& bounds,
               std::uint64_t user, std::vector<double>* column,
               std::vector<std::uint64_t>* sums) {
  if (!data.sparse()) {
    const std::span<const float> values = data.DenseColumn(user);
    column->assign(values.begin(), values.end());
    QuantiseColumn(bounds, *column);
    for (std::size_t row = 0; row < column->size(); ++row)
      (*sums)[row] += static_cast<std::uint64_t>((*column)[row]);
    return;
  }
  const SparseColumn sparse = data.SparseColumnOf(user);
  column->assign(sparse.values.begin(), sparse.values.end());
  QuantiseColumn(bounds, *column);
  for (std::size_t i = 0; i < column->size(); ++i) {
    (*sums)[static_cast<std::size_t>(sparse.rows[i])] +=
        static_cast<std::uint64_t>((*column)[i]);
  }
}

// Where each of the D rows stands among the chosen ones, or -1.
std::vector<std::int32_t> PlacesOf(std::span<const std::uint32_t> rows,
                                   std::uint64_t features) {
  std::vector<std::int32_t> places(features, -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    places[rows[i]] = static_cast<std::int32_t>(i);
  return places;
}

// What every block of users reads.
struct Selection {
  const Dataset& data;
  LatticeBounds bounds;
  std::vector<std::uint32_t> rows;
  std::vector<std::int32_t> places;  // sparse data alone

  int size() const { return static_cast<int>(rows.size()); }
  int padded() const { return PaddedColumns(size()); }
};

struct Worker {
  AlignedVector<double> strips;     // of padded() rows
  std::vector<std::uint64_t> sums;  // size() x padded(), row-major
};

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
  worker->sums.resize(static_cast<std::size_t>(selection.size()) *
                      static_cast<std::size_t>(selection.padded()));
  for (int user = 0; user < users.count; ++user) {
    LoadUser(selection, users.first + static_cast<std::uint64_t>(user),
             worker->strips.data() + LaneOf(user, selection.padded()));
  }
  QuantiseStrips(selection.bounds, selection.size(), selection.padded(),
                 users.strips(), worker->strips.data());
  const StripMatrix l{worker->strips.data(), selection.size(),
                      selection.padded()};
  const std::uint64_t m = selection.bounds.largest_entry;
  AddExactProducts(l, l, users.strips(), m, m, /*upper=*/true,
                   worker->sums.data());
}

std::vector<std::int64_t> UpperTriangle(const Selection& selection,
                                        const std::vector<Worker>& workers) {
  const auto size = static_cast<std::size_t>(selection.size());
  const auto padded = static_cast<std::size_t>(selection.padded());
  std::vector<std::uint64_t> triangle(size * (size + 1) / 2);
  for (const Worker& worker : workers) {
    if (worker.sums.empty()) continue;
    for (std::size_t column = 0, at = 0; column < size; ++column) {
      for (std::size_t row = 0; row <= column; ++row)
        triangle[at++] += worker.sums[row * padded + column];
    }
  }
  return {triangle.begin(), triangle.end()};
}

}  // namespace

absl::StatusOr<std::vector<std::int64_t>> ComputeMean(
    const Dataset& data, double data_bound, int data_bits,
    const Execution& execution) {
  DPNMF_ASSIGN_OR_RETURN(const LatticeBounds bounds,
                         LatticeBoundsOf(data_bound, data_bits));
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, bounds.largest_entry, 1));
  const auto workers = static_cast<std::size_t>(std::max(1, execution.threads));
  std::vector<std::vector<std::uint64_t>> sums(workers);
  std::vector<std::vector<double>> columns(workers);
  ForEachRange(users, kMeanUsers, execution, [&](UserRange range, int index) {
    const auto worker = static_cast<std::size_t>(index);
    sums[worker].resize(data.features());
    for (int user = 0; user < range.count; ++user) {
      AddColumn(data, bounds, range.first + static_cast<std::uint64_t>(user),
                &columns[worker], &sums[worker]);
    }
  });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  std::vector<std::uint64_t> total(data.features());
  for (const std::vector<std::uint64_t>& part : sums) {
    for (std::size_t row = 0; row < part.size(); ++row) total[row] += part[row];
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
  std::uint64_t width = std::clamp<std::uint64_t>(
      kBlockBytes / (sizeof(double) * selection.rows.size()), kStripUsers,
      kLargestBlock);
  if (execution.block_users > 0)
    width = static_cast<std::uint64_t>(execution.block_users);
  width = (width + kStripUsers - 1) / kStripUsers * kStripUsers;
  std::vector<Worker> workers(
      static_cast<std::size_t>(std::max(1, execution.threads)));
  ForEachRange(users, width, execution, [&](UserRange range, int worker) {
    AddBlock(selection, range, &workers[static_cast<std::size_t>(worker)]);
  });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  return UpperTriangle(selection, workers);
}

}  // namespace dpnmf::curator
