// A dictionary, or an item model, as the server hands it out.
#ifndef DPNMF_ANALYST_CLIENT_MODEL_H_
#define DPNMF_ANALYST_CLIENT_MODEL_H_

#include <optional>

#include "Eigen/Core"
#include "common/ratings/model_file.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

struct Model {
  v1::ModelHeader header;
  Eigen::MatrixXd w;       // D x K
  Eigen::MatrixXd errors;  // of w; empty if not asked for
  // Of a run on ratings, in the place of both.
  std::optional<NamedItemModel> items = std::nullopt;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLIENT_MODEL_H_
