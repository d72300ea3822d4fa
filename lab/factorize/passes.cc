#include "lab/factorize/passes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/threads/parallel.h"
#include "curator/factor/block_data.h"
#include "curator/factor/h_step.h"
#include "curator/factor/kernels/kernels.h"

namespace dpnmf::curator::lab {
namespace {

constexpr int kBlockUsers = 96;
static_assert(kBlockUsers % kStripUsers == 0);
// Features that stay in the first-level cache over the sweeps on W.
constexpr int kFeatureStrips = 8;
constexpr int kPartFeatures = kFeatureStrips * kStripUsers;

// Calls work(share, first, end) for equal shares of [0, count) units.
void ForShares(
    std::uint64_t count, int shares,
    const std::function<void(int, std::uint64_t, std::uint64_t)>& work) {
  ParallelFor(static_cast<std::size_t>(shares), shares,
              [&](std::size_t share, int) {
                work(static_cast<int>(share), share * count / shares,
                     (share + 1) * count / shares);
              });
}

// Rows [first, first + count) of m as strips of features, and back.
void ToStrips(const RowMatrix& m, int first, int count,
              AlignedVector<double>* strips) {
  strips->assign(kFeatureStrips * StripSize(m.columns), 0.0);
  for (int i = 0; i < count; ++i) {
    double* const to = strips->data() + LaneOf(i, m.columns);
    const double* const from = m.Row(first + i);
    for (int k = 0; k < m.columns; ++k) to[k * kStripUsers] = from[k];
  }
}

void FromStrips(const AlignedVector<double>& strips, int first, int count,
                RowMatrix* m) {
  for (int i = 0; i < count; ++i) {
    const double* const from = strips.data() + LaneOf(i, m->columns);
    double* const to = m->Row(first + i);
    for (int k = 0; k < m->columns; ++k) to[k] = from[k * kStripUsers];
  }
}

int PartsOf(int features) {
  return (features + kPartFeatures - 1) / kPartFeatures;
}

// The upper triangle of sums by rows, mirrored.
Eigen::MatrixXd Mirrored(const RowMatrix& sums) {
  Eigen::MatrixXd full(sums.rows, sums.rows);
  for (int i = 0; i < sums.rows; ++i) {
    for (int j = i; j < sums.rows; ++j)
      full(i, j) = full(j, i) = sums.Row(i)[j];
  }
  return full;
}

// Buffers of one worker, and where it adds to.
struct BlockWork {
  const Dataset& data;
  const PackedDictionary& w;
  int sweeps;
  BlockBuffers block = {};
  AlignedVector<double> column = {};
};

// c = W'v, and for dense data v, of all users of the block.
void CorrelateBlock(UserRange users, BlockWork* work) {
  work->block.c.resize(users.strips() * StripSize(work->w.rank));
  if (work->data.sparse()) {
    CorrelateNonzeros(work->data, work->w, users, &work->column,
                      work->block.c.data());
    return;
  }
  LoadData(work->data, users, &work->block.u);
  Correlate(work->w, users.strips(), &work->block);
}

// A += X X' and B += V X' for x of the block's users.
void AddToMoments(UserRange users, const double* x, BlockWork* work,
                  RowMatrix* a, RowMatrix* b) {
  const int rank = work->w.rank;
  const StripMatrix strips{x, rank, rank};
  AddProducts(strips, strips, users.strips(), /*upper=*/true, a->values.data());
  if (!work->data.sparse()) {
    AddProducts({work->block.u.data(), work->w.features, work->w.features},
                strips, users.strips(), /*upper=*/false, b->values.data());
    return;
  }
  work->column.assign(b->stride, 0.0);
  for (int user = 0; user < users.count; ++user) {
    const double* const from = x + LaneOf(user, rank);
    for (int k = 0; k < rank; ++k) work->column[k] = from[k * kStripUsers];
    AddOuterProduct(work->data.SparseColumnOf(users.first + user), work->column,
                    b->values.data());
  }
}

}  // namespace

FactorizePasses::FactorizePasses(const Dataset& data, int rank, int threads)
    : data_(data),
      rank_(rank),
      threads_(std::max(1, threads)),
      users_(data.private_user_count()),
      h_((users_ + kStripUsers - 1) / kStripUsers * StripSize(rank), 0.0),
      share_a_(threads_),
      share_b_(threads_) {}

double FactorizePasses::SquaredNorm() const {
  std::vector<double> sums(threads_, 0.0);
  ForShares(
      users_, threads_, [&](int share, std::uint64_t first, std::uint64_t end) {
        double sum = 0;
        for (std::uint64_t user = first; user < end; ++user) {
          const auto values = data_.sparse() ? data_.SparseColumnOf(user).values
                                             : data_.DenseColumn(user);
          for (const double value : values) sum += value * value;
        }
        sums[share] = sum;
      });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

RowMatrix& FactorizePasses::ClearedB(int columns, int share) {
  RowMatrix& b = share_b_[share];
  if (b.values.empty() || b.columns != columns) {
    b = RowMatrix(static_cast<int>(data_.features()), columns);
  } else {
    std::fill(b.values.begin(), b.values.end(), 0.0);
  }
  return b;
}

void FactorizePasses::CollectB() {
  ForShares(share_b_[0].values.size(), threads_,
            [&](int, std::uint64_t first, std::uint64_t end) {
              double* const to = share_b_[0].values.data();
              for (int share = 1; share < threads_; ++share) {
                const double* const from = share_b_[share].values.data();
                for (std::uint64_t i = first; i < end; ++i) to[i] += from[i];
              }
            });
  std::swap(b_, share_b_[0]);
}

void FactorizePasses::UpdateH(const RowMatrix& w, const Eigen::MatrixXd& gram,
                              int sweeps) {
  const PackedDictionary packed(w.view(), w.rows, gram, data_.sparse());
  ForShares(
      (users_ + kBlockUsers - 1) / kBlockUsers, threads_,
      [&](int share, std::uint64_t first_block, std::uint64_t end_block) {
        RowMatrix& a = share_a_[share] = RowMatrix(rank_, rank_);
        RowMatrix& b = ClearedB(rank_, share);
        BlockWork work{data_, packed, sweeps};
        for (std::uint64_t at = first_block; at < end_block; ++at) {
          const std::uint64_t first = at * kBlockUsers;
          const UserRange users{first, static_cast<int>(std::min<std::uint64_t>(
                                           kBlockUsers, users_ - first))};
          CorrelateBlock(users, &work);
          const std::size_t size = users.strips() * StripSize(rank_);
          double* const h = h_.data() + first / kStripUsers * StripSize(rank_);
          work.block.h.assign(h, h + size);
          SweepBlock(packed, sweeps, users.strips(), &work.block);
          std::copy_n(work.block.h.data(), size, h);
          AddToMoments(users, h, &work, &a, &b);
        }
      });
  for (int share = 1; share < threads_; ++share) {
    for (std::size_t i = 0; i < share_a_[0].values.size(); ++i)
      share_a_[0].values[i] += share_a_[share].values[i];
  }
  a_ = Mirrored(share_a_[0]);
  CollectB();
}

void FactorizePasses::Multiply(const RowMatrix& x) {
  const auto columns = static_cast<std::size_t>(x.stride);
  ForShares(users_, threads_,
            [&](int share, std::uint64_t first, std::uint64_t end) {
              RowMatrix& b = ClearedB(x.columns, share);
              for (std::uint64_t user = first; user < end; ++user) {
                AddOuterProduct(data_.SparseColumnOf(user),
                                {x.Row(static_cast<int>(user)), columns},
                                b.values.data());
              }
            });
  CollectB();
}

RowMatrix FactorizePasses::TransposeMultiply(const RowMatrix& y) const {
  RowMatrix product(static_cast<int>(users_), y.columns);
  ForShares(users_, threads_, [&](int, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t user = first; user < end; ++user) {
      SparseProduct(y.view(), data_.SparseColumnOf(user),
                    product.Row(static_cast<int>(user)));
    }
  });
  return product;
}

void FactorizePasses::UpdateW(int sweeps, RowMatrix* w) const {
  const PackedGram gram(a_);
  ForShares(PartsOf(w->rows), threads_,
            [&](int, std::uint64_t first_part, std::uint64_t end_part) {
              AlignedVector<double> w_strips, b_strips;
              for (std::uint64_t part = first_part; part < end_part; ++part) {
                const int first = static_cast<int>(part) * kPartFeatures;
                const int count = std::min(kPartFeatures, w->rows - first);
                ToStrips(*w, first, count, &w_strips);
                ToStrips(b_, first, count, &b_strips);
                for (int sweep = 0; sweep < sweeps; ++sweep)
                  Sweep(gram, kFeatureStrips, b_strips.data(), w_strips.data());
                ClearNonFinite(w_strips.size(), w_strips.data());
                FromStrips(w_strips, first, count, w);
              }
            });
}

Eigen::MatrixXd FactorizePasses::Gram(const RowMatrix& w) const {
  std::vector<RowMatrix> sums(threads_, RowMatrix(w.columns, w.columns));
  ForShares(PartsOf(w.rows), threads_,
            [&](int share, std::uint64_t first_part, std::uint64_t end_part) {
              AlignedVector<double> strips;
              for (std::uint64_t part = first_part; part < end_part; ++part) {
                const int first = static_cast<int>(part) * kPartFeatures;
                ToStrips(w, first, std::min(kPartFeatures, w.rows - first),
                         &strips);
                const StripMatrix x{strips.data(), w.columns, w.columns};
                AddProducts(x, x, kFeatureStrips, /*upper=*/true,
                            sums[share].values.data());
              }
            });
  for (int share = 1; share < threads_; ++share) {
    for (std::size_t i = 0; i < sums[0].values.size(); ++i)
      sums[0].values[i] += sums[share].values[i];
  }
  return Mirrored(sums[0]);
}

double FactorizePasses::Cross(const RowMatrix& w, const RowMatrix& x) const {
  std::vector<double> sums(threads_, 0.0);
  ForShares(w.values.size(), threads_,
            [&](int share, std::uint64_t first, std::uint64_t end) {
              const auto count = static_cast<Eigen::Index>(end - first);
              sums[share] = Eigen::Map<const Eigen::VectorXd>(
                                w.values.data() + first, count)
                                .dot(Eigen::Map<const Eigen::VectorXd>(
                                    x.values.data() + first, count));
            });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace dpnmf::curator::lab
