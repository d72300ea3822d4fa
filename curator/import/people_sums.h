// Exact sums over people that were made elsewhere, part by part: what
// dpnmf-sums prints and `dpnmf-curator add-sums` takes. Private: sums without
// noise.
//
// A text of one or more blocks of lines:
//
//   dpnmf-sums 1 D PEOPLE BITS BOUND l2|none KEY_CHECK IDS PARTS
//   sums S ...       S_v, D of them, in units of 2^-BITS; then S_G, the upper
//                    triangle by columns, in units of 4^-BITS
//   row HEX          of each person: the keyed fingerprint of the column
//   id HEX           IDS of them, one a person or none: of ids that the
//                    operator declared
//   part HEX         PARTS of them: of each part that was added up: SealPart
//   end HEX          SHA-256 of the lines before it
//
// If S_G is on some of the features, the second line is
//
//   rows M R ...     M features, from 0, ascending; M below D
#ifndef DPNMF_CURATOR_IMPORT_PEOPLE_SUMS_H_
#define DPNMF_CURATOR_IMPORT_PEOPLE_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/privacy/run_plan.h"
#include "curator/data/dataset.h"
#include "curator/import/import.h"
#include "curator/import/import_source.h"
#include "curator/import/people/people.h"

namespace dpnmf::curator {

// D of the sums: entries of a person.
inline constexpr std::uint64_t kMostSumsFeatures = 100'000'000;

struct PeopleSums {
  std::uint64_t features = 0;  // D, 1 to kMostSumsFeatures
  // Rows of S_G; StoredSums::rows (common/privacy/stored_sums.h).
  std::vector<std::uint32_t> moment_rows = {};
  std::uint64_t people = 0;
  int bits = 0;
  double column_bound = 1;
  Normalisation normalisation = Normalisation::kL2;
  Digest key_check{};                  // CheckOfKey
  std::vector<std::uint64_t> sums;     // D + M (M + 1) / 2
  std::vector<Digest> rows;            // one a person, ascending
  std::vector<PersonFingerprint> ids;  // one a person, ascending; or none
  std::vector<Digest> parts;           // ascending; a part of nobody has none
};

// Seals one part: sorts its people, and notes which part this is. The same
// people in another order are the same part, and so are other people with
// exactly the same rows and without ids.
void SealPart(PeopleSums* part);

// The lattice of a run of `moments` on so many features of such a data set;
// errors of PlanRun. A function of public numbers: every part has the same.
absl::StatusOr<int> BitsOfSums(const DatasetFacts& facts,
                               std::uint64_t moment_rows);

std::string PeopleSumsText(const PeopleSums& sums);
// All blocks added up. INVALID_ARGUMENT "sums-file-malformed" if a block is not
// whole, or was made with other flags, rows or key than the first, or if a
// sum is no 64-bit number; "sums-empty" if there is none; "sums-duplicate" if a
// part, or an id, is in them twice.
absl::StatusOr<PeopleSums> AddedSums(std::string_view text);

// Loads the sums of `options.input`, for Import with options.are_sums.
// INVALID_ARGUMENT "sums-differ" if the sums were made for another declaration,
// "users-mismatch" if they are not of N people; DATA_LOSS "people-damaged" if
// they were made with another key.
absl::StatusOr<std::unique_ptr<ImportSource>> LoadPeopleSums(
    const ImportOptions& options);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_PEOPLE_SUMS_H_
