// Priors as a request brings them: read, matched with the features of the data
// set, scaled, and kept in the state of the run (run_priors.h).
#ifndef DPNMF_ANALYST_RUNS_SENT_PRIORS_H_
#define DPNMF_ANALYST_RUNS_SENT_PRIORS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "analyst/runs/run_items.h"
#include "analyst/store/run_store.h"
#include "common/learning/mechanism.h"
#include "common/wire/matrix_stream.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Prior as it was sent.
struct SentPrior {
  v1::Prior header;
  std::vector<std::string> names;  // of its rows; may be empty
  Eigen::MatrixXd entries;         // as the header says; empty: a run
};

struct NamedPriors {
  std::vector<SentPrior> priors;
  FeatureFacts features;  // of the data set, or none
};

using PriorHeaders = google::protobuf::RepeatedPtrField<v1::Prior>;

// Gathers the names and the chunks of the priors that a request announces. Not
// thread-safe. Memory is taken as messages arrive.
class PriorReader {
 public:
  // INVALID_ARGUMENT "prior-too-many", "prior-kind-unknown",
  // "prior-shape-invalid", "prior-too-large".
  static absl::StatusOr<PriorReader> Create(const PriorHeaders& headers);
  // INVALID_ARGUMENT "prior-shape-invalid" if nothing more was announced;
  // errors of RealMatrixReader.
  absl::Status Add(const v1::PriorFeatures& features);
  absl::Status Add(const v1::RealChunk& chunk);
  // INVALID_ARGUMENT "prior-shape-invalid" if entries or names are missing,
  // "prior-differs" if they do not have the digest that was announced.
  absl::StatusOr<std::vector<SentPrior>> Finish();

 private:
  PriorReader() = default;
  void SkipRuns();

  std::vector<SentPrior> priors_;
  std::size_t current_ = 0;
  std::optional<RealMatrixReader> matrix_;
};

// Makes these the priors of a run on D = state->w.rows() features.
// `features`: of the D features; may be empty. Rows are matched by name where
// both sides have names, rows without a partner are left out; else a prior has
// D rows. Columns are multiplied by the features' weights, if there are, and
// scaled as those of `dataset` are: to length 1, or down to its bound. Of a run
// the denoised second moment is taken, as its owner could fit it.
// INVALID_ARGUMENT "prior-features-differ", those of CheckPriors;
// FAILED_PRECONDITION "release-missing", "weights-missing" (columns, and the
// features' weights are not known); NOT_FOUND "run-unknown"; those of
// DenoiseMoments.
absl::Status KeepPriors(const std::vector<SentPrior>& priors,
                        const FeatureFacts& features,
                        const std::optional<v1::Dataset>& dataset,
                        RunStore* store, LearnerState* state);

// Asks the curator for the declared facts about features of a data set; empty
// if none are declared. Errors of the connection; INVALID_ARGUMENT
// "items-malformed".
absl::StatusOr<FeatureFacts> AskFeatures(const v1::Dataset& dataset,
                                         CuratorConnection* curator);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_SENT_PRIORS_H_
