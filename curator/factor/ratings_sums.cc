#include "curator/factor/ratings_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "common/threads/flush_subnormals.h"
#include "common/threads/parallel.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/factor/ratings_person.h"
#include "curator/factor/row_places.h"
#include "curator/factor/user_blocks.h"

namespace dpnmf::curator {
namespace {

// People that one thread takes at a time.
constexpr std::uint64_t kBlockUsers = 256;

using Sums = std::vector<std::int64_t>;

std::uint64_t BlockUsers(const Execution& execution) {
  return execution.block_users > 0
             ? static_cast<std::uint64_t>(execution.block_users)
             : kBlockUsers;
}

// Buffers that every release keeps per thread; a share takes at most D of each.
struct Worker {
  Worker(std::uint64_t features, const PackedModel* model,
         std::initializer_list<std::size_t> entries)
      : reals(features), integers(features), places(features) {
    if (model != nullptr) {
      solver.emplace(model);
      profile.resize(static_cast<std::size_t>(model->rank()) + 1);
    }
    for (const std::size_t size : entries) sums.emplace_back(size);
  }
  std::optional<PersonSolver> solver;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::size_t> places;
  std::vector<std::int64_t> profile;
  std::vector<Sums> sums;  // by part
};

// Arithmetic modulo 2^64.
std::uint64_t Wrapped(std::int64_t x) { return static_cast<std::uint64_t>(x); }
void AddWrapped(std::uint64_t x, std::int64_t* sum) {
  *sum = static_cast<std::int64_t>(Wrapped(*sum) + x);
}

// Multiplications between two questions whether to stop, some milliseconds. A
// question asks gRPC and the system, and takes as long as a small solve.
constexpr double kWorkBetweenStops = 1 << 24;

double SolveWork(std::size_t ratings, int rank) {
  return (static_cast<double>(ratings) + rank) * rank * rank;
}

// add(ratings, worker) for every person with ratings; then the parts' sums.
template <typename Add>
absl::StatusOr<std::vector<Sums>> SumOverPeople(
    const Dataset& data, const PackedModel* model,
    std::initializer_list<std::size_t> entries, std::uint64_t largest_entry,
    const Execution& execution, const Add& add) {
  const std::uint64_t users = data.private_user_count();
  DPNMF_RETURN_IF_ERROR(CheckSumsFit(users, largest_entry, 1));
  const std::uint64_t width = BlockUsers(execution);
  const std::size_t count = WorkerCount(
      LargestUserCount(FactsOf(data.description())), width, execution.threads);
  std::vector<Worker> workers;
  workers.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    workers.emplace_back(data.features(), model, entries);
  const FlushSubnormals flush;  // of a hostile model, and what follows from it
  ParallelFor(std::max<std::size_t>((users + width - 1) / width, count),
              static_cast<int>(count), [&](std::size_t block, int worker) {
                const std::uint64_t first = block * width;
                if (first >= users || execution.Stopped()) return;
                const std::uint64_t end = std::min(first + width, users);
                double work = 0;
                for (std::uint64_t user = first; user < end; ++user) {
                  if (work > kWorkBetweenStops) {
                    if (execution.Stopped()) return;
                    work = 0;
                  }
                  const RatedItems ratings = data.RatingsOf(user);
                  const std::size_t n = ratings.items.size();
                  if (model != nullptr) work += SolveWork(n, model->rank());
                  if (n == 0 || n > kMostGatedRatings) continue;
                  add(ratings, &workers[static_cast<std::size_t>(worker)]);
                }
              });
  DPNMF_RETURN_IF_ERROR(execution.CheckNotStopped());
  std::vector<Sums> total = std::move(workers[0].sums);
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t part = 0; part < total.size(); ++part) {
      for (std::size_t at = 0; at < total[part].size(); ++at)
        AddWrapped(Wrapped(workers[i].sums[part][at]), &total[part][at]);
    }
  }
  return total;
}

std::size_t TriangleSize(std::size_t rows) { return rows * (rows + 1) / 2; }

// sums += x x' at the places, ascending; the upper triangle by columns.
void AddSquare(std::span<const std::size_t> places,
               std::span<const std::int64_t> x, Sums* sums) {
  for (std::size_t j = 0; j < places.size(); ++j) {
    std::int64_t* const column = sums->data() + TriangleSize(places[j]);
    for (std::size_t i = 0; i <= j; ++i) column[places[i]] += x[i] * x[j];
  }
}

// The same, modulo 2^64, where every entry of x x' is `square`.
void AddToSquare(std::span<const std::size_t> places, std::uint64_t square,
                 Sums* sums) {
  for (std::size_t j = 0; j < places.size(); ++j) {
    std::int64_t* const column = sums->data() + TriangleSize(places[j]);
    for (std::size_t i = 0; i <= j; ++i) AddWrapped(square, &column[places[i]]);
  }
}

// y - X h~, clipped to [-tau, tau]. NaN stays.
double ClippedResidual(const PersonSolver& solver, std::int32_t item,
                       std::int32_t units, double tau) {
  return std::clamp(solver.Residual(item, units), -tau, tau);
}

RatingsBounds BoundsOf(const Dataset& data) {
  return RatingsBoundsOf(*data.description().ratings, Adjacency::kReplaceOne);
}

}  // namespace

std::uint64_t RatingsBytes(const RatingsShape& shape) {
  const Uint128 features = shape.features, rank = shape.rank;
  const Uint128 padded = rank + PackedModel::kLanes;
  const Uint128 worker = sizeof(Worker) + 24 * features + 8 * shape.entries +
                         8 * 4 * padded * padded + 64 * 16;
  const Uint128 shared = 12 * features + 8 * Uint128{shape.entries} +
                         (rank == 0 ? 0 : 8 * features * padded);
  const Uint128 bytes =
      shared +
      (worker + 256) * WorkerCount(shape.users, kBlockUsers, shape.threads);
  return static_cast<std::uint64_t>(
      std::min<Uint128>(bytes, std::numeric_limits<std::uint64_t>::max()));
}

Damping DampingOf(const RoundInput& input) {
  Damping damping;
  if (input.w.size() == 0) return damping;
  for (Eigen::Index i = 0; i < input.w.rows(); ++i)
    damping.weights.push_back(static_cast<std::uint32_t>(input.w(i, 0)));
  damping.part = static_cast<std::uint32_t>(input.numbers[0]);
  return damping;
}

absl::StatusOr<ItemSums> ComputeItemSums(const Dataset& data,
                                         Adjacency adjacency,
                                         const ItemsLattice& lattice,
                                         const Execution& execution) {
  const RatingScale scale = *data.description().ratings;
  const auto features = static_cast<std::size_t>(data.features());
  const auto largest = static_cast<std::uint64_t>(
      std::max({lattice.most, lattice.largest_rating, lattice.mask_step}));
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<Sums> sums,
      SumOverPeople(data, nullptr, {2, 2 * features}, largest, execution,
                    [&](const RatedItems& ratings, Worker* worker) {
                      const ItemShare share = ItemShareOf(
                          ratings, scale, lattice, adjacency, worker->integers);
                      worker->sums[0][0] += share.mean;
                      worker->sums[0][1] += share.variance;
                      Sums& items = worker->sums[1];
                      for (std::size_t i = 0; i < share.ratings.size(); ++i) {
                        const auto item =
                            static_cast<std::size_t>(ratings.items[i]);
                        items[item] += share.mask;
                        items[features + item] += share.ratings[i];
                      }
                    }));
  return ItemSums{std::move(sums[0]), std::move(sums[1])};
}

absl::StatusOr<Sums> ComputeCoRatings(const Dataset& data,
                                      std::span<const std::uint32_t> rows,
                                      const Damping& damping, int bits,
                                      const Execution& execution) {
  const std::vector<std::int32_t> place_of = PlacesOf(rows, data.features());
  const std::uint64_t norm = NormBoundSteps(1, bits);
  const CoRatingGate gate(damping, norm);
  const std::size_t size = gate.damps() ? rows.size() : 0;
  // Parts of l l' with l = k m - b p: k^2 m m', k b m, b^2. Each part may leave
  // 64 bits; their combination does not, and is exact modulo 2^64.
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<Sums> sums,
      SumOverPeople(
          data, nullptr, {TriangleSize(rows.size()), size, size > 0 ? 1U : 0U},
          norm, execution, [&](const RatedItems& ratings, Worker* worker) {
            std::size_t n = 0;
            std::uint64_t along = 0;
            for (const std::int32_t item : ratings.items) {
              const std::int32_t row = place_of[static_cast<std::size_t>(item)];
              if (row < 0) continue;
              const auto place = static_cast<std::size_t>(row);
              worker->places[n++] = place;
              if (size > 0) along += damping.weights[place];
            }
            if (n == 0) return;
            const CoRatingShare share = gate.ShareOf(n, along);
            const std::span places = std::span(worker->places).first(n);
            AddToSquare(places, Wrapped(share.k) * Wrapped(share.k),
                        &worker->sums[0]);
            if (size == 0) return;
            const std::uint64_t both = Wrapped(share.k) * Wrapped(share.b);
            for (const std::size_t place : places)
              AddWrapped(both, &worker->sums[1][place]);
            AddWrapped(Wrapped(share.b) * Wrapped(share.b),
                       &worker->sums[2][0]);
          }));
  if (size == 0) return std::move(sums[0]);
  std::size_t at = 0;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i <= j; ++i, ++at) {
      const std::uint64_t p_i = damping.weights[i], p_j = damping.weights[j];
      AddWrapped(Wrapped(sums[2][0]) * p_i * p_j - Wrapped(sums[1][i]) * p_j -
                     Wrapped(sums[1][j]) * p_i,
                 &sums[0][at]);
    }
  }
  return std::move(sums[0]);
}

absl::StatusOr<Sums> ComputeProfileMoments(const Dataset& data,
                                           const RatingsRequest& request,
                                           std::uint32_t rank, int bits,
                                           const Execution& execution) {
  const PackedModel model(request);
  const std::uint64_t norm = ProfileMomentNorm(rank, bits);
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<Sums> sums,
      SumOverPeople(
          data, &model, {TriangleSize(static_cast<std::size_t>(model.rank()))},
          norm, execution, [&](const RatedItems& ratings, Worker* worker) {
            if (!worker->solver->Solve(ratings)) return;
            const std::int64_t* const moment =
                worker->solver->Moment(norm, bits);
            if (moment == nullptr) return;
            Sums& sum = worker->sums[0];
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += moment[i];
          }));
  return std::move(sums[0]);
}

absl::StatusOr<Sums> ComputeResidualMoments(const Dataset& data,
                                            const RatingsRequest& request,
                                            std::span<const std::uint32_t> rows,
                                            int bits,
                                            const Execution& execution) {
  const PackedModel model(request);
  const RatingsBounds bounds = BoundsOf(data);
  const std::uint64_t norm = ResidualNorm(*data.description().ratings, bits);
  const std::vector<std::int32_t> place_of = PlacesOf(rows, data.features());
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<Sums> sums,
      SumOverPeople(
          data, &model, {TriangleSize(rows.size())}, norm, execution,
          [&](const RatedItems& ratings, Worker* worker) {
            if (!worker->solver->Solve(ratings)) return;
            std::size_t n = 0;
            for (std::size_t i = 0; i < ratings.items.size(); ++i) {
              const std::int32_t item = ratings.items[i];
              const std::int32_t place =
                  place_of[static_cast<std::size_t>(item)];
              if (place < 0) continue;
              worker->places[n] = static_cast<std::size_t>(place);
              worker->reals[n++] = ClippedResidual(
                  *worker->solver, item, ratings.units[i], bounds.tau);
            }
            if (n == 0) return;
            const std::span<double> z = std::span(worker->reals).first(n);
            const std::span<std::int64_t> l =
                std::span(worker->integers).first(n);
            const double w = 1 / std::sqrt(static_cast<double>(n));
            for (double& entry : z) entry *= w;
            if (!QuantiseSigned(z, bounds.c_z, bits, norm, l)) return;
            AddSquare(std::span(worker->places).first(n), l, &worker->sums[0]);
          }));
  return std::move(sums[0]);
}

absl::StatusOr<CorrectionSums> ComputeCorrections(const Dataset& data,
                                                  const RatingsRequest& request,
                                                  std::uint32_t directions,
                                                  int z_bits, int g_bits,
                                                  const Execution& execution) {
  const PackedModel model(request);
  const RatingsBounds bounds = BoundsOf(data);
  const std::uint64_t z_norm =
      ResidualNorm(*data.description().ratings, z_bits);
  const std::uint64_t g_norm = ProfileNorm(g_bits);
  const auto features = static_cast<std::size_t>(data.features());
  const std::size_t width = std::size_t{directions} + 1;
  // B of a thread by rows, for the sake of its caches.
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<Sums> sums,
      SumOverPeople(
          data, &model, {features * width, TriangleSize(width)},
          std::max(z_norm, g_norm), execution,
          [&](const RatedItems& ratings, Worker* worker) {
            if (!worker->solver->Solve(ratings)) return;
            const std::size_t n = ratings.items.size();
            const std::span<double> z = std::span(worker->reals).first(n);
            const std::span<std::int64_t> l =
                std::span(worker->integers).first(n);
            const double w = 1 / std::sqrt(static_cast<double>(n));
            for (std::size_t i = 0; i < n; ++i) {
              z[i] = w * ClippedResidual(*worker->solver, ratings.items[i],
                                         ratings.units[i], bounds.tau);
            }
            if (!QuantiseSigned(z, bounds.c_z, z_bits, z_norm, l)) return;
            const std::span<std::int64_t> g =
                std::span(worker->profile).first(width);
            if (!worker->solver->Directions(g_norm, g_bits, g)) return;
            for (std::size_t i = 0; i < n; ++i) {
              std::int64_t* const row =
                  worker->sums[0].data() +
                  width * static_cast<std::size_t>(ratings.items[i]);
              for (std::size_t k = 0; k < width; ++k) row[k] += l[i] * g[k];
            }
            std::int64_t* a = worker->sums[1].data();
            for (std::size_t j = 0; j < width; ++j)
              for (std::size_t i = 0; i <= j; ++i) *a++ += g[i] * g[j];
          }));
  CorrectionSums result{Sums(features * width), std::move(sums[1])};
  for (std::size_t item = 0; item < features; ++item) {
    for (std::size_t k = 0; k < width; ++k)
      result.b[k * features + item] = sums[0][item * width + k];
  }
  return result;
}

}  // namespace dpnmf::curator
