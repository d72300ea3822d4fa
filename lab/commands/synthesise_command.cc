// dpnmf-lab synthesise: people from a paid release; or, on data that were
// declared public, what such a release would be worth.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "common/privacy/mechanism.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "curator/draft/class_release.h"
#include "curator/draft/draft.h"
#include "lab/commands/commands.h"
#include "lab/publication_report/report.h"
#include "lab/synthesise/classifier.h"
#include "lab/synthesise/synthesise.h"
#include "lab/tables/table.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

constexpr std::size_t kLargestReleaseFile = std::size_t{1} << 28;
constexpr std::uint64_t kMostPeopleDrawn = 10'000'000;

constexpr char kUncharged[] =
    "Figures that are computed on real people are not private and were not "
    "charged: they stay with the operator, and no choice among releases may "
    "rest on them.";

struct SynthesiseFlags {
  std::string release, synthetic, test, input, output, users = "rows";
  bool unit_length = false;
  std::string classes, range;
  bool integers = false;
  std::optional<double> column_bound;
  FieldFlags fields;
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> seed;
  bool is_public = false;
  SynthesisOptions measure;
};

// A flag that was given and that the source (--release, --synthetic or --input)
// does not read would be ignored.
absl::Status CheckFlagsOfSource(const SynthesiseFlags& flags) {
  const bool draws = !flags.release.empty(), measures = !flags.input.empty();
  struct Owned {
    const char* flag;
    bool given, fits;
    const char* source;
  };
  const Owned all[] = {
      {"--count", flags.count.has_value(), draws, "--release"},
      {"--unit-length", flags.unit_length, !flags.synthetic.empty(),
       "--synthetic"},
      {"--test", !flags.test.empty(), !measures, "--release and --synthetic"},
      {"--classes", !flags.classes.empty(), measures, "--input"},
      {"--range", !flags.range.empty(), measures, "--input"},
      {"--integers", flags.integers, measures, "--input"},
      {"--column-bound", flags.column_bound.has_value(), measures, "--input"}};
  for (const Owned& one : all) {
    if (!one.given || one.fits) continue;
    return BadInput("synthesise-mixed",
                    absl::StrCat("The flag ", one.flag, " is for ", one.source,
                                 ": leave it out."));
  }
  return absl::OkStatus();
}

// One of --release, --synthetic and --input, each with its own flags.
absl::Status CheckSynthesiseFlags(const SynthesiseFlags& flags) {
  const int sources =
      !flags.release.empty() + !flags.synthetic.empty() + !flags.input.empty();
  if (sources != 1) {
    return BadInput(
        "synthesise-mixed",
        "Give one of --release FILE, to draw people from a paid release, "
        "--synthetic FILE, to test what an analyst has drawn, and --input "
        "FILE, to measure on public data how useful a release would be.");
  }
  if (!flags.synthetic.empty() && flags.test.empty()) {
    return BadInput("synthesise-mixed",
                    "The flag --synthetic needs --test FILE: real people "
                    "to test a classifier on.");
  }
  DPNMF_RETURN_IF_ERROR(CheckFlagsOfSource(flags));
  if (!flags.release.empty() && !flags.count.has_value()) {
    return BadInput("synthesise-mixed",
                    "The flag --release needs --count N: the number of "
                    "people to draw.");
  }
  if (flags.count.has_value() &&
      !(*flags.count >= 1 && *flags.count <= kMostPeopleDrawn)) {
    return BadInput("count-out-of-range",
                    "`--count` must be from 1 to 10,000,000.");
  }
  if ((!flags.test.empty() || !flags.input.empty()) &&
      flags.fields.class_column.empty()) {
    return BadInput("classes-missing",
                    "The flags --input and --test need --class-column C, "
                    "the field with the label.");
  }
  // Draws from a release are post-processing, whatever they come from.
  if (flags.seed.has_value() && !flags.is_public && flags.release.empty()) {
    return BadInput("seed-needs-public",
                    "A seed is only for data that are declared public: "
                    "give --public, or leave out --seed.");
  }
  return absl::OkStatus();
}

absl::StatusOr<Table> ReadLabelled(const std::string& path,
                                   const SynthesiseFlags& flags) {
  TableOptions options;
  options.users_are_rows = flags.users == "rows";
  DPNMF_RETURN_IF_ERROR(SetFields(path, flags.fields, &options));
  return ReadTable(path, options);
}

void PrintUncharged() { absl::PrintF("NOT PRIVATE. %s\n", kUncharged); }

nlohmann::ordered_json ParametersOfDraft(const SynthesiseFlags& flags,
                                         const ClassRelease& release) {
  nlohmann::ordered_json parameters = {{"epsilon", release.epsilon},
                                       {"delta", release.delta},
                                       {"count", *flags.count}};
  if (flags.seed.has_value()) parameters["seed"] = *flags.seed;
  return parameters;
}

// A member of the receipt or of the charge, as text; empty if it has none.
std::string FieldOf(const nlohmann::ordered_json& object, const char* field) {
  if (!object.is_object() || !object.contains(field)) return "";
  const nlohmann::ordered_json& value = object.at(field);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string ClassText(const ClassRelease& release, const Table& people) {
  std::string text;
  for (const std::string& name : release.facts.classes->names) {
    absl::StrAppend(
        &text, text.empty() ? "" : ", ", name, ": ",
        std::count(people.classes.begin(), people.classes.end(), name));
  }
  return text;
}

// PublicationReport::drawn.
nlohmann::ordered_json FactsOfDraw(const SynthesiseFlags& flags,
                                   const ClassRelease& release,
                                   const Table& people) {
  const DatasetFacts& facts = release.facts;
  const auto charge = [&](const char* field) {
    return FieldOf(release.charge, field);
  };
  nlohmann::ordered_json drawn = {
      {"drawn", absl::StrFormat("%d synthetic people (%s), %s", *flags.count,
                                ClassText(release, people),
                                flags.seed.has_value()
                                    ? absl::StrCat("seed ", *flags.seed)
                                    : "randomness of the operating system")},
      {"from",
       absl::StrFormat("class moments of data set %s, population %s: row %s of "
                       "ledger %s, run %s",
                       facts.name, facts.population, charge("sequence"),
                       charge("ledger"), charge("run_id"))},
      {"guarantee of the release",
       absl::StrFormat("epsilon %g at delta %g (%s, %s)", release.epsilon,
                       release.delta, std::string(NameOf(facts.conversion)),
                       std::string(NameOf(facts.adjacency)))},
      {"classes", facts.classes->sizes.empty()
                      ? "private: their sizes are part of the release"
                      : "public by the operator's declaration"},
      {"guarantee of the people",
       "that of the population's cap, over everything that is released about "
       "them: dpnmf-curator publish writes it into the label"}};
  if (FieldOf(release.receipt, "void_since").empty()) return drawn;
  drawn["VOID"] =
      "the population's guarantee was given up before this release was charged";
  return drawn;
}

constexpr char kDrawnWarning[] =
    "Operator's draft. The table was drawn from a release that was charged, "
    "and "
    "has its guarantee; dpnmf-curator publish makes the file that may leave.";

constexpr char kUnchargedNote[] = "uncharged: stays in your draft";

// Draft::attacks of a table that was compared with real people.
nlohmann::ordered_json UseOf(const SynthesiseFlags& flags) {
  return {{"warning", kUncharged},
          {"compared_on_real_data", true},
          {"test", flags.test}};
}

PublicationReport DrawReport(const SynthesiseFlags& flags,
                             const ClassRelease& release, const Table& people,
                             std::optional<double> accuracy) {
  PublicationReport report;
  report.command = "synthesise";
  report.data = flags.release;
  report.people = people.values.rows();
  report.columns = people.values.cols();
  report.options = ParametersOfDraft(flags, release);
  report.drawn = FactsOfDraw(flags, release, people);
  report.warning = kDrawnWarning;
  PublicationRow row{.method = std::string(kClassMomentsMechanism.name),
                     .kind = "synthetic",
                     .epsilon = release.epsilon,
                     .delta = release.delta,
                     .accuracy_on_original = accuracy};
  if (accuracy.has_value()) {
    report.warning = absl::StrCat("Not private. ", kUncharged);
    report.options["test"] = flags.test;
    row.note = absl::StrFormat(
        "Accuracy of a classifier that learned from the synthetic people, on "
        "the "
        "real people of %s: %.4f (%s).",
        flags.test, *accuracy, kUnchargedNote);
  }
  report.rows = {row};
  return report;
}

absl::Status DrawFromRelease(const SynthesiseFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(flags.release, kLargestReleaseFile));
  DPNMF_ASSIGN_OR_RETURN(const ClassRelease release, ClassReleaseOfJson(text));
  Draws draws(flags.seed);
  DPNMF_ASSIGN_OR_RETURN(const Table people,
                         SynthesiseTable(release, *flags.count, &draws));
  Draft draft;
  draft.kind = DraftKind::kSynthetic;
  draft.method = std::string(kClassMomentsMechanism.name);
  draft.parameters = ParametersOfDraft(flags, release);
  draft.charge = release.charge;
  draft.charge["sums_sha256"] = HexOf(HashOfSums(release.sums));
  std::optional<double> accuracy;
  if (!flags.test.empty()) {
    draft.attacks = UseOf(flags);
    DPNMF_ASSIGN_OR_RETURN(const Table test, ReadLabelled(flags.test, flags));
    DPNMF_ASSIGN_OR_RETURN(
        accuracy,
        TrainedAccuracy(people, test,
                        flags.measure.gamma > 0 ? flags.measure.gamma
                                                : DefaultGamma(release.facts)));
  }
  DPNMF_RETURN_IF_ERROR(WriteDraft(flags.output, draft, TableCsv(people)));
  DPNMF_RETURN_IF_ERROR(
      WriteReport(flags.output, DrawReport(flags, release, people, accuracy)));
  absl::PrintF(
      "wrote %s: %d synthetic people of %d classes, epsilon %g at "
      "delta %g; report in %s/report.html\n",
      flags.output, *flags.count, release.facts.classes->names.size(),
      release.epsilon, release.delta, flags.output);
  if (accuracy.has_value()) {
    PrintUncharged();
    absl::PrintF("  accuracy    %.4f on %s (learned from the synthetic)\n",
                 *accuracy, flags.test);
  }
  return absl::OkStatus();
}

// ---- Utility and privacy of releases, measured without a charge

absl::StatusOr<EntryRange> RangeOf(const std::string& text, bool integers) {
  EntryRange range{.integers = integers};
  const std::vector<std::string> ends = absl::StrSplit(text, ',');
  if (ends.size() == 2 && absl::SimpleAtod(ends[0], &range.low) &&
      absl::SimpleAtod(ends[1], &range.high) && range.low >= 0 &&
      range.low < range.high)
    return range;
  return BadInput("range-out-of-range",
                  "`--range` must be LOW,HIGH with 0 <= LOW < HIGH.");
}

absl::StatusOr<DatasetFacts> DeclaredFacts(const SynthesiseFlags& flags,
                                           const Table& table) {
  DatasetFacts facts;
  facts.conversion = Conversion::kGaussian;
  facts.classes.emplace();
  if (flags.classes.empty()) {
    const std::set<std::string> names(table.classes.begin(),
                                      table.classes.end());
    facts.classes->names.assign(names.begin(), names.end());
  } else {
    facts.classes->names = absl::StrSplit(flags.classes, ',');
  }
  if (!flags.range.empty()) {
    DPNMF_ASSIGN_OR_RETURN(facts.range, RangeOf(flags.range, flags.integers));
    facts.column_bound =
        facts.range->high * std::sqrt(static_cast<double>(table.values.cols()));
  }
  if (flags.column_bound.has_value()) facts.column_bound = *flags.column_bound;
  if (!flags.range.empty() || flags.column_bound.has_value()) return facts;
  return BadInput("column-bound-missing",
                  "The flag --input needs --range LOW,HIGH or "
                  "--column-bound C, declared without looking at the "
                  "data.");
}

std::string MetricsCsv(const SynthesisMeasure& measure) {
  TrialTable table(
      "epsilon,repeat,accuracy,membership_auc,membership_low,"
      "membership_high");
  const auto share = [](double value) {
    return absl::StrFormat("%.6f", value);
  };
  for (const SynthesisTrial& trial : measure.trials) {
    const auto& auc = trial.membership_auc;
    table.Add({absl::StrFormat("%g", trial.epsilon), trial.repeat,
               share(trial.accuracy), auc.has_value() ? share(auc->value) : "",
               auc.has_value() ? share(auc->low) : "",
               auc.has_value() ? share(auc->high) : ""});
  }
  return table.Csv();
}

// Medians over the releases of an epsilon; intervals are those of one.
struct MeasuredRow {
  double epsilon = 0;
  Spread accuracy = {};
  double auc = 0, auc_low = 0, auc_high = 0;
  std::optional<AttackReport> attacks = std::nullopt;  // of the first release
};

std::vector<MeasuredRow> MeasuredRows(const SynthesisMeasure& measure,
                                      const std::vector<double>& epsilons) {
  std::vector<MeasuredRow> rows;
  for (const double epsilon : epsilons) {
    std::vector<double> accuracies, aucs, lows, highs;
    MeasuredRow row{.epsilon = epsilon};
    for (const SynthesisTrial& trial : measure.trials) {
      if (trial.epsilon != epsilon) continue;
      accuracies.push_back(trial.accuracy);
      if (trial.attacks.has_value()) row.attacks = trial.attacks;
      if (!trial.membership_auc.has_value()) continue;
      aucs.push_back(trial.membership_auc->value);
      lows.push_back(trial.membership_auc->low);
      highs.push_back(trial.membership_auc->high);
    }
    row.accuracy = SpreadOf(accuracies);
    if (!aucs.empty()) {
      row.auc = SpreadOf(aucs).median;
      row.auc_low = SpreadOf(lows).median;
      row.auc_high = SpreadOf(highs).median;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

PublicationReport SynthesisReport(const std::string& data, std::int64_t people,
                                  std::uint64_t columns) {
  PublicationReport report;
  report.command = "synthesise";
  report.data = std::filesystem::path(data).filename().string();
  report.people = people;
  report.columns = static_cast<std::int64_t>(columns);
  return report;
}

nlohmann::ordered_json MeasuredFigures(const SynthesisMeasure& measure,
                                       const std::vector<MeasuredRow>& rows,
                                       double delta) {
  nlohmann::ordered_json json = {
      {"warning", kUncharged},
      {"delta", delta},
      {"accuracy_on_itself", measure.accuracy_on_itself},
      {"epsilons", nlohmann::ordered_json::array()}};
  for (const MeasuredRow& row : rows) {
    json["epsilons"].push_back(
        {{"epsilon", row.epsilon},
         {"accuracy", row.accuracy.median},
         {"least_accuracy", row.accuracy.least},
         {"membership_auc", row.auc},
         {"membership_interval", {row.auc_low, row.auc_high}}});
  }
  return json;
}

PublicationReport MeasureReport(const SynthesiseFlags& flags,
                                const Table& table,
                                const SynthesisMeasure& measure,
                                const std::vector<MeasuredRow>& rows) {
  PublicationReport report =
      SynthesisReport(flags.input, table.values.rows(),
                      static_cast<std::uint64_t>(table.values.cols()));
  report.warning = absl::StrCat("Not private. ", kUncharged);
  report.options = {{"delta", flags.measure.delta},
                    {"repeats", flags.measure.repeats}};
  for (const MeasuredRow& row : rows) {
    report.rows.push_back(
        {.method = std::string(kClassMomentsMechanism.name),
         .kind = "synthetic",
         .epsilon = row.epsilon,
         .delta = flags.measure.delta,
         .accuracy_on_original = row.accuracy.median,
         .attacks = row.attacks,
         .note = absl::StrFormat(
             "The accuracy is the median of %d releases, and so is the area "
             "under the curve of membership inference, %.3f (%.3f to %.3f); "
             "the attacks are on the table of the first.",
             flags.measure.repeats, row.auc, row.auc_low, row.auc_high)});
  }
  report.more = MeasuredFigures(measure, rows, flags.measure.delta);
  return report;
}

// ---- Utility of people that an analyst has drawn

// 1 over features times the mean variance of the synthetic people.
double GammaOfSpread(const Table& table) {
  const Eigen::MatrixXd centred =
      table.values.rowwise() - table.values.colwise().mean();
  const double variance =
      centred.squaredNorm() / static_cast<double>(centred.size());
  return variance > 0
             ? 1 / (variance * static_cast<double>(table.values.cols()))
             : 1;
}

absl::Status TestSynthetic(const SynthesiseFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(Table test, ReadLabelled(flags.test, flags));
  if (flags.unit_length) {
    for (auto person : test.values.rowwise())
      if (person.norm() > 0) person.normalize();
  }
  // `dpnmf synthesise` writes the features in their order, then the class.
  TableOptions options;
  options.header = true;
  options.class_column = static_cast<int>(test.values.cols()) + 1;
  DPNMF_ASSIGN_OR_RETURN(const Table people,
                         ReadTable(flags.synthetic, options));
  const double gamma =
      flags.measure.gamma > 0 ? flags.measure.gamma : GammaOfSpread(people);
  DPNMF_ASSIGN_OR_RETURN(const double accuracy,
                         TrainedAccuracy(people, test, gamma));
  DPNMF_ASSIGN_OR_RETURN(const double on_itself,
                         TrainedAccuracy(test, test, gamma));
  PublicationReport report =
      SynthesisReport(flags.synthetic, people.values.rows(),
                      static_cast<std::uint64_t>(people.values.cols()));
  report.warning = absl::StrCat("Not private. ", kUncharged);
  report.options = {{"test", flags.test}, {"gamma", gamma}};
  report.rows = {
      {.method = std::string(kClassMomentsMechanism.name),
       .kind = "synthetic",
       .accuracy_on_original = accuracy,
       .note = absl::StrFormat(
           "Accuracy of a classifier that learned from the synthetic "
           "people, on the real people of %s; a classifier that "
           "learned from these real people reaches %.4f.",
           flags.test, on_itself)}};
  report.more = {{"accuracy", accuracy}, {"accuracy_on_itself", on_itself}};
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(WriteReport(flags.output, report));
  PrintUncharged();
  absl::PrintF(
      "learned from %d synthetic people, tested on %d real ones: %.4f\n"
      "learned from the real ones, tested on the same: %.4f\n",
      people.values.rows(), test.values.rows(), accuracy, on_itself);
  return absl::OkStatus();
}

absl::Status MeasureOn(SynthesiseFlags flags) {
  DPNMF_ASSIGN_OR_RETURN(const Table table, ReadLabelled(flags.input, flags));
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, DeclaredFacts(flags, table));
  flags.measure.seed = flags.seed;
  flags.measure.stop = Interrupted;
  DPNMF_ASSIGN_OR_RETURN(const SynthesisMeasure measure,
                         MeasureSynthesis(table, facts, flags.measure));
  const std::vector<MeasuredRow> rows =
      MeasuredRows(measure, flags.measure.epsilons);
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  DPNMF_RETURN_IF_ERROR(
      ReplaceDurably(flags.output + "/metrics.csv", MetricsCsv(measure), {}));
  DPNMF_RETURN_IF_ERROR(
      WriteReport(flags.output, MeasureReport(flags, table, measure, rows)));
  PrintUncharged();
  absl::PrintF("learned from real people, tested on the same: %.4f\n",
               measure.accuracy_on_itself);
  for (const MeasuredRow& row : rows) {
    absl::PrintF(
        "epsilon %-5g  accuracy %.4f (median of %d, least %.4f)  "
        "membership AUC %.3f (%.3f to %.3f)\n",
        row.epsilon, row.accuracy.median, flags.measure.repeats,
        row.accuracy.least, row.auc, row.auc_low, row.auc_high);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunSynthesise(const SynthesiseFlags& flags) {
  DPNMF_RETURN_IF_ERROR(CheckSynthesiseFlags(flags));
  InterruptGently();
  DPNMF_RETURN_IF_ERROR(!flags.release.empty()     ? DrawFromRelease(flags)
                        : !flags.synthetic.empty() ? TestSynthetic(flags)
                                                   : MeasureOn(flags));
  return kExitOk;
}

}  // namespace

Command SynthesiseCommand() {
  const auto flags = std::make_shared<SynthesiseFlags>();
  SynthesisOptions& measure = flags->measure;
  measure.threads = DefaultThreads();
  return {
      .name = "synthesise",
      .summary = "Draw people from a paid release of class moments",
      .footer =
          "With --release: fits a Gaussian to each class of the release and "
          "draws people.\nThis reads only the release, so it costs nothing, "
          "however often you draw; a seed\nis harmless here. It writes a draft "
          "for `dpnmf-curator publish`, and report.html.\nWith --input: "
          "measures on public data how useful a release would be, with "
          "noise\nthat is not the curator's. These figures are not "
          "private.\nExamples:\n  dpnmf-lab synthesise --release wbc.json "
          "--count 700 --output draft\n  dpnmf-lab synthesise --input wbc.csv "
          "--class-column 10 --range 1,10 --integers \\\n    --epsilon .5,1,4 "
          "--public --seed 1 --output measured\n  dpnmf-lab synthesise "
          "--synthetic people.csv --test wbc.csv --class-column 10 \\\n    "
          "--output tested",
      .flags =
          {Flag("--release", &flags->release,
                "File that `dpnmf-curator synthesise` wrote",
                {.value = "FILE"}),
           Flag("--count", &flags->count, "Number of people to draw"),
           Flag("--synthetic", &flags->synthetic,
                "Instead of --release: people of a run of class_moments, as "
                "`dpnmf synthesise` wrote them; needs --test",
                {.value = "FILE"}),
           Flag("--unit-length", &flags->unit_length,
                "For --synthetic: scale each row of --test to length 1, as a "
                "data set of --normalise l2 was"),
           Flag("--test", &flags->test,
                "For --release and --synthetic: real people to test a "
                "classifier on; the "
                "figure is not private",
                {.value = "FILE"}),
           Flag("--input", &flags->input,
                "Instead of --release: table to measure on", {.value = "FILE"}),
           Flag("--users", &flags->users,
                "Which lines of --input and --test are people",
                {.one_of = "rows|columns", .shown = true}),
           Flag("--class-column", &flags->fields.class_column,
                "Field of --input and --test with the label: its number, from "
                "1, or its name in the header",
                {.value = "C"}),
           Flag("--id-column", &flags->fields.id_column,
                "Field of --input and --test with the person's id: its number "
                "or its name in the header; the classifier does not use it",
                {.value = "C"}),
           Flag("--classes", &flags->classes,
                "For --input: the declared labels [those of the file]",
                {.value = "A,B"}),
           Flag("--range", &flags->range,
                "For --input: the declared range of all entries",
                {.value = "LOW,HIGH"}),
           Flag("--integers", &flags->integers,
                "For --range: entries are whole numbers"),
           Flag("--column-bound", &flags->column_bound,
                "For --input: the declared length of a row [that of the "
                "range]"),
           Flag("--epsilon", &measure.epsilons,
                "For --input: epsilons to measure at"),
           Flag("--delta", &measure.delta, "For --input: delta",
                {.shown = true}),
           Flag("--repeats", &measure.repeats,
                "For --input: releases of each epsilon",
                {.range = {1, 10'000}, .shown = true}),
           Flag("--gamma", &measure.gamma,
                "Width of the classifier's kernel, exp(-gamma |x - y|^2) [1 "
                "over features times the squared range]"),
           Flag("--public", &flags->is_public, "The table is public"),
           Flag("--seed", &flags->seed,
                "Seed of the draws; with --input it needs --public"),
           Flag("--output", &flags->output,
                "Directory of the draft, or of the figures",
                {.value = "DIR", .required = true})},
      .run = [flags] { return RunSynthesise(*flags); }};
}

}  // namespace dpnmf::curator::lab
