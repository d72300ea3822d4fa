#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyst/client/commands/commands.h"
#include "analyst/client/follow.h"
#include "analyst/client/model.h"
#include "analyst/client/render/number.h"
#include "analyst/client/run_id.h"
#include "common/base/error.h"
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
  parameters->set_mechanism("objective");
  parameters->set_rounds(1);
  parameters->set_epsilon(flags.epsilon);
  parameters->set_delta(flags.delta.value_or(trained.delta()));
  parameters->set_inner_iterations(kSweeps);
  specification.mutable_learner()->set_initialisation(
      v1::INITIALISATION_PUBLIC);
  return specification;
}

std::string ObjectiveText(const v1::Run& run) {
  if (!run.has_objective()) return "";
  return absl::StrCat(
      "objective  ", FormatNumber(run.objective().value()),
      "  (1/(2N) sum of min(|v - W h|^2, c^2), noised: plus or minus ",
      FormatNumber(2 * run.objective().stddev()), " 19 times in 20)\n");
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
      << (session.json() ? ToJsonLine(ended) + "\n" : ObjectiveText(ended))
      << std::flush;
  return code;
}

}  // namespace

Command ObjectiveCommand(const Session* session) {
  const auto flags = std::make_shared<ObjectiveFlags>();
  return {
      .name = "objective",
      .summary = "How well the dictionary of a run fits; a charged release",
      .footer =
          "The figure is a mean over people with noise; it is charged to the "
          "budget like a\nround of training. It tells how far W is from the "
          "data: 0 is perfect, and half\nthe mean squared length of a column "
          "(0.5 under l2) is what W = 0 gives.\nWith --format json: the run, "
          "its events and the run again, one a line.\n\nExample:\n"
          "  dpnmf objective 3f9a --epsilon 0.1",
      .flags = {Flag("run", &flags->run, "Its id, or the first digits of it",
                     {.value = "RUN", .required = true}),
                Flag(
                    "--epsilon", &flags->epsilon,
                    "What the figure may cost, under the data set's conversion",
                    {.value = "E", .required = true}),
                Flag("--delta", &flags->delta,
                     "Where epsilon is read; the run's if not given",
                     {.value = "D"})},
      .run = [session, flags] { return Objective(*session, *flags); }};
}

}  // namespace dpnmf::cli
