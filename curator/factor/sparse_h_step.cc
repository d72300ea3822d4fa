#include "curator/factor/sparse_h_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "curator/factor/sparse_kernels.h"

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

// The union of the nonzeros of v and `long_rows`, both ascending.
void Merge(const SparseColumn& v, std::span<const std::int32_t> long_rows,
           Support* support) {
  support->rows.clear();
  support->v.clear();
  auto other = long_rows.begin();
  const auto add = [&](std::int32_t row, double value) {
    support->rows.push_back(row);
    support->v.push_back(value);
  };
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    for (; other != long_rows.end() && *other < v.rows[i]; ++other)
      add(*other, 0);
    if (other != long_rows.end() && *other == v.rows[i]) ++other;
    add(v.rows[i], v.values[i]);
  }
  for (; other != long_rows.end(); ++other) add(*other, 0);
  support->count = support->rows.size();
  support->rows.resize(Padded(support->count), 0);
  support->v.resize(support->rows.size(), 0.0);
  support->u.resize(support->rows.size());
}

// Brings the user's support to what its h needs; it only ever grows, as more
// rows change nothing but the time.
void Extend(const Dataset& data, const LongRows& long_rows, double lambda,
            std::uint64_t user, std::span<const double> h, Support* support) {
  const int level = long_rows.LevelFor(h, lambda);
  if (level <= support->level) return;
  support->level = level;
  Merge(data.SparseColumnOf(user), long_rows.Rows(level), support);
}

}  // namespace

LongRows::LongRows(const Eigen::Ref<const Eigen::MatrixXd>& w) {
  const auto rows = static_cast<std::size_t>(w.rows());
  std::vector<double> length_of(rows);
  for (std::size_t row = 0; row < rows; ++row)
    length_of[row] = w.row(static_cast<Eigen::Index>(row)).stableNorm();
  std::vector<std::int32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return length_of[a] != length_of[b] ? length_of[a] > length_of[b] : a < b;
  });
  for (const std::int32_t row : order)
    lengths_.push_back(length_of[row] * kSlack);
  levels_.emplace_back();
  for (std::size_t size = kFirstLevel; levels_.back().size() < rows;
       size *= 2) {
    const auto end =
        order.begin() + static_cast<std::ptrdiff_t>(std::min(size, rows));
    levels_.emplace_back(order.begin(), end);
    std::sort(levels_.back().begin(), levels_.back().end());
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

void SparseHStepWithOutliers(const Dataset& data, const PackedDictionary& w,
                             const LongRows& long_rows, const OutlierRule& rule,
                             int iterations, UserRange users,
                             BlockBuffers* block, SparseBlock* sparse) {
  const int strips = users.strips();
  sparse->users.resize(
      std::max<std::size_t>(sparse->users.size(), users.count));
  sparse->column_h.assign(w.rows->stride(), 0.0);
  sparse->column_c.assign(w.rows->stride(), 0.0);
  for (int user = 0; user < users.count; ++user) sparse->users[user].level = -1;
  std::fill(block->c.begin(), block->c.end(), 0.0);
  // u and c = W'u of every user for the h of now.
  const auto residuals = [&] {
    for (int user = 0; user < users.count; ++user) {
      const std::size_t lane = LaneOf(user, w.rank);
      for (int k = 0; k < w.rank; ++k)
        sparse->column_h[k] = block->h[lane + k * kStripUsers];
      Support& support = sparse->users[user];
      Extend(data, long_rows, rule.lambda, users.first + user,
             std::span(sparse->column_h).first(w.rank), &support);
      GatherInliers(*w.rows, support.rows.data(),
                    static_cast<int>(support.count), support.v.data(), rule,
                    sparse->column_h.data(), support.u.data(),
                    sparse->column_c.data());
      for (int k = 0; k < w.rank; ++k)
        block->c[lane + k * kStripUsers] = sparse->column_c[k];
    }
  };
  ClearDead(w.gram, strips, block->h.data());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    residuals();
    Sweep(w.gram, strips, block->c.data(), block->h.data());
  }
  ClearNonFinite(strips * StripSize(w.rank), block->h.data());
  residuals();
}

}  // namespace dpnmf::curator
