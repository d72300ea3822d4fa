#include "common/moments/fit_law.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

constexpr int kSweepsOfH = 3;
constexpr float kLeastModel = 1e-12f;

// x log(x/m) - x + m.
double DivergenceOfEntry(float x, float model) {
  const double m = std::max(model, kLeastModel);
  const double of_x = x;
  return of_x > 0 ? of_x * std::log(of_x / m) - of_x + m : m;
}

// One update of H where W is fixed, and the divergence before it if that is
// wanted (else 0); *ratio (M x n) becomes X / (W H) with the new H if it is.
double UpdateUsage(const MatrixXf& x, const MatrixXf& w, bool is_valued,
                   int threads, const Stop& stop, MatrixXf* h,
                   MatrixXf* ratio) {
  const MatrixXf wt = w.transpose();
  const VectorXf sums = wt.rowwise().sum().cwiseMax(kLeastModel);
  VectorXd values =
      VectorXd::Zero((x.cols() + kTaskColumns - 1) / kTaskColumns);
  ForColumnTasks(
      x.cols(), threads, stop, [&](Index first, Index count, const Stop& ask) {
        const auto columns = x.middleCols(first, count);
        auto usage = h->middleCols(first, count);
        MatrixXf model = w * usage;
        double value = 0;
        for (Index n = 0; n < count && is_valued; ++n) {
          for (Index i = 0; i < model.rows(); ++i)
            value += DivergenceOfEntry(columns(i, n), model(i, n));
        }
        values(first / kTaskColumns) = value;
        if (Stopped(ask)) return;
        model = columns.cwiseQuotient(model.cwiseMax(kLeastModel));
        usage.array() *= (wt * model).array().colwise() / sums.array();
        if (ratio == nullptr) return;
        model.noalias() = w * usage;
        ratio->middleCols(first, count) =
            columns.cwiseQuotient(model.cwiseMax(kLeastModel));
      });
  return values.sum();
}

// Columns of W to length 1, what WH is stays.
void NormaliseParts(MatrixXf* w, MatrixXf* h) {
  for (Index k = 0; k < w->cols(); ++k) {
    const float length = w->col(k).norm();
    if (!(length > 0)) continue;
    w->col(k) /= length;
    h->row(k) *= length;
  }
}

// A usage for each part to begin at: multiplicative updates keep zeros.
void BeginUsage(const MatrixXf& x, const MatrixXf& w, MatrixXf* h) {
  const Eigen::RowVectorXf sums = x.colwise().sum();
  const float parts = w.sum();
  *h = VectorXf::Ones(w.cols()) * (sums / std::max(parts, kLeastModel));
}

void FitDivergence(const MatrixXf& x, int iterations, int threads,
                   const Stop& stop, MatrixXf* w, MatrixXf* h) {
  constexpr int kPatience = 20, kFirstUpdates = 20;
  constexpr double kLeastFall = 1e-4;
  *w = w->cwiseMax(kLeastDivergentEntry);
  h->setZero(w->cols(), x.cols());
  NormaliseParts(w, h);
  BeginUsage(x, *w, h);
  for (int update = 0; update < kFirstUpdates; ++update)
    UpdateUsage(x, *w, /*is_valued=*/false, threads, stop, h, nullptr);
  MatrixXf ratio(x.rows(), x.cols()), numerator;
  double compared = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < iterations && !Stopped(stop);
       ++iteration) {
    const bool is_valued = iteration % kPatience == 0;
    const double value =
        UpdateUsage(x, *w, is_valued, threads, stop, h, &ratio);
    MultiplyTransposed(ratio, *h, threads, &numerator, stop);
    const Eigen::RowVectorXf sums =
        h->rowwise().sum().transpose().cwiseMax(kLeastModel);
    w->array() *= numerator.array().rowwise() / sums.array();
    *w = w->cwiseMax(kLeastDivergentEntry *
                     std::max(w->maxCoeff(), kLeastModel));
    NormaliseParts(w, h);
    if (is_valued) {
      if (compared - value < kLeastFall * value) break;
      compared = value;
    }
  }
}

void FitSparsely(const MatrixXf& x, double sparseness, int iterations,
                 int threads, const Stop& stop, MatrixXf* w, MatrixXf* h) {
  constexpr int kPatience = 5;
  constexpr double kLeastFall = 3e-4;
  MatrixXf c, a, b;
  h->setZero(w->cols(), x.cols());
  double compared = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < w->cols(); ++k)
    w->col(k) = SparseDirection(w->col(k), sparseness);
  const double total = x.cast<double>().squaredNorm();
  for (int iteration = 0; iteration < iterations && !Stopped(stop);
       ++iteration) {
    const MatrixXf wt = w->transpose();
    Multiply(wt, x, threads, &c, stop);
    MultiplyTransposed(wt, wt, threads, &a, stop);
    SweepNonNegative(a, c, kSweepsOfH, threads, h, stop);
    MultiplyTransposed(*h, *h, threads, &a, stop);
    MultiplyTransposed(x, *h, threads, &b, stop);
    for (Index k = 0; k < w->cols(); ++k) {
      if (!(a(k, k) > 0)) continue;
      const VectorXf rest = b.col(k) - *w * a.col(k) + a(k, k) * w->col(k);
      w->col(k) = SparseDirection(rest, sparseness);
    }
    if (iteration % kPatience != 0) continue;
    const double value =
        total +
        w->cast<double>()
            .cwiseProduct(Product(w->cast<double>(), a.cast<double>(), stop) -
                          2 * b.cast<double>())
            .sum();
    if (compared - value < kLeastFall * value) break;
    compared = value;
  }
}

}  // namespace

std::string_view NameOf(Loss loss) {
  return loss == Loss::kKullbackLeibler ? "kl" : "squared";
}

absl::StatusOr<Loss> LossOfName(std::string_view name) {
  for (const Loss loss : {Loss::kSquared, Loss::kKullbackLeibler})
    if (name == NameOf(loss)) return loss;
  return Refusal(absl::StatusCode::kInvalidArgument, "loss-unknown",
                 "`loss` must be squared or kl.");
}

absl::Status CheckFitLaw(const FitLaw& law) {
  if (!(law.sparseness >= 0 && law.sparseness < 1)) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "sparseness-out-of-range",
                   "`sparse` must be from 0 to below 1: the least sparseness "
                   "of each part.");
  }
  if (law.loss != Loss::kSquared && law.sparseness > 0) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "loss-sparse",
        "`sparse` needs the loss squared: under kl the cost of a feature that "
        "is in no part is unbounded. Leave out one of the two.");
  }
  return absl::OkStatus();
}

double SparsenessOf(const VectorXd& w) {
  const double most = std::sqrt(static_cast<double>(w.size()));
  const double length = w.norm();
  if (w.size() < 2 || !(length > 0)) return 1;
  return (most - w.lpNorm<1>() / length) / (most - 1);
}

VectorXf SparseDirection(const VectorXf& c, double sparseness) {
  constexpr int kHalvings = 60;
  Index at = 0;
  const double top = c.maxCoeff(&at);
  VectorXd w = c.cast<double>().cwiseMax(0.0);
  if (!(top > 0)) {
    w.setZero();
    w(at) = 1;
    return w.cast<float>();
  }
  // Sparseness does not fall as t grows.
  if (SparsenessOf(w) < sparseness) {
    double low = 0, high = top;
    for (int step = 0; step < kHalvings; ++step) {
      const double t = (low + high) / 2;
      const VectorXd cut = (c.cast<double>().array() - t).cwiseMax(0.0);
      (SparsenessOf(cut) < sparseness ? low : high) = t;
    }
    w = (c.cast<double>().array() - high).cwiseMax(0.0);
    if (!(w.maxCoeff() > 0)) w(at) = 1;
  }
  return (w / w.norm()).cast<float>();
}

void FitByLaw(const MatrixXf& x, const FitLaw& law, int iterations, int threads,
              const Stop& stop, MatrixXf* w, MatrixXf* h) {
  if (law.loss == Loss::kKullbackLeibler)
    return FitDivergence(x, iterations, threads, stop, w, h);
  FitSparsely(x, law.sparseness, iterations, threads, stop, w, h);
}

double DivergenceOf(const MatrixXf& x, const MatrixXd& w, int threads,
                    const Stop& stop) {
  constexpr int kMostUpdates = 1000, kPatience = 20;
  constexpr double kLeastFall = 1e-5;
  const MatrixXf parts = w.cast<float>().cwiseMax(kLeastDivergentEntry);
  MatrixXf h;
  BeginUsage(x, parts, &h);
  double compared = std::numeric_limits<double>::infinity(), value = compared;
  for (int update = 0; update < kMostUpdates && !Stopped(stop); ++update) {
    const bool is_valued = update % kPatience == 0;
    const double now =
        UpdateUsage(x, parts, is_valued, threads, stop, &h, nullptr);
    if (!is_valued) continue;
    value = now;
    if (compared - value < kLeastFall * value) break;
    compared = value;
  }
  return value / static_cast<double>(std::max<Index>(1, x.cols()));
}

}  // namespace dpnmf
