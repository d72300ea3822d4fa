// The power is cut at every call of a removal, and after it: data that the
// audit log says are removed are not there again.
#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "common/log/audit_log.h"
#include "curator/import/import.h"
#include "curator/import/part.h"
#include "curator/ledger/data_paths.h"
#include "curator/maintenance/remove_dataset.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"
#include "tests/faults/faulty_disk.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using faults::Fault;
using faults::FaultyDisk;
using faults::Survival;

class RemovalFaults : public testing::TestWithParam<Survival> {
 protected:
  // In the directory `start`: the data set `whole`, and `wrong` in a part.
  void SetUp() override {
    ImportOptions options =
        RowsImport(start_, scratch_.Write("m.csv", "1,0\n1,2\n"), "whole",
                   "people", 1, 1e-5);
    ASSERT_TRUE(Import(options).ok());  // draws the key
    options.name = "wrong";
    options.shard_of = PartRange{0, 2, 2};
    ASSERT_TRUE(ImportPart(options).ok());
    ImportOptions joined;
    joined.data_dir = start_;
    joined.name = "wrong";
    ASSERT_TRUE(TakeDeclarationOfParts(&joined).ok());
    ASSERT_TRUE(Import(joined).ok());
    const auto ledger = Ledger::Open(PlacesIn(start_));
    ASSERT_TRUE(ledger.ok());
    ASSERT_TRUE((*ledger)
                    ->DeclarePopulation(
                        {.population = "people", .epsilon = 1, .delta = 1e-5})
                    .ok());
  }

  static Ledger::Options PlacesIn(const std::string& data_dir) {
    Ledger::Options places;
    places.directory = LedgerDirectory(data_dir);
    return places;
  }
  absl::Status Remove(const std::string& name) const {
    const auto log = AuditLog::Open(log_);
    if (!log.ok()) return log.status();
    return RemoveDataset(disk_, PlacesIn(disk_), name, "operator", log->get())
        .status();
  }
  // Arrays of people's numbers that are there.
  int Arrays() const {
    int arrays = 0;
    for (const auto& entry : fs::recursive_directory_iterator(disk_))
      arrays += entry.path().extension() == ".npy";
    return arrays;
  }
  bool SaysRemoved(const std::string& name) const {
    if (!fs::exists(log_)) return false;
    const std::string text = ReadAll(log_);
    const std::size_t entry = text.find("\"dataset-removed\"");
    return entry != std::string::npos &&
           text.find("\"" + name + "\"", entry) != std::string::npos;
  }

  const Scratch scratch_;
  const std::string start_ = scratch_.path() + "/start";
  const std::string disk_ = scratch_.path() + "/disk";
  const std::string log_ = disk_ + "/audit.jsonl";
};

TEST_P(RemovalFaults, WhatTheLogSaysIsRemovedIsNotThereAgain) {
  int said = 0;
  for (const std::string name : {"wrong", "whole"}) {
    std::uint64_t calls = 0;
    for (std::uint64_t n = 1; n <= calls + 1; ++n) {
      SCOPED_TRACE(name + ", the power is cut at call " + std::to_string(n));
      fs::remove_all(disk_);
      fs::copy(start_, disk_, fs::copy_options::recursive);
      ASSERT_EQ(Arrays(), 2);
      FaultyDisk disk(disk_, n);
      disk.SetSurvival(GetParam());
      disk.Arm({Fault::kPowerCut, n});
      const absl::Status removed = Remove(name);
      if (!disk.struck()) {
        ASSERT_TRUE(removed.ok()) << removed;
        disk.PowerCut(GetParam());
      } else {
        calls = n;
      }
      disk.Reboot();
      EXPECT_TRUE(!removed.ok() || SaysRemoved(name));
      said += SaysRemoved(name);
      if (SaysRemoved(name)) {
        EXPECT_EQ(Arrays(), 1);
      }
      // The next removal, of this data set or of another, ends what began.
      const absl::Status again = Remove(name);
      EXPECT_TRUE(again.ok() || ReasonCode(again) == "dataset-unknown")
          << again;
      EXPECT_EQ(RemovedWithData(disk_).value().size(), 0u);
      EXPECT_EQ(Arrays(), 1);
    }
    EXPECT_GT(calls, 20u) << name;
  }
  EXPECT_GE(said, 2);
}

INSTANTIATE_TEST_SUITE_P(PowerCut, RemovalFaults,
                         testing::Values(Survival::kSynced, Survival::kSome));

}  // namespace
}  // namespace dpnmf::curator
