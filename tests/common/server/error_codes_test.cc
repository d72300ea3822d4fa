// docs/errors.md and the code name the same reason codes.

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

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
  for (const char* part : {"common", "curator", "analyst"}) {
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
  return CodesIn(ReadAll(std::string(DPNMF_SOURCE_DIR) + "/docs/errors.md"),
                 "`([a-z0-9]+(-[a-z0-9]+)*)`");
}

// Refusal(absl::StatusCode::kKind, "code", ...).
TEST(ErrorCodes, EveryRefusalIsDocumented) {
  const std::set<std::string> documented = Documented();
  for (const std::string& code :
       CodesIn(AllSources(),
               "StatusCode::k[A-Za-z]+,\\s*\"([a-z0-9]+(-[a-z0-9]+)+)\"")) {
    EXPECT_EQ(documented.count(code), 1u) << code;
  }
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
