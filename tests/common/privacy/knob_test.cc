// The rows of knobs, and the list of them in the Python package.
#include "common/privacy/knob.h"

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/privacy/mechanism.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(Knobs, HaveNamesNumbersAndFlagsOfTheirOwn) {
  std::set<std::string> names, flags;
  std::set<int> fields;
  std::size_t with_flag = 0;
  for (const Knob* knob : Knobs()) {
    names.insert(std::string(knob->name));
    fields.insert(knob->field);
    if (*knob->flag.name == '\0') continue;
    ++with_flag;
    flags.insert(knob->flag.name);
    EXPECT_STRNE(knob->flag.help, "") << knob->name;
    if (knob->zero_is_default) {
      EXPECT_NE(knob->range.text, "") << knob->name;
      EXPECT_NE(knob->range.code, "") << knob->name;
    }
  }
  EXPECT_EQ(names.size(), Knobs().size());
  EXPECT_EQ(fields.size(), Knobs().size());
  EXPECT_EQ(flags.size(), with_flag);
}

TEST(Knobs, DefaultsOfEveryRunAreInTheirRanges) {
  RunParameters parameters;
  for (const Knob& knob : KnobsOfEveryRun()) {
    SetZero(knob, &parameters);
    EXPECT_TRUE(IsZero(knob, parameters)) << knob.name;
    SetDefault(knob, &parameters);
  }
  EXPECT_EQ(parameters, RunParameters());
  EXPECT_TRUE(CheckKnobs(KnobsOfEveryRun(), parameters).ok());
}

// Kinds of knobs in the Python package: how a value is checked there.
struct PythonKind {
  const char* name;
  const char* type;
};
PythonKind KindOf(const Knob& knob) {
  if (std::holds_alternative<std::uint32_t RunParameters::*>(knob.member))
    return {"whole", "int"};
  if (std::holds_alternative<double RunParameters::*>(knob.member))
    return {"real", "float"};
  return {"reals", "Sequence[float]"};
}

std::string PythonList() {
  std::string options, rows;
  for (const Knob* knob : Knobs()) {
    if (!knob->zero_is_default || *knob->flag.name == '\0') continue;
    const auto [name, type] = KindOf(*knob);
    const std::string field(knob->name), code(knob->range.code);
    absl::StrAppend(&options, "    ", field, ": ", type, " | None = None\n");
    absl::StrAppend(&rows, "    \"", field, "\": (\"", name, "\", \"", code,
                    "\"),\n");
  }
  return absl::StrCat(
      "\"\"\"Options of a run that its mechanism reads, from the tables in "
      "common/privacy/mechanism.\n\nWritten by "
      "tests/common/privacy/knob_test.cc, which says how to write it anew.\n"
      "\"\"\"\n\nimport dataclasses\nfrom collections.abc import Sequence\n\n\n"
      "@dataclasses.dataclass(frozen=True)\nclass Knobs:\n",
      options,
      "\n\n# How a value is checked, and the code of a refusal.\nKNOBS = {\n",
      rows, "}\n");
}

// After a change of a row:
//   cp build/tests/_knobs.py python/src/dpnmf/_knobs.py
TEST(Knobs, AreTheListOfThePythonPackage) {
  std::ofstream(DPNMF_PYTHON_WRITTEN) << PythonList();
  std::ifstream file(DPNMF_PYTHON_KNOBS);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), PythonList());
}

}  // namespace
}  // namespace dpnmf
