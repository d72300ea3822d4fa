#include "curator/import/label_guess.h"

#include <functional>

#include "common/base/error.h"
#include "curator/import/load.h"
#include "gtest/gtest.h"
#include "tests/curator/data/scratch.h"

namespace dpnmf::curator {
namespace {

TEST(LooksLikeNames, KnowsUsualHeaders) {
  const std::vector<float> values = {1, 1, 1, 2};
  for (const char* header :
       {"id", "ID", "Person", "patient", "user_id", "Patient ID", "name"}) {
    EXPECT_TRUE(LooksLikeNames(header, values, 2)) << header;
  }
  for (const char* header : {"", "code0", "acid", "width", "idle", "names of"})
    EXPECT_FALSE(LooksLikeNames(header, values, 2)) << header;
  EXPECT_FALSE(LooksLikeNames("id", values, 1));
}

// Twelve rows: the first column as told, the second of zeros and ones.
std::vector<float> Beside(const std::function<float(int)>& first) {
  std::vector<float> values;
  for (int n = 0; n < 12; ++n) {
    values.push_back(first(n));
    values.push_back(static_cast<float>(n % 2));
  }
  return values;
}

TEST(LooksLikeNames, KnowsDistinctIntegersBesideOthers) {
  const auto numbered = [](int n) { return static_cast<float>(1000 + n); };
  EXPECT_TRUE(LooksLikeNames("", Beside(numbered), 2));
  // Too long for a float to tell apart.
  EXPECT_TRUE(LooksLikeNames(
      "", Beside([](int n) { return 1234567890.f + static_cast<float>(n); }),
      2));
  EXPECT_FALSE(LooksLikeNames(
      "", Beside([](int n) { return static_cast<float>(n % 11); }), 2))
      << "one stands twice";
  EXPECT_FALSE(LooksLikeNames(
      "", Beside([](int n) { return static_cast<float>(n) + 0.5f; }), 2))
      << "no integers";
  std::vector<float> values = Beside(numbered);
  EXPECT_FALSE(LooksLikeNames("", {values.begin(), values.begin() + 18}, 2))
      << "too few rows";
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = values[i - 1];
  EXPECT_FALSE(LooksLikeNames("", values, 2)) << "the other is such, too";
}

std::vector<std::string> NotesOn(const std::string& text,
                                 std::optional<int> label_columns) {
  const Scratch scratch;
  std::vector<std::string> notes;
  LoadOptions options;
  options.label_columns = label_columns;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  EXPECT_TRUE(LoadMatrix(scratch.Write("m.csv", text), true, options).ok());
  return notes;
}

TEST(LoadMatrix, NotesANumberedFirstColumnUnlessToldWhatItIs) {
  const std::string text = "person,a,b\n1000,1,0\n1001,1,2\n";
  const auto notes = NotesOn(text, std::nullopt);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("person"), std::string::npos);
  EXPECT_NE(notes[0].find("--label-columns 1"), std::string::npos);
  EXPECT_TRUE(NotesOn(text, 0).empty());
  EXPECT_TRUE(NotesOn(text, 1).empty());
  EXPECT_TRUE(NotesOn("person,a\nann,1\nbob,2\n", std::nullopt).empty());
  EXPECT_TRUE(NotesOn("1,2\n0,1\n", std::nullopt).empty());
}

std::uint64_t FeaturesOf(const std::string& text, const LoadOptions& options,
                         std::string* code) {
  const Scratch scratch;
  const auto matrix = LoadMatrix(scratch.Write("m.csv", text), true, options);
  *code = ReasonCode(matrix.status());
  return matrix.ok() ? matrix->features : 0;
}

// D is public: whether the only person's row begins with a word or a number
// must not decide it.
TEST(LoadMatrix, NoSingleRowDecidesHowManyFeaturesThereAre) {
  LoadOptions options;
  std::string code;
  FeaturesOf("who,a,b\nann,1,2\n", options, &code);
  EXPECT_EQ(code, "input-ambiguous");
  options.header = false;
  FeaturesOf("ann,1,2\n", options, &code);
  EXPECT_EQ(code, "input-ambiguous");
  options.label_columns = 1;
  EXPECT_EQ(FeaturesOf("ann,1,2\n", options, &code), 2u) << code;
  // The header says so, and then the row is not asked.
  EXPECT_EQ(FeaturesOf(",a,b\nann,1,2\n", {}, &code), 2u) << code;
  EXPECT_EQ(FeaturesOf("a,b\nann,1,2\n", {}, &code), 2u) << code;
  EXPECT_EQ(FeaturesOf(",a,b\n17,1,2\n", {}, &code), 2u) << code;
}

// Whatever one row is replaced by, a file that is read has the same D.
TEST(LoadMatrix, AReplacedRowNeverChangesHowManyFeaturesThereAre) {
  for (const std::string header : {"", "who,a,b\n", ",a,b\n", "a,b\n"}) {
    for (const std::string kept : {"ann,1,2\n", "7,1,2\n"}) {
      LoadOptions options;
      options.header = !header.empty();
      std::vector<std::uint64_t> seen;
      for (const std::string replaced :
           {"bob,3,4\n", "8,3,4\n", "bob,x,4\n", ",3,4\n", "\"8\",3,4\n",
            "x,y,z\n", "3,4\n", "bob,3\n"}) {
        for (const std::string& text :
             {header + replaced + kept, header + kept + replaced}) {
          std::string code;
          const std::uint64_t features = FeaturesOf(text, options, &code);
          if (code.empty()) seen.push_back(features);
        }
      }
      EXPECT_GE(seen.size(), 2u) << header << kept;
      for (const std::uint64_t features : seen)
        EXPECT_EQ(features, seen[0]) << header << kept;
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator
