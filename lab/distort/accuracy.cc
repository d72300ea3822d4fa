#include "lab/distort/accuracy.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "lab/distort/svm_model.h"

namespace dpnmf::curator::lab {

using Eigen::MatrixXd;

absl::StatusOr<Folds> FoldsOf(const std::vector<std::string>& classes,
                              const SvmOptions& options, Draws* draws) {
  std::map<std::string, int> numbers;
  for (const std::string& label : classes)
    numbers.emplace(label, static_cast<int>(numbers.size()));
  if (numbers.size() < 2) {
    return Refusal(absl::StatusCode::kInvalidArgument, "classes-one",
                   "All people have one class; name a column with two classes "
                   "or more.");
  }
  Folds folds;
  folds.count = options.folds;
  folds.people.resize(classes.size());
  std::iota(folds.people.begin(), folds.people.end(), 0);
  draws->Sample(static_cast<std::size_t>(std::max(options.people, 0)),
                &folds.people);
  if (options.folds < 2 ||
      static_cast<std::size_t>(options.folds) > folds.people.size()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "distort-folds",
        absl::StrCat("A cross validation of ", folds.people.size(),
                     " people cannot have ", options.folds,
                     " folds; give --folds in 2 to the number of people."));
  }
  // In the random order of the sample the people of one class take turns, and
  // those of the next go on where they ended.
  std::vector<std::vector<int>> of_class(numbers.size());
  for (const int person : folds.people) {
    const std::string& label = classes[static_cast<std::size_t>(person)];
    of_class[static_cast<std::size_t>(numbers.at(label))].push_back(person);
  }
  std::map<int, std::pair<int, int>> fold_and_class;
  int turn = 0;
  for (std::size_t k = 0; k < of_class.size(); ++k)
    for (const int person : of_class[k])
      fold_and_class[person] = {turn++ % options.folds, static_cast<int>(k)};
  folds.people.clear();
  for (const auto& [person, both] : fold_and_class) {
    folds.people.push_back(person);
    folds.fold.push_back(both.first);
    folds.classes.push_back(both.second);
  }
  return folds;
}

absl::StatusOr<Accuracy> SvmAccuracy(const MatrixXd& original,
                                     const MatrixXd& distorted,
                                     const Folds& folds,
                                     const SvmOptions& options) {
  const SvmRows learned(distorted, folds.people);
  const SvmRows asked(original, folds.people);
  int right_distorted = 0, right_original = 0;
  for (int fold = 0; fold < folds.count; ++fold) {
    if (options.stop && options.stop()) {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "Interrupted while a support vector machine learned.");
    }
    std::vector<double> labels;
    std::vector<svm_node*> rows;
    for (std::size_t i = 0; i < folds.people.size(); ++i) {
      if (folds.fold[i] == fold) continue;
      labels.push_back(folds.classes[i]);
      rows.push_back(learned[i]);
    }
    const SvmModel model = TrainedSvm(std::move(rows), std::move(labels),
                                      options.gamma, options.c);
    for (std::size_t i = 0; i < folds.people.size(); ++i) {
      if (folds.fold[i] != fold) continue;
      right_distorted +=
          svm_predict(model.get(), learned[i]) == folds.classes[i] ? 1 : 0;
      right_original +=
          svm_predict(model.get(), asked[i]) == folds.classes[i] ? 1 : 0;
    }
  }
  const auto count = static_cast<double>(folds.people.size());
  return Accuracy{right_distorted / count, right_original / count};
}

}  // namespace dpnmf::curator::lab
