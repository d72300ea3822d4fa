#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/commands/commands.h"
#include "client/files/model_file.h"
#include "client/flags/law_flags.h"
#include "client/flags/order_flags.h"
#include "client/flags/prior_flags.h"
#include "client/render/text.h"
#include "client/session/follow.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"

namespace dpnmf::cli {
namespace {

constexpr std::string_view kPublicStart = "public:";
constexpr std::uint32_t kMostRefits = 100;

struct RefitFlags {
  std::string run;
  std::string rank;
  std::string init = "random";
  std::uint64_t seed = 0;
  bool wait = false;
  LawFlags law;
  std::vector<std::string> join;
  PriorFlags of_priors;
  OrderFlags of_order;
};

absl::Status RankMalformed() {
  return Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
                 absl::StrCat("`--rank` must be a rank, several ranks with "
                              "commas, or a range such as 4:20, and at most ",
                              kMostRefits, " of them."));
}

// "8", "4,8", "4:20" and mixtures; 0, the parent's, if there is none.
absl::StatusOr<std::vector<std::uint32_t>> RanksOf(const std::string& text) {
  if (text.empty()) return std::vector<std::uint32_t>{0};
  std::vector<std::uint32_t> ranks;
  for (const std::string& item :
       std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> ends = absl::StrSplit(item, ':');
    std::uint32_t first = 0, last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first < 1 || last < first ||
        last - first >= kMostRefits)
      return RankMalformed();
    for (std::uint32_t rank = first; rank <= last; ++rank)
      ranks.push_back(rank);
  }
  if (ranks.size() > kMostRefits) return RankMalformed();
  return ranks;
}

absl::StatusOr<std::vector<double>> StartOf(
    const RefitFlags& flags, const std::vector<std::uint32_t>& ranks) {
  if (flags.init == "random") return std::vector<double>();
  if (!absl::StartsWith(flags.init, "public:")) {
    return Refusal(absl::StatusCode::kInvalidArgument, "init-malformed",
                   "`--init` must be random or public:FILE.");
  }
  const std::string path = flags.init.substr(kPublicStart.size());
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd w, ReadMatrixFile(path));
  if (ranks.size() > 1 ||
      (ranks[0] != 0 && w.cols() != static_cast<Eigen::Index>(ranks[0]))) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "init-shape-mismatch",
        absl::StrCat("'", path, "' is ", w.rows(), " x ", w.cols(),
                     "; with a public start give one `--rank`, its number of "
                     "columns, or none."));
  }
  return std::vector<double>(w.data(), w.data() + w.size());
}

absl::StatusOr<v1::Run> Await(const Session& session,
                              const AnalystClient& client,
                              const std::string& run_id) {
  return AwaitRun(session, client, run_id,
                  "Stopped watching; the fits continue. 'dpnmf runs' shows "
                  "them.");
}

std::string RefitText(const v1::ListRunsReply& reply, bool wait) {
  // The ids stand on lines of their own, for scripts.
  std::string text;
  for (const v1::Run& run : reply.runs())
    absl::StrAppend(&text, run.run_id(), "\n");
  if (wait) return absl::StrCat(text, RunsText(reply));
  return absl::StrCat(text,
                      "The fits continue in the background and cost nothing; "
                      "'dpnmf runs' shows them.\n");
}

// Starts as many fits at once as the server takes; with --wait also the others.
absl::StatusOr<ExitCode> Refit(const Session& session,
                               const RefitFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> ranks,
                         RanksOf(flags.rank));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<double> start,
                         StartOf(flags, ranks));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  v1::Refit refit;
  DPNMF_ASSIGN_OR_RETURN(*refit.mutable_run_id(),
                         ResolveRunId(client, flags.run));
  for (const std::string& joined : flags.join) {
    DPNMF_ASSIGN_OR_RETURN(*refit.add_joined_run_ids(),
                           ResolveRunId(client, joined));
  }
  refit.mutable_learner()->set_seed(flags.seed);
  SetLaw(flags.law, refit.mutable_learner());
  refit.mutable_learner()->set_initialisation(
      start.empty() ? v1::INITIALISATION_RANDOM : v1::INITIALISATION_PUBLIC);
  const bool alone = flags.of_priors.priors == std::vector<std::string>{"none"};
  refit.set_without_priors(alone);
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PriorToSend> priors,
                         ReadPriors(alone ? PriorFlags() : flags.of_priors,
                                    [&](const std::string& id) {
                                      return ResolveRunId(client, id);
                                    }));
  const bool any_names = std::any_of(
      priors.begin(), priors.end(),
      [](const PriorToSend& prior) { return prior.header.named(); });
  std::vector<std::string> features;
  if (any_names) {
    // Without a model of the run, its server matches them all the same.
    if (auto model = client.GetModel(refit.run_id()); model.ok())
      features = std::move(model->names);
  }
  NotePriors(priors, features, session.environment().err);
  for (const PriorToSend& prior : priors) *refit.add_priors() = prior.header;
  DPNMF_ASSIGN_OR_RETURN(const auto order, ReadOrder(flags.of_order));
  if (order.has_value()) *refit.mutable_feature_order() = *order;
  v1::ListRunsReply runs;
  int ended = 0;  // of `runs`, from the first
  for (const std::uint32_t rank : ranks) {
    refit.set_rank(rank);
    absl::StatusOr<v1::Run> run = client.RefitRun(refit, start, &priors);
    while (flags.wait && ReasonCode(run.status()) == "too-many-runs" &&
           ended < runs.runs_size()) {
      DPNMF_ASSIGN_OR_RETURN(*runs.mutable_runs(ended),
                             Await(session, client, runs.runs(ended).run_id()));
      ++ended;
      run = client.RefitRun(refit, start, &priors);
    }
    if (!run.ok()) return run.status();
    *runs.add_runs() = *std::move(run);
  }
  bool completed = true;
  for (; flags.wait && ended < runs.runs_size(); ++ended) {
    DPNMF_ASSIGN_OR_RETURN(*runs.mutable_runs(ended),
                           Await(session, client, runs.runs(ended).run_id()));
  }
  for (const v1::Run& run : runs.runs())
    completed &= run.state() == v1::RUN_STATE_COMPLETED;
  const std::string text = RefitText(runs, flags.wait);
  if (runs.runs_size() == 1) {
    session.Print(runs.runs(0), text);
  } else {
    session.Print(runs, text);
  }
  return flags.wait && !completed ? kExitRunFailed : kExitOk;
}

}  // namespace

Command RefitCommand(const Session* session) {
  const auto flags = std::make_shared<RefitFlags>();
  Command refit = {
      .name = "refit",
      .summary = "Fit further models to the paid release of a run of moments",
      .footer =
          "You can fit models to the release of a run of moments any number of "
          "times: the\ncurator is not contacted and nothing is charged. Each "
          "model is a separate run, a\nchild of RUN. The same request again is "
          "the same run. With --format json: the run, or\nwith several ranks a "
          "list of runs.\n\nExamples:\n  dpnmf refit 3f9a --rank 8 --wait\n  "
          "dpnmf refit 3f9a --rank 4:20 --seed 1\n  dpnmf refit 3f9a --prior "
          "dictionary:signatures.csv\n  dpnmf refit 3f9a --loss kl\n\nWithout "
          "--prior a model has the priors of RUN; `--prior none` leaves them "
          "out.\nThe same holds for the order of features and `--feature-order "
          "none`. Without --loss\nand --sparse it is fitted by the law of RUN.",
      .flags =
          {Flag("run", &flags->run, "Id of the run, or its first digits",
                {.value = "RUN", .required = true}),
           Flag("--rank", &flags->rank,
                "K, several ranks with commas, or a range such as 4:20 [the "
                "run's]",
                {.value = "K"}),
           Flag("--seed", &flags->seed, "Seed of the fit",
                {.value = "N", .shown = true}),
           Flag(
               "--init", &flags->init,
               "Start of the fit: random, or public:FILE (.npy or .csv, D x K)",
               {.value = "random|public:FILE", .shown = true}),
           Flag("--join", &flags->join,
                "Further runs: W is fitted to the sum of all releases "
                "over people",
                {.value = "RUN,RUN"}),
           Flag("--wait", &flags->wait,
                "Wait until all runs end; exit code 9 if one fails")},
      .run = [session, flags] { return Refit(*session, *flags); }};
  for (const Flag& flag : FlagsOfPriors(&flags->of_priors))
    refit.flags.push_back(flag);
  for (const Flag& flag : FlagsOfLaw(&flags->law)) refit.flags.push_back(flag);
  for (const Flag& flag : FlagsOfOrder(&flags->of_order))
    refit.flags.push_back(flag);
  return refit;
}

}  // namespace dpnmf::cli
