#include "curator/import/part.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/description.h"
#include "curator/data/shards.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import_steps.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/people/people.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using PartJson = nlohmann::ordered_json;

constexpr char kPartEnding[] = ".part";
constexpr std::uint64_t kPartVersion = 1;

// A record: one line of JSON, the people (PeopleBytes), the HMAC of each
// column, SHA-256 of all that.
struct PartRecord {
  PartRange range = {};
  StoredDescription stored = {};  // of the whole; fingerprint of the part
  std::string features = {};      // features.txt
  Digest files = {};              // keyed, of its digests.json
  std::uint64_t nonzeros = 0;
  PeopleFingerprints people = {};
  std::vector<Digest> columns = {};  // sorted
};

absl::Status RecordDamaged(const std::string& path, const char* problem) {
  return Refusal(absl::StatusCode::kDataLoss, "part-damaged",
                 absl::StrCat("The record `", path, "` ", problem,
                              ": copy it again, or import the part again."));
}

absl::Status PartsMissing(const std::string& problem) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "parts-missing",
                 problem);
}

Digest CheckOfRecord(std::string_view bytes) {
  return Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
}

std::string RecordBytes(const PartRecord& part) {
  const std::string people = PeopleBytes(part.people, part.stored.fingerprint);
  const PartJson head = {{"format_version", kPartVersion},
                         {"first", part.range.first},
                         {"columns", part.range.columns},
                         {"whole", part.range.whole},
                         {"nonzeros", part.nonzeros},
                         {"people_bytes", people.size()},
                         {"features", part.features},
                         {"files", HexOf(part.files)},
                         {"dataset", PartJson::parse(ToJson(part.stored))}};
  std::string bytes = head.dump() + "\n" + people;
  const std::size_t at = bytes.size();
  bytes.resize(at + part.columns.size() * sizeof(Digest));
  if (!part.columns.empty())
    std::memcpy(bytes.data() + at, part.columns.data(), bytes.size() - at);
  const Digest check = CheckOfRecord(bytes);
  bytes.append(reinterpret_cast<const char*>(check.data()), check.size());
  return bytes;
}

// Throws what the JSON library throws. `people_bytes`: as the head says.
absl::Status DecodeHead(const std::string& line, PartRecord* part,
                        std::uint64_t* people_bytes) {
  const PartJson head = PartJson::parse(line);
  const auto whole = [&](const char* key) {
    return head.at(key).get_ref<const PartJson::number_unsigned_t&>();
  };
  if (whole("format_version") != kPartVersion)
    throw std::invalid_argument("version");
  part->range = {whole("first"), whole("columns"), whole("whole")};
  part->nonzeros = whole("nonzeros");
  *people_bytes = whole("people_bytes");
  part->features = head.at("features").get<std::string>();
  const auto files = DigestOfHex(head.at("files").get<std::string>());
  if (!files.has_value()) throw std::invalid_argument("files");
  part->files = *files;
  DPNMF_ASSIGN_OR_RETURN(part->stored,
                         StoredDescriptionOfJson(head.at("dataset").dump()));
  return absl::OkStatus();
}

absl::Status ReadHead(const std::string& path, const std::string& line,
                      PartRecord* part, std::uint64_t* people_bytes) {
  try {
    if (DecodeHead(line, part, people_bytes).ok()) return absl::OkStatus();
  } catch (const std::exception&) {
  }
  return RecordDamaged(path, "is not one of this program version");
}

absl::StatusOr<PartRecord> ReadRecord(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadFile(path, kOwnFileLimit));
  const std::size_t line = bytes.find('\n');
  if (line == std::string::npos || bytes.size() - line - 1 < sizeof(Digest))
    return RecordDamaged(path, "is not whole");
  const std::string_view all = bytes;
  const std::string_view body = all.substr(0, bytes.size() - sizeof(Digest));
  const Digest check = CheckOfRecord(body);
  if (std::memcmp(bytes.data() + body.size(), check.data(), check.size()) != 0)
    return RecordDamaged(path, "is damaged or not whole");
  PartRecord part;
  std::uint64_t people_bytes = 0;
  DPNMF_RETURN_IF_ERROR(
      ReadHead(path, bytes.substr(0, line), &part, &people_bytes));
  std::string_view left = body.substr(line + 1);
  const PartRange& range = part.range;
  if (people_bytes > left.size() ||
      (left.size() - people_bytes) / sizeof(Digest) != range.columns ||
      (left.size() - people_bytes) % sizeof(Digest) != 0 ||
      range.columns == 0 || range.columns > range.whole ||
      range.first > range.whole - range.columns)
    return RecordDamaged(path, "is damaged");
  DPNMF_ASSIGN_OR_RETURN(
      part.people,
      PeopleOfBytes(left.substr(0, people_bytes), part.stored.fingerprint));
  left.remove_prefix(people_bytes);
  part.columns.resize(range.columns);
  std::memcpy(part.columns.data(), left.data(), left.size());
  return part;
}

absl::StatusOr<std::vector<std::string>> RecordsOf(
    const ImportOptions& options) {
  const std::string place = PartsDirectory(options.data_dir, options.name);
  std::vector<std::string> records;
  std::error_code error;
  for (const std::string& entry : EntriesOf(place, &error)) {
    if (std::filesystem::path(entry).extension() == kPartEnding)
      records.push_back(entry);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return StorageFailed("list", place, error.value());
  if (records.empty()) {
    return PartsMissing(
        absl::StrCat("There is no record of a part in ", place,
                     ": import the parts with --shard-of, and copy the .part "
                     "files of all machines there."));
  }
  std::sort(records.begin(), records.end());
  return records;
}

std::string NameOfPart(const PartRange& range) {
  return PartName(range.first, range.columns);
}

// ---- Facts that parts must have in common

PartJson DeclaredIn(const DatasetDescription& description) {
  PartJson json = PartJson::parse(ToJson({.description = description}));
  json.erase("fingerprint");
  return json;
}

PartJson CommonOf(const PartRecord& part) {
  PartJson json = DeclaredIn(part.stored.description);
  json["number of people"] = part.range.whole;
  json["names of the features"] = part.features;
  json["--id-column"] = part.people.has_ids;
  return json;
}

// The first field in which they differ, or nothing.
std::optional<std::string> Difference(const PartJson& one,
                                      const PartJson& other) {
  for (const auto& [key, value] : one.items())
    if (!other.contains(key) || other[key] != value) return key;
  for (const auto& [key, value] : other.items())
    if (!one.contains(key)) return key;
  return std::nullopt;
}

absl::Status PartsDiffer(const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "parts-differ", problem);
}

// Copies the facts that files state and options do not.
void CopyShape(const DatasetDescription& from, DatasetDescription* to) {
  to->features = from.features;
  to->sparse = from.sparse;
  to->named_features = from.named_features;
}

// The options were taken from a record that may have been replaced since, and
// carry no field that they do not know.
absl::Status CheckDeclaredByOptions(const ImportOptions& options,
                                    const PartRecord& part) {
  DatasetDescription declared = DeclarationOf(options);
  CopyShape(part.stored.description, &declared);
  // The population's, from the ledger, which no part reads.
  declared.partitions = {};
  const auto difference =
      Difference(DeclaredIn(part.stored.description), DeclaredIn(declared));
  if (!difference.has_value()) return absl::OkStatus();
  return PartsDiffer(absl::StrCat(
      "The part ", NameOfPart(part.range), " declares ", *difference,
      " otherwise than the data set would have it: if a record was being "
      "copied, run join-parts again; else import all people at once."));
}

absl::Status CheckRanges(const std::vector<PartRecord>& parts) {
  std::uint64_t next = 0;
  const std::uint64_t whole = parts.front().range.whole;
  for (const PartRecord& part : parts) {
    const PartRange& range = part.range;
    if (range.first < next) {
      return Refusal(
          absl::StatusCode::kInvalidArgument, "parts-overlap",
          absl::StrCat("The part ", NameOfPart(range), " begins before person ",
                       next + 1,
                       ", where the part before it ends: import one of them "
                       "with another --shard-of."));
    }
    if (range.first > next) {
      return PartsMissing(absl::StrCat(
          "The people ", PartName(next, range.first - next),
          " are in no part: import them, and copy the record here."));
    }
    next = range.first + range.columns;
  }
  if (next == whole) return absl::OkStatus();
  return PartsMissing(
      absl::StrCat("The people ", PartName(next, whole - next),
                   " are in no part: import them, and copy the record here."));
}

absl::Status PartsDuplicate(const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "parts-duplicate",
                 problem);
}

// All fingerprints of the parts, ascending and different. Within a part they
// are different: what is there twice is in two parts.
std::vector<PersonFingerprint> Merged(
    const std::vector<PartRecord>& parts,
    std::vector<PersonFingerprint> PeopleFingerprints::*kind,
    std::uint64_t* twice) {
  std::vector<PersonFingerprint> all;
  for (const PartRecord& part : parts) {
    const auto& own = part.people.*kind;
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  const auto end = std::unique(all.begin(), all.end());
  *twice = static_cast<std::uint64_t>(all.end() - end);
  all.erase(end, all.end());
  return all;
}

// Nobody is in two parts, as far as it can be told.
absl::StatusOr<PeopleFingerprints> MergedPeople(
    const ImportOptions& options, const std::vector<PartRecord>& parts) {
  std::vector<Digest> wholes;
  for (const PartRecord& part : parts)
    wholes.push_back(part.stored.fingerprint);
  std::sort(wholes.begin(), wholes.end());
  if (std::adjacent_find(wholes.begin(), wholes.end()) != wholes.end()) {
    return PartsDuplicate(
        "Two parts are the same people: import each file once, or cut the "
        "parts differently if they are others.");
  }
  PeopleFingerprints people;
  people.key_check = parts.front().people.key_check;
  people.has_ids = parts.front().people.has_ids;
  std::uint64_t ids = 0, rows = 0;
  people.ids = Merged(parts, &PeopleFingerprints::ids, &ids);
  people.rows = Merged(parts, &PeopleFingerprints::rows, &rows);
  if (ids > 0) {
    return PartsDuplicate(
        absl::StrCat("Ids that are in two parts: ", ids,
                     "; put every person into one part, or give another "
                     "--id-column."));
  }
  // Ids tell people with equal rows apart, if everybody has one.
  const bool known = people.ids.size() == parts.front().range.whole;
  if (rows == 0) return people;
  if (!known && !options.accept_equal_rows) {
    return PartsDuplicate(absl::StrCat(
        "Rows that are in two parts: ", rows,
        "; put every person into one part. If they are different people whose "
        "rows coincide, import the parts with --id-column, or give "
        "--accept-equal-rows."));
  }
  if (options.note) {
    options.note(absl::StrCat("Rows in two parts, taken for different people",
                              known ? " because their ids differ: " : ": ",
                              rows));
  }
  return people;
}

class PartsSource : public ImportSource {
 public:
  PartsSource(std::vector<PartRecord> parts, PeopleFingerprints people)
      : parts_(std::move(parts)), people_(std::move(people)) {}

  void Describe(DatasetDescription* description) const override {
    CopyShape(parts_.front().stored.description, description);
  }
  std::uint64_t people() const override { return parts_.front().range.whole; }
  Digest Fingerprint(const FingerprintKey& key,
                     PeopleFingerprints* people) const override {
    *people = people_;
    std::vector<Digest> columns;
    columns.reserve(this->people());
    for (const PartRecord& part : parts_)
      columns.insert(columns.end(), part.columns.begin(), part.columns.end());
    std::sort(columns.begin(), columns.end());
    return FingerprintOfDigests(parts_.front().stored.description.features,
                                columns, key);
  }
  absl::Status Write(const DatasetDescription&,
                     DatasetWriter* writer) override {
    Shards shards;
    for (const PartRecord& part : parts_) {
      shards.columns.push_back(part.range.columns);
      shards.parts.push_back(part.stored.fingerprint);
      shards.files.push_back(part.files);
      shards.nonzeros += part.nonzeros;
    }
    const std::string& features = parts_.front().features;
    if (!features.empty())
      DPNMF_RETURN_IF_ERROR(writer->Write("features.txt", features));
    return writer->Write("shards.json", ShardsJson(shards));
  }

 private:
  const std::vector<PartRecord> parts_;  // in the order of their columns
  const PeopleFingerprints people_;
};

absl::Status CheckKeyIsThere(const std::string& data_dir) {
  const std::string path = data_dir + "/fingerprint.key";
  if (std::filesystem::exists(path)) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "fingerprint-key-missing",
      absl::StrCat("There is no ", path,
                   ": all parts are imported with a copy of the curator's key; "
                   "make it with `openssl rand -out fingerprint.key 32` if "
                   "there is none yet."));
}

std::uint64_t NonzerosOf(const Dataset& data) {
  std::uint64_t nonzeros = 0;
  for (std::uint64_t n = 0; data.sparse() && n < data.private_user_count(); ++n)
    nonzeros += data.SparseColumnOf(n).values.size();
  return nonzeros;
}

}  // namespace

absl::StatusOr<PartRange> ParsePartRange(std::string_view text) {
  std::uint64_t first = 0, last = 0, whole = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto take = [&](std::uint64_t* number, char after) {
    const auto [next, error] = std::from_chars(at, end, *number);
    const bool good = error == std::errc() &&
                      (after == 0 ? next == end : next < end && *next == after);
    at = good && after != 0 ? next + 1 : next;
    return good;
  };
  if (take(&first, '-') && take(&last, '/') && take(&whole, 0) && first >= 1 &&
      first <= last && last <= whole && whole <= kLargestUsersCount)
    return PartRange{first - 1, last - first + 1, whole};
  return Refusal(absl::StatusCode::kInvalidArgument, "shard-of-malformed",
                 "`--shard-of` must be FIRST-LAST/N: the first and the last of "
                 "the people in this file and the number of all, as "
                 "601-1200/1797.");
}

absl::StatusOr<ImportedPart> ImportPart(ImportOptions options,
                                        const ImportProgress& progress) {
  const PartRange range = options.shard_of.value_or(PartRange());
  options.shard_of = range;
  const bool add_remove = options.adjacency == Adjacency::kAddRemoveOne;
  if (!add_remove && !options.users_count.has_value() && range.whole > 0)
    options.users_count = range.whole;
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  ImportedPart imported;
  const std::string parent = PartsDirectory(options.data_dir, options.name);
  imported.directory = absl::StrCat(parent, "/", NameOfPart(range));
  imported.record = imported.directory + kPartEnding;
  if (std::filesystem::exists(imported.record)) {
    return Refusal(absl::StatusCode::kAlreadyExists, "part-exists",
                   absl::StrCat("The part ", imported.record,
                                " is there: delete it and the directory beside "
                                "it to import it again."));
  }
  DPNMF_RETURN_IF_ERROR(CheckKeyIsThere(options.data_dir));
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<ImportSource> source,
                         LoadImportSource(options, progress));
  PartRecord record{.range = range,
                    .stored = {.description = DeclarationOf(options)}};
  DatasetDescription& description = record.stored.description;
  source->Describe(&description);
  DPNMF_RETURN_IF_ERROR(CheckDeclaration(description));
  if (options.preview) {
    options.preview(
        {description, source->people(), source->Understood(), source->First()});
  }

  DPNMF_ASSIGN_OR_RETURN(const FileLock lock, TakeImportLock(options.data_dir));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(parent));
  RemoveDrafts(options.data_dir);
  if (progress) progress("checking", 0, 1);
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  record.stored.fingerprint =
      source->FingerprintWithColumns(key, &record.people, &record.columns);
  DPNMF_RETURN_IF_ERROR(CheckNotInterrupted(options));
  if (progress) progress("writing", 0, 1);
  DPNMF_ASSIGN_OR_RETURN(TemporaryDirectory draft,
                         TemporaryDirectory::Create(parent, kDraftPrefix));
  StoredDescription own = record.stored;
  if (!add_remove) own.description.users = range.columns;
  DatasetWriter writer(draft.path(), KeyOfFiles(key));
  DPNMF_RETURN_IF_ERROR(source->Write(own.description, &writer));
  DPNMF_RETURN_IF_ERROR(writer.Write("dataset.json", ToJson(own)));
  DPNMF_ASSIGN_OR_RETURN(const DatasetDigests digests, writer.Finish());
  record.files = digests.files;
  // The written data are read back and checked.
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> written,
                         Dataset::Open(draft.path()));
  record.nonzeros = NonzerosOf(*written);
  if (description.named_features) {
    DPNMF_ASSIGN_OR_RETURN(
        record.features,
        ReadFile(draft.path() + "/features.txt", kOwnFileLimit));
  }
  DPNMF_RETURN_IF_ERROR(CheckNotInterrupted(options));
  // Removes the data of an import that was killed before it wrote the record.
  DPNMF_RETURN_IF_ERROR(RemoveTreeDurably(imported.directory));
  DPNMF_RETURN_IF_ERROR(draft.Publish(imported.directory));
  DPNMF_RETURN_IF_ERROR(ReplaceDurably(imported.record, RecordBytes(record)));
  imported.description = std::move(description);
  return imported;
}

absl::Status TakeDeclarationOfParts(ImportOptions* options) {
  if (!IsName(options->name)) {
    DatasetDescription wrong;
    wrong.name = options->name;
    return CheckDeclaration(wrong);
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> records,
                         RecordsOf(*options));
  DPNMF_ASSIGN_OR_RETURN(const PartRecord part, ReadRecord(records.front()));
  const DatasetDescription& declared = part.stored.description;
  TakeDeclaration(declared, options);
  options->normalisation = declared.normalisation;
  options->column_bound = declared.column_bound;
  options->range = declared.range;
  options->users_are_rows = true;
  options->input = records.front();
  options->join_parts = true;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ImportSource>> LoadParts(
    const ImportOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> records,
                         RecordsOf(options));
  std::vector<PartRecord> parts;
  for (const std::string& path : records) {
    DPNMF_ASSIGN_OR_RETURN(parts.emplace_back(), ReadRecord(path));
    const PartRecord& part = parts.back();
    if (part.stored.description.name != options.name)
      return RecordDamaged(path, "is of another data set");
    const auto difference = Difference(CommonOf(parts.front()), CommonOf(part));
    if (!difference.has_value()) continue;
    return PartsDiffer(
        absl::StrCat("The parts ", NameOfPart(parts.front().range), " and ",
                     NameOfPart(part.range), " differ in ", *difference,
                     ": import all parts with the same flags and features, and "
                     "in formats that are all dense or all sparse."));
  }
  DPNMF_RETURN_IF_ERROR(CheckDeclaredByOptions(options, parts.front()));
  // A key that is made now would fit no part.
  DPNMF_RETURN_IF_ERROR(CheckKeyIsThere(options.data_dir));
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  PeopleFingerprints own;
  own.key_check = CheckOfKey(key);
  for (const PartRecord& part : parts) {
    DPNMF_RETURN_IF_ERROR(CheckSameKey(
        part.people, own, absl::StrCat("the part ", NameOfPart(part.range))));
  }
  std::sort(parts.begin(), parts.end(),
            [](const PartRecord& a, const PartRecord& b) {
              return a.range.first < b.range.first;
            });
  DPNMF_RETURN_IF_ERROR(CheckRanges(parts));
  if (parts.size() > kMostShards) {
    return Refusal(absl::StatusCode::kInvalidArgument, "shards-out-of-range",
                   "A data set has at most 4096 parts: import larger ones.");
  }
  DPNMF_ASSIGN_OR_RETURN(PeopleFingerprints people,
                         MergedPeople(options, parts));
  return std::make_unique<PartsSource>(std::move(parts), std::move(people));
}

}  // namespace dpnmf::curator
