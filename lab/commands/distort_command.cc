#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "curator/draft/draft.h"
#include "curator/import/people/fingerprint.h"
#include "lab/commands/commands.h"
#include "lab/commands/evaluate_ratings_command.h"
#include "lab/distort/study.h"
#include "lab/evaluate/page.h"
#include "lab/publication_report/report.h"
#include "lab/tables/table.h"
#include "lab/tables/table_people.h"

namespace dpnmf::curator::lab {
namespace {

struct DistortFlags {
  std::string input, users, header, output, data_dir;
  std::vector<std::string> methods = {"all"}, beside;
  TableOptions table;
  FieldFlags fields;
  DistortStudyOptions study;
  std::optional<int> iterations;
  bool as_published = false, experiment = false, is_public = false;
};

// One line that is rewritten on a terminal, else a line now and then.
class DistortProgress {
 public:
  void operator()(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(terminal_ ? 100 : 5000);
    absl::FPrintF(stderr, "%s%s%s", terminal_ ? "\r\033[K" : "", what,
                  terminal_ ? "" : "\n");
  }

  void Clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

absl::Status CheckDistortFlags(const DistortFlags& flags) {
  if (flags.study.seed.has_value() && !flags.is_public) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "seed-needs-public",
        "Anybody who knows the seed can undo the noise; give --public if the "
        "table is public or generated, else leave out --seed.");
  }
  for (const DistortMethod* method : flags.study.methods) {
    const std::string directory =
        absl::StrCat(flags.output, "/", std::string(method->name));
    if (!std::filesystem::exists(directory)) continue;
    return Refusal(absl::StatusCode::kAlreadyExists, "draft-exists",
                   absl::StrCat("There is a draft in ", directory,
                                " already; choose another --output."));
  }
  return flags.data_dir.empty() ? absl::OkStatus()
                                : CheckDataDir(flags.data_dir);
}

absl::StatusOr<TableOptions> TableOptionsOf(const DistortFlags& flags,
                                            DistortProgress* progress) {
  TableOptions options;
  options.users_are_rows = flags.users == "rows";
  if (!flags.header.empty()) options.header = flags.header == "yes";
  options.interrupted = Interrupted;
  options.progress = [progress](std::uint64_t done, std::uint64_t total) {
    (*progress)(absl::StrFormat(
        "reading, %.0f %%",
        100.0 * static_cast<double>(done) /
            static_cast<double>(std::max<std::uint64_t>(total, 1))));
  };
  options.refuse_negative = std::any_of(
      flags.study.methods.begin(), flags.study.methods.end(),
      [](const auto* method) { return method->core == DistortCore::kNmf; });
  DPNMF_RETURN_IF_ERROR(SetFields(flags.input, flags.fields, &options));
  return options;
}

absl::StatusOr<Table> ReadForMethods(const DistortFlags& flags) {
  absl::StatusOr<Table> table = ReadTable(flags.input, flags.table);
  if (table.ok() || ReasonCode(table.status()) != "input-negative")
    return table;
  return Refusal(
      table.status().code(), "input-negative",
      absl::StrCat(absl::StripSuffix(table.status().message(), "."),
                   " for the methods of NMF. Leave these out of --method, or "
                   "add a constant to the column."));
}

absl::StatusOr<std::optional<PeopleFingerprints>> PeopleFor(
    const DistortFlags& flags, const Table& table) {
  if (flags.data_dir.empty()) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(flags.data_dir));
  return PeopleOf(table, flags.table, key);
}

// The publication's own data, whose figures stand beside.
bool IsWisconsin(const DistortStudy& study) {
  return study.people == 699 && study.columns == 9 &&
         std::abs(study.length - std::sqrt(114012.0)) < 1e-9;
}

PublicationReport ReportOf(const DistortFlags& flags, const DistortStudy& study,
                           const std::vector<NmfTrial>& trials,
                           nlohmann::ordered_json beside) {
  PublicationReport report;
  report.beside = std::move(beside);
  report.command = "distort";
  report.data = std::filesystem::path(flags.input).filename().string();
  report.people = study.people;
  report.columns = study.columns;
  report.options = {{"input", AbsolutePath(flags.input)},
                    {"rank", flags.study.distort.rank},
                    {"public", flags.is_public}};
  if (flags.study.seed.has_value()) report.options["seed"] = *flags.study.seed;
  if (IsWisconsin(study)) report.published = PublishedFigures::kWisconsin;
  for (const DistortOutcome& outcome : study.outcomes) {
    const DistortFigures& figures = outcome.figures;
    const PlaceChanges& places = figures.by_sort_index;
    PublicationRow row;
    row.method = std::string(outcome.method->name);
    row.vd = figures.vd;
    row.rp = places.rp;
    row.rk = places.rk;
    row.cp = places.cp;
    row.ck = places.ck;
    if (figures.accuracy.has_value()) {
      row.accuracy = figures.accuracy->distorted;
      row.accuracy_on_original = figures.accuracy->original;
    }
    row.attacks = outcome.attack;
    if (outcome.method->transposed) row.note = kTransposedSentence;
    report.rows.push_back(std::move(row));
  }
  report.more = ToJson(study, trials);
  return report;
}

std::string PercentOf(const std::optional<Share>& share) {
  return share.has_value() ? absl::StrFormat("%.1f %%", 100 * share->value)
                           : "-";
}

void PrintStudy(const DistortFlags& flags, const DistortStudy& study,
                const std::vector<NmfTrial>& trials) {
  absl::PrintF("%d people, %d columns\n", study.people, study.columns);
  if (study.original_accuracy.has_value()) {
    absl::PrintF("accuracy of the original table: %.1f %%\n",
                 100 * *study.original_accuracy);
  }
  absl::PrintF("\n%-18s %7s %8s %7s %6s %6s %9s %9s %8s %8s %6s\n", "", "VD",
               "RP", "RK", "CP", "CK", "accuracy", "(original", "people",
               "4 values", "member");
  absl::PrintF("%-18s %48s %9s %8s %8s %6s\n", "", "", "rows)", "found",
               "known", "AUC");
  bool transposed = false;
  for (const DistortOutcome& outcome : study.outcomes) {
    const DistortFigures& figures = outcome.figures;
    const PlaceChanges& places = figures.by_sort_index;
    const auto percent = [&](double value) {
      return figures.accuracy.has_value()
                 ? absl::StrFormat("%.1f %%", 100 * value)
                 : "-";
    };
    const Accuracy accuracy = figures.accuracy.value_or(Accuracy());
    absl::PrintF(
        "%-18s %7.4f %8.3f %7.4f %6.4f %6.4f %9s %9s %8s %8s %6s\n",
        std::string(outcome.method->name), figures.vd, places.rp, places.rk,
        places.cp, places.ck, percent(accuracy.distorted),
        percent(accuracy.original), PercentOf(outcome.attack.linked_all_known),
        PercentOf(outcome.attack.linked_4_known),
        outcome.attack.membership_auc.has_value()
            ? absl::StrFormat("%.2f", outcome.attack.membership_auc->value)
            : "-");
    transposed |= outcome.method->transposed;
  }
  absl::PrintF(
      "\nRP, RK, CP and CK use the index of the sort as the place of an entry, "
      "as the\npublication's program did; results.json also has the values by "
      "rank.\n");
  if (transposed) absl::PrintF("%s\n", std::string(kTransposedSentence));
  for (const NmfTrial& trial : trials) {
    absl::PrintF(
        "table %-3s %-4s rank %d, tolerance %g: %d iterations, %.3f s, "
        "gradient %.4g to %.4g, |A - WH| %.3f\n",
        trial.table == 2 ? "II" : "III", trial.multiplicative ? "NMFM" : "NMF",
        trial.rank, trial.tolerance, trial.result.iterations,
        trial.result.seconds, trial.result.first_gradient,
        trial.result.last_gradient, trial.result.objective);
  }
  absl::PrintF(
      "wrote metrics.csv, results.json, report.html and a draft for each "
      "method "
      "to %s\n",
      flags.output);
}

absl::StatusOr<ExitCode> RunDistort(DistortFlags flags) {
  DPNMF_ASSIGN_OR_RETURN(flags.study.methods,
                         DistortMethodsOf(flags.methods, flags.as_published));
  DPNMF_RETURN_IF_ERROR(CheckDistortFlags(flags));
  PublicationReport others;
  for (const std::string& directory : flags.beside)
    DPNMF_RETURN_IF_ERROR(AddTablesOf(directory, &others));
  InterruptGently();
  umask(0077);
  DistortProgress progress;
  DPNMF_ASSIGN_OR_RETURN(flags.table, TableOptionsOf(flags, &progress));
  DPNMF_ASSIGN_OR_RETURN(const Table table, ReadForMethods(flags));
  flags.study.distort.nmf.iterations =
      flags.iterations.value_or(MostIterationsFor(table.values.size()));
  flags.study.stop = Interrupted;
  flags.study.progress = std::ref(progress);
  absl::PrintF("%s\n", std::string(kPublicationWarning));
  std::fflush(stdout);
  std::optional<PeopleFingerprints> people;
  const auto keep = [&](const DistortOutcome& outcome,
                        const Table& distorted) -> absl::Status {
    if (!flags.data_dir.empty() && !people.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(people, PeopleFor(flags, table));
    }
    DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
    Draft draft;
    draft.kind = DraftKind::kDistorted;
    draft.method = std::string(outcome.method->name);
    draft.parameters = ToJson(*outcome.method, outcome.options);
    draft.attacks = ToJson(outcome.attack);
    draft.largest_linkage = outcome.attack.largest_linkage;
    draft.people = people;
    return WriteDraft(absl::StrCat(flags.output, "/", draft.method), draft,
                      TableCsv(distorted));
  };
  const absl::StatusOr<DistortStudy> study =
      StudyDistortions(table, flags.study, keep);
  std::vector<NmfTrial> trials;
  if (study.ok() && flags.experiment) {
    absl::StatusOr<std::vector<NmfTrial>> found =
        NmfTrials(table.values, flags.study);
    progress.Clear();
    DPNMF_RETURN_IF_ERROR(found.status());
    trials = *std::move(found);
  }
  progress.Clear();
  DPNMF_RETURN_IF_ERROR(study.status());
  DPNMF_RETURN_IF_ERROR(
      ReplaceAtomically(flags.output + "/metrics.csv", DistortCsv(*study)));
  if (flags.experiment) {
    DPNMF_RETURN_IF_ERROR(ReplaceAtomically(flags.output + "/iterations.csv",
                                            NmfTrialsCsv(trials)));
  }
  DPNMF_RETURN_IF_ERROR(WriteReport(
      flags.output, ReportOf(flags, *study, trials, std::move(others.beside))));
  PrintStudy(flags, *study, trials);
  return kExitOk;
}

}  // namespace

Command DistortCommand() {
  const auto flags = std::make_shared<DistortFlags>();
  DistortStudyOptions& study = flags->study;
  DistortOptions& distort = study.distort;
  study.attack.threads = DefaultThreads();
  return {
      .name = "distort",
      .summary =
          "Distort a table by the published methods, and attack the "
          "result, without privacy",
      .footer =
          "None of the methods is private, whatever its measures are: attacks "
          "are run on each\ntable. Writes metrics.csv, results.json, "
          "report.html and a draft for each method. Only\n`dpnmf-curator "
          "publish` publishes a draft; for this the draft needs "
          "--data-dir.\nRandomness comes from the operating system and is not "
          "kept.\nExample:\n  dpnmf-lab distort --input table.csv --users rows "
          "--class-column 10 \\\n    --method all --rank 7 --output draft",
      .flags =
          {Flag("--input", &flags->input,
                "Table to read: CSV, TSV, text or .npy; .gz is read too",
                {.value = "FILE", .required = true}),
           Flag("--users", &flags->users, "Which lines of the file are people",
                {.one_of = "rows|columns", .required = true}),
           Flag("--header", &flags->header,
                "Whether the first line contains names [detected]",
                {.one_of = "yes|no"}),
           Flag("--class-column", &flags->fields.class_column,
                "Field with the class of each person: its number, from 1, or "
                "its name in the header; not distorted",
                {.value = "C"}),
           Flag("--id-column", &flags->fields.id_column,
                "Field with the id of each person: its number or its name in "
                "the header; not distorted",
                {.value = "C"}),
           Flag("--method", &flags->methods,
                "Methods, separated by commas: ud, nd, svd, nmf, nmfm, ssvd, "
                "csvd, esvd, snmf, cnmf, enmf; or all",
                {.shown = true}),
           Flag("--rank", &distort.rank, "Components of SVD and NMF",
                {.shown = true}),
           Flag("--rank-search", &study.rank_search,
                "Compare all numbers of components up to --rank, and take the "
                "most distorted that loses at most .01 of the accuracy"),
           Flag("--stop-at-vd", &distort.nmf.stop_at_vd,
                "Value difference at which the iterations of NMF end; with "
                "--rank-search the least that a chosen rank has"),
           Flag("--as-published", &flags->as_published,
                "Also SSVD, CSVD and ESVD with the publication's transposition "
                "error"),
           Flag("--experiment", &flags->experiment,
                "Also iterations.csv: the publication's tables II and III"),
           Flag("--uniform-width", &distort.uniform_width,
                "ud adds uniform noise from 0 to this", {.shown = true}),
           Flag("--normal-stddev", &distort.normal_stddev,
                "nd adds normal noise of this standard deviation",
                {.shown = true}),
           Flag("--tolerance", &distort.nmf.tolerance,
                "NMF ends at this share of the first gradient",
                {.shown = true}),
           Flag("--iterations", &flags->iterations,
                "Most iterations of NMF [20000; for tables above 500,000 "
                "numbers 1e10 divided by their count, at least 100]"),
           Flag("--seconds", &distort.nmf.seconds,
                "Seconds after which NMF ends", {.shown = true}),
           Flag("--folds", &study.svm.folds,
                "Folds of the cross validation of accuracy", {.shown = true}),
           Flag("--accuracy-people", &study.svm.people,
                "Most people on whom accuracy is measured", {.shown = true}),
           Flag("--beside", &flags->beside,
                "Output directories of distort, complete, synthesise or attack "
                "whose tables are shown on the same page, separated by commas",
                {.value = "DIR"}),
           Flag("--seed", &study.seed,
                "Seed of everything random; needs --public"),
           Flag("--public", &flags->is_public,
                "Declare the table public or generated"),
           Flag("--data-dir", &flags->data_dir,
                "Data directory whose key recognises the people; without it a "
                "draft cannot be published",
                {.value = "DIR"}),
           Flag("--threads", &study.attack.threads,
                "Number of threads of the attacks", {.shown = true}),
           Flag("--output", &flags->output,
                "Directory for metrics.csv, results.json, report.html and the "
                "drafts",
                {.value = "DIR", .required = true})},
      .run = [flags] { return RunDistort(*flags); }};
}

}  // namespace dpnmf::curator::lab
