#include "lab/papers/aux_nmf.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;

Auxiliary RowRange(const Auxiliary& all, Index begin, Index end) {
  Auxiliary part;
  part.feature_names = all.feature_names;
  if (all.has_features())
    part.features = all.features.middleRows(begin, end - begin);
  if (all.has_labels())
    part.labels.assign(all.labels.begin() + begin, all.labels.begin() + end);
  return part;
}

NewRows RowsBetween(const CompletionInput& input, Index begin, Index end) {
  NewRows rows;
  rows.ids.assign(input.people.begin() + begin, input.people.begin() + end);
  rows.auxiliary = RowRange(input.of_people, begin, end);
  rows.ratings = lab::RowRange(input.ratings, begin, end);
  return rows;
}

CompletionInput Transposed(const CompletionInput& input) {
  return {.people = input.items,
          .items = input.people,
          .of_people = input.of_items,
          .of_items = input.of_people,
          .ratings = lab::Transposed(input.ratings)};
}

CompletionOptions Transposed(const CompletionOptions& options) {
  return {.weights = {options.weights.ratings, options.weights.items,
                      options.weights.people},
          .people_clusters = options.item_clusters,
          .item_clusters = options.people_clusters,
          .rounds = options.rounds};
}

// A table that grows by rows. By columns: everything transposed.
struct Growth {
  CompletionInput input;
  SparseRatings test;
  bool by_columns = false;
};

Index FirstRows(const Growth& growth, int split) {
  const Index rows = growth.input.ratings.rows();
  return std::clamp<Index>((rows * split + 50) / 100, 1, rows);
}

absl::StatusOr<ExperimentPoint> GrowAux(const Growth& growth, int split,
                                        int step, CompletionOptions options,
                                        std::uint64_t seed) {
  ExperimentPoint point;
  point.weights = options.weights;
  if (growth.by_columns) options = Transposed(options);
  Draws draws(seed);
  const Index first = FirstRows(growth, split);
  CompletionInput base = growth.input;
  const NewRows begin = RowsBetween(growth.input, 0, first);
  base.people = begin.ids;
  base.of_people = begin.auxiliary;
  base.ratings = begin.ratings;
  DPNMF_ASSIGN_OR_RETURN(FitOutcome fit, FitCompletion(base, options, &draws));
  point.fit_seconds = fit.seconds;
  for (Index row = first; row < growth.input.ratings.rows(); row += step) {
    const NewRows rows = RowsBetween(
        growth.input, row, std::min(row + step, growth.input.ratings.rows()));
    const Stopwatch watch;
    DPNMF_RETURN_IF_ERROR(UpdateRows(rows, &draws, &fit.completion).status());
    point.update_seconds += watch.Seconds();
  }
  point.method = "aux-nmf";
  point.measures =
      Measure(growth.input.ratings, growth.test, fit.completion.Rows());
  return point;
}

// Missing entries are the item's mean over what is there.
absl::StatusOr<ExperimentPoint> GrowSvd(const Growth& growth, int split,
                                        int step, int rank) {
  ExperimentPoint point;
  const SparseRatings& all = growth.input.ratings;
  const Index first = FirstRows(growth, split);
  SparseRatings seen = lab::RowRange(all, 0, first);
  Stopwatch watch;
  // Items are rows when the table grows by columns: an SVD of the transpose.
  TruncatedSvd svd;
  const int most = static_cast<int>(std::min(first, all.columns));
  if (growth.by_columns) {
    const SparseRatings by_person = lab::Transposed(seen);
    DPNMF_ASSIGN_OR_RETURN(svd,
                           MeanImputedSvd(by_person, ColumnMeans(by_person),
                                          std::min(rank, most)));
    svd = svd.Transposed();
  } else {
    DPNMF_ASSIGN_OR_RETURN(
        svd, MeanImputedSvd(seen, ColumnMeans(seen), std::min(rank, most)));
  }
  point.fit_seconds = watch.Seconds();
  for (Index row = first; row < all.rows(); row += step) {
    const SparseRatings rows =
        lab::RowRange(all, row, std::min(row + step, all.rows()));
    watch = Stopwatch();
    Eigen::MatrixXd full;
    if (growth.by_columns) {
      const SparseRatings by_person = lab::Transposed(rows);
      full = Imputed(by_person, ColumnMeans(by_person)).transpose();
    } else {
      for (Index i = 0; i < rows.rows(); ++i) seen.AppendRow(rows, i);
      full = Imputed(rows, ColumnMeans(seen));
    }
    svd = UpdatedByRows(svd, full);
    point.update_seconds += watch.Seconds();
  }
  point.method = "svd";
  point.measures = Measure(all, growth.test, SvdRow(svd));
  return point;
}

}  // namespace

absl::StatusOr<std::vector<ExperimentPoint>> RunExperiment(
    const CompletionInput& input, const SparseRatings& test,
    const ExperimentOptions& options, Draws* draws,
    const std::function<bool()>& stop, const ExperimentProgress& progress) {
  const Growth rows = {input, test, false};
  const Growth columns = {Transposed(input), lab::Transposed(test), true};
  const std::uint64_t seed = draws->Bits();
  std::vector<AuxWeights> study;
  for (const AuxWeights& weights :
       {AuxWeights{1, 0, 0}, AuxWeights{.5, .5, 0}, AuxWeights{.5, 0, .5},
        AuxWeights{0, .5, .5}, AuxWeights{.2, 0, .8}, AuxWeights{.4, 0, .6},
        AuxWeights{.4, .6, 0}, AuxWeights{.2, .8, 0}}) {
    if ((weights.people == 0 || input.of_people.has_clusters()) &&
        (weights.items == 0 || input.of_items.has_clusters()))
      study.push_back(weights);
  }
  const int count = 2 + 4 * static_cast<int>(options.splits.size()) +
                    2 * static_cast<int>(study.size());
  std::vector<ExperimentPoint> points;
  const auto run = [&](const char* part, const Growth& growth, int split,
                       const AuxWeights* weights) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
    const char* const direction = growth.by_columns ? "columns" : "rows";
    progress(absl::StrCat(part, ", ", direction, ", ", split, " %, ",
                          weights == nullptr ? "svd" : "aux-nmf"),
             static_cast<int>(points.size()) + 1, count);
    CompletionOptions completion = options.completion;
    if (weights != nullptr) completion.weights = *weights;
    DPNMF_ASSIGN_OR_RETURN(
        ExperimentPoint point,
        weights == nullptr
            ? GrowSvd(growth, split, options.step, options.svd_rank)
            : GrowAux(growth, split, options.step, completion, seed));
    point.part = part;
    point.direction = split == 100 ? "" : direction;
    point.split = split;
    points.push_back(std::move(point));
    return absl::OkStatus();
  };
  const AuxWeights& own = options.completion.weights;
  DPNMF_RETURN_IF_ERROR(run("whole", rows, 100, &own));
  DPNMF_RETURN_IF_ERROR(run("whole", rows, 100, nullptr));
  for (const Growth* growth : {&rows, &columns}) {
    for (const int split : options.splits) {
      DPNMF_RETURN_IF_ERROR(run("split", *growth, split, &own));
      DPNMF_RETURN_IF_ERROR(run("split", *growth, split, nullptr));
    }
  }
  for (const Growth* growth : {&rows, &columns})
    for (const AuxWeights& weights : study)
      DPNMF_RETURN_IF_ERROR(run("weights", *growth, 40, &weights));
  return points;
}

}  // namespace dpnmf::curator::lab
