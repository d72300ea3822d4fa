// A completed table and its updates: Aux-NMF with what it was made from, so
// that new rows and columns can be added. Without privacy: a completion is as
// private as its ratings.
#ifndef DPNMF_LAB_COMPLETE_COMPLETION_H_
#define DPNMF_LAB_COMPLETE_COMPLETION_H_

#include <functional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "lab/complete/aux_nmf.h"
#include "lab/complete/kmeans.h"
#include "lab/complete/measures.h"
#include "lab/complete/sparse_ratings.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

// Knowledge of people or items beside the ratings. Each of the two parts may be
// absent.
struct Auxiliary {
  std::vector<std::string> feature_names;
  Eigen::MatrixXd features;  // rows x p
  // Clusters that were given directly: the word of each row; "": none.
  std::vector<std::string> labels;

  bool has_features() const { return !feature_names.empty(); }
  bool has_labels() const { return !labels.empty(); }
  bool has_clusters() const { return has_features() || has_labels(); }
};

// People, or items, of a completion.
struct Side {
  std::vector<std::string> ids;
  Labels labels;  // of each row; empty: no clusters
  // Given directly: the word of each label. Else by K-means of the features,
  // scaled to [0, 1]: (feature - low) / span, where span 0 means 1.
  std::vector<std::string> label_words;
  std::vector<std::string> feature_names;
  Eigen::VectorXd feature_low, feature_span;  // p
  Clusters clusters;  // without its labels, which are above
};

struct Completion {
  AuxWeights weights;
  int rounds = 10;
  Side people, items;
  SparseRatings ratings;  // people x items: those that it was made from
  AuxFactors factors;
  // Sizes at the last fit of everything; later rows were added by updates.
  Eigen::Index fitted_people = 0, fitted_items = 0;

  CompletedRow Rows() const;
};

struct CompletionOptions {
  AuxWeights weights;
  int people_clusters = 7;  // k
  int item_clusters = 7;    // l
  int rounds = 10;
};

struct CompletionInput {
  std::vector<std::string> people, items;  // ids
  Auxiliary of_people, of_items;
  SparseRatings ratings;
};

struct FitOutcome {
  Completion completion;
  std::vector<double> objective;
  bool undone = false;
  ColdRows cold_people, cold_items;
  double cluster_seconds = 0, seconds = 0;  // K-means; all with it
};

// Clusters, Aux-NMF from a uniform start, rows and columns without ratings by
// FillColdRows. INVALID_ARGUMENT "complete-weights"; "complete-clusters" unless
// k is from 1 to the number of people and l to that of items;
// "complete-clusters-missing": a weight is above 0 where neither features nor
// labels are known; "complete-labels": not as many different labels as
// clusters, where the weight is above 0; "complete-ratings-negative".
// CANCELLED "cancelled".
absl::StatusOr<FitOutcome> FitCompletion(
    const CompletionInput& input, const CompletionOptions& options,
    Draws* draws, const std::function<bool()>& stop = {});

// Everything of `completion` fitted again, from its ratings and its clusters.
Completion Refitted(const Completion& completion, Draws* draws);

// People whose ratings come now. They are new, or were there without ratings.
struct NewRows {
  std::vector<std::string> ids;
  Auxiliary auxiliary;  // of the same rows
  SparseRatings ratings;
};

struct UpdateOutcome {
  int added = 0;       // rows that were not there
  int filled = 0;      // rows that were there without ratings
  int unlabelled = 0;  // new rows without a cluster, though others have one
  ColdRows cold;
  std::vector<double> objective;
  double seconds = 0;
};

// iAux-NMF by rows: clusters by the nearest centroid, whose running mean takes
// the row in; then the rows of U for S and V as they are. INVALID_ARGUMENT
// "complete-row-known": a row has ratings already; "complete-features-differ":
// a feature of the fit is missing, or a numeric one is new; "complete-labels":
// a label that the fit did not have; "complete-ratings-negative".
absl::StatusOr<UpdateOutcome> UpdateRows(const NewRows& rows, Draws* draws,
                                         Completion* completion);

// The same of items, with ratings by item: a row update of the transpose.
absl::StatusOr<UpdateOutcome> UpdateColumns(const NewRows& columns,
                                            Draws* draws,
                                            Completion* completion);

// People and items exchanged.
Completion Transposed(const Completion& completion);

// Advice on fitting everything again, judged on a tenth of the new ratings that
// neither the update nor the refit sees.
struct RefitAdvice {
  std::int64_t judged = 0;  // ratings
  double update_mae = kNotMeasured, refit_mae = kNotMeasured;
  double standard_error = kNotMeasured;  // of their difference, paired
  double update_seconds = 0, refit_seconds = 0;
  // Lower by more than two standard errors.
  bool pays() const { return update_mae - refit_mae > 2 * standard_error; }
};
absl::StatusOr<RefitAdvice> AdviseRefit(const NewRows& rows, Draws* draws,
                                        Completion completion);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_COMPLETION_H_
