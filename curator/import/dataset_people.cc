#include "curator/import/dataset_people.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/description.h"
#include "curator/import/import_source.h"
#include "curator/import/import_steps.h"

namespace dpnmf::curator {
namespace {

constexpr char kPublished[] = ".people";

std::string PeopleFileOf(const std::string& directory) {
  return absl::StrCat(directory, "/", kPeopleFile);
}

// Sets the options that the flags of the import gave for the data set itself.
void TakeFlags(const DatasetDescription& description, ImportOptions* options) {
  TakeDeclaration(description, options);
  options->partitions = description.partitions;
  options->partition = description.partition;
  if (description.classes.has_value())
    options->classes = description.classes->names;
  if (description.ratings.has_value()) {
    options->rating_range = *description.ratings;
    return;
  }
  options->normalisation = description.normalisation;
  options->column_bound = description.column_bound;
}

// Whoever is in a data set of a partition is in it under the same ids for ever.
bool AreThePeopleOf(const StoredDescription& stored,
                    const PeopleFingerprints& people) {
  const DatasetDescription& description = stored.description;
  return description.partition.empty() ||
         DigestOfPeople(people, stored.fingerprint, description.population,
                        description.partition) == description.people;
}

// Both are of the same people.
void KeepIds(const PeopleFingerprints& before, PeopleFingerprints* people) {
  std::vector<PersonFingerprint> all;
  std::set_union(before.ids.begin(), before.ids.end(), people->ids.begin(),
                 people->ids.end(), std::back_inserter(all));
  people->ids = std::move(all);
  people->has_ids = people->has_ids || before.has_ids;
}

}  // namespace

absl::StatusOr<PeopleFingerprints> ReadPeople(const std::string& directory) {
  DPNMF_ASSIGN_OR_RETURN(const StoredDescription stored,
                         ReadDescription(directory));
  const auto bytes = ReadFile(PeopleFileOf(directory), kOwnFileLimit);
  if (absl::IsNotFound(bytes.status())) {
    return Refusal(
        absl::StatusCode::kNotFound, "people-missing",
        absl::StrCat("The data set ", stored.description.name,
                     " has no fingerprints of its people (people.bin): restore "
                     "them from a backup, or run `dpnmf-curator people --name ",
                     stored.description.name,
                     "` with the file from which it was imported."));
  }
  if (!bytes.ok()) return bytes.status();
  DPNMF_ASSIGN_OR_RETURN(PeopleFingerprints people,
                         PeopleOfBytes(*bytes, stored.fingerprint));
  if (AreThePeopleOf(stored, people)) return people;
  return Refusal(absl::StatusCode::kDataLoss, "people-damaged",
                 absl::StrCat("The fingerprints of the people of data set ",
                              stored.description.name,
                              " are not those with which it was put into its "
                              "partition: restore it from a backup."));
}

absl::Status RecordPublished(const std::string& data_dir,
                             const PublishedPeople& published) {
  const std::string directory = absl::StrCat(data_dir, "/publications");
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  return ReplaceDurably(
      absl::StrCat(directory, "/", HexOf(published.label_hash), kPublished),
      PeopleBytes(published.people, published.label_hash));
}

absl::StatusOr<std::vector<PublishedPeople>> ReadPublished(
    const std::string& data_dir) {
  const std::string directory = absl::StrCat(data_dir, "/publications");
  std::vector<PublishedPeople> all;
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return all;
  for (const std::string& entry : EntriesOf(directory, &error)) {
    const std::filesystem::path name = std::filesystem::path(entry).filename();
    const auto label = DigestOfHex(name.stem().string());
    if (name.extension() != kPublished || !label.has_value()) continue;
    DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                           ReadFile(entry, kOwnFileLimit));
    DPNMF_ASSIGN_OR_RETURN(PeopleFingerprints people,
                           PeopleOfBytes(bytes, *label));
    all.push_back({*label, std::move(people)});
  }
  if (error) return StorageFailed("list", directory, error.value());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.label_hash < b.label_hash;
  });
  return all;
}

absl::Status CheckSameKey(const PeopleFingerprints& a,
                          const PeopleFingerprints& b, std::string_view what) {
  if (a.key_check == b.key_check) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kDataLoss, "people-damaged",
      absl::StrCat("The fingerprints of ", View(what),
                   " were made with another key: restore the fingerprint.key "
                   "that belongs to this data directory."));
}

absl::StatusOr<std::vector<SharedTable>> SharedTables(
    const std::string& data_dir, const PeopleFingerprints& people) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PublishedPeople> all,
                         ReadPublished(data_dir));
  std::vector<SharedTable> tables;
  for (const PublishedPeople& published : all) {
    DPNMF_RETURN_IF_ERROR(CheckSameKey(people, published.people,
                                       "the people of a published table"));
    const SharedPeople shared = SharedBy(people, published.people);
    if (shared.any())
      tables.push_back({published.label_hash, shared.ids, shared.rows});
  }
  return tables;
}

absl::Status CheckAccepted(const std::vector<SharedTable>& tables,
                           const std::vector<Digest>& accepted) {
  for (const SharedTable& table : tables)
    if (std::find(accepted.begin(), accepted.end(), table.label_hash) ==
        accepted.end())
      return PeoplePublished(table.ids, table.rows);
  return absl::OkStatus();
}

absl::Status CheckRecords(const std::string& data_dir,
                          const std::vector<Digest>& labels) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PublishedPeople> all,
                         ReadPublished(data_dir));
  for (const Digest& label : labels) {
    const bool known = std::any_of(
        all.begin(), all.end(),
        [&](const PublishedPeople& one) { return one.label_hash == label; });
    if (known) continue;
    return Refusal(
        absl::StatusCode::kDataLoss, "publications-missing",
        absl::StrCat("The ledger names a published table, but `", data_dir,
                     "/publications/", HexOf(label), kPublished,
                     "`, which records its people, is missing: restore it from "
                     "a backup."));
  }
  return absl::OkStatus();
}

absl::StatusOr<PeopleToRecord> RecognisePeople(ImportOptions options,
                                               const ImportProgress& progress) {
  const std::string directory =
      DatasetDirectory(options.data_dir, options.name);
  DPNMF_ASSIGN_OR_RETURN(const StoredDescription stored,
                         ReadDescription(directory));
  if (stored.description.name != options.name) {
    return Refusal(absl::StatusCode::kDataLoss, "dataset-damaged",
                   absl::StrCat("The directory ", directory, " holds data set ",
                                stored.description.name,
                                ": move it back under that name, or restore ",
                                options.name, " from a backup."));
  }
  TakeFlags(stored.description, &options);
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<ImportSource> source,
                         LoadImportSource(options, progress));
  DPNMF_ASSIGN_OR_RETURN(FileLock lock, TakeImportLock(options.data_dir));
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  PeopleFingerprints people;
  if (source->Fingerprint(key, &people) != stored.fingerprint) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "people-differ",
        absl::StrCat("The file is not the one that data set ", options.name,
                     " was imported from: give that file, with the flags of "
                     "the import that say how it is read."));
  }
  // Then they are in no other partition: the import has seen to it.
  if (!AreThePeopleOf(stored, people)) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "people-differ",
        absl::StrCat("The file has other ids than the one that data set ",
                     options.name,
                     " was imported from, and people of a partition are "
                     "recognised by them: give that file, or restore "
                     "people.bin from a backup."));
  }
  const auto before = ReadPeople(directory);
  if (before.ok() && before->key_check == people.key_check)
    KeepIds(*before, &people);
  DPNMF_ASSIGN_OR_RETURN(std::vector<SharedTable> tables,
                         SharedTables(options.data_dir, people));
  std::string bytes = PeopleBytes(people, stored.fingerprint);
  const Digest digest = KeyedDigest(ContentOf(bytes), KeyOfFiles(key));
  return PeopleToRecord{
      stored.description, directory,        std::move(people), digest,
      std::move(tables),  std::move(bytes), std::move(lock)};
}

absl::Status RecordPeople(const PeopleToRecord& recognised,
                          const std::vector<Digest>& accepted_tables) {
  DPNMF_RETURN_IF_ERROR(CheckAccepted(recognised.tables, accepted_tables));
  return ReplaceDurably(PeopleFileOf(recognised.directory), recognised.bytes);
}

}  // namespace dpnmf::curator
