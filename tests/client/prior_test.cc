// Priors that are read from files.
#include <sstream>
#include <string>
#include <vector>

#include "client/flags/prior_flags.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<PriorToSend> ReadOne(const std::string& prior,
                                    const char* users) {
  const PriorFlags flags = {.priors = {prior}, .users = users};
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<PriorToSend> priors,
      ReadPriors(flags,
                 [](const std::string& id) -> absl::StatusOr<std::string> {
                   return id;
                 }));
  return priors.at(0);
}

TEST(ReadPriors, TakesNamesOfFeaturesFromEveryFileOfText) {
  Eigen::MatrixXd expected(2, 3);
  expected << 1, 2, 3, 4, 5, 6.5;
  const struct {
    const char* file;
    const char* text;
    const char* users;
    std::vector<std::string> names;
  } cases[] = {
      {"p.csv", "x,y\n1,4\n2,5\n3,6.5\n", "rows", {"x", "y"}},
      {"p.csv",
       "\"x\",\"y\"\n\"a\",1,4\n\"b\",2,5\n\"c\",3,6.5\n",
       "rows",
       {"x", "y"}},
      {"p.tsv",
       "who\t x\ty \na\t1\t4\nb\t2\t5\nc\t3\t6.5\n",
       "rows",
       {"x", "y"}},
      {"p.txt", "x y\n1 4\n2 5\n3 6.5\n", "rows", {"x", "y"}},
      {"p.csv", "feature,a,b,c\nx,1,2,3\ny,4,5,6.5\n", "columns", {"x", "y"}},
      {"p.txt",
       "gene\ta\tb\tc\nx\t1\t2\t3\ny\t4\t5\t6.5\n",
       "columns",
       {"x", "y"}},
      {"p.csv", "k,n,a,b,c\nu,x,1,2,3\nu,y,4,5,6.5\n", "columns", {"x", "y"}},
      {"p.txt", "1 2 3\n4 5 6.5\n", "columns", {}},
  };
  const Scratch scratch;
  for (const auto& one : cases) {
    const std::string path = scratch.Write(one.file, one.text);
    const auto prior = ReadOne(path, one.users);
    ASSERT_TRUE(prior.ok()) << one.text << prior.status();
    EXPECT_EQ(prior->entries, expected) << one.text;
    EXPECT_EQ(prior->names, one.names) << one.text;
    EXPECT_EQ(prior->header.named(), !one.names.empty()) << one.text;
    if (std::string(one.users) == "rows") continue;
    // Parts lie in columns, whatever --users says of people.
    const auto parts = ReadOne("dictionary:" + path, "rows");
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(parts->entries, expected);
    EXPECT_EQ(parts->names, one.names);
  }
}

TEST(ReadPriors, ASquareFileWithoutNamesIsNotGuessed) {
  const Scratch scratch;
  const std::string square = scratch.Write("p.txt", "1 2\n3 4\n");
  EXPECT_EQ(ReasonCode(ReadOne(square, "").status()), "prior-shape-invalid");
  EXPECT_EQ(ReadOne(square, "rows")->entries(0, 1), 3);
  EXPECT_EQ(ReadOne(square, "columns")->entries(0, 1), 2);
  EXPECT_TRUE(ReadOne("dictionary:" + square, "").ok());
  EXPECT_EQ(
      ReadOne(scratch.Write("n.csv", "x,y\n1,2\n3,4\n"), "")->entries(0, 1), 3);
  EXPECT_EQ(
      ReadOne(scratch.Write("w.txt", "1 2\n3 4\n5 6\n"), "")->entries.rows(),
      2);
}

TEST(ReadPriors, AMomentHasBothSignsAndTheNamesAboveIt) {
  Eigen::MatrixXd expected(2, 2);
  expected << 2, -0.1, -0.1, 3;
  const Scratch scratch;
  const auto moment = [&](const char* name, const char* text) {
    return ReadOne("moment:" + scratch.Write(name, text), "rows");
  };
  const auto above = moment("g.csv", "x,y\n2,-0.1\n-0.1,3\n");
  ASSERT_TRUE(above.ok()) << above.status();
  EXPECT_EQ(above->entries, expected);
  EXPECT_THAT(above->names, ElementsAre("x", "y"));
  const auto symmetric =
      moment("g.mtx",
             "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n"
             "2 1 -0.1\n2 2 3\n");
  ASSERT_TRUE(symmetric.ok()) << symmetric.status();
  EXPECT_EQ(symmetric->entries, expected);
  EXPECT_THAT(symmetric->names, IsEmpty());
  EXPECT_EQ(ReasonCode(moment("g.csv", "1,2\n").status()),
            "prior-shape-invalid");
  EXPECT_EQ(
      ReasonCode(ReadOne(scratch.Write("p.csv", "1,-2\n"), "rows").status()),
      "input-negative");
}

TEST(ReadPriors, ARefusalNamesTheFlag) {
  const Scratch scratch;
  const absl::Status refused =
      ReadOne(scratch.Write("p.csv", "x,y\n1,-2\n"), "rows").status();
  EXPECT_THAT(std::string(refused.message()), testing::StartsWith("--prior `"));
}

TEST(NotePriors, SaysHowFeaturesAreFound) {
  const Scratch scratch;
  const auto note = [&](const char* text,
                        const std::vector<std::string>& features) {
    std::ostringstream err;
    const auto prior = ReadOne(scratch.Write("p.csv", text), "rows");
    EXPECT_TRUE(prior.ok()) << prior.status();
    NotePriors({*prior}, features, &err);
    return err.str();
  };
  EXPECT_EQ(note("x,Y,w\n1,2,3\n", {"x", "y", "z"}),
            "dpnmf: note: --prior p.csv: 2 of 3 features were found by name; "
            "spelled differently: 'y (Y)'; left out: 'w'.\n");
  EXPECT_EQ(note("x,y\n1,2\n", {}),
            "dpnmf: note: --prior p.csv: the file has names of 2 features "
            "('x', 'y'), which the server matches by name.\n");
  EXPECT_EQ(note("1,2\n", {"x", "y"}),
            "dpnmf: note: --prior p.csv: the file has no names: its 2 features "
            "are taken in the run's order.\n");
  PriorToSend of_run;
  of_run.header.set_kind(v1::PRIOR_KIND_RUN);
  std::ostringstream err;
  NotePriors({of_run}, {}, &err);
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace dpnmf::cli
