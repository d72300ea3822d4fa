// FitDictionary and its standard errors (common/moments/moments.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/moments/column_fit.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

constexpr int kLargestRank = 4096;
// Beyond so many rows the law keeps this many directions; what the others have
// stays in the deviations of the features.
constexpr Eigen::Index kMostFullRows = 256, kMostDirections = 128;
constexpr int kMatchingSteps = 45;
// Share of the trace that public columns represent: the rest is drawn as well,
// since W would otherwise fit what is peculiar to a few hundred people.
constexpr double kKnownShare = 0.4;
// Public columns below which no half of them is held out.
constexpr Eigen::Index kFewestKnown = 40;
// Iterations of one start among several, and of the best start.
constexpr int kTrialIterations = 20, kFitIterations = 200;
constexpr int kFirstSweeps = 20, kColumnSweeps = 3, kDictionarySweeps = 6;

// More columns and more starts where they cost little.
Eigen::Index SyntheticColumns(Eigen::Index rows) {
  return std::clamp<Eigen::Index>(768'000 / rows, 1500, 3000);
}
Eigen::Index TrialColumns(Eigen::Index rows) {
  return SyntheticColumns(rows) / 3;
}
int StartCount(Eigen::Index rows, int rank) {
  return static_cast<int>(
      std::clamp<Eigen::Index>(80'000 / (rows * rank), 2, 6));
}

// The law of the synthetic columns: directions q_i sqrt(l_i), the first fixed,
// and a deviation a feature for what they leave of the trace.
struct ColumnLaw {
  MatrixXd vectors;     // M x k: q_i, of falling l_i
  VectorXd values;      // k: l_i
  VectorXd deviations;  // M
  VectorXd diagonal;    // M: of the law's second moment
  bool is_full() const { return vectors.rows() <= kMostFullRows; }
};

ColumnLaw LawOf(const DenoisedMoments& moments, const FitOptions& options) {
  const SymmetricEigen solver =
      EigenOfSymmetric(moments.g, options.stop, options.threads);
  const Eigen::Index size = moments.g.rows();
  ColumnLaw law;
  law.values = solver.values.reverse();
  Eigen::Index kept = 1;
  while (kept < size && law.values(kept) > 1e-6 * law.values(0)) ++kept;
  if (size > kMostFullRows) kept = std::min(kept, kMostDirections);
  law.values = law.values.head(kept).cwiseMax(0.0).eval();
  law.vectors = solver.vectors.rightCols(kept).rowwise().reverse();
  if (law.vectors.col(0).sum() < 0) law.vectors.col(0) *= -1;

  law.diagonal = law.vectors.cwiseAbs2() * law.values;
  VectorXd left = (moments.diagonal - law.diagonal).cwiseMax(0.0);
  const double missing = std::max(0.0, moments.trace - law.values.sum());
  left *= left.sum() > 0 ? missing / left.sum() : 0.0;
  law.deviations = left.cwiseSqrt();
  law.diagonal += left;
  return law;
}

// M x n, divided by sqrt(n): X X' is near the law's moment. Each task of
// columns has random numbers of its own.
MatrixXf DrawColumns(const ColumnLaw& law, Eigen::Index count,
                     const FitOptions& options) {
  const Eigen::Index rows = law.vectors.rows(), kept = law.vectors.cols();
  const VectorXd lengths = law.values.cwiseSqrt();
  MatrixXf c(kept, count), rest(rows, count), columns;
  ForColumnTasks(
      count, options.threads, options.stop,
      [&](Eigen::Index first, Eigen::Index number, const Stop& stop) {
        Draws draws(options.seed + 0x9e3779b97f4a7c15u *
                                       static_cast<std::uint64_t>(first + 1));
        for (Eigen::Index n = first; n < first + number; ++n) {
          if (Stopped(stop)) return;
          VectorXd normals =
              std::sqrt(draws.Exponential()) * draws.Normals(kept);
          normals(0) = 1;
          c.col(n) = normals.cwiseProduct(lengths).cast<float>();
          rest.col(n) =
              law.deviations.cwiseProduct(draws.Normals(rows)).cast<float>();
        }
      });
  if (Stopped(options.stop)) return MatrixXf::Zero(rows, count);
  Multiply(law.vectors.cast<float>(), c, options.threads, &columns,
           options.stop);
  return (columns + rest).cwiseMax(0.0f) / std::sqrt(static_cast<float>(count));
}

// Public columns among the drawn ones, evenly spread; the drawn ones have what
// the public ones leave of the trace.
MatrixXf AmongKnown(const DenoisedMoments& moments, double most,
                    MatrixXf drawn) {
  const Eigen::Index known = moments.known.cols();
  if (known == 0) return drawn;
  const double share =
      most *
      std::min(1.0, moments.known.cast<double>().squaredNorm() / moments.trace);
  drawn *= static_cast<float>(std::sqrt(1 - share));
  const auto known_scale = static_cast<float>(std::sqrt(most));
  const Eigen::Index count = drawn.cols() + known;
  MatrixXf all(drawn.rows(), count);
  Eigen::Index of_known = 0;
  for (Eigen::Index n = 0; n < count; ++n) {
    if ((n + 1) * known / count > of_known) {
      all.col(n) = known_scale * moments.known.col(of_known++);
    } else {
      all.col(n) = drawn.col(n - of_known);
    }
  }
  return all;
}

// An upper estimate of the largest eigenvalue of a positive semidefinite matrix
// by power iteration from *vector, which is kept for the next call.
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

// Sums over tasks of columns, added in order: the same for any thread count.
template <typename Work>
double SumOfTasks(const MatrixXf& x, const FitOptions& options,
                  const Work& work) {
  VectorXd sums = VectorXd::Zero((x.cols() + kTaskColumns - 1) / kTaskColumns);
  ForColumnTasks(x.cols(), options.threads, options.stop,
                 [&](Eigen::Index first, Eigen::Index count, const Stop&) {
                   sums(first / kTaskColumns) =
                       static_cast<double>(work(first, count));
                 });
  return sums.sum();
}

// X >= 0, |X|_F^2 <= trace.
void ProjectOntoTrace(double trace, const FitOptions& options, MatrixXf* x) {
  const double length =
      SumOfTasks(*x, options, [&](Eigen::Index first, Eigen::Index count) {
        auto task = x->middleCols(first, count);
        task = task.cwiseMax(0.0f);
        return task.squaredNorm();
      });
  if (length > trace) *x *= static_cast<float>(std::sqrt(trace / length));
}

// (X X' - target) X, target the law's second moment T; or, of a law that keeps
// few directions U, its part that concerns these and the diagonal: with
// S = U'(X X' - T) U and d = diag(X X' - T) - diag(U S U'), it is
// U S U' X + diag(d) X. Returns an upper estimate of |X X'|.
class Gradient {
 public:
  Gradient(const ColumnLaw& law, const FitOptions& options)
      : options_(options), is_full_(law.is_full()), diagonal_(law.diagonal) {
    const VectorXd squares = law.deviations.cwiseAbs2();
    if (is_full_) {
      target_ = Conjugated(law.vectors, law.values);
      target_.diagonal() += squares;
    } else {
      u_ = law.vectors.cast<float>();
      ut_ = u_.transpose();
      target_ =
          TransposeProduct(law.vectors, squares.asDiagonal() * law.vectors);
      target_.diagonal() += law.values;
    }
    top_ = VectorXd::Constant(target_.rows(),
                              1 / std::sqrt(double(target_.rows())));
  }

  double Compute(const MatrixXf& x, MatrixXf* gradient) {
    const int threads = options_.threads;
    const Stop& stop = options_.stop;
    if (!is_full_) Multiply(ut_, x, threads, &inner_, stop);
    const MatrixXf& y = is_full_ ? x : inner_;
    MultiplyTransposed(y, y, threads, &product_, stop);
    MatrixXd difference = product_.cast<double>();
    const double largest = LargestEigenvalue(difference, &top_);
    difference -= target_;
    product_ = difference.cast<float>();
    if (is_full_) {
      Multiply(product_, x, threads, gradient, stop);
      return largest;
    }
    Multiply(product_, inner_, threads, &outer_, stop);
    Multiply(u_, outer_, threads, gradient, stop);
    const VectorXf rest = (SquaresOfRows(x) - diagonal_).cast<float>() -
                          (u_ * product_).cwiseProduct(u_).rowwise().sum();
    ForColumnTasks(x.cols(), threads, stop,
                   [&](Eigen::Index first, Eigen::Index count, const Stop&) {
                     gradient->middleCols(first, count) +=
                         rest.asDiagonal() * x.middleCols(first, count);
                   });
    return largest;
  }

 private:
  VectorXd SquaresOfRows(const MatrixXf& x) const {
    MatrixXd sums =
        MatrixXd::Zero(x.rows(), (x.cols() + kTaskColumns - 1) / kTaskColumns);
    ForColumnTasks(
        x.cols(), options_.threads, options_.stop,
        [&](Eigen::Index first, Eigen::Index count, const Stop&) {
          sums.col(first / kTaskColumns) =
              x.middleCols(first, count).rowwise().squaredNorm().cast<double>();
        });
    return sums.rowwise().sum();
  }

  const FitOptions& options_;
  const bool is_full_;
  VectorXd diagonal_, top_;
  MatrixXd target_;
  MatrixXf u_, ut_, inner_, outer_, product_;
};

// Shares of the work of FitDictionary, for its progress.
constexpr double kShareOfMatching = 0.5, kShareOfTrials = 0.15;

void Report(const FitOptions& options, double share) {
  if (options.progress) options.progress(std::min(share, 1.0));
}

// Moves X toward min 1/4 |T - X X'|^2 (Lipschitz constant of the gradient near
// X about 2 |XX'|): FISTA (Beck and Teboulle 2009) with the gradient restart of
// O'Donoghue and Candes 2015.
void MatchMoment(const ColumnLaw& law, const FitOptions& options, MatrixXf* x) {
  const double trace = law.diagonal.sum();
  ProjectOntoTrace(trace, options, x);
  Gradient gradient(law, options);
  MatrixXf z = *x, step_to, next(x->rows(), x->cols());
  double momentum = 1;
  for (int step = 0; step < kMatchingSteps && !Stopped(options.stop); ++step) {
    const double lipschitz = 2 * gradient.Compute(z, &step_to);
    if (!(lipschitz > 0)) return;
    const auto length = static_cast<float>(1 / lipschitz);
    const double squares =
        SumOfTasks(z, options, [&](Eigen::Index first, Eigen::Index count) {
          auto task = next.middleCols(first, count);
          task = (z.middleCols(first, count) -
                  length * step_to.middleCols(first, count))
                     .cwiseMax(0.0f);
          return task.squaredNorm();
        });
    const auto scale =
        static_cast<float>(squares > trace ? std::sqrt(trace / squares) : 1.0);
    const double against =
        SumOfTasks(z, options, [&](Eigen::Index first, Eigen::Index count) {
          auto task = next.middleCols(first, count);
          task *= scale;
          return (z.middleCols(first, count) - task)
              .cwiseProduct(task - x->middleCols(first, count))
              .sum();
        });
    const double after = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const auto push =
        static_cast<float>(against > 0 ? 0.0 : (momentum - 1) / after);
    momentum = against > 0 ? 1 : after;
    ForColumnTasks(z.cols(), options.threads, options.stop,
                   [&](Eigen::Index first, Eigen::Index count, const Stop&) {
                     z.middleCols(first, count) =
                         next.middleCols(first, count) +
                         push * (next.middleCols(first, count) -
                                 x->middleCols(first, count));
                   });
    std::swap(*x, next);
    Report(options, kShareOfMatching * (step + 1) / kMatchingSteps);
  }
}

// Columns to length 1; those that have died become a column of X.
void Normalise(const MatrixXf& x, Draws* draws, MatrixXf* w, MatrixXf* h) {
  constexpr float kDead = 1e-12f;
  for (Eigen::Index k = 0; k < w->cols(); ++k) {
    float length = w->col(k).norm();
    if (!(length > kDead)) {
      w->col(k) = x.col(draws->Index(x.cols()));
      h->row(k).setZero();
      length = w->col(k).norm();
      if (!(length > kDead)) {
        w->col(k).setOnes();
        length = w->col(k).norm();
      }
    }
    w->col(k) /= length;
    h->row(k) *= length;
  }
}

// The start of Langville et al. 2006: means of five columns.
MatrixXf StartOf(const MatrixXf& x, int rank, Draws* draws) {
  MatrixXf w = MatrixXf::Zero(x.rows(), rank);
  for (int k = 0; k < rank; ++k) {
    for (int i = 0; i < 5; ++i) w.col(k) += x.col(draws->Index(x.cols()));
  }
  return w;
}

// The public parts that explain most, and random ones if there are too few.
MatrixXf StartAtParts(const MatrixXf& parts, const MatrixXf& x,
                      const FitOptions& options, Draws* draws) {
  const VectorXd shares = ExplainedBy(parts, x, options);
  std::vector<int> order(static_cast<std::size_t>(parts.cols()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return shares(a) > shares(b); });
  MatrixXf w = StartOf(x, options.rank, draws);
  const Eigen::Index count = std::min(parts.cols(), w.cols());
  order.resize(static_cast<std::size_t>(count));
  w.leftCols(count) = parts(Eigen::all, order);
  return w;
}

// min |X - W H|^2 over W, H >= 0, from w (M x K), until it falls no more or
// after `iterations`. Returns the last value.
double Factorise(const MatrixXf& x, int iterations, const FitOptions& options,
                 Draws* draws, MatrixXf* w, MatrixXf* h) {
  // Ends where so many iterations lower the value by less than this share of it
  // and of |X|^2: single precision knows no better.
  constexpr int kPatience = 5;
  constexpr double kLeastFall = 3e-4, kLeastOfAll = 1e-6;
  const int threads = options.threads;
  const Stop& stop = options.stop;
  const double total =
      SumOfTasks(x, options, [&](Eigen::Index at, Eigen::Index n) {
        return x.middleCols(at, n).squaredNorm();
      });
  *h = MatrixXf::Zero(w->cols(), x.cols());
  MatrixXf c, a, b, wt;
  Normalise(x, draws, w, h);
  double value = total, compared = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < iterations && !Stopped(stop);
       ++iteration) {
    wt = w->transpose();
    Multiply(wt, x, threads, &c, stop);
    MultiplyTransposed(wt, wt, threads, &a, stop);
    SweepNonNegative(a, c, iteration == 0 ? kFirstSweeps : kColumnSweeps,
                     threads, h, stop);
    MultiplyTransposed(*h, *h, threads, &a, stop);
    MultiplyTransposed(*h, x, threads, &b, stop);  // B': K x M
    a.diagonal().array() += 1e-7f * a.diagonal().maxCoeff();
    SweepNonNegative(a, b, kDictionarySweeps, threads, &wt, stop);
    const MatrixXd exact = wt.cast<double>();
    value = total + exact
                        .cwiseProduct(Product(a.cast<double>(), exact, stop) -
                                      2 * b.cast<double>())
                        .sum();
    *w = wt.transpose();
    Normalise(x, draws, w, h);
    if (iteration % kPatience == 0) {
      if (compared - value < kLeastFall * value + kLeastOfAll * total) break;
      compared = value;
    }
  }
  return value;
}

// Puts the direction that all people share in the place of the part that
// explains least, if what the parts together leave of it is more than that part
// explains. So W is not much worse than a mean alone where the other parts are
// noise. `length`: of what |X| = 1 stands for.
void KeepDirection(const VectorXd& direction, double length, const MatrixXf& x,
                   const FitOptions& options, MatrixXf* w, VectorXd* shares) {
  constexpr int kSweeps = 200;
  // Parts that were fitted to noise explain more of people than of columns that
  // are drawn: they differ.
  constexpr double kClearly = 4;
  if (direction.size() == 0) return;
  const MatrixXd parts = w->cast<double>();
  MatrixXd usage = MatrixXd::Zero(parts.cols(), 1);
  SweepNonNegative(TransposeProduct(parts, parts),
                   TransposeProduct(parts, direction), kSweeps, 1, &usage);
  const double left = (direction - parts * usage.col(0)).squaredNorm();
  Eigen::Index least = 0;
  if (!(left > kClearly * shares->minCoeff(&least) * length)) return;
  w->col(least) = direction.normalized().cast<float>();
  *shares = ExplainedBy(*w, x, options);
}

absl::Status CheckFit(const DenoisedMoments& moments,
                      const FitOptions& options) {
  if (!(options.rank >= 1 && options.rank <= kLargestRank)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "rank-out-of-range",
        absl::StrCat("`rank` must be from 1 to ", kLargestRank, "."));
  }
  DPNMF_RETURN_IF_ERROR(CheckFitLaw(options.law));
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
  result.g = g + DrawNoise(moments, draws);
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

FitWork WorkOfFit(int rows, int rank, bool has_order) {
  // In units of M^3: the estimate, and the choice of patterns.
  constexpr double kDecompositions = 50, kChoiceOfPatterns = 140;
  // In units of M^2: matrices of the fit, and of two splits at once.
  constexpr double kMatrices = 14, kMatricesOfPatterns = 35;
  constexpr double kSingle = 0.5;  // what single precision costs
  const double m = rows, k = rank;
  const auto n = static_cast<double>(SyntheticColumns(rows));
  const double sweeps =
      k * k * (kColumnSweeps * n + kDictionarySweeps * m + n + 2 * m);
  const double u = kMostDirections;
  const double step = rows <= kMostFullRows ? 2 * m * m : 2 * m * u + 2 * u * u;
  const double iterations =
      kFitIterations + StartCount(rows, rank) * kTrialIterations / 3.0;
  return {(has_order ? kMatricesOfPatterns : kMatrices) * m * m + 4 * m * n +
              2 * k * n,
          (kDecompositions + (has_order ? kChoiceOfPatterns : 0)) * m * m * m +
              kSingle * (kMatchingSteps * step * n +
                         iterations * (2 * k * m * n + sweeps))};
}

namespace {

absl::StatusOr<MatrixXf> DrawMatched(const DenoisedMoments& moments,
                                     double most_known, Eigen::Index count,
                                     const FitOptions& options) {
  const ColumnLaw law = LawOf(moments, options);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  MatrixXf x =
      AmongKnown(moments, most_known, DrawColumns(law, count, options));
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  MatchMoment(law, options, &x);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  x *= static_cast<float>(
      std::sqrt(static_cast<double>(x.cols()) /
                std::max(static_cast<double>(x.squaredNorm()), 1e-30)));
  return x;
}

// Every second public column, from the first or the second, with the moment of
// all.
DenoisedMoments WithHalfKnown(const DenoisedMoments& moments,
                              Eigen::Index first) {
  DenoisedMoments half = moments;
  const Eigen::Index count = (moments.known.cols() + 1 - first) / 2;
  half.known.resize(moments.known.rows(), count);
  for (Eigen::Index n = 0; n < count; ++n)
    half.known.col(n) = moments.known.col(2 * n + first);
  const double before = moments.known.cast<double>().squaredNorm();
  const double after = half.known.cast<double>().squaredNorm();
  if (after > 0) half.known *= static_cast<float>(std::sqrt(before / after));
  return half;
}

// kKnownShare or 1, by what a short fit with one half of the public columns
// leaves of the other half, both brought to the estimate; 1 only if clearly
// better.
absl::StatusOr<double> KnownShareFor(const DenoisedMoments& moments,
                                     const FitOptions& options) {
  if (moments.known.cols() < kFewestKnown) return kKnownShare;
  constexpr int kIterations = 60;
  // Two starts of a fit differ by less.
  constexpr double kClearly = 0.97;
  FitOptions quiet = options;
  quiet.progress = nullptr;
  quiet.start = MatrixXd();
  double left[2] = {0, 0};  // by each share, over both halves
  for (const Eigen::Index first : {0, 1}) {
    DPNMF_ASSIGN_OR_RETURN(const MatrixXf held_out,
                           DrawMatched(WithHalfKnown(moments, 1 - first), 1.0,
                                       kTaskColumns, quiet));
    const DenoisedMoments half = WithHalfKnown(moments, first);
    for (const int which : {0, 1}) {
      DPNMF_ASSIGN_OR_RETURN(
          const MatrixXf x, DrawMatched(half, which == 0 ? kKnownShare : 1.0,
                                        TrialColumns(moments.g.rows()), quiet));
      const ColumnFit fit = FitColumns(x, kIterations, quiet);
      left[which] += 1 - ExplainedBy(fit.w, held_out, quiet).sum();
    }
  }
  return left[1] < kClearly * left[0] ? 1.0 : kKnownShare;
}

}  // namespace

absl::StatusOr<MatrixXf> DrawMatchedColumns(const DenoisedMoments& moments,
                                            Eigen::Index count,
                                            const FitOptions& options) {
  return DrawMatched(moments, kKnownShare, count, options);
}

ColumnFit FitColumns(const MatrixXf& x, int iterations,
                     const FitOptions& options) {
  Draws draws(options.seed);
  ColumnFit fit;
  fit.w = options.start.size() > 0 ? MatrixXf(options.start.cast<float>())
                                   : StartOf(x, options.rank, &draws);
  fit.value = Factorise(x, iterations, options, &draws, &fit.w, &fit.h);
  return fit;
}

VectorXd ExplainedBy(const MatrixXf& w, const MatrixXf& x,
                     const FitOptions& options) {
  const int threads = options.threads;
  MatrixXf c, a, h = MatrixXf::Zero(w.cols(), x.cols());
  const MatrixXf wt = w.transpose();
  Multiply(wt, x, threads, &c, options.stop);
  MultiplyTransposed(wt, wt, threads, &a, options.stop);
  SweepNonNegative(a, c, kFirstSweeps, threads, &h, options.stop);
  MatrixXf b;
  MultiplyTransposed(h, h, threads, &b, options.stop);
  const double total = x.cast<double>().squaredNorm();
  return a.cast<double>().cwiseProduct(b.cast<double>()).rowwise().sum() /
         std::max(total, 1e-30);
}

absl::StatusOr<MatrixXd> FitDictionary(const DenoisedMoments& moments,
                                       const FitOptions& options,
                                       VectorXd* explained) {
  DPNMF_RETURN_IF_ERROR(CheckFit(moments, options));
  DPNMF_ASSIGN_OR_RETURN(const double most_known,
                         KnownShareFor(moments, options));
  DPNMF_ASSIGN_OR_RETURN(
      const MatrixXf x,
      DrawMatched(moments, most_known, SyntheticColumns(moments.g.rows()),
                  options));
  Draws draws(options.seed);
  MatrixXf w = options.start.cast<float>(), h;
  const bool is_started = w.size() > 0;
  if (!is_started) {
    const MatrixXf trial = x.leftCols(TrialColumns(x.rows()));
    double least = std::numeric_limits<double>::infinity();
    const bool has_parts = moments.parts.cols() > 0;
    const int starts = StartCount(x.rows(), options.rank) + (has_parts ? 1 : 0);
    for (int start = 0; start < starts; ++start) {
      MatrixXf one = has_parts && start + 1 == starts
                         ? StartAtParts(moments.parts, trial, options, &draws)
                         : StartOf(x, options.rank, &draws);
      const double value =
          Factorise(trial, kTrialIterations, options, &draws, &one, &h);
      if (start == 0 || value < least) {
        least = value;
        w = std::move(one);
      }
      Report(options, kShareOfMatching + kShareOfTrials * (start + 1) / starts);
    }
  }
  Factorise(x, kFitIterations, options, &draws, &w, &h);
  if (!options.law.is_plain()) {
    FitByLaw(x, options.law, kFitIterations, options.threads, options.stop, &w,
             &h);
  }
  VectorXd shares = ExplainedBy(w, x, options);
  // A part that is put in would break the bounds of another law.
  if (!is_started && options.law.is_plain()) {
    KeepDirection(moments.direction, moments.trace, x, options, &w, &shares);
  }
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(options.stop));
  MatrixXd result = w.cast<double>();
  result.colwise().normalize();
  if (!is_started) {
    std::vector<int> order(static_cast<std::size_t>(w.cols()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return shares(a) > shares(b); });
    result = result(Eigen::all, order).eval();
    shares = shares(order).eval();
  }
  Report(options, 1);
  if (explained != nullptr) *explained = std::move(shares);
  return result;
}

namespace {

// Calls visit(draws, W) for W fitted from w to each of `replicates` draws of
// the noise around the estimate, its columns in the order of w's.
template <typename Visit>
absl::Status ForReplicates(const NoisedMoments& moments,
                           const DenoisedMoments& denoised, const MatrixXd& w,
                           const FitOptions& options, int replicates,
                           const Visit& visit) {
  if (!(replicates >= 2 && replicates <= 1000)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "bootstrap-out-of-range",
                   "Standard errors take 2 to 1000 replicates.");
  }
  FitOptions fit = options;
  fit.start = w;
  fit.progress = nullptr;
  DPNMF_RETURN_IF_ERROR(CheckFit(denoised, fit));
  NoisedMoments known = moments;  // what every replicate would make again
  if (moments.order != nullptr && moments.patterns == nullptr) {
    known.patterns = std::make_shared<const Patterns>(
        PatternsOf(*moments.order, options.stop, options.threads));
  }
  Draws draws(options.seed ^ 0x9e3779b97f4a7c15u);
  for (int replicate = 0; replicate < replicates; ++replicate) {
    DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments again,
                           DenoiseMoments(Renoised(known, denoised.g, &draws),
                                          options.stop, options.threads));
    DPNMF_ASSIGN_OR_RETURN(const MatrixXd fitted, FitDictionary(again, fit));
    visit(&draws, Matched(fitted, w));
    Report(options, (replicate + 1.0) / replicates);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatrixXd> DictionaryStandardErrors(
    const NoisedMoments& moments, const DenoisedMoments& denoised,
    const MatrixXd& w, const FitOptions& options,
    const BootstrapOptions& bootstrap) {
  // Sums are over differences from the first replicate: less cancellation.
  MatrixXd first, sum, squares;
  DPNMF_RETURN_IF_ERROR(ForReplicates(
      moments, denoised, w, options, bootstrap.replicates,
      [&](Draws* draws, MatrixXd fitted) {
        if (bootstrap.lift != nullptr)
          fitted = Lifted(fitted, *bootstrap.lift, draws);
        if (first.size() == 0) {
          first = fitted;
          sum = squares = MatrixXd::Zero(fitted.rows(), fitted.cols());
        }
        sum += fitted - first;
        squares += (fitted - first).cwiseAbs2();
      }));
  const double count = bootstrap.replicates;
  return MatrixXd(
      ((squares - sum.cwiseAbs2() / count).cwiseMax(0.0) / (count - 1))
          .cwiseSqrt());
}

absl::StatusOr<PartFacts> PartFactsOf(const NoisedMoments& moments,
                                      const DenoisedMoments& denoised,
                                      const MatrixXd& w,
                                      const FitOptions& options,
                                      int replicates) {
  PartFacts facts;
  facts.reliability = VectorXd::Zero(w.cols());
  DPNMF_RETURN_IF_ERROR(ForReplicates(
      moments, denoised, w, options, replicates,
      [&](Draws*, const MatrixXd& fitted) {
        facts.reliability +=
            fitted.cwiseProduct(w).colwise().sum().transpose() / replicates;
      }));
  facts.reliability = facts.reliability.cwiseMin(1.0);
  DPNMF_ASSIGN_OR_RETURN(
      const MatrixXf x,
      DrawMatchedColumns(denoised, SyntheticColumns(w.rows()), options));
  facts.explained = ExplainedBy(w.cast<float>(), x, options);
  return facts;
}

}  // namespace dpnmf
