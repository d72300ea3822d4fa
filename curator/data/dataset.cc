#include "curator/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/npy.h"
#include "common/files/read_file.h"
#include "curator/data/description.h"
#include "curator/data/mapped_file.h"
#include "curator/data/removed.h"
#include "curator/data/shards.h"

namespace dpnmf::curator {
namespace {

absl::Status Damaged(const std::string& directory, const std::string& problem) {
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The data set at ", directory, " is damaged: ", problem,
                   "; restore it from a backup or import it again."));
}

absl::Status Malformed(const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "dataset-malformed",
                 absl::StrCat("The data set does not match its description: ",
                              problem, "."));
}

// The first thing that is wrong with a number of columns, if any.
std::optional<std::string> UserCountProblem(
    const DatasetDescription& description, std::uint64_t users) {
  if (users == 0) return "it has no user";
  if (description.adjacency != Adjacency::kAddRemoveOne &&
      users != description.users) {
    return "its number of users is not the described one";
  }
  if (users > LargestUserCount(FactsOf(description)))
    return "it has too many users";
  return std::nullopt;
}

// CSC: offsets rise within the entries, rows lie in [0, features) and rise
// within a column.
std::optional<std::string> ColumnsProblem(
    std::uint64_t features, std::span<const std::int64_t> indptr,
    std::span<const std::int32_t> indices) {
  if (indptr.empty() || indptr.front() < 0 ||
      indptr.back() > static_cast<std::int64_t>(indices.size()) ||
      !std::is_sorted(indptr.begin(), indptr.end())) {
    return "indptr does not rise from 0 to the number of entries";
  }
  for (std::size_t n = 0; n + 1 < indptr.size(); ++n) {
    std::int64_t last = -1;
    for (std::int64_t i = indptr[n]; i < indptr[n + 1]; ++i) {
      const std::int64_t row = indices[static_cast<std::size_t>(i)];
      if (row <= last || static_cast<std::uint64_t>(row) >= features) {
        return "an index is out of range or out of order";
      }
      last = row;
    }
  }
  return std::nullopt;
}

// All columns: offsets rise from 0 to the number of entries.
std::optional<std::string> StructureProblem(
    std::uint64_t features, std::span<const std::int64_t> indptr,
    std::span<const std::int32_t> indices) {
  if (indptr.empty() || indptr.front() != 0 ||
      indptr.back() != static_cast<std::int64_t>(indices.size())) {
    return "indptr does not rise from 0 to the number of entries";
  }
  return ColumnsProblem(features, indptr, indices);
}

// The structure of ratings, and that each lies in the declared range.
std::optional<std::string> RatingsProblem(const DatasetDescription& description,
                                          std::span<const std::int64_t> indptr,
                                          std::span<const std::int32_t> items,
                                          std::span<const std::int32_t> units) {
  if (units.size() != items.size())
    return "its ratings and its items differ in number";
  if (auto problem = StructureProblem(description.features, indptr, items))
    return problem;
  for (std::size_t n = 0; n + 1 < indptr.size(); ++n) {
    if (static_cast<std::uint64_t>(indptr[n + 1] - indptr[n]) >
        kMostRatingsOfAPerson)
      return "a person has more than 1000000 ratings";
  }
  const RatingScale scale = *description.ratings;
  if (std::any_of(units.begin(), units.end(), [scale](std::int32_t rating) {
        return rating < scale.low_units || rating > scale.high_units;
      })) {
    return "a rating is out of the declared range";
  }
  return std::nullopt;
}

// One declared class a column; the public sizes are theirs.
std::optional<std::string> LabelsProblem(const DatasetDescription& description,
                                         std::uint64_t users,
                                         std::span<const std::int32_t> labels) {
  const std::size_t classes =
      description.classes.has_value() ? description.classes->names.size() : 0;
  if (labels.size() != (classes == 0 ? 0 : users))
    return "its labels and its users differ in number";
  std::vector<std::uint64_t> sizes(classes);
  for (const std::int32_t label : labels) {
    if (label < 0 || static_cast<std::size_t>(label) >= classes)
      return "a label is not a declared class";
    ++sizes[static_cast<std::size_t>(label)];
  }
  if (classes > 0 && !description.classes->sizes.empty() &&
      description.classes->sizes != sizes)
    return "its classes have other sizes than the described ones";
  return std::nullopt;
}

}  // namespace

// Either mapped files or vectors hold the arrays.
struct Dataset::Storage {
  std::string directory;   // of dataset.json; empty: in memory
  bool in_shards = false;  // shards.json is there
  struct Part {
    std::string directory;
    Digest files{};  // of its digests.json, keyed
  };
  std::vector<Part> parts;  // opened ones
  std::vector<MappedFile> files;
  std::vector<float> values;
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<std::int32_t> units;
  std::vector<std::int32_t> labels;
};

namespace {

// The entries of an array file that must have this type, order and, where
// given, shape; all of the file and no more.
template <typename T>
absl::StatusOr<std::span<const T>> MapArray(const std::string& directory,
                                            const std::string& name,
                                            const std::string& dtype,
                                            std::size_t dimensions,
                                            std::vector<MappedFile>* files,
                                            std::vector<std::uint64_t>* shape) {
  absl::StatusOr<MappedFile> file =
      MappedFile::Open(absl::StrCat(directory, "/", name));
  if (!file.ok())
    return Damaged(directory, std::string(absl::StripSuffix(
                                  file.status().message(), ".")));
  const std::span<const std::byte> bytes = file->bytes();
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(std::string_view(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!header.ok())
    return Damaged(directory, absl::StrCat(name, " is no array file"));
  if (header->dtype != dtype || header->shape.size() != dimensions ||
      (dimensions == 2 && !header->fortran_order)) {
    return Damaged(directory, absl::StrCat(name, " has another type or order"));
  }
  std::uint64_t count = 1;
  for (const std::uint64_t extent : header->shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      return Damaged(directory, absl::StrCat(name, " has an impossible shape"));
    }
  }
  const std::size_t room = bytes.size() - header->data_offset;
  if (room % sizeof(T) != 0 || room / sizeof(T) != count ||
      header->data_offset % alignof(T) != 0) {
    return Damaged(directory,
                   absl::StrCat(name, " has another size than its shape says"));
  }
  *shape = header->shape;
  const T* const data =
      reinterpret_cast<const T*>(bytes.data() + header->data_offset);
  files->push_back(*std::move(file));
  return std::span(data, count);
}

}  // namespace

Dataset::Dataset() : storage_(std::make_unique<Storage>()) {}
Dataset::~Dataset() = default;

std::uint64_t Share::Begin(std::uint64_t columns) const {
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<std::uint64_t>(Wide{columns} * index / count);
}

std::uint64_t Share::End(std::uint64_t columns) const {
  return Share{index + 1, count}.Begin(columns);
}

// The first column of the share.
std::uint64_t Dataset::BeginOf(const Share& share) const {
  const std::vector<std::uint64_t>& parts = parts_.columns;
  if (parts.empty()) return share.Begin(whole_count_);
  // So many parts before it, and `left` counts of the next one.
  const std::uint64_t before = parts.size() * share.index / share.count;
  const std::uint64_t left = parts.size() * share.index % share.count;
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i < before; ++i) begin += parts[i];
  return before == parts.size()
             ? begin
             : begin + Share{left, share.count}.Begin(parts[before]);
}

// The columns of the share among those of the files with the suffix, of which
// `whole_first` is the first of the whole data set. `columns`: how many the
// files must have; not set: they are the whole data set.
absl::Status Dataset::MapColumns(const std::string& directory,
                                 const std::string& suffix,
                                 std::uint64_t whole_first,
                                 std::optional<std::uint64_t> columns,
                                 const std::optional<Share>& share) {
  std::vector<MappedFile>* const files = &storage_->files;
  std::vector<std::uint64_t> shape;
  std::span<const float> values;
  std::span<const std::int32_t> units, indices;
  std::span<const std::int64_t> indptr;
  std::uint64_t held = 0;
  if (!description_.sparse) {
    DPNMF_ASSIGN_OR_RETURN(values, MapArray<float>(directory, "values" + suffix,
                                                   "<f4", 2, files, &shape));
    if (shape[0] != description_.features)
      return Damaged(directory, absl::StrCat("values", suffix,
                                             " has another number of "
                                             "features"));
    held = shape[1];
  } else {
    if (description_.ratings.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(
          units, MapArray<std::int32_t>(directory, "ratings" + suffix, "<i4", 1,
                                        files, &shape));
    } else {
      DPNMF_ASSIGN_OR_RETURN(values, MapArray<float>(directory, "data" + suffix,
                                                     "<f4", 1, files, &shape));
    }
    DPNMF_ASSIGN_OR_RETURN(
        indices, MapArray<std::int32_t>(directory, "indices" + suffix, "<i4", 1,
                                        files, &shape));
    DPNMF_ASSIGN_OR_RETURN(
        indptr, MapArray<std::int64_t>(directory, "indptr" + suffix, "<i8", 1,
                                       files, &shape));
    if (indptr.empty()) {
      return Damaged(directory,
                     "indptr does not rise from 0 to the number of entries");
    }
    held = indptr.size() - 1;
  }
  if (columns.has_value() && held != *columns) {
    return Damaged(
        directory,
        absl::StrCat("the arrays *", suffix,
                     " do not have the number of columns in shards.json"));
  }
  if (!columns.has_value()) whole_count_ = held;
  const Share part = share.value_or(Share{});
  const std::uint64_t begin =
      std::clamp(BeginOf(part), whole_first, whole_first + held) - whole_first;
  const std::uint64_t end = std::clamp(BeginOf({part.index + 1, part.count}),
                                       whole_first, whole_first + held) -
                            whole_first;
  if (description_.sparse) {
    const auto own = indptr.subspan(begin, end - begin + 1);
    const auto problem =
        description_.ratings.has_value()
            ? RatingsProblem(description_, indptr, indices, units)
        : values.size() != indices.size()
            ? std::optional<std::string>(absl::StrCat(
                  "data", suffix, " and indices", suffix, " differ in length"))
        : share.has_value()
            ? ColumnsProblem(description_.features, own, indices)
            : StructureProblem(description_.features, indptr, indices);
    if (problem.has_value()) return Damaged(directory, *problem);
  }
  Columns mapped{
      .first = user_count_, .indices = indices.data(), .units = units.data()};
  mapped.values = values.data();
  if (description_.sparse) {
    mapped.indptr = indptr.data() + begin;
  } else {
    mapped.values += begin * description_.features;
  }
  user_count_ += end - begin;
  columns_.push_back(mapped);
  return absl::OkStatus();
}

const Dataset::Columns& Dataset::Search(std::uint64_t user) const {
  return *std::prev(
      std::upper_bound(columns_.begin(), columns_.end(), user,
                       [](std::uint64_t at, const Columns& columns) {
                         return at < columns.first;
                       }));
}

absl::Status Dataset::MapSums(const std::string& directory) {
  std::vector<std::uint64_t> shape;
  DPNMF_ASSIGN_OR_RETURN(const std::span<const std::int64_t> sums,
                         MapArray<std::int64_t>(directory, "sums.npy", "<i8", 1,
                                                &storage_->files, &shape));
  const std::uint64_t features = description_.features;
  if (sums.size() !=
      1 + CountOfSums(features, MomentRowsOf(*description_.sums, features)))
    return Damaged(directory, "sums.npy has another size");
  if (std::any_of(sums.begin(), sums.end(),
                  [](std::int64_t sum) { return sum < 0; }))
    return Damaged(directory, "sums.npy has a negative sum");
  whole_count_ = static_cast<std::uint64_t>(sums.front());
  stored_sums_ = sums.subspan(1);
  const auto problem = UserCountProblem(description_, whole_count_);
  return problem.has_value() ? Damaged(directory, *problem) : absl::OkStatus();
}

namespace {

// The fingerprint is of the entries as the file had them: what was declared
// tells how they are stored. A part has fewer people than the whole, and does
// not know whether the people of their population are partitioned.
bool DeclaredAlike(DatasetDescription part, const DatasetDescription& whole) {
  part.name = whole.name;
  part.users = whole.users;
  part.partitions = whole.partitions;
  return ToJson({.description = std::move(part)}) ==
         ToJson({.description = whole});
}

}  // namespace

// The parts of the share, which must be those that the data set was made of.
absl::Status Dataset::MapParts(const std::string& directory,
                               const Share& share) {
  const std::filesystem::path data_dir =
      std::filesystem::path(directory).parent_path().parent_path();
  const std::string place =
      PartsDirectory(data_dir.string(), description_.name) + "/";
  const std::uint64_t begin = BeginOf(share);
  const std::uint64_t end = BeginOf({share.index + 1, share.count});
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < parts_.columns.size();
       first += parts_.columns[i++]) {
    const std::uint64_t columns = parts_.columns[i];
    if (end <= first || begin >= first + columns) continue;
    const std::string part = place + PartName(first, columns);
    const auto stored = ReadDescription(part);
    if (!stored.ok() || stored->fingerprint != parts_.parts[i] ||
        !DeclaredAlike(stored->description, description_)) {
      return Damaged(part,
                     "it is not the part from which the data set was made, or "
                     "it is not on this machine");
    }
    DPNMF_RETURN_IF_ERROR(MapColumns(part, ".npy", first, columns, share));
    storage_->parts.push_back({part, parts_.files[i]});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FileCheck>> Dataset::Checks(
    const std::optional<DatasetDigests>& in_ledger, const Digest& key) const {
  const std::string& directory = storage_->directory;
  DPNMF_ASSIGN_OR_RETURN(std::vector<FileCheck> checks,
                         ChecksOfDataset(directory, in_ledger, key));
  if (KeyedDigest({.sha256 = files_}, key) == in_ledger->files) return checks;
  return Damaged(directory, "it was exchanged while it was opened");
}

absl::StatusOr<std::vector<FileCheck>> Dataset::ChecksOfOpened(
    const Digest& files, const Digest& key) const {
  std::vector<Storage::Part> places = storage_->parts;
  places.push_back({storage_->directory, files});
  std::vector<FileCheck> checks;
  for (const Storage::Part& place : places) {
    std::vector<std::string> names = {"dataset.json"};
    if (storage_->in_shards && place.directory == storage_->directory)
      names.emplace_back("shards.json");
    for (const MappedFile& file : storage_->files) {
      const std::filesystem::path path(file.path());
      if (path.parent_path() == place.directory)
        names.push_back(path.filename());
    }
    DPNMF_ASSIGN_OR_RETURN(
        const std::vector<FileCheck> own,
        ChecksOfFiles(place.directory, place.files, names, key));
    checks.insert(checks.end(), own.begin(), own.end());
  }
  return checks;
}

namespace {

// Dataset::private_files
absl::StatusOr<Digest> DigestOfList(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kDigestsFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Digest{};
  DPNMF_ASSIGN_OR_RETURN(const FileContent content, ReadContent(path));
  return content.sha256;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::OpenColumns(
    const std::string& directory, const std::optional<Share>& share) {
  DPNMF_ASSIGN_OR_RETURN(StoredDescription stored, ReadDescription(directory));
  const std::filesystem::path place(directory);
  DPNMF_RETURN_IF_ERROR(CheckNotRemoved(place.parent_path().parent_path(),
                                        stored.description.name));
  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->storage_->directory = directory;
  DPNMF_ASSIGN_OR_RETURN(dataset->files_, DigestOfList(directory));
  dataset->fingerprint_ = stored.fingerprint;
  dataset->description_ = std::move(stored.description);
  DatasetDescription& description = dataset->description_;
  const bool whole_people =
      description.ratings.has_value() || description.classes.has_value();
  if (description.sums.has_value()) {
    if (share.has_value()) return Malformed("sums have no shares");
    DPNMF_RETURN_IF_ERROR(dataset->MapSums(directory));
    return dataset;
  }
  if (share.has_value() && whole_people)
    return Malformed("ratings and data with classes have no shares");
  DPNMF_ASSIGN_OR_RETURN(const Shards all, ReadShards(directory));
  const std::vector<std::uint64_t>& shards = all.columns;
  if (!shards.empty() && whole_people)
    return Damaged(directory, "ratings and data with classes have no shards");
  if (shards.empty()) {
    DPNMF_RETURN_IF_ERROR(
        dataset->MapColumns(directory, ".npy", 0, std::nullopt, share));
  }
  for (const std::uint64_t columns : shards) dataset->whole_count_ += columns;
  dataset->storage_->in_shards = !shards.empty();
  if (!all.parts.empty()) {
    dataset->parts_ = all;
    if (share.has_value())
      DPNMF_RETURN_IF_ERROR(dataset->MapParts(directory, *share));
  }
  std::uint64_t first = 0;
  for (std::size_t i = 0; all.parts.empty() && i < shards.size();
       first += shards[i++]) {
    const std::uint64_t whole = dataset->whole_count_;
    if (share.has_value() && (share->End(whole) <= first ||
                              share->Begin(whole) >= first + shards[i]))
      continue;
    DPNMF_RETURN_IF_ERROR(dataset->MapColumns(directory, ShardSuffix(i), first,
                                              shards[i], share));
  }
  if (description.classes.has_value()) {
    std::vector<std::uint64_t> shape;
    DPNMF_ASSIGN_OR_RETURN(
        dataset->labels_,
        MapArray<std::int32_t>(directory, "labels.npy", "<i4", 1,
                               &dataset->storage_->files, &shape));
  }
  if (!description.sparse) {
    const auto labels =
        LabelsProblem(description, dataset->user_count_, dataset->labels_);
    if (labels.has_value()) return Damaged(directory, *labels);
  }
  const auto problem = UserCountProblem(description, dataset->whole_count_);
  if (problem.has_value()) return Damaged(directory, *problem);
  if (share.has_value()) {
    description.users =
        description.adjacency == Adjacency::kAddRemoveOne
            ? UsersOfShare(description, dataset->in_parts(), share->count)
            : std::max<std::uint64_t>(1, dataset->user_count_);
  }
  return dataset;
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::Open(
    const std::string& directory) {
  return OpenColumns(directory, std::nullopt);
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::OpenNamed(
    const std::string& data_dir, const std::string& name) {
  const std::string directory = DatasetDirectory(data_dir, name);
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, Open(directory));
  const std::string& own = dataset->description_.name;
  if (own == name) return dataset;
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "dataset-name-differs",
      absl::StrCat("The directory ", directory, " contains the data set ", own,
                   ": rename the directory to that name, or move it out of the "
                   "data directory."));
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::OpenShare(
    const std::string& directory, const Share& share) {
  return OpenColumns(directory, share);
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::FromDense(
    DatasetDescription description, std::vector<float> values,
    std::vector<std::int32_t> labels) {
  if (description.features == 0 || values.size() % description.features != 0) {
    return Malformed("the number of values must be a multiple of `features`");
  }
  const std::uint64_t users = values.size() / description.features;
  const auto problem = UserCountProblem(description, users);
  if (problem.has_value()) return Malformed(*problem);
  if (const auto wrong = LabelsProblem(description, users, labels))
    return Malformed(*wrong);
  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->description_ = std::move(description);
  dataset->description_.sparse = false;
  dataset->user_count_ = dataset->whole_count_ = users;
  dataset->storage_->labels = std::move(labels);
  dataset->labels_ = dataset->storage_->labels;
  dataset->storage_->values = std::move(values);
  dataset->columns_ = {{.values = dataset->storage_->values.data()}};
  return dataset;
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::FromSparse(
    DatasetDescription description, std::vector<std::int64_t> indptr,
    std::vector<std::int32_t> indices, std::vector<float> values) {
  if (values.size() != indices.size())
    return Malformed("values and indices differ in length");
  if (const auto problem =
          StructureProblem(description.features, indptr, indices)) {
    return Malformed(*problem);
  }
  if (const auto problem = UserCountProblem(description, indptr.size() - 1)) {
    return Malformed(*problem);
  }
  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->description_ = std::move(description);
  dataset->description_.sparse = true;
  dataset->user_count_ = dataset->whole_count_ = indptr.size() - 1;
  Storage& storage = *dataset->storage_;
  storage.values = std::move(values);
  storage.indptr = std::move(indptr);
  storage.indices = std::move(indices);
  dataset->columns_ = {{.values = storage.values.data(),
                        .indptr = storage.indptr.data(),
                        .indices = storage.indices.data()}};
  return dataset;
}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::FromRatings(
    DatasetDescription description, std::vector<std::int64_t> indptr,
    std::vector<std::int32_t> items, std::vector<std::int32_t> units) {
  if (!description.ratings.has_value())
    return Malformed("it has no range of ratings");
  if (const auto problem = RatingsProblem(description, indptr, items, units))
    return Malformed(*problem);
  if (const auto problem = UserCountProblem(description, indptr.size() - 1)) {
    return Malformed(*problem);
  }
  std::unique_ptr<Dataset> dataset(new Dataset);
  dataset->description_ = std::move(description);
  dataset->description_.sparse = true;
  dataset->user_count_ = dataset->whole_count_ = indptr.size() - 1;
  Storage& storage = *dataset->storage_;
  storage.indptr = std::move(indptr);
  storage.indices = std::move(items);
  storage.units = std::move(units);
  dataset->columns_ = {{.indptr = storage.indptr.data(),
                        .indices = storage.indices.data(),
                        .units = storage.units.data()}};
  return dataset;
}

std::span<const float> Dataset::DenseColumn(std::uint64_t user) const {
  const Columns& columns = ColumnsOf(user);
  return std::span(
      columns.values + (user - columns.first) * description_.features,
      description_.features);
}

SparseColumn Dataset::SparseColumnOf(std::uint64_t user) const {
  const Columns& columns = ColumnsOf(user);
  const std::int64_t* const offset = columns.indptr + (user - columns.first);
  const auto count = static_cast<std::size_t>(offset[1] - offset[0]);
  return {std::span(columns.indices + offset[0], count),
          std::span(columns.values + offset[0], count)};
}

RatedItems Dataset::RatingsOf(std::uint64_t user) const {
  const Columns& columns = ColumnsOf(user);
  const std::int64_t* const offset = columns.indptr + (user - columns.first);
  const auto count = static_cast<std::size_t>(offset[1] - offset[0]);
  return {std::span(columns.indices + offset[0], count),
          std::span(columns.units + offset[0], count)};
}

DatasetFacts FactsOf(const DatasetDescription& description) {
  DatasetFacts facts;
  facts.name = description.name;
  facts.population = description.population;
  facts.features = description.features;
  facts.users = description.users;
  facts.adjacency = description.adjacency;
  facts.conversion = description.conversion;
  facts.column_bound = description.column_bound;
  facts.max_rank = static_cast<std::uint32_t>(std::min(
      {description.features, description.users, std::uint64_t{kMaxRank}}));
  facts.max_rounds = kMaxRounds;
  facts.ratings = description.ratings;
  facts.classes = description.classes;
  facts.range = description.range;
  return facts;
}

std::uint64_t UsersOfShare(const DatasetDescription& description, bool in_parts,
                           std::uint64_t count) {
  return in_parts && description.adjacency == Adjacency::kAddRemoveOne
             ? description.users
             : (description.users + count - 1) / count;
}

absl::Status CheckHasColumns(const Dataset& dataset) {
  if (!dataset.in_parts()) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "ranks-needed",
      absl::StrCat("The people of data set ", dataset.description().name,
                   " are in parts, with which only ranks can compute: give "
                   "`serve` the flag --ranks, or import all people at once."));
}

absl::StatusOr<std::vector<std::string>> DatasetNames(
    const std::string& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  const std::vector<std::string> entries =
      EntriesOf(absl::StrCat(data_dir, "/datasets"), &error);
  if (error == std::errc::no_such_file_or_directory) return names;
  if (error) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("Cannot list the data sets in ", data_dir, ": ",
                                error.message(), "."));
  }
  for (const std::filesystem::path entry : entries) {
    const std::string name = entry.filename();
    if (IsName(name) && std::filesystem::exists(entry / "dataset.json", error))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string DatasetDirectory(const std::string& data_dir,
                             const std::string& name) {
  return absl::StrCat(data_dir, "/datasets/", name);
}

}  // namespace dpnmf::curator
