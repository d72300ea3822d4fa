#include "common/nmf/linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "Eigen/Eigenvalues"
#include "common/nmf/coordinate_descent.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Block = Eigen::Ref<MatrixXd, 0, Eigen::OuterStride<>>;
using ConstBlock = Eigen::Ref<const MatrixXd, 0, Eigen::OuterStride<>>;

// x y, x' y or x y'.
enum class Form { kPlain, kLeftTransposed, kRightTransposed };

bool IsOneStep(Index rows, Index inner, Index columns) {
  return static_cast<double>(rows) * static_cast<double>(inner) *
             static_cast<double>(columns) <=
         kWorkBetweenStops;
}

// `count` rows or columns from `at`.
auto Part(const ConstBlock& x, bool of_rows, Index at, Index count) {
  return of_rows ? x.block(at, 0, count, x.cols())
                 : x.block(0, at, x.rows(), count);
}

// *product += the product, halved along its longest side until a part is one
// step.
void AddProduct(Form form, const ConstBlock& x, const ConstBlock& y,
                const Stop& stop, Block product) {
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
      AddProduct(form, Part(x, !left, at, count), y, stop,
                 product.middleRows(at, count));
    } else if (columns >= inner) {
      const auto [at, count] = part(columns);
      AddProduct(form, x, Part(y, right, at, count), stop,
                 product.middleCols(at, count));
    } else {
      const auto [at, count] = part(inner);
      AddProduct(form, Part(x, left, at, count), Part(y, !right, at, count),
                 stop, product);
    }
  }
}

// The product of more than one step.
MatrixXd LargeProduct(Form form, const MatrixXd& x, const MatrixXd& y,
                      const Stop& stop) {
  MatrixXd product =
      MatrixXd::Zero(form == Form::kLeftTransposed ? x.cols() : x.rows(),
                     form == Form::kRightTransposed ? y.rows() : y.cols());
  AddProduct(form, x, y, stop, product);
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

// Implicit QR steps as in Eigen's SelfAdjointEigenSolver; each is O(M^2).
void Diagonalise(const Stop& stop, VectorXd* subdiagonal,
                 SymmetricEigen* result) {
  constexpr Index kStepsAValue = 30;
  VectorXd &diagonal = result->values, &off = *subdiagonal;
  const Index size = diagonal.size();
  Index start = 0, end = size - 1;
  for (Index step = 0; end > 0; ++step) {
    Deflate(start, end, diagonal, &off);
    while (end > 0 && off(end - 1) == 0) --end;
    if (end == 0 || step == kStepsAValue * size || Stopped(stop)) break;
    start = end - 1;
    while (start > 0 && off(start - 1) != 0) --start;
    Eigen::internal::tridiagonal_qr_step<Eigen::ColMajor>(
        diagonal.data(), off.data(), start, end, result->vectors.data(), size);
  }
  for (Index i = 0; i < size - 1; ++i) {
    Index least = 0;
    diagonal.tail(size - i).minCoeff(&least);
    if (least == 0) continue;
    std::swap(diagonal(i), diagonal(i + least));
    result->vectors.col(i).swap(result->vectors.col(i + least));
  }
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

void Multiply(const MatrixXd& x, const MatrixXd& y, int threads,
              MatrixXd* product, const Stop& stop) {
  product->resize(x.rows(), y.cols());
  ForColumnTasks(
      y.cols(), threads, stop, [&](Index first, Index count, const Stop& ask) {
        auto task = product->middleCols(first, count);
        if (IsOneStep(x.rows(), x.cols(), count)) {
          task.noalias() = x * y.middleCols(first, count);
        } else {
          task.setZero();
          AddProduct(Form::kPlain, x, y.middleCols(first, count), ask, task);
        }
      });
}

void MultiplyTransposed(const MatrixXd& x, const MatrixXd& y, int threads,
                        MatrixXd* product, const Stop& stop) {
  product->resize(x.rows(), y.rows());
  ForColumnTasks(
      y.rows(), threads, stop, [&](Index first, Index count, const Stop& ask) {
        auto task = product->middleCols(first, count);
        if (IsOneStep(x.rows(), x.cols(), count)) {
          task.noalias() = x * y.middleRows(first, count).transpose();
        } else {
          task.setZero();
          AddProduct(Form::kRightTransposed, x, y.middleRows(first, count), ask,
                     task);
        }
      });
}

SymmetricEigen EigenOfSymmetric(const MatrixXd& matrix, const Stop& stop) {
  constexpr Index kSmall = 100;  // a few milliseconds
  if (!stop || matrix.rows() <= kSmall) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix);
    return {solver.eigenvalues(), solver.eigenvectors()};
  }
  // What that solver does, with questions in between.
  SymmetricEigen result;
  MatrixXd& a = result.vectors;
  a = matrix.triangularView<Eigen::Lower>();
  double scale = a.cwiseAbs().maxCoeff();
  if (scale == 0) scale = 1;
  a.triangularView<Eigen::Lower>() /= scale;
  VectorXd coefficients = VectorXd::Zero(a.rows() - 1);
  Tridiagonalise(stop, &a, &coefficients);
  result.values = a.diagonal();
  VectorXd subdiagonal = a.diagonal<-1>();
  if (!Stopped(stop)) {
    a = Eigen::Tridiagonalization<MatrixXd>::HouseholderSequenceType(
            a, coefficients)
            .setLength(a.rows() - 1)
            .setShift(1);
    Diagonalise(stop, &subdiagonal, &result);
  }
  result.values *= scale;
  return result;
}

}  // namespace dpnmf
