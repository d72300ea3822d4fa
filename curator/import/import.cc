#include "curator/import/import.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/input_file.h"
#include "common/files/read_file.h"
#include "common/tables/assemble.h"
#include "common/tables/formats.h"
#include "curator/data/description.h"
#include "curator/data/removed.h"
#include "curator/data/shards.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import_source.h"
#include "curator/import/import_steps.h"
#include "curator/import/partitions.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/standard_input.h"

namespace dpnmf::curator {
namespace {

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status CheckUserCount(const DatasetDescription& description,
                            std::uint64_t users) {
  const std::uint64_t largest = LargestUserCount(FactsOf(description));
  if (users <= largest) return absl::OkStatus();
  return Refused(
      "users-too-many",
      absl::StrCat("The file has ", users, " users and a declared count of ",
                   description.users, " leaves room for ", largest,
                   "; raise --users-count."));
}

absl::Status DataKnown(const std::string& name, const std::string& population) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "data-known",
                 absl::StrCat("The same data were imported as data set ", name,
                              " of population ", population,
                              "; people have one budget: give --population ",
                              population, "."));
}

// A second partition would be a second budget.
absl::Status DataKnownInPartition(const DatasetDescription& other) {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "data-known",
      absl::StrCat("The same data, under other ids, were imported as data set ",
                   other.name, " of partition ", other.partition,
                   "; people have one budget: give --partition ",
                   other.partition,
                   ", or leave out --partition, so that runs are charged to "
                   "every partition."));
}

// Something was released, as far as is known, of the people of a removed data
// set: their population was used.
bool MayBeReleased(const LedgerFacts& facts, const std::string& population) {
  if (!facts.used_populations.has_value()) return true;
  const std::vector<std::string>& used = *facts.used_populations;
  return std::find(used.begin(), used.end(), population) != used.end();
}

absl::Status CheckPopulationOf(const ImportOptions& options,
                               const LedgerFacts& facts,
                               const std::vector<KnownDataset>& known,
                               const Digest& fingerprint) {
  for (const KnownDataset& one : known) {
    const DatasetDescription& other = one.stored.description;
    if (one.stored.fingerprint != fingerprint) continue;
    if (other.population == options.population) {
      if (!other.partition.empty() && !options.partition.empty() &&
          other.partition != options.partition)
        return DataKnownInPartition(other);
      continue;
    }
    if (one.removed && !MayBeReleased(facts, other.population)) continue;
    return DataKnown(other.name, other.population);
  }
  return absl::OkStatus();
}

bool LabelsArePublic(const ClassFacts& classes) {
  return !classes.sizes.empty();
}

// The exact sizes of public labels would undo what is promised of the private
// labels of the same people.
absl::Status CheckLabelsOf(const ImportOptions& options,
                           const LedgerFacts& facts,
                           const std::vector<KnownDataset>& known) {
  if (!options.class_column.has_value()) return absl::OkStatus();
  for (const KnownDataset& one : known) {
    const DatasetDescription& other = one.stored.description;
    if (other.population != options.population || !other.classes.has_value() ||
        LabelsArePublic(*other.classes) == options.labels_public)
      continue;
    // A mistaken declaration can be taken back if nothing was released. Sizes
    // that were public may have been read.
    if (one.removed && !LabelsArePublic(*other.classes) &&
        !MayBeReleased(facts, other.population))
      continue;
    return Refused(
        "labels-public-mismatch",
        absl::StrCat("Data set ", other.name, " of population ",
                     other.population, " has ",
                     options.labels_public ? "private" : "public",
                     " labels, and the labels of a population are either all "
                     "public or all private: ",
                     options.labels_public ? "leave out" : "give",
                     " --labels-public, or choose another --population."));
  }
  return absl::OkStatus();
}

absl::Status ImportRunning() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "import-running",
                 "Another import into this data directory is running; try "
                 "again when it has ended.");
}

// Refuses flags that go with --input and not with --ratings.
absl::Status CheckNotMixed(const ImportOptions& options) {
  const std::pair<bool, const char*> given[] = {
      {!options.input.empty(), "--input"},
      {options.users_are_rows.has_value(), "--users"},
      {options.format != nullptr && !ReadsStandardInput(options),
       "--format-in"},
      {options.header.has_value(), "--header"},
      {options.label_columns.has_value(), "--label-columns"},
      {options.id_column.has_value(), "--id-column"},
      {!options.columns.empty(), "--columns"},
      {options.delimiter.has_value(), "--delimiter"},
      {options.decimal.has_value(), "--decimal"},
      {options.sum_rows, "--person-rows sum"},
      {!options.array.empty(), "--array"},
      {!options.features_file.empty(), "--features"},
      {options.names_from_header, "--features-from-header"},
      {!options.feature_weights_file.empty(), "--feature-weights"},
      {options.class_column.has_value(), "--class-column"},
      {!options.classes.empty(), "--classes"},
      {options.range.has_value(), "--range"},
      {options.normalisation.has_value(), "--normalise"},
      {options.column_bound.has_value(), "--column-bound"}};
  for (const auto& [is_given, flag] : given) {
    if (!is_given) continue;
    return Refused(
        "ratings-mixed",
        absl::StrCat("The flags --ratings and ", flag,
                     " exclude each other: ratings are stored as they are, "
                     "with their own list of items; leave out one of them."));
  }
  return absl::OkStatus();
}

absl::Status CheckRatingsOptions(const ImportOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckNotMixed(options));
  if (options.items_file.empty()) {
    return Refused("items-missing",
                   "The flag --ratings needs --items FILE with one id on each "
                   "line: the items must be declared, because a list that is "
                   "taken from the data would reveal something about people.");
  }
  if (!options.rating_range.has_value()) {
    return Refused("rating-range-missing",
                   "The flag --ratings needs --rating-range LOW,HIGH: a range "
                   "that you declare without looking at the data.");
  }
  if (!options.users_count.has_value()) {
    return Refused("users-count-missing",
                   "The flag --ratings needs --users-count N: the number of "
                   "people must be declared, because people without a rating "
                   "do not appear in the file.");
  }
  return absl::OkStatus();
}

absl::Status CheckClassOptions(const ImportOptions& options) {
  if (options.class_column.has_value() == !options.classes.empty() &&
      (options.class_column.has_value() || !options.labels_public)) {
    const bool rows = options.users_are_rows.value_or(true);
    const bool has_fields =
        options.format == nullptr || options.format->has_fields;
    if (!options.class_column.has_value() || (rows && has_fields))
      return absl::OkStatus();
    return Refused(
        "class-column-mixed",
        "The flag --class-column is only for CSV, TSV and text with --users "
        "rows: write the file in such a format, or leave out the flag.");
  }
  return Refused("classes-missing",
                 "Classes need both --class-column C, the field with the "
                 "label, and --classes A,B,..., the declared labels; "
                 "--labels-public needs both.");
}

absl::Status CheckMatrixOptions(const ImportOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckClassOptions(options));
  if (options.names_from_header && !options.features_file.empty()) {
    return Refused("flag-unused",
                   "The flags --features and --features-from-header exclude "
                   "each other: leave out one of them.");
  }
  if (options.input.empty()) {
    return Refused("input-missing",
                   "There is no file to read: give --input FILE, or --ratings "
                   "FILE for ratings.");
  }
  if (!options.items_file.empty() || !options.item_features_file.empty() ||
      options.rating_range.has_value() || options.drop_unlisted) {
    return Refused("ratings-mixed",
                   "The flags --items, --item-features, --rating-range and "
                   "--unlisted are only for --ratings: give --ratings FILE "
                   "instead of --input, or leave them out.");
  }
  if (options.normalisation == Normalisation::kNone &&
      !options.column_bound.has_value()) {
    return Refused(
        "column-bound-missing",
        "`--normalise none` needs --column-bound C: a length that you declare "
        "without looking at the data; longer columns are scaled down to it.");
  }
  return absl::OkStatus();
}

// A person has one budget. Whether short rows coincide by chance is for the
// operator to say. Nothing is ever released about removed data sets again, but
// what was released counts.
absl::Status NoteSharedPeople(const ImportOptions& options,
                              const std::vector<KnownDataset>& known,
                              const PeopleFingerprints& people) {
  for (const KnownDataset& one : known) {
    const std::string& name = one.stored.description.name;
    const std::string& population = one.stored.description.population;
    if (population == options.population) continue;
    const auto others = ReadPeople(one.directory);
    if (!others.ok()) continue;
    DPNMF_RETURN_IF_ERROR(CheckSameKey(
        people, *others, absl::StrCat("the people of data set ", name)));
    const SharedPeople shared = SharedBy(people, *others);
    if (!shared.any() || !options.note) continue;
    options.note(absl::StrCat(
        "Data set ", name, " of population ", population, " has ", shared.ids,
        " of these ids and ", shared.rows,
        " of these rows; if they are the same people, they have one budget: "
        "import under that population"));
  }
  return absl::OkStatus();
}

absl::Status CheckShardOf(const ImportOptions& options) {
  if (!options.shard_of.has_value()) return absl::OkStatus();
  const PartRange& range = *options.shard_of;
  if (!options.ratings.empty() || options.class_column.has_value() ||
      !options.feature_weights_file.empty() || options.partitions.any() ||
      !options.partition.empty() || options.shards.has_value() ||
      options.join_parts || range.columns == 0 ||
      range.columns > kLargestExtent || range.whole > kLargestUsersCount ||
      range.columns > range.whole ||
      range.first > range.whole - range.columns) {
    return Refused("shard-of-malformed",
                   "`--shard-of` must be FIRST-LAST/N with at most 100000000 "
                   "people in one part, is neither for ratings nor for data "
                   "with classes, weights of features or partitions of "
                   "people, and excludes --shards.");
  }
  if (options.adjacency != Adjacency::kAddRemoveOne &&
      options.users_count.value_or(range.whole) != range.whole) {
    return Refused("users-mismatch",
                   "--users-count is the number of all people, as N in "
                   "--shard-of FIRST-LAST/N: give the same number or leave it "
                   "out.");
  }
  return absl::OkStatus();
}

}  // namespace

DatasetDescription DeclarationOf(const ImportOptions& options) {
  DatasetDescription description;
  description.name = options.name;
  description.population = options.population;
  description.users = options.users_count.value_or(0);
  const bool ratings = !options.ratings.empty();
  description.normalisation = options.normalisation.value_or(
      ratings ? Normalisation::kNone : Normalisation::kL2);
  description.column_bound = options.column_bound.value_or(1);
  if (ratings) description.ratings = options.rating_range;
  description.adjacency = options.adjacency;
  description.conversion = options.conversion;
  description.epsilon = options.epsilon;
  description.delta = options.delta;
  description.is_public = options.is_public;
  if (options.class_column.has_value())
    description.classes = ClassFacts{.names = options.classes};
  description.range = options.range;
  description.weighted_features = !options.feature_weights_file.empty();
  description.partitions = options.partitions;
  description.partition = options.partition;
  description.unverified_end = options.standard_input.accept_unverified_end;
  return description;
}

void TakeDeclaration(const DatasetDescription& declared,
                     ImportOptions* options) {
  options->population = declared.population;
  options->users_count = declared.users;
  options->adjacency = declared.adjacency;
  options->conversion = declared.conversion;
  options->epsilon = declared.epsilon;
  options->delta = declared.delta;
  options->is_public = declared.is_public;
}

absl::Status CheckNameIsFree(const ImportOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(
      DatasetDirectory(options.data_dir, options.name), error);
  if (!std::filesystem::exists(status)) {
    DPNMF_ASSIGN_OR_RETURN(const auto removed, RemovedNames(options.data_dir));
    if (!std::binary_search(removed.begin(), removed.end(), options.name))
      return absl::OkStatus();
    return Refusal(absl::StatusCode::kAlreadyExists, "dataset-exists",
                   absl::StrCat("A data set named ", options.name,
                                " was removed, and names are never used "
                                "again; choose another --name."));
  }
  return Refusal(
      absl::StatusCode::kAlreadyExists, "dataset-exists",
      absl::StrCat(
          "A data set named ", options.name,
          " already exists; choose another --name (data sets never change)."));
}

absl::Status CheckNotInterrupted(const ImportOptions& options) {
  if (!options.interrupted || !options.interrupted()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The import was interrupted; nothing was imported.");
}

void RemoveDrafts(const std::string& data_dir) {
  std::error_code error;
  std::vector<std::string> places = EntriesOf(data_dir + "/parts", &error);
  places.push_back(data_dir + "/datasets");
  for (const std::string& place : places) {
    for (const std::string& entry : EntriesOf(place, &error)) {
      const std::string name = std::filesystem::path(entry).filename();
      if (name.starts_with(kDraftPrefix))
        RemoveTreeDurably(entry).IgnoreError();
    }
  }
}

absl::Status PeoplePublished(std::uint64_t ids, std::uint64_t rows) {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "people-published",
      absl::StrCat("A table with ", ids, " of these ids and ", rows,
                   " of these rows was published without privacy, so no "
                   "guarantee for these people can hold: give --void-guarantee "
                   "to import them under a void guarantee",
                   ids > 0
                       ? "."
                       : ", or, if they are other people whose rows coincide, "
                         "--accept-overlap."));
}

namespace {

// --users was not given. In a file of ratings no line is a person: such a file
// is refused for what it is. Whatever else is wrong with it is said later.
absl::Status UsersMissing(const ImportOptions& options) {
  std::error_code ignored;  // a pipe could not be read again
  if (options.format == nullptr &&
      std::filesystem::is_regular_file(options.input, ignored)) {
    const auto input = InputFile::Open(options.input);
    const absl::Status format =
        input.ok() ? DetectFormat(input->get()).status() : input.status();
    if (ReasonCode(format) == "input-ratings") return format;
  }
  return Refused(
      "users-orientation-missing",
      "The flag --users is missing: give --users rows if each row is "
      "a person, or --users columns if each column is one.");
}

}  // namespace

absl::Status CheckImportOptions(const ImportOptions& options) {
  const bool ratings = !options.ratings.empty();
  DPNMF_RETURN_IF_ERROR(CheckStandardInput(options));
  DPNMF_RETURN_IF_ERROR(ratings ? CheckRatingsOptions(options)
                                : CheckMatrixOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckPartitionOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckDeclaration(DeclarationOf(options)));
  const bool declared =
      options.format != nullptr && options.format->declares_people;
  if (!declared && !ratings && !options.users_are_rows.has_value())
    return UsersMissing(options);
  if (declared && !ratings && options.features_file.empty()) {
    return Refused(
        "features-missing",
        absl::StrCat("The format ", std::string(options.format->name),
                     " needs --features FILE: the items must be declared, "
                     "because a list that is taken from the data would reveal "
                     "something about people."));
  }
  const bool add_remove = options.adjacency == Adjacency::kAddRemoveOne;
  if ((add_remove || declared) && !options.users_count.has_value()) {
    return Refused(
        "users-count-missing",
        add_remove
            ? std::string("`add_remove_one` needs --users-count N0: a public "
                          "number that stands for the private number of users.")
            : absl::StrCat("The format ", std::string(options.format->name),
                           " needs --users-count N: the number of users must "
                           "be declared, because users without a triple do not "
                           "appear in the file."));
  }
  if (options.users_count.has_value() &&
      !(*options.users_count >= 1 &&
        *options.users_count <= kLargestUsersCount)) {
    return Refused("users-count-out-of-range",
                   "`--users-count` must be 1 to 2^40.");
  }
  // So many columns are made.
  if ((ratings || declared) && !add_remove && !options.shard_of.has_value() &&
      *options.users_count > kLargestExtent) {
    return Refused("users-count-out-of-range",
                   "`--users-count` must be at most 100000000, unless under "
                   "add_remove_one.");
  }
  if (options.id_column.has_value() &&
      !(*options.id_column >= 1 && options.users_are_rows.value_or(true) &&
        *options.id_column <=
            options.label_columns.value_or(std::numeric_limits<int>::max()))) {
    return Refused("id-column-out-of-range",
                   "`--id-column` must be one of the label columns of a file "
                   "with people in rows: from 1 to --label-columns.");
  }
  if (options.id_column.has_value() &&
      options.id_column == options.class_column) {
    return Refused(
        "id-column-out-of-range",
        "`--id-column` and `--class-column` must be different fields.");
  }
  if (options.label_columns.has_value() && *options.label_columns < 0) {
    return Refused("label-columns-out-of-range",
                   "`--label-columns` must be 0 or more.");
  }
  if (options.shards.has_value() &&
      !(*options.shards >= 1 && *options.shards <= kMostShards && !ratings &&
        !options.class_column.has_value())) {
    return Refused(
        "shards-out-of-range",
        "`--shards` must be 1 to 4096, and is neither for ratings nor "
        "for data with classes.");
  }
  return CheckShardOf(options);
}

absl::StatusOr<FileLock> TakeImportLock(const std::string& data_dir) {
  const std::string directory = absl::StrCat(data_dir, "/datasets");
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  return FileLock::Take(absl::StrCat(directory, "/", kImportLock),
                        ImportRunning());
}

// A member is set by the step that makes it.
struct DatasetImport::State {
  enum class Step { kRecognise, kDraft, kPublish, kNone };

  // Refuses a step that is not the next one. The step that follows is set at
  // its end.
  absl::Status Begin(Step step) {
    if (std::exchange(next, Step::kNone) == step) return absl::OkStatus();
    return absl::InternalError("a step of an import out of its order");
  }
  absl::Status Progress(std::string_view stage) const {
    if (progress) progress(stage, 0, 1);
    return CheckNotInterrupted(options);
  }

  const ImportOptions options;
  const ImportProgress progress;
  Step next = Step::kRecognise;
  // Load.
  std::unique_ptr<ImportSource> source = nullptr;
  StoredDescription stored = {};
  // Recognise.
  std::optional<FileLock> lock = std::nullopt;
  std::optional<FingerprintKey> key = std::nullopt;
  PeopleFingerprints people = {};
  std::vector<SharedTable> tables = {};
  // Draft.
  std::optional<TemporaryDirectory> draft = std::nullopt;
};

DatasetImport::DatasetImport(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
DatasetImport::DatasetImport(DatasetImport&&) noexcept = default;
DatasetImport::~DatasetImport() = default;

absl::StatusOr<DatasetImport> DatasetImport::Load(ImportOptions options,
                                                  ImportProgress progress) {
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  if (!options.data_dir.empty())
    DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  auto state = std::make_unique<State>(
      State{.options = std::move(options), .progress = std::move(progress)});
  DPNMF_ASSIGN_OR_RETURN(state->source,
                         LoadImportSource(state->options, state->progress));
  DatasetDescription& description = state->stored.description;
  description = DeclarationOf(state->options);
  state->source->Describe(&description);
  // Sizes are described only of labels that the operator declared public.
  if (state->options.labels_public)
    description.classes->sizes = state->source->ClassSizes();
  DPNMF_RETURN_IF_ERROR(CheckDeclaration(description));
  const std::uint64_t people = state->source->people();
  if (description.adjacency != Adjacency::kAddRemoveOne)
    description.users = people;
  DPNMF_RETURN_IF_ERROR(CheckUserCount(description, people));
  return DatasetImport(std::move(state));
}

ImportPreview DatasetImport::Preview() const {
  return {description(), state_->source->people(), state_->source->Understood(),
          state_->source->First()};
}

const DatasetDescription& DatasetImport::description() const {
  return state_->stored.description;
}

absl::Status DatasetImport::Recognise() {
  DPNMF_RETURN_IF_ERROR(state_->Begin(State::Step::kRecognise));
  const ImportOptions& options = state_->options;
  DPNMF_ASSIGN_OR_RETURN(state_->lock, TakeImportLock(options.data_dir));
  // Another import may have taken it while the file was read.
  DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  RemoveDrafts(options.data_dir);
  DPNMF_RETURN_IF_ERROR(state_->Progress("checking"));
  DPNMF_ASSIGN_OR_RETURN(state_->key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  StoredDescription& stored = state_->stored;
  stored.fingerprint =
      state_->source->Fingerprint(*state_->key, &state_->people);
  if (!stored.description.partition.empty()) {
    stored.description.people = DigestOfPeople(
        state_->people, stored.fingerprint, stored.description.population,
        stored.description.partition);
  }
  DPNMF_ASSIGN_OR_RETURN(state_->tables,
                         SharedTables(options.data_dir, state_->people));
  state_->next = State::Step::kDraft;
  return absl::OkStatus();
}

const std::vector<SharedTable>& DatasetImport::shared_tables() const {
  return state_->tables;
}

absl::StatusOr<DatasetDigests> DatasetImport::Draft(const LedgerFacts& facts) {
  DPNMF_RETURN_IF_ERROR(state_->Begin(State::Step::kDraft));
  const ImportOptions& options = state_->options;
  const StoredDescription& stored = state_->stored;
  const PeopleFingerprints& people = state_->people;
  DPNMF_ASSIGN_OR_RETURN(const std::vector<KnownDataset> known,
                         KnownDatasets(options.data_dir));
  DPNMF_RETURN_IF_ERROR(
      CheckPopulationOf(options, facts, known, stored.fingerprint));
  DPNMF_RETURN_IF_ERROR(CheckLabelsOf(options, facts, known));
  if (!options.partition.empty()) {
    if (!facts.elsewhere.has_value())
      return absl::InternalError("the ledger was not asked for partitions");
    DPNMF_RETURN_IF_ERROR(CheckInOnePartition(options, *facts.elsewhere, known,
                                              stored.description, people));
  }
  DPNMF_RETURN_IF_ERROR(CheckAccepted(state_->tables, facts.accepted_tables));
  DPNMF_RETURN_IF_ERROR(NoteSharedPeople(options, known, people));

  DPNMF_RETURN_IF_ERROR(state_->Progress("writing"));
  DPNMF_ASSIGN_OR_RETURN(
      TemporaryDirectory draft,
      TemporaryDirectory::Create(absl::StrCat(options.data_dir, "/datasets"),
                                 kDraftPrefix));
  DatasetWriter writer(draft.path(), KeyOfFiles(*state_->key));
  DPNMF_RETURN_IF_ERROR(state_->source->Write(stored.description, &writer));
  DPNMF_RETURN_IF_ERROR(
      writer.Write(kPeopleFile, PeopleBytes(people, stored.fingerprint)));
  DPNMF_RETURN_IF_ERROR(writer.Write("dataset.json", ToJson(stored)));
  DPNMF_ASSIGN_OR_RETURN(const DatasetDigests digests, writer.Finish());
  DPNMF_RETURN_IF_ERROR(CheckNotInterrupted(options));
  state_->draft.emplace(std::move(draft));
  state_->next = State::Step::kPublish;
  return digests;
}

const std::string& DatasetImport::draft_directory() const {
  return state_->draft->path();
}

absl::Status DatasetImport::Publish() {
  DPNMF_RETURN_IF_ERROR(state_->Begin(State::Step::kPublish));
  const ImportOptions& options = state_->options;
  DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  return state_->draft->Publish(
      DatasetDirectory(options.data_dir, options.name));
}

}  // namespace dpnmf::curator
