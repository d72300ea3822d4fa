// A machine that does not behave: clocks that go back, disks that are really
// full or read-only.
#include <sys/mount.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/attacks/attacked_curator.h"

namespace dpnmf::faults {
namespace {

namespace fs = std::filesystem;
using curator::ChargeFor;
using curator::LedgerHome;
using curator::OpeningFor;

TEST(Clock, ThatGoesBackChangesNoSumAndNoOrder) {
  LedgerHome home;
  std::int64_t now = 1'700'000'000;
  home.options.unix_seconds = [&now] { return now; };
  auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("run")).ok());
  std::uint32_t round = 1;
  for (const std::int64_t later :
       {std::int64_t{1'600'000'000}, std::int64_t{0}, std::int64_t{-5},
        std::numeric_limits<std::int64_t>::min()}) {
    now = later;
    ASSERT_TRUE(
        ledger->ChargeRound(ChargeFor(OpeningFor("run"), round++)).ok());
  }
  const auto before = ledger->PositionOf("people").value();
  ledger.reset();
  ledger = home.Open();
  ASSERT_NE(ledger, nullptr);
  const auto after = ledger->PositionOf("people").value();
  EXPECT_EQ(after.charged, before.charged);
  EXPECT_EQ(after.head, before.head);
  const auto charges = ledger->ChargesOf("people", "dns:analyst", 0, 10);
  ASSERT_EQ(charges->size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ((*charges)[i].round, i + 1);
}

// The curator on a file system of its own of some hundred kilobytes, where one
// can be mounted (a container's root, mostly, cannot: then a limit on the size
// of files stands for it; tests/faults/every_call_test.cc has a disk that is
// full at every call on any machine).
class SmallDisk : public testing::Test {
 protected:
  SmallDisk() {
    mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0,
                       "size=400k") == 0;
    std::printf("small disk: %s\n", mounted_ ? "mounted" : "not mountable");
  }
  ~SmallDisk() override {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  std::string Path(const char* name) const { return directory_ / name; }

  // All that is left, or as good.
  void Fill() {
    std::ofstream file(Path("filler"), std::ios::binary);
    const std::string block(4096, 'x');
    for (int i = 0; i < 1'000 && file.good(); ++i) {
      file << block;
      file.flush();
    }
  }

  const curator::TempDirectory directory_;
  bool mounted_ = false;
};

TEST_F(SmallDisk, WhenFullRefusesWithoutACharge) {
  LedgerHome home;
  home.options.directory = Path("ledger");
  home.options.anchor_directory = Path("anchor");
  auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("run", 1'000)).ok());
  if (mounted_) {
    Fill();
  } else {
    // No directory, no staged anchor: as a full anchor's disk.
    fs::create_directory(Path("anchor") + "/anchor.json.new");
  }
  std::uint32_t round = 1;
  std::string code;
  while (code.empty() && round <= 1'000) {
    code = ReasonCode(
        ledger->ChargeRound(ChargeFor(OpeningFor("run", 1'000), round))
            .status());
    round += code.empty();
  }
  EXPECT_EQ(code, "storage-failed");
  ledger.reset();
  fs::remove_all(Path("filler"));
  fs::remove_all(Path("anchor") + "/anchor.json.new");
  ledger = home.Open();
  ASSERT_NE(ledger, nullptr);
  const auto next = ledger->OpenRun(OpeningFor("run", 1'000));
  ASSERT_TRUE(next.ok()) << next.status();
  // The round that was refused is charged or not; none before it is lost.
  EXPECT_GE(next->next_round, round);
  EXPECT_LE(next->next_round, round + 1);
}

TEST_F(SmallDisk, WhenReadOnlyIsRefusedAtTheStart) {
  LedgerHome home;
  home.options.directory = Path("ledger");
  home.options.anchor_directory = Path("anchor");
  home.OpenWithPeople().reset();
  if (mounted_) {
    ASSERT_EQ(::mount("tmpfs", directory_.path().c_str(), "tmpfs",
                      MS_REMOUNT | MS_RDONLY, "size=400k"),
              0);
  } else {
    fs::remove(Path("anchor") + "/anchor.lock");
    fs::create_directory(Path("anchor") + "/anchor.lock");
  }
  EXPECT_EQ(home.OpenCode(), "storage-failed");
}

}  // namespace
}  // namespace dpnmf::faults
