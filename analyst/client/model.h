// A dictionary as the server hands it out.
#ifndef DPNMF_ANALYST_CLIENT_MODEL_H_
#define DPNMF_ANALYST_CLIENT_MODEL_H_

#include "Eigen/Core"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

struct Model {
  v1::ModelHeader header;
  Eigen::MatrixXd w;       // D x K
  Eigen::MatrixXd errors;  // of w; empty if not asked for
};

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLIENT_MODEL_H_
