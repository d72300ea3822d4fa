#include "curator/commands/import/import_flags.h"

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/files/fields.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/import/part.h"
#include "curator/import/readers/ratings.h"

namespace dpnmf::curator {
namespace {

constexpr std::pair<std::string_view, char> kDelimiters[] = {
    {"comma", ','},
    {"tab", '\t'},
    {"semicolon", ';'},
    {"bar", '|'},
    {"blank", kBlanks}};

// Flags that commands which make data sets need, in the order of MissingFlag.
constexpr std::string_view kNeeded[] = {"--name", "--data-dir", "--population",
                                        "--epsilon", "--delta"};

absl::StatusOr<EntryRange> ParseEntryRange(const std::string& text,
                                           bool integers) {
  EntryRange range{.integers = integers};
  const std::vector<std::string> ends = absl::StrSplit(text, ',');
  if (ends.size() == 2 && absl::SimpleAtod(ends[0], &range.low) &&
      absl::SimpleAtod(ends[1], &range.high))
    return range;
  return Refusal(absl::StatusCode::kInvalidArgument, "range-out-of-range",
                 "`--range` must be LOW,HIGH, two numbers; --integers needs it "
                 "too.");
}

// The directory of the data sets or, before there is one, the nearest above it,
// on whose disk it will be: a refused import makes no directory.
std::string SpoolOf(const std::string& data_dir) {
  std::error_code none;
  auto directory = std::filesystem::absolute(data_dir, none) / "datasets";
  while (!std::filesystem::exists(directory, none) &&
         directory.has_relative_path())
    directory = directory.parent_path();
  return directory;
}

}  // namespace

absl::StatusOr<ImportOptions> ImportOptionsOf(const ImportFlags& flags) {
  ImportOptions options = flags.import;
  options.epsilon = flags.epsilon.value_or(options.epsilon);
  options.delta = flags.delta.value_or(options.delta);
  if (!flags.users.empty()) options.users_are_rows = flags.users == "rows";
  if (flags.header != "auto") options.header = flags.header == "yes";
  for (const auto& [name, character] : kDelimiters)
    if (flags.delimiter == name) options.delimiter = character;
  if (!flags.decimal.empty())
    options.decimal = flags.decimal == "comma" ? ',' : '.';
  options.sum_rows = flags.person_rows == "sum";
  options.format = MatrixFormatOfName(flags.format_in).value();
  options.conversion = ConversionOfName(flags.conversion).value();
  options.adjacency = AdjacencyOfName(flags.adjacency).value();
  if (!flags.normalise.empty()) {
    options.normalisation =
        flags.normalise == "l2" ? Normalisation::kL2 : Normalisation::kNone;
  }
  options.drop_unlisted = flags.unlisted == "drop";
  if (!flags.shard_of.empty()) {
    DPNMF_ASSIGN_OR_RETURN(options.shard_of, ParsePartRange(flags.shard_of));
  }
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
  if (!options.data_dir.empty())
    options.standard_input.spool_dir = SpoolOf(options.data_dir);
  return options;
}

PopulationPolicy PolicyOf(const ImportOptions& options) {
  return {.population = options.population,
          .adjacency = options.adjacency,
          .conversion = options.conversion,
          .epsilon = options.epsilon,
          .delta = options.delta,
          .partitions = options.partitions};
}

std::vector<Flag> AllImportFlags(ImportFlags* flags) {
  static const std::string formats = FormatNames();
  ImportOptions& options = flags->import;
  return {
      Flag("--name", &options.name, "Name of the data set: a-z 0-9 . _ -"),
      Flag("--data-dir", &options.data_dir,
           "Directory of data sets, ledger and releases; made if missing",
           {.value = "DIR", .env = true}),
      AnchorDirFlag(&flags->anchor_dir),
      NoAnchorFlag(&flags->no_anchor),
      Flag("--online", &flags->online,
           "Import while the server of --data-dir runs; the server then serves "
           "the data set, and writes the ledger and its anchor"),
      Flag("--format", &flags->format, "Output format: text or json",
           {.one_of = "text|json", .shown = true}),
      // The file.
      Flag("--input", &options.input,
           "File of a matrix or of counts, in which a missing entry is 0; can "
           "be .gz; -: standard input",
           {.value = "FILE"}),
      Flag("--ratings", &options.ratings,
           "Instead of --input: lines of user, item, rating, in which a "
           "missing rating is not 0; can be .gz; -: standard input",
           {.value = "FILE"}),
      Flag("--expect-rows", &options.standard_input.expect_rows,
           "For standard input: its rows of data, without a header; any other "
           "number is refused"),
      Flag("--closing-line", &options.standard_input.closing_line,
           "For standard input: its last line, which is no data; without it "
           "the input is refused",
           {.value = "TEXT"}),
      Flag("--accept-unverified-end",
           &options.standard_input.accept_unverified_end,
           "For standard input: import what came, although its writer may have "
           "failed; the data set records this"),
      Flag("--max-bytes", &options.standard_input.max_bytes,
           "For standard input: the most bytes, which are kept in --data-dir "
           "until they are read [half of its free disk space]"),
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
      Flag("--id-column", &options.id_column,
           "The label column, counted from 1, that identifies the person: "
           "people are recognised by it when a table is published"),
      Flag("--class-column", &options.class_column,
           "Field of each line, from 1, that contains the person's label; it "
           "is not an entry"),
      Flag(
          "--classes", &flags->classes,
          "For --class-column: the declared labels; any other label is refused",
          {.value = "A,B"}),
      Flag("--labels-public", &options.labels_public,
           "Declare the labels public: class sizes are then published exactly, "
           "and no release protects a label"),
      Flag("--range", &flags->range,
           "For --normalise none: the declared range of all entries; "
           "class_moments centres entries in it",
           {.value = "LOW,HIGH"}),
      Flag("--integers", &flags->integers,
           "For --range: declare that entries are whole numbers"),
      Flag("--columns", &options.columns,
           "Columns of a text file that hold entries: numbers from 1, ranges "
           "and names of the header, such as 2-65,total; or all [all but "
           "labels]",
           {.value = "LIST"}),
      Flag("--delimiter", &flags->delimiter,
           "Separator of the fields of a text file [by its format and first "
           "lines]",
           {.one_of = "comma|tab|semicolon|bar|blank"}),
      Flag("--decimal", &flags->decimal,
           "Decimal mark of a text file [a point; a comma where it can be "
           "nothing else]",
           {.one_of = "comma|point"}),
      Flag("--person-rows", &flags->person_rows,
           "Rows of a person in a text file: one, or several, which are added "
           "up by the id",
           {.one_of = "one|sum", .shown = true}),
      Flag("--array", &options.array,
           "Name of the array of an .npz file that has several",
           {.value = "NAME"}),
      Flag("--shards", &options.shards,
           "Number of ranges of people into which the arrays are divided, for "
           "`serve --ranks` [one]"),
      Flag("--shard-of", &flags->shard_of,
           "Import a part: the file has only these people of all N; for "
           "join-parts and `serve --ranks --hosts`",
           {.value = "FIRST-LAST/N"}),
      Flag("--dry-run", &flags->dry_run,
           "Only read and check the file and show its first people as they "
           "would be imported; they are private. --name, --data-dir, "
           "--population, --epsilon and --delta are then not required"),
      Flag("--features", &options.features_file,
           "File with the names of the features, one on each line, which "
           "analysts will see; for triples: the items",
           {.value = "FILE"}),
      Flag("--features-from-header", &options.names_from_header,
           "Declare the names in the file's header public: they are the names "
           "of the features, which analysts will see"),
      Flag("--feature-weights", &options.feature_weights_file,
           "Public weights of the features, such as idf of a reference corpus: "
           "one number a line, or name and weight; entries are multiplied by "
           "them before normalisation",
           {.value = "FILE"}),
      Flag("--users-count", &options.users_count,
           "Number of users: N0 under add_remove_one; N for ratings and "
           "triples; otherwise checked against the file"),
      // Flags for the promise.
      Flag("--disjoint-people-by", &options.partitions.by,
           "Name of the column of ids in the file's header. The population's "
           "people are partitioned, and no person is in two partitions: each "
           "partition has the whole cap",
           {.value = "COLUMN"}),
      Flag("--partitions", &options.partitions.names,
           "For --disjoint-people-by: all partitions that the population will "
           "ever have, at its first import",
           {.value = "A,B", .needs = "--disjoint-people-by"}),
      Flag("--partition", &options.partition,
           "For --disjoint-people-by: the partition of all people in the file, "
           "for ever; runs are charged only to it [to all partitions]",
           {.value = "NAME"}),
      Flag("--population", &options.population,
           "Population whose budget the data set uses; data sets that share "
           "people must share a population"),
      Flag("--epsilon", &flags->epsilon,
           "Cap on epsilon of everything that is ever released about the "
           "population: (0, 1000]"),
      Flag("--delta", &flags->delta,
           "Delta of the cap: above 0, far below 1 over the number of people"),
      Flag("--weak-delta", &flags->weak_delta,
           "Accept a delta that is not below 1 over the number of people"),
      Flag("--void-guarantee", &flags->void_guarantee,
           "Import people of a table that was published without privacy: the "
           "population's guarantee is void, for ever"),
      Flag("--accept-equal-rows", &options.accept_equal_rows,
           "For --partition: declare that equal rows in another partition "
           "belong to other people",
           {.needs = "--partition"}),
      Flag("--accept-overlap", &flags->accept_overlap,
           "Declare that people whose rows (not ids) coincide with those of a "
           "published table are other people; recorded in the ledger"),
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

std::string MissingFlag(const ImportFlags& flags) {
  const ImportOptions& options = flags.import;
  const bool given[] = {!options.name.empty(), !options.data_dir.empty(),
                        !options.population.empty(), flags.epsilon.has_value(),
                        flags.delta.has_value()};
  static_assert(std::size(given) == std::size(kNeeded));
  for (std::size_t i = 0; i < std::size(given) && !flags.dry_run; ++i)
    if (!given[i]) return std::string(kNeeded[i]);
  return "";
}

std::vector<Flag> ImportFlagsNamed(
    std::initializer_list<std::string_view> names, ImportFlags* flags) {
  const std::vector<Flag> all = AllImportFlags(flags);
  std::vector<Flag> named;
  for (const std::string_view name : names) {
    for (const Flag& flag : all)
      if (flag.name == name) named.push_back(flag);
    for (const std::string_view needed : kNeeded)
      if (needed == name) named.back().rules.required = true;
  }
  return named;
}

}  // namespace dpnmf::curator
