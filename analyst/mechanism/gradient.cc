// "gradient": the paper's protocol. The curator forms G = W A - B from noised
// sums and sends that alone; one step a round.
#include <utility>

#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"

namespace dpnmf::analyst {

absl::Status UpdateFromGradient(const std::vector<NoisedMatrix>& parts,
                                const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd gradient,
                         MeanOfPart(parts, "gradient", state->w.rows(),
                                    state->w.cols(), facts.users));
  gradient = AverageIn("gradient", facts, std::move(gradient), state);
  // W <- Project(W - eta G), eta = step_size / c_h^2. |A|_F is not released
  // here; c_h^2 is its public bound, so eta <= step_size / |A|_F.
  state->w -= facts.step_size / facts.largest_a_norm * gradient;
  ProjectDictionary(&state->w);
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
