#include "common/tables/label_guess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <unordered_set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/view.h"
#include "common/files/entry.h"

namespace dpnmf {
namespace {

// In another column than the first fewer may come about by chance.
constexpr std::size_t kManyRows = 10;
// Above it floats no longer tell neighbouring integers apart, and hardly
// anything is counted.
constexpr float kLargestCount = 0x1p24f;

// Names of columns of numbers that programs and people write for the rows.
bool IsUsualHeader(std::string_view header) {
  constexpr std::array<std::string_view, 17> kNames = {
      "id",    "person",    "patient", "user",       "name",    "subject",
      "case",  "customer",  "client",  "member",     "key",     "index",
      "rowid", "row.names", "level_0", "unnamed: 0", "rownames"};
  std::string word(header);
  absl::AsciiStrToLower(&word);
  for (const char* ending : {"_id", "-id", " id", ".id"})
    if (word.ends_with(ending)) return true;
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

// The words of a name in lower case: "patientId", "patient_id", "Patient ID".
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const bool is_upper = absl::ascii_isupper(static_cast<unsigned char>(c));
    const bool is_letter = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                           static_cast<unsigned char>(c) >= 0x80;
    if ((!is_letter || (is_upper && was_lower)) && !words.back().empty())
      words.emplace_back();
    if (is_letter) words.back() += absl::ascii_tolower(c);
    was_lower = is_letter && !is_upper;
  }
  if (words.back().empty()) words.pop_back();
  return words;
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
  const auto found =
      std::find_if(header.begin(), header.end(), [](const std::string& name) {
        return IsUsualHeader(name) || NamesPeople(name);
      });
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

bool NamesPeople(std::string_view header) {
  constexpr std::array<std::string_view, 23> kPeople = {"person",
                                                        "people",
                                                        "patient",
                                                        "donor",
                                                        "subject",
                                                        "mrn",
                                                        "author",
                                                        "user",
                                                        "client",
                                                        "customer",
                                                        "member",
                                                        "case",
                                                        "pid",
                                                        "ssn",
                                                        "participant",
                                                        "respondent",
                                                        "seqn",
                                                        "individual",
                                                        "eid",
                                                        "iid",
                                                        "username",
                                                        "email",
                                                        "patientennummer"};
  // Also glued to "id": userid, USUBJID.
  constexpr std::array<std::string_view, 8> kGlued = {
      "study",   "subj",     "usubj",   "passenger",
      "student", "employee", "account", "household"};
  constexpr std::array<std::string_view, 8> kOfIds = {
      "no", "nr", "num", "number", "code", "key", "name", "uuid"};
  const auto is_any = [](const auto& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::vector<std::string> words = WordsOf(header);
  if (words.empty()) return false;
  std::string_view last = words.back();
  if (last == "id") return true;
  if (last.ends_with("id")) {
    last.remove_suffix(2);
    if (is_any(kPeople, std::string(last)) || is_any(kGlued, std::string(last)))
      return true;
  }
  return is_any(kPeople, words[0]) &&
         std::all_of(words.begin() + 1, words.end(),
                     [&](const auto& word) { return is_any(kOfIds, word); });
}

bool NamesTotal(std::string_view name) {
  constexpr std::string_view kTotals[] = {
      "total",
      "totals",
      "grand total",
      "sum",
      "summe",
      "gesamt",
      "insgesamt",
      "gesamtsumme",
      "gesamtergebnis",
      "somme",
      "totale",
      "all",
      "all people",
      "all patients",
      "subtotal",
      "total general",
      "totaal",
      "eindtotaal",
      "total g\xC3\xA9n\xC3\xA9ral",
      "total g\xC3\x89n\xC3\x89ral"};  // lower case of ASCII alone
  name = TrimBlanks(name);
  if (name.size() < 3 || !absl::StrContains("tgsiaeTGSIAE", name[0]))
    return false;
  std::string word = absl::AsciiStrToLower(View(name));
  if (word.ends_with(':')) word.pop_back();
  return std::find(std::begin(kTotals), std::end(kTotals), word) !=
         std::end(kTotals);
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
