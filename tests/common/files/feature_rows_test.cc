#include "common/files/feature_rows.h"

#include <fstream>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf {
namespace {

class FeatureRows : public testing::Test {
 protected:
  absl::StatusOr<std::vector<std::uint32_t>> Read(const std::string& text,
                                                  std::size_t most = 4) const {
    std::ofstream(path_) << text;
    return ReadFeatureRows(path_, most);
  }
  std::string CodeOf(const std::string& text) const {
    return ReasonCode(Read(text).status());
  }
  const ScratchDirectory scratch_;
  const std::string path_ = scratch_.PathOf("rows.txt");
};

TEST_F(FeatureRows, AreReadInAnyOrderAndComeAscending) {
  const std::vector<std::uint32_t> expected = {0, 3, 7, 4294967295u};
  EXPECT_EQ(*Read("0\n3\n7\n4294967295\n"), expected);
  EXPECT_EQ(*Read("# rows of May\n7,3\r\n\n 0\t4294967295"), expected);
  EXPECT_EQ(*Read("\xEF\xBB\xBF"
                  "5\r\n"),
            std::vector<std::uint32_t>{5});
  EXPECT_EQ(*Read("5"), std::vector<std::uint32_t>{5});
  EXPECT_EQ(*Read("4\r2\r"), (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(*Read(std::string("\xFF\xFE"
                              "4\0\n\0"
                              "2\0",
                              8)),
            (std::vector<std::uint32_t>{2, 4}));
}

TEST_F(FeatureRows, AGraphIsReadWithTheSameLinesAndEncodings) {
  const std::vector<std::uint32_t> expected = {0, 1, 1, 2};
  for (const std::string& text :
       {std::string("# a path\n0 1\n1,2\n"), std::string("0\t1\r1 2\r"),
        std::string("\xFE\xFF\0"
                    "0\0 \0"
                    "1\0\n\0"
                    "1\0 \0"
                    "2",
                    16)}) {
    std::ofstream(path_) << text;
    const auto graph = ReadFeatureGraph(path_);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(*graph, expected);
  }
  std::ofstream(path_) << "0 1\r1\r";
  const absl::Status refused = ReadFeatureGraph(path_).status();
  EXPECT_EQ(ReasonCode(refused), "feature-graph-invalid");
  EXPECT_NE(refused.message().find("line 2"), std::string::npos);
}

TEST_F(FeatureRows, WhatNamesNoFeatureIsRefused) {
  for (const char* text : {"", "\n", "# 1\n", "1\n1\n", "a", "-1", "1.0",
                           "4294967296", "0 1 2 3 4", "1\n2;3"}) {
    EXPECT_EQ(CodeOf(text), "feature-rows-malformed") << text;
  }
  EXPECT_NE(Read("1\nx").status().message().find("line 2"), std::string::npos);
  EXPECT_NE(Read("0 1 2 3 4\n5")
                .status()
                .message()
                .find("more than 4 features; name 1 to 4"),
            std::string::npos);
  EXPECT_NE(ReadFeatureRows("/nowhere/rows", 4).status(), absl::OkStatus());
}

}  // namespace
}  // namespace dpnmf
