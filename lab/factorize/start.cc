#include "lab/factorize/start.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "common/nmf/linear_algebra.h"
#include "common/threads/parallel.h"

namespace dpnmf::curator::lab {
namespace {

// The basis has so many directions for each vector that is wanted.
constexpr int kDirections = 3;

using Rows =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<Rows, 0, Eigen::OuterStride<>>;

RowsMap MapOf(RowMatrix* m) {
  return RowsMap(m->values.data(), m->rows, m->columns,
                 Eigen::OuterStride<>(m->stride));
}

// M = V V' in the space of features or V'V in that of users, whichever is
// smaller, n x n.
class Moment {
 public:
  Moment(FactorizePasses* passes, int features, std::uint64_t users)
      : passes_(*passes),
        of_users_(users < static_cast<std::uint64_t>(features)),
        size_(of_users_ ? static_cast<int>(users) : features) {}

  int size() const { return size_; }
  int threads() const { return passes_.threads(); }

  // *x = M x.
  void Apply(RowMatrix* x) const {
    if (of_users_) {
      passes_.Multiply(*x);
      *x = passes_.TransposeMultiply(passes_.b());
    } else {
      passes_.Multiply(passes_.TransposeMultiply(*x));
      *x = passes_.b();
    }
  }

  // Left singular vectors of V, and right ones, in the same places; either
  // up to a factor. own: vectors of M.
  struct Pair {
    RowMatrix left, right;
  };
  Pair SingularVectors(RowMatrix own) const {
    if (!of_users_) {
      RowMatrix right = passes_.TransposeMultiply(own);
      return {std::move(own), std::move(right)};
    }
    passes_.Multiply(own);
    return {passes_.b(), std::move(own)};
  }

 private:
  FactorizePasses& passes_;
  bool of_users_;
  int size_;
};

// Orthonormal directions, and M within them: block Lanczos with all directions
// kept orthogonal (Golub and Underwood 1977).
class Krylov {
 public:
  Krylov(const Moment& moment, int most_directions)
      : moment_(moment),
        basis_(moment.size(), most_directions),
        within_(Eigen::MatrixXd::Zero(most_directions, most_directions)) {}

  // The next block, of what `block` has beside the basis; zero where it has
  // nothing. block: n x b, overwritten by M times the new block, which is the
  // one to add next.
  void Add(RowMatrix* block) {
    const int count = block->columns;
    // Lengths below this share of the largest direction's are rounding.
    constexpr double kLeast = 1e-10;
    for (int repeat = 0; repeat < 2; ++repeat) {
      if (used_ > 0) TakeOff(repeat == 0 ? ahead_ : ProductsWith(block), block);
      const SymmetricEigen gram = EigenOfSymmetric(GramOf(block));
      if (used_ == 0 && repeat == 0)
        scale_ = std::sqrt(std::max(0.0, gram.values[count - 1]));
      const double least = repeat == 0 ? kLeast * scale_ : 0.5;
      Eigen::VectorXd scales(count);
      for (int i = 0; i < count; ++i) {
        const double length = std::sqrt(std::max(0.0, gram.values[i]));
        scales[i] = length > least ? 1 / length : 0;
      }
      Turn(gram.vectors * scales.asDiagonal(), block);
    }
    ForRows([&](Eigen::Index first, Eigen::Index rows, int) {
      basis_.block(first, used_, rows, count) =
          MapOf(block).middleRows(first, rows);
    });
    const int before = used_;
    used_ += count;
    moment_.Apply(block);
    ahead_ = ProductsWith(block);
    within_.block(0, before, used_, count) = ahead_;
    within_.block(before, 0, count, used_) = ahead_.transpose();
    if (before == 0) scale_ = ahead_.norm();  // of M, as later blocks are
  }

  // The vectors of M within the basis, of the largest values first (Ritz).
  RowMatrix Largest(int rank) {
    const SymmetricEigen ritz =
        EigenOfSymmetric(within_.topLeftCorner(used_, used_));
    const Eigen::MatrixXd turn =
        ritz.vectors.rowwise().reverse().leftCols(rank);
    RowMatrix w(static_cast<int>(basis_.rows()), rank);
    ForRows([&](Eigen::Index first, Eigen::Index rows, int) {
      MapOf(&w).middleRows(first, rows).noalias() =
          basis_.block(first, 0, rows, used_) * turn;
    });
    return w;
  }

 private:
  // Calls work(first, rows, share) for equal shares of the rows.
  template <typename Work>
  void ForRows(const Work& work) const {
    const int shares = moment_.threads();
    const Eigen::Index rows = basis_.rows();
    ParallelFor(static_cast<std::size_t>(shares), shares,
                [&](std::size_t share, int) {
                  const auto at = static_cast<Eigen::Index>(share);
                  const Eigen::Index first = at * rows / shares,
                                     end = (at + 1) * rows / shares;
                  work(first, end - first, static_cast<int>(share));
                });
  }

  // x'y, each share of the rows on a thread, in order.
  template <typename X>
  Eigen::MatrixXd Products(const X& x_of, RowMatrix* y) const {
    std::vector<Eigen::MatrixXd> shares(moment_.threads());
    ForRows([&](Eigen::Index first, Eigen::Index rows, int share) {
      shares[share].noalias() =
          x_of(first, rows).transpose() * MapOf(y).middleRows(first, rows);
    });
    Eigen::MatrixXd sum = shares[0];
    for (std::size_t i = 1; i < shares.size(); ++i) sum += shares[i];
    return sum;
  }
  Eigen::MatrixXd ProductsWith(RowMatrix* block) const {
    return Products(
        [&](Eigen::Index first, Eigen::Index rows) {
          return basis_.block(first, 0, rows, used_);
        },
        block);
  }
  Eigen::MatrixXd GramOf(RowMatrix* block) const {
    return Products(
        [&](Eigen::Index first, Eigen::Index rows) {
          return MapOf(block).middleRows(first, rows);
        },
        block);
  }

  // block -= basis products.
  void TakeOff(const Eigen::MatrixXd& products, RowMatrix* block) const {
    ForRows([&](Eigen::Index first, Eigen::Index rows, int) {
      MapOf(block).middleRows(first, rows).noalias() -=
          basis_.block(first, 0, rows, used_) * products;
    });
  }

  // block = block x.
  void Turn(const Eigen::MatrixXd& x, RowMatrix* block) const {
    ForRows([&](Eigen::Index first, Eigen::Index rows, int) {
      auto part = MapOf(block).middleRows(first, rows);
      part = (part * x).eval();
    });
  }

  const Moment& moment_;
  Rows basis_;  // n x directions
  Eigen::MatrixXd within_;
  Eigen::MatrixXd ahead_;  // basis' block, of the block to add next
  int used_ = 0;
  double scale_ = 0;  // largest length of a block's directions
};

// One user's column to column k, times `weight`.
void AddColumn(const Dataset& data, std::uint64_t user, double weight, int k,
               RowMatrix* w) {
  if (data.sparse()) {
    const SparseColumn column = data.SparseColumnOf(user);
    for (std::size_t i = 0; i < column.rows.size(); ++i)
      w->Row(column.rows[i])[k] += weight * column.values[i];
    return;
  }
  const auto column = data.DenseColumn(user);
  for (int feature = 0; feature < w->rows; ++feature)
    w->Row(feature)[k] += weight * column[feature];
}

struct SignedSquares {
  double positive = 0, negative = 0;
};

// Sums over column k.
SignedSquares SquaresOf(const RowMatrix& m, int k) {
  SignedSquares squares;
  for (int row = 0; row < m.rows; ++row) {
    const double x = m.Row(row)[k];
    (x > 0 ? squares.positive : squares.negative) += x * x;
  }
  return squares;
}

// Column k becomes the positive part of it times `sign`, of length 1.
void KeepPart(double sign, int k, RowMatrix* w) {
  double squares = 0;
  for (int row = 0; row < w->rows; ++row) {
    double& x = w->Row(row)[k];
    x = std::max(0.0, sign * x);
    squares += x * x;
  }
  if (!(squares > 0)) return;
  const double scale = 1 / std::sqrt(squares);
  for (int row = 0; row < w->rows; ++row) w->Row(row)[k] *= scale;
}

}  // namespace

RowMatrix StartFromColumns(const Dataset& data, int rank, std::uint64_t seed) {
  constexpr int kColumns = 5;
  RowMatrix w(static_cast<int>(data.features()), rank);
  std::mt19937_64 random(seed);
  for (int k = 0; k < rank; ++k) {
    for (int i = 0; i < kColumns; ++i) {
      AddColumn(data, random() % data.private_user_count(), 1.0 / kColumns, k,
                &w);
    }
  }
  return w;
}

RowMatrix StartFromSingularVectors(FactorizePasses* passes, int features,
                                   std::uint64_t users, int rank,
                                   std::uint64_t seed) {
  const auto most = static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(features), users));
  const int width = PaddedColumns((rank + 3) / 4);
  const int blocks =
      (std::min(kDirections * rank + width, most) + width - 1) / width;
  const Moment moment(passes, features, users);
  Krylov krylov(moment, blocks * width);
  RowMatrix block(moment.size(), width);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int row = 0; row < block.rows; ++row) {
    for (int k = 0; k < width; ++k) block.Row(row)[k] = uniform(random);
  }
  moment.Apply(&block);
  for (int i = 0; i < blocks; ++i) krylov.Add(&block);
  auto [w, of_users] = moment.SingularVectors(krylov.Largest(rank));
  // |u+| |v+| against |u-| |v-|.
  for (int k = 0; k < rank; ++k) {
    const SignedSquares u = SquaresOf(w, k), v = SquaresOf(of_users, k);
    const bool positive = u.positive * v.positive >= u.negative * v.negative;
    KeepPart(positive ? 1 : -1, k, &w);
  }
  return w;
}

}  // namespace dpnmf::curator::lab
