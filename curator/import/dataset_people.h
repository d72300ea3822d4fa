// The fingerprints of the people of a data set:
// DATA_DIR/datasets/NAME/people.bin. Private, as the data are.
#ifndef DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
#define DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/import/import.h"
#include "curator/import/people.h"

namespace dpnmf::curator {

// Of the data set in that directory. NOT_FOUND "people-missing" (it was
// imported by an earlier version; the sentence says what to do), DATA_LOSS
// "people-damaged"; errors of ReadDescription.
absl::StatusOr<PeopleFingerprints> ReadPeople(const std::string& directory);

// `of`: the fingerprint of the whole data set. UNAVAILABLE "storage-failed".
absl::Status WritePeople(const std::string& directory,
                         const PeopleFingerprints& people, const Digest& of);

// Reads the file that the data set `options.name` was imported from once more,
// and writes the fingerprints of its people. Of `options`, data_dir, name and
// what says how the file is read must be given; the rest is taken from the data
// set. Ids that are known stay known. FAILED_PRECONDITION "people-differ" if it
// is not that file; otherwise errors as Import. Returns what was written.
absl::StatusOr<PeopleFingerprints> ImportPeople(
    ImportOptions options, const ImportProgress& progress = {});

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_DATASET_PEOPLE_H_
