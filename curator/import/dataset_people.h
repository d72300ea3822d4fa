// The fingerprints of the people of a data set:
// DATA_DIR/datasets/NAME/people.bin. Private, as the data are.
#ifndef DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
#define DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/import/import.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {

// Reads the people of the data set in that directory. NOT_FOUND
// "people-missing" (the file was lost; the sentence says what to do), DATA_LOSS
// "people-damaged", also if they are not the people with whom the data set was
// put into its partition; errors of ReadDescription.
absl::StatusOr<PeopleFingerprints> ReadPeople(const std::string& directory);

// Reads the file that the data set `options.name` was imported from once more,
// and writes the fingerprints of its people. Of `options`, data_dir, name and
// what says how the file is read must be given; the rest is taken from the data
// set. Ids that are known stay known, and those of a data set in a partition
// must be the same. People of a published table are refused
// as at import, and before_publish is called before anything is written, with
// the keyed digest of the new file alone.
// FAILED_PRECONDITION "people-differ" if it is not that file; otherwise errors
// as Import. Returns what was written.
absl::StatusOr<PeopleFingerprints> ImportPeople(
    ImportOptions options, const ImportProgress& progress = {});

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

// People that must not be imported under a guarantee: asks options.published
// about each table that shares people with these. FAILED_PRECONDITION
// "people-published"; DATA_LOSS "people-damaged" (another key made a record);
// errors of ReadPublished.
absl::Status CheckNotPublished(const ImportOptions& options,
                               const PeopleFingerprints& people);
// Each of these labels, which a ledger knows, must have a record. DATA_LOSS
// "publications-missing"; errors of ReadPublished.
absl::Status CheckRecords(const std::string& data_dir,
                          const std::vector<Digest>& labels);
// DATA_LOSS "people-damaged" if another key made one of them; `what` they are.
absl::Status CheckSameKey(const PeopleFingerprints& a,
                          const PeopleFingerprints& b, std::string_view what);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
