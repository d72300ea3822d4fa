// Events while a backup is made.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "curator/import/import.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/maintenance/backup.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

std::string_view where;
int earlier_times = 0;  // of `where`, which pass
std::function<void()> in_between;

void Reach(const char* place) {
  if (place != where || !in_between || earlier_times-- > 0) return;
  const std::function<void()> once = std::exchange(in_between, nullptr);
  once();
}

// Imports as `import` does: the rows, then the name.
absl::Status Take(const Scratch& scratch, Ledger* ledger,
                  const std::string& name) {
  ImportOptions options = RowsImport(
      scratch.path() + "/data",
      scratch.Write("f.csv", name == "jan" ? "id,a,b\nann,1,2\nbob,3,4\n"
                                           : "id,a,b\ncyd,5,2\ndan,7,4\n"),
      name, "patients", 2, 1e-5);
  options.partitions = {"id", {"jan", "feb"}};
  options.partition = name;
  BetweenSteps between;
  between.before_publish = [&](const DatasetImport& import,
                               const DatasetDigests& digests) -> absl::Status {
    const DatasetDescription& description = import.description();
    const absl::Status declared =
        ledger->DeclarePopulation({.population = options.population,
                                   .epsilon = options.epsilon,
                                   .delta = options.delta,
                                   .partitions = options.partitions});
    if (!declared.ok()) return declared;
    const absl::Status assigned = ledger->AssignPartition(
        options.population, name, {description.partition, description.people});
    if (!assigned.ok()) return assigned;
    return ledger->BindDataset(options.population, name, digests);
  };
  return Import(options, between).status();
}

// Files, not directories, by their paths in it.
std::set<std::string> FilesIn(const std::string& directory) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file())
      files.insert(entry.path().lexically_relative(directory));
  return files;
}

// Backups of a data directory with the data set jan, while feb is imported.
class BackupFaults : public testing::Test {
 protected:
  void SetUp() override {
    Ledger::Options places;
    places.directory = LedgerDirectory(data_dir_);
    ledger_ = Ledger::Open(places).value();
    ASSERT_TRUE(Take(scratch_, ledger_.get(), "jan").ok());
  }

  // A backup to copy_; feb comes when it reaches the point.
  void MakeWhileFebComesAt(const char* point) {
    absl::Status taken = absl::UnknownError("was not tried");
    where = point;
    earlier_times = 0;
    in_between = [&] { taken = Take(scratch_, ledger_.get(), "feb"); };
    failpoint::on_reach = Reach;
    const auto made = MakeBackup(data_dir_, copy_);
    failpoint::on_reach = nullptr;
    ASSERT_TRUE(taken.ok()) << taken;
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE(CheckBackup(copy_, "").ok());
  }

  // Files of imports of a data set and of a part that are under way.
  void WriteDrafts() const {
    for (const std::string& draft : drafts_) {
      fs::create_directories(data_dir_ + draft);
      std::ofstream(data_dir_ + draft + "/values.npy") << "people";
    }
  }

  const Scratch scratch_;
  const std::vector<std::string> drafts_ = {"/datasets/.import-77",
                                            "/parts/mar/.import-77"};
  const std::string data_dir_ = scratch_.path() + "/data";
  const std::string copy_ = scratch_.path() + "/one";
  std::unique_ptr<Ledger> ledger_;
};

// A server starts on no data set whose rows the ledger lacks.
TEST_F(BackupFaults, ADataSetThatComesAfterTheLedgersCopyIsLeftOut) {
  ASSERT_NO_FATAL_FAILURE(MakeWhileFebComesAt("ledger-copied"));
  EXPECT_TRUE(fs::exists(copy_ + "/datasets/jan/dataset.json"));
  EXPECT_TRUE(fs::exists(copy_ + "/datasets/jan/people.bin"));
  EXPECT_FALSE(fs::exists(copy_ + "/datasets/feb"));
  EXPECT_TRUE(fs::exists(data_dir_ + "/datasets/feb"));
  // The next one has it.
  const std::string two = scratch_.path() + "/two";
  ASSERT_TRUE(MakeBackup(data_dir_, two).ok());
  EXPECT_TRUE(fs::exists(two + "/datasets/feb/dataset.json"));
}

// The copy has its rows: without its people nobody could be imported into
// another partition.
TEST_F(BackupFaults, ADataSetThatComesBeforeTheLedgersCopyIsIncluded) {
  ASSERT_NO_FATAL_FAILURE(MakeWhileFebComesAt("files-listed"));
  EXPECT_TRUE(fs::exists(copy_ + "/datasets/feb/dataset.json"));
  EXPECT_TRUE(fs::exists(copy_ + "/datasets/feb/people.bin"));
}

// An import that is under way may be refused, and its people with it.
TEST_F(BackupFaults, LocksAndWhatIsUnfinishedAreLeftOut) {
  const std::string part = data_dir_ + "/parts/mar/1-2";
  fs::create_directories(part);
  for (const std::string& finished : {part + "/values.npy", part + ".part"})
    std::ofstream(finished) << "people";
  std::set<std::string> finished = FilesIn(data_dir_);
  std::erase_if(finished, [](const std::string& file) {
    return file == "datasets/.lock" || file.starts_with("ledger/");
  });
  finished.insert({"ledger/ledger.sqlite", "manifest.json"});
  WriteDrafts();
  for (const std::string& file :
       {part + ".part.77.partial", part + "/values.npy.new",
        data_dir_ + "/datasets/jan/people.bin.77.partial"})
    std::ofstream(file) << "people";
  ASSERT_TRUE(fs::exists(data_dir_ + "/datasets/.lock"));
  const auto made = MakeBackup(data_dir_, copy_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(FilesIn(copy_), finished);
  EXPECT_TRUE(CheckBackup(copy_, "").ok());
}

// Names of data sets, parts and identities may end as those of drafts do.
TEST_F(BackupFaults, ADirectoryIsTakenWhateverItsNameEndsIn) {
  for (const std::string name : {"a.new", "b.partial", "c.lock"}) {
    for (const std::string& directory :
         {"/datasets/" + name, "/datasets/.removed/" + name,
          "/parts/" + name + "/1-2", "/parts/mar/" + name, "/releases/" + name,
          "/publications/" + name}) {
      fs::create_directories(data_dir_ + directory);
      std::ofstream(data_dir_ + directory + "/values.npy") << "people";
    }
  }
  std::set<std::string> kept = FilesIn(data_dir_);
  std::erase_if(kept, [](const std::string& file) {
    return file == "datasets/.lock" || file.starts_with("ledger/");
  });
  kept.insert({"ledger/ledger.sqlite", "manifest.json"});
  const auto made = MakeBackup(data_dir_, copy_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(FilesIn(copy_), kept);
  EXPECT_TRUE(CheckBackup(copy_, "").ok());
}

// A removal, and a rotation of the audit log, at each entry that the backup
// lists, and when it has listed all.
TEST_F(BackupFaults, WhatIsRemovedOrRenamedMeanwhileFailsNoBackup) {
  const std::string set = data_dir_ + "/datasets/mar";
  const std::string removed = data_dir_ + "/datasets/.removed/mar";
  const std::string log = data_dir_ + "/audit.jsonl.1";
  for (const char* const point : {"entry-found", "files-chosen"}) {
    bool reached = true;
    for (int entry = 0; reached; ++entry) {
      fs::create_directories(set);
      for (const char* const file : {"/people.bin", "/values.npy"})
        std::ofstream(set + file) << "people";
      std::ofstream(log) << "calls";
      where = point;
      earlier_times = entry;
      in_between = [&] {
        fs::create_directories(removed);
        fs::remove(removed);
        fs::rename(set, removed);
        fs::remove(log);
      };
      failpoint::on_reach = Reach;
      const auto made = MakeBackup(data_dir_, copy_);
      failpoint::on_reach = nullptr;
      reached = in_between == nullptr;
      EXPECT_TRUE(reached || entry > 0) << point;
      ASSERT_TRUE(made.ok()) << point << " " << entry << ": " << made.status();
      ASSERT_TRUE(CheckBackup(copy_, "").ok()) << point << " " << entry;
      // The data set is whole, at its old place or at its new one.
      for (const char* const file : {"/people.bin", "/values.npy"}) {
        EXPECT_NE(fs::exists(copy_ + "/datasets/mar" + file),
                  fs::exists(copy_ + "/datasets/.removed/mar" + file))
            << point << " " << entry;
      }
      for (const std::string& path : {copy_, set, removed})
        fs::remove_all(path);
    }
  }
}

TEST_F(BackupFaults, AFileThatGoesAtEachTryEndsTheBackup) {
  static std::string log;
  static int tries;
  log = data_dir_ + "/audit.jsonl.1";
  tries = 0;
  failpoint::on_reach = [](const char* place) {
    if (std::string_view(place) == "files-listed") std::ofstream(log) << "call";
    if (std::string_view(place) == "files-chosen") tries += fs::remove(log);
  };
  const auto made = MakeBackup(data_dir_, copy_);
  failpoint::on_reach = nullptr;
  EXPECT_EQ(ReasonCode(made.status()), "storage-failed");
  EXPECT_EQ(std::string(made.status().message()),
            "Files of " + data_dir_ +
                " were removed or renamed each time that they were copied: "
                "make the backup again.");
  EXPECT_GT(tries, 1);
  EXPECT_FALSE(fs::exists(copy_ + "/manifest.json"));
}

// The rename comes at each entry that the backup lists, and when it has listed
// all.
TEST_F(BackupFaults, ADraftThatIsRenamedMeanwhileFailsNoBackup) {
  for (const char* const point : {"entry-found", "files-chosen"}) {
    bool renamed = true;
    for (int entry = 0; renamed; ++entry) {
      WriteDrafts();
      where = point;
      earlier_times = entry;
      in_between = [&] {
        fs::rename(data_dir_ + drafts_[0], data_dir_ + "/datasets/mar");
        fs::rename(data_dir_ + drafts_[1], data_dir_ + "/parts/mar/1-2");
      };
      failpoint::on_reach = Reach;
      const auto made = MakeBackup(data_dir_, copy_);
      failpoint::on_reach = nullptr;
      renamed = in_between == nullptr;
      EXPECT_TRUE(renamed || entry > 0) << point;
      ASSERT_TRUE(made.ok()) << point << " " << entry << ": " << made.status();
      ASSERT_TRUE(CheckBackup(copy_, "").ok()) << point << " " << entry;
      for (const std::string& path :
           {copy_, data_dir_ + "/datasets/mar", data_dir_ + "/parts"})
        fs::remove_all(path);
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator
