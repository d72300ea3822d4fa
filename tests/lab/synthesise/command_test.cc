// `dpnmf-lab synthesise` in a process of its own.
#include <sys/stat.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "curator/draft/draft.h"
#include "tests/curator/commands/terminal.h"
#include "tests/lab/synthesise/synthesise_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;

class LabSynthesise : public Terminal {
 protected:
  LabSynthesise() {
    Draws draws(5);
    ClassRelease release =
        MeasuredRelease(TwoClassTable(300), TwoClasses(), 4, 1e-5, 1, &draws)
            .value();
    release.charge = {{"run_id", "0123"}, {"sequence", 7}};
    release.receipt = nlohmann::ordered_json::object();
    scratch_.Write("r.json", ToJson(release));
    scratch_.Write("people.csv", TableCsv(TwoClassTable(200, 9)));
  }
  StoredDraft DraftOf(const std::string& name) const {
    return ReadDraft(scratch_.path() + "/" + name).value();
  }
};

TEST_F(LabSynthesise, WritesADraftOfThePaidRelease) {
  ASSERT_EQ(Run("synthesise --release r.json --count 50 --seed 3 --output a"),
            kExitOk)
      << err_;
  const StoredDraft draft = DraftOf("a");
  EXPECT_EQ(draft.draft.kind, DraftKind::kSynthetic);
  EXPECT_EQ(draft.draft.method, "class_moments");
  EXPECT_EQ(draft.draft.charge.at("sequence"), 7);
  EXPECT_EQ(draft.draft.parameters.at("epsilon"), 4);
  EXPECT_EQ(draft.draft.parameters.at("count"), 50);
  EXPECT_EQ(draft.table_csv.substr(0, draft.table_csv.find('\n')),
            "p,q,r,s,class");
  EXPECT_EQ(std::count(draft.table_csv.begin(), draft.table_csv.end(), '\n'),
            51);
  struct stat facts;
  ASSERT_EQ(stat((scratch_.path() + "/a/table.csv").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  // A seed gives the same people; without one they differ.
  ASSERT_EQ(Run("synthesise --release r.json --count 50 --seed 3 --output b"),
            kExitOk);
  EXPECT_EQ(DraftOf("b").table_csv, draft.table_csv);
  ASSERT_EQ(Run("synthesise --release r.json --count 50 --output c"), kExitOk);
  EXPECT_NE(DraftOf("c").table_csv, draft.table_csv);
  EXPECT_FALSE(DraftOf("c").draft.parameters.contains("seed"));
  // A draft is never written over.
  EXPECT_EQ(Run("synthesise --release r.json --count 50 --output c"),
            kExitState);
  EXPECT_THAT(err_, HasSubstr("[draft-exists]"));
}

TEST_F(LabSynthesise, SaysThatFiguresOnRealPeopleAreNotPrivate) {
  ASSERT_EQ(Run("synthesise --release r.json --count 300 --test people.csv "
                "--class-column 5 --output a"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("NOT PRIVATE"));
  EXPECT_THAT(out_, HasSubstr("accuracy    "));
  // The draft says that it was compared. The figure is in the report alone.
  const Draft draft = DraftOf("a").draft;
  EXPECT_EQ(draft.attacks.at("compared_on_real_data"), true);
  EXPECT_EQ(draft.attacks.at("test"), "people.csv");
  EXPECT_FALSE(draft.largest_linkage.has_value());
  EXPECT_EQ(draft.parameters.dump().find("accuracy"), std::string::npos);
  EXPECT_EQ(draft.attacks.dump().find("accuracy"), std::string::npos);
}

// An id is no number to learn from.
TEST_F(LabSynthesise, RealPeopleMayHaveIds) {
  std::istringstream lines(ReadAll(scratch_.path() + "/people.csv"));
  std::string named, line;
  for (int n = 0; std::getline(lines, line); ++n)
    absl::StrAppend(&named, n == 0 ? "id" : absl::StrCat("p", n), ",", line,
                    "\n");
  scratch_.Write("named.csv", named);
  const std::string draw = "synthesise --release r.json --count 300 --seed 1 ";
  ASSERT_EQ(Run(draw + "--test people.csv --class-column 5 --output a"),
            kExitOk)
      << err_;
  const auto accuracy = [&] { return out_.substr(out_.find("accuracy"), 16); };
  const std::string plain = accuracy();
  ASSERT_EQ(Run(draw + "--test named.csv --class-column 6 --id-column 1 "
                       "--output b"),
            kExitOk)
      << err_;
  EXPECT_EQ(accuracy(), plain);
}

TEST_F(LabSynthesise, ItsPageSaysWhatWasDrawnAndFromWhat) {
  ASSERT_EQ(Run("synthesise --release r.json --count 300 --output a"), kExitOk)
      << err_;
  const std::string path = scratch_.path() + "/a/";
  const auto plain = nlohmann::json::parse(ReadAll(path + "results.json"));
  EXPECT_THAT(plain.at("warning").get<std::string>(),
              HasSubstr("from a release that was charged"));
  EXPECT_THAT(plain.at("drawn").at("drawn").get<std::string>(),
              HasSubstr("300 synthetic people"));
  EXPECT_THAT(plain.at("drawn").at("from").get<std::string>(),
              HasSubstr("row 7 of ledger"));
  EXPECT_THAT(
      plain.at("drawn").at("guarantee of the release").get<std::string>(),
      HasSubstr("epsilon 4 at delta 1e-05"));
  EXPECT_FALSE(plain.at("drawn").contains("VOID"));
  ASSERT_EQ(plain.at("tables").size(), 1u);
  EXPECT_TRUE(plain.at("tables")[0].at("accuracy_on_original").is_null());
  EXPECT_EQ(plain.at("tables")[0].at("note"), "");
  // Uncharged figures are on the operator's page alone, and say so there.
  EXPECT_TRUE(DraftOf("a").draft.attacks.is_null());
  ASSERT_EQ(Run("synthesise --release r.json --count 300 --test people.csv "
                "--class-column 5 --output b"),
            kExitOk)
      << err_;
  const auto tested =
      nlohmann::json::parse(ReadAll(scratch_.path() + "/b/results.json"));
  EXPECT_THAT(tested.at("warning").get<std::string>(),
              HasSubstr("Not private"));
  EXPECT_GT(tested.at("tables")[0].at("accuracy_on_original"), 0.5);
  EXPECT_THAT(tested.at("tables")[0].at("note").get<std::string>(),
              HasSubstr("uncharged: stays in your draft"));
  const std::string page = ReadAll(scratch_.path() + "/b/report.html");
  EXPECT_THAT(page, HasSubstr("uncharged: stays in your draft"));
  struct stat facts;
  ASSERT_EQ(stat((scratch_.path() + "/b/report.html").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

// A release that was paid for after the guarantee was given up.
TEST_F(LabSynthesise, ItsPageSaysThatTheGuaranteeWasVoid) {
  auto release =
      nlohmann::ordered_json::parse(ReadAll(scratch_.path() + "/r.json"));
  release["receipt"] = {{"void_since", "1700000000"}};
  scratch_.Write("v.json", release.dump());
  ASSERT_EQ(Run("synthesise --release v.json --count 30 --output a"), kExitOk)
      << err_;
  EXPECT_TRUE(
      nlohmann::json::parse(ReadAll(scratch_.path() + "/a/results.json"))
          .at("drawn")
          .contains("VOID"));
}

TEST_F(LabSynthesise, MeasuresOnPublicData) {
  ASSERT_EQ(Run("synthesise --input people.csv --class-column 5 --range 0,2 "
                "--epsilon 1,8 --repeats 2 --public --seed 1 --output m"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("NOT PRIVATE"));
  const std::string metrics = ReadAll(scratch_.path() + "/m/metrics.csv");
  EXPECT_EQ(metrics.substr(0, metrics.find('\n')),
            "epsilon,repeat,accuracy,membership_auc,membership_low,"
            "membership_high");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 5);
  const auto results =
      nlohmann::json::parse(ReadAll(scratch_.path() + "/m/results.json"));
  EXPECT_EQ(results.at("epsilons").size(), 2u);
  EXPECT_THAT(results.at("warning").get<std::string>(),
              HasSubstr("not private"));
  ASSERT_EQ(results.at("tables").size(), 2u);
  EXPECT_EQ(results.at("tables")[0].at("kind"), "synthetic");
  EXPECT_EQ(results.at("tables")[0].at("epsilon"), 1);
  EXPECT_EQ(results.at("tables")[1].at("accuracy_on_original"),
            results.at("epsilons")[1].at("accuracy"));
  for (const auto& table : results.at("tables")) {
    EXPECT_EQ(table.at("method"), "class_moments");
    EXPECT_TRUE(table.at("attacks").at("linked_all_known").is_object());
  }
  for (const auto& one : results.at("epsilons")) {
    EXPECT_LE(one.at("membership_interval")[0], one.at("membership_auc"));
    EXPECT_GE(one.at("membership_interval")[1], one.at("membership_auc"));
  }
  EXPECT_EQ(results.at("data"), "people.csv");
  EXPECT_THAT(results.at("findings")[0].get<std::string>(),
              HasSubstr("class_moments, epsilon "));
  EXPECT_TRUE(Exists("m/report.html"));
}

// A table from a release stands beside the distortions.
TEST_F(LabSynthesise, ItsReportStandsBesideAnAttack) {
  ASSERT_EQ(Run("synthesise --input people.csv --class-column 5 --range 0,2 "
                "--epsilon 8 --repeats 1 --public --seed 1 --output m"),
            kExitOk)
      << err_;
  ASSERT_EQ(Run("attack --original people.csv --published people.csv "
                "--class-column 5 --public --seed 1 --beside m --output a"),
            kExitOk)
      << err_;
  const auto results =
      nlohmann::json::parse(ReadAll(scratch_.path() + "/a/results.json"));
  EXPECT_EQ(results.at("tables").back().at("kind"), "synthetic");
  ASSERT_EQ(Run("distort --input people.csv --users rows --class-column 5 "
                "--method svd --rank 2 --public --seed 1 --beside m --output "
                "d"),
            kExitOk)
      << err_;
  const auto distorted =
      nlohmann::json::parse(ReadAll(scratch_.path() + "/d/results.json"));
  ASSERT_EQ(distorted.at("tables").size(), 2u);
  EXPECT_EQ(distorted.at("tables").back().at("epsilon"), 8);
  EXPECT_EQ(Run("distort --input people.csv --users rows --class-column 5 "
                "--method svd --rank 2 --beside nowhere --output e"),
            kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[report-missing]"));
  EXPECT_FALSE(Exists("e"));
}

// Train on synthetic, test on real: the file of an analyst, class last.
TEST_F(LabSynthesise, TestsWhatAnAnalystHasDrawn) {
  ASSERT_EQ(Run("synthesise --release r.json --count 300 --seed 3 --output a"),
            kExitOk)
      << err_;
  std::filesystem::rename(scratch_.path() + "/a/table.csv",
                          scratch_.path() + "/drawn.csv");
  ASSERT_EQ(Run("synthesise --synthetic drawn.csv --test people.csv "
                "--class-column 5 --output t"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("NOT PRIVATE"));
  EXPECT_THAT(out_,
              HasSubstr("from 300 synthetic people, tested on 200 real ones"));
  const auto results =
      nlohmann::json::parse(ReadAll(scratch_.path() + "/t/results.json"));
  const double accuracy = results.at("accuracy").get<double>();
  EXPECT_GT(accuracy, 0.9);
  EXPECT_EQ(results.at("tables")[0].at("accuracy_on_original"), accuracy);
  // Labels that say nothing of the people: near one half.
  std::istringstream lines(ReadAll(scratch_.path() + "/drawn.csv"));
  std::string line, swapped;
  for (int n = 0; std::getline(lines, line); ++n) {
    const std::size_t comma = line.rfind(',');
    absl::StrAppend(&swapped, line.substr(0, comma), ",",
                    n == 0       ? line.substr(comma + 1)
                    : n % 2 == 0 ? std::string("high")
                                 : std::string("low"),
                    "\n");
  }
  scratch_.Write("swapped.csv", swapped);
  ASSERT_EQ(Run("synthesise --synthetic swapped.csv --test people.csv "
                "--class-column 5 --output w"),
            kExitOk)
      << err_;
  EXPECT_LT(nlohmann::json::parse(ReadAll(scratch_.path() + "/w/results.json"))
                .at("accuracy")
                .get<double>(),
            0.85);
  EXPECT_EQ(Run("synthesise --synthetic drawn.csv --output u"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[synthesise-mixed]"));
  EXPECT_EQ(Run("synthesise --synthetic drawn.csv --release r.json --output u"),
            kExitUsage);
}

TEST_F(LabSynthesise, RefusesWithASentenceAndWritesNothing) {
  const std::string release = "synthesise --release r.json --output x ";
  const std::string input =
      "synthesise --input people.csv --class-column 5 --output x ";
  struct Case {
    std::string arguments;
    const char* code;
  };
  const Case cases[] = {
      {"synthesise --output x", "synthesise-mixed"},
      {input + "--release r.json --range 0,2", "synthesise-mixed"},
      {release, "synthesise-mixed"},
      {release + "--count 5 --unit-length", "synthesise-mixed"},
      {release + "--count 5 --range 0,2", "synthesise-mixed"},
      {release + "--count 5 --integers", "synthesise-mixed"},
      {release + "--count 5 --column-bound 2", "synthesise-mixed"},
      {input + "--range 0,2 --count 5", "synthesise-mixed"},
      {input + "--range 0,2 --test people.csv", "synthesise-mixed"},
      {"synthesise --synthetic r.json --test people.csv --class-column 5 "
       "--classes high,low --output x",
       "synthesise-mixed"},
      {release + "--count 0", "count-out-of-range"},
      {release + "--count 5 --test people.csv", "classes-missing"},
      {input + "--range 0,2 --seed 1", "seed-needs-public"},
      {input, "column-bound-missing"},
      {input + "--range 2,1", "range-out-of-range"},
      {input + "--range 0,2 --classes high,other", "class-unknown"},
      {"synthesise --release people.csv --count 5 --output x",
       "class-release-damaged"},
      {"synthesise --release none.json --count 5 --output x", "file-missing"}};
  for (const Case& one : cases) {
    EXPECT_NE(Run(one.arguments), kExitOk) << one.arguments;
    EXPECT_THAT(err_, HasSubstr(absl::StrCat("[", one.code, "]")));
    EXPECT_FALSE(Exists("x")) << one.arguments;
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
