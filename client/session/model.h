// A dictionary, or an item model, as the server hands it out.
#ifndef DPNMF_CLIENT_SESSION_MODEL_H_
#define DPNMF_CLIENT_SESSION_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "common/ratings/model_file.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

struct Model {
  v1::ModelHeader header;
  Eigen::MatrixXd w = {};       // D x K
  Eigen::MatrixXd errors = {};  // of w; empty if not asked for
  // Names of the rows of w; empty if none were declared.
  std::vector<std::string> names = {};
  // Weights of the rows of w: factors of entries before the entries are
  // normalised; empty if the data set has no weights.
  std::vector<double> weights = {};
  v1::PartsReply parts = {};  // of the columns of w; empty if not asked for
  // Item model of a run on ratings, in the place of all but the header.
  std::optional<NamedItemModel> items = std::nullopt;
};

// FAILED_PRECONDITION "run-not-dictionary" for the model of a run on ratings.
absl::Status CheckIsDictionary(const Model& model);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_MODEL_H_
