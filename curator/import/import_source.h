// Data that an import reads and writes: a matrix, or ratings.
#ifndef DPNMF_CURATOR_IMPORT_IMPORT_SOURCE_H_
#define DPNMF_CURATOR_IMPORT_IMPORT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "curator/data/dataset.h"
#include "curator/data/file_digests.h"
#include "curator/import/import.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {

// For one thread.
class ImportSource {
 public:
  virtual ~ImportSource() = default;

  // Sets what the files say: the shape, and whether they are ratings.
  virtual void Describe(DatasetDescription* description) const = 0;
  // Columns; private under add or remove one.
  virtual std::uint64_t people() const = 0;
  // First entries and the sum of all entries of each of the first people:
  // "2 0 1 (sum 3)"; of sparse data the entries that are not 0 alone, with
  // their features, and "-" where a rating is missing. Before Write.
  virtual std::vector<std::string> First() const { return {}; }
  // Lines that say how the file was read; before Write.
  virtual std::vector<std::string> Understood() const { return {}; }
  // Returns the fingerprint of all data without labels, and sets `people` to
  // the fingerprints of the people (PeopleCollector::AddLine).
  virtual Digest Fingerprint(const FingerprintKey& key,
                             PeopleFingerprints* people) const = 0;
  // The same of a matrix; *columns gets the HMAC of each column, sorted
  // (fingerprint.h).
  virtual Digest FingerprintWithColumns(const FingerprintKey& key,
                                        PeopleFingerprints* people,
                                        std::vector<Digest>*) const {
    return Fingerprint(key, people);
  }
  // Rows of data that the file has, its header not counted.
  virtual std::uint64_t rows() const { return 0; }
  // People of each declared class.
  virtual std::vector<std::uint64_t> ClassSizes() const { return {}; }
  // Every file of the data set but dataset.json and people.bin. Once only,
  // last: columns are normalised in place.
  virtual absl::Status Write(const DatasetDescription& description,
                             DatasetWriter* writer) = 0;
};

// Reads and checks the files that the options name; errors as
// DatasetImport::Load. The options must have passed CheckImportOptions.
absl::StatusOr<std::unique_ptr<ImportSource>> LoadImportSource(
    const ImportOptions& options, const ImportProgress& progress);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_IMPORT_SOURCE_H_
