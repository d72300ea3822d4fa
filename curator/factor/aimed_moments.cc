#include "curator/factor/aimed_moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "common/threads/flush_subnormals.h"
#include "common/threads/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/kernels/exact_products.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/factor/ratings_person.h"
#include "curator/factor/row_places.h"
#include "curator/factor/user_blocks.h"

namespace dpnmf::curator {
namespace {

// Entries below it are read as 0.
constexpr double kLeastAimEntry = 0x1p-40;

// With entries of the data (floats) no product of what is left is subnormal:
// on such numbers a processor may take many times as long, for the people alone
// who have something there.
double WithoutSpecks(double entry) {
  return std::fabs(entry) < kLeastAimEntry ? 0 : entry;
}

// Inputs that every block of users reads.
struct Aim {
  const Dataset& data;
  LatticeBounds bounds;
  int bits;
  double scale;
  std::vector<std::uint32_t> rows;
  std::vector<std::int32_t> places;  // sparse data alone
  std::vector<double> directions;    // M x L, a direction after the other
  std::size_t count;                 // L

  int size() const { return static_cast<int>(rows.size()); }
  int padded() const { return PaddedColumns(size()); }
};

// Buffers of one thread: none grows over the blocks.
struct AimedWorker {
  std::vector<double> v, z;            // M: of one user
  std::vector<std::int64_t> integers;  // M
  AlignedVector<double> strips;        // of padded() rows, z + m
  AlignedVector<double> packed;
  std::vector<std::uint64_t> products;  // of z + m: M x padded(), row-major
  std::vector<std::uint64_t> sums;      // of z: M
  std::uint64_t users = 0;
};

AimedWorker MakeAimedWorker(const Aim& aim, std::uint64_t width) {
  const auto size = static_cast<std::size_t>(aim.size());
  const int strips = static_cast<int>(width) / kStripUsers;
  AimedWorker worker;
  worker.v.resize(size);
  worker.z.resize(size);
  worker.integers.resize(size);
  worker.strips.reserve(PackedSize(aim.size(), strips));
  worker.packed.resize(PackedSize(aim.size(), strips));
  worker.products.resize(size * static_cast<std::size_t>(aim.padded()));
  worker.sums.resize(size);
  return worker;
}

void LoadAimedUser(const Aim& aim, std::uint64_t user, std::span<double> v) {
  if (!aim.data.sparse()) {
    const std::span<const float> column = aim.data.DenseColumn(user);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = column[aim.rows[i]];
    return;
  }
  std::fill(v.begin(), v.end(), 0.0);
  const SparseColumn column = aim.data.SparseColumnOf(user);
  for (std::size_t i = 0; i < column.rows.size(); ++i) {
    const std::int32_t place =
        aim.places[static_cast<std::size_t>(column.rows[i])];
    if (place >= 0) v[static_cast<std::size_t>(place)] = column.values[i];
  }
}

// z = s (v - U U'v), in one order of operations; all products are of v.
void AimUser(const Aim& aim, std::span<const double> v, std::span<double> z) {
  std::copy(v.begin(), v.end(), z.begin());
  for (std::size_t l = 0; l < aim.count; ++l) {
    const double* const direction = aim.directions.data() + l * v.size();
    double product = 0;
    for (std::size_t i = 0; i < v.size(); ++i) product += direction[i] * v[i];
    for (std::size_t i = 0; i < v.size(); ++i) z[i] -= product * direction[i];
  }
  for (double& entry : z) entry *= aim.scale;
}

// With z_i + m in place of z_i, which is in [0, 2 m], the products of
// non-negative integers serve: sum z_i z_j = sum (z_i + m)(z_j + m)
// - m sum z_i - m sum z_j - n m^2, modulo 2^64.
void AddAimedBlock(const Aim& aim, UserRange users, AimedWorker* worker) {
  const std::uint64_t m = aim.bounds.largest_entry;
  const int padded = aim.padded();
  worker->strips.assign(
      static_cast<std::size_t>(users.strips()) * StripSize(padded), 0.0);
  for (int user = 0; user < users.count; ++user) {
    LoadAimedUser(aim, users.first + static_cast<std::uint64_t>(user),
                  worker->v);
    AimUser(aim, worker->v, worker->z);
    const bool kept = QuantiseSigned(worker->z, aim.bounds.bound, aim.bits,
                                     aim.bounds.norm_bound, worker->integers);
    double* const lane = worker->strips.data() + LaneOf(user, padded);
    for (std::size_t i = 0; i < worker->z.size(); ++i) {
      const std::int64_t entry = kept ? worker->integers[i] : 0;
      worker->sums[i] += static_cast<std::uint64_t>(entry);
      lane[i * kStripUsers] =
          static_cast<double>(entry + static_cast<std::int64_t>(m));
    }
  }
  worker->users += static_cast<std::uint64_t>(users.count);
  const StripMatrix shifted{worker->strips.data(), aim.size(), padded};
  AddExactProducts(shifted, shifted, users.strips(), 2 * m, 2 * m,
                   /*upper=*/true, &worker->packed, worker->products.data());
}

std::vector<std::int64_t> AimedTriangle(
    const Aim& aim, const std::vector<AimedWorker>& workers) {
  const auto size = static_cast<std::size_t>(aim.size());
  const auto padded = static_cast<std::size_t>(aim.padded());
  const std::uint64_t m = aim.bounds.largest_entry;
  std::vector<std::int64_t> triangle(size * (size + 1) / 2);
  for (std::size_t column = 0, at = 0; column < size; ++column) {
    for (std::size_t row = 0; row <= column; ++row) {
      std::uint64_t sum = 0;
      for (const AimedWorker& worker : workers) {
        sum += worker.products[row * padded + column] -
               m * (worker.sums[row] + worker.sums[column]) -
               worker.users * m * m;
      }
      triangle[at++] = static_cast<std::int64_t>(sum);
    }
  }
  return triangle;
}

}  // namespace

std::uint64_t AimedMomentsBytes(std::uint64_t rows, std::uint64_t features,
                                std::uint64_t directions, std::uint64_t users,
                                int threads) {
  const std::uint64_t width = BlockWidth(rows, users);
  const Uint128 padded = Uint128{rows} + kProductColumns;
  const Uint128 worker = sizeof(AimedWorker) +
                         8 * (2 * padded * width + rows * padded + 5 * padded);
  const Uint128 bytes = worker * WorkerCount(users, width, threads) +
                        8 * padded * (padded + 1) + 8 * padded * directions +
                        4 * (padded + features);
  return static_cast<std::uint64_t>(
      std::min<Uint128>(bytes, std::numeric_limits<std::uint64_t>::max()));
}

absl::StatusOr<std::vector<std::int64_t>> ComputeAimedMoments(
    const Dataset& data, const AimRequest& request, double data_bound,
    int data_bits, const Execution& execution) {
  DPNMF_ASSIGN_OR_RETURN(const LatticeBounds bounds,
                         LatticeBoundsOf(data_bound, data_bits));
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(
      CheckSumsFit(users, bounds.largest_entry, bounds.largest_entry));
  if (!(2 * bounds.largest_entry < std::uint64_t{1} << 32)) {
    return Refusal(absl::StatusCode::kInternal, "bits-out-of-range",
                   "Bounds and bits must give lattice integers below 2^31.");
  }
  Aim aim{data,
          bounds,
          data_bits,
          request.scale,
          {request.rows.begin(), request.rows.end()},
          {},
          {},
          static_cast<std::size_t>(request.directions->cols())};
  if (aim.rows.empty()) {
    aim.rows.resize(data.features());
    std::iota(aim.rows.begin(), aim.rows.end(), 0u);
  }
  if (data.sparse()) aim.places = PlacesOf(aim.rows, data.features());
  aim.directions.reserve(aim.rows.size() * aim.count);
  for (std::size_t l = 0; l < aim.count; ++l) {
    for (const std::uint32_t row : aim.rows)
      aim.directions.push_back(WithoutSpecks((*request.directions)(
          static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(l))));
  }
  const std::uint64_t most_users =
      LargestUserCount(FactsOf(data.description()));
  std::uint64_t width = BlockWidth(aim.rows.size(), most_users);
  if (execution.block_users > 0) {
    width =
        (static_cast<std::uint64_t>(execution.block_users) + kStripUsers - 1) /
        kStripUsers * kStripUsers;
  }
  std::vector<AimedWorker> workers(
      WorkerCount(most_users, width, execution.threads));
  for (AimedWorker& worker : workers) worker = MakeAimedWorker(aim, width);
  const FlushSubnormals flush;  // of a person's entries, and of products with U
  ParallelFor(
      std::max<std::size_t>((users + width - 1) / width, workers.size()),
      static_cast<int>(workers.size()), [&](std::size_t index, int worker) {
        const std::uint64_t first = index * width;
        if (first >= users || execution.Stopped()) return;
        AddAimedBlock(
            aim,
            UserRange{first, static_cast<int>(std::min(width, users - first))},
            &workers[static_cast<std::size_t>(worker)]);
      });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  return AimedTriangle(aim, workers);
}

}  // namespace dpnmf::curator
