#include "common/ratings/item_features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t kKnots = 8;

std::vector<double> Distinct(std::vector<double> sorted) {
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::vector<double> Knots(const std::vector<double>& sorted,
                          const std::vector<double>& distinct) {
  if (distinct.size() <= kKnots) return distinct;
  std::vector<double> knots;
  const std::size_t last = sorted.size() - 1, tail = last / 100;
  const double low = sorted[tail], high = sorted[last - tail];
  if (!(low < high)) return {distinct.front(), distinct.back()};
  for (std::size_t k = 0; k < kKnots; ++k)
    knots.push_back(low + (high - low) * double(k) / (kKnots - 1));
  return knots;
}

void NormaliseRows(MatrixXd* block) {
  for (Index i = 0; i < block->rows(); ++i) {
    const double length = block->row(i).norm();
    if (length > 0) block->row(i) /= length;
  }
}

MatrixXd Hats(const VectorXd& column, const std::vector<double>& knots) {
  MatrixXd block = MatrixXd::Zero(column.size(), Index(knots.size()));
  for (Index i = 0; i < column.size(); ++i) {
    const auto above =
        std::upper_bound(knots.begin(), knots.end() - 1, column(i));
    const Index right = std::max<Index>(1, above - knots.begin());
    const double low = knots[std::size_t(right) - 1],
                 high = knots[std::size_t(right)];
    const double part = std::clamp((column(i) - low) / (high - low), 0.0, 1.0);
    block(i, right - 1) = 1 - part;
    block(i, right) = part;
  }
  NormaliseRows(&block);
  return block;
}

MatrixXd LeadingComponents(MatrixXd all, Index most, const Stop& stop) {
  all.rowwise() -= all.colwise().mean();
  const SymmetricEigen eigen =
      EigenOfSymmetric(TransposeProduct(all, all, stop), stop);
  return Product(all, eigen.vectors.rightCols(most).rowwise().reverse(), stop);
}

}  // namespace

std::vector<MatrixXd> FeatureBlocks(const MatrixXd& declared, Index most,
                                    const Stop& stop) {
  std::vector<MatrixXd> hats;
  MatrixXd marks(declared.rows(), declared.cols());
  Index mark_count = 0;
  for (Index k = 0; k < declared.cols(); ++k) {
    if (Stopped(stop)) return {};
    const VectorXd column = declared.col(k);
    std::vector<double> sorted(column.begin(), column.end());
    std::sort(sorted.begin(), sorted.end());
    const std::vector<double> distinct = Distinct(sorted);
    if (distinct.size() < 2) continue;
    if (distinct.size() == 2) {
      marks.col(mark_count++) =
          (column.array() == distinct[1]).cast<double>().matrix();
    } else if (const auto knots = Knots(sorted, distinct); knots.size() > 1) {
      hats.push_back(Hats(column, knots));
    }
  }
  std::vector<MatrixXd> blocks;
  if (mark_count > 0) {
    blocks.push_back(marks.leftCols(mark_count));
    NormaliseRows(&blocks.back());
  }
  for (MatrixXd& block : hats) blocks.push_back(std::move(block));
  MatrixXd all = SideBySide(blocks, declared.rows());
  if (all.cols() > most)
    blocks = {LeadingComponents(std::move(all), most, stop)};
  return blocks;
}

MatrixXd SideBySide(const std::vector<MatrixXd>& blocks, Index rows) {
  Index columns = 0;
  for (const MatrixXd& block : blocks) columns += block.cols();
  MatrixXd all(rows, columns);
  Index next = 0;
  for (const MatrixXd& block : blocks) {
    all.middleCols(next, block.cols()) = block;
    next += block.cols();
  }
  return all;
}

}  // namespace dpnmf
