#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "tests/fuzz/outcomes.h"

namespace dpnmf::fuzz {
namespace {

constexpr std::size_t kLongestSentence = 2000;

const std::set<std::string>& DocumentedCodes() {
  static const auto* const codes = [] {
    std::ifstream file(DPNMF_SOURCE_DIR "/docs/reference/errors.md");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::regex code("`([a-z0-9]+(-[a-z0-9]+)*)`");
    auto* const all = new std::set<std::string>;
    for (std::sregex_iterator i(text.begin(), text.end(), code), end; i != end;
         ++i) {
      all->insert((*i)[1]);
    }
    return all;
  }();
  return *codes;
}

// Line ends, escapes and what else moves a terminal.
bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

std::vector<FuzzTarget>& Registered() {
  static auto* const targets = new std::vector<FuzzTarget>;
  return *targets;
}

}  // namespace

bool Register(const FuzzTarget& target) {
  Registered().push_back(target);
  return true;
}

const std::vector<FuzzTarget>& Targets() { return Registered(); }

std::string CorpusOf(const FuzzTarget& target) {
  return DPNMF_SOURCE_DIR "/tests/fuzz/corpus/" + std::string(target.name);
}

std::vector<std::string> FilesOf(std::string_view folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           DPNMF_SOURCE_DIR "/" + std::string(folder)))
    paths.insert(entry.path());
  std::vector<std::string> contents;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>());
  }
  return contents;
}

double FuzzInput::Double() {
  const std::uint8_t choice = Byte();
  if (choice < 128) return kSpecialDoubles[choice % std::size(kSpecialDoubles)];
  if (choice < 224) return Byte() / 128.0;
  return std::bit_cast<double>(LongWord());
}

void Demand(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "fuzz: " << what << std::endl;
  std::abort();
}

std::string ProblemOf(const absl::Status& refusal) {
  const std::string code = ReasonCode(refusal);
  const absl::string_view sentence = refusal.message();
  const auto problem = [&](absl::string_view what) {
    return absl::StrCat(what, ": ", refusal.ToString());
  };
  if (refusal.ok()) return "no refusal";
  if (refusal.code() == absl::StatusCode::kUnknown)
    return problem("a refusal of no kind");
  if (code.empty()) return problem("a refusal without a code");
  if (!DocumentedCodes().contains(code))
    return problem(absl::StrCat("the code ", code, " is not documented"));
  if (sentence.empty() || sentence.size() > kLongestSentence)
    return problem("a sentence that is empty or too long");
  if (std::any_of(sentence.begin(), sentence.end(), IsControl))
    return problem("a sentence with control characters");
  return "";
}

void DemandRefusal(const absl::Status& refusal) {
  const std::string problem = ProblemOf(refusal);
  Demand(problem.empty(), problem);
}

std::map<std::string, std::uint64_t, std::less<>>& Outcomes() {
  static auto* const outcomes =
      new std::map<std::string, std::uint64_t, std::less<>>;
  return *outcomes;
}

void Count(std::string_view outcome) {
  auto& outcomes = Outcomes();
  const auto found = outcomes.find(outcome);
  if (found != outcomes.end()) {
    ++found->second;
  } else {
    outcomes.emplace(outcome, 1);
  }
}

}  // namespace dpnmf::fuzz
