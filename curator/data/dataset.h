// A data set as it lies on the curator's disk: mapped arrays and its public
// description. Private: nothing here has a wire codec but the description.
//
// DATA_DIR/datasets/NAME/
//   dataset.json   the public description and the keyed fingerprint
//   values.npy     dense: float32, shape (D, N), Fortran order: a column a user
//   data.npy indices.npy indptr.npy
//                  sparse: CSC, float32, int32 and int64
//   features.txt   names of the features, one a line, if they were declared;
//                  public if dataset.json says so
//   weights.txt    public weights of the features, one a line, if declared
//   labels.npy     of dense data with classes: int32, of each person the index
//                  of the declared class: private
//   people.bin     keyed fingerprints of the people
//                  (curator/import/dataset_people.h): private
//   digests.json   keyed digests of the other files
//                  (curator/data/file_digests.h): private
//   shards.json    of a data set in ranges of columns (curator/data/shards.h):
//                  values.S.npy, respectively data.S.npy, indices.S.npy and
//                  indptr.S.npy stand in the place of the arrays above; of one
//                  in parts the arrays are in DATA_DIR/parts/NAME/FIRST-LAST,
//                  on the machine that imported the part
//                  (curator/import/part.h)
//   sums.npy       of sums that were made elsewhere, in the place of the
//                  arrays: the number of people and their sums, int64
//                  (curator/import/people_sums.h): private
// and of ratings, where a missing entry is not 0:
//   ratings.npy indices.npy indptr.npy
//                  int32 units of kRatingUnit, int32 and int64, by person
//   items.csv      ids, names and public features
//   (curator/import/readers/item_table.h) users.txt      ids of people
//   (curator/data/rated_users.h): private
//
// The arrays hold V as it is used: normalised column by column at import.
// Ratings are held as they are.
#ifndef DPNMF_CURATOR_DATA_DATASET_H_
#define DPNMF_CURATOR_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/privacy/people_partitions.h"
#include "common/privacy/run_plan.h"
#include "common/privacy/stored_sums.h"
#include "curator/data/file_digests.h"
#include "curator/data/shards.h"

namespace dpnmf::curator {

enum class Normalisation { kL2, kNone };

// Limits of data sets of ratings. With these a person's sum of ratings, and n
// times a rating, is below 2^50 units.
inline constexpr std::int32_t kLargestRatingUnits = 1'000'000'000;  // |rating|
inline constexpr std::uint64_t kMostRatingsOfAPerson = 1'000'000;
inline constexpr std::uint32_t kMostItemFeatures = 1000;

// Declaration of the operator. Public.
struct DatasetDescription {
  std::string name;            // [a-z0-9][a-z0-9._-]{0,63}
  std::string population;      // the same alphabet
  std::uint64_t features = 0;  // D
  std::uint64_t users = 0;     // N, or the declared N0 under add_remove_one
  Normalisation normalisation = Normalisation::kL2;
  double column_bound = 1;  // c_v
  Adjacency adjacency = Adjacency::kReplaceOne;
  Conversion conversion = Conversion::kRdp;
  double epsilon = 0;  // of the population's cap
  double delta = 0;
  bool is_public = false;
  bool sparse = false;
  std::optional<RatingScale> ratings = std::nullopt;  // of ratings alone
  // There is a features.txt, which is public.
  bool named_features = false;
  std::optional<ClassFacts> classes = std::nullopt;
  std::optional<EntryRange> range = std::nullopt;
  // weights.txt has public weights of the features, which every column was
  // multiplied by before it was normalised
  // (curator/import/readers/feature_weights.h).
  bool weighted_features = false;
  // It came through a pipe, and the operator did not say how to recognise the
  // end: people may be missing.
  bool unverified_end = false;
  // The data set is sums over people and no columns (Dataset::stored_sums).
  std::optional<StoredSums> sums = std::nullopt;
  // The population's, and the one that all people of this data set are in;
  // empty: they may be in any.
  PeoplePartitions partitions = {};
  std::string partition = {};
  // Digest of the people of a data set in a partition, as the ledger has it
  // beside the partition (DigestOfPeople, curator/import/people/people.h).
  // Private.
  Digest people = {};
};

// Facts for planning; max_rank = min(D, N, kMaxRank).
DatasetFacts FactsOf(const DatasetDescription& description);

// Non-negative entries of one user, |v_n| <= c_v up to float rounding (the gate
// of curator/factor makes the bound exact).
struct SparseColumn {
  std::span<const std::int32_t> rows;  // ascending
  std::span<const float> values;
};

// The ratings of one person: items ascending, each once; the ratings in units
// of kRatingUnit, within the declared range.
struct RatedItems {
  std::span<const std::int32_t> items;
  std::span<const std::int32_t> units;
};

// One of `count` ranges of columns: of N columns from floor(N index / count) to
// floor(N (index + 1) / count).
struct Share {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::uint64_t Begin(std::uint64_t columns) const;
  std::uint64_t End(std::uint64_t columns) const;
};

// Immutable; safe to read from any thread.
class Dataset {
 public:
  // Opens DATA_DIR/datasets/NAME. A data set in parts has no columns then: it
  // is for OpenShare. NOT_FOUND "dataset-unknown", DATA_LOSS "dataset-damaged"
  // (shapes, types or description do not fit), FAILED_PRECONDITION
  // "dataset-removed" (its name is that of a removed data set).
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(
      const std::string& directory);
  // The data set of this name below DATA_DIR. Also FAILED_PRECONDITION
  // "dataset-name-differs": the directory has another name than its data set,
  // so that two could go by one name.
  static absl::StatusOr<std::unique_ptr<Dataset>> OpenNamed(
      const std::string& data_dir, const std::string& name);
  // A share of its columns as a data set of their own, which may be empty; its
  // description has so many users, or under add_remove_one UsersOfShare. Of a
  // data set in shards, files without a column of the share need not be there.
  // The share of a data set in parts is one of whole parts, as far as there are
  // as many: share i of C begins i T / C parts into the T parts.
  // INVALID_ARGUMENT "dataset-malformed" for ratings and classes.
  static absl::StatusOr<std::unique_ptr<Dataset>> OpenShare(
      const std::string& directory, const Share& share);

  // An in-memory data set, for tests and for `factorize`. values: D x N
  // column-major. The description's features and (under replace_one) users must
  // fit; INVALID_ARGUMENT otherwise. `labels`: one a column, if there are
  // classes.
  static absl::StatusOr<std::unique_ptr<Dataset>> FromDense(
      DatasetDescription description, std::vector<float> values,
      std::vector<std::int32_t> labels = {});
  static absl::StatusOr<std::unique_ptr<Dataset>> FromSparse(
      DatasetDescription description, std::vector<std::int64_t> indptr,
      std::vector<std::int32_t> indices, std::vector<float> values);
  // Makes a data set of ratings, by person as FromSparse: the description must
  // have a scale, and every rating lies in it. A person may have none, and at
  // most kMostRatingsOfAPerson.
  static absl::StatusOr<std::unique_ptr<Dataset>> FromRatings(
      DatasetDescription description, std::vector<std::int64_t> indptr,
      std::vector<std::int32_t> items, std::vector<std::int32_t> units);

  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const DatasetDescription& description() const { return description_; }
  std::uint64_t features() const { return description_.features; }
  // Columns really held; private under add_remove_one.
  std::uint64_t private_user_count() const { return user_count_; }
  // Columns of the whole data set, also if this is a share or is in parts.
  std::uint64_t private_whole_count() const { return whole_count_; }
  // The columns lie in parts, maybe on several machines: only shares have any.
  bool in_parts() const { return !parts_.columns.empty(); }
  // Keyed, of its dataset.json; zeros if it is in memory alone.
  const Digest& private_fingerprint() const { return fingerprint_; }
  // SHA-256 of its digests.json (file_digests.h) as it was opened, or zeros if
  // there is none: two processes that have the same, and whose files have these
  // digests, have the same people and cut the columns alike.
  const Digest& private_files() const { return files_; }
  // Checks of all its files against what the ledger has of it. Errors of
  // ChecksOfDataset; DATA_LOSS "dataset-damaged" also if digests.json was
  // another one when the data set was opened.
  absl::StatusOr<std::vector<FileCheck>> Checks(
      const std::optional<DatasetDigests>& in_ledger, const Digest& key) const;
  // Checks of the files that this process has opened, maybe a share's:
  // digests.json of its directory has that keyed digest. Errors of
  // ChecksOfFiles.
  absl::StatusOr<std::vector<FileCheck>> ChecksOfOpened(
      const Digest& files, const Digest& key) const;
  // Nonzeros of all columns of a sparse data set in parts.
  std::uint64_t private_part_nonzeros() const { return parts_.nonzeros; }
  bool sparse() const { return description_.sparse; }
  // S_v and S_G of data sets without columns (people_sums.h); else empty.
  std::span<const std::int64_t> stored_sums() const { return stored_sums_; }

  // Dense only. D values.
  std::span<const float> DenseColumn(std::uint64_t user) const;
  // Index of the class of each column; empty without classes.
  std::span<const std::int32_t> labels() const { return labels_; }
  // Sparse only.
  SparseColumn SparseColumnOf(std::uint64_t user) const;
  // Data sets of ratings only (description().ratings).
  RatedItems RatingsOf(std::uint64_t user) const;

 private:
  struct Storage;
  // Consecutive columns that lie in one set of arrays.
  struct Columns {
    std::uint64_t first = 0;  // of the data set
    const float* values = nullptr;
    const std::int64_t* indptr = nullptr;  // of the first column
    const std::int32_t* indices = nullptr;
    const std::int32_t* units = nullptr;
  };
  Dataset();
  static absl::StatusOr<std::unique_ptr<Dataset>> OpenColumns(
      const std::string& directory, const std::optional<Share>& share);
  absl::Status MapColumns(const std::string& directory,
                          const std::string& suffix, std::uint64_t whole_first,
                          std::optional<std::uint64_t> columns,
                          const std::optional<Share>& share);
  absl::Status MapSums(const std::string& directory);
  absl::Status MapParts(const std::string& directory, const Share& share);
  std::uint64_t BeginOf(const Share& share) const;
  const Columns& ColumnsOf(std::uint64_t user) const {
    return columns_.size() == 1 ? columns_.front() : Search(user);
  }
  const Columns& Search(std::uint64_t user) const;
  DatasetDescription description_;
  std::uint64_t user_count_ = 0;
  std::uint64_t whole_count_ = 0;
  Shards parts_;  // of a data set in parts alone
  Digest fingerprint_{}, files_{};
  std::vector<Columns> columns_;  // ascending; the first begins at 0
  std::span<const std::int32_t> labels_;
  std::span<const std::int64_t> stored_sums_;
  std::unique_ptr<Storage> storage_;
};

// The `users` of a share's description under add_remove_one, for one of `count`
// shares: LargestUserCount of it is the share's room. The room follows from
// what was declared and is enough however many people there are. The sizes of
// parts are private, so a share of parts has room for everybody; other shares
// divide the columns evenly. Under replace_one the mean over all shares,
// rounded up.
std::uint64_t UsersOfShare(const DatasetDescription& description, bool in_parts,
                           std::uint64_t count);

// FAILED_PRECONDITION "ranks-needed" of a data set in parts: this process has
// none of its columns.
absl::Status CheckHasColumns(const Dataset& dataset);

// Names of the data sets below DATA_DIR, sorted. Half-written ones are not
// seen.
absl::StatusOr<std::vector<std::string>> DatasetNames(
    const std::string& data_dir);
std::string DatasetDirectory(const std::string& data_dir,
                             const std::string& name);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_DATASET_H_
