// docs/reference/errors.md and the code name the same reason codes.

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> CodesIn(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> codes;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end;
       ++i) {
    codes.insert((*i)[1]);
  }
  return codes;
}

std::string AllSources() {
  std::string text;
  for (const char* part : {"common", "curator", "analyst", "client", "lab"}) {
    const std::filesystem::path root =
        std::filesystem::path(DPNMF_SOURCE_DIR) / part;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".cc") text += ReadAll(entry.path());
    }
  }
  return text;
}

const std::set<std::string> Documented() {
  return CodesIn(
      ReadAll(std::string(DPNMF_SOURCE_DIR) + "/docs/reference/errors.md"),
      "`([a-z0-9]+(-[a-z0-9]+)*)`");
}

// Refusal(absl::StatusCode::kKind, "code", ...), and the rows of knobs.
TEST(ErrorCodes, EveryRefusalIsDocumented) {
  const std::set<std::string> documented = Documented();
  for (const std::string& code :
       CodesIn(AllSources(),
               "(?:StatusCode::k[A-Za-z]+,|[.]code =)\\s*"
               "\"([a-z0-9]+(-[a-z0-9]+)+)\"")) {
    EXPECT_EQ(documented.count(code), 1u) << code;
  }
}

// The text of one string literal at `at`, where adjacent literals are one;
// moves `at` behind it.
std::string LiteralAt(const std::string& source, std::size_t* at) {
  std::string text;
  while (*at < source.size() && source[*at] == '"') {
    for (++*at; source[*at] != '"'; ++*at) {
      if (source[*at] == '\\') ++*at;
      text += source[*at];
    }
    *at = source.find_first_not_of(" \n", *at + 1);
  }
  return text;
}

// Returns the faulty sentences among those that begin with a literal; a
// sentence that is one literal is also checked to its end.
std::vector<std::string> OddSentences(const std::string& source) {
  std::vector<std::string> odd;
  const std::regex head(
      "Refusal\\(\\s*absl::StatusCode::k[A-Za-z]+,\\s*\"[a-z0-9-]+\",\\s*"
      "(absl::StrCat\\(|StrCat\\(|absl::StrFormat\\()?\\s*(?=\")");
  for (std::sregex_iterator i(source.begin(), source.end(), head), end;
       i != end; ++i) {
    std::size_t at = static_cast<std::size_t>(i->position() + i->length());
    const std::string text = LiteralAt(source, &at);
    const bool begins = std::isupper(static_cast<unsigned char>(text[0])) ||
                        std::string("`-'%").find(text[0]) != std::string::npos;
    if (!begins || (source[at] == ')' && text.back() != '.'))
      odd.push_back(text);
  }
  return odd;
}

TEST(ErrorCodes, SentencesBeginWithACapitalAndEndWithAFullStop) {
  const std::string head =
      "Refusal(absl::StatusCode::kInternal, \"a-code\",\n ";
  EXPECT_THAT(OddSentences(head + "\"A good \"\n \"one.\");"), IsEmpty());
  EXPECT_THAT(OddSentences(head + "\"small.\");"), ElementsAre("small."));
  EXPECT_THAT(OddSentences(head + "\"No \" \"stop\");"),
              ElementsAre("No stop"));
  EXPECT_THAT(OddSentences(head + "absl::StrCat(\"small \", path, \".\"));"),
              ElementsAre("small "));
  EXPECT_THAT(OddSentences(AllSources()), IsEmpty());
}

#ifdef DPNMF_HAS_CURATOR  // a tree with one party alone has not all the codes
TEST(ErrorCodes, EveryDocumentedCodeExists) {
  const std::set<std::string> literals =
      CodesIn(AllSources(), "\"([a-z0-9]+(-[a-z0-9]+)*)\"");
  for (const std::string& code : Documented()) {
    EXPECT_EQ(literals.count(code), 1u) << code;
  }
}
#endif

}  // namespace
}  // namespace dpnmf
