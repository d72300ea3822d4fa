#include "curator/import/import.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/npy.h"
#include "curator/data/description.h"
#include "curator/import/fingerprint.h"
#include "curator/import/formats.h"

namespace dpnmf::curator {
namespace {

constexpr char kDraftPrefix[] = ".import-";
// More than any population; keeps sums of users far from overflow.
constexpr std::uint64_t kLargestUsersCount = std::uint64_t{1} << 40;

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

DatasetDescription DeclarationOf(const ImportOptions& options) {
  DatasetDescription description;
  description.name = options.name;
  description.population = options.population;
  description.users = options.users_count.value_or(0);
  description.normalisation = options.normalisation;
  description.column_bound = options.column_bound.value_or(1);
  description.adjacency = options.adjacency;
  description.conversion = options.conversion;
  description.epsilon = options.epsilon;
  description.delta = options.delta;
  description.is_public = options.is_public;
  return description;
}

absl::Status CheckNameIsFree(const ImportOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(
      DatasetDirectory(options.data_dir, options.name), error);
  if (!std::filesystem::exists(status)) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kAlreadyExists, "dataset-exists",
      absl::StrCat(
          "a data set named ", options.name,
          " exists already; choose another --name (data sets never change)"));
}

absl::StatusOr<LoadedMatrix> Load(const ImportOptions& options,
                                  std::vector<std::string> feature_names,
                                  const ImportProgress& progress) {
  LoadOptions load;
  load.format = options.format;
  load.header = options.header;
  load.label_columns = options.label_columns;
  load.feature_names = std::move(feature_names);
  load.interrupted = options.interrupted;
  load.note = options.note;
  // N0 is not the number of columns.
  if (options.adjacency == Adjacency::kReplaceOne)
    load.users_count = options.users_count;
  if (progress) {
    load.progress = [&](std::uint64_t done, std::uint64_t total) {
      progress("reading", done, total);
    };
  }
  return LoadMatrix(options.input, options.users_are_rows.value_or(true), load);
}

absl::Status CheckNotInterrupted(const ImportOptions& options) {
  if (!options.interrupted || !options.interrupted()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "Interrupted; nothing was imported.");
}

absl::Status CheckUserCount(const DatasetDescription& description,
                            std::uint64_t users) {
  const std::uint64_t largest = LargestUserCount(FactsOf(description));
  if (users <= largest) return absl::OkStatus();
  return Refused(
      "users-too-many",
      absl::StrCat("the file has ", users, " users and a declared count of ",
                   description.users, " leaves room for ", largest,
                   "; raise --users-count"));
}

absl::Status CheckPopulationOf(const ImportOptions& options,
                               const Digest& fingerprint) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(options.data_dir));
  for (const std::string& name : names) {
    DPNMF_ASSIGN_OR_RETURN(
        const StoredDescription stored,
        ReadDescription(DatasetDirectory(options.data_dir, name)));
    const std::string& population = stored.description.population;
    if (stored.fingerprint != fingerprint || population == options.population)
      continue;
    return Refusal(absl::StatusCode::kFailedPrecondition, "data-known",
                   absl::StrCat("the same data are known as data set ", name,
                                " of population ", population,
                                "; people have one budget: say --population ",
                                population));
  }
  return absl::OkStatus();
}

absl::Status ImportRunning() {
  return Refused("import-running",
                 "another import into this data directory is running; "
                 "try again when it has ended");
}

// What imports that were killed left unnamed. The lock is held: nobody writes
// them.
void RemoveDrafts(const std::string& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> drafts;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().filename().string().rfind(kDraftPrefix, 0) == 0) {
      drafts.push_back(entry.path());
    }
  }
  for (const auto& draft : drafts) std::filesystem::remove_all(draft, error);
}

template <typename T>
absl::Status WriteArray(const std::string& path, const std::string& dtype,
                        std::vector<std::uint64_t> shape,
                        const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = shape.size() == 2;
  header.shape = std::move(shape);
  return WriteDurably(path, NpyHeaderBytes(header),
                      std::as_bytes(std::span(values)));
}

absl::Status WriteArrays(const std::string& directory,
                         const LoadedMatrix& matrix) {
  if (!matrix.sparse) {
    return WriteArray(directory + "/values.npy", "<f4",
                      {matrix.features, matrix.users}, matrix.values);
  }
  const std::uint64_t count = matrix.values.size();
  DPNMF_RETURN_IF_ERROR(
      WriteArray(directory + "/data.npy", "<f4", {count}, matrix.values));
  DPNMF_RETURN_IF_ERROR(
      WriteArray(directory + "/indices.npy", "<i4", {count}, matrix.indices));
  return WriteArray(directory + "/indptr.npy", "<i8", {matrix.users + 1},
                    matrix.indptr);
}

absl::Status WriteFeatureNames(const std::string& directory,
                               const std::vector<std::string>& names) {
  if (names.empty()) return absl::OkStatus();
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, name, "\n");
  return WriteDurably(directory + "/features.txt", text);
}

}  // namespace

absl::Status CheckImportOptions(const ImportOptions& options) {
  DatasetDescription declaration = DeclarationOf(options);
  const bool has_bound = options.column_bound.has_value();
  if (options.normalisation == Normalisation::kNone && !has_bound) {
    return Refused("column-bound-missing",
                   "--normalise none needs --column-bound C: a length that you "
                   "declare without "
                   "looking at the data; longer columns are scaled down to it");
  }
  DPNMF_RETURN_IF_ERROR(CheckDeclaration(declaration));
  const bool declared =
      options.format != nullptr && options.format->declares_people;
  if (!declared && !options.users_are_rows.has_value()) {
    return Refused("users-orientation-missing",
                   "say --users rows or --users columns: what stands for a "
                   "person in the file");
  }
  if (declared && options.features_file.empty()) {
    return Refused("features-missing",
                   absl::StrCat(std::string(options.format->name),
                                " need --features FILE: the items must be "
                                "declared, for a list taken from the data "
                                "would tell about people"));
  }
  const bool add_remove = options.adjacency == Adjacency::kAddRemoveOne;
  if ((add_remove || declared) && !options.users_count.has_value()) {
    return Refused(
        "users-count-missing",
        add_remove
            ? std::string(
                  "add_remove_one needs --users-count N0: a public number that "
                  "stands for the private number of users")
            : absl::StrCat(std::string(options.format->name),
                           " need --users-count N: the number of users must "
                           "be declared, for users without a triple do not "
                           "appear"));
  }
  if (options.users_count.has_value() &&
      !(*options.users_count >= 1 &&
        *options.users_count <= kLargestUsersCount)) {
    return Refused("users-count-out-of-range",
                   "`users_count` must be 1 to 2^40");
  }
  if (options.label_columns.has_value() && *options.label_columns < 0) {
    return Refused("label-columns-out-of-range",
                   "`label_columns` must be 0 or more");
  }
  return absl::OkStatus();
}

absl::StatusOr<DatasetDescription> Import(const ImportOptions& options,
                                          const ImportProgress& progress) {
  DPNMF_RETURN_IF_ERROR(CheckImportOptions(options));
  DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  std::vector<std::string> feature_names;
  if (!options.features_file.empty()) {
    DPNMF_ASSIGN_OR_RETURN(feature_names,
                           LoadFeatureNames(options.features_file));
  }
  DPNMF_ASSIGN_OR_RETURN(LoadedMatrix matrix,
                         Load(options, feature_names, progress));

  StoredDescription stored{.description = DeclarationOf(options)};
  DatasetDescription& description = stored.description;
  description.features = matrix.features;
  description.sparse = matrix.sparse;
  if (options.adjacency == Adjacency::kReplaceOne)
    description.users = matrix.users;
  DPNMF_RETURN_IF_ERROR(CheckUserCount(description, matrix.users));

  const std::string parent = absl::StrCat(options.data_dir, "/datasets");
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(parent));
  DPNMF_ASSIGN_OR_RETURN(const FileLock lock,
                         FileLock::Take(parent + "/.lock", ImportRunning()));
  RemoveDrafts(parent);
  if (progress) progress("checking", 0, 1);
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(options.data_dir));
  stored.fingerprint = FingerprintOf(matrix, key);
  DPNMF_RETURN_IF_ERROR(CheckPopulationOf(options, stored.fingerprint));

  DPNMF_RETURN_IF_ERROR(CheckNotInterrupted(options));
  if (progress) progress("writing", 0, 1);
  NormaliseColumns(&matrix, description.normalisation,
                   description.column_bound);
  DPNMF_ASSIGN_OR_RETURN(TemporaryDirectory draft,
                         TemporaryDirectory::Create(parent, kDraftPrefix));
  DPNMF_RETURN_IF_ERROR(WriteArrays(draft.path(), matrix));
  DPNMF_RETURN_IF_ERROR(WriteFeatureNames(draft.path(), feature_names));
  DPNMF_RETURN_IF_ERROR(
      WriteDurably(draft.path() + "/dataset.json", ToJson(stored)));
  DPNMF_RETURN_IF_ERROR(CheckNotInterrupted(options));
  if (options.before_publish)
    DPNMF_RETURN_IF_ERROR(options.before_publish(description));
  DPNMF_RETURN_IF_ERROR(CheckNameIsFree(options));
  DPNMF_RETURN_IF_ERROR(
      draft.Publish(DatasetDirectory(options.data_dir, options.name)));
  return description;
}

}  // namespace dpnmf::curator
