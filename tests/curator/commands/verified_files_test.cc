// Files that are not those of the import, and removed data sets that come back:
// serve, doctor and restore --check refuse them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "tests/curator/commands/servable.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class VerifiedFiles : public Servable {
 protected:
  // A data set of each kind of file.
  void ImportDense() {
    scratch_.Write("dense.csv", "1,2,a\n3,4,b\n5,1,a\n3,2,b\n");
    scratch_.Write("names", "left\nright\n");
    scratch_.Write("weights", "1\n0.5\n");
    Import("dense",
           "--input dense.csv --users rows --class-column 3 --classes a,b "
           "--features names --feature-weights weights");
  }
  void ImportSparse(const std::string& name, const std::string& more = "") {
    scratch_.Write("sparse.mtx",
                   "%%MatrixMarket matrix coordinate integer general\n4 3 5\n"
                   "1 1 7\n2 3 2\n3 2 6\n4 1 2\n4 3 1\n");
    Import(name, "--input sparse.mtx --users rows " + more);
  }
  void ImportRatings() {
    scratch_.Write("items.txt", "x\ny\nz\n");
    scratch_.Write("ratings.csv", "ann,x,3.5\nbob,y,5\nann,y,0.5\n");
    Import("films",
           "--ratings ratings.csv --items items.txt --rating-range 0.5,5 "
           "--users-count 4");
  }
  void ImportParts() {
    fs::create_directories(Path("z"));
    if (!Exists("z/fingerprint.key"))
      scratch_.Write("z/fingerprint.key", std::string(32, 'k'));
    for (const char* range : {"1-2/4", "3-4/4"}) {
      scratch_.Write("part.csv", range[0] == '1' ? "1,2\n3,9\n" : "5,6\n7,1\n");
      Import("parts",
             absl::StrCat("--input part.csv --users rows --shard-of ", range));
    }
    ASSERT_EQ(Run("join-parts --name parts --data-dir z"), kExitOk) << err_;
  }
  void Import(const std::string& name, const std::string& more,
              const std::string& population = "people") {
    ASSERT_EQ(Run("import --name " + name + " --population " + population +
                  " --epsilon 1 --delta 1e-6 --data-dir z " + more),
              kExitOk)
        << err_;
  }
  void ImportPeople(const std::string& name, const std::string& population,
                    const std::string& text) {
    scratch_.Write("people.csv", text);
    Import(name, "--input people.csv --users rows", population);
  }

  std::vector<std::string> FilesBelow(const std::string& directory) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(Path(directory)))
      if (entry.is_regular_file()) files.push_back(entry.path());
    return files;
  }
  // The last bit of the file.
  static void Flip(const std::string& path) {
    std::string bytes = ReadAll(path);
    bytes.back() ^= 1;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  void Copy(const std::string& from, const std::string& to) const {
    fs::remove_all(Path(to));
    fs::copy(Path(from), Path(to), fs::copy_options::recursive);
  }

  // All three say this; `served` is false where only ranks would.
  void ExpectRefused(const std::string& what, bool served = true) {
    SCOPED_TRACE(what);
    if (served) {
      const std::string said = Served();
      EXPECT_THAT(said, HasSubstr(what));
      EXPECT_THAT(said, Not(HasSubstr(" serves ")));
    }
    EXPECT_THAT(Examined(), HasSubstr(what));
    EXPECT_THAT(FailedChecks(), Not(IsEmpty()));
    EXPECT_THAT(CheckBackupOfIt(), AnyOf(kExitDataLoss, kExitState));
    EXPECT_THAT(err_, HasSubstr(what));
  }
};

TEST_F(VerifiedFiles, ThoseOfTheImportAreServed) {
  ImportDense();
  ImportSparse("sparse");
  ImportRatings();
  EXPECT_THAT(Served(), HasSubstr(" serves 3 data sets"));
  const std::string report = Examined();
  EXPECT_THAT(report, HasSubstr("All of its 6 files are those of the import."));
  EXPECT_THAT(FailedChecks(), Not(testing::Contains(HasSubstr("files of"))));
  EXPECT_EQ(CheckBackupOfIt(), kExitOk) << err_;
}

// A file of a later version that has no digest fails here.
TEST_F(VerifiedFiles, OneFlippedBitOfAnyFileIsNoticed) {
  ImportDense();
  ImportSparse("sparse");
  ImportSparse("sharded", "--shards 2");
  ImportRatings();
  const std::set<std::string> failed = FailedChecks();
  const std::vector<std::string> files = FilesBelow("z/datasets");
  int flipped = 0;
  for (const std::string& file : files) {
    if (file.ends_with("/.lock")) continue;
    SCOPED_TRACE(file);
    Flip(file);
    EXPECT_THAT(Served(), Not(HasSubstr(" serves ")));
    EXPECT_NE(FailedChecks(), failed);
    EXPECT_THAT(CheckBackupOfIt(), AnyOf(kExitDataLoss, kExitState)) << err_;
    Flip(file);
    ++flipped;
  }
  EXPECT_GE(flipped, 31);
  EXPECT_THAT(Served(), HasSubstr(" serves 4 data sets"));
}

TEST_F(VerifiedFiles, OneFlippedBitOfAPartIsNoticed) {
  ImportParts();
  const std::set<std::string> failed = FailedChecks();
  for (const char* place : {"z/datasets/parts", "z/parts/parts/1-2"}) {
    for (const std::string& file : FilesBelow(place)) {
      SCOPED_TRACE(file);
      Flip(file);
      EXPECT_NE(FailedChecks(), failed);
      EXPECT_THAT(CheckBackupOfIt(), AnyOf(kExitDataLoss, kExitState)) << err_;
      Flip(file);
    }
  }
  EXPECT_EQ(CheckBackupOfIt(), kExitOk) << err_;
}

// The people of b would be released at a's charge.
TEST_F(VerifiedFiles, ArraysOfAnotherPartitionAreRefused) {
  for (const char* partition : {"a", "b"}) {
    scratch_.Write("p.csv",
                   absl::StrCat("id,x,y\n", partition, "1,1,2\n", partition,
                                "2,3,", partition[0] - 'a', "\n"));
    Import(partition,
           absl::StrCat("--input p.csv --users rows --disjoint-people-by id "
                        "--partitions a,b --partition ",
                        partition));
  }
  EXPECT_THAT(Served(), HasSubstr(" serves 2 data sets"));
  Copy("z/datasets/b/values.npy", "z/datasets/a/values.npy");
  ExpectRefused("datasets/a/values.npy` is not the one that the import wrote");
}

TEST_F(VerifiedFiles, FingerprintsOfOtherPeopleAreRefused) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  ImportPeople("b", "people", "5,6\n7,8\n");
  Copy("z/datasets/b/people.bin", "z/datasets/a/people.bin");
  ExpectRefused("datasets/a/people.bin` is not the one that the import wrote");
}

// The ledger is worth a backup, but the operator must know.
TEST_F(VerifiedFiles, ABackupThatRestoreRefusesIsWarnedOf) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  ASSERT_EQ(Run("backup --data-dir z --output whole"), kExitOk);
  EXPECT_THAT(err_, Not(HasSubstr("restore refuses")));
  Copy("z/datasets/a", "z/datasets/a.old");
  ASSERT_EQ(Run("backup --data-dir z --output doubled"), kExitOk);
  EXPECT_THAT(err_, HasSubstr("warning: restore refuses this backup: "));
  EXPECT_NE(Run("restore --from doubled --data-dir y --no-anchor"), kExitOk);
}

// A data set that cannot be opened hides no fault of another.
TEST_F(VerifiedFiles, DoctorExaminesTheOtherDataSets) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  ImportPeople("b", "people", "5,6\n7,8\n");
  Copy("z/datasets/a", "away");
  ASSERT_EQ(Run("remove --name a --data-dir z"), kExitOk) << err_;
  Copy("away", "z/datasets/a");
  Flip(Path("z/datasets/b/values.npy"));
  const std::set<std::string> failed = FailedChecks();
  for (const char* check : {"data sets", "files of b", "removed data sets"})
    EXPECT_THAT(failed, testing::Contains(HasSubstr(check)));
}

TEST_F(VerifiedFiles, AFileThatWasPutThereIsRefused) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  scratch_.Write("z/datasets/a/labels.npy", "");
  ExpectRefused("The import did not write the file");
}

TEST_F(VerifiedFiles, ADataSetThatTheLedgerHasNotIsRefused) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  ImportPeople("b", "people", "5,6\n7,8\n");
  fs::copy(Path("z"), Path("y"), fs::copy_options::recursive);
  ASSERT_EQ(Run("import --name c --population people --epsilon 1 --delta 1e-6 "
                "--input people.csv --users rows --data-dir y --no-anchor"),
            kExitOk)
      << err_;
  Copy("y/datasets/c", "z/datasets/c");
  ExpectRefused("The ledger has no digests of the data set at");
}

TEST_F(VerifiedFiles, QuickChecksReadNoFileAndSaySo) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  Flip(Path("z/datasets/a/values.npy"));
  const std::string report = Examined("--quick");
  EXPECT_THAT(report, HasSubstr("What they hold was not read (--quick)"));
  EXPECT_THAT(FailedChecks("--quick"),
              Not(testing::Contains(HasSubstr("files of"))));
  EXPECT_EQ(CheckBackupOfIt("--quick"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("what the files hold was not read (--quick)"));
  fs::resize_file(Path("z/datasets/a/values.npy"), 100);
  EXPECT_EQ(CheckBackupOfIt("--quick"), kExitDataLoss);
}

// Other commands that read a data set.
TEST_F(VerifiedFiles, CommandsComputeWithNoOtherFiles) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  scratch_.Write("W.csv", "1,0\n0,1\n");
  Flip(Path("z/datasets/a/values.npy"));
  EXPECT_EQ(Run("transform --name a --model W.csv --output H.csv --data-dir z"),
            kExitDataLoss);
  EXPECT_THAT(err_, HasSubstr("[dataset-damaged]"));
  EXPECT_FALSE(Exists("H.csv"));
}

TEST_F(VerifiedFiles, PeopleThatAreRecordedOnceMoreAreEnteredInTheLedger) {
  scratch_.Write("ids.csv", "k1,1,2\nk2,3,4\n");
  Import("a", "--input ids.csv --users rows --label-columns 1");
  ASSERT_EQ(Run("people --name a --input ids.csv --users rows --label-columns "
                "1 --id-column 1 --data-dir z"),
            kExitOk)
      << err_;
  EXPECT_THAT(Served(), HasSubstr(" serves 1 data sets"));
  EXPECT_EQ(CheckBackupOfIt(), kExitOk) << err_;
  fs::remove(Path("z/datasets/a/people.bin"));
  ExpectRefused("people.bin` is missing");
  ASSERT_EQ(Run("people --name a --input ids.csv --users rows --label-columns "
                "1 --id-column 1 --data-dir z"),
            kExitOk)
      << err_;
  EXPECT_THAT(Served(), HasSubstr(" serves 1 data sets"));
}

// ---- Removed data sets

TEST_F(VerifiedFiles, ARemovedDataSetWhoseDirectoryComesBackIsRefused) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  ImportPeople("b", "people", "5,6\n7,8\n");
  Copy("z/datasets/a", "away");
  ASSERT_EQ(Run("remove --name a --data-dir z"), kExitOk) << err_;
  ImportPeople("c", "others", "1,2\n3,4\n");
  Copy("away", "z/datasets/a");
  ExpectRefused("The data set a was removed");
  scratch_.Write("W.csv", "1,0\n0,1\n");
  for (const std::string command :
       {"transform --name a --model W.csv --output H.csv",
        "recommend --name a --model W.csv --user 1",
        "synthesise --name a --epsilon 1 --output release.json",
        "federation-member --dataset a --name a --address a.example:1"}) {
    EXPECT_EQ(Run(command + " --data-dir z"), kExitState) << command;
    EXPECT_THAT(err_, HasSubstr("[dataset-removed]")) << command;
  }
}

TEST_F(VerifiedFiles, TheSamePeopleUnderTwoPopulationsAreRefused) {
  ImportPeople("a", "people", "1,2\n3,4\n");
  Copy("z/datasets/a", "away");
  ASSERT_EQ(Run("remove --name a --data-dir z"), kExitOk) << err_;
  ImportPeople("c", "others", "3,4\n1,2\n");
  // The record of the removal is lost, too.
  fs::remove_all(Path("z/datasets/.removed"));
  Copy("away", "z/datasets/a");
  ExpectRefused(
      "The data sets a of population people and c of population others hold "
      "the same data");
}

}  // namespace
}  // namespace dpnmf::curator
