#include "lab/synthesise/classifier.h"

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "lab/distort/svm_model.h"

namespace dpnmf::curator::lab {
namespace {

SvmRows RowsOfTable(const Table& table) {
  std::vector<int> all(static_cast<std::size_t>(table.people()));
  std::iota(all.begin(), all.end(), 0);
  return SvmRows(table.values, all);
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
  const SvmRows learned = RowsOfTable(train), asked = RowsOfTable(test);
  std::vector<svm_node*> rows;
  std::vector<double> labels;
  for (std::size_t n = 0; n < train.classes.size(); ++n) {
    rows.push_back(learned[n]);
    labels.push_back(numbers.at(train.classes[n]));
  }
  const SvmModel model =
      TrainedSvm(std::move(rows), std::move(labels), gamma, /*c=*/1);
  std::int64_t right = 0;
  for (std::size_t n = 0; n < test.classes.size(); ++n) {
    const auto own = numbers.find(test.classes[n]);
    if (own != numbers.end() &&
        svm_predict(model.get(), asked[n]) == own->second)
      ++right;
  }
  return static_cast<double>(right) / static_cast<double>(test.people());
}

}  // namespace dpnmf::curator::lab
