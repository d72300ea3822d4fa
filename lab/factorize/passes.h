// The passes of factorize over users and over features, internal to it.
#ifndef DPNMF_LAB_FACTORIZE_PASSES_H_
#define DPNMF_LAB_FACTORIZE_PASSES_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "curator/data/dataset.h"
#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/kernels/aligned_vector.h"
#include "curator/factor/kernels/exact_products.h"

namespace dpnmf::curator::lab {

// A matrix D x K by rows of `stride` values, zero past K.
struct RowMatrix {
  RowMatrix() = default;
  RowMatrix(int features, int rank)
      : rows(features),
        columns(rank),
        stride(PaddedColumns(rank)),
        values(static_cast<std::size_t>(features) * PaddedColumns(rank), 0.0) {}

  double* Row(int row) {
    return values.data() + static_cast<std::size_t>(row) * stride;
  }
  const double* Row(int row) const {
    return values.data() + static_cast<std::size_t>(row) * stride;
  }
  RowView view() const { return {values.data(), stride}; }

  int rows = 0, columns = 0, stride = 0;
  AlignedVector<double> values;
};

// Work is cut into one share for each thread and shares are added in order:
// results are a function of the thread count alone.
class FactorizePasses {
 public:
  FactorizePasses(const Dataset& data, int rank, int threads);

  // |V|^2.
  double SquaredNorm() const;

  // H steps for all users from the h of before, then A = HH' and B = VH' (sums
  // over users, not means).
  void UpdateH(const RowMatrix& w, const Eigen::MatrixXd& gram, int sweeps);
  // Sets B = V X; x: N rows. A and H stay as they are. Multiply and
  // TransposeMultiply need sparse data, with entries of any sign.
  void Multiply(const RowMatrix& x);
  // V'Y, of N rows; y: D rows.
  RowMatrix TransposeMultiply(const RowMatrix& y) const;

  const Eigen::MatrixXd& a() const { return a_; }
  const RowMatrix& b() const { return b_; }

  // `sweeps` of coordinate descent on w against A and B.
  void UpdateW(int sweeps, RowMatrix* w) const;
  // W'W, and tr(W'X).
  Eigen::MatrixXd Gram(const RowMatrix& w) const;
  double Cross(const RowMatrix& w, const RowMatrix& x) const;

  int threads() const { return threads_; }

 private:
  // Zeros, D x columns.
  RowMatrix& ClearedB(int columns, int share);
  void CollectB();

  const Dataset& data_;
  int rank_, threads_;
  std::uint64_t users_;
  AlignedVector<double> h_;  // strips
  std::vector<RowMatrix> share_a_, share_b_;
  Eigen::MatrixXd a_;
  RowMatrix b_;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_FACTORIZE_PASSES_H_
