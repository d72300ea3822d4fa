// FitDictionary and its standard errors (common/nmf/moments.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"
#include "common/nmf/moments.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kLargestRank = 4096;
constexpr int kMatchingSteps = 60;
constexpr int kFitIterations = 200;
constexpr int kFirstSweeps = 20, kColumnSweeps = 3, kDictionarySweeps = 6;

// More columns and more starts where they cost little.
Eigen::Index SyntheticColumns(Eigen::Index rows) {
  return std::clamp<Eigen::Index>(768'000 / rows, 1500, 3000);
}
int StartCount(Eigen::Index rows, int rank) {
  return static_cast<int>(
      std::clamp<Eigen::Index>(40'000 / (rows * rank), 1, 4));
}

// The law of the synthetic columns: directions q_i sqrt(l_i), the first fixed,
// and a deviation a feature for what they leave of the trace.
struct ColumnLaw {
  MatrixXd directions;  // M x k
  VectorXd deviation;   // M
  MatrixXd moment;      // M x M: of the law before the positive part
};

ColumnLaw LawOf(const DenoisedMoments& moments, const FitOptions& options) {
  const SymmetricEigen solver = EigenOfSymmetric(moments.g, options.stop);
  const Eigen::Index size = moments.g.rows();
  const VectorXd values = solver.values.reverse();
  MatrixXd vectors = solver.vectors.rowwise().reverse();
  if (vectors.col(0).sum() < 0) vectors.col(0) *= -1;
  Eigen::Index kept = 1;
  while (kept < size && values(kept) > 1e-6 * values(0)) ++kept;

  ColumnLaw law;
  law.directions = vectors.leftCols(kept) *
                   values.head(kept).cwiseMax(0.0).cwiseSqrt().asDiagonal();
  law.moment = ProductTranspose(law.directions, law.directions, options.stop);
  VectorXd left = (moments.diagonal - law.moment.diagonal()).cwiseMax(0.0);
  const double missing = std::max(0.0, moments.trace - law.moment.trace());
  left *= left.sum() > 0 ? missing / left.sum() : 0.0;
  law.deviation = left.cwiseSqrt();
  law.moment.diagonal() += left;
  return law;
}

// M x n, divided by sqrt(n): X X' is near the law's moment.
MatrixXd DrawColumns(const ColumnLaw& law, const FitOptions& options,
                     Draws* draws) {
  const Eigen::Index count = SyntheticColumns(law.directions.rows());
  MatrixXd columns(law.directions.rows(), count);
  for (Eigen::Index n = 0; n < count && !Stopped(options.stop); ++n) {
    VectorXd c =
        std::sqrt(draws->Exponential()) * draws->Normals(law.directions.cols());
    c(0) = 1;
    columns.col(n) =
        Applied(law.directions, c) +
        law.deviation.cwiseProduct(draws->Normals(law.deviation.size()));
  }
  return columns.cwiseMax(0.0) / std::sqrt(static_cast<double>(count));
}

// An upper estimate of the largest eigenvalue of a non-negative matrix by power
// iteration from *vector, which is kept for the next call.
double LargestEigenvalue(const MatrixXd& s, VectorXd* vector) {
  double value = 0;
  for (int step = 0; step < 8; ++step) {
    VectorXd next = Applied(s, *vector);
    value = next.norm();
    if (!(value > 0)) return 0;
    *vector = next / value;
  }
  return 1.01 * value;
}

// X >= 0, |X|_F^2 <= trace.
void ProjectOntoTrace(double trace, MatrixXd* x) {
  *x = x->cwiseMax(0.0);
  const double length = x->squaredNorm();
  if (length > trace) *x *= std::sqrt(trace / length);
}

// Moves X toward min 1/4 |target - X X'|^2 (gradient (XX' - target) X, its
// Lipschitz constant near X at most 3 |XX'|): FISTA (Beck and Teboulle 2009)
// with the gradient restart of O'Donoghue and Candes 2015.
void MatchMoment(const MatrixXd& target, const FitOptions& options,
                 MatrixXd* x) {
  const int threads = options.threads;
  const double trace = target.trace();
  ProjectOntoTrace(trace, x);
  MatrixXd z = *x, moment, gradient, next;
  VectorXd top =
      VectorXd::Constant(target.rows(), 1 / std::sqrt(double(target.rows())));
  double momentum = 1;
  for (int step = 0; step < kMatchingSteps && !Stopped(options.stop); ++step) {
    MultiplyTransposed(z, z, threads, &moment, options.stop);
    const double lipschitz = 3 * LargestEigenvalue(moment, &top);
    if (!(lipschitz > 0)) return;
    moment -= target;
    Multiply(moment, z, threads, &gradient, options.stop);
    next = z - gradient / lipschitz;
    ProjectOntoTrace(trace, &next);
    if ((z - next).cwiseProduct(next - *x).sum() > 0) {
      momentum = 1;
      z = next;
    } else {
      const double after = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      z = next + (momentum - 1) / after * (next - *x);
      momentum = after;
    }
    std::swap(*x, next);
  }
}

// Columns to length 1; those that have died become a column of X.
void Normalise(const MatrixXd& x, Draws* draws, MatrixXd* w, MatrixXd* h) {
  for (Eigen::Index k = 0; k < w->cols(); ++k) {
    double length = w->col(k).norm();
    if (!(length > 1e-12)) {
      w->col(k) = x.col(draws->Index(x.cols()));
      h->row(k).setZero();
      length = w->col(k).norm();
      if (!(length > 1e-12)) {
        w->col(k).setOnes();
        length = w->col(k).norm();
      }
    }
    w->col(k) /= length;
    h->row(k) *= length;
  }
}

// The start of Langville et al. 2006: means of five columns.
MatrixXd StartOf(const MatrixXd& x, int rank, Draws* draws) {
  MatrixXd w = MatrixXd::Zero(x.rows(), rank);
  for (int k = 0; k < rank; ++k) {
    for (int i = 0; i < 5; ++i) w.col(k) += x.col(draws->Index(x.cols()));
  }
  return w;
}

// min |X - W H|^2 over W, H >= 0, from w (M x K). Returns the least value that
// it found, less |X|^2.
double Factorise(const MatrixXd& x, const FitOptions& options, Draws* draws,
                 MatrixXd* w) {
  const int threads = options.threads;
  const Stop& stop = options.stop;
  MatrixXd h = MatrixXd::Zero(w->cols(), x.cols()), c, a, b, wt;
  Normalise(x, draws, w, &h);
  double objective = 0;
  for (int iteration = 0; iteration < kFitIterations && !Stopped(stop);
       ++iteration) {
    wt = w->transpose();
    Multiply(wt, x, threads, &c, stop);
    SweepNonNegative(Product(wt, *w, stop), c,
                     iteration == 0 ? kFirstSweeps : kColumnSweeps, threads, &h,
                     stop);
    MultiplyTransposed(h, h, threads, &a, stop);
    MultiplyTransposed(h, x, threads, &b, stop);  // B': K x M
    a.diagonal().array() += 1e-12 * a.trace();
    SweepNonNegative(a, b, kDictionarySweeps, threads, &wt, stop);
    objective = wt.cwiseProduct(Product(a, wt, stop)).sum() -
                2 * wt.cwiseProduct(b).sum();
    *w = wt.transpose();
    Normalise(x, draws, w, &h);
  }
  return objective;
}

absl::Status CheckFit(const DenoisedMoments& moments,
                      const FitOptions& options) {
  if (!(options.rank >= 1 && options.rank <= kLargestRank)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "rank-out-of-range",
        absl::StrCat("`rank` must be from 1 to ", kLargestRank, "."));
  }
  const MatrixXd& start = options.start;
  if (start.size() > 0 &&
      !(start.rows() == moments.g.rows() && start.cols() == options.rank &&
        start.minCoeff() >= 0 && start.allFinite())) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "dictionary-start-invalid",
                   absl::StrCat("The start must be ", moments.g.rows(), " x ",
                                options.rank, ", finite and >= 0."));
  }
  return absl::OkStatus();
}

// g plus symmetric noise of the deviations of the release.
NoisedMoments Renoised(const NoisedMoments& moments, const MatrixXd& g,
                       Draws* draws) {
  NoisedMoments result = moments;
  result.g = g + SymmetricNoise(g.rows(), moments.stddev_off,
                                moments.stddev_diagonal, draws);
  return result;
}

// `w` on all features, the mean with noise once more.
MatrixXd Lifted(const MatrixXd& w, const LiftedBy& lift, Draws* draws) {
  VectorXd mean = lift.mean;
  for (double& entry : mean) entry += lift.stddev * draws->Normal();
  return LiftDictionary(w, lift.rows, mean, lift.stddev);
}

// Columns of w in the order of `reference`: pairs by falling inner product.
MatrixXd Matched(const MatrixXd& w, const MatrixXd& reference) {
  MatrixXd likeness = TransposeProduct(reference, w);
  MatrixXd matched(w.rows(), w.cols());
  for (Eigen::Index pair = 0; pair < w.cols(); ++pair) {
    Eigen::Index to = 0, from = 0;
    likeness.maxCoeff(&to, &from);
    matched.col(to) = w.col(from);
    likeness.row(to).setConstant(-1);
    likeness.col(from).setConstant(-1);
  }
  return matched;
}

}  // namespace

FitWork WorkOfFit(int rows, int rank) {
  constexpr double kDecompositions = 50;  // in units of M^3
  const double m = rows, k = rank;
  const auto n = static_cast<double>(SyntheticColumns(rows));
  const double product = k * m * n;
  const double sweeps =
      k * k * (kColumnSweeps * n + kDictionarySweeps * m + n + 2 * m);
  return {14 * m * m + 6 * m * n + 3 * k * n,
          kDecompositions * m * m * m + kMatchingSteps * 2 * m * m * n +
              StartCount(rows, rank) * kFitIterations * (2 * product + sweeps)};
}

absl::StatusOr<MatrixXd> FitDictionary(const DenoisedMoments& moments,
                                       const FitOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckFit(moments, options));
  Draws draws(options.seed);
  const ColumnLaw law = LawOf(moments, options);
  MatrixXd x = DrawColumns(law, options, &draws);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  MatchMoment(law.moment, options, &x);
  x *= std::sqrt(x.cols() / std::max(x.squaredNorm(), 1e-300));
  if (options.start.size() > 0) {
    MatrixXd w = options.start;
    Factorise(x, options, &draws, &w);
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
    return w;
  }
  MatrixXd best;
  double least = std::numeric_limits<double>::infinity();
  const int starts = StartCount(x.rows(), options.rank);
  for (int start = 0; start < starts; ++start) {
    MatrixXd w = StartOf(x, options.rank, &draws);
    const double objective = Factorise(x, options, &draws, &w);
    if (start == 0 || objective < least) {
      least = objective;
      best = std::move(w);
    }
  }
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  return best;
}

absl::StatusOr<MatrixXd> DictionaryStandardErrors(
    const NoisedMoments& moments, const DenoisedMoments& denoised,
    const MatrixXd& w, const FitOptions& options,
    const BootstrapOptions& bootstrap) {
  const int replicates = bootstrap.replicates;
  if (!(replicates >= 2 && replicates <= 1000)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "bootstrap-out-of-range",
                   "Standard errors take 2 to 1000 replicates.");
  }
  FitOptions fit = options;
  fit.start = w;
  DPNMF_RETURN_IF_ERROR(CheckFit(denoised, fit));
  Draws draws(options.seed ^ 0x9e3779b97f4a7c15u);
  // Sums are over differences from the first replicate: less cancellation.
  MatrixXd first, sum, squares;
  for (int replicate = 0; replicate < replicates; ++replicate) {
    DPNMF_ASSIGN_OR_RETURN(
        const DenoisedMoments again,
        DenoiseMoments(Renoised(moments, denoised.g, &draws), options.stop));
    DPNMF_ASSIGN_OR_RETURN(MatrixXd fitted, FitDictionary(again, fit));
    fitted = Matched(fitted, w);
    if (bootstrap.lift != nullptr)
      fitted = Lifted(fitted, *bootstrap.lift, &draws);
    if (replicate == 0) {
      first = fitted;
      sum = squares = MatrixXd::Zero(fitted.rows(), fitted.cols());
    }
    sum += fitted - first;
    squares += (fitted - first).cwiseAbs2();
  }
  const double count = replicates;
  return MatrixXd(
      ((squares - sum.cwiseAbs2() / count).cwiseMax(0.0) / (count - 1))
          .cwiseSqrt());
}

}  // namespace dpnmf
