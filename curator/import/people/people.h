// Recognises people, not whole data sets: one keyed fingerprint a person.
#ifndef DPNMF_CURATOR_IMPORT_PEOPLE_PEOPLE_H_
#define DPNMF_CURATOR_IMPORT_PEOPLE_PEOPLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "curator/import/people/fingerprint.h"

namespace dpnmf::curator {

struct PeopleFingerprints {
  Digest key_check{};  // CheckOfKey of the key that made them
  // Fingerprints of the ids, if the operator declared ids, and of all rows.
  std::vector<PersonFingerprint> ids;   // ascending, different
  std::vector<PersonFingerprint> rows;  // ascending, different; rows of zeros
                                        // are left out
  bool has_ids = false;
  friend bool operator==(const PeopleFingerprints&,
                         const PeopleFingerprints&) = default;
};

// Fingerprints of two keys have nothing in common, whoever the people are: what
// is compared must agree in this first. Says nothing about the key.
Digest CheckOfKey(const FingerprintKey& key);

// Fingerprint of the numbers as the file has them, before any normalisation.
// The order of people does not matter. A row of zeros has no fingerprint (all
// bytes 0).
PersonFingerprint FingerprintOfRow(std::span<const float> row,
                                   const FingerprintKey& key);
// The same of a row whose other entries are 0; `columns` from 0, ascending.
PersonFingerprint FingerprintOfRow(std::span<const std::int32_t> columns,
                                   std::span<const float> values,
                                   const FingerprintKey& key);
// Blanks around the id do not count. An empty id has no fingerprint.
PersonFingerprint FingerprintOfId(std::string_view id,
                                  const FingerprintKey& key);

// Puts the fingerprints of people together, in any order. One person may have
// several rows (AddLine). 16 bytes a person and row. Not thread-safe.
class PeopleCollector {
 public:
  explicit PeopleCollector(const FingerprintKey& key) : key_(key) {}

  void AddRow(std::span<const float> row) {
    Add(FingerprintOfRow(row, key_), &people_.rows);
  }
  void AddRow(std::span<const std::int32_t> columns,
              std::span<const float> values) {
    Add(FingerprintOfRow(columns, values, key_), &people_.rows);
  }
  // A line of a file: its entries, with and without the class at its place; and
  // all its numbers, with and without id and class. Whichever of them another
  // reading of the line takes for entries, the person is recognised.
  void AddLine(std::span<const float> line, const LinesOfPeople& fields);
  void AddRow(const PersonFingerprint& row) { Add(row, &people_.rows); }
  void AddId(std::string_view id) {
    people_.has_ids = true;
    Add(FingerprintOfId(id, key_), &people_.ids);
  }
  // Once only, last.
  PeopleFingerprints Finish();

 private:
  static void Add(const PersonFingerprint& fingerprint,
                  std::vector<PersonFingerprint>* kind) {
    if (fingerprint != PersonFingerprint{}) kind->push_back(fingerprint);
  }

  const FingerprintKey key_;
  PeopleFingerprints people_;
};

// How many fingerprints two groups of people have in common.
struct SharedPeople {
  std::uint64_t ids = 0;
  std::uint64_t rows = 0;

  bool any() const { return ids + rows > 0; }
};
SharedPeople SharedBy(const PeopleFingerprints& a, const PeopleFingerprints& b);

// Who the people are and where, in one number: SHA-256 of population and
// partition, of the fingerprint of their data set and of those of their ids.
// The fingerprints are keyed, so without the key nobody can test who the people
// are. A directory that says another partition has another digest. Rows do not
// count: what of a line is one depends on how a file is read.
Digest DigestOfPeople(const PeopleFingerprints& people,
                      const Digest& fingerprint, std::string_view population,
                      std::string_view partition);

// A file of them, which belongs to the thing with that digest. Private.
std::string PeopleBytes(const PeopleFingerprints& people, const Digest& of);
// DATA_LOSS "people-damaged", also if it belongs to something else.
absl::StatusOr<PeopleFingerprints> PeopleOfBytes(std::string_view bytes,
                                                 const Digest& of);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PEOPLE_PEOPLE_H_
