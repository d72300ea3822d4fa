#include "lab/commands/evaluate_ratings_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/threads/interruption.h"
#include "lab/evaluate/page.h"
#include "lab/ratings/evaluation.h"
#include "lab/ratings/report.h"

namespace dpnmf::curator::lab {
namespace {

// Main has checked that every word is one of its flag's.
EvaluateRatingsOptions OptionsOf(const EvaluateRatingsFlags& flags) {
  EvaluateRatingsOptions options = flags.options;
  options.run.adjacency = AdjacencyOfName(flags.adjacency).value();
  options.by = HoldOutByOfName(flags.by).value();
  options.drop_unlisted = flags.unlisted == "drop";
  return options;
}

absl::Status CheckGiven(const EvaluateRatingsOptions& options) {
  const char* missing = options.items.empty()          ? "items"
                        : options.rating_range.empty() ? "rating-range"
                                                       : nullptr;
  if (missing == nullptr) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "evaluate-flag-missing",
                 absl::StrCat("`--ratings` needs --", missing, " as well."));
}

std::string Figure(double value) {
  return std::isnan(value) ? "-" : absl::StrFormat("%.4f", value);
}

void PrintSummary(const EvaluateRatingsOptions& options,
                  const RatingsEvaluation& evaluation) {
  absl::PrintF(
      "%s: %d ratings of %d items (D) by %d people (N = %d%s), %d public "
      "features, delta %g, %s\n",
      evaluation.name, evaluation.ratings, evaluation.items, evaluation.people,
      evaluation.users,
      options.users_count.has_value() ? "" : ", those of the file",
      evaluation.features, options.run.delta,
      std::string(NameOf(options.run.adjacency)));
  if (evaluation.replaced > 0) {
    absl::PrintF(
        "%d ratings were replaced by a later line of the same user "
        "and item.\n",
        evaluation.replaced);
  }
  if (evaluation.unlisted > 0)
    absl::PrintF("%d lines of unlisted items were left out.\n",
                 evaluation.unlisted);
  absl::PrintF("\n%-12s %8s %8s %8s %10s %8s %9s %8s\n", "medians", "epsilon",
               "RMSE", "MAE", "recall@20", "nDCG@20", "coverage", "seconds");
  for (const RatingsSummary& summary : Summarise(evaluation)) {
    const Metrics& median = summary.median;
    absl::PrintF(
        "%-12s %8s %8s %8s %10s %8s %9s %8.2f\n",
        std::string(NameOf(summary.method)),
        TakesEpsilon(summary.method) ? absl::StrFormat("%g", summary.epsilon)
                                     : "-",
        Figure(median.rmse), Figure(median.mae), Figure(median.recall20),
        Figure(median.ndcg20), Figure(median.coverage), summary.seconds);
  }
  if (!evaluation.complete()) {
    absl::PrintF("\ninterrupted after %d of %d trials\n",
                 evaluation.results.size() + evaluation.study.size(),
                 evaluation.planned);
  }
  absl::PrintF("\nwrote results.csv,%s results.json and report.html to %s\n",
               options.published_study ? " published.csv," : "",
               options.output);
}

}  // namespace

void PrintTrial(std::size_t number, std::size_t planned,
                const std::string& title) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  absl::FPrintF(stderr, "%strial %d of %d: %s%s", terminal ? "\r\033[K" : "",
                number, planned, title, terminal ? "" : "\n");
}

void ClearTrial() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

absl::Status CheckDataDir(const std::string& data_dir) {
  if (data_dir.empty() || std::filesystem::is_directory(data_dir))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kNotFound, "data-dir-missing",
                 absl::StrCat("There is no data directory ", data_dir,
                              "; give the one that dpnmf-curator import "
                              "wrote."));
}

std::string TimeOfUse() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                          absl::UTCTimeZone());
}

std::vector<Flag> RatingsFlags(EvaluateRatingsFlags* flags) {
  EvaluateRatingsOptions& options = flags->options;
  constexpr const char* kNeeds = "--ratings";
  return {
      Flag("--ratings", &options.ratings,
           "File of ratings instead of --input: lines of user, item, rating "
           "and optionally a time",
           {.value = "FILE"}),
      Flag("--items", &options.items, "File with the items' ids, one a line",
           {.value = "FILE", .needs = kNeeds}),
      Flag("--item-features", &options.item_features,
           "CSV of public features: item,name,...",
           {.value = "FILE", .needs = kNeeds}),
      Flag("--rating-range", &options.rating_range,
           "Declared range of a rating: LOW,HIGH", {.needs = kNeeds}),
      Flag("--unlisted", &flags->unlisted, "Lines of items not in --items",
           {.one_of = "refuse|drop", .needs = kNeeds, .shown = true}),
      Flag("--users-count", &options.users_count,
           "N: people, also those without ratings [the people in the file]",
           {.needs = kNeeds}),
      Flag("--adjacency", &flags->adjacency,
           "Relation between neighbours, of the method ratings",
           {.one_of = "replace_one|add_remove_one|one_rating",
            .needs = kNeeds,
            .shown = true}),
      Flag("--holdout", &options.holdout, "Share that is held out",
           {.needs = kNeeds, .shown = true}),
      Flag("--by", &flags->by,
           "What is held out: random ratings, people, or each person's latest "
           "ratings",
           {.one_of = "rating|person|time", .needs = kNeeds, .shown = true}),
      Flag("--methods", &options.methods,
           "Methods to compare: ratings; bias, popularity, als, ease and mean "
           "(without privacy); published; or all",
           {.needs = kNeeds, .shown = true}),
      Flag("--published-study", &options.published_study,
           "Also the published algorithm's figures on these data: "
           "published.csv",
           {.needs = kNeeds}),
      Flag("--shares", &options.run.shares,
           "Shares of the cost of the method ratings, by release: five "
           "numbers [chosen]",
           {.needs = kNeeds}),
      Flag("--moment-rows", &options.run.moment_rows,
           "M: rows of its second moments [chosen]", {.needs = kNeeds}),
      Flag("--profile-directions", &options.run.profile_directions,
           "r: directions of its corrections [chosen]", {.needs = kNeeds}),
      Flag("--non-negative", &options.run.non_negative,
           "Fit the method ratings with non-negative parts: no factor and no "
           "person's share of one is below 0",
           {.needs = kNeeds})};
}

absl::StatusOr<ExitCode> RunEvaluateRatings(const EvaluateRatingsFlags& flags) {
  const EvaluateRatingsOptions options = OptionsOf(flags);
  DPNMF_RETURN_IF_ERROR(CheckGiven(options));
  DPNMF_RETURN_IF_ERROR(CheckEvaluateRatingsOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckDataDir(options.data_dir));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.output));
  absl::PrintF("%s\n", std::string(kEvaluateWarning));
  std::fflush(stdout);
  DPNMF_RETURN_IF_ERROR(RecordUse(options, TimeOfUse()));
  InterruptGently();
  RatingsHooks hooks;
  hooks.before_trial = PrintTrial;
  hooks.after_trial = [&](const RatingsEvaluation& evaluation) {
    return WriteTables(options, evaluation);
  };
  hooks.stop = Interrupted;
  const absl::StatusOr<RatingsEvaluation> evaluation =
      EvaluateRatings(options, hooks);
  ClearTrial();
  DPNMF_RETURN_IF_ERROR(evaluation.status());
  DPNMF_RETURN_IF_ERROR(WriteTables(options, *evaluation));
  DPNMF_RETURN_IF_ERROR(WriteReport(options, *evaluation));
  PrintSummary(options, *evaluation);
  return evaluation->complete() ? kExitOk : kExitInterrupted;
}

}  // namespace dpnmf::curator::lab
