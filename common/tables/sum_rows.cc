#include "common/tables/sum_rows.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"

namespace dpnmf {
namespace {

constexpr std::string_view kDigits = "0123456789";

// 10^99 is no id. Zeros are written out up to here.
constexpr std::size_t kMostExponentDigits = 2;

// Returns "12000" for "12e3", other text unchanged.
std::string WithoutExponent(std::string_view text) {
  const std::size_t at = text.find('e');
  if (at == 0 || at == std::string_view::npos || at + 1 == text.size() ||
      text.size() - at - 1 > kMostExponentDigits ||
      text.find_first_not_of(kDigits) != at ||
      text.find_first_not_of(kDigits, at + 1) != std::string_view::npos)
    return std::string(text);
  std::size_t zeros = 0;
  for (const char digit : text.substr(at + 1))
    zeros = 10 * zeros + static_cast<std::size_t>(digit - '0');
  return std::string(text.substr(0, at)) + std::string(zeros, '0');
}

// Returns "7" for "7", "007", "7.0" and "7.", other text unchanged.
std::string_view WholeNumberOf(std::string_view text) {
  const std::size_t end = text.find_first_not_of(kDigits);
  if (end == 0 || text.empty()) return text;
  if (end != std::string_view::npos) {
    const std::string_view rest = text.substr(end);
    if (rest[0] != '.' ||
        rest.find_first_not_of('0', 1) != std::string_view::npos)
      return text;
    text = text.substr(0, end);
  }
  const std::size_t first = text.find_first_not_of('0');
  return first == std::string_view::npos ? text.substr(text.size() - 1)
                                         : text.substr(first);
}

}  // namespace

std::string CanonicalId(std::string_view id) {
  const std::string lower =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(View(id)));
  return std::string(WholeNumberOf(WithoutExponent(lower)));
}

std::optional<std::pair<std::string, std::string>> FindSameId(
    const std::vector<std::string>& ids, bool spelled_alike) {
  // Most lists have no such ids: their hashes say so in little memory.
  std::vector<std::size_t> hashes;
  hashes.reserve(ids.size());
  for (const std::string& id : ids)
    if (!id.empty())
      hashes.push_back(
          std::hash<std::string>()(CanonicalId(WithoutBlanks(id))));
  std::sort(hashes.begin(), hashes.end());
  if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end())
    return std::nullopt;
  std::unordered_map<std::string, std::string_view> seen;
  for (const std::string& id : ids) {
    if (id.empty()) continue;
    const auto [known, is_new] = seen.try_emplace(
        spelled_alike ? id : CanonicalId(WithoutBlanks(id)), id);
    if (!is_new && (known->second == id) == spelled_alike)
      return std::pair(std::string(known->second), id);
  }
  return std::nullopt;
}

std::optional<std::pair<std::string, std::string>> FindRenamed(
    const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  for (const std::string_view name : names) {
    for (const std::string_view end : {".1", "-1"}) {
      if (!name.ends_with(end)) continue;
      const std::string_view first = name.substr(0, name.size() - end.size());
      // 1.1 and 1-1 are no names of programs.
      if (known.contains(first) && NotationOf(first) == Notation::kWord)
        return std::pair(std::string(first), std::string(name));
    }
  }
  return std::nullopt;
}

absl::Status SumRows(const InputFile& input, std::size_t width,
                     std::vector<std::string>* ids,
                     std::vector<std::int32_t>* labels,
                     std::vector<float>* values) {
  std::unordered_map<std::string, std::size_t> person_of;
  std::vector<std::vector<std::size_t>> rows;  // of each person
  std::vector<std::string> people;
  for (std::size_t row = 0; row < ids->size(); ++row) {
    const auto [person, is_new] =
        person_of.try_emplace((*ids)[row], people.size());
    if (is_new) {
      people.push_back((*ids)[row]);
      rows.emplace_back();
    }
    rows[person->second].push_back(row);
  }
  std::vector<std::int32_t> labels_of_people;
  std::vector<float> sums;
  sums.reserve(people.size() * width);
  std::vector<float> entries;
  for (std::size_t n = 0; n < people.size(); ++n) {
    for (const std::size_t row : rows[n]) {
      if (labels->empty() || (*labels)[row] == (*labels)[rows[n][0]]) continue;
      return input.RefuseAt("input-duplicate", 0, 0,
                            absl::StrCat("the rows of ", Quoted(people[n]),
                                         " have different classes; give a "
                                         "person one class"));
    }
    if (!labels->empty()) labels_of_people.push_back((*labels)[rows[n][0]]);
    for (std::size_t d = 0; d < width; ++d) {
      entries.clear();
      for (const std::size_t row : rows[n])
        entries.push_back((*values)[row * width + d]);
      std::sort(entries.begin(), entries.end());
      double sum = 0;
      for (const float entry : entries) sum += static_cast<double>(entry);
      sums.push_back(0);
      if (const auto problem = ToEntry(sum, &sums.back())) {
        return input.RefuseAt(
            problem->code, 0, 0,
            absl::StrCat("the sum of the rows of ", Quoted(people[n]),
                         " in feature ", d + 1, ": ", problem->sentence));
      }
    }
  }
  *ids = std::move(people);
  *labels = std::move(labels_of_people);
  *values = std::move(sums);
  return absl::OkStatus();
}

}  // namespace dpnmf
