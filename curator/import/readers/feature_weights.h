// Public weights of features, such as the inverse document frequencies of a
// reference corpus. Each entry of V is multiplied by the weight of its feature
// before columns are normalised (NormaliseColumns), so that a column obeys its
// declared bound whatever the weights are.
//
// Weights are public: they must come from no person of the data set. The
// fingerprints of people are those of the entries as the file has them.
#ifndef DPNMF_CURATOR_IMPORT_READERS_FEATURE_WEIGHTS_H_
#define DPNMF_CURATOR_IMPORT_READERS_FEATURE_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/data/file_digests.h"

namespace dpnmf::curator {

// A weight is 0 or in this range, so that no product and no length overflows or
// vanishes.
inline constexpr double kLeastFeatureWeight = 1e-12;
inline constexpr double kLargestFeatureWeight = 1e12;
// Analysts keep no longer list (analyst/runs/run_items.h).
inline constexpr std::uint64_t kMostWeightedFeatures = 1'000'000;

// D weights, from a text file (gzip too): one number a line in the order of the
// features, or on each line a name and its weight, in any order, separated by a
// tab, else by the last semicolon, comma or blank; names may be in quotes. A
// first line that ends in a word is a header, of which `note` is told. Every
// feature has exactly one weight. `names`: of the features; may be empty.
// INVALID_ARGUMENT "features-mismatch" (another
// number of weights; a name that no feature has, or that none has a weight
// for), "input-duplicate", "input-not-a-number", "input-not-finite",
// "input-negative", "input-out-of-range", "input-too-large" (more features than
// kMostWeightedFeatures), "weights-zero" (all are 0); errors of InputFile.
absl::StatusOr<std::vector<double>> LoadFeatureWeights(
    const std::string& path, const std::vector<std::string>& names,
    std::uint64_t features,
    const std::function<void(const std::string& sentence)>& note = {});

// weights.txt of a data set: D numbers, one a line. UNAVAILABLE
// "storage-failed".
absl::Status WriteFeatureWeights(DatasetWriter* writer,
                                 std::span<const double> weights);
// Returns no weights if the description has none. DATA_LOSS "dataset-damaged".
absl::StatusOr<std::vector<double>> ReadFeatureWeights(
    const std::string& directory, const DatasetDescription& description);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_IMPORT_READERS_FEATURE_WEIGHTS_H_
