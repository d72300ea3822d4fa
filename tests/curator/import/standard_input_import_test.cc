// Standard input that waits in the data directory while an import reads it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "curator/import/import.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

// Files without a name that were made below the directory and that this process
// has open, perhaps twice.
std::size_t UnnamedFilesBelow(const std::string& directory) {
  std::set<std::string> files;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const std::string name =
        std::filesystem::read_symlink(entry.path(), none).string();
    if (name.starts_with(directory) && name.ends_with("(deleted)"))
      files.insert(name);
  }
  return files.size();
}

// Imports the file as standard input; returns the most files without a name
// that were in the spool at once.
std::size_t MostFilesOf(const std::string& file, const Scratch& scratch,
                        ImportOptions options) {
  const int own = dup(STDIN_FILENO);
  const int input = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(dup2(input, STDIN_FILENO), STDIN_FILENO);
  close(input);
  const std::string spool =
      std::filesystem::canonical(scratch.path()).string() + "/spool";
  std::filesystem::create_directories(spool);
  options.standard_input.spool_dir = spool;
  std::size_t most = 0;
  options.interrupted = [&] {
    most = std::max(most, UnnamedFilesBelow(spool));
    return false;
  };
  const auto imported = Import(options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(UnnamedFilesBelow(spool), 0u);
  dup2(own, STDIN_FILENO);
  close(own);
  return most;
}

TEST(StandardInputImport, RowsWaitInOneFileAndLinesToSortInAnother) {
  Scratch scratch;
  std::string items, lines = "user,item,rating\n";
  for (int d = 0; d < 100; ++d) absl::StrAppend(&items, "i", d, "\n");
  for (int n = 0; n < 150'000; ++n)
    absl::StrAppend(&lines, "p", n % 1500, ",i", n / 1500, ",", n % 5, "\n");
  ImportOptions options =
      RowsImport(scratch.path() + "/data", "-", "rows", "p", 2, 1e-5);
  options.format = *MatrixFormatOfName("csv");
  options.label_columns = 0;
  options.standard_input.expect_rows = 3;
  EXPECT_EQ(
      MostFilesOf(scratch.Write("m.csv", "1,2\n0,1\n3,4\n"), scratch, options),
      1u);
  const std::string file = scratch.Write("lines.csv", lines);
  options.name = "triples";
  options.standard_input.expect_rows = 150'000;
  options.format = *MatrixFormatOfName("triples");
  options.label_columns.reset();
  options.users_are_rows.reset();
  options.features_file = scratch.Write("items.txt", items);
  options.users_count = 1500;
  EXPECT_EQ(MostFilesOf(file, scratch, options), 2u);
  options.name = "ratings";
  options.ratings = std::exchange(options.input, "");
  options.items_file = std::exchange(options.features_file, "");
  options.rating_range = RatingScale{.low_units = 0, .high_units = 50000};
  EXPECT_EQ(MostFilesOf(file, scratch, options), 2u);
}

}  // namespace
}  // namespace dpnmf::curator
