#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/commands.h"
#include "client/session/follow.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/wire/json.h"

namespace dpnmf::cli {
namespace {

// Sweeps of the curator's H step: enough that h is the best for most people.
constexpr std::uint32_t kSweeps = 100;

struct ObjectiveFlags {
  std::string run;
  double epsilon = 0;
  std::optional<double> delta;
};

// The same data set and promise; W is what the run has come to.
v1::RunSpecification SpecificationOf(const ObjectiveFlags& flags,
                                     const v1::RunParameters& trained) {
  v1::RunSpecification specification;
  v1::RunParameters* const parameters = specification.mutable_parameters();
  parameters->set_dataset(trained.dataset());
  parameters->set_rank(trained.rank());
  parameters->set_mechanism(std::string(kObjectiveMechanism.name));
  parameters->set_rounds(1);
  parameters->set_epsilon(flags.epsilon);
  parameters->set_delta(flags.delta.value_or(trained.delta()));
  parameters->set_inner_iterations(kSweeps);
  specification.mutable_learner()->set_initialisation(
      v1::INITIALISATION_PUBLIC);
  return specification;
}

// Text of the objective F. W explains the share 1 - 2 F of columns of length 1.
std::string ObjectiveText(const v1::Run& run, const v1::Dataset& dataset) {
  if (!run.has_objective()) return "";
  const double value = run.objective().value();
  const double twice_stddev = 2 * run.objective().stddev();
  std::string text = absl::StrCat(
      "objective  ", FormatNumber(value),
      "  (1/(2N) sum of min(|v - W h|^2, c^2), noised: plus or minus ",
      FormatNumber(twice_stddev), " 19 times in 20)\n");
  if (dataset.normalisation() == v1::NORMALISATION_L2) {
    absl::StrAppendFormat(
        &text,
        "           W explains %.0f %% of a person's squared length, plus or "
        "minus %.2g %%\n",
        100 * std::clamp(1 - 2 * value, 0.0, 1.0), 200 * twice_stddev);
  }
  return text;
}

absl::StatusOr<ExitCode> Objective(const Session& session,
                                   const ObjectiveFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, flags.run));
  DPNMF_ASSIGN_OR_RETURN(const v1::Run trained, client.GetRun(run_id));
  DPNMF_ASSIGN_OR_RETURN(const auto model, client.GetModel(run_id));
  DPNMF_ASSIGN_OR_RETURN(
      const v1::Run run,
      client.StartRun(
          SpecificationOf(flags, trained.specification().parameters()),
          {model.w.data(), static_cast<std::size_t>(model.w.size())}));
  if (session.json())
    *session.environment().out << ToJsonLine(run) << '\n' << std::flush;
  DPNMF_ASSIGN_OR_RETURN(const ExitCode code,
                         FollowRun(session, client, run, /*print_run=*/false));
  DPNMF_ASSIGN_OR_RETURN(const v1::Run ended, client.GetRun(run.run_id()));
  *session.environment().out
      << (session.json() ? ToJsonLine(ended) + "\n"
                         : ObjectiveText(ended, model.header.dataset()))
      << std::flush;
  return code;
}

}  // namespace

Command ObjectiveCommand(const Session* session) {
  const auto flags = std::make_shared<ObjectiveFlags>();
  return {
      .name = "objective",
      .summary =
          "Measure how well the dictionary of a run fits; a charged release",
      .footer =
          "The result is a mean over people with noise; it is charged to the "
          "budget like a\nround of training. It measures how far W is from the "
          "data: 0 is a perfect fit, and half\nthe mean squared length of a "
          "column (0.5 under l2) is the value of W = 0.\nWith --format json: "
          "the run, its events and the run again, one on each "
          "line.\n\nExample:\n  dpnmf objective 3f9a --epsilon 0.1",
      .flags = {Flag("run", &flags->run, "Id of the run, or its first digits",
                     {.value = "RUN", .required = true}),
                Flag("--epsilon", &flags->epsilon,
                     "Epsilon that the release may cost, under the data set's "
                     "conversion",
                     {.value = "E", .required = true}),
                Flag("--delta", &flags->delta,
                     "Delta at which epsilon is read [that of the run]",
                     {.value = "D"})},
      .run = [session, flags] { return Objective(*session, *flags); }};
}

}  // namespace dpnmf::cli
