// `dpnmf-lab distort` as an operator types it.
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "common/base/exit_code.h"
#include "curator/draft/draft.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DistortCommand : public Terminal {
 protected:
  // 30 people with a word as class in the last of four columns.
  DistortCommand() {
    std::ostringstream table;
    for (int i = 0; i < 30; ++i) {
      table << i % 7 + 1 << ',' << i % 5 << ',' << i * i % 11 << ','
            << (i % 2 == 0 ? "well" : "ill") << '\n';
    }
    scratch_.Write("t.csv", table.str());
  }

  int Distort(const std::string& more) {
    return Run("distort --input t.csv --users rows --class-column 4 --rank 2 " +
               more);
  }

  mode_t ModeOf(const std::string& name) const {
    struct stat facts = {};
    stat((scratch_.path() + "/" + name).c_str(), &facts);
    return facts.st_mode & 07777;
  }

  std::string FileOf(const std::string& name) const {
    return ReadAll(scratch_.path() + "/" + name);
  }
};

TEST_F(DistortCommand, WritesMetricsResultsAndADraftForEachMethod) {
  ASSERT_EQ(Distort("--method svd,nmf,ssvd --as-published --experiment "
                    "--seed 1 --public --output d"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, StartsWith("Not private"));
  EXPECT_THAT(out_, HasSubstr("rows 1 to k of V"));
  const std::string metrics = FileOf("d/metrics.csv");
  EXPECT_THAT(metrics, StartsWith("method,vd,rp,rk,cp,ck,accuracy,"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 5);
  EXPECT_EQ(ModeOf("d"), 0700u);
  for (const char* file :
       {"d/metrics.csv", "d/iterations.csv", "d/results.json",
        "d/nmf/table.csv", "d/nmf/draft.json"}) {
    EXPECT_EQ(ModeOf(file), 0600u) << file;
  }
  const auto results = nlohmann::json::parse(FileOf("d/results.json"));
  EXPECT_THAT(results["warning"].get<std::string>(), StartsWith("Not private"));
  EXPECT_EQ(results["options"]["seed"], 1);
  EXPECT_EQ(results["methods"].size(), 4u);
  const auto draft = ReadDraft(scratch_.path() + "/d/nmf");
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->draft.kind, DraftKind::kDistorted);
  EXPECT_EQ(draft->draft.method, "nmf");
  EXPECT_EQ(draft->draft.parameters["rank"], 2);
  EXPECT_FALSE(draft->draft.attacks.is_null());
  EXPECT_TRUE(draft->draft.largest_linkage.has_value());
  EXPECT_FALSE(draft->draft.people.has_value());
  EXPECT_THAT(draft->table_csv, HasSubstr(",well\n"));
}

TEST_F(DistortCommand, WithoutASeedStoresNone) {
  ASSERT_EQ(Distort("--method nd --output d"), kExitOk) << err_;
  const std::string first = FileOf("d/nd/table.csv");
  EXPECT_THAT(FileOf("d/results.json"), Not(HasSubstr("\"seed\"")));
  EXPECT_THAT(FileOf("d/nd/draft.json"), Not(HasSubstr("\"seed\"")));
  ASSERT_EQ(Distort("--method nd --output e"), kExitOk) << err_;
  EXPECT_NE(FileOf("e/nd/table.csv"), first);
}

TEST_F(DistortCommand, BindsThePeopleWithTheKeyOfTheDataDirectory) {
  std::filesystem::create_directory(scratch_.path() + "/z");
  ASSERT_EQ(Distort("--method ud --data-dir z --output d"), kExitOk) << err_;
  const auto draft = ReadDraft(scratch_.path() + "/d/ud");
  ASSERT_TRUE(draft.ok()) << draft.status();
  ASSERT_TRUE(draft->draft.people.has_value());
  EXPECT_GT(draft->draft.people->rows.size(), 20u);
}

TEST_F(DistortCommand, TheClassMayBeNamed) {
  scratch_.Write("h.csv", "a,b,c,health\n" + FileOf("t.csv"));
  ASSERT_EQ(Run("distort --input h.csv --users rows --class-column health "
                "--rank 2 --method svd --output d"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("30 people, 3 columns"));
  EXPECT_THAT(FileOf("d/svd/table.csv"), StartsWith("a,b,c,class\n"));
}

TEST_F(DistortCommand, BadInputIsASentenceAndNothingIsWritten) {
  scratch_.Write("negative.csv", "1,2,a\n3,-4,b\n5,6,a\n");
  scratch_.Write("one.csv", "1,2,a\n3,4,a\n");
  const struct {
    std::string arguments, code;
  } cases[] = {
      {"--input t.csv --seed 1", "seed-needs-public"},
      {"--input t.csv --method pca", "distort-method-unknown"},
      {"--input t.csv --class-column 4 --rank 4", "rank-out-of-range"},
      {"--input t.csv --class-column 5", "class-column-out-of-range"},
      {"--input t.csv --class-column kind", "class-column-out-of-range"},
      {"--input t.csv --class-column 4 --rank 2 --folds 1", "distort-folds"},
      {"--input t.csv --class-column 4 --rank 2 --tolerance 0",
       "distort-parameter"},
      {"--input t.csv --method svd --rank 2", "input-ambiguous"},
      {"--input negative.csv --class-column 3 --rank 1 --method nmf",
       "input-negative"},
      {"--input one.csv --class-column 3 --rank 1", "classes-one"},
      {"--input none.csv --rank 1", "input-not-found"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(Run("distort --users rows --output d " + c.arguments), kExitOk);
    EXPECT_THAT(err_, HasSubstr("[" + c.code + "]")) << c.arguments;
    EXPECT_FALSE(Exists("d")) << c.arguments;
  }
  EXPECT_NE(Run("distort --users rows --output d --input negative.csv "
                "--class-column 3 --rank 1 --method all"),
            kExitOk);
  EXPECT_THAT(err_, HasSubstr("Leave these out of --method"));
}

TEST_F(DistortCommand, OverwritesNoDraft) {
  ASSERT_EQ(Distort("--method ud --output d"), kExitOk) << err_;
  const std::string table = FileOf("d/ud/table.csv");
  EXPECT_EQ(Distort("--method svd,ud --output d"), kExitState) << err_;
  EXPECT_THAT(err_, HasSubstr("[draft-exists]"));
  EXPECT_FALSE(Exists("d/svd"));
  EXPECT_EQ(FileOf("d/ud/table.csv"), table);
}

}  // namespace
}  // namespace dpnmf::curator::lab
