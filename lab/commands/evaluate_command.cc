#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "lab/commands/commands.h"
#include "lab/commands/evaluate_ratings_command.h"
#include "lab/commands/report_files.h"
#include "lab/evaluate/evaluation.h"
#include "lab/evaluate/report.h"

namespace dpnmf::curator::lab {
namespace {

struct EvaluateFlags {
  EvaluateOptions options;
  std::string users, format_in = "auto", outliers = "off";
  std::string conversion = "gaussian", loss = "squared";
  std::string image_order = "row";
  std::optional<int> rank;
  bool force = false;
  EvaluateRatingsFlags of_ratings;
};

// Main has checked that every word is one of its flag's.
EvaluateOptions OptionsOf(const EvaluateFlags& flags) {
  EvaluateOptions options = flags.options;
  options.rank = flags.rank.value_or(0);
  options.users_are_rows = flags.users == "rows";
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.conversion = ConversionOfName(flags.conversion).value();
  options.image_by_columns = flags.image_order == "column";
  options.law.loss = LossOfName(flags.loss).value();
  options.outliers = flags.outliers == "on"     ? OutlierChoice::kOn
                     : flags.outliers == "both" ? OutlierChoice::kBoth
                                                : OutlierChoice::kOff;
  options.note = [](const std::string& sentence) {
    absl::FPrintF(stderr, "dpnmf-lab: note: %s.\n", sentence);
  };
  return options;
}

std::string TitleOf(const Setting& setting) {
  std::string title(NameOf(setting.method));
  if (setting.rounds > 0)
    absl::StrAppend(&title, ", ", setting.rounds, " rounds");
  if (setting.outliers) absl::StrAppend(&title, ", outliers on");
  if (setting.distorted) absl::StrAppend(&title, ", outliers added");
  return title;
}

std::string TrialTitle(const Setting& setting, std::uint32_t repeat) {
  return absl::StrCat("repeat ", repeat, ", ", TitleOf(setting),
                      TakesEpsilon(setting.method)
                          ? absl::StrFormat(", epsilon %g", setting.epsilon)
                          : "");
}

// Keeps, of the summaries that differ only in rounds, the one of least median.
std::vector<Summary> BestOverRounds(const Evaluation& evaluation) {
  std::vector<Summary> best;
  for (const Summary& summary : Summarise(evaluation)) {
    const auto same =
        std::find_if(best.begin(), best.end(),
                     [setting = summary.setting](Summary& other) mutable {
                       setting.rounds = other.setting.rounds;
                       return other.setting == setting;
                     });
    if (same == best.end()) {
      best.push_back(summary);
    } else if (summary.objective.median < same->objective.median) {
      *same = summary;
    }
  }
  return best;
}

void PrintSummary(const EvaluateOptions& options,
                  const Evaluation& evaluation) {
  absl::PrintF("%s: %d features (D) x %d users (N), rank %d, delta %g\n\n",
               evaluation.name, evaluation.features, evaluation.users,
               options.rank, options.delta);
  absl::PrintF("%-52s %8s %8s  %-17s %8s\n",
               options.law.loss == Loss::kSquared
                   ? "1/(2N) |V - WH|^2, best H >= 0"
                   : "1/N divergence of V from WH, best H >= 0",
               "epsilon", "median", "range", "seconds");
  for (const Summary& summary : BestOverRounds(evaluation)) {
    absl::PrintF("%-52s %8s %8.4f  %.4f to %.4f  %8.2f\n",
                 TitleOf(summary.setting),
                 TakesEpsilon(summary.setting.method)
                     ? absl::StrFormat("%g", summary.setting.epsilon)
                     : "-",
                 summary.objective.median, summary.objective.least,
                 summary.objective.largest, summary.seconds);
  }
  absl::PrintF("\n");
  if (!evaluation.complete()) {
    absl::PrintF("interrupted after %d of %d trials\n",
                 evaluation.results.size(), evaluation.planned);
  }
  absl::PrintF(
      "wrote results.csv (all rounds), curves.csv, results.json and "
      "report.html to %s\n",
      options.output);
}

// Either a matrix or ratings, with what they need and nothing of the other's.
absl::Status CheckInput(const EvaluateFlags& flags) {
  const EvaluateOptions& options = flags.options;
  const bool ratings = !flags.of_ratings.options.ratings.empty();
  if (!ratings) {
    const char* missing = options.input.empty()     ? "input or --ratings"
                          : flags.users.empty()     ? "users"
                          : !flags.rank.has_value() ? "rank"
                                                    : nullptr;
    if (missing == nullptr) return absl::OkStatus();
    return BadInput("evaluate-flag-missing",
                    absl::StrCat("`evaluate` needs --", missing, "."));
  }
  const char* other = !options.input.empty()           ? "input"
                      : !flags.users.empty()           ? "users"
                      : flags.format_in != "auto"      ? "format-in"
                      : !options.array.empty()         ? "array"
                      : !options.vocabulary.empty()    ? "vocabulary"
                      : options.image_width != 0       ? "image-width"
                      : !options.feature_order.empty() ? "feature-order"
                      : !options.priors.empty()        ? "prior"
                      : flags.loss != "squared"        ? "loss"
                      : options.law.sparseness != 0    ? "sparse"
                      : !options.rounds.empty()        ? "rounds"
                      : flags.outliers != "off"        ? "outliers"
                      : options.lambda.has_value()     ? "lambda"
                      : options.outlier_experiment     ? "outlier-experiment"
                      : !options.save_models.empty()   ? "save-models"
                      : options.mechanisms != std::vector<std::string>{"all"}
                          ? "mechanism"
                          : nullptr;
  if (other == nullptr) return absl::OkStatus();
  return BadInput("evaluate-flags-mixed",
                  absl::StrCat("`--ratings` and --", other,
                               " exclude each other: a matrix has no missing "
                               "entries, ratings have."));
}

// The flags that both halves read.
EvaluateRatingsFlags OfRatings(const EvaluateFlags& flags) {
  EvaluateRatingsFlags of_ratings = flags.of_ratings;
  EvaluateRatingsOptions& options = of_ratings.options;
  options.epsilon = flags.options.epsilon;
  options.run.delta = flags.options.delta;
  options.run.conversion = ConversionOfName(flags.conversion).value();
  options.run.rank = static_cast<std::uint32_t>(flags.rank.value_or(0));
  options.repeats = flags.options.repeats;
  options.seed = flags.options.seed;
  options.is_public = flags.options.is_public;
  options.threads = flags.options.threads;
  options.output = flags.options.output;
  options.data_dir = flags.options.data_dir;
  return of_ratings;
}

absl::StatusOr<ExitCode> RunEvaluate(const EvaluateFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckInput(flags));
  DPNMF_RETURN_IF_ERROR(CheckNoReport(flags.options.output, flags.force));
  if (!flags.of_ratings.options.ratings.empty())
    return RunEvaluateRatings(OfRatings(flags));
  const EvaluateOptions options = OptionsOf(flags);
  DPNMF_RETURN_IF_ERROR(CheckEvaluateOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckDataDir(options.data_dir));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.output));
  absl::PrintF("%s\n", std::string(kEvaluateWarning));
  std::fflush(stdout);
  DPNMF_RETURN_IF_ERROR(RecordUse(options, TimeOfUse()));
  InterruptGently();
  EvaluateHooks hooks;
  hooks.before_trial = [](std::size_t number, std::size_t planned,
                          const Setting& setting, std::uint32_t repeat) {
    PrintTrial(number, planned, TrialTitle(setting, repeat));
  };
  hooks.after_trial = [&](const Evaluation& evaluation) {
    return WriteTables(options, evaluation);
  };
  hooks.stop = Interrupted;
  const absl::StatusOr<Evaluation> evaluation = Evaluate(options, hooks);
  ClearTrial();
  DPNMF_RETURN_IF_ERROR(evaluation.status());
  DPNMF_RETURN_IF_ERROR(WriteTables(options, *evaluation));
  DPNMF_RETURN_IF_ERROR(WriteReport(options, *evaluation));
  PrintSummary(options, *evaluation);
  return evaluation->complete() ? kExitOk : kExitInterrupted;
}

}  // namespace

Command EvaluateCommand() {
  static const std::string formats = FormatNames();
  const auto flags = std::make_shared<EvaluateFlags>();
  EvaluateOptions& options = flags->options;
  options.threads = DefaultThreads();
  Command command = {
      .name = "evaluate",
      .summary =
          "Compare mechanisms on a file, on this machine, without privacy",
      .footer =
          "For research, and for choosing epsilon and rank on public or "
          "generated data. All\noutput is an exact function of the file: on "
          "private data it must stay with the\noperator, and nothing that an "
          "analyst sees may depend on it.\nEvery use is recorded in "
          "evaluations.log. Ctrl-C writes what is done.\nExample:\n  dpnmf-lab "
          "evaluate --input examples/digits/digits.csv.gz --users rows \\\n    "
          "--rank 16 --epsilon 1,4,16 --public --image-width 8 --output "
          "evaluation\n  dpnmf-lab evaluate --ratings ratings.csv --items "
          "items.txt --rating-range 1,5 \\\n    --epsilon 1,4,10 --public "
          "--output evaluation",
      .flags =
          {Flag("--input", &options.input,
                "Matrix to read; .gz is read too. For ratings: --ratings",
                {.value = "FILE"}),
           Flag("--users", &flags->users, "Which lines of the file are people",
                {.one_of = "rows|columns"}),
           Flag("--format-in", &flags->format_in, "Format of the file",
                {.one_of = formats.c_str(), .shown = true}),
           Flag("--array", &options.array,
                "Name of the array of an .npz file that has several"),
           Flag("--public", &options.is_public,
                "Declare the data public or generated: a W_0 that is computed "
                "from V may then be compared"),
           Flag("--vocabulary", &options.vocabulary,
                "File with one word on each line, one for each feature: for "
                "topics and coherence",
                {.value = "FILE"}),
           Flag("--image-width", &options.image_width,
                "Width of a picture, if columns are pictures: "
                "moments are fitted with near pixels taken to be alike"),
           Flag("--image-order", &flags->image_order,
                "Whether the features fill a picture row by row or column by "
                "column, as in MATLAB",
                {.one_of = "row|column",
                 .needs = "--image-width",
                 .shown = true}),
           Flag("--feature-order", &options.feature_order,
                "Likewise for series (linear), circles and graphs: FILE has "
                "two features, from 0, on each line",
                {.value = "linear|circular|graph:FILE"}),
           Flag("--prior", &options.priors,
                "Public knowledge that moments are fitted with: FILE (columns "
                "of public people, as --users), dictionary:FILE or "
                "moment:FILE; several with commas",
                {.value = "FILE|dictionary:FILE|moment:FILE"}),
           Flag("--loss", &flags->loss,
                "What moments and none are fitted by; kl also measures all",
                {.one_of = "squared|kl", .shown = true}),
           Flag("--sparse", &options.law.sparseness,
                "Least sparseness of each part of moments and none, 0 (any) "
                "to below 1 [0]"),
           Flag("--rank", &flags->rank,
                "K: columns of W [required]; for ratings: columns of a profile "
                "[chosen]"),
           Flag("--epsilon", &options.epsilon,
                "Overall epsilons, separated by commas", {.required = true}),
           Flag("--delta", &options.delta, "Delta of every epsilon",
                {.shown = true}),
           Flag("--conversion", &flags->conversion,
                "Conversion of epsilon (gaussian is exact); paper uses its own",
                {.one_of = "rdp|rdp_optimal|gaussian", .shown = true}),
           Flag("--mechanism", &options.mechanisms,
                "Mechanisms to compare: auto, moments, aimed, statistics, "
                "gradient, paper, paper-nndsvd (with --public), mean, none; or "
                "all",
                {.shown = true}),
           Flag("--rounds", &options.rounds,
                "Rounds of statistics, gradient and paper, separated by commas "
                "[30; 2,10,50 for paper]"),
           Flag("--outliers", &flags->outliers,
                "Whether sparse outliers are separated",
                {.one_of = "on|off|both", .shown = true}),
           Flag("--lambda", &options.lambda,
                "Residual above which an entry is an outlier [2/sqrt(D)]"),
           Flag("--outlier-bound", &options.outlier_bound,
                "Largest outlier [1]"),
           Flag("--outlier-experiment", &options.outlier_experiment,
                "Also learn with 70 % of the entries of 10 % of the users "
                "corrupted"),
           Flag("--repeats", &options.repeats, "Number of trials of each kind",
                {.shown = true}),
           Flag("--seed", &options.seed, "Seed of noise and starts",
                {.shown = true}),
           Flag("--threads", &options.threads, "Number of threads",
                {.shown = true}),
           Flag("--output", &options.output,
                "Directory for results.csv, curves.csv, results.json, "
                "report.html",
                {.value = "DIR", .required = true}),
           ForceFlag(&flags->force),
           Flag("--save-models", &options.save_models,
                "Directory for every W: .npy, D x K, float64",
                {.value = "DIR"}),
           Flag("--data-dir", &options.data_dir,
                "Data directory whose evaluations.log records the use "
                "[--output]",
                {.value = "DIR"})},
      .run = [flags] { return RunEvaluate(*flags); }};
  for (const Flag& flag : RatingsFlags(&flags->of_ratings))
    command.flags.push_back(flag);
  return command;
}

}  // namespace dpnmf::curator::lab
