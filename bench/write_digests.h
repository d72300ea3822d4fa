// digests.json of a directory whose files a benchmark has written by itself.
#ifndef DPNMF_BENCH_WRITE_DIGESTS_H_
#define DPNMF_BENCH_WRITE_DIGESTS_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "curator/data/file_digests.h"

namespace dpnmf::bench {

// Returns the keyed digest of digests.json. Ranks get the same key.
inline Digest WriteDigests(const std::string& directory, const Digest& key) {
  std::string files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto content = curator::ReadContent(entry.path());
    if (!content.ok()) std::abort();
    absl::StrAppend(&files, files.empty() ? "" : ",", "\"",
                    entry.path().filename().string(),
                    "\":{\"bytes\":", content->bytes, ",\"hmac_sha256\":\"",
                    HexOf(curator::KeyedDigest(*content, key)), "\"}");
  }
  const std::string text =
      absl::StrCat("{\"format_version\":1,\"files\":{", files, "}}");
  std::ofstream(directory + "/digests.json") << text;
  return curator::KeyedDigest(curator::ContentOf(text), key);
}

}  // namespace dpnmf::bench

#endif  // DPNMF_BENCH_WRITE_DIGESTS_H_
