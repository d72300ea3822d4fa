// "ratings": what each release teaches is in common/ratings/learner.h. W is the
// model as far as it is known, D x (1 + q): base predictions, then loadings.
#include <utility>

#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/ratings/learner.h"

namespace dpnmf::analyst {
namespace {

absl::Status ItemsMissing() {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "The items of the run are not stored; restore the state "
                 "directory from a backup.");
}

absl::StatusOr<RoundInput> Input(const RoundFacts& facts,
                                 const LearnerState& state) {
  if (facts.ratings == nullptr) return ItemsMissing();
  return RatingsInput(facts.round_of_run, *facts.ratings, state.memory);
}

absl::Status Update(const std::vector<NoisedMatrix>& parts,
                    const RoundFacts& facts, LearnerState* state) {
  if (facts.ratings == nullptr) return ItemsMissing();
  RatingsMemory memory = state->memory;
  DPNMF_RETURN_IF_ERROR(
      RatingsUpdate(facts.round_of_run, *facts.ratings, parts, &memory));
  const absl::StatusOr<ItemModel> model = RatingsModel(*facts.ratings, memory);
  const bool ready = ReasonCode(model.status()) != "model-not-ready";
  if (ready && !model.ok()) return model.status();
  state->memory = std::move(memory);
  if (!ready) return absl::OkStatus();
  state->w.resize(model->base.size(), 1 + model->loadings.cols());
  state->w << model->base, model->loadings;
  return absl::OkStatus();
}

Eigen::MatrixXd First(const DatasetFacts& facts,
                      const RunParameters& parameters) {
  return Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(facts.features),
                               1 + static_cast<Eigen::Index>(parameters.rank));
}

absl::StatusOr<ItemModel> Model(const RatingsFacts& facts,
                                const LearnerState& state) {
  return RatingsModel(facts, state.memory);
}

// Decompositions of the second moment of the named items, and solves of the
// size of a model for each item.
LearningWork Work(const LearningShape& shape) {
  const double m = shape.moment_rows, model = 1 + shape.rank;
  return {10 * m * m + 8 * shape.features * model,
          60 * m * m * m + 100 * shape.features * model * model};
}

constexpr ReleaseKind kReleases[] = {
    {.name = "items", .input = Input, .update = Update},
    {.name = "co-ratings", .input = Input, .update = Update, .work = Work},
    {.name = "profiles", .input = Input, .update = Update, .work = Work},
    {.name = "residuals", .input = Input, .update = Update, .work = Work},
    {.name = "corrections", .input = Input, .update = Update, .work = Work}};

}  // namespace

extern const Mechanism kRatingsMechanism = {
    .name = "ratings",
    .fill_defaults = FillRatingsDefaults,
    .releases = kReleases,
    .needs_items = true,
    .first = First,
    .item_model = Model};

}  // namespace dpnmf::analyst
