#include "common/nmf/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "Eigen/Eigenvalues"
#include "common/nmf/coordinate_descent.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
template <typename Scalar>
using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <typename Scalar>
using Block = Eigen::Ref<Dense<Scalar>, 0, Eigen::OuterStride<>>;
template <typename Scalar>
using ConstBlock = Eigen::Ref<const Dense<Scalar>, 0, Eigen::OuterStride<>>;

// x y, x' y or x y'.
enum class Form { kPlain, kLeftTransposed, kRightTransposed };

bool IsOneStep(Index rows, Index inner, Index columns) {
  return static_cast<double>(rows) * static_cast<double>(inner) *
             static_cast<double>(columns) <=
         kWorkBetweenStops;
}

// `count` rows or columns from `at`.
template <typename Scalar>
ConstBlock<Scalar> Part(const ConstBlock<Scalar>& x, bool of_rows, Index at,
                        Index count) {
  return of_rows ? x.block(at, 0, count, x.cols())
                 : x.block(0, at, x.rows(), count);
}

// *product += the product, halved along its longest side until a part is one
// step.
template <typename Scalar>
void AddProduct(Form form, const ConstBlock<Scalar>& x,
                const ConstBlock<Scalar>& y, const Stop& stop,
                Block<Scalar> product) {
  const bool left = form == Form::kLeftTransposed,
             right = form == Form::kRightTransposed;
  const Index rows = product.rows(), columns = product.cols(),
              inner = left ? x.rows() : x.cols();
  if (IsOneStep(rows, inner, columns)) {
    if (Stopped(stop)) return;
    if (left) {
      product.noalias() += x.transpose() * y;
    } else if (right) {
      product.noalias() += x * y.transpose();
    } else {
      product.noalias() += x * y;
    }
    return;
  }
  for (const bool second : {false, true}) {
    const auto part = [second](Index size) {
      return second ? std::pair(size / 2, size - size / 2)
                    : std::pair(Index{0}, size / 2);
    };
    if (rows >= inner && rows >= columns) {
      const auto [at, count] = part(rows);
      AddProduct<Scalar>(form, Part<Scalar>(x, !left, at, count), y, stop,
                         product.middleRows(at, count));
    } else if (columns >= inner) {
      const auto [at, count] = part(columns);
      AddProduct<Scalar>(form, x, Part<Scalar>(y, right, at, count), stop,
                         product.middleCols(at, count));
    } else {
      const auto [at, count] = part(inner);
      AddProduct<Scalar>(form, Part<Scalar>(x, left, at, count),
                         Part<Scalar>(y, !right, at, count), stop, product);
    }
  }
}

// The product of more than one step.
MatrixXd LargeProduct(Form form, const MatrixXd& x, const MatrixXd& y,
                      const Stop& stop) {
  MatrixXd product =
      MatrixXd::Zero(form == Form::kLeftTransposed ? x.cols() : x.rows(),
                     form == Form::kRightTransposed ? y.rows() : y.cols());
  AddProduct<double>(form, x, y, stop, product);
  return product;
}

// Householder tridiagonalisation as in Eigen's SelfAdjointEigenSolver.
void Tridiagonalise(const Stop& stop, MatrixXd* a, VectorXd* h_coefficients) {
  MatrixXd& m = *a;
  VectorXd& coefficients = *h_coefficients;
  const Index size = m.rows();
  for (Index i = 0; i < size - 1 && !Stopped(stop); ++i) {
    const Index rest = size - i - 1;
    double beta = 0, h = 0;
    m.col(i).tail(rest).makeHouseholderInPlace(h, beta);
    m.col(i)(i + 1) = 1;
    coefficients.tail(rest).noalias() =
        m.bottomRightCorner(rest, rest).selfadjointView<Eigen::Lower>() *
        (h * m.col(i).tail(rest));
    coefficients.tail(rest) +=
        (h * -0.5 * (coefficients.tail(rest).dot(m.col(i).tail(rest)))) *
        m.col(i).tail(rest);
    m.bottomRightCorner(rest, rest)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(m.col(i).tail(rest), coefficients.tail(rest), -1);
    m.col(i)(i + 1) = beta;
    coefficients(i) = h;
  }
}

// Entries of the subdiagonal that are 0 in the precision of their neighbours.
void Deflate(Index start, Index end, const VectorXd& diagonal,
             VectorXd* subdiagonal) {
  constexpr double kInverse = 1 / std::numeric_limits<double>::epsilon();
  for (Index i = start; i < end; ++i) {
    double& entry = (*subdiagonal)(i);
    const double scaled = kInverse * entry;
    if (std::abs(entry) < std::numeric_limits<double>::min() ||
        scaled * scaled <= std::abs(diagonal(i)) + std::abs(diagonal(i + 1))) {
      entry = 0;
    }
  }
}

// Columns at and at + 1 become c x - s y and s x + c y.
struct Rotation {
  Index at;
  double c, s;
};

// An implicit QR step on [start, end] of the tridiagonal matrix, as in Eigen's
// SelfAdjointEigenSolver; its rotations are added to *rotations.
void QrStep(Index start, Index end, VectorXd* diagonal, VectorXd* subdiagonal,
            std::vector<Rotation>* rotations) {
  VectorXd &d = *diagonal, &off = *subdiagonal;
  const double half = (d(end - 1) - d(end)) / 2, e = off(end - 1);
  double shift = d(end);  // Wilkinson's
  if (half == 0) {
    shift -= std::abs(e);
  } else if (e != 0) {
    const double hypotenuse = std::hypot(half, e);
    shift -= e / ((half + (half > 0 ? hypotenuse : -hypotenuse)) / e);
  }
  double x = d(start) - shift, z = off(start);
  for (Index k = start; k < end && z != 0; ++k) {
    Eigen::JacobiRotation<double> rotation;
    rotation.makeGivens(x, z);
    const double c = rotation.c(), s = rotation.s();
    const double below = s * d(k) + c * off(k),
                 next = s * off(k) + c * d(k + 1);
    d(k) = c * (c * d(k) - s * off(k)) - s * (c * off(k) - s * d(k + 1));
    d(k + 1) = s * below + c * next;
    off(k) = c * below - s * next;
    if (k > start) off(k - 1) = c * off(k - 1) - s * z;
    x = off(k);
    if (k < end - 1) {
      z = -s * off(k + 1);
      off(k + 1) *= c;
    }
    rotations->push_back({k, c, s});
  }
}

// Applies them to the columns of *vectors, in order: by tasks of rows, each of
// which stays in a processor's cache.
void Rotate(const std::vector<Rotation>& rotations, int threads,
            const Stop& stop, MatrixXd* vectors) {
  constexpr Index kTaskRows = 32;
  using Rows = Eigen::Array<double, kTaskRows, Eigen::Dynamic>;
  const Index rows = vectors->rows(),
              tasks = (rows + kTaskRows - 1) / kTaskRows;
  ParallelForWithStop(
      static_cast<std::size_t>(tasks), threads, stop,
      [&](std::size_t task, const Stop&) {
        const Index first = static_cast<Index>(task) * kTaskRows,
                    count = std::min(kTaskRows, rows - first);
        Rows part = Rows::Zero(kTaskRows, vectors->cols());
        part.topRows(count) = vectors->middleRows(first, count).array();
        for (const Rotation& rotation : rotations) {
          auto x = part.col(rotation.at), y = part.col(rotation.at + 1);
          const Eigen::Array<double, kTaskRows, 1> before = x;
          x = rotation.c * before - rotation.s * y;
          y = rotation.s * before + rotation.c * y;
        }
        vectors->middleRows(first, count) = part.topRows(count).matrix();
      });
}

// Diagonalises the tridiagonal matrix in result->values and *subdiagonal.
void Diagonalise(const Stop& stop, int threads, VectorXd* subdiagonal,
                 SymmetricEigen* result) {
  constexpr Index kStepsAValue = 30;
  VectorXd &diagonal = result->values, &off = *subdiagonal;
  const Index size = diagonal.size();
  // A batch of rotations is one step between questions in each task.
  const auto batch = static_cast<std::size_t>(1) << 16;
  std::vector<Rotation> rotations;
  Index start = 0, end = size - 1;
  for (Index step = 0; end > 0; ++step) {
    Deflate(start, end, diagonal, &off);
    while (end > 0 && off(end - 1) == 0) --end;
    if (end == 0 || step == kStepsAValue * size || Stopped(stop)) break;
    start = end - 1;
    while (start > 0 && off(start - 1) != 0) --start;
    QrStep(start, end, &diagonal, &off, &rotations);
    if (rotations.size() >= batch) {
      Rotate(rotations, threads, stop, &result->vectors);
      rotations.clear();
    }
  }
  Rotate(rotations, threads, stop, &result->vectors);
  for (Index i = 0; i < size - 1; ++i) {
    Index least = 0;
    diagonal.tail(size - i).minCoeff(&least);
    if (least == 0) continue;
    std::swap(diagonal(i), diagonal(i + least));
    result->vectors.col(i).swap(result->vectors.col(i + least));
  }
}

template <typename Scalar>
void MultiplyByTasks(Form form, const Dense<Scalar>& x, const Dense<Scalar>& y,
                     int threads, Dense<Scalar>* product, const Stop& stop) {
  const bool transposed = form == Form::kRightTransposed;
  const Index columns = transposed ? y.rows() : y.cols();
  product->resize(x.rows(), columns);
  ForColumnTasks(
      columns, threads, stop, [&](Index first, Index count, const Stop& ask) {
        auto task = product->middleCols(first, count);
        task.setZero();
        AddProduct<Scalar>(form, x, Part<Scalar>(y, transposed, first, count),
                           ask, task);
      });
}

}  // namespace

MatrixXd Product(const MatrixXd& x, const MatrixXd& y, const Stop& stop) {
  if (IsOneStep(x.rows(), x.cols(), y.cols())) return x * y;
  return LargeProduct(Form::kPlain, x, y, stop);
}

VectorXd Applied(const MatrixXd& x, const VectorXd& y) { return x * y; }

MatrixXd TransposeProduct(const MatrixXd& x, const MatrixXd& y,
                          const Stop& stop) {
  if (IsOneStep(x.cols(), x.rows(), y.cols())) return x.transpose() * y;
  return LargeProduct(Form::kLeftTransposed, x, y, stop);
}

MatrixXd ScaledTransposeProduct(double scale, const MatrixXd& x,
                                const MatrixXd& y, const Stop& stop) {
  if (IsOneStep(x.cols(), x.rows(), y.cols())) return scale * x.transpose() * y;
  return LargeProduct(Form::kLeftTransposed, scale * x, y, stop);
}

MatrixXd ProductTranspose(const MatrixXd& x, const MatrixXd& y,
                          const Stop& stop) {
  if (IsOneStep(x.rows(), x.cols(), y.rows())) return x * y.transpose();
  return LargeProduct(Form::kRightTransposed, x, y, stop);
}

MatrixXd Conjugated(const MatrixXd& q, const VectorXd& d, const Stop& stop) {
  if (IsOneStep(q.rows(), q.cols(), q.rows()))
    return q * d.asDiagonal() * q.transpose();
  return LargeProduct(Form::kRightTransposed, q * d.asDiagonal(), q, stop);
}

void Multiply(const MatrixXf& x, const MatrixXf& y, int threads,
              MatrixXf* product, const Stop& stop) {
  MultiplyByTasks<float>(Form::kPlain, x, y, threads, product, stop);
}

void MultiplyTransposed(const MatrixXf& x, const MatrixXf& y, int threads,
                        MatrixXf* product, const Stop& stop) {
  MultiplyByTasks<float>(Form::kRightTransposed, x, y, threads, product, stop);
}

SymmetricEigen EigenOfSymmetric(const MatrixXd& matrix, const Stop& stop,
                                int threads) {
  constexpr Index kSmall = 100;  // a few milliseconds
  if (matrix.rows() <= kSmall) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix);
    return {solver.eigenvalues(), solver.eigenvectors()};
  }
  // Computes the same as the solver, with checks of `stop` and several threads.
  SymmetricEigen result;
  MatrixXd a = matrix.triangularView<Eigen::Lower>();
  double scale = a.cwiseAbs().maxCoeff();
  if (scale == 0) scale = 1;
  a.triangularView<Eigen::Lower>() /= scale;
  VectorXd coefficients = VectorXd::Zero(a.rows() - 1);
  Tridiagonalise(stop, &a, &coefficients);
  result.values = a.diagonal();
  VectorXd subdiagonal = a.diagonal<-1>();
  if (Stopped(stop)) {
    result.vectors.setZero(a.rows(), a.cols());
    return result;
  }
  result.vectors = Eigen::Tridiagonalization<MatrixXd>::HouseholderSequenceType(
                       a, coefficients)
                       .setLength(a.rows() - 1)
                       .setShift(1);
  Diagonalise(stop, threads, &subdiagonal, &result);
  result.values *= scale;
  return result;
}

}  // namespace dpnmf
