// The files of a completion: ratings, and what is known beside them.
#ifndef DPNMF_LAB_COMPLETE_INPUT_H_
#define DPNMF_LAB_COMPLETE_INPUT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "lab/complete/completion.h"

namespace dpnmf::curator::lab {

struct CompletionFiles {
  std::string ratings;        // lines of user, item, rating
  std::string test;           // the same, or empty
  std::string items;          // ids, one a line, or empty
  std::string user_features;  // CSV with a header: id,name,...; or empty
  std::string item_features;
  std::string user_labels;  // lines of id, label; or empty
  std::string item_labels;
  std::string rating_range;  // "1,5", or empty
};

struct LoadedCompletion {
  CompletionInput input;
  SparseRatings test;  // of the same people and items
  // Range as declared; otherwise the least and the largest rating of the file.
  RatingScale scale;
  bool scale_declared = false;
  // Sentences on what was taken for granted.
  std::vector<std::string> said;
};

// People are those of the features or labels; without them those of the ratings
// and then those of the test, in the order of the files. Items are those of
// `items`, else of their features or labels, else those of the ratings and the
// test. Several ratings of one person and item: the last one counts.
//
// Errors of LoadRatings and LoadFeatureTable; INVALID_ARGUMENT
// "features-mismatch": a person of the ratings has no line of features or
// labels; "complete-labels": a line of labels that is no pair.
absl::StatusOr<LoadedCompletion> LoadCompletion(
    const CompletionFiles& files, const std::function<bool()>& stop);

struct UpdateFiles {
  std::string ratings;   // of new people (or items) alone
  std::string features;  // that of the people (or items), or empty
  std::string labels;
  std::string test;  // or empty
};

struct LoadedRows {
  NewRows rows;        // by row: of items, ratings by item
  SparseRatings test;  // of the table after the update: people x items
  std::vector<std::string> said;
};

// by_people: the file holds ratings of new people, of items that the completion
// has; else ratings of new items, by people that it has. New rows are those of
// the ratings and, where features or labels are given, those of their lines
// that the completion does not have. INVALID_ARGUMENT "item-unknown",
// "complete-person-unknown", "features-mismatch".
absl::StatusOr<LoadedRows> LoadRows(const UpdateFiles& files, bool by_people,
                                    const Completion& completion,
                                    const std::function<bool()>& stop);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_INPUT_H_
