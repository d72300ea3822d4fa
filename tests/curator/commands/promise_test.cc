// Data sets that do not belong where they lie: serve and doctor refuse them.
#include "tests/curator/commands/servable.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class MovedDataset : public Servable {
 protected:
  // The data set v of people, who are promised epsilon 1 under replace_one.
  MovedDataset() { EXPECT_EQ(Import("--delta 1e-6"), 0) << err_; }
  // The data set w of the same people, imported elsewhere under another
  // promise and moved here.
  void MoveHere(const std::string& promise) {
    ASSERT_EQ(Run("import --name w --population people --input v.csv --users "
                  "rows --data-dir y " +
                  promise),
              0)
        << err_;
    fs::rename(Path("y/datasets/w"), Path("z/datasets/w"));
  }
};

TEST_F(MovedDataset, OfAnotherPromiseIsNotServed) {
  const struct {
    const char *promise, *text;
  } cases[] = {
      {"--epsilon 1 --delta 1e-6 --adjacency add_remove_one --users-count 5",
       "adjacency=add_remove_one"},
      {"--epsilon 1 --delta 1e-6 --conversion rdp", "conversion=rdp"},
      {"--epsilon 2 --delta 1e-6", "epsilon=2"},
      {"--epsilon 1 --delta 1e-7", "delta=1e-07"}};
  for (const auto& c : cases) {
    MoveHere(c.promise);
    const std::string served = Served();
    EXPECT_THAT(served, HasSubstr("[population-differs]")) << c.promise;
    EXPECT_THAT(served, HasSubstr("The data set w was imported under"));
    EXPECT_THAT(served, HasSubstr(c.text));
    EXPECT_THAT(served, Not(HasSubstr("serves")));
    const std::string examined = Examined();
    EXPECT_THAT(examined, HasSubstr("The data set w was imported under"))
        << c.promise;
    EXPECT_THAT(examined,
                HasSubstr("The ledger has the guarantee of its population"))
        << "the data set v is as it should be";
    fs::remove_all(Path("z/datasets/w"));
    fs::remove_all(Path("y"));
    fs::remove_all(Path("y.anchor"));
  }
}

TEST_F(MovedDataset, OfAnotherNameThanItsDirectoryIsNotServed) {
  fs::copy(Path("z/datasets/v"), Path("z/datasets/u"),
           fs::copy_options::recursive);
  for (const std::string& said : {Served(), Examined()}) {
    EXPECT_THAT(said, HasSubstr("z/datasets/u contains the data set v: rename "
                                "the directory to that name"));
  }
  EXPECT_THAT(Served(), HasSubstr("[dataset-name-differs]"));
}

// Nor is it used, or recorded, under the directory's name.
TEST_F(MovedDataset, OfAnotherNameThanItsDirectoryIsNotOpenedByACommand) {
  fs::copy(Path("z/datasets/v"), Path("z/datasets/u"),
           fs::copy_options::recursive);
  scratch_.Write("W.csv", "1,0\n0,1\n");
  for (const std::string command :
       {"transform --name u --model W.csv --output H.csv",
        "recommend --name u --model W.csv --user 1",
        "synthesise --name u --epsilon 1 --output people.csv",
        "federation-member --dataset u --name a --address a.example:1"}) {
    EXPECT_EQ(Run(command + " --data-dir z"), kExitState) << command;
    EXPECT_THAT(err_, HasSubstr("[dataset-name-differs]")) << command;
    EXPECT_THAT(err_, HasSubstr("z/datasets/u contains the data set v"));
  }
  EXPECT_FALSE(Exists("z/audit.jsonl"));
  EXPECT_FALSE(Exists("H.csv"));
}

}  // namespace
}  // namespace dpnmf::curator
