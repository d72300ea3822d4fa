#include "lab/attack/reconstruction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "Eigen/Core"
#include "common/nmf/linear_algebra.h"
#include "lab/attack/figures.h"
#include "lab/attack/known_pairs.h"
#include "lab/attack/sampling.h"

namespace dpnmf::curator::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr Eigen::Index kMostColumnsToDenoise = 1500;

// The attacker's estimate of a column.
using Estimate = std::function<Eigen::VectorXd(Eigen::Index column)>;

Json Score(const Eigen::MatrixXd& original, const Reading& reading,
           const Estimate& estimate) {
  std::vector<bool> all_right(static_cast<std::size_t>(original.rows()), true);
  std::int64_t cells = 0;
  double squared_error = 0;
  for (Eigen::Index c = 0; c < original.cols(); ++c) {
    const Eigen::VectorXd column = estimate(c);
    const double error = reading.ErrorOf(c);
    squared_error += (column - original.col(c)).squaredNorm();
    for (Eigen::Index r = 0; r < original.rows(); ++r) {
      const bool right = std::abs(column[r] - original(r, c)) <= error;
      cells += right ? 1 : 0;
      if (!right) all_right[static_cast<std::size_t>(r)] = false;
    }
  }
  const double length = original.norm();
  return {{"cells",
           static_cast<double>(cells) / static_cast<double>(original.size())},
          {"rows",
           ToJson(ShareOf(std::count(all_right.begin(), all_right.end(), true),
                          original.rows()))},
          {"relative_error",
           length > 0 ? Json(std::sqrt(squared_error) / length) : Json()}};
}

// Columns of x map, from the first to the last: some at a time, so that a large
// x is read less often.
class ColumnsOf {
 public:
  ColumnsOf(const Eigen::MatrixXd& x, const Eigen::MatrixXd& map)
      : x_(x), map_(map) {}

  Eigen::VectorXd operator()(Eigen::Index c) {
    constexpr Eigen::Index kTogether = 8;
    if (c % kTogether == 0)
      product_.noalias() =
          x_ * map_.middleCols(c, std::min(kTogether, map_.cols() - c));
    return product_.col(c % kTogether);
  }

 private:
  const Eigen::MatrixXd& x_;
  const Eigen::MatrixXd& map_;
  Eigen::MatrixXd product_;
};

Eigen::VectorXd ReadAll(const Reading& reading, Eigen::VectorXd column,
                        Eigen::Index at) {
  for (double& value : column) value = reading.Read(value, at);
  return column;
}

// Variance of the noise over the pairs' cells, after each column's shift.
double NoiseVariance(const Eigen::MatrixXd& original,
                     const Eigen::MatrixXd& published, const Reading& reading,
                     const std::vector<int>& pairs) {
  const Eigen::MatrixXd difference =
      (SelectRows(published, pairs) - SelectRows(original, pairs)).rowwise() -
      reading.shifts.transpose();
  return difference.squaredNorm() / static_cast<double>(difference.size());
}

Json Denoise(const Eigen::MatrixXd& original, const Eigen::MatrixXd& published,
             const Reading& reading, const std::vector<int>& pairs) {
  const Eigen::RowVectorXd means = published.colwise().mean();
  const double n = static_cast<double>(published.rows());
  const double variance = NoiseVariance(original, published, reading, pairs);
  const Eigen::MatrixXd moments =
      published.transpose() * published / n - means.transpose() * means;
  SymmetricEigen eigen = EigenOfSymmetric(moments);
  Eigen::VectorXd& shrunk = eigen.values;
  for (double& value : shrunk)
    value = value > variance ? 1 - variance / value : 0;
  const Eigen::MatrixXd filter = Conjugated(eigen.vectors, shrunk);
  const Eigen::RowVectorXd offsets =
      means - reading.shifts.transpose() - means * filter;
  ColumnsOf filtered(published, filter);
  Json json = Score(original, reading, [&](Eigen::Index c) {
    return ReadAll(reading, (filtered(c).array() + offsets[c]).matrix(), c);
  });
  json["noise_stddev"] = std::sqrt(variance);
  return json;
}

// How many people fit the numbers in these columns, counted up to 2. `left`:
// room for the rows that fit so far.
int FitCount(const Eigen::MatrixXd& original, const Reading& reading,
             const std::vector<int>& columns, const Eigen::VectorXd& numbers,
             std::vector<int>* left) {
  const std::size_t people = static_cast<std::size_t>(original.rows());
  left->resize(people);
  int* const rows = left->data();
  std::size_t count = people;
  for (std::size_t i = 0; i < columns.size() && count > 0; ++i) {
    const double number = numbers[static_cast<Eigen::Index>(i)];
    const double error = reading.ErrorOf(columns[i]);
    const double* const column = original.col(columns[i]).data();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < count; ++at) {
      const int row = i == 0 ? static_cast<int>(at) : rows[at];
      rows[kept] = row;
      kept += std::abs(number - column[row]) <= error ? 1 : 0;
    }
    count = kept;
  }
  return static_cast<int>(std::min<std::size_t>(count, 2));
}

}  // namespace

double Reading::Read(double value, Eigen::Index column) const {
  if (whole[static_cast<std::size_t>(column)]) value = std::round(value);
  return std::clamp(value, low[column], high[column]);
}

bool Reading::IsRight(double value, double truth, Eigen::Index column) const {
  return std::abs(value - truth) <= ErrorOf(column);
}

double Reading::ErrorOf(Eigen::Index column) const {
  return whole[static_cast<std::size_t>(column)] ? 0 : 0.1 * stddevs[column];
}

Reading ReadingOf(const Eigen::MatrixXd& original,
                  const Eigen::MatrixXd& published) {
  const Eigen::Index columns = original.cols();
  Reading reading;
  reading.whole.assign(static_cast<std::size_t>(columns), true);
  reading.low = original.colwise().minCoeff().transpose();
  reading.high = original.colwise().maxCoeff().transpose();
  reading.stddevs.resize(columns);
  reading.shifts =
      (published.colwise().mean() - original.colwise().mean()).transpose();
  for (Eigen::Index c = 0; c < columns; ++c) {
    const auto column = original.col(c).array();
    reading.whole[static_cast<std::size_t>(c)] =
        (column == column.round()).all();
    reading.stddevs[c] = std::sqrt((column - column.mean()).square().mean());
  }
  return reading;
}

Json Reconstruct(const Eigen::MatrixXd& original,
                 const Eigen::MatrixXd& published, const Reading& reading,
                 const std::vector<int>& pairs) {
  Json json;
  json["floor"] = Score(original, reading, [&](Eigen::Index c) {
    Eigen::VectorXd column = published.col(c);
    if (reading.whole[static_cast<std::size_t>(c)])
      column = column.array().floor();
    return column;
  });
  json["rounding"] = Score(original, reading, [&](Eigen::Index c) {
    return ReadAll(reading, published.col(c), c);
  });
  json["shifted"] = Score(original, reading, [&](Eigen::Index c) {
    return ReadAll(reading,
                   (published.col(c).array() - reading.shifts[c]).matrix(), c);
  });
  json["denoised"] = nullptr;
  json["regression"] = nullptr;
  if (pairs.empty()) return json;
  if (published.cols() <= kMostColumnsToDenoise)
    json["denoised"] = Denoise(original, published, reading, pairs);
  const AffineMap back = FitPairs(published, original, pairs);
  const Eigen::RowVectorXd offsets = back.to - back.from * back.slopes;
  ColumnsOf regressed(published, back.slopes);
  json["regression"] = Score(original, reading, [&](Eigen::Index c) {
    return ReadAll(reading, (regressed(c).array() + offsets[c]).matrix(), c);
  });
  return json;
}

Json SingleOut(const Eigen::MatrixXd& original,
               const Eigen::MatrixXd& published, const Reading& reading,
               std::int64_t predicates, Draws* draws) {
  std::vector<int> rows = AllOf(published.rows());
  draws->Sample(static_cast<std::size_t>(predicates), &rows);
  std::vector<int> sizes = {static_cast<int>(published.cols())};
  if (published.cols() > 4) sizes.insert(sizes.begin(), 4);
  std::vector<int> left;
  Json json = Json::array();
  for (const int size : sizes) {
    std::int64_t isolated = 0, by_margins = 0;
    for (const int row : rows) {
      std::vector<int> columns = AllOf(published.cols());
      draws->Sample(static_cast<std::size_t>(size), &columns);
      Eigen::VectorXd of_row(size), of_margins(size);
      for (int i = 0; i < size; ++i) {
        const Eigen::Index c = columns[static_cast<std::size_t>(i)];
        const auto read = [&](Eigen::Index r) {
          return reading.Read(published(r, c) - reading.shifts[c], c);
        };
        of_row[i] = read(row);
        of_margins[i] = read(static_cast<Eigen::Index>(
            draws->Below(static_cast<std::size_t>(published.rows()))));
      }
      isolated +=
          FitCount(original, reading, columns, of_row, &left) == 1 ? 1 : 0;
      by_margins +=
          FitCount(original, reading, columns, of_margins, &left) == 1 ? 1 : 0;
    }
    const std::int64_t of = static_cast<std::int64_t>(rows.size());
    json.push_back({{"columns", size},
                    {"isolated", ToJson(ShareOf(isolated, of))},
                    {"margins", ToJson(ShareOf(by_margins, of))}});
  }
  return json;
}

}  // namespace dpnmf::curator::lab
