// Lines of user, item and value with a fourth field, decimal commas, headers.
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/tables/load.h"
#include "common/tables/names/header_words.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

using Columns = std::vector<std::vector<float>>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LoadOptions AsTriples() {
  LoadOptions options;
  options.format = MatrixFormatOfName("triples").value();
  options.feature_names = {"x", "y"};
  return options;
}

TEST(TripleLines, AreReadAsTheirProgramMeantThem) {
  const struct {
    const char* content;
    Columns columns;
    const char* said;
  } cases[] = {
      {"u;x;3,5\nv;y;1\n", {{3.5f, 0}, {0, 1}}, "decimal commas are read"},
      {"u\tx\t0,125\n", {{0.125f, 0}}, "separated by tabs"},
      {"u,x,\"2,5\"\nu,y,4\n", {{2.5f, 4}}, "(line 1: 2,5)"},
      {"u::x::2::978300760\n", {{2, 0}}, "the fourth field, a time, is not"},
      {"u|x|2\n", {{2, 0}}, ""},
      {"\n# user item value\nu x 2\n", {{2, 0}}, "left out as comments: 1"},
      {"\nuser;item;value\nu;x;2,5\n",
       {{2.5f, 0}},
       "the first line is a header (user, item, value)"},
      {"a,b,count,created_at\nu,x,2,5\n",
       {{2, 0}},
       "(a, b, count, created_at)"},
      {"u,x,2,\nu,y,3,\n", {{2, 3}}, ""},
      {"u,x,2,2024-01-31\nv,x,1,\"31.1.2024 10:00\"\nw,x,1,20240131\n",
       {{2, 0}, {1, 0}, {1, 0}},
       "a time"},
      {"u,x,2,1700000000.5\nv,x,1,1700000000000\nw,x,1,2024-01-31T10:00:00Z\n",
       {{2, 0}, {1, 0}, {1, 0}},
       "a time"}};
  for (const auto& one : cases) {
    const Scratch scratch;
    std::vector<std::string> said;
    LoadOptions options = AsTriples();
    options.note = [&](const std::string& s) { said.push_back(s); };
    const auto matrix =
        LoadMatrix(scratch.Write("t", one.content), true, options);
    ASSERT_TRUE(matrix.ok()) << matrix.status() << one.content;
    EXPECT_EQ(ColumnsOf(*matrix), one.columns) << one.content;
    if (*one.said == '\0') {
      EXPECT_THAT(said, IsEmpty());
    } else {
      EXPECT_THAT(said, ElementsAre(HasSubstr(one.said)));
    }
  }
}

TEST(TripleLines, ItemsInQuotesAreThoseOfTheList) {
  const Scratch scratch;
  LoadOptions options = AsTriples();
  options.feature_names = {"5\" nail"};
  const auto matrix =
      LoadMatrix(scratch.Write("t", "u,\"5\"\" nail\",2\n"), true, options);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(ColumnsOf(*matrix), (Columns{{2}}));
}

TEST(TripleLines, WhatCouldBeSomethingElseIsRefusedByItsCause) {
  const struct {
    const char *content, *code, *sentence;
  } cases[] = {
      {"u,x,2,5\n", "input-malformed",
       "line 1, column 4: the fourth field '5' is no time (seconds since 1970 "
       "or a date): if 2,5 is one value with a decimal comma, write a point"},
      {"u,x,3\nu,y,2,50\n", "input-malformed", "line 2, column 4"},
      {"u\tx\t2\tgood\n", "input-malformed", "column 4: the fourth field"},
      {"u\tx\t2\t99999999\n", "input-malformed", "column 4"},
      {"u x 2 20241331\n", "input-malformed", "column 4"},
      {"user,item,value,weight\nu,x,2,1700000000\n", "input-malformed",
       "line 1, column 4: the fourth column is called 'weight'"},
      {"user,item,value,updates\nu,x,2,5\n", "input-malformed",
       "called 'updates'"},
      {"user,item,value\nu,x,2,5\n", "input-malformed",
       "line 2, column 4: the fourth field '5' is not in the header"},
      {"item,user,value\nx,u,2\n", "input-malformed",
       "line 1, column 2: the header names 'item' before 'user'"},
      {"u,x,2,5,1700000000\n", "input-ragged", "a point in decimal numbers"},
      {"u;x;1,234\n", "input-ambiguous",
       "line 1, column 3: the value '1,234' is a thousand or has a decimal "
       "comma"},
      {"u;x;1,5\nu;y;1.5\n", "input-ambiguous",
       "line 2, column 3: the value '1.5' has a point, and that of line 1 a "
       "comma"},
      {"u;x;1.5\nu;y;1,5\n", "input-ambiguous", "that of line 1 a point"},
      {"u;x;1.234,5\n", "input-not-a-number", "line 1, column 3"},
      // No header: the line would be lost.
      {"u,x,NA\nu,y,1\n", "input-not-a-number", "line 1, column 3: 'NA'"},
      {"1,2,many\n", "item-unknown", "line 1, column 2"},
      {"u,x,$5\nu,y,1\n", "input-not-a-number", "line 1, column 3"},
      {"u,x,TRUE\nu,y,1\n", "input-not-a-number", "line 1, column 3"},
      {"u,\"x\ny\",1\n", "input-ragged", "line 1"}};
  for (const auto& one : cases) {
    const Scratch scratch;
    const absl::Status status =
        LoadMatrix(scratch.Write("t", one.content), true, AsTriples()).status();
    EXPECT_EQ(ReasonCode(status), one.code) << status << one.content;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.sentence));
  }
}

TEST(HeaderWords, OfTimesAreTimesAndDatesAtTheBeginOfAWord) {
  for (const char* word :
       {"time", "Timestamp", "reviewTime", "rating_date", "DATE", "dateRated",
        "tstamp_at", "day", "unix time"})
    EXPECT_TRUE(IsHeaderOfTimes(word)) << word;
  for (const char* word :
       {"", "update", "candidate", "weight", "helpful", "rating", "sentiment"})
    EXPECT_FALSE(IsHeaderOfTimes(word)) << word;
}

}  // namespace
}  // namespace dpnmf
