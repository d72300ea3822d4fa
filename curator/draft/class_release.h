// The file that `dpnmf-curator synthesise` writes: a paid release of
// `class_moments` with all that is needed to draw people from it. JSON, one
// object; docs/reference/formats.md lists the fields. It holds released values,
// declared facts and the charge, and nothing else: it is as public as the
// release.
#ifndef DPNMF_CURATOR_DRAFT_CLASS_RELEASE_H_
#define DPNMF_CURATOR_DRAFT_CLASS_RELEASE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/privacy/run_plan.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {

struct ClassRelease {
  DatasetFacts facts;                 // with classes
  std::vector<std::string> features;  // their declared names, or empty
  double epsilon = 0;                 // of this release, at delta
  double delta = 0;
  int data_bits = 0;  // entries of z are on the lattice 2^-data_bits
  std::uint64_t stddev_steps = 0;  // of the noise of an entry
  // (D + 1) x C (D + 1), column-major, noised sums in units of 4^-data_bits.
  std::vector<std::int64_t> sums;
  nlohmann::ordered_json charge;   // Draft::charge (curator/draft/draft.h)
  nlohmann::ordered_json receipt;  // v1::Receipt
};

// SHA-256 of the sums as 64-bit integers.
Digest HashOfSums(const std::vector<std::int64_t>& sums);

std::string ToJson(const ClassRelease& release);
// DATA_LOSS "class-release-damaged" if a field is missing, of a wrong type or
// out of range.
absl::StatusOr<ClassRelease> ClassReleaseOfJson(std::string_view text);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DRAFT_CLASS_RELEASE_H_
