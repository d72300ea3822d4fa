// The source of keys: fresh from the operating system in every process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "curator/noise/noise.h"

namespace dpnmf::curator {
namespace {

using Bytes = std::array<std::uint8_t, 32>;

Bytes Copy(const NoiseKey& key) {
  Bytes bytes;
  std::copy(key.bytes().begin(), key.bytes().end(), bytes.begin());
  return bytes;
}

// False-alarm rate 2^-244.
TEST(NoiseKey, NeverRepeats) {
  std::set<Bytes> seen;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_TRUE(seen.insert(Copy(NoiseKey::Fresh())).second);
  }
}

// 256 bits over 2000 keys, each a fair coin to 6.5 standard errors: at most 256
// times 8e-11 = 2e-8 in all, 8e-11 a verdict.
TEST(NoiseKey, HasFairBits) {
  std::array<int, 256> ones{};
  for (int i = 0; i < 2000; ++i) {
    const Bytes bytes = Copy(NoiseKey::Fresh());
    for (std::size_t bit = 0; bit < 256; ++bit)
      ones[bit] += bytes[bit / 8] >> (bit % 8) & 1;
  }
  for (const int count : ones) EXPECT_NEAR(count, 1000, 6.5 * 22.4);
}

TEST(NoiseKey, DiffersInAForkedProcess) {
  const Bytes before = Copy(NoiseKey::Fresh());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Bytes bytes = Copy(NoiseKey::Fresh());
    _exit(write(ends[1], bytes.data(), bytes.size()) == 32 ? 0 : 1);
  }
  const Bytes ours = Copy(NoiseKey::Fresh());
  Bytes theirs{};
  ASSERT_EQ(read(ends[0], theirs.data(), theirs.size()), 32);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(theirs, ours);
  EXPECT_NE(theirs, before);
}

TEST(NoiseKey, IsWipedWhenMovedFrom) {
  NoiseKey key = NoiseKey::Fresh();
  const Bytes bytes = Copy(key);
  const NoiseKey moved = std::move(key);
  EXPECT_EQ(Copy(moved), bytes);
  EXPECT_EQ(Copy(key),
            Bytes{});  // NOLINT(bugprone-use-after-move): that is the point
}

}  // namespace
}  // namespace dpnmf::curator
