#include "common/tables/label_guess.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tables/load.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

bool LooksLikeNames(const std::vector<float>& values, std::size_t width) {
  const auto names = FindNamesByEntries(values, width);
  return names.has_value() && names->column == 0;
}

TEST(FindNames, KnowsUsualHeaders) {
  for (const char* header :
       {"id", "ID", "Person", "patient", "user_id", "Patient ID", "name",
        "patientid", "userId", "USUBJID", "PassengerId", "MRN", "SEQN", "donor",
        "Unnamed: 0", "rownames"}) {
    EXPECT_EQ(FindNamesByHeader({header, "a"}), 0u) << header;
  }
  for (const char* header : {"", "code0", "acid", "width", "idle", "names of",
                             "paid", "humid", "x", "authority"})
    EXPECT_EQ(FindNamesByHeader({header, "a"}), std::nullopt) << header;
  EXPECT_EQ(FindNamesByHeader({"id"}), std::nullopt);
  EXPECT_EQ(FindNamesByHeader({}), std::nullopt);
  EXPECT_EQ(FindNamesByHeader({"a", "user_id"}), 1u);
}

// The first column as told, the second of zeros and ones.
std::vector<float> Beside(const std::function<float(int)>& first,
                          int rows = 12) {
  std::vector<float> values;
  for (int n = 0; n < rows; ++n) {
    values.push_back(first(n));
    values.push_back(static_cast<float>(n / 2 % 2));
  }
  return values;
}

TEST(FindNames, KnowsDistinctIntegersBesideOthersAtAnyNumberOfRows) {
  const auto scattered = [](int n) {
    return static_cast<float>(1000 + 37 * n % 100);
  };
  for (const int rows : {2, 3, 9, 12})
    EXPECT_TRUE(LooksLikeNames(Beside(scattered, rows), 2)) << rows;
  EXPECT_FALSE(LooksLikeNames(Beside(scattered, 1), 2));
  // Too long for a float to tell apart.
  EXPECT_TRUE(LooksLikeNames(
      Beside([](int n) { return 1234567890.f + static_cast<float>(n * n); }),
      2));
  EXPECT_FALSE(LooksLikeNames(
      Beside([](int n) { return static_cast<float>(n * n % 11); }), 2))
      << "one stands twice";
  EXPECT_FALSE(LooksLikeNames(
      Beside([](int n) { return static_cast<float>(n * n) + 0.5f; }), 2))
      << "no integers";
  std::vector<float> values = Beside(scattered);
  for (std::size_t i = 1; i < values.size(); i += 2) values[i] = values[i - 1];
  EXPECT_FALSE(LooksLikeNames(values, 2)) << "the other is such, too";
}

TEST(FindNames, KnowsAConstantStepWhateverTheOthersAre) {
  std::vector<float> values;
  for (int n = 0; n < 12; ++n) {
    values.push_back(static_cast<float>(n) / 2);  // step 1/2
    values.push_back(static_cast<float>(n * n));  // distinct integers
  }
  EXPECT_TRUE(LooksLikeNames(values, 2));
  EXPECT_TRUE(LooksLikeNames({values.begin(), values.begin() + 6}, 2));
  // Two rows always have one, and a constant is no name.
  EXPECT_FALSE(LooksLikeNames({0.5f, 1, 1, 1}, 2));
  EXPECT_FALSE(LooksLikeNames({1, 1, 1, 2, 1, 4}, 2));
  // In another column few rows may have one by chance.
  const auto swapped = [&](int rows) {
    std::vector<float> other;
    for (int n = 0; n < rows; ++n) {
      other.push_back(static_cast<float>(n % 3 == 0) / 3);
      other.push_back(static_cast<float>(n) / 2);
    }
    return FindNamesByEntries(other, 2);
  };
  EXPECT_FALSE(swapped(9).has_value());
  ASSERT_TRUE(swapped(10).has_value());
  EXPECT_EQ(swapped(10)->column, 1u);
}

std::string Message(const std::string& text, const LoadOptions& options) {
  const Scratch scratch;
  const auto matrix = LoadMatrix(scratch.Write("m.csv", text), true, options);
  return matrix.ok() ? "" : std::string(matrix.status().message());
}

TEST(LoadMatrix, RefusesAColumnThatTheHeaderCallsAnIdUnlessToldWhatItIs) {
  const std::string text = "person,a,b\n1000,1,0\n1001,1,2\n";
  LoadOptions options;
  const std::string refused = Message(text, options);
  EXPECT_NE(refused.find("'person'"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--label-columns 1"), std::string::npos);
  for (const int labels : {0, 1}) {
    options.label_columns = labels;
    EXPECT_EQ(Message(text, options), "");
  }
  options.label_columns.reset();
  for (const char* columns : {"all", "2-3", "a,b", "1,3"}) {
    options.columns = columns;
    EXPECT_EQ(Message(text, options), "") << columns;
  }
  options.columns = "";
  EXPECT_NE(Message("a,user_id,b\n1,7,0\n1,7,2\n", options).find("--columns"),
            std::string::npos);
  EXPECT_EQ(Message("person,a\nann,1\nbob,2\n", options), "");
  EXPECT_EQ(Message("1,2\n0,1\n", options), "");
}

TEST(LoadMatrix, RefusesAFirstLineThatCountsFromZeroUnlessToldWhatItIs) {
  const std::string text = "0,1,2\n5,0,0\n5,1,1\n";
  LoadOptions options;
  EXPECT_NE(Message(text, options).find("--header yes or --header no"),
            std::string::npos)
      << Message(text, options);
  const Scratch scratch;
  const std::string path = scratch.Write("m.csv", text);
  options.header = true;
  EXPECT_EQ(LoadMatrix(path, true, options)->users, 2u);
  options.header = false;
  EXPECT_EQ(LoadMatrix(path, true, options)->users, 3u);
  EXPECT_EQ(Message("0,1,3\n5,0,0\n5,1,1\n", {}), "");
  EXPECT_EQ(Message("0\n5\n5\n", {}), "");
}

TEST(LoadMatrix, TakesTheColumnsThatAreNamed) {
  const Scratch scratch;
  const std::string path =
      scratch.Write("m.csv", "who;a;b;c\nann;1;2;3\nbob;4;5;6\n");
  LoadOptions options;
  options.delimiter = ';';
  options.columns = "c, 2";
  const auto matrix = LoadMatrix(path, true, options);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(matrix->values, (std::vector<float>{1, 3, 4, 6}));
  for (const char* unknown : {"d", "0", "5", "3-2", "2-5", "", "2,,3", "-1"}) {
    options.columns = std::string("a,") + unknown;
    EXPECT_EQ(ReasonCode(LoadMatrix(path, true, options).status()),
              "columns-unknown")
        << unknown;
  }
}

// Rows of numbers and separators alone are read in one pass; quotes, blanks and
// signs are not.
TEST(LoadMatrix, RowsReadInOnePassAreTheRowsReadFieldByField) {
  const std::vector<std::string> numbers = {
      "0",       "7",        "-0",       "007",
      "9999999", "10000001", "1e-3",     "0.1",
      ".5",      "5.",       "1E5",      "123456789.25",
      "3.4e38",  "1e-400",   "16777217", "0.30000001192092896"};
  std::string plain = "who,a,b\nfirst,1.5,1\n", quoted = plain;
  for (const std::string& a : numbers) {
    for (const std::string& b : numbers) {
      plain += "ann," + a + "," + b + "\n";
      quoted += "ann,\"" + a + "\", " + b + " \r\n";
    }
  }
  const Scratch scratch;
  const auto one = LoadMatrix(scratch.Write("a.csv", plain), true, {});
  const auto other = LoadMatrix(scratch.Write("b.csv", quoted), true, {});
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(one->users, 1 + numbers.size() * numbers.size());
  EXPECT_EQ(one->values, other->values);
  for (const float value : one->values) EXPECT_FALSE(std::signbit(value));
  // Errors are found in rows read either way.
  for (const char* row :
       {"ann,1", "ann,1,2,3", "ann,-1,2", "ann,nan,2", "ann,,2", "ann,1,2,",
        "7,1,2", "ann,1;2", "ann,1e,2", "ann,0x1,2", "ann,1e39,2"}) {
    EXPECT_NE(Message("who,a,b\nfirst,1.5,1\n" + std::string(row) + "\n", {}),
              "")
        << row;
  }
}

TEST(LoadMatrix, TellsAllThatIsWrongAtOnce) {
  std::string text = "1,1\n1,x\n1\n-1,nan\n\n\"1,1\n1,1\n";
  const Scratch scratch;
  std::vector<std::string> refused;
  LoadOptions options;
  options.refused = [&](const absl::Status& status) {
    refused.push_back(std::string(ReasonCode(status)));
  };
  const auto matrix = LoadMatrix(scratch.Write("m.csv", text), true, options);
  EXPECT_EQ(refused,
            (std::vector<std::string>{"input-not-a-number", "input-ragged",
                                      "input-negative", "input-not-finite",
                                      "input-ragged", "input-malformed"}));
  EXPECT_EQ(ReasonCode(matrix.status()), "input-not-a-number");
  EXPECT_NE(matrix.status().message().find("the first of 6 entries and lines"),
            std::string::npos)
      << matrix.status();
  refused.clear();
  text = "1,1\n";
  for (int line = 0; line < 50; ++line) text += "1,x\n";
  const auto many = LoadMatrix(scratch.Write("n.csv", text), true, options);
  EXPECT_TRUE(refused.empty()) << "one cause has one sentence";
  EXPECT_NE(many.status().message().find("first of 50"), std::string::npos);
  text = "1,1\n";
  for (int line = 0; line < 50; ++line)
    absl::StrAppend(&text, "1,x", line, "\n");
  const auto causes = LoadMatrix(scratch.Write("n.csv", text), true, options);
  EXPECT_EQ(refused.size(), kShownRefusals);
  EXPECT_NE(causes.status().message().find("first of 50"), std::string::npos);
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

// No entry decides whether the operator is asked for a flag that changes D: the
// question would be a public fact.
TEST(LoadMatrix, EntriesThatLookLikeNamesAreReadAndNoted) {
  std::string ids;
  for (int n = 0; n < 12; ++n)
    absl::StrAppend(&ids, 1000 + 37 * n % 100, ",", n % 2, ",0\n");
  const std::string steps = "0.5,1,1\n1,1,0\n1.5,0,1\n";
  for (const auto& [rows, why] : {std::pair(ids, "integers, no two alike"),
                                  std::pair(steps, "a constant step")}) {
    for (const std::string header : {"", "a,b,c\n"}) {
      // The first person's row, replaced by one that is like the second's or
      // has no whole number.
      for (const std::string replaced : {"", "1037,0,0\n", "0.25,0,0\n"}) {
        const std::string text =
            header + (replaced.empty()
                          ? rows
                          : replaced + rows.substr(rows.find('\n') + 1));
        LoadOptions options;
        options.header = !header.empty();
        std::vector<std::string> notes;
        options.note = [&](const std::string& note) { notes.push_back(note); };
        std::string code;
        EXPECT_EQ(FeaturesOf(text, options, &code), 3u) << code << text;
        if (!replaced.empty()) continue;
        ASSERT_EQ(notes.size(), 1u) << text;
        EXPECT_NE(notes[0].find("Column 1"), std::string::npos) << notes[0];
        EXPECT_NE(notes[0].find(why), std::string::npos) << notes[0];
        // A declared layout is not remarked on.
        options.label_columns = 1;
        EXPECT_EQ(FeaturesOf(text, options, &code), 2u) << code;
        EXPECT_EQ(notes.size(), 1u);
      }
    }
  }
}

// A header is asked about before any row below the first is read: whatever the
// rows are, the answer is the same.
TEST(LoadMatrix, NoRowDecidesWhetherAHeaderIsAskedAbout) {
  for (const std::string rows : {"1000,1,0\n1001,1,2\n", "1000,1,0\n1000,1,2\n",
                                 "0.5,1,0\n7,1,2\n", "1000,1,0\n7,x,2\n"}) {
    std::string code;
    FeaturesOf("person,a,b\n" + rows, {}, &code);
    EXPECT_EQ(code, "input-ambiguous") << rows;
  }
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
            "x,y,z\n", "3,4\n", "bob,3\n", "bob;3,4\n", "bob;3;4\n",
            "\"3,5\",3,4\n", "NA,3,4\n", "5%,3,4\n", "#bob,3,4\n", "1,3,4\n",
            "# bob\n"}) {
        for (const std::string& text :
             {header + replaced + kept, header + kept + replaced}) {
          std::string code;
          const std::uint64_t features = FeaturesOf(text, options, &code);
          if (code.empty()) seen.push_back(features);
        }
      }
      // Names of rows would be words or 1, 2, 3.
      if (header == "a,b\n" && kept == "7,1,2\n") {
        EXPECT_TRUE(seen.empty());
        continue;
      }
      EXPECT_GE(seen.size(), 2u) << header << kept;
      for (const std::uint64_t features : seen)
        EXPECT_EQ(features, seen[0]) << header << kept;
    }
  }
}

}  // namespace
}  // namespace dpnmf
