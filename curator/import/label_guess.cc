#include "curator/import/label_guess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>

#include "absl/strings/ascii.h"

namespace dpnmf::curator {
namespace {

constexpr std::size_t kLeastRows = 10;  // fewer may differ by chance
// Above it floats no longer tell neighbouring integers apart, and hardly
// anything is counted.
constexpr float kLargestCount = 0x1p24f;

bool IsUsualHeader(std::string_view header) {
  constexpr std::array<std::string_view, 12> kNames = {
      "id",   "person",   "patient", "user",   "name", "subject",
      "case", "customer", "client",  "member", "key",  "index"};
  std::string word(header);
  absl::AsciiStrToLower(&word);
  for (const char* ending : {"_id", "-id", " id", ".id"})
    if (word.ends_with(ending)) return true;
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

// Whether the column's entries are integers, no two of them alike.
bool AreDistinctIntegers(const std::vector<float>& values, std::size_t width,
                         std::size_t column) {
  std::unordered_set<float> seen;
  for (std::size_t i = column; i < values.size(); i += width) {
    if (std::floor(values[i]) != values[i]) return false;
    if (values[i] < kLargestCount && !seen.insert(values[i]).second)
      return false;
  }
  return true;
}

}  // namespace

bool LooksLikeNames(std::string_view header, const std::vector<float>& values,
                    std::size_t width) {
  if (width < 2) return false;  // it would be all that there is
  if (IsUsualHeader(header)) return true;
  if (values.size() / width < kLeastRows ||
      !AreDistinctIntegers(values, width, 0))
    return false;
  for (std::size_t column = 1; column < width; ++column)
    if (AreDistinctIntegers(values, width, column)) return false;
  return true;
}

}  // namespace dpnmf::curator
