#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/interruption.h"
#include "common/base/parallel.h"
#include "curator/lab/commands.h"
#include "curator/lab/evaluate/evaluation.h"
#include "curator/lab/evaluate/report.h"

namespace dpnmf::curator::lab {
namespace {

struct EvaluateFlags {
  EvaluateOptions options;
  std::string users, format_in = "auto", outliers = "off";
  std::string conversion = "gaussian";
};

// Main has checked that every word is one of its flag's.
EvaluateOptions OptionsOf(const EvaluateFlags& flags) {
  EvaluateOptions options = flags.options;
  options.users_are_rows = flags.users == "rows";
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.conversion = ConversionOfName(flags.conversion).value();
  options.outliers = flags.outliers == "on"     ? OutlierChoice::kOn
                     : flags.outliers == "both" ? OutlierChoice::kBoth
                                                : OutlierChoice::kOff;
  return options;
}

std::string TitleOf(const Setting& setting) {
  std::string title(NameOf(setting.method));
  if (setting.rounds > 0)
    absl::StrAppend(&title, ", ", setting.rounds, " rounds");
  if (setting.outliers) absl::StrAppend(&title, ", outliers on");
  if (setting.spoilt) absl::StrAppend(&title, ", outliers added");
  return title;
}

// One line that is rewritten on a terminal, else a line a trial.
void PrintProgress(std::size_t number, std::size_t planned,
                   const Setting& setting, std::uint32_t repeat) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  absl::FPrintF(stderr, "%strial %d of %d: repeat %d, %s%s%s",
                terminal ? "\r\033[K" : "", number, planned, repeat,
                TitleOf(setting),
                TakesEpsilon(setting.method)
                    ? absl::StrFormat(", epsilon %g", setting.epsilon)
                    : "",
                terminal ? "" : "\n");
}

void ClearProgress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

// Of the summaries that differ in rounds alone, the one of least median.
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
    } else if (summary.median < same->median) {
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
  absl::PrintF("%-52s %8s %8s  %-17s %8s\n", "1/(2N) |V - WH|^2, best H >= 0",
               "epsilon", "median", "range", "seconds");
  for (const Summary& summary : BestOverRounds(evaluation)) {
    absl::PrintF(
        "%-52s %8s %8.4f  %.4f to %.4f  %8.2f\n", TitleOf(summary.setting),
        TakesEpsilon(summary.setting.method)
            ? absl::StrFormat("%g", summary.setting.epsilon)
            : "-",
        summary.median, summary.least, summary.largest, summary.seconds);
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

absl::StatusOr<ExitCode> RunEvaluate(const EvaluateFlags& flags) {
  const EvaluateOptions options = OptionsOf(flags);
  DPNMF_RETURN_IF_ERROR(CheckEvaluateOptions(options));
  if (!options.data_dir.empty() &&
      !std::filesystem::is_directory(options.data_dir)) {
    return Refusal(
        absl::StatusCode::kNotFound, "data-dir-missing",
        absl::StrCat("There is no data directory ", options.data_dir, "."));
  }
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.output));
  absl::PrintF("%s\n", std::string(kEvaluateWarning));
  std::fflush(stdout);
  DPNMF_RETURN_IF_ERROR(
      RecordUse(options, absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                                          absl::UTCTimeZone())));
  InterruptGently();
  EvaluateHooks hooks;
  hooks.before_trial = PrintProgress;
  hooks.after_trial = [&](const Evaluation& evaluation) {
    return WriteTables(options, evaluation);
  };
  hooks.stop = Interrupted;
  const absl::StatusOr<Evaluation> evaluation = Evaluate(options, hooks);
  ClearProgress();
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
  return {
      .name = "evaluate",
      .summary =
          "Compare mechanisms on a file, on this machine, without privacy",
      .footer =
          "For research, and for choosing epsilon and rank on public or "
          "generated data. All\n"
          "that is printed and written are exact functions of the file: on "
          "private data it\n"
          "stays with the operator, and nothing that an analyst sees may "
          "depend "
          "on it.\n"
          "Every use is recorded in evaluations.log. Ctrl-C writes what is "
          "done.\n"
          "Example:\n"
          "  dpnmf-lab evaluate --input examples/digits/digits.csv.gz "
          "--users rows \\\n"
          "    --rank 16 --epsilon 1,4,16 --public --image-width 8 --output "
          "evaluation",
      .flags =
          {Flag("--input", &options.input, "File to read; .gz is read too",
                {.required = true}),
           Flag("--users", &flags->users,
                "What stands for a person in the file",
                {.one_of = "rows|columns", .required = true}),
           Flag("--format-in", &flags->format_in, "Format of the file",
                {.one_of = formats.c_str(), .shown = true}),
           Flag("--public", &options.is_public,
                "The data are public or generated: a W_0 made of V may be "
                "compared "
                "too"),
           Flag("--vocabulary", &options.vocabulary,
                "A word a line for each feature: topics and coherence"),
           Flag("--image-width", &options.image_width,
                "Columns are pictures, row by row, of this width"),
           Flag("--rank", &options.rank, "K: columns of W", {.required = true}),
           Flag("--epsilon", &options.epsilon,
                "Overall epsilons, separated by commas", {.required = true}),
           Flag("--delta", &options.delta, "Of every epsilon", {.shown = true}),
           Flag("--conversion", &flags->conversion,
                "How epsilon is counted, but for paper, which has its own: "
                "gaussian "
                "is exact",
                {.one_of = "rdp|rdp_optimal|gaussian", .shown = true}),
           Flag(
               "--mechanism", &options.mechanisms,
               "auto, moments, statistics, gradient, paper, paper-nndsvd (with "
               "--public), mean, none; or all",
               {.shown = true}),
           Flag("--rounds", &options.rounds,
                "Rounds of statistics, gradient and paper, separated by "
                "commas; if "
                "not given 30, and 2,10,50 of paper"),
           Flag("--outliers", &flags->outliers,
                "Whether sparse outliers are split off",
                {.one_of = "on|off|both", .shown = true}),
           Flag("--lambda", &options.lambda,
                "A residual beyond this is an outlier; 2/sqrt(D) if not given"),
           Flag("--outlier-bound", &options.outlier_bound,
                "Largest outlier; 1 if not given"),
           Flag("--outlier-experiment", &options.outlier_experiment,
                "Also learn with 70 % of the entries of 10 % of the users "
                "spoilt"),
           Flag("--repeats", &options.repeats, "Trials of each kind",
                {.shown = true}),
           Flag("--seed", &options.seed, "Of noise and starts",
                {.shown = true}),
           Flag("--threads", &options.threads, "Threads that work",
                {.shown = true}),
           Flag("--output", &options.output,
                "Directory for results.csv, curves.csv, results.json, "
                "report.html",
                {.required = true}),
           Flag("--save-models", &options.save_models,
                "Directory for every W: .npy, D x K, float64"),
           Flag(
               "--data-dir", &options.data_dir,
               "Data directory whose evaluations.log records the use; else the "
               "output's")},
      .run = [flags] { return RunEvaluate(*flags); }};
}

}  // namespace dpnmf::curator::lab
