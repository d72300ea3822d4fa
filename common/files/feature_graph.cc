#include "common/files/feature_graph.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/feature_rows.h"

namespace dpnmf {

absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureGraph(
    const std::string& path) {
  std::vector<std::uint32_t> ends;
  DPNMF_RETURN_IF_ERROR(ForEachLineOfWords(
      path,
      [&](const std::vector<std::string>& words,
          std::uint64_t line) -> absl::Status {
        std::uint32_t from = 0, to = 0;
        if (words.size() != 2 || !absl::SimpleAtoi(words[0], &from) ||
            !absl::SimpleAtoi(words[1], &to) || ends.size() > kLargestExtent) {
          return Refusal(absl::StatusCode::kInvalidArgument,
                         "feature-graph-invalid",
                         absl::StrCat("'", path, "', line ", line,
                                      ": an edge is two features, from 0."));
        }
        ends.push_back(from);
        ends.push_back(to);
        return absl::OkStatus();
      }));
  return ends;
}

}  // namespace dpnmf
