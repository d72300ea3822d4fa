// Files that name features by their numbers: some of them, or the edges of a
// graph.
#ifndef DPNMF_COMMON_FILES_FEATURE_ROWS_H_
#define DPNMF_COMMON_FILES_FEATURE_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpnmf {

// Gives the words of each line that is neither empty nor begins with #, between
// blanks, tabs and commas. Lines, encodings and errors are those of InputFile;
// the file may be a pipe, and errors of ReadFile.
absl::Status ForEachLineOfWords(
    const std::string& path,
    const std::function<absl::Status(const std::vector<std::string>& words,
                                     std::uint64_t line)>& of);

// At least one feature, from 0, in any order, with blanks, commas or ends of
// lines between them; lines that begin with # are skipped. Ascending.
// INVALID_ARGUMENT "feature-rows-malformed" with file and line, also if a
// feature stands twice or there are more than `most`; errors of
// ForEachLineOfWords.
absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureRows(
    const std::string& path, std::size_t most);

// Two features, from 0, on each line, with a space, a tab or a comma between
// them; empty lines and lines that begin with # are skipped. The ends of the
// edges, two for each. INVALID_ARGUMENT "feature-graph-invalid" with file and
// line; errors of ForEachLineOfWords.
absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureGraph(
    const std::string& path);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_FEATURE_ROWS_H_
