#include "lab/synthesise/classifier.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "lab/distort/svm_model.h"

namespace dpnmf::curator::lab {
namespace {

// A row as libsvm reads it; exact zeros may be left out.
std::vector<svm_node> NodesOf(const Eigen::MatrixXd& values, Eigen::Index row) {
  std::vector<svm_node> nodes;
  for (Eigen::Index i = 0; i < values.cols(); ++i)
    if (values(row, i) != 0)
      nodes.push_back({static_cast<int>(i) + 1, values(row, i)});
  nodes.push_back({-1, 0});
  return nodes;
}

}  // namespace

absl::StatusOr<double> TrainedAccuracy(const Table& train, const Table& test,
                                       double gamma) {
  const auto labelled = [](const Table& table) {
    return table.people() > 0 &&
           static_cast<Eigen::Index>(table.classes.size()) == table.people();
  };
  if (!labelled(train) || !labelled(test) ||
      train.values.cols() != test.values.cols()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "attack-mismatch",
                   "Both tables must have classes and the same columns.");
  }
  std::map<std::string, double> numbers;
  for (const std::string& name : train.classes)
    numbers.emplace(name, static_cast<double>(numbers.size()));
  if (numbers.size() < 2) {
    return Refusal(absl::StatusCode::kInvalidArgument, "classes-one",
                   "All people of the table have one class; nothing can be "
                   "learned from it.");
  }
  std::vector<std::vector<svm_node>> rows;
  std::vector<svm_node*> pointers;
  std::vector<double> labels;
  for (Eigen::Index n = 0; n < train.people(); ++n) {
    rows.push_back(NodesOf(train.values, n));
    labels.push_back(numbers.at(train.classes[static_cast<std::size_t>(n)]));
  }
  for (auto& row : rows) pointers.push_back(row.data());
  svm_problem problem = {static_cast<int>(rows.size()), labels.data(),
                         pointers.data()};
  svm_parameter parameter = {};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = RBF;
  parameter.gamma = gamma;
  parameter.C = 1;
  parameter.cache_size = 100;
  parameter.eps = 1e-3;
  parameter.shrinking = 1;
  svm_set_print_string_function([](const char*) {});
  const SvmModel model(svm_train(&problem, &parameter));
  std::int64_t right = 0;
  for (Eigen::Index n = 0; n < test.people(); ++n) {
    const std::vector<svm_node> row = NodesOf(test.values, n);
    const auto own = numbers.find(test.classes[static_cast<std::size_t>(n)]);
    if (own != numbers.end() &&
        svm_predict(model.get(), row.data()) == own->second)
      ++right;
  }
  return static_cast<double>(right) / static_cast<double>(test.people());
}

}  // namespace dpnmf::curator::lab
