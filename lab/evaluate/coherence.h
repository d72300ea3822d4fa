// How well the words of a topic go together in the documents they come from.
// Exact functions of V: research only.
#ifndef DPNMF_LAB_EVALUATE_COHERENCE_H_
#define DPNMF_LAB_EVALUATE_COHERENCE_H_

#include <vector>

#include "Eigen/Core"
#include "lab/evaluate/data_view.h"

namespace dpnmf::curator::lab {

struct Topic {
  std::vector<int> words;  // features, the largest entry of w_k first
  // Means over the pairs of words. p: the share of documents (users with a
  // nonzero entry) that hold the word, or both.
  double npmi = 0;   // log(p_ij / (p_i p_j)) / -log p_ij in [-1, 1]; -1 if p_ij
                     // is 0 (Bouma 2009)
  double umass = 0;  // log((D_ij + 1) / D_j), word j larger than i in w_k, D
                     // counts of documents (Mimno et al. 2011)
};

// One topic a column of w (D x K): its min(count, D) largest words, ties to the
// lower index; words with entry 0 are left out.
std::vector<Topic> TopicsOf(const DataView& v, const Eigen::MatrixXd& w,
                            int count);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_COHERENCE_H_
