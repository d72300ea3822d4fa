#include "curator/factor/class_moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "common/threads/flush_subnormals.h"
#include "common/threads/parallel.h"
#include "curator/factor/kernels/quantise.h"

namespace dpnmf::curator {
namespace {

// Users that one thread takes before it asks whether it should stop.
constexpr std::uint64_t kUsersAtOnce = 64;

struct ClassWorker {
  std::vector<double> column;       // D: of one user
  std::vector<std::int64_t> z;      // D + 1
  std::vector<std::uint64_t> sums;  // by class, upper triangles by rows
};

std::size_t WorkerCount(std::uint64_t most_users, int threads) {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(
      (most_users + kUsersAtOnce - 1) / kUsersAtOnce, 1,
      static_cast<std::uint64_t>(std::max(1, threads))));
}

// Numbers of the upper triangle of a block.
std::uint64_t TriangleOf(std::uint64_t features) {
  return (features + 1) * (features + 2) / 2;
}

// The centred entries toward zero on the lattice, cut to +-m; NaN as 0.
void CentreColumn(const ClassBounds& bounds, double steps_per_unit,
                  std::span<double> column) {
  const auto most = static_cast<double>(bounds.largest_entry);
  for (double& entry : column) {
    const double steps = std::trunc((entry - bounds.centre) * steps_per_unit);
    entry = std::isnan(steps) ? 0 : std::clamp(steps, -most, most);
  }
}

// Returns whether the integers keep both bounds. No earlier step is trusted.
bool PassesGate(const ClassBounds& bounds, std::span<const std::int64_t> k) {
  const auto most = static_cast<std::int64_t>(bounds.largest_entry);
  Uint128 norm = 0;
  for (const std::int64_t entry : k) {
    if (entry < -most || entry > most) return false;
    norm += static_cast<Uint128>(entry * entry);
  }
  return norm <= bounds.norm_bound;
}

void AddMember(const ClassWorker& worker, std::uint64_t* sums) {
  const std::size_t size = worker.z.size();
  const std::int64_t* const z = worker.z.data();
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t left = z[i];
    for (std::size_t j = i; j < size; ++j)
      *sums++ += static_cast<std::uint64_t>(left * z[j]);
  }
}

// Both triangles of each block.
std::vector<std::int64_t> Blocks(const std::vector<std::uint64_t>& triangles,
                                 std::size_t size, std::size_t classes) {
  std::vector<std::int64_t> blocks(size * size * classes);
  auto next = triangles.begin();
  for (std::size_t c = 0; c < classes; ++c) {
    std::int64_t* const block = blocks.data() + c * size * size;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = i; j < size; ++j, ++next)
        block[i * size + j] = block[j * size + i] =
            static_cast<std::int64_t>(*next);
    }
  }
  return blocks;
}

}  // namespace

std::uint64_t ClassMomentsBytes(std::uint64_t features, std::uint64_t classes,
                                std::uint64_t users, int threads) {
  const Uint128 triangles = 8 * Uint128{classes} * TriangleOf(features);
  const Uint128 worker =
      sizeof(ClassWorker) + 16 * (Uint128{features} + 1) + triangles;
  const Uint128 bytes = worker * WorkerCount(users, threads) + triangles +
                        8 * Uint128{classes} * (features + 1) * (features + 1);
  return static_cast<std::uint64_t>(
      std::min<Uint128>(bytes, std::numeric_limits<std::uint64_t>::max()));
}

void GatedMember(const DatasetFacts& facts, const ClassBounds& bounds, int bits,
                 std::span<const float> column, std::vector<double>* scratch,
                 std::span<std::int64_t> z) {
  const std::span<double> entries = std::span(*scratch).first(column.size());
  std::copy(column.begin(), column.end(), entries.begin());
  const double steps_per_unit = std::ldexp(1.0, bits);
  if (facts.range.has_value()) {
    CentreColumn(bounds, steps_per_unit, entries);
  } else {
    QuantiseColumn(LatticeBounds{.bound = facts.column_bound,
                                 .steps_per_unit = steps_per_unit,
                                 .largest_entry = bounds.largest_entry,
                                 .norm_bound = bounds.norm_bound},
                   entries);
  }
  z[0] = static_cast<std::int64_t>(bounds.constant);
  for (std::size_t i = 0; i < entries.size(); ++i)
    z[i + 1] = static_cast<std::int64_t>(entries[i]);
  if (!PassesGate(bounds, z.subspan(1))) std::fill(z.begin(), z.end(), 0);
}

absl::StatusOr<std::vector<std::int64_t>> ComputeClassMoments(
    const Dataset& data, int bits, const Execution& execution) {
  const DatasetFacts facts = FactsOf(data.description());
  DPNMF_RETURN_IF_ERROR(LatticeBoundsOf(facts.column_bound, bits).status());
  const ClassBounds bounds = ClassBoundsOf(facts, bits);
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, bounds.whole, 1));
  const std::size_t size = data.features() + 1;
  const std::size_t classes = facts.classes->names.size();
  const std::uint64_t triangle = TriangleOf(data.features());
  std::vector<ClassWorker> workers(
      WorkerCount(LargestUserCount(facts), execution.threads));
  for (ClassWorker& worker : workers) {
    worker.column.resize(size - 1);
    worker.z.resize(size);
    worker.sums.resize(classes * triangle);
  }
  const FlushSubnormals flush;  // of a person's entries
  ParallelFor(
      std::max<std::size_t>((users + kUsersAtOnce - 1) / kUsersAtOnce,
                            workers.size()),
      static_cast<int>(workers.size()), [&](std::size_t index, int which) {
        const std::uint64_t first = index * kUsersAtOnce;
        if (first >= users || execution.Stopped()) return;
        ClassWorker& worker = workers[static_cast<std::size_t>(which)];
        const std::uint64_t end = std::min(users, first + kUsersAtOnce);
        for (std::uint64_t user = first; user < end; ++user) {
          GatedMember(facts, bounds, bits, data.DenseColumn(user),
                      &worker.column, worker.z);
          const auto label = static_cast<std::uint64_t>(data.labels()[user]);
          if (label < classes)
            AddMember(worker, worker.sums.data() + label * triangle);
        }
      });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  std::vector<std::uint64_t>& total = workers.front().sums;
  for (std::size_t other = 1; other < workers.size(); ++other) {
    for (std::size_t i = 0; i < total.size(); ++i)
      total[i] += workers[other].sums[i];
  }
  return Blocks(total, size, classes);
}

}  // namespace dpnmf::curator
