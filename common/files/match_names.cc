#include "common/files/match_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files/entry.h"

namespace dpnmf {
namespace {

std::string Trimmed(std::string_view name) {
  return std::string(TrimBlanks(name));
}

std::string InLowerCase(std::string_view name) {
  return absl::AsciiStrToLower(Trimmed(name));
}

// Returns whether the name is that of an accession: three capitals or
// underscores at least, then digits.
bool IsAccession(std::string_view name) {
  constexpr std::ptrdiff_t kFewestLetters = 3;
  const auto digits = std::find_if_not(name.begin(), name.end(), [](char c) {
    return absl::ascii_isupper(static_cast<unsigned char>(c)) || c == '_';
  });
  return digits - name.begin() >= kFewestLetters && digits != name.end() &&
         std::all_of(digits, name.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c));
         });
}

std::string WithoutVersion(std::string_view name) {
  constexpr std::size_t kMostDigits = 3;
  name = TrimBlanks(name);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || !IsAccession(name.substr(0, dot)))
    return InLowerCase(name);
  const std::string_view version = name.substr(dot + 1);
  const bool is_version =
      version.size() <= kMostDigits && ParseWhole(version).has_value();
  return InLowerCase(is_version ? name.substr(0, dot) : name);
}

using Spelling = std::string (*)(std::string_view name);
constexpr std::ptrdiff_t kNone = -1;

// Index of the name of each spelling; kNone if there are two, unless the first
// of them counts.
std::unordered_map<std::string, std::ptrdiff_t> IndexOf(
    const std::vector<std::string>& names, Spelling spelling,
    bool first_counts) {
  std::unordered_map<std::string, std::ptrdiff_t> index;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [at, is_new] =
        index.emplace(spelling(names[i]), static_cast<std::ptrdiff_t>(i));
    if (!is_new && !first_counts) at->second = kNone;
  }
  index.erase("");
  return index;
}

}  // namespace

NameMatch MatchNames(const std::vector<std::string>& known,
                     const std::vector<std::string>& file) {
  NameMatch match;
  match.places.assign(known.size(), kNone);
  std::vector<bool> taken(file.size());
  for (const Spelling spelling : {Trimmed, InLowerCase, WithoutVersion}) {
    if (match.found == known.size()) break;
    const bool exact = spelling == Trimmed;
    const auto of_known = IndexOf(known, spelling, exact);
    const auto of_file = IndexOf(file, spelling, exact);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (match.places[i] != kNone) continue;
      const std::string name = spelling(known[i]);
      const auto partner = of_file.find(name);
      if (partner == of_file.end() || partner->second == kNone ||
          of_known.at(name) == kNone)
        continue;
      const auto place = static_cast<std::size_t>(partner->second);
      if (taken[place]) continue;
      taken[place] = true;
      match.places[i] = partner->second;
      ++match.found;
      if (!exact)
        match.respelled.push_back(
            absl::StrCat(known[i], " (", file[place], ")"));
    }
  }
  return match;
}

std::string MatchText(std::size_t found, std::size_t features,
                      const std::vector<std::string>& respelled,
                      const std::vector<std::string>& left_out) {
  std::string text =
      absl::StrCat(found, " of ", features, " features were found by name");
  if (!respelled.empty())
    absl::StrAppend(&text, "; spelled differently: ", ExamplesOf(respelled));
  if (!left_out.empty())
    absl::StrAppend(&text, "; left out: ", ExamplesOf(left_out));
  return text;
}

std::string ExamplesOf(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", Quoted(names[i]));
  if (names.size() > kShown)
    absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  return text;
}

std::string NoNameFound(const std::vector<std::string>& known,
                        const std::vector<std::string>& file) {
  return absl::StrCat("none of its names (", ExamplesOf(file),
                      ") is that of a feature (", ExamplesOf(known),
                      "); write the features' names, or remove the names and "
                      "give the features in order");
}

}  // namespace dpnmf
