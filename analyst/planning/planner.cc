#include "analyst/planning/planner.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyst/planning/epsilon_text.h"
#include "analyst/planning/forecast.h"
#include "analyst/planning/ratings_forecast.h"
#include "common/base/error.h"
#include "common/federation/federation.h"
#include "common/learning/fit_law_options.h"
#include "common/learning/learning_cost.h"
#include "common/learning/mechanism.h"
#include "common/learning/mechanism_choice.h"
#include "common/learning/run_order.h"
#include "common/nmf/defaults.h"
#include "common/privacy/accounting.h"
#include "common/privacy/budget.h"
#include "common/privacy/mechanism.h"
#include "common/privacy/stored_sums.h"
#include "common/wire/convert.h"
#include "common/wire/status.h"

namespace dpnmf::analyst {
namespace {

absl::Status Invalid(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

// A sequence number that no row reaches: the totals alone are wanted.
constexpr std::uint64_t kAfterAllRows = INT64_MAX;

// Fills what depends on the budget: left_after, epsilons_after,
// would_be_refused.
absl::Status CompareWithBudget(MuSquared cost, v1::PlanRunReply* reply) {
  const v1::LedgerPosition& position = reply->position();
  const v1::Guarantee& guarantee = reply->guarantee();
  DPNMF_ASSIGN_OR_RETURN(const Budget budget, FromProto(position));
  DPNMF_ASSIGN_OR_RETURN(const Conversion conversion,
                         FromProto(guarantee.conversion()));
  const std::optional<MuSquared> after =
      MuSquared::Add(Committed(budget), cost);
  if (!after.has_value())
    return Invalid("epsilon-out-of-range", "`epsilon` is too large.");
  DPNMF_ASSIGN_OR_RETURN(*reply->mutable_epsilons_after(),
                         EpsilonsOf(*after, guarantee.delta()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared room, RoomOf(position));
  *reply->mutable_left_after() = ToProto(MuSquared());
  if (cost <= room) {
    *reply->mutable_left_after() =
        ToProto(MuSquared::Subtract(RoomOf(budget), cost).value());
    return absl::OkStatus();
  }
  // Predicts the refusal of the curator.
  std::string code = "budget-exhausted";
  std::string owner = absl::StrCat("population `", position.population(), "`");
  if (!position.partition().empty())
    absl::StrAppend(&owner, ", partition `", position.partition(), "`");
  Budget exceeded = budget;
  if (cost <= RoomOf(budget)) {
    code = "identity-budget-exhausted";
    owner = absl::StrCat("this analyst on ", owner);
    DPNMF_ASSIGN_OR_RETURN(exceeded, FromProto(position.own_limit()));
  }
  reply->set_would_be_refused(true);
  reply->set_refusal_code(code);
  reply->set_refusal(OverBudgetSentence(owner, cost, exceeded, room, conversion,
                                        guarantee.delta(),
                                        code == "identity-budget-exhausted"));
  return absl::OkStatus();
}

// Largest cost of the run, as the cost at which replace-one has the same noise:
// under add_remove_one the sensitivities of moments are smaller by sqrt(2).
double CostForChoice(const v1::RunParameters& run, const v1::Dataset& dataset) {
  const absl::StatusOr<Conversion> conversion =
      FromProto(run.conversion() == v1::CONVERSION_UNSPECIFIED
                    ? dataset.guarantee().conversion()
                    : run.conversion());
  if (!conversion.ok()) return 0;
  const absl::StatusOr<MuSquared> cost =
      LargestCost(*conversion, run.epsilon(), run.delta());
  if (!cost.ok()) return 0;
  return cost->ToDouble() *
         (dataset.guarantee().adjacency() == v1::ADJACENCY_ADD_REMOVE_ONE ? 2
                                                                          : 1);
}

MechanismChoice ChoiceFor(const v1::RunSpecification& specification,
                          const v1::Dataset& dataset) {
  const v1::RunParameters& run = specification.parameters();
  if (dataset.has_ratings()) {
    return {std::string(dpnmf::kRatingsMechanism.name),
            "The data set contains ratings, in which a missing entry is not 0: "
            "no other mechanism reads them."};
  }
  const v1::LearnerOptions& learner = specification.learner();
  return ChooseMechanism(
      {.users = static_cast<double>(dataset.users()),
       .features = static_cast<double>(dataset.features()),
       .rank = static_cast<double>(run.rank()),
       .mu_squared = CostForChoice(run, dataset),
       .has_outliers = run.outliers(),
       .has_rounds = run.rounds() > 0,
       .has_public_start =
           learner.initialisation() == v1::INITIALISATION_PUBLIC,
       .holds_sums = dataset.has_sums(),
       .is_summed = dataset.has_federation() || !dataset.partition().empty(),
       .names_rows = learner.rows_size() > 0,
       .has_order = specification.has_feature_order(),
       .has_priors = specification.priors_size() > 0});
}

void SetDefaults(std::span<const Knob> knobs, RunParameters* parameters) {
  for (const Knob& knob : knobs)
    if (IsZero(knob, *parameters)) SetDefault(knob, parameters);
}

// Fills in the defaults of every run and those of its mechanism, where the
// specification has 0 and PlanFor does not refuse the mechanism or the facts.
void FillDefaults(const v1::Dataset& dataset, v1::RunParameters* run) {
  const Mechanism* const mechanism = Mechanisms().Find(run->mechanism());
  const dpnmf::Mechanism* const shared =
      dpnmf::Mechanisms().Find(run->mechanism());
  const absl::StatusOr<DatasetFacts> facts = FactsOf(dataset);
  absl::StatusOr<RunParameters> parameters = FromProto(*run);
  if (!parameters.ok()) return;
  SetDefaults(KnobsOfEveryRun(), &*parameters);
  if (mechanism != nullptr && shared != nullptr && facts.ok()) {
    mechanism->fill_defaults(*facts, &*parameters);
    SetDefaults(shared->knobs, &*parameters);
  }
  *run = dpnmf::ToProto(*parameters);
}

// A run of stored sums can be on their rows alone.
void NameRowsOfSums(const v1::Dataset& dataset,
                    v1::RunSpecification* specification) {
  const auto& rows = dataset.sums().rows();
  const v1::RunParameters& run = specification->parameters();
  v1::LearnerOptions& learner = *specification->mutable_learner();
  if (MechanismHas(run.mechanism(), &dpnmf::Mechanism::takes_rows) &&
      learner.rows().empty() &&
      (run.moment_rows() == 0 ||
       run.moment_rows() == static_cast<std::uint32_t>(rows.size())))
    *learner.mutable_rows() = rows;
}

// A run learns a dictionary, tells a figure or draws people.
absl::Status CheckHasAnswer(const std::string& name) {
  const Mechanism* const mechanism = Mechanisms().Find(name);
  const dpnmf::Mechanism* const shared = dpnmf::Mechanisms().Find(name);
  if (mechanism == nullptr || shared == nullptr || CanBeTrained(*shared) ||
      mechanism->figure != nullptr)
    return absl::OkStatus();
  return Invalid("mechanism-unknown",
                 absl::StrCat("`mechanism` ", name,
                              " learns no dictionary: choose another."));
}

// The noise and the price of a federation's sum, and what federating wins.
absl::Status ShareNoise(const v1::Dataset& dataset,
                        const RunParameters& parameters, RunPlan* plan,
                        v1::PlanRunReply* reply) {
  const v1::FederationFacts& federation = dataset.federation();
  DPNMF_RETURN_IF_ERROR(CheckFederatedMechanism(parameters.mechanism));
  const NoiseShares shares{federation.members() - federation.colluders(),
                           federation.copies()};
  DPNMF_ASSIGN_OR_RETURN(
      RunPlan share,
      ShareOfPlan(std::move(*plan), parameters.adjacency, shares));
  *plan = SumOfShares(std::move(share), federation.members());
  const std::string sentence =
      SharesSentence(federation.members(), federation.colluders());
  reply->set_reason(reply->reason().empty()
                        ? sentence
                        : absl::StrCat(reply->reason(), " ", sentence));
  return absl::OkStatus();
}

v1::Forecast ToProto(const Forecast& forecast) {
  v1::Forecast message;
  message.set_noise(forecast.noise);
  message.set_most_directions(forecast.most_directions);
  message.set_typical_directions(forecast.typical_directions);
  message.set_too_small(forecast.too_small);
  message.set_epsilon_needed(forecast.epsilon_needed);
  message.set_sentence(forecast.sentence);
  message.set_reliable_parts(forecast.reliable_parts);
  return message;
}

}  // namespace

v1::RunSpecification WithDefaults(v1::RunSpecification specification,
                                  const v1::Dataset& dataset) {
  v1::RunParameters& run = *specification.mutable_parameters();
  if (run.mechanism().empty() || run.mechanism() == "auto")
    run.set_mechanism(ChoiceFor(specification, dataset).mechanism);
  if (run.adjacency() == v1::ADJACENCY_UNSPECIFIED) {
    run.set_adjacency(dataset.guarantee().adjacency());
  }
  if (run.conversion() == v1::CONVERSION_UNSPECIFIED) {
    run.set_conversion(dataset.guarantee().conversion());
  }
  NameRowsOfSums(dataset, &specification);
  if (run.moment_rows() == 0)
    run.set_moment_rows(
        static_cast<std::uint32_t>(specification.learner().rows_size()));
  FillDefaults(dataset, &run);
  v1::LearnerOptions& learner = *specification.mutable_learner();
  if (learner.initialisation() == v1::INITIALISATION_UNSPECIFIED) {
    learner.set_initialisation(v1::INITIALISATION_RANDOM);
  }
  if (learner.step_size() == 0) learner.set_step_size(kDefaultStepSize);
  if (learner.steps_per_round() == 0)
    learner.set_steps_per_round(kDefaultStepsPerRound);
  return specification;
}

absl::Status CheckLearnerOptions(const v1::LearnerOptions& options) {
  if (!(options.step_size() > 0 && options.step_size() <= 2)) {
    return Invalid("step-size-out-of-range",
                   "`step_size` must be above 0 and at most 2.");
  }
  if (options.steps_per_round() < 1 ||
      options.steps_per_round() > kMaxStepsPerRound) {
    return Invalid("steps-out-of-range",
                   "`steps_per_round` must be from 1 to 10,000.");
  }
  if (options.initialisation() != v1::INITIALISATION_RANDOM &&
      options.initialisation() != v1::INITIALISATION_PUBLIC) {
    return Invalid("initialisation-unknown",
                   "`initialisation` must be random or public.");
  }
  return absl::OkStatus();
}

namespace {

// The rows that a request names in the place of those that the mean chooses.
absl::Status CheckGivenRows(const v1::LearnerOptions& options,
                            const RunParameters& parameters,
                            const DatasetFacts& facts) {
  if (options.rows().empty()) return absl::OkStatus();
  if (!MechanismHas(parameters.mechanism, &dpnmf::Mechanism::takes_rows) ||
      parameters.moment_rows >= facts.features) {
    return Invalid(
        "moment-rows-unused",
        absl::StrCat(
            "Only runs of mechanism ",
            NamesText(dpnmf::Mechanisms(), &dpnmf::Mechanism::takes_rows),
            " on fewer rows than features take `rows`: leave them "
            "out."));
  }
  std::uint64_t next = 0;
  bool good = options.rows_size() == static_cast<int>(parameters.moment_rows);
  for (const std::uint32_t row : options.rows()) {
    good = good && row >= next && row < facts.features;
    next = std::uint64_t{row} + 1;
  }
  if (good) return absl::OkStatus();
  return Invalid("moment-rows-out-of-range",
                 "`rows` must be ascending numbers of features from 0, as many "
                 "as `moment_rows`.");
}

// The mechanism is known, and uses the options of learning that are given.
absl::Status CheckLearning(const v1::RunSpecification& specification,
                           const RunParameters& parameters,
                           const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckLearnerOptions(specification.learner()));
  DPNMF_RETURN_IF_ERROR(
      CheckGivenRows(specification.learner(), parameters, facts));
  if (Mechanisms().Find(parameters.mechanism) == nullptr) {
    return Invalid("mechanism-unknown",
                   "This analyst does not know that `mechanism`.");
  }
  if (specification.learner().non_negative() &&
      Mechanisms().Find(parameters.mechanism)->item_model == nullptr) {
    return Invalid("non-negative-refused",
                   "Only runs on ratings take `non_negative`: leave it out; "
                   "the dictionary of other runs is never negative.");
  }
  DPNMF_RETURN_IF_ERROR(CheckFitLawOf(specification.learner()));
  if (!FitLawOf(specification.learner()).is_plain() &&
      !dpnmf::Mechanisms()
           .Find(parameters.mechanism)
           ->uses("loss", parameters, facts)) {
    return Invalid("loss-unused",
                   "Only runs of mechanism moments without further rounds, or "
                   "of aimed, take `loss` and `sparse`: leave them out, or "
                   "choose one of these mechanisms.");
  }
  if (specification.priors_size() > 0 &&
      !MechanismHas(parameters.mechanism, &dpnmf::Mechanism::fits_moments)) {
    return Invalid("prior-unused",
                   "Only runs of mechanism moments or aimed take priors: leave "
                   "them out, or choose one of these mechanisms.");
  }
  if (specification.has_feature_order()) {
    if (!MechanismHas(parameters.mechanism, &dpnmf::Mechanism::fits_moments)) {
      return Invalid(
          "feature-order-unused",
          "Only runs of mechanism moments or aimed take an order of features: "
          "leave it out, or choose one of these mechanisms.");
    }
    DPNMF_RETURN_IF_ERROR(
        OrderOf(specification.feature_order(), facts.features).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedRun> PlanFor(const v1::RunSpecification& specification,
                                   const v1::Dataset& dataset,
                                   const v1::LedgerPosition& position) {
  PlannedRun planned;
  planned.dataset = dataset;
  v1::PlanRunReply& reply = planned.reply;
  *reply.mutable_specification() = WithDefaults(specification, dataset);
  const std::string& asked = specification.parameters().mechanism();
  if (asked.empty() || asked == "auto")
    reply.set_reason(ChoiceFor(specification, dataset).reason);
  *reply.mutable_guarantee() = dataset.guarantee();
  *reply.mutable_position() = position;
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset));
  DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters,
                         FromProto(reply.specification().parameters()));
  DPNMF_RETURN_IF_ERROR(CheckHasAnswer(parameters.mechanism));
  DPNMF_RETURN_IF_ERROR(CheckRunParameters(parameters, facts));
  DPNMF_RETURN_IF_ERROR(
      CheckLearning(reply.specification(), parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(RunPlan plan, PlanRun(parameters, facts));
  if (dataset.has_sums()) {
    const StoredSums sums = FromProto(dataset.sums());
    DPNMF_RETURN_IF_ERROR(
        CheckSumsHoldRun(sums, facts.features, parameters, plan));
    const auto& rows = reply.specification().learner().rows();
    DPNMF_RETURN_IF_ERROR(CheckSumsHoldRows(
        sums, facts.features,
        std::vector<std::uint32_t>(rows.begin(), rows.end())));
  }
  if (dataset.has_federation())
    DPNMF_RETURN_IF_ERROR(ShareNoise(dataset, parameters, &plan, &reply));
  DPNMF_ASSIGN_OR_RETURN(*reply.mutable_plan(),
                         ToProto(plan, parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(
      const double largest_run,
      LargestRunOf(reply.guarantee(), position, parameters.delta));
  const Forecast forecast = ForecastOf(plan, parameters, facts, largest_run);
  if (forecast.noise > 0) *reply.mutable_forecast() = ToProto(forecast);
  if (facts.ratings.has_value())
    reply.mutable_forecast()->set_sentence(ForecastSentence(plan, facts));
  *reply.mutable_learning() =
      EstimateLearning(reply.specification(), reply.plan(), facts.features);
  DPNMF_RETURN_IF_ERROR(CompareWithBudget(plan.cost, &reply));
  if (!reply.would_be_refused() && forecast.hopeless() &&
      !specification.hopeless()) {
    reply.set_would_be_refused(true);
    reply.set_refusal_code("run-hopeless");
    reply.set_refusal(
        "No part of this run can be expected to be reliable: choose a larger "
        "epsilon, or start this run nevertheless with --even-if-unreliable.");
  }
  return planned;
}

absl::StatusOr<v1::Dataset> FindDataset(CuratorConnection* curator,
                                        const std::string& name) {
  DPNMF_ASSIGN_OR_RETURN(const v1::ListDatasetsReply list,
                         curator->ListDatasets());
  for (const v1::Dataset& dataset : list.datasets()) {
    if (dataset.name() == name) return dataset;
  }
  // One that the curator does not serve yet is not in the list.
  const absl::Status asked = curator->GetLedger(name, kAfterAllRows).status();
  if (IsConnectionFailure(asked)) return asked;
  return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                 "The curator offers no data set with that name to this "
                 "analyst; `dpnmf datasets` lists them.");
}

absl::StatusOr<PlannedRun> PlanWithCurator(
    const v1::RunSpecification& specification, CuratorConnection* curator) {
  const std::string& name = specification.parameters().dataset();
  DPNMF_ASSIGN_OR_RETURN(const v1::Dataset dataset, FindDataset(curator, name));
  DPNMF_ASSIGN_OR_RETURN(const v1::GetLedgerReply ledger,
                         curator->GetLedger(name, kAfterAllRows));
  return PlanFor(specification, dataset, ledger.position());
}

}  // namespace dpnmf::analyst
