// Import on a disk that fails: whatever call of the system fails, the data set
// is whole or not there, and nothing is said to be imported that is not.
#include "common/base/error.h"
#include "curator/data/dataset.h"
#include "curator/data/rated_users.h"
#include "curator/import/import.h"
#include "curator/import/readers/item_table.h"
#include "tests/common/base/failing_system.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

ImportOptions MatrixIn(const Scratch& scratch) {
  ImportOptions options =
      RowsImport(scratch.path() + "/data",
                 scratch.Write("m.csv", "1,2\n3,4\n0,5\n"), "d", "p", 2, 1e-5);
  options.features_file = scratch.Write("f", "left\nright\n");
  return options;
}

ImportOptions RatingsIn(const Scratch& scratch) {
  ImportOptions options;
  options.data_dir = scratch.path() + "/data";
  options.name = "d";
  options.population = "p";
  options.epsilon = 2;
  options.delta = 1e-5;
  options.ratings = scratch.Write("r.csv", "ann,x,1\nbob,y,2\n");
  options.items_file = scratch.Write("i", "x\ny\n");
  options.item_features_file =
      scratch.Write("f", "item,name,g\nx,X,1\ny,Y,2\n");
  options.rating_range = RatingScale{.low_units = 0, .high_units = 50000};
  options.users_count = 3;
  return options;
}

// All that a server and a recommender read of it.
absl::Status Opened(const std::string& directory) {
  DPNMF_ASSIGN_OR_RETURN(const auto dataset, Dataset::Open(directory));
  if (!dataset->description().ratings.has_value()) return absl::OkStatus();
  DPNMF_RETURN_IF_ERROR(RatedUsers::Read(directory, *dataset).status());
  return ReadItemTable(directory, dataset->description()).status();
}

void ExpectWholeOrNone(ImportOptions (*options_in)(const Scratch&)) {
  int refused = 0, absent = 0;
  for (int n = 1;; ++n) {
    SCOPED_TRACE(n);
    const Scratch scratch;
    const ImportOptions options = options_in(scratch);
    bool declared = false;
    BetweenSteps watched;
    watched.before_publish = [&](const DatasetImport&, const DatasetDigests&) {
      declared = true;
      return absl::OkStatus();
    };
    int calls = 0;
    absl::Status done;
    {
      const FailingSystem system([&](FailingSystem::Call, const std::string&) {
        return ++calls == n;
      });
      done = Import(options, watched).status();
    }
    const std::string directory = DatasetDirectory(options.data_dir, "d");
    const bool there = std::filesystem::exists(directory);
    if (there) {
      EXPECT_TRUE(Opened(directory).ok());
      EXPECT_TRUE(declared);
    }
    if (calls < n) {
      EXPECT_TRUE(done.ok()) << done;
      EXPECT_TRUE(there);
      break;
    }
    ++refused;
    absent += !there;
    EXPECT_EQ(ReasonCode(done), "storage-failed") << done;
    // The disk is good again: the import goes through, or it had.
    const absl::Status again = Import(options).status();
    EXPECT_EQ(ReasonCode(again), there ? "dataset-exists" : "") << again;
    EXPECT_TRUE(Opened(directory).ok());
  }
  // Directories, key, arrays, names, description; only the last sync comes
  // after the data set has its name.
  EXPECT_GT(refused, 25);
  EXPECT_GE(refused - absent, 1);
  EXPECT_LE(refused - absent, 2);
}

TEST(ImportFaults, EachFailingCallLeavesAWholeMatrixOrNone) {
  ExpectWholeOrNone(MatrixIn);
}
TEST(ImportFaults, EachFailingCallLeavesWholeRatingsOrNone) {
  ExpectWholeOrNone(RatingsIn);
}

}  // namespace
}  // namespace dpnmf::curator
