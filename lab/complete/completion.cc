#include "lab/complete/completion.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

absl::Status CheckNotNegative(const SparseRatings& ratings) {
  if (ratings.values.empty() ||
      !(*std::min_element(ratings.values.begin(), ratings.values.end()) < 0))
    return absl::OkStatus();
  return BadInput("complete-ratings-negative",
                  "A non-negative factorisation takes no rating below 0: add a "
                  "constant to all ratings of the file.");
}

MatrixXd Scaled(const MatrixXd& features, const Side& side) {
  MatrixXd scaled = features;
  for (Index j = 0; j < scaled.cols(); ++j) {
    const double span = side.feature_span[j] > 0 ? side.feature_span[j] : 1;
    scaled.col(j) = (scaled.col(j).array() - side.feature_low[j]) / span;
  }
  return scaled;
}

// Columns of the fit, by name. A category that is not in this file is 0; one
// that the fit did not have is left out.
absl::StatusOr<MatrixXd> FeaturesOfFit(const Auxiliary& auxiliary,
                                       const Side& side) {
  const auto is_category = [](const std::string& name) {
    return name.find('=') != std::string::npos;
  };
  const auto differ = [](const std::string& name, const char* what) {
    return BadInput("complete-features-differ",
                    absl::StrCat("The feature \"", name, "\" ", what,
                                 " the fit; give the columns of the fit."));
  };
  const std::vector<std::string>& given = auxiliary.feature_names;
  for (const std::string& name : given) {
    if (!is_category(name) &&
        std::find(side.feature_names.begin(), side.feature_names.end(), name) ==
            side.feature_names.end())
      return differ(name, "was not there at");
  }
  MatrixXd features = MatrixXd::Zero(
      auxiliary.features.rows(), static_cast<Index>(side.feature_names.size()));
  for (std::size_t j = 0; j < side.feature_names.size(); ++j) {
    const auto found =
        std::find(given.begin(), given.end(), side.feature_names[j]);
    if (found != given.end()) {
      features.col(static_cast<Index>(j)) =
          auxiliary.features.col(found - given.begin());
    } else if (!is_category(side.feature_names[j])) {
      return differ(side.feature_names[j], "is missing and was there at");
    }
  }
  return features;
}

absl::Status CheckClusterCount(const char* what, int clusters, Index rows) {
  if (clusters >= 1 && clusters <= rows) return absl::OkStatus();
  return BadInput(
      "complete-clusters",
      absl::StrCat("`--clusters` asks for ", clusters, " clusters of the ",
                   rows, " ", what, "; ask for 1 to ", rows, "."));
}

// Clusters of a side, of given labels or by K-means; none without either.
absl::StatusOr<Side> MakeSide(const char* what, std::vector<std::string> ids,
                              const Auxiliary& auxiliary, int clusters,
                              double weight, Draws* draws) {
  Side side;
  side.ids = std::move(ids);
  DPNMF_RETURN_IF_ERROR(
      CheckClusterCount(what, clusters, static_cast<Index>(side.ids.size())));
  if (auxiliary.has_labels()) {
    std::set<std::string> words(auxiliary.labels.begin(),
                                auxiliary.labels.end());
    words.erase("");
    side.label_words.assign(words.begin(), words.end());
    if (weight > 0 && static_cast<int>(words.size()) != clusters) {
      return BadInput(
          "complete-labels",
          absl::StrCat("There are ", words.size(), " labels of ", what, " and ",
                       clusters,
                       " clusters; ask for as many clusters as there "
                       "are labels."));
    }
    if (static_cast<int>(words.size()) > clusters) return side;
    for (const std::string& word : auxiliary.labels) {
      const auto at = std::lower_bound(side.label_words.begin(),
                                       side.label_words.end(), word);
      side.labels.push_back(
          word.empty() ? kNoLabel
                       : static_cast<int>(at - side.label_words.begin()));
    }
    return side;
  }
  if (!auxiliary.has_features()) {
    if (!(weight > 0)) return side;
    return BadInput(
        "complete-clusters-missing",
        absl::StrCat("The clusters of ", what,
                     " have a weight above 0: give their features or "
                     "their labels, or the weight 0."));
  }
  side.feature_names = auxiliary.feature_names;
  side.feature_low = auxiliary.features.colwise().minCoeff().transpose();
  side.feature_span =
      auxiliary.features.colwise().maxCoeff().transpose() - side.feature_low;
  side.clusters = KMeans(Scaled(auxiliary.features, side), clusters, draws);
  side.labels = std::exchange(side.clusters.labels, {});
  return side;
}

const Labels& LabelsFor(double weight, const Side& side) {
  static const Labels& none = *new Labels;
  return weight > 0 ? side.labels : none;
}

// Labels of new rows; the running means take them in.
absl::StatusOr<Labels> LabelsOfNew(const Auxiliary& auxiliary,
                                   std::size_t count, Side* side) {
  Labels labels(count, kNoLabel);
  if (!side->label_words.empty()) {
    for (std::size_t i = 0; i < auxiliary.labels.size(); ++i) {
      const std::string& word = auxiliary.labels[i];
      if (word.empty()) continue;
      const auto at =
          std::find(side->label_words.begin(), side->label_words.end(), word);
      if (at == side->label_words.end()) {
        return BadInput(
            "complete-labels",
            absl::StrCat("The label \"", word,
                         "\" was not there at the fit; fit again with "
                         "it, or give another."));
      }
      labels[i] = static_cast<int>(at - side->label_words.begin());
    }
  } else if (!side->feature_names.empty() && auxiliary.has_features()) {
    DPNMF_ASSIGN_OR_RETURN(const MatrixXd features,
                           FeaturesOfFit(auxiliary, *side));
    labels = AddToClusters(Scaled(features, *side), &side->clusters);
    side->clusters.labels.clear();
  }
  return labels;
}

// The rows `chosen` of the auxiliary information.
Auxiliary Chosen(const Auxiliary& all, const std::vector<std::size_t>& chosen) {
  Auxiliary part;
  part.feature_names = all.feature_names;
  if (all.has_features()) {
    part.features.resize(static_cast<Index>(chosen.size()),
                         all.features.cols());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      part.features.row(static_cast<Index>(i)) =
          all.features.row(static_cast<Index>(chosen[i]));
    }
  }
  if (all.has_labels())
    for (const std::size_t i : chosen) part.labels.push_back(all.labels[i]);
  return part;
}

void AppendRows(Index count, RowMatrix* matrix) {
  matrix->conservativeResize(matrix->rows() + count, Eigen::NoChange);
}

}  // namespace

CompletedRow Completion::Rows() const {
  const auto us = std::make_shared<const RowMatrix>(factors.u * factors.s);
  const auto v = std::make_shared<const RowMatrix>(factors.v);
  return [us, v](Index row) -> Eigen::VectorXd {
    return *v * us->row(row).transpose();
  };
}

absl::StatusOr<FitOutcome> FitCompletion(const CompletionInput& input,
                                         const CompletionOptions& options,
                                         Draws* draws,
                                         const std::function<bool()>& stop) {
  DPNMF_RETURN_IF_ERROR(CheckAuxWeights(options.weights));
  DPNMF_RETURN_IF_ERROR(CheckNotNegative(input.ratings));
  const Stopwatch watch;
  FitOutcome outcome;
  Completion& completion = outcome.completion;
  completion.weights = options.weights;
  completion.rounds = options.rounds;
  DPNMF_ASSIGN_OR_RETURN(
      completion.people,
      MakeSide("people", input.people, input.of_people, options.people_clusters,
               options.weights.people, draws));
  DPNMF_ASSIGN_OR_RETURN(
      completion.items,
      MakeSide("items", input.items, input.of_items, options.item_clusters,
               options.weights.items, draws));
  outcome.cluster_seconds = watch.Seconds();
  completion.ratings = input.ratings;
  AuxFactors start;
  start.u = UniformMatrix(input.ratings.rows(), options.people_clusters, draws);
  start.v = UniformMatrix(input.ratings.columns, options.item_clusters, draws);
  start.s =
      UniformMatrix(options.people_clusters, options.item_clusters, draws);
  const SparseRatings by_item = Transposed(input.ratings);
  AuxRun run =
      FitAuxNmf(input.ratings, by_item,
                LabelsFor(options.weights.people, completion.people),
                LabelsFor(options.weights.items, completion.items),
                options.weights, options.rounds, std::move(start), stop);
  if (stop && stop()) {
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   "The fit was interrupted; nothing was written.");
  }
  completion.factors = std::move(run.factors);
  outcome.objective = std::move(run.objective);
  outcome.undone = run.undone;
  outcome.cold_people =
      FillColdRows(input.ratings, completion.people.labels,
                   options.weights.people, 0, &completion.factors.u);
  outcome.cold_items =
      FillColdRows(by_item, completion.items.labels, options.weights.items, 0,
                   &completion.factors.v);
  completion.fitted_people = input.ratings.rows();
  completion.fitted_items = input.ratings.columns;
  outcome.seconds = watch.Seconds();
  return outcome;
}

Completion Refitted(const Completion& completion, Draws* draws) {
  Completion fitted = completion;
  const AuxFactors& old = completion.factors;
  AuxFactors start;
  start.u = UniformMatrix(old.u.rows(), old.u.cols(), draws);
  start.v = UniformMatrix(old.v.rows(), old.v.cols(), draws);
  start.s = UniformMatrix(old.s.rows(), old.s.cols(), draws);
  const SparseRatings by_item = Transposed(completion.ratings);
  fitted.factors =
      FitAuxNmf(completion.ratings, by_item,
                LabelsFor(completion.weights.people, completion.people),
                LabelsFor(completion.weights.items, completion.items),
                completion.weights, completion.rounds, std::move(start))
          .factors;
  FillColdRows(completion.ratings, completion.people.labels,
               completion.weights.people, 0, &fitted.factors.u);
  FillColdRows(by_item, completion.items.labels, completion.weights.items, 0,
               &fitted.factors.v);
  fitted.fitted_people = completion.ratings.rows();
  fitted.fitted_items = completion.ratings.columns;
  return fitted;
}

absl::StatusOr<UpdateOutcome> UpdateRows(const NewRows& rows, Draws* draws,
                                         Completion* completion) {
  DPNMF_RETURN_IF_ERROR(CheckNotNegative(rows.ratings));
  const Stopwatch watch;
  Side& side = completion->people;
  std::unordered_map<std::string_view, Index> known;
  for (std::size_t i = 0; i < side.ids.size(); ++i)
    known[side.ids[i]] = static_cast<Index>(i);
  const auto old_count = static_cast<Index>(side.ids.size());
  // Index of each row in the table; rows of the table come first.
  std::vector<Index> places;
  std::vector<std::size_t> added;
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    const auto found = known.find(rows.ids[i]);
    if (found == known.end()) {
      places.push_back(old_count + static_cast<Index>(added.size()));
      added.push_back(i);
      continue;
    }
    if (!completion->ratings.IsEmptyRow(found->second)) {
      return BadInput(
          "complete-row-known",
          absl::StrCat(
              "\"", rows.ids[i],
              "\" has ratings in the model already: an update only adds new "
              "ones; leave it out, or fit again with all ratings."));
    }
    places.push_back(found->second);
  }
  const Auxiliary of_added = Chosen(rows.auxiliary, added);
  DPNMF_ASSIGN_OR_RETURN(const Labels new_labels,
                         LabelsOfNew(of_added, added.size(), &side));
  UpdateOutcome outcome;
  outcome.added = static_cast<int>(added.size());
  outcome.filled = static_cast<int>(rows.ids.size() - added.size());
  for (const std::size_t i : added) side.ids.push_back(rows.ids[i]);
  if (!side.labels.empty()) {
    outcome.unlabelled = static_cast<int>(
        std::count(new_labels.begin(), new_labels.end(), kNoLabel));
    side.labels.insert(side.labels.end(), new_labels.begin(), new_labels.end());
  }
  // U of the new rows alone.
  Labels labels;
  if (completion->weights.people > 0 && !side.labels.empty())
    for (const Index place : places)
      labels.push_back(side.labels[static_cast<std::size_t>(place)]);
  AuxFactors& factors = completion->factors;
  RowsRun run = FitRows(rows.ratings, factors.v * factors.s.transpose(),
                        completion->weights.ratings, completion->weights.people,
                        labels, completion->rounds,
                        UniformMatrix(static_cast<Index>(rows.ids.size()),
                                      factors.u.cols(), draws));
  outcome.objective = std::move(run.objective);
  AppendRows(outcome.added, &factors.u);
  // Ratings: rows that were there and are filled, and those added.
  std::vector<Index> from(static_cast<std::size_t>(old_count) + added.size(),
                          -1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    from[static_cast<std::size_t>(places[i])] = static_cast<Index>(i);
    factors.u.row(places[i]) = run.x.row(static_cast<Index>(i));
  }
  SparseRatings filled;
  filled.columns = completion->ratings.columns;
  const bool in_place = outcome.filled == 0;  // nothing stands before them
  SparseRatings& ratings = in_place ? completion->ratings : filled;
  for (std::size_t row = in_place ? static_cast<std::size_t>(old_count) : 0;
       row < from.size(); ++row) {
    if (from[row] < 0) {
      ratings.AppendRow(completion->ratings, static_cast<Index>(row));
    } else {
      ratings.AppendRow(rows.ratings, from[row]);
    }
  }
  if (!in_place) completion->ratings = std::move(filled);
  outcome.cold =
      FillColdRows(completion->ratings, side.labels, completion->weights.people,
                   old_count, &factors.u);
  outcome.seconds = watch.Seconds();
  return outcome;
}

Completion Transposed(const Completion& completion) {
  Completion turned;
  turned.weights = {completion.weights.ratings, completion.weights.items,
                    completion.weights.people};
  turned.rounds = completion.rounds;
  turned.people = completion.items;
  turned.items = completion.people;
  turned.ratings = Transposed(completion.ratings);
  turned.factors = {completion.factors.v, completion.factors.s.transpose(),
                    completion.factors.u};
  turned.fitted_people = completion.fitted_items;
  turned.fitted_items = completion.fitted_people;
  return turned;
}

absl::StatusOr<UpdateOutcome> UpdateColumns(const NewRows& columns,
                                            Draws* draws,
                                            Completion* completion) {
  Completion turned = Transposed(*completion);
  DPNMF_ASSIGN_OR_RETURN(UpdateOutcome outcome,
                         UpdateRows(columns, draws, &turned));
  *completion = Transposed(turned);
  return outcome;
}

absl::StatusOr<RefitAdvice> AdviseRefit(const NewRows& rows, Draws* draws,
                                        Completion completion) {
  NewRows learned = rows;
  learned.ratings = SparseRatings{.columns = rows.ratings.columns};
  std::vector<SparseRatings> held;  // one row each
  for (Index row = 0; row < rows.ratings.rows(); ++row) {
    SparseRatings one{.columns = rows.ratings.columns};
    for (std::size_t at = rows.ratings.Begin(row);
         at < rows.ratings.Begin(row + 1); ++at) {
      SparseRatings& to = draws->Below(10) == 0 ? one : learned.ratings;
      to.indices.push_back(rows.ratings.indices[at]);
      to.values.push_back(rows.ratings.values[at]);
    }
    learned.ratings.EndRow();
    one.EndRow();
    held.push_back(std::move(one));
  }
  DPNMF_ASSIGN_OR_RETURN(const UpdateOutcome updated,
                         UpdateRows(learned, draws, &completion));
  const Stopwatch watch;
  const Completion refitted = Refitted(completion, draws);
  RefitAdvice advice;
  advice.refit_seconds = watch.Seconds();
  advice.update_seconds = updated.seconds;
  std::unordered_map<std::string_view, Index> places;
  for (std::size_t i = 0; i < completion.people.ids.size(); ++i)
    places[completion.people.ids[i]] = static_cast<Index>(i);
  SparseRatings test{.columns = rows.ratings.columns};
  std::vector<const SparseRatings*> of_row(completion.people.ids.size());
  for (std::size_t i = 0; i < held.size(); ++i)
    of_row[static_cast<std::size_t>(places.at(rows.ids[i]))] = &held[i];
  for (const SparseRatings* one : of_row) {
    if (one == nullptr) {
      test.EndRow();
    } else {
      test.AppendRow(*one, 0);
    }
  }
  const std::vector<double> of_update = AbsoluteErrors(test, completion.Rows());
  const std::vector<double> of_refit = AbsoluteErrors(test, refitted.Rows());
  advice.judged = static_cast<std::int64_t>(of_update.size());
  if (advice.judged < 2) return advice;
  const auto n = static_cast<double>(advice.judged);
  double update = 0, refit = 0, squares = 0;
  for (std::size_t i = 0; i < of_update.size(); ++i) {
    update += of_update[i];
    refit += of_refit[i];
    squares += (of_update[i] - of_refit[i]) * (of_update[i] - of_refit[i]);
  }
  advice.update_mae = update / n;
  advice.refit_mae = refit / n;
  const double mean = (update - refit) / n;
  advice.standard_error =
      std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1));
  return advice;
}

}  // namespace dpnmf::curator::lab
