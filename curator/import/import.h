// From a file to a data set directory, all or nothing.
#ifndef DPNMF_CURATOR_IMPORT_IMPORT_H_
#define DPNMF_CURATOR_IMPORT_IMPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/tables/load.h"
#include "curator/data/dataset.h"
#include "curator/data/file_digests.h"
#include "curator/data/shards.h"
#include "curator/import/readers/ratings.h"

namespace dpnmf::curator {

// Users that can be declared: keeps sums of users far from overflow.
inline constexpr std::uint64_t kLargestUsersCount = std::uint64_t{1} << 40;

// Data that an import would take, for the operator's terminal only.
struct ImportPreview {
  DatasetDescription description;
  std::uint64_t people = 0;             // columns
  std::vector<std::string> understood;  // lines: how the file was read
  // First entries and the sum of the first people, as text.
  std::vector<std::string> first;
};

// A data set in a partition, and who is in it (DigestOfPeople, which says the
// partition too), as the ledger has them.
struct PeopleElsewhere {
  std::string dataset;
  Digest people{};
};

// The end of standard input, and its limit (standard_input.h).
struct StandardInputOptions {
  // Its end: rows of data, or the last line, which is none; or nobody knows.
  std::optional<std::uint64_t> expect_rows;
  std::string closing_line;  // empty: none
  bool accept_unverified_end = false;
  std::optional<std::uint64_t> max_bytes;  // not set: as much as is reasonable
  // Directory in which it is kept until it is read; empty: memory.
  std::string spool_dir;
};

struct ImportOptions {
  std::string data_dir;
  // "-": standard input, and so for `ratings`, which then has a format, too.
  std::string input;
  // Ratings, in the place of `input`: what is missing is not 0. They need
  // items_file, rating_range and users_count; users_are_rows, format, header,
  // label_columns, normalisation, column_bound and features_file are of
  // `input` alone.
  std::string ratings;
  std::string items_file;
  std::string item_features_file;  // empty: none
  std::optional<RatingScale> rating_range;
  bool drop_unlisted = false;
  // Receives refused lines, as in RatingsOptions.
  std::function<void(const absl::Status&)> refused;

  // Not read for triples, needed for all else.
  std::optional<bool> users_are_rows;
  MatrixFormat format = nullptr;     // null: "auto"
  std::optional<bool> header;        // as in LoadOptions
  std::optional<int> label_columns;  // as in LoadOptions
  std::optional<int> id_column;      // as in LoadOptions
  // Both or neither: as in LoadOptions.
  std::optional<int> class_column;
  std::vector<std::string> classes;
  // The labels are public, with the sizes of the classes.
  bool labels_public = false;
  // Under kNone alone: a declared range of all entries.
  std::optional<EntryRange> range;
  std::string columns;            // as in LoadOptions
  std::optional<char> delimiter;  // as in LoadOptions
  std::optional<char> decimal;    // as in LoadOptions
  bool sum_rows = false;          // as in LoadOptions
  std::string array;              // as in LoadOptions

  // Partitions of the population's people, as the ledger has or will have them,
  // and the one that all people of the file are in (empty: any; runs are then
  // charged to all). The ids are in the column partitions.by.
  PeoplePartitions partitions;
  std::string partition;

  std::string name;
  std::string population;
  double epsilon = 0;
  double delta = 0;
  Conversion conversion = Conversion::kRdp;
  Adjacency adjacency = Adjacency::kReplaceOne;
  // Not set: kL2 (kNone for ratings).
  std::optional<Normalisation> normalisation;
  // Under kNone only, and needed there.
  std::optional<double> column_bound;
  // Feature names, one a line. Needed for triples, else empty if there are
  // none.
  std::string features_file;
  bool names_from_header = false;  // as in LoadOptions; without features_file
  // Public weights of the features (feature_weights.h); empty: none.
  std::string feature_weights_file;
  // N0 under add or remove one (needed). Else N: needed for triples, and
  // checked if given.
  std::optional<std::uint64_t> users_count;
  bool is_public = false;
  // The arrays are written in so many ranges of columns
  // (curator/data/shards.h); not set: in one. Not for ratings and classes.
  std::optional<std::uint64_t> shards;
  // `input` is what dpnmf-sums printed (people_sums.h).
  bool are_sums = false;
  // `input` has these columns of the data set alone; for ImportPart (part.h).
  std::optional<PartRange> shard_of;
  // The data set is made of the parts that are known here; what was declared
  // must be theirs (TakeDeclarationOfParts).
  bool join_parts = false;
  // Rows that stand in two parts, or in two partitions, are of different
  // people.
  bool accept_equal_rows = false;

  // Receives notes on probable mistakes, as in LoadOptions.
  std::function<void(const std::string& sentence)> note;
  StandardInputOptions standard_input;
  // Set by LoadImportSource: where the bytes of `input` or `ratings` are, which
  // is then a name for sentences alone, and where lines wait to be sorted.
  // Empty: under their names; in memory.
  std::string place, spool_dir;

  // For ImportPart: given the first people as they would be stored, before
  // normalisation and before anything is written.
  std::function<void(const ImportPreview& preview)> preview;
  // Asked while the file is read and before the next step; once true, the
  // import ends with CANCELLED "cancelled" and leaves nothing behind.
  std::function<bool()> interrupted;
};

// Takes the stage ("reading", "checking", "writing") and how far it is.
using ImportProgress = std::function<void(
    std::string_view stage, std::uint64_t done, std::uint64_t total)>;

// The flags, without looking at any file but where --users is missing: then the
// file's first bytes, for "input-ratings". Codes of CheckDeclaration
// (curator/data/description.h); "users-orientation-missing",
// "features-missing", "users-count-missing", "users-count-out-of-range",
// "column-bound-missing", "label-columns-out-of-range",
// "id-column-out-of-range", "classes-missing" (class_column, classes or
// labels_public without the others), "class-column-mixed"; "input-missing"
// (neither `input` nor `ratings`), "ratings-mixed" (options of both),
// "items-missing", "rating-range-missing"; "shards-out-of-range";
// "shard-of-malformed"; those of CheckStandardInput (standard_input.h) and
// CheckPartitionOptions (partitions.h).
absl::Status CheckImportOptions(const ImportOptions& options);

// A table that was published without privacy and shares people with the data.
struct SharedTable {
  Digest label_hash{};  // as the ledger knows the label
  std::uint64_t ids = 0, rows = 0;
};

// Facts of the ledger on people, read while the lock of imports is held.
struct LedgerFacts {
  // Populations about which anything was ever released. Not set: all.
  std::optional<std::vector<std::string>> used_populations = std::nullopt;
  // Data sets that the ledger has in other partitions of the population, whose
  // people must be known. Needed with ImportOptions::partition.
  std::optional<std::vector<PeopleElsewhere>> elsewhere = std::nullopt;
  // Labels of published tables whose people the operator accepts.
  std::vector<Digest> accepted_tables = {};
};

// An import in four steps: Load, Recognise, Draft, Publish, each once and in
// this order; a step after another, or after one that failed, is refused
// (INTERNAL). The caller asks the ledger after Recognise, which takes the lock
// of imports, and writes its rows before Publish. Whatever a step
// refuses, and a process killed at any point, leaves no data set behind; what a
// killed import left unnamed is removed by the next one.
//
// Sentences may quote private data: for the operator's terminal only. For one
// thread.
class DatasetImport {
 public:
  // Checks the options; refuses a name in use (ALREADY_EXISTS "dataset-exists";
  // without a data_dir no name is looked for); loads and validates the file
  // (errors of LoadMatrix, or of LoadItemTable and LoadRatings); refuses more
  // users than LargestUserCount (INVALID_ARGUMENT "users-too-many"). Writes
  // nothing and takes no lock.
  static absl::StatusOr<DatasetImport> Load(ImportOptions options,
                                            ImportProgress progress = {});
  DatasetImport(DatasetImport&&) noexcept;
  ~DatasetImport();

  // The first people as they would be stored, before normalisation; before
  // Draft.
  ImportPreview Preview() const;
  const DatasetDescription& description() const;

  // Takes the lock of imports until this object ends, removes what killed
  // imports left, and makes the fingerprints of the people
  // (dataset_people.h). FAILED_PRECONDITION "import-running" if another process
  // imports here; UNAVAILABLE "storage-failed"; errors of SharedTables.
  absl::Status Recognise();
  // Published tables that share people with the data; after Recognise.
  const std::vector<SharedTable>& shared_tables() const;

  // Refuses data known under another population (FAILED_PRECONDITION
  // "data-known"; of removed data sets as well, if that population is used) or,
  // in any case, in another partition; labels that are public where those of
  // another data set of the population are private, or the reverse
  // (INVALID_ARGUMENT "labels-public-mismatch"); people of another partition
  // (CheckInOnePartition), and people of a published table that is not accepted
  // ("people-published"). Then normalises, writes and syncs a temporary
  // directory in DATA_DIR/datasets, and returns the keyed digests of its files.
  // `note` is told how many people are people of another population too.
  absl::StatusOr<DatasetDigests> Draft(const LedgerFacts& facts);
  // The directory with the data set as it would be published; after Draft.
  const std::string& draft_directory() const;

  // Gives the directory its name and syncs again.
  absl::Status Publish();

 private:
  struct State;
  explicit DatasetImport(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// FAILED_PRECONDITION "people-published". Shared ids are no chance: the
// sentence then offers no --accept-overlap.
absl::Status PeoplePublished(std::uint64_t ids, std::uint64_t rows);

// The lock that an import holds; makes the directory if it is missing.
// FAILED_PRECONDITION "import-running"; UNAVAILABLE "storage-failed".
absl::StatusOr<FileLock> TakeImportLock(const std::string& data_dir);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_IMPORT_H_
