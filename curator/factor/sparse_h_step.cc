#include "curator/factor/sparse_h_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "curator/factor/kernels/sparse_kernels.h"

namespace dpnmf::curator {
namespace {

constexpr std::size_t kFirstLevel = 16;
// Covers the rounding of lengths and products for any rank that fits in memory.
constexpr double kSlack = 1 + 0x1p-20;
// Below it, squares of h could underflow: every row counts.
constexpr double kLeastLambda = 1e-100;

std::size_t Padded(std::size_t count) {
  return (count + kGatherRows - 1) / kGatherRows * kGatherRows;
}

// Euclidean lengths of the rows, column after column as W lies in memory. The
// largest entry of a row is taken out of its squares, which then neither
// overflow nor vanish.
Eigen::ArrayXd LengthsOfRows(const Eigen::Ref<const Eigen::MatrixXd>& w) {
  Eigen::ArrayXd largest = Eigen::ArrayXd::Zero(w.rows());
  for (Eigen::Index k = 0; k < w.cols(); ++k)
    largest = largest.max(w.col(k).array().abs());
  const Eigen::ArrayXd scale = (largest > 0).select(largest, 1.0);
  Eigen::ArrayXd squares = Eigen::ArrayXd::Zero(w.rows());
  for (Eigen::Index k = 0; k < w.cols(); ++k)
    squares += (w.col(k).array() / scale).square();
  return scale * squares.sqrt();
}

// Entries of supports that a worker keeps: 20 MiB of them.
constexpr std::size_t kMostKept = std::size_t{1} << 20;
// Entries of a piece of a support that is not kept.
constexpr std::size_t kPiece = 1024;
static_assert(kPiece % kGatherRows == 0);

// Every support grows a few times while h does.
std::size_t KeptEntries(std::uint64_t features, int users) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(
      kMostKept, 2 * Padded(features) * static_cast<std::uint64_t>(users)));
}

// The union of the nonzeros of v and of some rows, both ascending, piece by
// piece.
class Union {
 public:
  Union(const SparseColumn& v, std::span<const std::int32_t> rows)
      : v_(v), rows_(rows) {}

  bool done() const { return i_ == v_.rows.size() && j_ == rows_.size(); }

  // Writes the next entries, at most `room` (a multiple of kGatherRows), and
  // the padding behind them. How many without the padding.
  std::size_t Next(std::size_t room, std::int32_t* rows, double* values) {
    std::size_t count = 0;
    for (; count < room && i_ < v_.rows.size() && j_ < rows_.size(); ++count) {
      const std::int32_t nonzero = v_.rows[i_], other = rows_[j_];
      rows[count] = std::min(nonzero, other);
      values[count] = nonzero <= other ? v_.values[i_] : 0.0F;
      i_ += nonzero <= other;
      j_ += other <= nonzero;
    }
    for (; count < room && i_ < v_.rows.size(); ++count, ++i_) {
      rows[count] = v_.rows[i_];
      values[count] = v_.values[i_];
    }
    for (; count < room && j_ < rows_.size(); ++count, ++j_) {
      rows[count] = rows_[j_];
      values[count] = 0;
    }
    for (std::size_t pad = count; pad < Padded(count); ++pad) {
      rows[pad] = 0;
      values[pad] = 0;
    }
    return count;
  }

 private:
  const SparseColumn v_;
  const std::span<const std::int32_t> rows_;
  std::size_t i_ = 0, j_ = 0;
};

}  // namespace

// The users of one block.
class SparseSolver {
 public:
  SparseSolver(const SparseStep& step, UserRange users, SparseBlock* block)
      : step_(step), users_(users), block_(*block) {}

  void Begin() {
    block_.used_ = 0;
    for (int user = 0; user < users_.count; ++user)
      block_.users_[user] = SparseBlock::Support();
  }

  // column_c = W'u of a user for the h at `lane` of the strips. Calls
  // visit(rows, u, count) for every piece of the support, in order.
  template <typename Visit>
  void Residual(int user, const double* lane, const Visit& visit) {
    for (int k = 0; k < step_.w.rank; ++k)
      block_.column_h_[k] = lane[k * kStripUsers];
    std::fill(block_.column_c_.begin(), block_.column_c_.end(), 0.0);
    SparseBlock::Support& support = block_.users_[user];
    // A support only ever grows: more rows change nothing but the time.
    const int level = step_.long_rows.LevelFor(
        std::span(block_.column_h_).first(step_.w.rank), step_.rule.lambda);
    if (level > support.level) {
      support.level = level;
      support.kept = false;
      Keep(user, &support);
    }
    if (support.kept) {
      Gather(support.first, support.count, visit);
      return;
    }
    for (Union entries = EntriesOf(user, support.level); !entries.done();) {
      const std::size_t count = entries.Next(
          kPiece, &block_.rows_[block_.room_], &block_.v_[block_.room_]);
      Gather(block_.room_, count, visit);
    }
  }

  const double* column_c() const { return block_.column_c_.data(); }

 private:
  Union EntriesOf(int user, int level) const {
    return {step_.data.SparseColumnOf(users_.first + user),
            step_.long_rows.Rows(level)};
  }

  void Keep(int user, SparseBlock::Support* support) {
    const std::size_t most =
        Padded(step_.data.SparseColumnOf(users_.first + user).rows.size() +
               step_.long_rows.Rows(support->level).size());
    if (most > block_.room_ - block_.used_) return;
    support->kept = true;
    support->first = block_.used_;
    support->count = EntriesOf(user, support->level)
                         .Next(most, &block_.rows_[support->first],
                               &block_.v_[support->first]);
    block_.used_ += Padded(support->count);
  }

  template <typename Visit>
  void Gather(std::size_t first, std::size_t count, const Visit& visit) {
    GatherInliers(step_.w.rows(), &block_.rows_[first], static_cast<int>(count),
                  &block_.v_[first], step_.rule, block_.column_h_.data(),
                  &block_.u_[first], block_.column_c_.data());
    visit(&block_.rows_[first], &block_.u_[first], count);
  }

  const SparseStep& step_;
  const UserRange users_;
  SparseBlock& block_;
};

SparseBlock::SparseBlock(const PackedDictionary& w, int users)
    : users_(static_cast<std::size_t>(users)),
      room_(KeptEntries(static_cast<std::uint64_t>(w.features), users)),
      column_h_(static_cast<std::size_t>(w.rows().stride)),
      column_c_(static_cast<std::size_t>(w.rows().stride)) {
  rows_.resize(room_ + kPiece);
  v_.resize(room_ + kPiece);
  u_.resize(room_ + kPiece);
}

std::uint64_t SparseBlock::Bytes(std::uint64_t features, std::uint64_t rank,
                                 int users) {
  return (sizeof(std::int32_t) + 2 * sizeof(double)) *
             (KeptEntries(features, users) + kPiece) +
         sizeof(Support) * static_cast<std::uint64_t>(users) +
         2 * sizeof(double) * (rank + kRowUnit);
}

LongRows::LongRows(const Eigen::Ref<const Eigen::MatrixXd>& w) {
  const auto rows = static_cast<std::size_t>(w.rows());
  const Eigen::ArrayXd lengths = LengthsOfRows(w);
  std::vector<std::pair<double, std::int32_t>> order(rows);  // -|row|, row
  for (std::size_t row = 0; row < rows; ++row) {
    order[row] = {-lengths[static_cast<Eigen::Index>(row)],
                  static_cast<std::int32_t>(row)};
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> place(rows);
  lengths_.reserve(rows);
  for (const auto& [length, row] : order) {
    place[static_cast<std::size_t>(row)] = lengths_.size();
    lengths_.push_back(-length * kSlack);
  }
  levels_.emplace_back();
  for (std::size_t size = kFirstLevel; levels_.back().size() < rows;
       size *= 2) {
    std::vector<std::int32_t>& level = levels_.emplace_back();
    level.reserve(std::min(size, rows));
    for (std::size_t row = 0; row < rows; ++row)
      if (place[row] < size) level.push_back(static_cast<std::int32_t>(row));
  }
}

int LongRows::LevelFor(std::span<const double> h, double lambda) const {
  double squares = 0;
  for (const double x : h) squares += x * x;
  const double length = std::sqrt(squares) * kSlack;
  if (!(lambda >= kLeastLambda) || !std::isfinite(length)) return last_level();
  const auto end =
      std::partition_point(lengths_.begin(), lengths_.end(),
                           [&](double row) { return row * length > lambda; });
  const auto needed = static_cast<std::size_t>(end - lengths_.begin());
  int level = 0;
  while (levels_[level].size() < needed) ++level;
  return level;
}

void SparseHStepWithOutliers(const SparseStep& step, int iterations,
                             UserRange users, BlockBuffers* block,
                             SparseBlock* sparse) {
  const int strips = users.strips(), rank = step.w.rank;
  SparseSolver solver(step, users, sparse);
  solver.Begin();
  std::fill(block->c.begin(), block->c.end(), 0.0);
  ClearDead(step.w.gram, strips, block->h.data());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (int user = 0; user < users.count; ++user) {
      const std::size_t lane = LaneOf(user, rank);
      solver.Residual(user, block->h.data() + lane,
                      [](const auto*, const auto*, std::size_t) {});
      for (int k = 0; k < rank; ++k)
        block->c[lane + k * kStripUsers] = solver.column_c()[k];
    }
    Sweep(step.w.gram, strips, block->c.data(), block->h.data());
  }
  ClearNonFinite(strips * StripSize(rank), block->h.data());
}

std::size_t SparseInliers(const SparseStep& step, UserRange users, int user,
                          const BlockBuffers& block, SparseBlock* sparse,
                          std::int32_t* rows, double* u) {
  std::size_t count = 0;
  SparseSolver(step, users, sparse)
      .Residual(user, block.h.data() + LaneOf(user, step.w.rank),
                [&](const std::int32_t* rows_of_piece, const double* u_of_piece,
                    std::size_t size) {
                  for (std::size_t i = 0; i < size; ++i) {
                    if (u_of_piece[i] == 0) continue;
                    rows[count] = rows_of_piece[i];
                    u[count++] = u_of_piece[i];
                  }
                });
  return count;
}

}  // namespace dpnmf::curator
