#include "curator/data/label_guess.h"

#include "curator/data/load.h"
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

TEST(LooksLikeNames, KnowsDistinctIntegersBesideOthers) {
  EXPECT_TRUE(LooksLikeNames("", {7, 1, 0, 8, 1, 2, 9, 3, 2}, 3));
  // Too long for a float to tell apart.
  EXPECT_TRUE(LooksLikeNames(
      "", {1234567890.f, 1, 1234567891.f, 1, 1234567892.f, 1}, 2));
  EXPECT_FALSE(LooksLikeNames("", {7, 1, 7, 1, 9, 3}, 2)) << "twice";
  EXPECT_FALSE(LooksLikeNames("", {7.5, 1, 8, 1, 9, 3}, 2)) << "no integer";
  EXPECT_FALSE(LooksLikeNames("", {7, 1, 8, 2, 9, 3}, 2)) << "so are others";
  EXPECT_FALSE(LooksLikeNames("", {7, 1, 8, 1}, 2)) << "too few";
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

}  // namespace
}  // namespace dpnmf::curator
