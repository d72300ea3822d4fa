#include "lab/complete/measures.h"

#include <cmath>

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;

// sum of n log2 n.
double Weighed(const std::map<double, std::int64_t>& counts) {
  double sum = 0;
  for (const auto& [value, count] : counts) {
    const auto n = static_cast<double>(count);
    sum += n * std::log2(n);
  }
  return sum;
}

std::int64_t Total(const std::map<double, std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const auto& [value, count] : counts) total += count;
  return total;
}

}  // namespace

void ConditionalEntropy::Add(double x, double y, std::int64_t times) {
  if (times == 0) return;
  by_x_[std::nearbyint(x)][y] += times;
}

// H(Y|X) = sum_x n_x/n (log n_x - sum_y n_xy/n_x log n_xy).
double ConditionalEntropy::Pi() const {
  double bits = 0;
  std::int64_t all = 0;
  for (const auto& [x, counts] : by_x_) {
    const std::int64_t total = Total(counts);
    const auto n = static_cast<double>(total);
    bits += n * std::log2(n) - Weighed(counts);
    all += total;
  }
  return all == 0 ? kNotMeasured : std::exp2(bits / static_cast<double>(all));
}

double ConditionalEntropy::Ceiling() const {
  Counts y;
  for (const auto& [x, counts] : by_x_)
    for (const auto& [value, count] : counts) y[value] += count;
  const auto n = static_cast<double>(Total(y));
  return n == 0 ? kNotMeasured : std::exp2(std::log2(n) - Weighed(y) / n);
}

CompletionMeasures Measure(const SparseRatings& train,
                           const SparseRatings& test, const CompletedRow& row) {
  ConditionalEntropy rated, all;
  // Cells without a rating, by the rounded value.
  std::map<double, std::int64_t> unrated;
  double errors = 0;
  std::map<double, std::int64_t>::iterator last = unrated.end();
  for (Index i = 0; i < train.rows(); ++i) {
    const Eigen::VectorXd completed = row(i);
    std::size_t at = train.Begin(i);
    const std::size_t end = train.Begin(i + 1);
    for (Index j = 0; j < train.columns; ++j) {
      if (at < end && train.indices[at] == j) {
        rated.Add(completed[j], train.values[at]);
        all.Add(completed[j], train.values[at]);
        ++at;
        continue;
      }
      const double x = std::nearbyint(completed[j]);
      if (last == unrated.end() || last->first != x)
        last = unrated.try_emplace(x, 0).first;
      ++last->second;
    }
    for (std::size_t t = test.Begin(i); t < test.Begin(i + 1); ++t)
      errors += std::abs(test.values[t] - completed[test.indices[t]]);
  }
  for (const auto& [x, count] : unrated) all.Add(x, 0, count);
  CompletionMeasures measures;
  measures.tested = static_cast<std::int64_t>(test.size());
  if (measures.tested > 0)
    measures.mae = errors / static_cast<double>(measures.tested);
  measures.pi_all = all.Pi();
  measures.ceiling_all = all.Ceiling();
  measures.pi_rated = rated.Pi();
  measures.ceiling_rated = rated.Ceiling();
  return measures;
}

std::vector<double> AbsoluteErrors(const SparseRatings& test,
                                   const CompletedRow& row) {
  std::vector<double> errors;
  for (Index i = 0; i < test.rows(); ++i) {
    if (test.IsEmptyRow(i)) continue;
    const Eigen::VectorXd completed = row(i);
    for (std::size_t at = test.Begin(i); at < test.Begin(i + 1); ++at)
      errors.push_back(std::abs(test.values[at] - completed[test.indices[at]]));
  }
  return errors;
}

}  // namespace dpnmf::curator::lab
