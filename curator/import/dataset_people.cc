#include "curator/import/dataset_people.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/disk_error.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/read_file.h"
#include "curator/data/description.h"
#include "curator/import/import_source.h"

namespace dpnmf::curator {
namespace {

constexpr char kPublished[] = ".people";

std::string PeopleFileOf(const std::string& directory) {
  return directory + "/people.bin";
}

// What the flags of the import said of the data set itself.
void TakeDeclaration(const DatasetDescription& description,
                     ImportOptions* options) {
  options->population = description.population;
  options->epsilon = description.epsilon;
  options->delta = description.delta;
  options->conversion = description.conversion;
  options->adjacency = description.adjacency;
  options->is_public = description.is_public;
  options->users_count = description.users;
  if (description.ratings.has_value()) {
    options->rating_range = *description.ratings;
    return;
  }
  options->normalisation = description.normalisation;
  options->column_bound = description.column_bound;
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
                     " has no fingerprints of its people, because an earlier "
                     "version imported it: run `dpnmf-curator people --name ",
                     stored.description.name,
                     "` with the file that it was imported from."));
  }
  if (!bytes.ok()) return bytes.status();
  return PeopleOfBytes(*bytes, stored.fingerprint);
}

absl::Status WritePeople(const std::string& directory,
                         const PeopleFingerprints& people, const Digest& of) {
  return ReplaceDurably(PeopleFileOf(directory), PeopleBytes(people, of));
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
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    const std::filesystem::path name = entry.path().filename();
    const auto label = DigestOfHex(name.stem().string());
    if (name.extension() != kPublished || !label.has_value()) continue;
    DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                           ReadFile(entry.path(), kOwnFileLimit));
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

absl::StatusOr<PeopleFingerprints> ImportPeople(
    ImportOptions options, const ImportProgress& progress) {
  const std::string directory =
      DatasetDirectory(options.data_dir, options.name);
  DPNMF_ASSIGN_OR_RETURN(const StoredDescription stored,
                         ReadDescription(directory));
  TakeDeclaration(stored.description, &options);
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<ImportSource> source,
                         LoadImportSource(options, progress));
  DPNMF_ASSIGN_OR_RETURN(const FileLock lock, TakeImportLock(options.data_dir));
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
  const auto before = ReadPeople(directory);
  if (before.ok() && before->key_check == people.key_check)
    KeepIds(*before, &people);
  DPNMF_RETURN_IF_ERROR(WritePeople(directory, people, stored.fingerprint));
  return people;
}

}  // namespace dpnmf::curator
