#include "common/moments/prior.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

constexpr int kBaseSweeps = 1000;
// Columns that are drawn for a dictionary.
constexpr Index kDrawnColumns = 1000;

absl::Status CheckPrior(const Prior& prior, Index rows) {
  int given = 0;
  for (const MatrixXd* matrix :
       {&prior.columns, &prior.dictionary, &prior.moment}) {
    if (matrix->size() == 0) continue;
    ++given;
    if (matrix->rows() != rows) {
      return BadInput("prior-shape-invalid",
                      absl::StrCat("A prior has ", matrix->rows(),
                                   " features; the release has ", rows, "."));
    }
    if (!matrix->allFinite())
      return BadInput("prior-not-finite",
                      "A prior must consist of finite numbers.");
    if (matrix != &prior.moment && matrix->minCoeff() < 0)
      return BadInput("prior-negative",
                      "A prior's columns and parts must not be negative.");
  }
  if (given != 1)
    return BadInput("prior-shape-invalid",
                    "A prior must be columns, a dictionary or a second "
                    "moment, with entries.");
  const MatrixXd& moment = prior.moment;
  if (moment.size() > 0 &&
      (moment.cols() != rows || moment != moment.transpose()))
    return BadInput("prior-shape-invalid",
                    "A prior's second moment must be square and "
                    "symmetric.");
  return absl::OkStatus();
}

// Evenly spread columns, at most kMostPriorColumns.
MatrixXf SomeColumns(const MatrixXd& columns) {
  const Index count = std::min(columns.cols(), kMostPriorColumns);
  MatrixXf some(columns.rows(), count);
  for (Index n = 0; n < count; ++n)
    some.col(n) = columns.col(n * columns.cols() / count).cast<float>();
  return some;
}

// Adds a proposal from the columns; adds nothing if they are zero.
void ProposeColumns(MatrixXf columns, PriorMoments* proposed) {
  const double length = columns.norm();
  if (!(length > 0)) return;
  columns /= static_cast<float>(length);
  const MatrixXd exact = columns.cast<double>();
  MatrixXd moment = ProductTranspose(exact, exact);
  moment /= std::max(moment.trace(), 1e-300);
  proposed->proposals.push_back({std::move(moment), std::move(columns)});
}

void ProposeMoment(const MatrixXd& moment, const Stop& stop,
                   PriorMoments* proposed) {
  const SymmetricEigen eigen = EigenOfSymmetric(moment, stop);
  const VectorXd values = eigen.values.cwiseMax(0.0);
  if (!(values.sum() > 0)) return;
  proposed->proposals.push_back(
      {Conjugated(eigen.vectors, values / values.sum(), stop), {}});
}

void ProposeDictionary(const MatrixXd& w, const MatrixXd& y, const Stop& stop,
                       PriorMoments* proposed) {
  const SymmetricEigen eigen = EigenOfSymmetric(y, stop);
  if (eigen.values.size() == 0) return;
  VectorXd top = eigen.vectors.rightCols(1);
  if (top.sum() < 0) top = -top;
  MatrixXd usage = MatrixXd::Zero(w.cols(), 1);
  SweepNonNegative(TransposeProduct(w, w),
                   TransposeProduct(w, top.cwiseMax(0.0)), kBaseSweeps, 1,
                   &usage);
  Draws draws(1);
  MatrixXd h(w.cols(), kDrawnColumns);
  for (Index n = 0; n < h.cols(); ++n)
    for (Index k = 0; k < h.rows(); ++k)
      h(k, n) = usage(k) * draws.Exponential();
  ProposeColumns(Product(w, h, stop).cast<float>(), proposed);
  ProposeMoment(ProductTranspose(w, w, stop), stop, proposed);
}

}  // namespace

absl::Status CheckPriors(const std::vector<Prior>& priors, Index rows) {
  if (priors.size() > kMostPriors)
    return BadInput(
        "prior-too-many",
        absl::StrCat("At most ", kMostPriors, " priors can be used at once."));
  for (const Prior& prior : priors)
    DPNMF_RETURN_IF_ERROR(CheckPrior(prior, rows));
  return absl::OkStatus();
}

std::vector<Prior> PriorsOnRows(const std::vector<Prior>& priors,
                                const std::vector<int>& rows) {
  std::vector<Prior> on_rows;
  for (const Prior& prior : priors) {
    Prior one;
    if (prior.columns.size() > 0) one.columns = prior.columns(rows, Eigen::all);
    if (prior.dictionary.size() > 0)
      one.dictionary = prior.dictionary(rows, Eigen::all);
    if (prior.moment.size() > 0) one.moment = prior.moment(rows, rows);
    on_rows.push_back(std::move(one));
  }
  return on_rows;
}

PriorMoments ProposeMoments(const std::vector<Prior>& priors, const MatrixXd& y,
                            const Stop& stop) {
  PriorMoments proposed;
  for (const Prior& prior : priors) {
    if (prior.columns.size() > 0) {
      ProposeColumns(SomeColumns(prior.columns), &proposed);
    } else if (prior.moment.size() > 0) {
      ProposeMoment(prior.moment, stop, &proposed);
    } else {
      ProposeDictionary(prior.dictionary, y, stop, &proposed);
    }
  }
  return proposed;
}

PriorBase FitBase(const PriorMoments& proposed, const MatrixXd& y) {
  const auto count = static_cast<Index>(proposed.proposals.size());
  const auto off_diagonal = [](const MatrixXd& a, const MatrixXd& b) {
    return a.cwiseProduct(b).sum() - a.diagonal().dot(b.diagonal());
  };
  MatrixXd gram(count, count), c(count, 1), weights = MatrixXd::Zero(count, 1);
  for (Index i = 0; i < count; ++i) {
    const MatrixXd& one =
        proposed.proposals[static_cast<std::size_t>(i)].moment;
    c(i, 0) = off_diagonal(one, y);
    for (Index j = 0; j <= i; ++j) {
      gram(i, j) = gram(j, i) = off_diagonal(
          one, proposed.proposals[static_cast<std::size_t>(j)].moment);
    }
  }
  SweepNonNegative(gram, c, kBaseSweeps, 1, &weights);
  PriorBase base;
  base.weights = weights.reshaped();
  base.moment = MatrixXd::Zero(y.rows(), y.cols());
  for (Index i = 0; i < count; ++i)
    base.moment += base.weights(i) *
                   proposed.proposals[static_cast<std::size_t>(i)].moment;
  return base;
}

MatrixXf PartsOf(const std::vector<Prior>& priors) {
  MatrixXf parts;
  for (const Prior& prior : priors) {
    for (const auto& part : prior.dictionary.colwise()) {
      if (!(part.norm() > 0)) continue;
      parts.conservativeResize(part.rows(), parts.cols() + 1);
      parts.rightCols(1) = part.normalized().cast<float>();
    }
  }
  return parts;
}

MatrixXf ColumnsOfBase(const PriorMoments& proposed, const PriorBase& base) {
  Index count = 0;
  const auto of = [&](Index i) -> const MatrixXf& {
    return proposed.proposals[static_cast<std::size_t>(i)].columns;
  };
  for (Index i = 0; i < base.weights.size(); ++i)
    if (base.weights(i) > 0) count += of(i).cols();
  MatrixXf columns(base.moment.rows(), count);
  Index at = 0;
  for (Index i = 0; i < base.weights.size(); ++i) {
    if (!(base.weights(i) > 0) || of(i).size() == 0) continue;
    columns.middleCols(at, of(i).cols()) =
        static_cast<float>(std::sqrt(base.weights(i))) * of(i);
    at += of(i).cols();
  }
  return columns;
}

}  // namespace dpnmf
