// Refused lines of a file, collected while its reader goes on to see the rest.
#ifndef DPNMF_COMMON_TABLES_REFUSED_LINES_H_
#define DPNMF_COMMON_TABLES_REFUSED_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace dpnmf {

// The most that a reader tells one by one.
inline constexpr std::size_t kShownRefusals = 20;

// For one thread.
class RefusedLines {
 public:
  // Counts all and keeps the first kShownRefusals.
  void Note(absl::Status status);
  // The same, and keeps only the first of each cause.
  void Note(absl::Status status, std::string_view cause);
  // Counts a line that was refused for the same reason as one before.
  void NoteAgain() { ++count_; }
  bool any() const { return count_ > 0; }
  // OK if there is none; the one that there is; else INVALID_ARGUMENT with the
  // code and the sentence of the first and with the number of all: `things`
  // says of what ("lines"). Where two or more are kept, each is told, if `told`
  // is not null.
  absl::Status Verdict(
      std::string_view things,
      const std::function<void(const absl::Status&)>& told) const;

 private:
  std::uint64_t count_ = 0;
  std::vector<absl::Status> kept_;
  std::set<std::string, std::less<>> causes_;  // of kept_, where told
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_REFUSED_LINES_H_
