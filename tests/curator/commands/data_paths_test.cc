// Places of ledger, anchor and data, and messages when they are elsewhere.
#include <sys/stat.h>

#include "common/base/exit_code.h"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Places : public Terminal {};

TEST_F(Places, AForgottenAnchorDirectoryIsAskedForBeforeAnythingIsAccepted) {
  ASSERT_EQ(Import("--delta 1e-6 --anchor-dir elsewhere"), kExitOk) << err_;
  for (const char* command : {"ledger show", "ledger verify"}) {
    EXPECT_EQ(Run(std::string(command) + " --data-dir z"), kExitDataLoss);
    EXPECT_THAT(err_, HasSubstr("z.anchor/anchor.json")) << command;
    EXPECT_THAT(err_, HasSubstr("first check --anchor-dir")) << command;
    EXPECT_LT(err_.find("--anchor-dir"), err_.find("--accept")) << command;
  }
  ASSERT_EQ(Run("backup --data-dir z --output b"), kExitOk) << err_;
  EXPECT_EQ(Run("restore --from b --data-dir y"), kExitDataLoss);
  EXPECT_THAT(err_, HasSubstr("y.anchor/anchor.json"));
  EXPECT_THAT(err_, HasSubstr("first check --anchor-dir"));
  // Said where it was written.
  EXPECT_EQ(Run("ledger anchor --accept --data-dir z"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("z.anchor/anchor.json"));
  EXPECT_EQ(Run("ledger verify --data-dir z --anchor-dir elsewhere"), kExitOk);
}

TEST_F(Places, AnAnchorInTheDataDirectoryIsRefused) {
  fs::create_directory(scratch_.path() + "/z");
  fs::create_directory_symlink("z", scratch_.path() + "/link");
  for (const char* anchor :
       {"z", "z/", "./z", "z/anchor", "z/a/b", "link", "link/../z/anchor"}) {
    EXPECT_EQ(Import(std::string("--delta 1e-6 --anchor-dir ") + anchor),
              kExitUsage)
        << anchor;
    EXPECT_THAT(err_, HasSubstr("[anchor-directory-invalid]")) << anchor;
    EXPECT_TRUE(fs::is_empty(scratch_.path() + "/z")) << anchor;
  }
  ASSERT_EQ(Import("--delta 1e-6 --anchor-dir zz"), kExitOk) << err_;
  const std::string inside = " --data-dir z --anchor-dir z/anchor";
  for (const char* command :
       {"ledger show", "ledger verify", "ledger anchor --accept",
        "forget --older-than-days 1", "close --run 0", "restore --from z"}) {
    EXPECT_EQ(Run(command + inside), kExitUsage) << command;
    EXPECT_THAT(err_, HasSubstr("[anchor-directory-invalid]")) << command;
  }
}

// `.` has an anchor beside it like any other directory.
TEST_F(Places, TheDefaultAnchorOfTheWorkingDirectoryLiesBesideIt) {
  const fs::path inner = fs::path(scratch_.path()) / "inner";
  fs::create_directory(inner);
  ASSERT_EQ(std::system(("cd '" + inner.string() +
                         "' && '" DPNMF_PROGRAM
                         "' import --name v --population people --input "
                         "../v.csv --users rows --epsilon 1 --delta 1e-6 "
                         "--data-dir . >../out 2>../err")
                            .c_str()),
            0)
      << ReadAll(scratch_.path() + "/err");
  EXPECT_TRUE(Exists("inner.anchor/anchor.json"));
  EXPECT_EQ(Run("ledger verify --data-dir inner"), kExitOk) << err_;
}

TEST_F(Places, FilesAreTheirOwnersAlone) {
  ASSERT_EQ(Import("--delta 1e-6"), kExitOk) << err_;
  ASSERT_EQ(Run("backup --data-dir z --output b"), kExitOk) << err_;
  int files = 0;
  for (const char* place : {"z", "z.anchor", "b"}) {
    for (const auto& entry : fs::recursive_directory_iterator(
             scratch_.path() + "/" + std::string(place))) {
      struct stat about {};
      ASSERT_EQ(stat(entry.path().c_str(), &about), 0);
      EXPECT_EQ(about.st_mode & 077, 0u) << entry.path();
      files += entry.is_regular_file() ? 1 : 0;
    }
  }
  EXPECT_GT(files, 5);
  // One that an older version left open is closed to others when it is used.
  const std::string ledger = scratch_.path() + "/z/ledger/ledger.sqlite";
  ASSERT_EQ(chmod(ledger.c_str(), 0644), 0);
  ASSERT_EQ(Run("import --name w --population people --input v.csv --users "
                "rows --epsilon 1 --delta 1e-6 --data-dir z"),
            kExitOk)
      << err_;
  struct stat about {};
  ASSERT_EQ(stat(ledger.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(Places, ADiskThatRefusesSaysWhatToChange) {
  const struct {
    const char *data_dir, *advice;
  } cases[] = {
      {"v.csv", "move the existing file away"},
      {"v.csv/z", "move the existing file away"},
      {"/proc/none", "create the parent directory first"},
      {"/dev/full/z", "move the existing file away"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Run("import --name v --population people --input v.csv --users "
                  "rows --epsilon 1 --delta 1e-6 --anchor-dir a --data-dir " +
                  std::string(c.data_dir)),
              kExitUnreachable)
        << c.data_dir;
    EXPECT_THAT(err_, HasSubstr("[storage-failed]")) << c.data_dir;
    EXPECT_THAT(err_, HasSubstr(c.advice)) << c.data_dir;
  }
}

TEST_F(Places, ForgetAsksWhatToForget) {
  ASSERT_EQ(Import("--delta 1e-6"), kExitOk) << err_;
  EXPECT_EQ(Run("forget --data-dir z"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--run ID or --older-than-days N"));
  EXPECT_THAT(err_, HasSubstr("[runs-missing]"));
  EXPECT_EQ(Run("forget --data-dir z --run 18bc"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("`dpnmf-curator ledger show` lists them"));
}

}  // namespace
}  // namespace dpnmf::curator
