// Recognises data that were imported before, without a hash that others could
// test guesses against.
#ifndef DPNMF_CURATOR_IMPORT_PEOPLE_FINGERPRINT_H_
#define DPNMF_CURATOR_IMPORT_PEOPLE_FINGERPRINT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/tables/load.h"
#include "curator/import/readers/ratings.h"

namespace dpnmf::curator {

using FingerprintKey = std::array<std::uint8_t, 32>;

// Fingerprint of one person: HMAC-SHA-256 under the operator's key, cut to 128
// bits. If all bytes are 0, there is none.
using PersonFingerprint = std::array<std::uint8_t, 16>;

// The operator's key DATA_DIR/fingerprint.key; drawn from OpenSSL and stored
// with mode 0600 at first use. The directory must exist. DATA_LOSS
// "fingerprint-key-damaged" if the file is not 32 bytes, or is missing while
// there are data sets or records of published tables; UNAVAILABLE
// "storage-failed". Stops the process if the random source fails.
absl::StatusOr<FingerprintKey> LoadOrCreateFingerprintKey(
    const std::string& data_dir);

// HMAC-SHA-256 of the bytes under a key of the purpose's own, which is the HMAC
// of the purpose under the operator's key. Without that key nobody can compute
// it, or test what the bytes are.
Digest KeyedHashFor(std::string_view purpose, std::string_view bytes,
                    const FingerprintKey& key);
// The key of the digests of data sets' files (curator/data/file_digests.h).
Digest KeyOfFiles(const FingerprintKey& key);

// HMAC-SHA-256 under the key of D, the number of columns with entries and their
// sorted HMACs, each over its nonzero entries. So the order of the users, how
// many have none, the file format and dense or sparse do not matter; one
// changed bit of one entry does. `rows`, if given, gets FingerprintOfRow
// (people.h) of each person in order, `columns` the sorted HMACs.
Digest FingerprintOf(const LoadedMatrix& matrix, const FingerprintKey& key,
                     std::vector<PersonFingerprint>* rows = nullptr,
                     std::vector<Digest>* columns = nullptr);
// The same of ratings, as the numbers that people write (3.5) and those of 0
// among them: ratings that were imported before as counts are recognised.
Digest FingerprintOf(const LoadedRatings& ratings, const FingerprintKey& key,
                     std::vector<PersonFingerprint>* rows = nullptr,
                     std::vector<Digest>* columns = nullptr);

// The same of a matrix, from the HMAC of each column (ColumnDigests), sorted.
Digest FingerprintOfDigests(std::uint64_t features,
                            const std::vector<Digest>& sorted,
                            const FingerprintKey& key);
std::vector<Digest> ColumnDigests(const LoadedMatrix& matrix,
                                  const FingerprintKey& key);
// FingerprintOfRow of a column with that HMAC.
PersonFingerprint CutOfColumn(const Digest& column, const FingerprintKey& key);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PEOPLE_FINGERPRINT_H_
