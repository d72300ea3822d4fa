// The public description of a data set: its rules and its file dataset.json.
#ifndef DPNMF_CURATOR_DATA_DESCRIPTION_H_
#define DPNMF_CURATOR_DATA_DESCRIPTION_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

class JsonFields;

inline constexpr double kLargestColumnBound = 1e6;

// "l2", "none".
std::string_view NameOf(Normalisation normalisation);
std::optional<Normalisation> NormalisationOfName(std::string_view name);

// [a-z0-9][a-z0-9._-]{0,63}
bool IsName(std::string_view text);

// Checks the operator's declaration, except the shape. INVALID_ARGUMENT
// "name-malformed", "population-malformed", "epsilon-out-of-range" ((0, 1000]),
// "delta-out-of-range" ((0, 1)), "column-bound-out-of-range" (1 under l2, else
// [kLeastColumnBound, kLargestColumnBound]; of ratings: none, 1),
// "rating-range-out-of-range", "adjacency-mismatch" (one_rating is for
// ratings), "input-too-large" (kMostItemFeatures), "classes-malformed" (2 to
// kMostClasses different names of 1 to 256 bytes), "labels-public-mismatch"
// (public sizes under add_remove_one), "range-out-of-range", "weights-mixed"
// (weights with ratings, sums or a range), "partitions-malformed",
// "partition-unknown". NaN fails every check.
absl::Status CheckDeclaration(const DatasetDescription& description);

struct StoredDescription {
  DatasetDescription description;
  Digest fingerprint{};  // keyed; curator/import/people/fingerprint.h
};

// The fields of a range and of dataset.json (curator/data/json_fields.h).
void ListRange(JsonFields& json, EntryRange& range);
void ListDescription(JsonFields& json, StoredDescription& stored);
std::string ToJson(const StoredDescription& stored);
// DATA_LOSS "dataset-damaged" if a field is missing, of a wrong type, unknown
// or out of range.
absl::StatusOr<StoredDescription> StoredDescriptionOfJson(
    const std::string& text);

// Reads DIRECTORY/dataset.json. NOT_FOUND "dataset-unknown", DATA_LOSS
// "dataset-damaged".
absl::StatusOr<StoredDescription> ReadDescription(const std::string& directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_DESCRIPTION_H_
