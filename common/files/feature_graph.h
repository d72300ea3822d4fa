// A file of a graph whose nodes are features.
#ifndef DPNMF_COMMON_FILES_FEATURE_GRAPH_H_
#define DPNMF_COMMON_FILES_FEATURE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf {

// Two features, from 0, on each line, with a space, a tab or a comma between
// them; empty lines and lines that begin with # are skipped. The ends of the
// edges, two for each. INVALID_ARGUMENT "feature-graph-invalid" with file and
// line; errors of ForEachLineOfWords.
absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureGraph(
    const std::string& path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_FEATURE_GRAPH_H_
