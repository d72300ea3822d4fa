// Shares of the people and what they add up to, without MPI.
#include "curator/ranks/share_sums.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/data/shards.h"
#include "tests/curator/ranks/in_shares.h"

namespace dpnmf::curator {
namespace {

// 133 people are no multiple of anything: shares are of different sizes, and
// with 3 shards and 2 or 4 shares a share has parts of several shards.
class SharesOfEachForm
    : public testing::TestWithParam<std::tuple<bool, std::uint64_t>> {};

TEST_P(SharesOfEachForm, AddUpToTheBitsOfOneProcess) {
  const auto [sparse, shards] = GetParam();
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  ImportPeopleOf(scratch, data_dir, "people", 133, 23, sparse,
                 shards > 0 ? std::optional(shards) : std::nullopt);
  const auto data = Dataset::Open(DatasetDirectory(data_dir, "people"));
  ASSERT_TRUE(data.ok()) << data.status();
  for (const std::uint64_t count : {1, 2, 3, 4, 200}) {
    const int compared = ExpectTheBitsOfOneProcess(**data, [&] {
      return InShares([&](std::uint64_t) { return data_dir; }, **data, count,
                      static_cast<int>(1 + count % 3));
    });
    EXPECT_EQ(compared, kRounds) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, SharesOfEachForm,
                         testing::Combine(testing::Bool(),
                                          testing::Values(0, 1, 3)),
                         [](const auto& form) {
                           return absl::StrCat(
                               std::get<0>(form.param) ? "Sparse" : "Dense",
                               std::get<1>(form.param), "Shards");
                         });

TEST(Shares, AreConsecutiveRangesOfAllColumns) {
  for (const std::uint64_t columns : {0, 1, 7, 133}) {
    for (const std::uint64_t count : {1, 2, 3, 10}) {
      std::uint64_t next = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(Share({i, count}).Begin(columns), next);
        next = Share{i, count}.End(columns);
      }
      EXPECT_EQ(next, columns);
    }
  }
}

TEST(Shards, HoldTheColumnsOfTheWholeAndAreNotNeededByOtherShares) {
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  for (const bool sparse : {false, true}) {
    const std::string name = sparse ? "s" : "d";
    ImportPeopleOf(scratch, data_dir, name, 50, 6, sparse, std::nullopt);
    ImportPeopleOf(scratch, data_dir, name + "4", 50, 6, sparse, 4);
    const std::string directory = DatasetDirectory(data_dir, name + "4");
    const auto whole = Dataset::Open(DatasetDirectory(data_dir, name));
    const auto parts = Dataset::Open(directory);
    ASSERT_TRUE(whole.ok() && parts.ok()) << parts.status();
    ASSERT_EQ((*parts)->private_user_count(), 50u);
    for (std::uint64_t n = 0; n < 50; ++n) {
      const auto values = [&](const Dataset& data) {
        const auto column =
            sparse ? data.SparseColumnOf(n).values : data.DenseColumn(n);
        return std::vector<float>(column.begin(), column.end());
      };
      EXPECT_EQ(values(**whole), values(**parts)) << n;
    }
    for (const char* array : {"values", "data", "indices", "indptr"})
      std::filesystem::remove(directory + "/" + array + ShardSuffix(0));
    EXPECT_EQ(ReasonCode(Dataset::Open(directory).status()), "dataset-damaged");
    const auto last = Dataset::OpenShare(directory, {1, 2});
    ASSERT_TRUE(last.ok()) << last.status();
    EXPECT_EQ((*last)->private_user_count(), 25u);
    EXPECT_EQ((*last)->private_whole_count(), 50u);
  }
}

TEST(Shards, ADamagedListOfThemIsRefused) {
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  ImportPeopleOf(scratch, data_dir, "d", 50, 6, false, 2);
  const std::string directory = DatasetDirectory(data_dir, "d");
  for (const char* text :
       {"", "{}", "{\"format_version\": 2, \"columns\": [25, 25]}",
        "{\"format_version\": 1, \"columns\": []}",
        "{\"format_version\": 1, \"columns\": [25, -1]}",
        "{\"format_version\": 1, \"columns\": [25, 24]}",
        "{\"format_version\": 1, \"columns\": [25, 25, 0]}"}) {
    std::ofstream(directory + "/shards.json") << text;
    EXPECT_EQ(ReasonCode(Dataset::Open(directory).status()), "dataset-damaged")
        << text;
  }
}

TEST(ShareSums, AShareThatFailsSaysSoAndAddsNothing) {
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  ImportPeopleOf(scratch, data_dir, "d", 50, 6, false, std::nullopt);
  const auto data = Dataset::Open(DatasetDirectory(data_dir, "d"));
  ASSERT_TRUE(data.ok());
  const AskedRun run = RunOf(**data, "statistics", false);
  const RankCommand good =
      CommandFor(data_dir, **data, run, run.rounds.front());
  RankCommand other_data = good, other_release = good, other_size = good,
              not_by_ranges = good;
  other_data.files[0] ^= 1;
  other_release.release = "nothing";
  not_by_ranges.release = "class moments";
  other_size.entries += 1;
  for (const RankCommand& command :
       {other_data, other_release, other_size, not_by_ranges}) {
    ShareSums share(data_dir, {0, 1}, 1);
    std::vector<std::uint64_t> nothing(command.entries + 3);
    nothing[0] = 1;
    EXPECT_EQ(share.Words(command), nothing);
  }
}

// Each rank verifies what it has opened itself, before its first answer.
TEST(ShareSums, AFileThatIsNotTheOneOfTheImportIsNotComputedWith) {
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  ImportPeopleOf(scratch, data_dir, "d", 50, 6, false, 2);
  const std::string directory = DatasetDirectory(data_dir, "d");
  const auto data = Dataset::Open(directory);
  ASSERT_TRUE(data.ok()) << data.status();
  const AskedRun run = RunOf(**data, "moments", false);
  const RankCommand command =
      CommandFor(data_dir, **data, run, run.rounds.front());
  const auto failed = [&](std::uint64_t index) {
    return ShareSums(data_dir, {index, 2}, 1).Words(command)[0];
  };
  ASSERT_EQ(failed(0) + failed(1), 0u);
  const struct {
    const char* file;
    std::uint64_t first, second;  // whether the share fails
  } cases[] = {{"values.0.npy", 1, 0},
               {"values.1.npy", 0, 1},
               {"dataset.json", 1, 1},
               {"shards.json", 1, 1},
               {"digests.json", 1, 1}};
  for (const auto& c : cases) {
    const std::string path = absl::StrCat(directory, "/", c.file);
    const std::string right = ReadAll(path);
    std::string wrong = right;
    wrong.back() ^= 1;
    std::ofstream(path, std::ios::binary) << wrong;
    EXPECT_EQ(failed(0), c.first) << c.file;
    EXPECT_EQ(failed(1), c.second) << c.file;
    std::ofstream(path, std::ios::binary) << right;
  }
  EXPECT_EQ(failed(0) + failed(1), 0u);
  // The data set was removed, and its directory came back.
  std::filesystem::create_directories(data_dir + "/datasets/.removed/d");
  EXPECT_EQ(failed(0), 1u);
}

TEST(RankFrames, ACommandThatIsNotWholeIsNoCommand) {
  RankCommand command;
  command.dataset = "d";
  command.release = "moments";
  command.input.rows = {1, 2, 3};
  command.forget = {7};
  const std::string bytes = BytesOf(command);
  ASSERT_TRUE(CommandOf(bytes).has_value());
  EXPECT_EQ(CommandOf(bytes)->input.rows, command.input.rows);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(CommandOf(bytes.substr(0, size)).has_value()) << size;
  EXPECT_FALSE(CommandOf(bytes + "x").has_value());
}

TEST(RankFrames, TheCheckOfASumIsTheSumOfTheChecksAndSeesEveryChange) {
  const std::vector<std::uint64_t> a = {1, ~0ull, 3}, b = {9, 5, ~0ull};
  const std::vector<std::uint64_t> sum = {10, 4, 2};
  EXPECT_EQ(LinearCheck(a) + LinearCheck(b), LinearCheck(sum));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    for (int bit = 0; bit < 64; ++bit) {
      std::vector<std::uint64_t> changed = sum;
      changed[i] ^= std::uint64_t{1} << bit;
      EXPECT_NE(LinearCheck(changed), LinearCheck(sum));
    }
  }
  EXPECT_NE(LinearCheck(std::vector<std::uint64_t>{4, 10, 2}),
            LinearCheck(sum));
}

}  // namespace
}  // namespace dpnmf::curator
