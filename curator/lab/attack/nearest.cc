#include "curator/lab/attack/nearest.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>

#include "common/base/error.h"
#include "common/base/parallel.h"

namespace dpnmf::curator::lab {
namespace {

// A chunk of targets passes over the table together, a block of rows at a time:
// the block stays in the processor's cache.
constexpr Eigen::Index kChunk = 32;
constexpr Eigen::Index kBlockEntries = 64 * 1024;

Eigen::Index BlockRows(const Eigen::MatrixXd& published) {
  return std::clamp<Eigen::Index>(
      kBlockEntries / std::max<Eigen::Index>(1, published.cols()), 64, 4096);
}

// The nearest rows so far: those whose distances differ by rounding alone tie.
struct Nearest {
  double distance = std::numeric_limits<double>::infinity();
  double slack = 0;  // rounding of a distance near 0
  int ties = 0;
  int hits = 0;

  double Above() const { return distance * (1 + 1e-9) + slack; }
  double Below() const { return distance * (1 - 1e-9) - slack; }

  // is_hit(row of the block)
  template <typename IsHit>
  void Look(const Eigen::ArrayXd& distances, const IsHit& is_hit) {
    if (!(distances.minCoeff() <= Above())) return;
    for (Eigen::Index r = 0; r < distances.size(); ++r) {
      const double here = distances[r];
      if (!(here <= Above())) continue;
      if (here < Below() || ties == 0) {
        distance = here;
        ties = hits = 0;
      }
      distance = std::min(distance, here);
      ++ties;
      hits += is_hit(r) ? 1 : 0;
    }
  }

  double Share() const {
    return ties == 0 ? 0 : static_cast<double>(hits) / ties;
  }
};

// Mean squared length of a row and of each target: what rounding is relative
// to.
Eigen::VectorXd SquaredScales(const Eigen::MatrixXd& published,
                              const Eigen::MatrixXd& known,
                              const Eigen::VectorXd& weights) {
  double of_rows = 0;
  for (Eigen::Index c = 0; c < published.cols(); ++c)
    of_rows += weights[c] * published.col(c).squaredNorm();
  of_rows /= static_cast<double>(published.rows());
  Eigen::VectorXd scales(known.cols());
  for (Eigen::Index t = 0; t < known.cols(); ++t)
    scales[t] = of_rows + known.col(t).cwiseAbs2().dot(weights);
  return scales;
}

// work(first target, last, first row, rows) for every chunk and block; one
// chunk is one thread's.
template <typename Work>
absl::Status ForChunks(Eigen::Index targets, const Eigen::MatrixXd& published,
                       const SearchRun& run, const Work& work) {
  const Eigen::Index chunks = (targets + kChunk - 1) / kChunk;
  const Eigen::Index block = BlockRows(published);
  std::atomic<bool> stopped = false;
  std::atomic<Eigen::Index> done = 0;
  ParallelFor(
      static_cast<std::size_t>(chunks), run.threads,
      [&](std::size_t chunk, int worker) {
        const Eigen::Index from = static_cast<Eigen::Index>(chunk) * kChunk;
        const Eigen::Index to = std::min(from + kChunk, targets);
        for (Eigen::Index row = 0; row < published.rows(); row += block) {
          if (stopped || (run.stop && run.stop())) {
            stopped = true;
            return;
          }
          work(from, to, row, std::min(block, published.rows() - row));
        }
        ++done;
        if (worker == 0 && run.progress)
          run.progress(static_cast<double>(done) / static_cast<double>(chunks));
      });
  if (stopped)
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   "The attack was interrupted.");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Eigen::MatrixXd> FindOwnRows(const Eigen::MatrixXd& published,
                                            const Search& search,
                                            const std::vector<int>& own,
                                            const SearchRun& run) {
  const Eigen::Index targets = search.known.cols();
  const Eigen::Index counts = static_cast<Eigen::Index>(search.counts.size());
  const Eigen::VectorXd scales =
      SquaredScales(published, search.known, search.weights);
  std::vector<Nearest> nearest(static_cast<std::size_t>(targets * counts));
  DPNMF_RETURN_IF_ERROR(ForChunks(
      targets, published, run,
      [&](Eigen::Index from, Eigen::Index to, Eigen::Index row,
          Eigen::Index rows) {
        Eigen::ArrayXd distances(rows);
        for (Eigen::Index t = from; t < to; ++t) {
          const Eigen::Index mine = own[static_cast<std::size_t>(t)] - row;
          distances.setZero();
          Eigen::Index j = 0;
          for (Eigen::Index k = 0; k < counts; ++k) {
            for (; j < search.counts[static_cast<std::size_t>(k)]; ++j) {
              const Eigen::Index c = search.order(j, t);
              distances += search.weights[c] *
                           (published.col(c).segment(row, rows).array() -
                            search.known(c, t))
                               .square();
            }
            Nearest& best = nearest[static_cast<std::size_t>(t * counts + k)];
            best.slack = 1e-24 * scales[t];
            best.Look(distances, [mine](Eigen::Index r) { return r == mine; });
          }
        }
      }));
  Eigen::MatrixXd shares(counts, targets);
  for (Eigen::Index t = 0; t < targets; ++t)
    for (Eigen::Index k = 0; k < counts; ++k)
      shares(k, t) = nearest[static_cast<std::size_t>(t * counts + k)].Share();
  return shares;
}

absl::StatusOr<Eigen::VectorXd> NearestDistances(
    const Eigen::MatrixXd& published, const Eigen::MatrixXd& known,
    const SearchRun& run) {
  Eigen::VectorXd least = Eigen::VectorXd::Constant(
      known.cols(), std::numeric_limits<double>::infinity());
  DPNMF_RETURN_IF_ERROR(ForChunks(
      known.cols(), published, run,
      [&](Eigen::Index from, Eigen::Index to, Eigen::Index row,
          Eigen::Index rows) {
        Eigen::ArrayXd distances(rows);
        for (Eigen::Index t = from; t < to; ++t) {
          distances.setZero();
          for (Eigen::Index c = 0; c < published.cols(); ++c)
            distances +=
                (published.col(c).segment(row, rows).array() - known(c, t))
                    .square();
          least[t] = std::min(least[t], distances.minCoeff());
        }
      }));
  return least;
}

absl::StatusOr<Eigen::MatrixXd> HitsByTheOthers(
    const Eigen::MatrixXd& published, const Eigen::MatrixXd& known,
    const std::vector<int>& own, bool without_own,
    const std::function<bool(double value, int column, int target)>& is_hit,
    const SearchRun& run) {
  const Eigen::Index targets = known.cols(), columns = published.cols();
  const Eigen::VectorXd scales =
      SquaredScales(published, known, Eigen::VectorXd::Ones(columns));
  std::vector<Nearest> nearest(static_cast<std::size_t>(targets * columns));
  DPNMF_RETURN_IF_ERROR(ForChunks(
      targets, published, run,
      [&](Eigen::Index from, Eigen::Index to, Eigen::Index row,
          Eigen::Index rows) {
        Eigen::ArrayXd all(rows), others(rows);
        for (Eigen::Index t = from; t < to; ++t) {
          all.setZero();
          for (Eigen::Index c = 0; c < columns; ++c)
            all += (published.col(c).segment(row, rows).array() - known(c, t))
                       .square();
          const Eigen::Index mine = own[static_cast<std::size_t>(t)] - row;
          if (without_own && mine >= 0 && mine < rows)
            all[mine] = std::numeric_limits<double>::infinity();
          for (Eigen::Index c = 0; c < columns; ++c) {
            const auto values = published.col(c).segment(row, rows).array();
            others = all - (values - known(c, t)).square();
            Nearest& best = nearest[static_cast<std::size_t>(t * columns + c)];
            best.slack = 1e-13 * scales[t];  // of the difference
            best.Look(others, [&](Eigen::Index r) {
              return is_hit(values[r], static_cast<int>(c),
                            static_cast<int>(t));
            });
          }
        }
      }));
  Eigen::MatrixXd shares(columns, targets);
  for (Eigen::Index t = 0; t < targets; ++t)
    for (Eigen::Index c = 0; c < columns; ++c)
      shares(c, t) = nearest[static_cast<std::size_t>(t * columns + c)].Share();
  return shares;
}

}  // namespace dpnmf::curator::lab
