#include "lab/complete/aux_nmf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/error.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;

// Widths that the compiler knows; more columns take the loop of any width.
Index PaddedWidth(Index width) {
  for (const Index padded : {4, 8, 12, 16, 32})
    if (width <= padded) return padded;
  return (width + 3) / 4 * 4;
}

RowMatrix Padded(const RowMatrix& matrix) {
  RowMatrix padded = RowMatrix::Zero(matrix.rows(), PaddedWidth(matrix.cols()));
  if (matrix.size() > 0) padded.leftCols(matrix.cols()) = matrix;
  return padded;
}

// Sums over the entries r_j of one row, with the predictions p_j = x.b_j:
// *rated = sum r_j b_j, *predicted = sum p_j b_j; returns sum (r_j - p_j)^2.
template <int kWidth>
double RowSums(const SparseRatings& ratings, Index row, const RowMatrix& basis,
               const double* x, double* rated, double* predicted) {
  using Row = Eigen::Array<double, kWidth, 1>;
  const Index width = basis.cols();
  const Row own = Eigen::Map<const Row>(x, width);
  Row rated_sum = Row::Zero(width), predicted_sum = Row::Zero(width);
  double squares = 0;
  for (std::size_t at = ratings.Begin(row); at < ratings.Begin(row + 1); ++at) {
    const Eigen::Map<const Row> b(
        basis.data() + Index{ratings.indices[at]} * width, width);
    const double r = ratings.values[at];
    const double p = (own * b).sum();
    rated_sum += r * b;
    predicted_sum += p * b;
    squares += (r - p) * (r - p);
  }
  Eigen::Map<Row>(rated, width) = rated_sum;
  Eigen::Map<Row>(predicted, width) = predicted_sum;
  return squares;
}

using RowSumsFunction = double (*)(const SparseRatings&, Index,
                                   const RowMatrix&, const double*, double*,
                                   double*);
RowSumsFunction RowSumsOf(Index width) {
  switch (width) {
    case 4:
      return RowSums<4>;
    case 8:
      return RowSums<8>;
    case 12:
      return RowSums<12>;
    case 16:
      return RowSums<16>;
    case 32:
      return RowSums<32>;
    default:
      return RowSums<Eigen::Dynamic>;
  }
}

// Sums over one row r: *rated = sum r_j b_j, *gram = sum b_j b_j'; returns sum
// r_j^2.
template <int kWidth>
double GramOfRow(const SparseRatings& ratings, Index row,
                 const RowMatrix& basis, double* rated, double* gram) {
  using Row = Eigen::Array<double, kWidth, 1>;
  const Index width = basis.cols();
  Row rated_sum = Row::Zero(width);
  Eigen::Map<Eigen::Array<double, kWidth, kWidth>> products(gram, width, width);
  products.setZero();
  double squares = 0;
  for (std::size_t at = ratings.Begin(row); at < ratings.Begin(row + 1); ++at) {
    const Row b = Eigen::Map<const Row>(
        basis.data() + Index{ratings.indices[at]} * width, width);
    const double r = ratings.values[at];
    rated_sum += r * b;
    for (Index c = 0; c < width; ++c) products.col(c) += b[c] * b;
    squares += r * r;
  }
  Eigen::Map<Row>(rated, width) = rated_sum;
  return squares;
}

using GramOfRowFunction = double (*)(const SparseRatings&, Index,
                                     const RowMatrix&, double*, double*);
GramOfRowFunction GramOfRowOf(Index width) {
  switch (width) {
    case 4:
      return GramOfRow<4>;
    case 8:
      return GramOfRow<8>;
    case 12:
      return GramOfRow<12>;
    case 16:
      return GramOfRow<16>;
    default:
      return GramOfRow<Eigen::Dynamic>;
  }
}

int LabelOf(const Labels& labels, Index row) {
  return labels.empty() ? kNoLabel : labels[static_cast<std::size_t>(row)];
}

// |X - C|^2 over the rows that have a label.
double LabelLoss(const RowMatrix& x, const Labels& labels) {
  double loss = 0;
  for (Index row = 0; row < x.rows(); ++row) {
    const int label = LabelOf(labels, row);
    if (label == kNoLabel) continue;
    loss += x.row(row).squaredNorm() - 2 * x(row, label) + 1;
  }
  return loss;
}

struct Step {
  double squares = 0;  // |W o (R - X B')|^2 before the step
  RowMatrix x;         // after it
};

// X o= [alpha (W o R) B + w C] / [alpha (W o X B') B + w X], equations 21, 22
// and 37. Where the denominator is 0, L does not depend on the entry.
Step StepOfRows(const SparseRatings& ratings, const RowMatrix& basis,
                double alpha, double labels_weight, const Labels& labels,
                const RowMatrix& x) {
  const RowMatrix padded = Padded(basis);
  const Index width = padded.cols();
  const RowSumsFunction row_sums = RowSumsOf(width);
  Eigen::VectorXd own = Eigen::VectorXd::Zero(width), rated(width),
                  predicted(width);
  Step step;
  step.x = x;
  for (Index row = 0; row < x.rows(); ++row) {
    own.head(x.cols()) = x.row(row).transpose();
    step.squares += row_sums(ratings, row, padded, own.data(), rated.data(),
                             predicted.data());
    const int label = LabelOf(labels, row);
    const double weight = label == kNoLabel ? 0 : labels_weight;
    for (Index c = 0; c < x.cols(); ++c) {
      const double numerator = alpha * rated[c] + (label == c ? weight : 0);
      const double denominator = alpha * predicted[c] + weight * own[c];
      if (denominator > 0) step.x(row, c) = own[c] * (numerator / denominator);
    }
  }
  return step;
}

// S o= [U' (W o R) V] / [U' (W o U S V') V], equation 23.
void StepOfS(const SparseRatings& ratings, AuxFactors* factors) {
  const RowMatrix padded = Padded(factors->v);
  const Index width = padded.cols();
  const RowSumsFunction row_sums = RowSumsOf(width);
  const RowMatrix us = factors->u * factors->s;
  Eigen::VectorXd own = Eigen::VectorXd::Zero(width), rated(width),
                  predicted(width);
  const Index l = factors->s.cols();
  RowMatrix numerator = RowMatrix::Zero(factors->s.rows(), l);
  RowMatrix denominator = numerator;
  for (Index row = 0; row < us.rows(); ++row) {
    own.head(l) = us.row(row).transpose();
    row_sums(ratings, row, padded, own.data(), rated.data(), predicted.data());
    numerator.noalias() +=
        factors->u.row(row).transpose() * rated.head(l).transpose();
    denominator.noalias() +=
        factors->u.row(row).transpose() * predicted.head(l).transpose();
  }
  factors->s =
      (denominator.array() > 0)
          .select(factors->s.array() * numerator.array() / denominator.array(),
                  factors->s.array())
          .matrix();
}

}  // namespace

absl::Status CheckAuxWeights(const AuxWeights& weights) {
  const double sum = weights.ratings + weights.people + weights.items;
  if (weights.ratings >= 0 && weights.people >= 0 && weights.items >= 0 &&
      std::abs(sum - 1) <= 1e-9)
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "complete-weights",
      absl::StrFormat(
          "`--weights` must be three numbers from 0 to 1 that add up to 1 "
          "(ratings, people, items); these add up to %g.",
          sum));
}

RowMatrix UniformMatrix(Index rows, Index columns, Draws* draws) {
  RowMatrix matrix(rows, columns);
  for (Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = draws->Uniform();
  return matrix;
}

AuxRun FitAuxNmf(const SparseRatings& ratings, const SparseRatings& by_item,
                 const Labels& people, const Labels& items,
                 const AuxWeights& weights, int rounds, AuxFactors start,
                 const std::function<bool()>& stop) {
  AuxRun run;
  run.factors = std::move(start);
  AuxFactors before;  // the last round
  for (int round = 0; round <= rounds; ++round) {
    AuxFactors& now = run.factors;
    // The step of U yields the squares of where it starts from: L so far.
    Step step = StepOfRows(ratings, now.v * now.s.transpose(), weights.ratings,
                           weights.people, people, now.u);
    const double objective = weights.ratings * step.squares +
                             weights.people * LabelLoss(now.u, people) +
                             weights.items * LabelLoss(now.v, items);
    if (round > 0 && !(objective <= run.objective.back())) {
      run.factors = std::move(before);
      run.undone = true;
      break;
    }
    run.objective.push_back(objective);
    if (round == rounds || (stop && stop())) break;
    before = now;
    now.u = std::move(step.x);
    now.v = StepOfRows(by_item, now.u * now.s, weights.ratings, weights.items,
                       items, now.v)
                .x;
    StepOfS(ratings, &now);
  }
  return run;
}

// Rows are independent of each other for a fixed basis. Of its ratings a row
// needs G = sum b_j b_j' and sum r_j b_j alone, which are summed once: x G
// stands for the predictions, and |r - x B'|^2 is |r|^2 - 2 x.(sum r_j b_j) +
// x G x'.
RowsRun FitRows(const SparseRatings& rows, const RowMatrix& basis,
                double ratings_weight, double labels_weight,
                const Labels& labels, int rounds, RowMatrix start) {
  const RowMatrix padded = Padded(basis);
  const Index width = padded.cols();
  const GramOfRowFunction gram_of_row = GramOfRowOf(width);
  RowsRun run;
  run.x = std::move(start);
  run.objective.assign(static_cast<std::size_t>(rounds) + 1, 0.0);
  Eigen::MatrixXd gram(width, width);
  Eigen::VectorXd rated(width), predicted(width);
  Eigen::VectorXd own = Eigen::VectorXd::Zero(width), next = own;
  for (Index row = 0; row < run.x.rows(); ++row) {
    const double squares =
        gram_of_row(rows, row, padded, rated.data(), gram.data());
    const int label = LabelOf(labels, row);
    const double weight = label == kNoLabel ? 0 : labels_weight;
    // The row's part of L; sets `predicted`.
    const auto loss_of = [&](const Eigen::VectorXd& x) {
      predicted.noalias() = gram * x;
      const double off = squares - 2 * x.dot(rated) + x.dot(predicted);
      const double from_label =
          label == kNoLabel ? 0 : x.squaredNorm() - 2 * x[label] + 1;
      return ratings_weight * std::max(off, 0.0) + weight * from_label;
    };
    own.head(run.x.cols()) = run.x.row(row).transpose();
    double loss = loss_of(own);
    run.objective[0] += loss;
    bool ended = false;
    for (int round = 1; round <= rounds; ++round) {
      if (!ended) {
        for (Index c = 0; c < run.x.cols(); ++c) {
          const double numerator =
              ratings_weight * rated[c] + (label == c ? weight : 0);
          const double denominator =
              ratings_weight * predicted[c] + weight * own[c];
          next[c] =
              denominator > 0 ? own[c] * (numerator / denominator) : own[c];
        }
        const double stepped = loss_of(next);
        ended = !(stepped <= loss);
        if (!ended) {
          own.swap(next);
          loss = stepped;
        }
      }
      run.objective[static_cast<std::size_t>(round)] += loss;
    }
    run.undone = run.undone || ended;
    run.x.row(row) = own.head(run.x.cols()).transpose();
  }
  return run;
}

ColdRows FillColdRows(const SparseRatings& ratings, const Labels& labels,
                      double labels_weight, Index begin, RowMatrix* x) {
  ColdRows cold;
  const int clusters =
      labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  // One more row for the mean of all.
  RowMatrix sums = RowMatrix::Zero(clusters + 1, x->cols());
  Eigen::VectorXd counts = Eigen::VectorXd::Zero(clusters + 1);
  for (Index row = 0; row < x->rows(); ++row) {
    if (ratings.IsEmptyRow(row)) continue;
    sums.row(clusters) += x->row(row);
    counts[clusters] += 1;
    if (const int label = LabelOf(labels, row); label != kNoLabel) {
      sums.row(label) += x->row(row);
      counts[label] += 1;
    }
  }
  for (Index row = begin; row < x->rows(); ++row) {
    if (!ratings.IsEmptyRow(row)) continue;
    const int label = LabelOf(labels, row);
    if (label != kNoLabel && labels_weight > 0) {
      x->row(row).setZero();
      (*x)(row, label) = 1;
      ++cold.by_weight;
      continue;
    }
    const bool known = label != kNoLabel && counts[label] > 0;
    const Index from = known ? label : clusters;
    x->row(row) = sums.row(from) / std::max(1.0, counts[from]);
    ++(known ? cold.by_cluster : cold.by_prior);
  }
  return cold;
}

}  // namespace dpnmf::curator::lab
