// Utility of a distorted table: how well a support vector machine that learns
// from the table tells the classes apart.
#ifndef DPNMF_LAB_DISTORT_ACCURACY_H_
#define DPNMF_LAB_DISTORT_ACCURACY_H_

#include <functional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

// Machine of the publication: kernel exp(-gamma |x - y|^2), gamma .001; C,
// which is not given there, is libsvm's default. Columns are taken as they are.
struct SvmOptions {
  double gamma = 0.001;
  double c = 1;
  int folds = 5;
  // The machine learns from so many people at most, drawn at random.
  int people = 5000;
  std::function<bool()> stop;  // asked before every fold
};

// Who is in which part of the cross validation: the same for all tables of one
// population, so that their figures differ by the tables alone.
struct Folds {
  std::vector<int> people;   // ascending
  std::vector<int> fold;     // of each of them
  std::vector<int> classes;  // of each of them, from 0
  int count = 0;
};

// Shuffled and stratified: each class is spread evenly over the folds. Labels
// as in Table::classes. INVALID_ARGUMENT "distort-folds" unless there are 2
// folds at least and as many people in two classes or more, "classes-one".
absl::StatusOr<Folds> FoldsOf(const std::vector<std::string>& classes,
                              const SvmOptions& options, Draws* draws);

struct Accuracy {
  double distorted = 0;  // share of right answers for distorted rows
  double original = 0;   // for the original rows of the same people
};

// Learns from the distorted rows of the other folds. CANCELLED "cancelled".
absl::StatusOr<Accuracy> SvmAccuracy(const Eigen::MatrixXd& original,
                                     const Eigen::MatrixXd& distorted,
                                     const Folds& folds,
                                     const SvmOptions& options);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_ACCURACY_H_
