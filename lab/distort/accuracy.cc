#include "lab/distort/accuracy.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "lab/distort/svm_model.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// Rows as libsvm wants them: each a list of nonzero entries with a final -1.
class SvmRows {
 public:
  SvmRows(const MatrixXd& values, const std::vector<int>& people) {
    std::vector<std::size_t> begins;
    for (const int person : people) {
      begins.push_back(nodes_.size());
      for (Index j = 0; j < values.cols(); ++j)
        if (values(person, j) != 0)
          nodes_.push_back({static_cast<int>(j) + 1, values(person, j)});
      nodes_.push_back({-1, 0});
    }
    for (const std::size_t begin : begins) rows_.push_back(&nodes_[begin]);
  }

  svm_node* operator[](std::size_t i) const { return rows_[i]; }

 private:
  std::vector<svm_node> nodes_;
  std::vector<svm_node*> rows_;  // into nodes_, for each person
};

svm_parameter ParametersOf(const SvmOptions& options) {
  svm_parameter parameters = {};
  parameters.svm_type = C_SVC;
  parameters.kernel_type = RBF;
  parameters.gamma = options.gamma;
  parameters.C = options.c;
  parameters.cache_size = 100;  // MB
  parameters.eps = 1e-3;
  parameters.shrinking = 1;
  return parameters;
}

}  // namespace

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
  svm_set_print_string_function([](const char*) {});
  const svm_parameter parameters = ParametersOf(options);
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
    const svm_problem problem = {static_cast<int>(rows.size()), labels.data(),
                                 rows.data()};
    const SvmModel model(svm_train(&problem, &parameters));
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
