#include "client/session/matched_parts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "client/session/model.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

// Columns of length 1, or 0.
Eigen::MatrixXd Directions(Eigen::MatrixXd w) {
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    const double length = w.col(k).norm();
    if (length > 0) w.col(k) /= length;
  }
  return w;
}

// Both have the same number of rows, and at least one column.
v1::CompareReport MatchedParts(const Eigen::MatrixXd& first,
                               const Eigen::MatrixXd& second) {
  const Eigen::MatrixXd cosines =
      Directions(first).transpose() * Directions(second);
  struct Pair {
    Eigen::Index i, j;
  };
  std::vector<Pair> pairs;
  for (Eigen::Index i = 0; i < cosines.rows(); ++i)
    for (Eigen::Index j = 0; j < cosines.cols(); ++j) pairs.push_back({i, j});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const Pair& a, const Pair& b) {
                     return cosines(a.i, a.j) > cosines(b.i, b.j);
                   });
  std::vector<bool> first_taken(static_cast<std::size_t>(cosines.rows()));
  std::vector<bool> second_taken(static_cast<std::size_t>(cosines.cols()));
  v1::CompareReport report;
  double sum = 0;
  for (const Pair& pair : pairs) {
    const auto i = static_cast<std::size_t>(pair.i);
    const auto j = static_cast<std::size_t>(pair.j);
    if (first_taken[i] || second_taken[j]) continue;
    first_taken[i] = second_taken[j] = true;
    v1::CompareReport::Pair& row = *report.add_pairs();
    row.set_first(static_cast<std::uint32_t>(i + 1));
    row.set_second(static_cast<std::uint32_t>(j + 1));
    row.set_cosine(std::clamp(cosines(pair.i, pair.j), 0.0, 1.0));
    sum += row.cosine();
  }
  for (std::size_t i = 0; i < first_taken.size(); ++i)
    if (!first_taken[i])
      report.add_only_first(static_cast<std::uint32_t>(i + 1));
  for (std::size_t j = 0; j < second_taken.size(); ++j)
    if (!second_taken[j])
      report.add_only_second(static_cast<std::uint32_t>(j + 1));
  report.set_mean_cosine(sum / report.pairs_size());
  return report;
}

}  // namespace

absl::StatusOr<v1::CompareReport> CompareRuns(const AnalystClient& client,
                                              const std::string& first,
                                              const std::string& second) {
  DPNMF_ASSIGN_OR_RETURN(const Model one, client.GetModel(first));
  DPNMF_ASSIGN_OR_RETURN(const Model other, client.GetModel(second));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(one));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(other));
  if (one.w.rows() != other.w.rows()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "features-differ",
        absl::StrCat("The runs have ", one.w.rows(), " and ", other.w.rows(),
                     " features; compare runs on data sets with the same "
                     "features."));
  }
  v1::CompareReport report = MatchedParts(one.w, other.w);
  report.set_first_run(first);
  report.set_second_run(second);
  return report;
}

}  // namespace dpnmf::cli
