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

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/audit_log.h"
#include "common/base/error.h"
#include "common/base/interruption.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/data/rated_users.h"
#include "curator/import/dataset_people.h"
#include "curator/import/fields.h"
#include "curator/import/import.h"
#include "curator/import/item_table.h"
#include "curator/import/ratings.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/others_account.h"
#include "curator/maintenance/remove_dataset.h"
#include "curator/serve/control.h"
#include "curator/serve/online_import.h"
#include "curator/serve/wire.h"
#include "dpnmf/v1/local.pb.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

constexpr std::pair<std::string_view, char> kDelimiters[] = {
    {"comma", ','},
    {"tab", '\t'},
    {"semicolon", ';'},
    {"bar", '|'},
    {"blank", kBlanks}};

// The flags as typed; words become values in ImportOptionsOf.
struct ImportFlags {
  ImportOptions import;
  std::string users;
  std::string format_in = "auto";
  std::string header = "auto";
  std::string delimiter;
  bool dry_run = false;
  std::string conversion = "gaussian";
  std::string adjacency = "replace_one";
  std::string normalise;
  std::string rating_range;
  std::string classes;
  std::string range;
  bool integers = false;
  std::string unlisted = "refuse";
  std::string anchor_dir;
  bool no_anchor = false;
  bool weak_delta = false;
  bool void_guarantee = false;
  bool accept_overlap = false;
  bool online = false;
  std::string format = "text";
};

absl::StatusOr<EntryRange> ParseEntryRange(const std::string& text,
                                           bool integers) {
  EntryRange range{.integers = integers};
  const std::vector<std::string> ends = absl::StrSplit(text, ',');
  if (ends.size() == 2 && absl::SimpleAtod(ends[0], &range.low) &&
      absl::SimpleAtod(ends[1], &range.high))
    return range;
  return Refusal(absl::StatusCode::kInvalidArgument, "range-out-of-range",
                 "`range` must be LOW,HIGH, two numbers; --integers needs it "
                 "too.");
}

// Main has checked that every word is one of its flag's.
absl::StatusOr<ImportOptions> ImportOptionsOf(const ImportFlags& flags) {
  ImportOptions options = flags.import;
  if (!flags.users.empty()) options.users_are_rows = flags.users == "rows";
  if (flags.header != "auto") options.header = flags.header == "yes";
  for (const auto& [name, character] : kDelimiters)
    if (flags.delimiter == name) options.delimiter = character;
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.conversion = ConversionOfName(flags.conversion).value();
  options.adjacency = AdjacencyOfName(flags.adjacency).value();
  if (!flags.normalise.empty()) {
    options.normalisation =
        flags.normalise == "l2" ? Normalisation::kL2 : Normalisation::kNone;
  }
  options.drop_unlisted = flags.unlisted == "drop";
  if (!flags.rating_range.empty()) {
    DPNMF_ASSIGN_OR_RETURN(options.rating_range,
                           ParseRatingRange(flags.rating_range));
  }
  if (!flags.classes.empty())
    options.classes = absl::StrSplit(flags.classes, ',');
  if (!flags.range.empty() || flags.integers) {
    DPNMF_ASSIGN_OR_RETURN(options.range,
                           ParseEntryRange(flags.range, flags.integers));
  }
  return options;
}

PopulationPolicy PolicyOf(const ImportOptions& options) {
  return {.population = options.population,
          .adjacency = options.adjacency,
          .conversion = options.conversion,
          .epsilon = options.epsilon,
          .delta = options.delta};
}

bool IsDeclared(const std::vector<LedgerRow>& rows,
                const std::string& population) {
  return std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
    return row.kind == RowKind::kPopulation && row.population == population;
  });
}

std::string ByOperator() {
  return absl::StrFormat("operator at import, uid %d", ::getuid());
}

// A server that runs holds the ledger: rows for published tables are not for
// it, and the rest it is asked for.
absl::Status CheckOnline(const ImportFlags& flags) {
  if (!flags.online) return absl::OkStatus();
  if (flags.void_guarantee || flags.accept_overlap) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "--void-guarantee and --accept-overlap are not for "
                   "--online: stop the server, and import without it.");
  }
  return AskControl(flags.import.data_dir, {{"request", "status"}}).status();
}

// The rows of the ledger as they are now; none if there is no ledger.
absl::StatusOr<std::vector<LedgerRow>> RowsOf(const Ledger::Options& places) {
  if (!std::filesystem::exists(places.directory + "/ledger.sqlite"))
    return std::vector<LedgerRow>();
  return Ledger::ReadRows(places);
}

// As the ledger on disk has it: of a ledger that a server holds.
absl::StatusOr<Position> PositionOnDisk(const Ledger::Options& places,
                                        const std::string& population) {
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(places));
  for (std::size_t i = 0; i < audit.policies.size(); ++i)
    if (audit.policies[i].population == population) return audit.positions[i];
  return Refusal(absl::StatusCode::kDataLoss, "population-unknown",
                 absl::StrCat("The ledger has no population ", population,
                              ": restore the ledger."));
}

absl::Status AddOnline(const ImportFlags& flags) {
  const std::string& name = flags.import.name;
  const auto reloaded = ReloadOnline(flags.import.data_dir, ByOperator());
  if (!reloaded.ok()) {
    return Refusal(reloaded.status().code(), ReasonCode(reloaded.status()),
                   absl::StrCat("The data set ", name,
                                " is imported, and the server does not serve "
                                "it yet: ",
                                std::string(reloaded.status().message())));
  }
  const auto& served = reloaded->served;
  if (std::find(served.begin(), served.end(), name) != served.end())
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, "dataset-not-served",
                 absl::StrCat("The data set ", name,
                              " is imported, and the server does not serve "
                              "it: use the programs of one version, and start "
                              "the server again."));
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
std::string StagesText(const v1::ImportReport& report) {
  return absl::StrJoin(
      report.time(), ", ", [](std::string* out, const v1::StageTime& time) {
        absl::StrAppendFormat(out, "%s %.2f s", time.stage(), time.seconds());
      });
}

// "sparse, columns scaled to length 1", "ratings from 1 to 5, ..."
std::string EntriesText(const v1::Dataset& dataset) {
  if (dataset.has_ratings()) {
    return absl::StrFormat("ratings from %s to %s, %d item features",
                           RatingText(dataset.ratings().low_units()),
                           RatingText(dataset.ratings().high_units()),
                           dataset.ratings().item_features());
  }
  std::string text = absl::StrCat(
      dataset.sparse() ? "sparse" : "dense", ", columns ",
      dataset.normalisation() == v1::NORMALISATION_L2
          ? std::string("scaled to length 1")
          : absl::StrFormat("of length at most %g", dataset.column_bound()));
  if (dataset.has_range()) {
    absl::StrAppendFormat(&text, ", entries from %g to %g%s",
                          dataset.range().low(), dataset.range().high(),
                          dataset.range().integers() ? ", integers" : "");
  }
  if (dataset.has_classes()) {
    absl::StrAppendFormat(
        &text, ", %d classes, labels %s", dataset.classes().names_size(),
        dataset.classes().sizes_size() > 0 ? "public" : "private");
  }
  return text;
}

void PrintText(const v1::ImportReport& report, const PopulationPolicy& policy) {
  const v1::Dataset& dataset = report.dataset();
  const bool declared = policy.adjacency == Adjacency::kAddRemoveOne;
  absl::PrintF("imported %s in %.2f s: %d %s (D) x %d users (%s), %s\n",
               dataset.name(), report.seconds(), dataset.features(),
               dataset.has_ratings() ? "items" : "features", dataset.users(),
               declared ? "N0, declared" : "N", EntriesText(dataset));
  absl::PrintF("  time        %s\n", StagesText(report));
  absl::PrintF("  directory   %s\n", report.directory());
  absl::PrintF("  population  %s\n", policy.population);
  absl::PrintF(
      "  guarantee   epsilon %g at delta %g (%s, %s): the cap on everything "
      "that is ever released about this population\n",
      policy.epsilon, policy.delta, std::string(NameOf(policy.conversion)),
      std::string(NameOf(policy.adjacency)));
  if (dataset.guarantee().has_void_since()) {
    absl::PrintF(
        "  VOID        since %s: a table about these people was published "
        "without privacy, and the guarantee does not hold\n",
        MomentText(dataset.guarantee().void_since()));
  }
  if (dataset.is_public()) absl::PrintF("  declared public\n");
}

// A delta of 1/N or more would allow that one of N people's data are published
// as they are. A population's delta is fixed by its first import.
absl::Status CheckDelta(
    const DatasetDescription& description, bool weak_delta,
    const std::function<void(const std::string& sentence)>& note) {
  const auto users = static_cast<double>(description.users);
  if (description.adjacency == Adjacency::kOneRating) {
    note(
        "The relation one_rating protects one rating and not a person; choose "
        "a delta far below one over the number of ratings");
  }
  if (description.is_public || description.delta * users < 1)
    return absl::OkStatus();
  const std::string finding = absl::StrFormat(
      "The delta %g is not below 1/N = %.3g: this would allow publishing one "
      "person's data unchanged",
      description.delta, 1 / users);
  if (weak_delta) {
    note(finding);
    return absl::OkStatus();
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "delta-weak",
      absl::StrCat(finding,
                   ", and delta cannot be changed later; give a --delta far "
                   "below 1/N, or --weak-delta to accept it."));
}

// ---- People of tables that were published without privacy

absl::Status CheckAllowed(const ImportFlags& flags, std::uint64_t ids,
                          std::uint64_t rows) {
  // Ids do not coincide by chance.
  if (flags.void_guarantee || (flags.accept_overlap && ids == 0))
    return absl::OkStatus();
  return PeoplePublished(ids, rows);
}

// Nobody knows who is in a table whose record is lost.
absl::Status CheckRecordsOf(const std::vector<LedgerRow>& rows,
                            const std::string& data_dir) {
  std::vector<Digest> labels;
  for (const LedgerRow& row : rows)
    if (row.kind == RowKind::kVoid || row.kind == RowKind::kOverlap)
      labels.push_back(row.request_hash);
  return CheckRecords(data_dir, labels);
}

absl::Status CheckFlagsUsed(const ImportFlags& flags,
                            const std::vector<Digest>& tables) {
  if (!tables.empty() || !(flags.void_guarantee || flags.accept_overlap))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "flag-unused",
                 "No published table shares people with the data that is not "
                 "recorded already: leave out --void-guarantee and "
                 "--accept-overlap.");
}

// The operator's word is written down before it counts.
absl::Status RecordTables(const ImportFlags& flags,
                          const DatasetDescription& dataset,
                          const std::vector<Digest>& tables, Ledger* ledger) {
  if (tables.empty()) return absl::OkStatus();
  const std::string by = ByOperator();
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<AuditLog> audit,
                         AuditLog::Open(AuditFile(flags.import.data_dir)));
  DPNMF_RETURN_IF_ERROR(WriteAudit(audit.get(), "published-people-imported",
                                   {{"dataset", dataset.name},
                                    {"population", dataset.population},
                                    {"void_guarantee", flags.void_guarantee},
                                    {"accept_overlap", flags.accept_overlap},
                                    {"by", by}},
                                   AuditSync::kDurable));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> accounts,
                         AccountsOf(*ledger, dataset.population));
  for (const Digest& label : tables) {
    if (!flags.void_guarantee) {
      DPNMF_RETURN_IF_ERROR(
          ledger->AcceptOverlap({dataset.population, label, by}));
      continue;
    }
    for (const std::string& account : accounts)
      DPNMF_RETURN_IF_ERROR(ledger->VoidGuarantee({account, label, by}));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ImportReport> RunImport(const ImportFlags& flags) {
  StageTimes times;
  v1::ImportReport report;
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  const PopulationPolicy policy = PolicyOf(options);
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckOnline(flags));
  // The server looks after the anchor.
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options places,
                         LedgerPaths(options.data_dir, flags.anchor_dir,
                                     flags.no_anchor || flags.online));
  times.Enter("ledger");
  std::unique_ptr<Ledger> ledger;  // none while a server holds it
  if (!flags.online) {
    DPNMF_ASSIGN_OR_RETURN(ledger, OpenExistingLedger(places, policy));
  }
  DPNMF_ASSIGN_OR_RETURN(std::vector<LedgerRow> rows, RowsOf(places));
  if (!IsDeclared(rows, policy.population)) {
    DPNMF_RETURN_IF_ERROR(CheckNotReserved(policy.population));
  } else if (flags.online) {
    DPNMF_RETURN_IF_ERROR(
        DeclareOnline(options.data_dir, policy, ByOperator()));
  }
  times.Enter("reading");
  const auto note = [&](const std::string& sentence) {
    report.add_notes(sentence);
  };
  options.note = note;
  DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows, options.data_dir));
  options.population_is_used = [&](const std::string& population) {
    if (!flags.online) return PopulationIsUsed(rows, population);
    // Runs are opened while the file is read.
    const auto now = RowsOf(places);
    return !now.ok() || PopulationIsUsed(*now, population);
  };
  std::vector<Digest> tables;  // published, with people of the data
  options.published = [&](const Digest& label, std::uint64_t ids,
                          std::uint64_t rows) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(CheckAllowed(flags, ids, rows));
    tables.push_back(label);
    return absl::OkStatus();
  };
  if (flags.online) {
    // What the server does not serve stops its later reloads and its start.
    options.check_draft = [&](const std::string& draft) {
      return CheckOnlineDraft(options.data_dir, draft);
    };
  }
  options.before_publish =
      [&](const DatasetDescription& description) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(CheckFlagsUsed(flags, tables));
    if (flags.online) {
      DPNMF_ASSIGN_OR_RETURN(rows, RowsOf(places));
      DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows, options.data_dir));
    }
    if (!IsDeclared(rows, policy.population))
      DPNMF_RETURN_IF_ERROR(CheckDelta(description, flags.weak_delta, note));
    times.Enter("ledger");
    if (flags.online) {
      DPNMF_RETURN_IF_ERROR(
          DeclareOnline(options.data_dir, policy, ByOperator()));
      times.Enter("writing");
      return absl::OkStatus();
    }
    if (ledger == nullptr) {
      DPNMF_ASSIGN_OR_RETURN(ledger, Ledger::Open(places));
    }
    DPNMF_RETURN_IF_ERROR(ledger->DeclarePopulation(policy));
    DPNMF_RETURN_IF_ERROR(
        RecordTables(flags, description, tables, ledger.get()));
    times.Enter("writing");
    return absl::OkStatus();
  };
  options.refused = [](const absl::Status& status) {
    ClearProgress();
    std::fputs(ErrorText("dpnmf-curator", status).c_str(), stderr);
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
  if (dataset->description().ratings.has_value()) {
    DPNMF_RETURN_IF_ERROR(
        ReadItemTable(report.directory(), dataset->description()).status());
    DPNMF_RETURN_IF_ERROR(
        RatedUsers::Read(report.directory(), *dataset).status());
  }
  if (flags.online) DPNMF_RETURN_IF_ERROR(AddOnline(flags));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         flags.online
                             ? PositionOnDisk(places, policy.population)
                             : ledger->PositionOf(policy.population));
  DPNMF_ASSIGN_OR_RETURN(*report.mutable_dataset(),
                         DescriptionOf(*dataset, policy, position));
  times.AddTo(&report);
  return report;
}

// The first people as they would be stored, before they are normalised.
std::string PreviewText(const ImportPreview& preview) {
  const DatasetDescription& description = preview.description;
  std::string text = absl::StrFormat(
      "would import %s: %d features (D) x %d users in the file, %s\n",
      description.name, description.features, preview.people,
      description.sparse ? "sparse" : "dense");
  for (std::size_t n = 0; n < preview.first.size(); ++n) {
    absl::StrAppend(
        &text, "  person ", n + 1, ": ", absl::StrJoin(preview.first[n], " "),
        preview.first[n].size() < description.features ? " ...\n" : "\n");
  }
  return text +
         "Not checked: the guarantee of the population, delta, the labels of "
         "its other data\nsets, and whether these people are known or were "
         "published.\nNothing was written.\n";
}

absl::StatusOr<ExitCode> ShowDryRun(const ImportFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  options.note = [](const std::string& sentence) {
    absl::FPrintF(stderr, "dpnmf-curator: note: %s.\n", sentence);
  };
  options.refused = [](const absl::Status& status) {
    std::fputs(ErrorText("dpnmf-curator", status).c_str(), stderr);
  };
  options.dry_run = [](const ImportPreview& preview) {
    std::fputs(PreviewText(preview).c_str(), stdout);
  };
  DPNMF_RETURN_IF_ERROR(Import(options).status());
  return kExitOk;
}

absl::StatusOr<ExitCode> ImportAndPrint(const ImportFlags& flags) {
  if (flags.dry_run) return ShowDryRun(flags);
  DPNMF_ASSIGN_OR_RETURN(const v1::ImportReport report, RunImport(flags));
  for (const std::string& note : report.notes())
    absl::FPrintF(stderr, "dpnmf-curator: note: %s.\n", note);
  if (flags.format == "json") {
    std::fputs(ToJson(report).c_str(), stdout);
  } else {
    DPNMF_ASSIGN_OR_RETURN(const ImportOptions options, ImportOptionsOf(flags));
    PrintText(report, PolicyOf(options));
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
           "Serve without an anchor; a rollback of the ledger is then not "
           "detected"),
      Flag("--online", &flags->online,
           "Import while the server of --data-dir runs; it serves the data set "
           "from then on, and keeps the ledger and its anchor"),
      Flag("--format", &flags->format, "Output format: text or json",
           {.one_of = "text|json", .shown = true}),
      // The file.
      Flag("--input", &options.input,
           "File of a matrix or of counts, where what is missing is 0; .gz is "
           "read too"),
      Flag("--ratings", &options.ratings,
           "In the place of --input: lines of user, item, rating, where what "
           "is missing is not 0; .gz is read too"),
      Flag("--items", &options.items_file,
           "For --ratings: the declared items, one id on each line",
           {.value = "FILE"}),
      Flag("--item-features", &options.item_features_file,
           "For --ratings: CSV with the header item,name,... and public "
           "features of the items",
           {.value = "FILE"}),
      Flag("--rating-range", &flags->rating_range,
           "For --ratings: the declared range", {.value = "LOW,HIGH"}),
      Flag("--unlisted", &flags->unlisted,
           "For --ratings: what to do with ratings of items that --items does "
           "not list",
           {.one_of = "refuse|drop", .shown = true}),
      Flag("--users", &flags->users,
           "Which lines of the file are people (not for triples)",
           {.one_of = "rows|columns"}),
      Flag("--format-in", &flags->format_in, "Format of the file",
           {.one_of = formats.c_str(), .shown = true}),
      Flag("--header", &flags->header,
           "Whether the first line contains the names of the columns",
           {.one_of = "auto|yes|no", .shown = true}),
      Flag("--label-columns", &options.label_columns,
           "Number of leading fields of each line that are labels, not entries "
           "[detected]"),
      Flag(
          "--id-column", &options.id_column,
          "The label column, counted from 1, that identifies the person: by it "
          "people are recognised when a table is published"),
      Flag("--class-column", &options.class_column,
           "Field of each line, from 1, that contains the person's label; it "
           "is not an entry"),
      Flag("--classes", &flags->classes,
           "For --class-column: the declared labels; another is refused",
           {.value = "A,B"}),
      Flag("--labels-public", &options.labels_public,
           "Declare the labels public: class sizes are then published exactly, "
           "and no release promises anything about a label"),
      Flag("--range", &flags->range,
           "For --normalise none: the declared range of all entries, which "
           "class_moments centres them in",
           {.value = "LOW,HIGH"}),
      Flag("--integers", &flags->integers,
           "For --range: declare that entries are whole numbers"),
      Flag("--columns", &options.columns,
           "Columns of a text file that hold entries: numbers from 1, ranges "
           "and names of the header, as 2-65,total; or all [all but labels]",
           {.value = "LIST"}),
      Flag("--delimiter", &flags->delimiter,
           "What separates the fields of a text file [by its format]",
           {.one_of = "comma|tab|semicolon|bar|blank"}),
      Flag("--array", &options.array,
           "Name of the array of an .npz file that has several",
           {.value = "NAME"}),
      Flag("--shards", &options.shards,
           "Write the arrays in so many ranges of people, for `serve --ranks` "
           "[one]"),
      Flag("--dry-run", &flags->dry_run,
           "Only read and check the file and show its first people as they "
           "would be taken; they are private"),
      Flag("--features", &options.features_file,
           "File with the names of the features, one on each line, which "
           "analysts will see; for triples: the items"),
      Flag("--features-from-header", &options.names_from_header,
           "Declare the names in the file's header public: they are the names "
           "of the features, which analysts will see"),
      Flag("--users-count", &options.users_count,
           "Number of users: N0 under add_remove_one; N for ratings and "
           "triples; otherwise checked against the file"),
      // What it promises.
      Flag("--population", &options.population,
           "Population whose budget the data set uses: data sets that share "
           "people share one",
           {.required = true}),
      Flag("--epsilon", &options.epsilon,
           "Cap on epsilon of everything that is ever released about the "
           "population: (0, 1000]",
           {.required = true}),
      Flag("--delta", &options.delta,
           "Delta of the cap: above 0, far below 1 over the number of people",
           {.required = true}),
      Flag("--weak-delta", &flags->weak_delta,
           "Accept a delta that is not below 1 over the number of people"),
      Flag("--void-guarantee", &flags->void_guarantee,
           "Import people of a table that was published without privacy: the "
           "population's guarantee is void, for ever"),
      Flag("--accept-overlap", &flags->accept_overlap,
           "People whose rows, not ids, coincide with those of a published "
           "table are others; recorded in the ledger"),
      Flag("--conversion", &flags->conversion, "How the cap is converted",
           {.one_of = "rdp|rdp_optimal|gaussian", .shown = true}),
      Flag("--adjacency", &flags->adjacency, "Which data sets are neighbours",
           {.one_of = "replace_one|add_remove_one|one_rating", .shown = true}),
      Flag("--normalise", &flags->normalise,
           "l2: each person's column is scaled to length 1; none: only scaled "
           "down to --column-bound; not for ratings [l2]",
           {.one_of = "l2|none"}),
      Flag("--column-bound", &options.column_bound,
           "Largest length of a column for --normalise none, declared without "
           "looking at the data"),
      Flag("--public", &options.is_public,
           "Declare the data public: they need no protection"),
  };
}

// ---- people

// What says how the file is read; the rest is the data set's own.
std::vector<Flag> PeopleFlagsOf(ImportFlags* flags) {
  constexpr std::string_view kNames[] = {
      "--name",          "--data-dir",     "--anchor-dir", "--no-anchor",
      "--input",         "--ratings",      "--items",      "--unlisted",
      "--users",         "--format-in",    "--header",     "--label-columns",
      "--id-column",     "--class-column", "--classes",    "--columns",
      "--delimiter",     "--array",        "--features",   "--void-guarantee",
      "--accept-overlap"};
  std::vector<Flag> all = FlagsOf(flags), taken;
  for (const std::string_view name : kNames) {
    for (const Flag& flag : all)
      if (flag.name == name) taken.push_back(flag);
  }
  return taken;
}

absl::StatusOr<ExitCode> MakePeople(const ImportFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  InterruptGently();
  options.interrupted = Interrupted;
  DPNMF_ASSIGN_OR_RETURN(
      const Ledger::Options places,
      LedgerPaths(options.data_dir, flags.anchor_dir, flags.no_anchor));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows, RowsOf(places));
  DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows, options.data_dir));
  struct Shared {
    Digest label;
    std::uint64_t ids = 0, rows = 0;
  };
  std::vector<Shared> all;
  options.published = [&](const Digest& label, std::uint64_t ids,
                          std::uint64_t shared) -> absl::Status {
    all.push_back({label, ids, shared});
    return absl::OkStatus();
  };
  options.before_publish =
      [&](const DatasetDescription& description) -> absl::Status {
    std::vector<Digest> tables;
    for (const Shared& shared : all) {
      // Void is void; an overlap was accepted of rows alone.
      const bool is_recorded =
          std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
            return row.population == description.population &&
                   (row.kind == RowKind::kVoid ||
                    (row.kind == RowKind::kOverlap &&
                     row.request_hash == shared.label && shared.ids == 0));
          });
      if (is_recorded) continue;
      DPNMF_RETURN_IF_ERROR(CheckAllowed(flags, shared.ids, shared.rows));
      tables.push_back(shared.label);
    }
    DPNMF_RETURN_IF_ERROR(CheckFlagsUsed(flags, tables));
    if (tables.empty()) return absl::OkStatus();
    DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Ledger> ledger,
                           Ledger::Open(places));
    return RecordTables(flags, description, tables, ledger.get());
  };
  StageTimes times;
  const auto people = ImportPeople(options, ShowProgress(&times));
  ClearProgress();
  DPNMF_RETURN_IF_ERROR(people.status());
  absl::PrintF("recorded the people of %s: %d different rows, %s\n",
               options.name, people->rows.size(),
               people->has_ids ? absl::StrCat(people->ids.size(), " ids")
                               : std::string("no ids (--id-column)"));
  return kExitOk;
}

}  // namespace

Command PeopleCommand() {
  const auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "people",
      .summary = "Record who is in a data set of an earlier version",
      .footer =
          "Reads the file that the data set was imported from once more, "
          "checks "
          "that it is\nthat file, and stores a keyed fingerprint of each "
          "person "
          "beside the data. `publish`\nneeds it of every data set. Also to "
          "declare an --id-column later. A server may run\nmeanwhile, unless "
          "people of a published table are found: --void-guarantee needs the\n"
          "ledger.\n"
          "Example:\n"
          "  dpnmf-curator people --name digits --input digits.csv.gz --users "
          "rows \\\n    --data-dir /var/lib/dpnmf",
      .flags = PeopleFlagsOf(flags.get()),
      .run = [flags] { return MakePeople(*flags); }};
}

// ---- add-sums

// What says what the sums are of and what is promised; a file is not read.
std::vector<Flag> SumsFlagsOf(ImportFlags* flags) {
  constexpr std::string_view kNames[] = {
      "--name",           "--data-dir",   "--anchor-dir",  "--no-anchor",
      "--format",         "--input",      "--users-count", "--population",
      "--epsilon",        "--delta",      "--weak-delta",  "--void-guarantee",
      "--accept-overlap", "--conversion", "--adjacency",   "--normalise",
      "--column-bound",   "--public"};
  std::vector<Flag> all = FlagsOf(flags), taken;
  for (const std::string_view name : kNames) {
    for (const Flag& flag : all)
      if (flag.name == name) taken.push_back(flag);
  }
  return taken;
}

Command AddSumsCommand() {
  const auto flags = std::make_shared<ImportFlags>();
  flags->import.are_sums = true;
  flags->users = "rows";
  return {
      .name = "add-sums",
      .summary = "Make a data set of sums over people that dpnmf-sums made",
      .footer =
          "The data set holds no people: runs of `moments` on all its features "
          "alone can be\nmade of it. The other flags are those of import, and "
          "those of dpnmf-sums must agree.\nExample:\n"
          "  dpnmf-curator add-sums --name visits --population patients "
          "--input sums.txt \\\n    --users-count 1000000 --epsilon 4 --delta "
          "1e-8 --data-dir /var/lib/dpnmf",
      .flags = SumsFlagsOf(flags.get()),
      .run = [flags] { return ImportAndPrint(*flags); }};
}

Command ImportCommand() {
  static const std::string footer = absl::StrCat(
      "Reads ", FormatTitles(),
      ".\n"
      "A data set never changes once it is imported; a refused file leaves "
      "nothing\n"
      "behind. The server must not be running, unless with --online.\n"
      "Examples:\n"
      "  dpnmf-curator import --name digits --population writers --input "
      "digits.csv.gz \\\n"
      "    --users rows --epsilon 8 --delta 1e-5 --data-dir /var/lib/dpnmf\n"
      "  dpnmf-curator import --name films --population readers --ratings "
      "u.data \\\n"
      "    --items items.txt --rating-range 1,5 --users-count 943 \\\n"
      "    --epsilon 4 --delta 1e-6 --data-dir /var/lib/dpnmf");
  const auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "import",
      .summary =
          "Make a data set from a file and declare the budget of its people",
      .footer = footer.c_str(),
      .flags = FlagsOf(flags.get()),
      .run = [flags] { return ImportAndPrint(*flags); }};
}

}  // namespace dpnmf::curator
