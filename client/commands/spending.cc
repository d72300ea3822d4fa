#include "client/commands/spending.h"

#include <algorithm>
#include <istream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/render/names.h"
#include "client/render/number.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/wire/run_state.h"

namespace dpnmf::cli {
namespace {

// Tells if the plan's model is one fit to its last release.
bool IsOneFit(const v1::PlanRunReply& reply) {
  const std::string& mechanism = reply.specification().parameters().mechanism();
  return MechanismHas(mechanism, &Mechanism::fits_moments) &&
         !reply.plan().stages().empty() &&
         reply.plan().stages().rbegin()->release() == mechanism;
}

// Tells if the run may still pay.
bool GoesOn(const v1::Run& run) {
  return !IsFinal(run.state()) && run.state() != v1::RUN_STATE_CANCELLING;
}

// Tells if the second moment of the run has been charged, or will be.
bool PaysForMoments(const v1::Run& run) {
  std::uint32_t before = 0;
  for (const v1::StagePlan& stage : run.plan().stages()) {
    if (stage.release() == kReleaseOfMoments)
      return run.rounds_done() > before || GoesOn(run);
    before += stage.rounds();
  }
  return false;
}

// Tells if the run's model is that of the planned one but for the noise.
bool GivesTheSame(const v1::Run& run, const v1::RunParameters& asked) {
  const v1::RunParameters& had = run.specification().parameters();
  return had.mechanism() == asked.mechanism() && had.rank() == asked.rank() &&
         had.rounds() == asked.rounds() && had.epsilon() >= asked.epsilon() &&
         (GoesOn(run) || run.state() == v1::RUN_STATE_COMPLETED);
}

// The run with the least noise that makes the planned one needless; null if
// there is none.
const v1::Run* PaidRun(const v1::PlanRunReply& plan,
                       const v1::ListRunsReply& runs) {
  const v1::RunParameters& asked = plan.specification().parameters();
  const bool is_one_fit = IsOneFit(plan);
  const v1::Run* best = nullptr;
  const auto epsilon = [](const v1::Run& run) {
    return run.specification().parameters().epsilon();
  };
  for (const v1::Run& run : runs.runs()) {
    if (run.specification().parameters().dataset() == asked.dataset() &&
        run.parent().empty() && !run.added() &&
        (is_one_fit ? PaysForMoments(run) : GivesTheSame(run, asked)) &&
        (best == nullptr || epsilon(run) > epsilon(*best)))
      best = &run;
  }
  return best;
}

// Asks if there is a terminal; `flag` is the way past the refusal.
absl::Status AskOrRefuse(const Session& session, const std::string& code,
                         const std::string& sentence, const std::string& flag) {
  const Environment& environment = session.environment();
  if (environment.answers == nullptr || session.json()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, code,
                   absl::StrCat(sentence,
                                " Nothing was started; to pay for "
                                "this run nevertheless, add ",
                                flag, "."));
  }
  *environment.err << "dpnmf: " << sentence
                   << "\nPay for this run nevertheless? [y/N] " << std::flush;
  std::string answer;
  std::getline(*environment.answers, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, code,
                 "Nothing was started and nothing was spent.");
}

}  // namespace

absl::Status ConfirmSpending(const Session& session,
                             const v1::PlanRunReply& plan,
                             const v1::ListRunsReply& runs) {
  const v1::RunSpecification& asked = plan.specification();
  const std::uint32_t rank = asked.parameters().rank();
  const v1::Run* const paid =
      asked.request_id().empty() ? PaidRun(plan, runs) : nullptr;
  if (paid != nullptr) {
    const std::string id = ShortRunId(paid->run_id());
    const bool done = !GoesOn(*paid);
    DPNMF_RETURN_IF_ERROR(AskOrRefuse(
        session, "release-paid",
        absl::StrCat("Run ", id, done ? " has paid" : " pays", " epsilon ",
                     FormatUp(paid->specification().parameters().epsilon()),
                     IsOneFit(plan) ? " for a release of data set '"
                                    : " for the same on data set '",
                     asked.parameters().dataset(),
                     "': ", done ? "" : "once it is completed, ", "'dpnmf ",
                     IsOneFit(plan)
                         ? absl::StrCat("refit ", id, " --rank ", rank)
                         : absl::StrCat("model ", id),
                     "' gives a model from it for free."),
        "--spend-again"));
  }
  const v1::Forecast& forecast = plan.forecast();
  if (forecast.noise() > 0 && 2 * forecast.reliable_parts() < rank &&
      !asked.hopeless()) {
    DPNMF_RETURN_IF_ERROR(AskOrRefuse(session, "run-unreliable",
                                      forecast.sentence(),
                                      "--even-if-unreliable"));
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::cli
