// The declared items of a data set of ratings, or its features: public facts.
#ifndef DPNMF_COMMON_RATINGS_ITEM_LIST_H_
#define DPNMF_COMMON_RATINGS_ITEM_LIST_H_

#include <string>
#include <vector>

#include "Eigen/Core"

namespace dpnmf {

// D items in the order of their rows, with p public features.
struct ItemList {
  std::vector<std::string> ids;            // D, all different
  std::vector<std::string> names;          // D; may be empty strings
  std::vector<std::string> feature_names;  // p
  Eigen::MatrixXd features;                // D x p, as declared
  std::vector<double> weights = {};        // D, or none: they have no weights
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_ITEM_LIST_H_
