// Support vector machines of libsvm.
#ifndef DPNMF_LAB_DISTORT_SVM_MODEL_H_
#define DPNMF_LAB_DISTORT_SVM_MODEL_H_

#include <libsvm/svm.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "Eigen/Core"

namespace dpnmf::curator::lab {

// Rows as libsvm wants them: each a list of nonzero entries with a final -1.
class SvmRows {
 public:
  // The rows of `values` that are listed.
  SvmRows(const Eigen::MatrixXd& values, const std::vector<int>& listed) {
    std::vector<std::size_t> begins;
    for (const int row : listed) {
      begins.push_back(nodes_.size());
      for (Eigen::Index j = 0; j < values.cols(); ++j)
        if (values(row, j) != 0)
          nodes_.push_back({static_cast<int>(j) + 1, values(row, j)});
      nodes_.push_back({-1, 0});
    }
    for (const std::size_t begin : begins) rows_.push_back(&nodes_[begin]);
  }

  SvmRows(const SvmRows&) = delete;
  SvmRows& operator=(const SvmRows&) = delete;

  svm_node* operator[](std::size_t i) const { return rows_[i]; }

 private:
  std::vector<svm_node> nodes_;
  std::vector<svm_node*> rows_;  // into nodes_
};

// A model, freed with its owner.
struct FreeSvmModel {
  void operator()(svm_model* model) const {
    svm_free_and_destroy_model(&model);
  }
};
using SvmModel = std::unique_ptr<svm_model, FreeSvmModel>;

// Learns labels from rows by a kernel exp(-gamma |x - y|^2). The rows must
// outlive the model.
inline SvmModel TrainedSvm(std::vector<svm_node*> rows,
                           std::vector<double> labels, double gamma, double c) {
  svm_set_print_string_function([](const char*) {});
  const svm_problem problem = {static_cast<int>(rows.size()), labels.data(),
                               rows.data()};
  svm_parameter parameters = {};
  parameters.svm_type = C_SVC;
  parameters.kernel_type = RBF;
  parameters.gamma = gamma;
  parameters.C = c;
  parameters.cache_size = 100;  // MB
  parameters.eps = 1e-3;
  parameters.shrinking = 1;
  return SvmModel(svm_train(&problem, &parameters));
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_SVM_MODEL_H_
