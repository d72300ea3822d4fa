#include "common/tables/label_guess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>

#include "absl/strings/ascii.h"

namespace dpnmf {
namespace {

// In another column than the first fewer may come about by chance.
constexpr std::size_t kManyRows = 10;
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

// Returns whether the column's entries are integers, no two of them equal
// (entries from kLargestCount on are not compared).
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

bool HasConstantStep(const std::vector<float>& values, std::size_t width,
                     std::size_t column) {
  const float step = values[column + width] - values[column];
  if (step == 0) return false;
  for (std::size_t i = column + width; i < values.size(); i += width)
    if (values[i] - values[i - width] != step) return false;
  return true;
}

}  // namespace

std::optional<std::size_t> FindNamesByHeader(
    const std::vector<std::string>& header) {
  if (header.size() < 2) return std::nullopt;  // it would be all that there is
  const auto found = std::find_if(header.begin(), header.end(), IsUsualHeader);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

std::optional<LikelyNames> FindNamesByEntries(const std::vector<float>& values,
                                              std::size_t width) {
  if (width < 2) return std::nullopt;  // it would be all that there is
  const std::size_t rows = values.size() / width;
  std::vector<std::size_t> distinct;
  for (std::size_t column = 0; column < width && rows >= 2; ++column) {
    const bool is_first = column == 0;
    if (rows >= (is_first ? 3 : kManyRows) &&
        HasConstantStep(values, width, column))
      return LikelyNames{column, "its entries have a constant step"};
    if (AreDistinctIntegers(values, width, column)) distinct.push_back(column);
  }
  if (distinct.size() == 1 && (distinct[0] == 0 || rows >= kManyRows))
    return LikelyNames{distinct[0], "its entries are integers, no two alike"};
  return std::nullopt;
}

}  // namespace dpnmf
