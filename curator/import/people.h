// Recognises people, not whole data sets: one keyed fingerprint a person.
#ifndef DPNMF_CURATOR_IMPORT_PEOPLE_H_
#define DPNMF_CURATOR_IMPORT_PEOPLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/import/fingerprint.h"

namespace dpnmf::curator {

// HMAC-SHA-256 under the operator's key, cut to 128 bits.
using PersonFingerprint = std::array<std::uint8_t, 16>;

struct PeopleFingerprints {
  // Of ids, which the operator declared; of rows where there is no id.
  std::vector<PersonFingerprint> ids;   // ascending, different
  std::vector<PersonFingerprint> rows;  // ascending, different; rows of zeros
                                        // are left out
  bool has_ids = false;
  friend bool operator==(const PeopleFingerprints&,
                         const PeopleFingerprints&) = default;
};

// Of the numbers as the file has them, before any normalisation. The order of
// people does not matter. A row of zeros has no fingerprint (all bytes 0).
PersonFingerprint FingerprintOfRow(std::span<const float> row,
                                   const FingerprintKey& key);
PersonFingerprint FingerprintOfId(std::string_view id,
                                  const FingerprintKey& key);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PEOPLE_H_
