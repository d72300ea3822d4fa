// The fingerprints of the people of a data set:
// DATA_DIR/datasets/NAME/people.bin. Private, as the data are.
#ifndef DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
#define DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "curator/import/import.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {

// Reads the people of the data set in that directory. NOT_FOUND
// "people-missing" (the file was lost; the sentence says what to do), DATA_LOSS
// "people-damaged", also if they are not the people with whom the data set was
// put into its partition; errors of ReadDescription.
absl::StatusOr<PeopleFingerprints> ReadPeople(const std::string& directory);

// People of a data set that is there, recognised once more from the file that
// it was imported from, and not yet written.
struct PeopleToRecord {
  DatasetDescription description;
  std::string directory;
  PeopleFingerprints people;
  Digest digest{};  // keyed, of the file that RecordPeople writes
  std::vector<SharedTable> tables;
  std::string bytes;  // of that file
  FileLock lock;      // of imports
};

// Reads the file that the data set `options.name` was imported from once more.
// Of `options`, data_dir, name and what says how the file is read must be
// given; the rest is taken from the data set. Ids that are known stay known,
// and those of a data set in a partition must be the same. FAILED_PRECONDITION
// "people-differ" if it is not that file; DATA_LOSS "dataset-damaged" if the
// directory holds a data set of another name; otherwise errors as of
// DatasetImport.
absl::StatusOr<PeopleToRecord> RecognisePeople(
    ImportOptions options, const ImportProgress& progress = {});
// Writes them, durably. FAILED_PRECONDITION "people-published" unless all of
// `tables` are accepted (by label); UNAVAILABLE "storage-failed".
absl::Status RecordPeople(const PeopleToRecord& recognised,
                          const std::vector<Digest>& accepted_tables);

// People of a table that was published without privacy. Who is imported later
// has no guarantee either.
struct PublishedPeople {
  Digest label_hash{};  // as the ledger knows the label
  PeopleFingerprints people;
};

// DATA_DIR/publications/LABEL_HASH.people, durable on return.
absl::Status RecordPublished(const std::string& data_dir,
                             const PublishedPeople& published);
// All that were recorded, by label. DATA_LOSS "people-damaged", UNAVAILABLE
// "storage-failed".
absl::StatusOr<std::vector<PublishedPeople>> ReadPublished(
    const std::string& data_dir);

// Published tables that share people with these. DATA_LOSS "people-damaged"
// (another key made a record); errors of ReadPublished.
absl::StatusOr<std::vector<SharedTable>> SharedTables(
    const std::string& data_dir, const PeopleFingerprints& people);
// A guarantee cannot begin after everything was published: FAILED_PRECONDITION
// "people-published" unless the operator accepts each table (by label).
absl::Status CheckAccepted(const std::vector<SharedTable>& tables,
                           const std::vector<Digest>& accepted);
// Each of these labels, which a ledger knows, must have a record. DATA_LOSS
// "publications-missing"; errors of ReadPublished.
absl::Status CheckRecords(const std::string& data_dir,
                          const std::vector<Digest>& labels);
// DATA_LOSS "people-damaged" if another key made one of them; `what` they are.
absl::Status CheckSameKey(const PeopleFingerprints& a,
                          const PeopleFingerprints& b, std::string_view what);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
