#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/threads/interruption.h"
#include "common/threads/parallel.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "lab/attack/attack.h"
#include "lab/attack/rating_linkage.h"
#include "lab/commands/commands.h"
#include "lab/publication_report/report.h"
#include "lab/tables/table.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {
namespace {

struct AttackFlags {
  std::string original, published, outsiders, output;
  std::string users = "rows", header, items, rating_range;
  FieldFlags fields, published_fields;
  bool is_public = false;
  std::vector<std::string> beside;
  std::optional<std::uint64_t> seed;
  std::uint32_t people = 2000;
  AttackOptions options;
  RatingsAttacker attacker;
  LoadProgress reading;
};

absl::Status CheckAttackFlags(const AttackFlags& flags) {
  if (flags.seed.has_value() && !flags.is_public)
    return BadInput("seed-needs-public",
                    "`--seed` needs `--public`: random numbers for a "
                    "private table come from the operating system.");
  if (flags.items.empty() != flags.rating_range.empty())
    return BadInput("attack-option-out-of-range",
                    "Ratings need `--items` and `--rating-range` together.");
  if (!(flags.attacker.days.value_or(0) >= 0))
    return BadInput("attack-option-out-of-range",
                    "`--known-days` must be at least 0.");
  if (flags.options.known_pairs < 0 || flags.people < 1 ||
      flags.options.threads < 1)
    return BadInput(
        "attack-option-out-of-range",
        "`--known-pairs` must be at least 0, `--people` and `--threads` at "
        "least 1.");
  return absl::OkStatus();
}

// One line that is rewritten on a terminal; else a line at the begin of each
// attack.
class AttackProgress {
 public:
  void operator()(std::string_view attack, double share) {
    share = std::clamp(share, 0.0, 1.0);
    if (!terminal_) {
      if (attack != attack_) absl::FPrintF(stderr, "%s\n", std::string(attack));
      attack_ = attack;
      return;
    }
    constexpr int kWidth = 30;
    const int done = static_cast<int>(kWidth * share);
    absl::FPrintF(stderr, "\r\033[K[%s%s] %3.0f %% %s", std::string(done, '#'),
                  std::string(kWidth - done, '.'), 100 * share,
                  std::string(attack));
    std::fflush(stderr);
  }
  void Clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string attack_;
};

// --- tables

absl::StatusOr<Table> ReadAttackTable(const std::string& path,
                                      const AttackFlags& flags,
                                      const FieldFlags& fields) {
  TableOptions options;
  options.users_are_rows = flags.users == "rows";
  options.one_class_is_refused = false;  // classes are not attacked
  if (!flags.header.empty()) options.header = flags.header == "yes";
  DPNMF_RETURN_IF_ERROR(SetFields(path, fields, &options));
  options.progress = flags.reading;
  options.interrupted = Interrupted;
  return ReadTable(path, options);
}

// Fields of the published table: a field that is not given is as in the
// original, and 0 says that there is no such field.
FieldFlags PublishedFields(const AttackFlags& flags) {
  const auto choose = [](const std::string& published,
                         const std::string& original) {
    if (published == "0") return std::string();
    return published.empty() ? original : published;
  };
  return {
      choose(flags.published_fields.class_column, flags.fields.class_column),
      choose(flags.published_fields.id_column, flags.fields.id_column)};
}

absl::StatusOr<Table> ReadPublishedTable(const AttackFlags& flags) {
  absl::StatusOr<Table> table =
      ReadAttackTable(flags.published, flags, PublishedFields(flags));
  const std::string code = ReasonCode(table.status());
  const auto with_hint = [&](const char* flag) {
    return Refusal(
        table.status().code(), code,
        absl::StrCat(absl::StripSuffix(table.status().message(), "."),
                     "; if the published table has this column elsewhere, give "
                     "its number or name with ",
                     flag, " (0: it has none)."));
  };
  if (code == "class-column-out-of-range" &&
      flags.published_fields.class_column.empty())
    return with_hint("--published-class-column");
  if (code == "id-column-out-of-range" &&
      flags.published_fields.id_column.empty())
    return with_hint("--published-id-column");
  return table;
}

// The published table in the original's order of people, where both have ids.
absl::Status Align(const Table& original, Table* published) {
  if (original.ids.empty() || published->ids.empty()) return absl::OkStatus();
  std::map<std::string_view, Eigen::Index> places;
  for (std::size_t i = 0; i < published->ids.size(); ++i)
    places[published->ids[i]] = static_cast<Eigen::Index>(i);
  Eigen::MatrixXd values(original.people(), published->values.cols());
  for (std::size_t i = 0; i < original.ids.size(); ++i) {
    const auto found = places.find(original.ids[i]);
    if (found == places.end())
      return BadInput(
          "attack-mismatch",
          "A person of the original is not in the published table: both must "
          "have the same ids.");
    for (Eigen::Index c = 0; c < values.cols(); ++c)
      values(static_cast<Eigen::Index>(i), c) =
          published->values(found->second, c);
  }
  published->values = std::move(values);
  published->ids = original.ids;
  return absl::OkStatus();
}

struct Attacked {
  AttackReport report;
  std::int64_t people = 0, columns = 0;
  std::optional<double> vd;
};

absl::StatusOr<Attacked> AttackTables(const AttackFlags& flags,
                                      AttackOptions options) {
  DPNMF_ASSIGN_OR_RETURN(const Table original,
                         ReadAttackTable(flags.original, flags, flags.fields));
  DPNMF_ASSIGN_OR_RETURN(Table published, ReadPublishedTable(flags));
  DPNMF_RETURN_IF_ERROR(Align(original, &published));
  Table outsiders;
  if (!flags.outsiders.empty()) {
    DPNMF_ASSIGN_OR_RETURN(
        outsiders, ReadAttackTable(flags.outsiders, flags, flags.fields));
    options.outsiders = &outsiders;
  }
  DPNMF_ASSIGN_OR_RETURN(AttackReport report,
                         Attack(original, published, options));
  Attacked attacked = {.report = std::move(report),
                       .people = original.people(),
                       .columns = original.values.cols(),
                       .vd = std::nullopt};
  const double length = original.values.norm();
  if (length > 0)
    attacked.vd = (original.values - published.values).norm() / length;
  return attacked;
}

// --- ratings

// Ratings of the people named, in that order; if none are named, of all, who
// are then named.
absl::StatusOr<RatingTable> ReadAttackRatings(
    const std::string& path, const AttackFlags& flags,
    std::vector<std::string>* people) {
  DPNMF_ASSIGN_OR_RETURN(
      const ItemTable items,
      LoadItemTable(flags.items, "", {.header = ItemHeaderOf(path)}));
  RatingsOptions options;
  options.has_unlisted_flag = false;
  options.keep_times = flags.attacker.days.has_value();
  DPNMF_ASSIGN_OR_RETURN(options.scale, ParseRatingRange(flags.rating_range));
  options.interrupted = Interrupted;
  DPNMF_ASSIGN_OR_RETURN(const LoadedRatings loaded,
                         LoadRatings(path, items, options));
  if (people->empty()) *people = loaded.users;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < loaded.users.size(); ++i)
    places[loaded.users[i]] = i;
  RatingTable table;
  table.scale = options.scale;
  table.item_count = loaded.items;
  for (const std::string& person : *people) {
    if (const auto found = places.find(person); found != places.end()) {
      const auto from = loaded.indptr[found->second];
      const auto to = loaded.indptr[found->second + 1];
      table.items.insert(table.items.end(), loaded.indices.begin() + from,
                         loaded.indices.begin() + to);
      table.units.insert(table.units.end(), loaded.units.begin() + from,
                         loaded.units.begin() + to);
      if (!loaded.times.empty())
        table.times.insert(table.times.end(), loaded.times.begin() + from,
                           loaded.times.begin() + to);
    }
    table.EndPerson();
  }
  return table;
}

absl::StatusOr<Attacked> AttackRatingFiles(const AttackFlags& flags,
                                           const AttackOptions& options) {
  std::vector<std::string> people;
  DPNMF_ASSIGN_OR_RETURN(const RatingTable original,
                         ReadAttackRatings(flags.original, flags, &people));
  RatingsAttacker attacker = flags.attacker;
  RatingTable outsiders;
  if (!flags.outsiders.empty()) {
    std::vector<std::string> others;
    DPNMF_ASSIGN_OR_RETURN(outsiders,
                           ReadAttackRatings(flags.outsiders, flags, &others));
    attacker.outsiders = &outsiders;
  }
  Attacked attacked = {
      .report = {},
      .people = static_cast<std::int64_t>(original.people()),
      .columns = static_cast<std::int64_t>(original.item_count),
      .vd = std::nullopt};
  // A completed table has its people's ids in a column; ratings have none.
  if (!flags.published_fields.id_column.empty()) {
    DPNMF_ASSIGN_OR_RETURN(
        Table completed,
        ReadAttackTable(flags.published, flags, flags.published_fields));
    Table order;
    order.ids = people;
    order.values.resize(static_cast<Eigen::Index>(people.size()), 0);
    DPNMF_RETURN_IF_ERROR(Align(order, &completed));
    DPNMF_ASSIGN_OR_RETURN(
        attacked.report,
        AttackRatings(original, completed.values, options, attacker));
  } else {
    DPNMF_ASSIGN_OR_RETURN(const RatingTable published,
                           ReadAttackRatings(flags.published, flags, &people));
    DPNMF_ASSIGN_OR_RETURN(
        attacked.report, AttackRatings(original, published, options, attacker));
  }
  return attacked;
}

// --- files

std::string AttackCsv(const AttackReport& report) {
  TrialTable table("attack,known,error,value,low,high,of,chance");
  const auto line = [&table](std::string_view attack, int known, double error,
                             const Share& share, double chance) {
    table.Add({attack, known, error, share.value, share.low, share.high,
               share.of, chance});
  };
  for (const Linkage& one : report.linkage)
    line(absl::StrCat("linkage: ", one.knows), one.known, one.error, one.linked,
         one.chance.value);
  if (report.membership_auc.has_value())
    line("membership: AUC", 0, 0, *report.membership_auc, 0.5);
  if (report.membership_at_1_percent.has_value())
    line("membership: found at 1 % false alarms", 0, 0,
         *report.membership_at_1_percent, 0.01);
  return table.Csv();
}

PublicationReport PublicationOf(const AttackFlags& flags, Attacked attacked) {
  PublicationReport report;
  report.command = "attack";
  report.data = std::filesystem::path(flags.original).filename().string();
  report.people = attacked.people;
  report.columns = attacked.columns;
  report.options = {
      {"original", flags.original},
      {"published", flags.published},
      {"users", flags.users},
      {"outsiders", flags.outsiders},
      {"known_pairs", flags.options.known_pairs},
      {"known_days", flags.attacker.days.has_value()
                         ? nlohmann::ordered_json(*flags.attacker.days)
                         : nlohmann::ordered_json(nullptr)},
      {"people", flags.people},
      {"public", flags.is_public},
      {"seed", flags.seed.has_value() ? nlohmann::ordered_json(*flags.seed)
                                      : nlohmann::ordered_json(nullptr)}};
  report.rows.push_back(
      {.method = std::filesystem::path(flags.published).filename().string(),
       .kind = "foreign",
       .vd = attacked.vd,
       .attacks = std::move(attacked.report)});
  return report;
}

absl::StatusOr<ExitCode> RunAttack(AttackFlags flags) {
  DPNMF_RETURN_IF_ERROR(CheckAttackFlags(flags));
  PublicationReport others;
  for (const std::string& directory : flags.beside)
    DPNMF_RETURN_IF_ERROR(AddTablesOf(directory, &others));
  absl::PrintF("%s\n", std::string(kPublicationWarning));
  std::fflush(stdout);
  InterruptGently();
  AttackProgress progress;
  AttackOptions options = flags.options;
  options.seed = flags.seed;
  options.people = flags.people;
  options.stop = Interrupted;
  options.progress = [&progress](std::string_view attack, double share) {
    progress(attack, share);
  };
  flags.reading = [&progress](std::uint64_t done, std::uint64_t total) {
    progress("reading",
             static_cast<double>(done) /
                 static_cast<double>(std::max<std::uint64_t>(total, 1)));
  };
  absl::StatusOr<Attacked> attacked = flags.items.empty()
                                          ? AttackTables(flags, options)
                                          : AttackRatingFiles(flags, options);
  progress.Clear();
  DPNMF_RETURN_IF_ERROR(attacked.status());
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(flags.output));
  const std::string csv = AttackCsv(attacked->report);
  const std::vector<std::string> words = InWords(attacked->report);
  const nlohmann::ordered_json people = attacked->report.others["people"];
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(flags.output + "/attack.csv", csv));
  PublicationReport report = PublicationOf(flags, *std::move(attacked));
  report.beside = std::move(others.beside);
  DPNMF_RETURN_IF_ERROR(WriteReport(flags.output, report));
  const auto attacked_count = people["attacked"].get<std::int64_t>();
  absl::PrintF("\nattacked %d of %d people (%s)\n", attacked_count,
               people["people"].get<std::int64_t>(),
               people["attacked_are"].get<std::string>());
  if (attacked_count < people["drawn_from"].get<std::int64_t>())
    absl::PrintF(
        "They were drawn at random from %d, and each was looked for among all "
        "rows: shares\nare estimates, with intervals of 95 %%.\n",
        people["drawn_from"].get<std::int64_t>());
  for (const std::string& sentence : words) absl::PrintF("  %s\n", sentence);
  absl::PrintF("\nwrote attack.csv, results.json and report.html to %s\n",
               flags.output);
  return kExitOk;
}

}  // namespace

Command AttackCommand() {
  const auto flags = std::make_shared<AttackFlags>();
  AttackOptions& options = flags->options;
  options.threads = DefaultThreads();
  return {
      .name = "attack",
      .summary = "Attack a table that may be published, on this machine",
      .footer =
          "Measures what an attacker who knows a little finds in the published "
          "table: people,\nmembers, unknown values, cells of the original. Row "
          "i of both tables is the same\nperson, unless both have ids. All "
          "output is as private as the original.\nExample:\n  dpnmf-lab attack "
          "--original people.csv --published distorted.csv \\\n    "
          "--class-column 10 --output judged",
      .flags =
          {Flag("--original", &flags->original,
                "Table from which the published one was made; can be .gz",
                {.value = "FILE", .required = true}),
           Flag("--published", &flags->published,
                "Table that is or may be published",
                {.value = "FILE", .required = true}),
           Flag("--users", &flags->users, "Which lines of the files are people",
                {.one_of = "rows|columns", .shown = true}),
           Flag(
               "--header", &flags->header,
               "Whether the first line of the tables contains names [detected]",
               {.one_of = "yes|no"}),
           Flag("--class-column", &flags->fields.class_column,
                "Field with the class: its number, from 1, or its name in the "
                "header; it is not attacked",
                {.value = "C"}),
           Flag("--id-column", &flags->fields.id_column,
                "Field with the person's id: its number or its name in the "
                "header",
                {.value = "C"}),
           Flag("--published-class-column",
                &flags->published_fields.class_column,
                "The same of the published table; 0: it has none "
                "[--class-column]",
                {.value = "C"}),
           Flag("--published-id-column", &flags->published_fields.id_column,
                "The same of the published table; 0: it has none "
                "[--id-column]. With ratings: the id field of a completed "
                "table that is published",
                {.value = "C"}),
           Flag("--outsiders", &flags->outsiders,
                "Table (or ratings) of people who are not in the published "
                "table: for membership",
                {.value = "FILE"}),
           Flag("--items", &flags->items,
                "Attack ratings: file with the items' ids, one on each line",
                {.value = "FILE"}),
           Flag("--rating-range", &flags->rating_range,
                "Least and largest rating, such as 1,5"),
           Flag("--known-days", &flags->attacker.days,
                "For ratings with times (a fourth field, in seconds): the "
                "attacker also knows their dates, up to this number of days"),
           Flag("--known-pairs", &options.known_pairs,
                "People whose published rows the attacker knows",
                {.shown = true}),
           Flag("--people", &flags->people,
                "Most people that are attacked, drawn at random",
                {.shown = true}),
           Flag("--beside", &flags->beside,
                "Output directories of distort, complete, synthesise or attack "
                "whose tables are shown on the same page, separated by commas",
                {.value = "DIR"}),
           Flag("--public", &flags->is_public,
                "Declare the tables public or generated"),
           Flag("--seed", &flags->seed,
                "Seed of the random numbers; needs --public"),
           Flag("--threads", &options.threads, "Number of threads",
                {.shown = true}),
           Flag("--output", &flags->output,
                "Directory for attack.csv, results.json and report.html",
                {.value = "DIR", .required = true})},
      .run = [flags] { return RunAttack(*flags); }};
}

}  // namespace dpnmf::curator::lab
