#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/interruption.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/import/import.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/serve/wire.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::curator {
namespace {

// The flags as typed; words become values in ImportOptionsOf.
struct ImportFlags {
  ImportOptions import;
  std::string users;
  std::string format_in = "auto";
  std::string header = "auto";
  std::string conversion = "gaussian";
  std::string adjacency = "replace_one";
  std::string normalise = "l2";
  std::string anchor_dir;
  bool no_anchor = false;
  bool weak_delta = false;
  std::string format = "text";
};

// Main has checked that every word is one of its flag's.
ImportOptions ImportOptionsOf(const ImportFlags& flags) {
  ImportOptions options = flags.import;
  if (!flags.users.empty()) options.users_are_rows = flags.users == "rows";
  if (flags.header != "auto") options.header = flags.header == "yes";
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.conversion = ConversionOfName(flags.conversion).value();
  options.adjacency = AdjacencyOfName(flags.adjacency).value();
  options.normalisation =
      flags.normalise == "l2" ? Normalisation::kL2 : Normalisation::kNone;
  return options;
}

PopulationPolicy PolicyOf(const ImportOptions& options) {
  return {.population = options.population,
          .adjacency = options.adjacency,
          .conversion = options.conversion,
          .epsilon = options.epsilon,
          .delta = options.delta};
}

// Opens a ledger that exists, so that one in use, a damaged one and another
// policy are refused before a long file is read. Nothing if there is none yet:
// a refused import then leaves none behind.
absl::StatusOr<std::unique_ptr<Ledger>> OpenExistingLedger(
    const Ledger::Options& options, const PopulationPolicy& policy) {
  if (!std::filesystem::exists(options.directory + "/ledger.sqlite"))
    return nullptr;
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Ledger> ledger, Ledger::Open(options));
  if (ledger->Policy(policy.population).ok()) {
    DPNMF_RETURN_IF_ERROR(ledger->DeclarePopulation(policy));
  }
  return ledger;
}

// How long each stage took: every moment from the beginning on is of one of
// them, so that they add up.
class StageTimes {
 public:
  void Enter(std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    *current_ += std::chrono::duration<double>(now - start_).count();
    start_ = now;
    const auto found =
        std::find_if(stages_.begin(), stages_.end(),
                     [&](const auto& known) { return known.first == stage; });
    if (found != stages_.end()) current_ = &found->second;
  }
  void AddTo(v1::ImportReport* report) {
    Enter("opening");
    double sum = 0;
    for (const auto& [stage, seconds] : stages_) {
      v1::StageTime* const time = report->add_time();
      time->set_stage(std::string(stage));
      time->set_seconds(seconds);
      sum += seconds;
    }
    report->set_seconds(sum);
  }

 private:
  std::array<std::pair<std::string_view, double>, 5> stages_ = {
      {{"reading", 0},
       {"checking", 0},
       {"writing", 0},
       {"ledger", 0},
       {"opening", 0}}};
  double* current_ = &stages_[0].second;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

// Counts the time; on a terminal one line that is rewritten.
ImportProgress ShowProgress(StageTimes* times) {
  return [times, terminal = isatty(STDERR_FILENO) != 0, last = std::string()](
             std::string_view stage, std::uint64_t done,
             std::uint64_t total) mutable {
    times->Enter(stage);
    if (!terminal) return;
    const std::uint64_t percent = total == 0 ? 0 : 100 * done / total;
    std::string line =
        absl::StrFormat("%s %3d %%", std::string(stage), percent);
    if (line == last) return;
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    last = std::move(line);
  };
}

void ClearProgress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

// "reading 1.20 s, checking 0.03 s, writing 0.40 s, ledger 0.30 s, ..."
std::string TimeText(const v1::ImportReport& report) {
  return absl::StrJoin(
      report.time(), ", ", [](std::string* out, const v1::StageTime& time) {
        absl::StrAppendFormat(out, "%s %.2f s", time.stage(), time.seconds());
      });
}

void PrintText(const v1::ImportReport& report, const PopulationPolicy& policy) {
  const v1::Dataset& dataset = report.dataset();
  const bool replace_one = policy.adjacency == Adjacency::kReplaceOne;
  absl::PrintF(
      "imported %s in %.2f s: %d features (D) x %d users (%s), %s, columns "
      "%s\n",
      dataset.name(), report.seconds(), dataset.features(), dataset.users(),
      replace_one ? "N" : "N0, declared", dataset.sparse() ? "sparse" : "dense",
      dataset.normalisation() == v1::NORMALISATION_L2
          ? std::string("scaled to length 1")
          : absl::StrFormat("of length at most %g", dataset.column_bound()));
  absl::PrintF("  time        %s\n", TimeText(report));
  absl::PrintF("  directory   %s\n", report.directory());
  absl::PrintF("  population  %s\n", policy.population);
  absl::PrintF(
      "  guarantee   epsilon %g at delta %g (%s, %s): the cap's, for "
      "everything that is "
      "ever released about this population\n",
      policy.epsilon, policy.delta, std::string(NameOf(policy.conversion)),
      std::string(NameOf(policy.adjacency)));
  if (dataset.is_public()) absl::PrintF("  declared public\n");
}

// A delta of 1/N or more would allow that one of N people's data are published
// as they are. A population's delta is fixed by its first import.
absl::Status CheckDelta(
    const DatasetDescription& description, bool weak_delta,
    const std::function<void(const std::string& sentence)>& note) {
  const auto users = static_cast<double>(description.users);
  if (description.is_public || description.delta * users < 1)
    return absl::OkStatus();
  const std::string finding = absl::StrFormat(
      "delta %g is not below 1/N = %.3g: it would allow that "
      "somebody's data are published as they are",
      description.delta, 1 / users);
  if (weak_delta) {
    note(finding);
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kInvalidArgument, "delta-weak",
                 absl::StrCat(finding,
                              ", and it is fixed for good; give a --delta far "
                              "below 1/N, or --weak-delta if you mean it"));
}

absl::StatusOr<v1::ImportReport> RunImport(const ImportFlags& flags) {
  StageTimes times;
  v1::ImportReport report;
  ImportOptions options = ImportOptionsOf(flags);
  const PopulationPolicy policy = PolicyOf(options);
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_ASSIGN_OR_RETURN(
      const Ledger::Options places,
      LedgerPaths(options.data_dir, flags.anchor_dir, flags.no_anchor));
  times.Enter("ledger");
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Ledger> ledger,
                         OpenExistingLedger(places, policy));
  times.Enter("reading");
  const auto note = [&](const std::string& sentence) {
    report.add_notes(sentence);
  };
  options.note = note;
  options.before_publish =
      [&](const DatasetDescription& description) -> absl::Status {
    const bool known =
        ledger != nullptr && ledger->Policy(policy.population).ok();
    if (!known)
      DPNMF_RETURN_IF_ERROR(CheckDelta(description, flags.weak_delta, note));
    times.Enter("ledger");
    if (ledger == nullptr) {
      DPNMF_ASSIGN_OR_RETURN(ledger, Ledger::Open(places));
    }
    DPNMF_RETURN_IF_ERROR(ledger->DeclarePopulation(policy));
    times.Enter("writing");
    return absl::OkStatus();
  };
  InterruptGently();
  options.interrupted = Interrupted;
  const absl::StatusOr<DatasetDescription> imported =
      Import(options, ShowProgress(&times));
  ClearProgress();
  times.Enter("opening");
  DPNMF_RETURN_IF_ERROR(imported.status());

  // Opened as serve will open it: what was written is read back and checked.
  report.set_directory(DatasetDirectory(options.data_dir, options.name));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                         Dataset::Open(report.directory()));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         ledger->PositionOf(policy.population));
  DPNMF_ASSIGN_OR_RETURN(*report.mutable_dataset(),
                         DescriptionOf(*dataset, policy, position.cap));
  times.AddTo(&report);
  return report;
}

absl::StatusOr<ExitCode> ImportAndPrint(const ImportFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const v1::ImportReport report, RunImport(flags));
  for (const std::string& note : report.notes())
    absl::FPrintF(stderr, "dpnmf-curator: note: %s.\n", note);
  if (flags.format == "json") {
    std::fputs(ToJson(report).c_str(), stdout);
  } else {
    PrintText(report, PolicyOf(ImportOptionsOf(flags)));
  }
  return kExitOk;
}

std::vector<Flag> FlagsOf(ImportFlags* flags) {
  static const std::string formats = FormatNames();
  ImportOptions& options = flags->import;
  return {
      Flag("--name", &options.name, "Name of the data set: a-z 0-9 . _ -",
           {.required = true}),
      Flag("--data-dir", &options.data_dir,
           "Directory of data sets, ledger and releases; made if missing",
           {.env = true, .required = true}),
      Flag("--anchor-dir", &flags->anchor_dir,
           "Directory of the ledger's anchor; keep it on another volume "
           "[DATA_DIR.anchor]",
           {.env = true}),
      Flag("--no-anchor", &flags->no_anchor,
           "Go without an anchor; rollback of the ledger is then not noticed"),
      Flag("--format", &flags->format, "Of what is printed",
           {.one_of = "text|json", .shown = true}),
      // The file.
      Flag("--input", &options.input, "File to read; .gz is read too",
           {.required = true}),
      Flag("--users", &flags->users,
           "What stands for a person in the file (not for triples)",
           {.one_of = "rows|columns"}),
      Flag("--format-in", &flags->format_in, "Format of the file",
           {.one_of = formats.c_str(), .shown = true}),
      Flag("--header", &flags->header,
           "Whether the first line names the columns",
           {.one_of = "auto|yes|no", .shown = true}),
      Flag("--label-columns", &options.label_columns,
           "Leading fields of each line that are not entries [found out]"),
      Flag("--features", &options.features_file,
           "Names of the features, one a line; for triples the items"),
      Flag("--users-count", &options.users_count,
           "N0 under add_remove_one; N for triples; else checked against the "
           "file"),
      // What it promises.
      Flag("--population", &options.population,
           "Whose budget it draws on: data sets that share people share one",
           {.required = true}),
      Flag("--epsilon", &options.epsilon,
           "Cap on all that is ever released about the population: (0, 1000]",
           {.required = true}),
      Flag("--delta", &options.delta,
           "Of the cap: above 0, far below one in the number of people",
           {.required = true}),
      Flag("--weak-delta", &flags->weak_delta,
           "Take a delta that is not below one in the number of people"),
      Flag("--conversion", &flags->conversion, "How the cap is counted",
           {.one_of = "rdp|rdp_optimal|gaussian", .shown = true}),
      Flag("--adjacency", &flags->adjacency, "Which data sets are neighbours",
           {.one_of = "replace_one|add_remove_one", .shown = true}),
      Flag("--normalise", &flags->normalise,
           "l2: each person's column is scaled to length 1; none: only scaled "
           "down "
           "to --column-bound",
           {.one_of = "l2|none", .shown = true}),
      Flag("--column-bound", &options.column_bound,
           "Length that you declare for --normalise none, without looking at "
           "the "
           "data"),
      Flag("--public", &options.is_public,
           "Declare the data public: nothing about them needs protection"),
  };
}

}  // namespace

Command ImportCommand() {
  static const std::string footer = absl::StrCat(
      "Reads ", FormatTitles(),
      ".\n"
      "A data set never changes once it is imported; a refused file leaves "
      "nothing\n"
      "behind. The server must not be running.\n"
      "Examples:\n"
      "  dpnmf-curator import --name digits --population writers --input "
      "digits.csv.gz \\\n"
      "    --users rows --epsilon 8 --delta 1e-5 --data-dir /var/lib/dpnmf\n"
      "  dpnmf-curator import --name ratings --population readers --input "
      "u.data \\\n"
      "    --format-in triples --features items.txt --users-count 943 \\\n"
      "    --epsilon 4 --delta 1e-6 --data-dir /var/lib/dpnmf");
  const auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "import",
      .summary = "Make a data set of a file and declare its people's budget",
      .footer = footer.c_str(),
      .flags = FlagsOf(flags.get()),
      .run = [flags] { return ImportAndPrint(*flags); }};
}

}  // namespace dpnmf::curator
