#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {

PostProcess StatisticsMechanism(const Eigen::MatrixXd&) {
  return [](std::vector<NoisedMatrix> noised) { return noised; };
}

}  // namespace dpnmf::curator
