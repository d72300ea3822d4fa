// The rows of knobs.
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/privacy/mechanism.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;

TEST(Knobs, HaveFieldsAndRefusalsOfTheirOwn) {
  std::set<int> fields;
  for (const Knob* knob : Knobs()) {
    fields.insert(knob->field);
    const bool is_switch =
        std::holds_alternative<bool RunParameters::*>(knob->member);
    EXPECT_EQ(knob->range.text.empty(), is_switch) << knob->name;
    EXPECT_EQ(knob->range.code.empty(), is_switch) << knob->name;
    // The hash of a run contains a field after 18 only if it is not 0.
    RunParameters zero;
    std::visit([&](auto member) { zero.*member = {}; }, knob->member);
    EXPECT_TRUE(knob->field <= 18 || IsInRange(*knob, zero)) << knob->name;
  }
  EXPECT_EQ(fields.size(), Knobs().size());
}

TEST(Knobs, OfEveryRunHaveDefaultsInRangeThatHelpTells) {
  EXPECT_TRUE(CheckKnobs(KnobsOfEveryRun(), RunParameters()).ok());
  EXPECT_THAT(KnobOf(&RunParameters::inner_iterations).flag.help,
              HasSubstr("[10]"));
  EXPECT_THAT(KnobOf(&RunParameters::share_of_a).flag.help, HasSubstr("[0.1]"));
}

// A knob of the flags is also a line of the Python package.
TEST(Knobs, AreOptionsOfThePythonPackage) {
  constexpr const char* kTypes[] = {"bool", "int", "float", "Sequence[float]"};
  std::stringstream python;
  python << std::ifstream(DPNMF_PYTHON_REQUEST).rdbuf();
  for (const Knob* knob : Knobs()) {
    if (!knob->range.zero_is_default || *knob->flag.name == '\0') continue;
    const std::string line = absl::StrCat(
        "    ", std::string(knob->name), ": ", kTypes[knob->member.index()],
        " | None = knob(\"", std::string(knob->range.code), "\")\n");
    EXPECT_THAT(python.str(), HasSubstr(line));
  }
}

}  // namespace
}  // namespace dpnmf
