#include "lab/attack/nearest.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/base/error.h"
#include "common/threads/parallel.h"

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

// Distances that differ by rounding alone tie. `slack`: rounding of a distance
// near 0.
double AboveTies(double distance, double slack) {
  return distance * (1 + 1e-9) + slack;
}
double BelowTies(double distance, double slack) {
  return distance * (1 - 1e-9) - slack;
}

// The nearest rows so far.
struct Nearest {
  double distance = std::numeric_limits<double>::infinity();
  double slack = 0;
  int ties = 0;
  int hits = 0;

  double Above() const { return AboveTies(distance, slack); }

  template <typename IsHit>
  void Look(double here, const IsHit& is_hit) {
    if (!(here <= Above())) return;
    if (here < BelowTies(distance, slack) || ties == 0) {
      distance = here;
      ties = hits = 0;
    }
    distance = std::min(distance, here);
    ++ties;
    hits += is_hit() ? 1 : 0;
  }

  double Share() const {
    return ties == 0 ? 0 : static_cast<double>(hits) / ties;
  }
};

// Rows of a block that are not yet too far away. A distance never falls while
// columns are added, so a row above a bound is dropped for good: most rows are
// after few columns. All rows are worked on in order until few are left; those
// are listed.
//
// kLessLargest: bounds are for the distance less its largest term, which is the
// least that is left when any one column is taken out.
template <bool kLessLargest>
class Candidates {
 public:
  explicit Candidates(Eigen::Index most)
      : distances_(static_cast<std::size_t>(most)),
        largest_(kLessLargest ? distances_.size() : 0),
        rows_(distances_.size()) {}

  void Begin(Eigen::Index rows) {
    count_ = static_cast<std::size_t>(rows);
    listed_ = false;
    added_ = 0;
    std::fill_n(distances_.begin(), count_, 0.0);
    if (kLessLargest) std::fill_n(largest_.begin(), count_, 0.0);
  }

  // Without this row of the block, if it is one of it.
  void Leave(Eigen::Index row) {
    if (row >= 0 && static_cast<std::size_t>(row) < count_)
      distances_[static_cast<std::size_t>(row)] =
          std::numeric_limits<double>::infinity();
  }

  // distance += weight (column[row] - x)^2
  void Add(const double* column, double x, double weight) {
    ++added_;
    if (listed_) {
      for (std::size_t i = 0; i < count_; ++i)
        AddTo(i, column[rows_[i]] - x, weight);
    } else {
      for (std::size_t i = 0; i < count_; ++i) AddTo(i, column[i] - x, weight);
    }
  }

  // May keep some that are above the bound.
  void Drop(double bound) {
    if (!listed_) {
      // A look at all costs as much as a column.
      if (added_ > 8 && added_ % 4 != 0) return;
      std::size_t left = 0;
      for (std::size_t i = 0; i < count_; ++i) left += Least(i) <= bound;
      if (left > count_ / 4) return;
      listed_ = true;
      for (std::size_t i = 0; i < count_; ++i)
        rows_[i] = static_cast<std::uint32_t>(i);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool keep = Least(i) <= bound;
      distances_[kept] = distances_[i];
      if (kLessLargest) largest_[kept] = largest_[i];
      rows_[kept] = rows_[i];
      kept += keep ? 1 : 0;
    }
    count_ = kept;
  }

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  double distance(std::size_t i) const { return distances_[i]; }
  std::size_t row(std::size_t i) const { return listed_ ? rows_[i] : i; }

  double LeastDistance() const {
    if (count_ == 0) return std::numeric_limits<double>::infinity();
    return Eigen::Map<const Eigen::ArrayXd>(distances_.data(),
                                            static_cast<Eigen::Index>(count_))
        .minCoeff();
  }

  std::int64_t CountWithin(double bound) const {
    std::int64_t within = 0;
    for (std::size_t i = 0; i < count_; ++i) within += distances_[i] <= bound;
    return within;
  }

 private:
  double Least(std::size_t i) const {
    return kLessLargest ? distances_[i] - largest_[i] : distances_[i];
  }

  void AddTo(std::size_t i, double off, double weight) {
    const double term = weight * (off * off);
    distances_[i] += term;
    if (kLessLargest) largest_[i] = std::max(largest_[i], term);
  }

  std::vector<double> distances_, largest_;
  std::vector<std::uint32_t> rows_;  // where they are listed
  std::size_t count_ = 0;
  bool listed_ = false;
  int added_ = 0;  // columns
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
  const Eigen::Index blocks = (published.rows() + block - 1) / block;
  std::atomic<bool> stopped = false;
  std::atomic<Eigen::Index> done = 0;
  Eigen::Index told = -1;  // hundredths, by the first worker
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
          const Eigen::Index now = 100 * ++done / (chunks * blocks);
          if (worker != 0 || !run.progress || now <= told) continue;
          told = now;
          run.progress(static_cast<double>(now) / 100);
        }
      });
  if (stopped)
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   "The attack was interrupted.");
  return absl::OkStatus();
}

// The search for one target's own row. Its distance is known before: a row
// that is nearer ends the search, and one that is farther away is dropped.
struct OwnSearch {
  // By count: distances that tie with the own row's are within these.
  std::vector<double> below, above;
  std::vector<std::int64_t> ties;  // 0 once another row is nearer
  std::size_t open = 0;            // counts up to the last that is not lost

  OwnSearch(const Eigen::MatrixXd& published, const Search& search,
            Eigen::Index target, int own, double slack)
      : ties(search.counts.size(), 1), open(search.counts.size()) {
    double distance = 0;
    Eigen::Index j = 0;
    for (const int count : search.counts) {
      for (; j < count; ++j) {
        const Eigen::Index c = search.order(j, target);
        const double off = published(own, c) - search.known(c, target);
        distance += search.weights[c] * (off * off);
      }
      below.push_back(BelowTies(distance, slack));
      above.push_back(AboveTies(distance, slack));
    }
  }

  void Look(std::size_t k, const Candidates<false>& others) {
    if (ties[k] == 0) return;
    if (others.LeastDistance() < below[k]) {
      ties[k] = 0;
      while (open > 0 && ties[open - 1] == 0) --open;
    } else {
      ties[k] += others.CountWithin(above[k]);
    }
  }

  // A block of rows from `row` on, without the own one.
  void Look(const Eigen::MatrixXd& published, const Search& search,
            Eigen::Index target, Eigen::Index row, Candidates<false>* others) {
    Eigen::Index j = 0;
    for (std::size_t k = 0; k < open; ++k) {
      for (; j < search.counts[k]; ++j) {
        const Eigen::Index c = search.order(j, target);
        others->Add(published.col(c).data() + row, search.known(c, target),
                    search.weights[c]);
        others->Drop(above[open - 1]);
        if (others->empty()) return;
      }
      Look(k, *others);
    }
  }
};

}  // namespace

absl::StatusOr<Eigen::MatrixXd> FindOwnRows(const Eigen::MatrixXd& published,
                                            const Search& search,
                                            const std::vector<int>& own,
                                            const SearchRun& run) {
  const Eigen::Index targets = search.known.cols();
  const Eigen::VectorXd scales =
      SquaredScales(published, search.known, search.weights);
  std::vector<OwnSearch> searches;
  for (Eigen::Index t = 0; t < targets; ++t)
    searches.emplace_back(published, search, t,
                          own[static_cast<std::size_t>(t)], 1e-24 * scales[t]);
  DPNMF_RETURN_IF_ERROR(
      ForChunks(targets, published, run,
                [&](Eigen::Index from, Eigen::Index to, Eigen::Index row,
                    Eigen::Index rows) {
                  Candidates<false> others(rows);
                  for (Eigen::Index t = from; t < to; ++t) {
                    const auto at = static_cast<std::size_t>(t);
                    if (searches[at].open == 0) continue;
                    others.Begin(rows);
                    others.Leave(own[at] - row);
                    searches[at].Look(published, search, t, row, &others);
                  }
                }));
  Eigen::MatrixXd shares(static_cast<Eigen::Index>(search.counts.size()),
                         targets);
  for (Eigen::Index t = 0; t < targets; ++t)
    for (Eigen::Index k = 0; k < shares.rows(); ++k) {
      const std::int64_t ties = searches[static_cast<std::size_t>(t)]
                                    .ties[static_cast<std::size_t>(k)];
      shares(k, t) = ties == 0 ? 0 : 1 / static_cast<double>(ties);
    }
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
        Candidates<false> candidates(rows);
        for (Eigen::Index t = from; t < to; ++t) {
          candidates.Begin(rows);
          for (Eigen::Index c = 0; c < published.cols() && !candidates.empty();
               ++c) {
            candidates.Add(published.col(c).data() + row, known(c, t), 1);
            candidates.Drop(least[t]);
          }
          least[t] = std::min(least[t], candidates.LeastDistance());
        }
      }));
  return least;
}

absl::StatusOr<OthersHits> HitsByTheOthers(
    const Eigen::MatrixXd& published, const Eigen::MatrixXd& known,
    const std::vector<int>& own,
    const std::function<bool(double value, int column, int target)>& is_hit,
    const SearchRun& run) {
  const Eigen::Index targets = known.cols(), columns = published.cols();
  const Eigen::VectorXd scales =
      SquaredScales(published, known, Eigen::VectorXd::Ones(columns));
  // Column by target; the own row is left out.
  std::vector<Nearest> nearest(static_cast<std::size_t>(targets * columns));
  for (Eigen::Index t = 0; t < targets; ++t)
    for (Eigen::Index c = 0; c < columns; ++c)
      nearest[static_cast<std::size_t>(t * columns + c)].slack =
          1e-13 * scales[t];  // of a difference
  const auto look = [&](Eigen::Index t, Eigen::Index row, double all,
                        Nearest* of_columns) {
    for (Eigen::Index c = 0; c < columns; ++c) {
      const double value = published(row, c), off = value - known(c, t);
      of_columns[c].Look(all - off * off, [&] {
        return is_hit(value, static_cast<int>(c), static_cast<int>(t));
      });
    }
  };
  DPNMF_RETURN_IF_ERROR(ForChunks(
      targets, published, run,
      [&](Eigen::Index from, Eigen::Index to, Eigen::Index row,
          Eigen::Index rows) {
        Candidates<true> candidates(rows);
        for (Eigen::Index t = from; t < to; ++t) {
          Nearest* const mine =
              nearest.data() + static_cast<std::size_t>(t * columns);
          double bound = 0;
          for (Eigen::Index c = 0; c < columns; ++c)
            bound = std::max(bound, mine[c].Above());
          candidates.Begin(rows);
          for (Eigen::Index c = 0; c < columns && !candidates.empty(); ++c) {
            candidates.Add(published.col(c).data() + row, known(c, t), 1);
            candidates.Drop(bound);
          }
          for (std::size_t i = 0; i < candidates.size(); ++i) {
            const Eigen::Index here =
                row + static_cast<Eigen::Index>(candidates.row(i));
            if (here != own[static_cast<std::size_t>(t)])
              look(t, here, candidates.distance(i), mine);
          }
        }
      }));
  OthersHits hits = {.with_own = Eigen::MatrixXd(columns, targets),
                     .without_own = Eigen::MatrixXd(columns, targets)};
  for (Eigen::Index t = 0; t < targets; ++t) {
    Nearest* const mine =
        nearest.data() + static_cast<std::size_t>(t * columns);
    for (Eigen::Index c = 0; c < columns; ++c)
      hits.without_own(c, t) = mine[c].Share();
    const Eigen::Index row = own[static_cast<std::size_t>(t)];
    look(t, row, (published.row(row).transpose() - known.col(t)).squaredNorm(),
         mine);
    for (Eigen::Index c = 0; c < columns; ++c)
      hits.with_own(c, t) = mine[c].Share();
  }
  return hits;
}

}  // namespace dpnmf::curator::lab
