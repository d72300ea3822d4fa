// What happens while a backup is made.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/failpoint.h"
#include "curator/import/import.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/maintenance/backup.h"
#include "gtest/gtest.h"
#include "tests/curator/data/scratch.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

std::string_view where;
std::function<void()> in_between;

void Reach(const char* place) {
  if (place != where || !in_between) return;
  const std::function<void()> once = std::exchange(in_between, nullptr);
  once();
}

// As `import` does it: the rows, then the name.
absl::Status Take(const Scratch& scratch, Ledger* ledger,
                  const std::string& name) {
  ImportOptions options;
  options.data_dir = scratch.path() + "/data";
  options.input =
      scratch.Write("f.csv", name == "jan" ? "id,a,b\nann,1,2\nbob,3,4\n"
                                           : "id,a,b\ncyd,5,2\ndan,7,4\n");
  options.users_are_rows = true;
  options.name = name;
  options.population = std::string("patients");
  options.epsilon = 2;
  options.delta = 1e-5;
  options.partitions = {"id", {"jan", "feb"}};
  options.partition = name;
  options.before_publish =
      [&](const DatasetDescription& description) -> absl::Status {
    const absl::Status declared =
        ledger->DeclarePopulation({.population = options.population,
                                   .epsilon = options.epsilon,
                                   .delta = options.delta,
                                   .partitions = options.partitions});
    if (!declared.ok()) return declared;
    return ledger->AssignPartition(options.population, name,
                                   {description.partition, description.people});
  };
  return Import(options).status();
}

// Of a data directory with the data set jan, while feb is imported.
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
    in_between = [&] { taken = Take(scratch_, ledger_.get(), "feb"); };
    failpoint::on_reach = Reach;
    const auto made = MakeBackup(data_dir_, copy_);
    failpoint::on_reach = nullptr;
    ASSERT_TRUE(taken.ok()) << taken;
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_TRUE(CheckBackup(copy_, "").ok());
  }

  const Scratch scratch_;
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

}  // namespace
}  // namespace dpnmf::curator
