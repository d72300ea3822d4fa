#include "lab/distort/nmf.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/stopwatch.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// Rows that are worked on together: some columns of them stay in the cache.
constexpr Index kRows = 128;

double DotOf(const double* a, const double* b, Index count) {
  return Eigen::Map<const Eigen::VectorXd>(a, count).dot(
      Eigen::Map<const Eigen::VectorXd>(b, count));
}

// sum += x q, where x has `rank` columns that lie `stride` apart.
void AddProduct(const double* x, Index stride, const double* q, Index rank,
                Index rows, double* __restrict sum) {
  Index l = 0;
  for (; l + 4 <= rank; l += 4) {
    const double* const x0 = x + l * stride;
    const double* const x1 = x0 + stride;
    const double* const x2 = x1 + stride;
    const double* const x3 = x2 + stride;
    for (Index i = 0; i < rows; ++i) {
      sum[i] +=
          q[l] * x0[i] + q[l + 1] * x1[i] + q[l + 2] * x2[i] + q[l + 3] * x3[i];
    }
  }
  for (; l < rank; ++l)
    for (Index i = 0; i < rows; ++i) sum[i] += q[l] * x[l * stride + i];
}

// The part of a gradient that a step within X >= 0 can follow, squared:
// entries that are negative, and those where X > `nothing`.
double SquaredProjection(const double* x, const double* gradient, Index count,
                         double nothing) {
  double part[kRows];
  double sum = 0;
  for (Index first = 0; first < count; first += kRows) {
    const Index rows = std::min(kRows, count - first);
    for (Index i = 0; i < rows; ++i) {
      const double g = gradient[first + i];
      part[i] = x[first + i] > nothing ? g : std::min(g, 0.0);
    }
    sum += DotOf(part, part, rows);
  }
  return sum;
}

double SquaredProjection(const MatrixXd& x, const MatrixXd& gradient,
                         double nothing = 0) {
  return SquaredProjection(x.data(), gradient.data(), x.size(), nothing);
}

// min 1/2 tr(X Q X') - tr(X B') over X >= 0. X, B: rows x rank. Both halves of
// the factorisation are of this form: X = W, Q = H H', B = A H', and X = H',
// Q = W'W, B = A'W.
class Subproblem {
 public:
  Subproblem(Index rows, Index rank)
      : gradient_(rows, rank),
        trial_{MatrixXd(rows, rank), MatrixXd(rows, rank)},
        older_{MatrixXd(rows, rank), MatrixXd(rows, rank)},
        step_(kRows, rank) {}

  // X Q - B.
  const MatrixXd& SetGradient(const MatrixXd& x, const MatrixXd& q,
                              const MatrixXd& b) {
    const Index rows = x.rows(), rank = x.cols();
    for (Index first = 0; first < rows; first += kRows) {
      const Index count = std::min(kRows, rows - first);
      for (Index j = 0; j < rank; ++j) {
        double* const g = gradient_.data() + j * rows + first;
        const double* const of_b = b.data() + j * rows + first;
        for (Index i = 0; i < count; ++i) g[i] = -of_b[i];
        AddProduct(x.data() + first, rows, q.data() + j * rank, rank, count, g);
      }
    }
    return gradient_;
  }

  // From X and its gradient, which SetGradient left: both are the last ones on
  // return. How many iterations it took.
  int Solve(const MatrixXd& q, double tolerance, MatrixXd* x) {
    constexpr int kMostIterations = 1000, kMostTrials = 20;
    constexpr double kBeta = 0.1;
    double alpha = 1;
    int iteration = 1;
    for (; iteration <= kMostIterations; ++iteration) {
      if (std::sqrt(SquaredProjection(*x, gradient_)) < tolerance) break;
      bool shrinks = false, done = false;
      for (int trial = 0; trial < kMostTrials && !done; ++trial) {
        const bool decreases = Try(*x, q, alpha);
        if (trial == 0) shrinks = !decreases;
        if (shrinks) {
          done = decreases;
          if (done) {
            std::swap(trial_, older_);
          } else {
            alpha *= kBeta;
          }
          continue;
        }
        // Larger steps as long as they decrease enough and lead elsewhere.
        done = !decreases || (trial > 0 && older_.x == trial_.x);
        if (!done) {
          alpha /= kBeta;
          std::swap(trial_, older_);
        }
      }
      if (!done && shrinks) continue;  // no step was found
      std::swap(*x, older_.x);
      gradient_ += older_.step_q;
    }
    return iteration;
  }

 private:
  struct Trial {
    MatrixXd x;       // max(X - alpha gradient, 0)
    MatrixXd step_q;  // (x - X) Q
  };

  // Sets trial_ and returns true if the step decreases enough: with d = x - X,
  // (1 - sigma) <gradient, d> + 1/2 <d Q, d> < 0, sigma = .01.
  bool Try(const MatrixXd& x, const MatrixXd& q, double alpha) {
    const Index rows = x.rows(), rank = x.cols();
    double along = 0, curvature = 0;
    for (Index first = 0; first < rows; first += kRows) {
      const Index count = std::min(kRows, rows - first);
      for (Index j = 0; j < rank; ++j) {
        const double* const from = x.data() + j * rows + first;
        const double* const g = gradient_.data() + j * rows + first;
        double* __restrict const to = trial_.x.data() + j * rows + first;
        double* __restrict const d = step_.data() + j * kRows;
        for (Index i = 0; i < count; ++i) {
          to[i] = std::max(from[i] - alpha * g[i], 0.0);
          d[i] = to[i] - from[i];
        }
        along += DotOf(g, d, count);
      }
      for (Index j = 0; j < rank; ++j) {
        double* const product = trial_.step_q.data() + j * rows + first;
        std::fill_n(product, count, 0.0);
        AddProduct(step_.data(), kRows, q.data() + j * rank, rank, count,
                   product);
        curvature += DotOf(product, step_.data() + j * kRows, count);
      }
    }
    return 0.99 * along + 0.5 * curvature < 0;
  }

  MatrixXd gradient_;
  Trial trial_, older_;  // of the current step and the one tried before it
  MatrixXd step_;        // of one block
};

// Bound up to which an entry of a multiplicative update counts as 0.
constexpr double kNothing = 1e-16;

// X o= B / (X Q + 1e-9). Never 0, so that an entry that was made small too soon
// grows again; no denormal number, which is slow.
void Scale(const MatrixXd& b, const MatrixXd& of_x, MatrixXd* x) {
  for (Index i = 0; i < x->size(); ++i) {
    const double scaled = x->data()[i] * b.data()[i] / (of_x.data()[i] + 1e-9);
    x->data()[i] = std::max(scaled, std::numeric_limits<double>::min());
  }
}

// State and stopping rules that both algorithms share. H is held as H' (columns
// x rank), so that both halves look alike.
class Iterations {
 public:
  Iterations(const MatrixXd& a, const NmfOptions& options, NmfFactors* start)
      : a_(a),
        options_(options),
        squared_a_(a.squaredNorm()),
        w(std::move(start->w)),
        ht(start->h.transpose()) {
    result_.first_objective = ResidualLength(a, w, start->h);
  }

  // Sets w'w and a'w from w.
  void ReadW() {
    wtw.noalias() = w.transpose() * w;
    atw.noalias() = a_.transpose() * w;
  }
  // Sets h h' and a h' from h.
  void ReadH() {
    hht.noalias() = ht.transpose() * ht;
    aht.noalias() = a_ * ht;
  }

  void SetFirstGradient(double length) { result_.first_gradient = length; }

  // Returns true if the projected gradient, of this length, or another rule
  // ends the iterations. `wtw` and `atw` are those of w.
  bool Ends(double projected_gradient) {
    result_.last_gradient = projected_gradient;
    result_.seconds = watch_.Seconds();
    const auto end = [this](NmfStop why) {
      result_.stop = why;
      return true;
    };
    // Rounding is all that remains of a gradient at a solution.
    if (projected_gradient <=
        std::max(options_.tolerance * result_.first_gradient,
                 1e-14 * squared_a_))
      return end(NmfStop::kTolerance);
    if (result_.iterations > 0 &&
        (options_.stop_at_vd.has_value() || options_.progress)) {
      // |A - WH|^2 = |A|^2 - 2 <H', A'W> + <H' W'W, H'>.
      const double squared = squared_a_ - 2 * ht.cwiseProduct(atw).sum() +
                             (ht * wtw).cwiseProduct(ht).sum();
      const double distortion = std::sqrt(std::max(squared, 0.0) / squared_a_);
      if (options_.progress) {
        options_.progress({.iteration = result_.iterations,
                           .distortion = distortion,
                           .seconds = result_.seconds});
      }
      if (options_.stop_at_vd.has_value() && distortion <= *options_.stop_at_vd)
        return end(NmfStop::kDistortion);
    }
    if (result_.iterations >= options_.iterations)
      return end(NmfStop::kIterations);
    if (result_.seconds > options_.seconds) return end(NmfStop::kSeconds);
    if (options_.stop && options_.stop()) return end(NmfStop::kStopped);
    ++result_.iterations;
    return false;
  }

  NmfResult Finish() {
    result_.factors.w = std::move(w);
    result_.factors.h = ht.transpose();
    result_.objective =
        ResidualLength(a_, result_.factors.w, result_.factors.h);
    return std::move(result_);
  }

 private:
  const MatrixXd& a_;
  const NmfOptions& options_;
  const double squared_a_;
  const Stopwatch watch_;
  NmfResult result_;

 public:
  MatrixXd w, ht;
  MatrixXd wtw, atw;  // rank x rank, columns x rank
  MatrixXd hht, aht;  // rank x rank, people x rank
};

}  // namespace

std::string_view NameOf(NmfStop stop) {
  switch (stop) {
    case NmfStop::kTolerance:
      return "tolerance";
    case NmfStop::kIterations:
      return "iterations";
    case NmfStop::kSeconds:
      return "seconds";
    case NmfStop::kDistortion:
      return "distortion";
    case NmfStop::kStopped:
      return "interrupted";
  }
  return "";
}

NmfFactors NmfStart(Index people, Index columns, Index rank, Draws* draws) {
  NmfFactors start{MatrixXd(people, rank), MatrixXd(rank, columns)};
  for (double& entry : start.w.reshaped()) entry = std::abs(draws->Normal());
  for (double& entry : start.h.reshaped()) entry = std::abs(draws->Normal());
  return start;
}

NmfResult NmfProjectedGradient(const MatrixXd& a, NmfFactors start,
                               const NmfOptions& options) {
  Iterations run(a, options, &start);
  Subproblem of_w(run.w.rows(), run.w.cols());
  Subproblem of_h(run.ht.rows(), run.ht.cols());
  run.ReadW();
  run.ReadH();
  const double first =
      std::sqrt(of_w.SetGradient(run.w, run.hht, run.aht).squaredNorm() +
                of_h.SetGradient(run.ht, run.wtw, run.atw).squaredNorm());
  run.SetFirstGradient(first);
  double w_tolerance = std::max(0.001, options.tolerance) * first;
  double h_tolerance = w_tolerance;
  while (!run.Ends(std::sqrt(
      SquaredProjection(run.w, of_w.SetGradient(run.w, run.hht, run.aht)) +
      SquaredProjection(run.ht, of_h.SetGradient(run.ht, run.wtw, run.atw))))) {
    if (of_w.Solve(run.hht, w_tolerance, &run.w) == 1) w_tolerance *= 0.1;
    run.ReadW();
    of_h.SetGradient(run.ht, run.wtw, run.atw);
    if (of_h.Solve(run.wtw, h_tolerance, &run.ht) == 1) h_tolerance *= 0.1;
    run.ReadH();
  }
  return run.Finish();
}

NmfResult NmfMultiplicative(const MatrixXd& a, NmfFactors start,
                            const NmfOptions& options) {
  Iterations run(a, options, &start);
  run.ReadW();
  run.ReadH();
  MatrixXd of_w, of_h;  // X Q of both halves
  const auto gradient_w = [&]() -> const MatrixXd& {
    of_w.noalias() = run.w * run.hht;
    return of_w;
  };
  const auto gradient_h = [&]() -> const MatrixXd& {
    of_h.noalias() = run.ht * run.wtw;
    return of_h;
  };
  run.SetFirstGradient(std::sqrt((gradient_w() - run.aht).squaredNorm() +
                                 (gradient_h() - run.atw).squaredNorm()));
  while (!run.Ends(
      std::sqrt(SquaredProjection(run.w, gradient_w() - run.aht, kNothing) +
                SquaredProjection(run.ht, gradient_h() - run.atw, kNothing)))) {
    // of_h is H' W'W of this W and H.
    Scale(run.atw, of_h, &run.ht);
    run.ReadH();
    Scale(run.aht, gradient_w(), &run.w);
    run.ReadW();
  }
  for (MatrixXd* x : {&run.w, &run.ht})
    *x = (x->array() > kNothing).select(*x, 0);
  return run.Finish();
}

void SortByLength(NmfFactors* factors) {
  const Index rank = factors->w.cols();
  std::vector<double> lengths;
  for (Index j = 0; j < rank; ++j)
    lengths.push_back(factors->w.col(j).norm() * factors->h.row(j).norm());
  std::vector<Index> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return lengths[static_cast<std::size_t>(a)] >
           lengths[static_cast<std::size_t>(b)];
  });
  *factors = {factors->w(Eigen::all, order), factors->h(order, Eigen::all)};
}

double ResidualLength(const MatrixXd& a, const MatrixXd& left,
                      const MatrixXd& right) {
  constexpr Index kBlock = 4096;
  double squared = 0;
  for (Index first = 0; first < a.rows(); first += kBlock) {
    const Index count = std::min(kBlock, a.rows() - first);
    squared +=
        (a.middleRows(first, count) - left.middleRows(first, count) * right)
            .squaredNorm();
  }
  return std::sqrt(squared);
}

double Sparseness(const MatrixXd& x) {
  if (x.size() < 2) return 0;
  const double length = x.norm();
  if (!(length > 0)) return 1;
  const double root = std::sqrt(static_cast<double>(x.size()));
  return (root - x.lpNorm<1>() / length) / (root - 1);
}

}  // namespace dpnmf::curator::lab
