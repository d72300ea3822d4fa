// A model of libsvm, freed with its owner.
#ifndef DPNMF_LAB_DISTORT_SVM_MODEL_H_
#define DPNMF_LAB_DISTORT_SVM_MODEL_H_

#include <libsvm/svm.h>

#include <memory>

namespace dpnmf::curator::lab {

struct FreeSvmModel {
  void operator()(svm_model* model) const {
    svm_free_and_destroy_model(&model);
  }
};
using SvmModel = std::unique_ptr<svm_model, FreeSvmModel>;

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_DISTORT_SVM_MODEL_H_
