// Partitions of a population's people, each under the whole of the cap
// (docs/reference/growing.md has the theorem and its conditions). They are
// declared with the cap and never change; every person is in one of them.
#ifndef DPNMF_COMMON_PRIVACY_PEOPLE_PARTITIONS_H_
#define DPNMF_COMMON_PRIVACY_PEOPLE_PARTITIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace dpnmf {

inline constexpr std::size_t kMostPartitions = 1000;

struct PeoplePartitions {
  // The column whose entries tell people apart: 1 to 64 of A-Z a-z 0-9 . _ -
  std::string by;
  // 1 to kMostPartitions different names, [a-z0-9][a-z0-9._-]{0,63}, in the
  // order of their declaration. Empty: there are no partitions.
  std::vector<std::string> names;

  bool any() const { return !names.empty(); }
  // The place of a name; nothing if there is no such partition.
  std::optional<std::size_t> Find(std::string_view name) const;

  friend bool operator==(const PeoplePartitions&,
                         const PeoplePartitions&) = default;
};

// INVALID_ARGUMENT "partitions-malformed". None at all are well formed.
absl::Status CheckPartitions(const PeoplePartitions& partitions);

// "by=id names=jan,feb": the canonical text; empty if there are none.
std::string PartitionsText(const PeoplePartitions& partitions);
// Returns no value unless the partitions are well formed and their
// PartitionsText is `text`.
std::optional<PeoplePartitions> ParsePartitions(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_PEOPLE_PARTITIONS_H_
