// Every n-th call of the system fails, for every n: a short story of the
// curator (start, open, three rounds, close) is told once without faults to
// count its calls, and then once for each call and each kind of fault. After
// the fault the curator is started again, asked the same again, and must end at
// the same ledger, with each row drawn once at most.
#include <cerrno>
#include <ostream>
#include <set>

#include "common/base/error.h"
#include "common/log/log.h"
#include "gtest/gtest.h"
#include "tests/attacks/attacked_curator.h"
#include "tests/faults/faulty_disk.h"

namespace dpnmf::faults {
namespace {

using curator::Answer;

constexpr std::uint32_t kRounds = 3;

struct Kind {
  const char* name;
  Fault::Kind kind;
  int error;
  Survival survival = Survival::kSynced;

  friend void PrintTo(const Kind& self, std::ostream* out) {
    *out << self.name;
  }
};

class Story {
 public:
  explicit Story(std::uint64_t seed) : disk_(curator_.LivePath(), seed) {}
  // The ledger closes its files on the disk before the disk goes.
  ~Story() { curator_.Stop(); }

  // Returns the number of calls of the system.
  std::uint64_t TellWith(const Fault& fault, Survival survival) {
    disk_.SetSurvival(survival);
    disk_.Arm(fault);
    if (!curator_.TryStart().ok()) StartAgain();
    Until([&] { return curator_.Open(curator::kAlice, "run", variant_); });
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const Answer first = Until([&] { return Ask(round); });
      const Answer again = Until([&] { return Ask(round); });
      EXPECT_EQ(first.bytes, again.bytes);
      EXPECT_EQ(first.lost, again.lost);
      EXPECT_EQ(first.row_hash, again.row_hash);
      if (!first.lost) {
        EXPECT_TRUE(bytes_.insert(first.bytes).second);
      }
      alive_[round] = !first.lost;
    }
    Until([&] { return curator_.Close(curator::kAlice, "run"); });
    const std::uint64_t calls = disk_.calls();
    ExpectTheEnd();
    return calls;
  }

  bool struck() const { return struck_; }

 private:
  Answer Ask(std::uint32_t round) {
    return curator_.Ask(curator::kAlice, "run", variant_, round, 0);
  }

  void StartAgain() {
    struck_ = struck_ || disk_.struck();
    disk_.SetSurvival(Survival::kSynced);
    const bool dead = disk_.dead();
    if (!dead) disk_.Disarm();
    curator_.Stop();
    if (dead) disk_.Reboot();
    const absl::Status started = curator_.TryStart();
    ASSERT_TRUE(started.ok()) << started;
    // Rows that were charged and not drawn.
    const std::uint64_t charges =
        curator::CountLedgerFile(curator_.LedgerDirectoryPath(), 1'000).charges;
    for (; undrawn_ + curator_.draws() < charges; ++undrawn_)
      curator_.AddUndrawn();
  }

  template <typename Call>
  Answer Until(const Call& call) {
    Answer answer;
    for (int attempt = 0; attempt < 4; ++attempt) {
      answer = call();
      struck_ = struck_ || disk_.struck();
      if (answer.code.empty()) return answer;
      EXPECT_TRUE(struck_) << answer.code;
      EXPECT_EQ(answer.code, "storage-failed");
      StartAgain();
    }
    ADD_FAILURE() << "the story does not go on: " << answer.code;
    return answer;
  }

  void ExpectTheEnd() {
    if (disk_.struck()) StartAgain();
    disk_.PowerCut(Survival::kSynced);
    StartAgain();
    const auto rows = curator::ReadLedgerFile(curator_.LedgerDirectoryPath());
    ExpectChained(rows);
    ExpectLawful(rows);
    // genesis, two populations, open, three charges, close
    EXPECT_EQ(rows.size(), 3 + 1 + kRounds + 1);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const Answer answer = Ask(round);
      EXPECT_EQ(answer.code, "");
      EXPECT_EQ(answer.lost, !alive_[round]) << "what was answered is lost";
      EXPECT_TRUE(answer.lost || bytes_.contains(answer.bytes));
    }
    EXPECT_LE(curator_.draws(), kRounds);
  }

  curator::AttackedCurator curator_;
  FaultyDisk disk_;
  const curator::RunVariant& variant_ = curator::RunVariants()[0];
  std::set<std::string> bytes_;
  std::map<std::uint32_t, bool> alive_;
  std::uint64_t undrawn_ = 0;
  bool struck_ = false;
};

class EveryCall : public testing::TestWithParam<Kind> {};

TEST_P(EveryCall, FailsOnceAndThePromiseStands) {
  SetLogLevel("off");
  const std::uint64_t calls = Story(1).TellWith(Fault(), Survival::kSynced);
  ASSERT_GT(calls, 100u);
  std::uint64_t struck = 0;
  for (std::uint64_t n = 1; n <= calls && !HasFailure(); ++n) {
    SCOPED_TRACE(std::string(GetParam().name) + " at call " +
                 std::to_string(n));
    Story story(n);
    story.TellWith({GetParam().kind, n, GetParam().error}, GetParam().survival);
    struck += story.struck();
  }
  std::printf("every call: %s at each of %llu calls, %llu of them struck\n",
              GetParam().name, static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(struck));
  EXPECT_GT(struck, calls / 3);
}

INSTANTIATE_TEST_SUITE_P(
    Of, EveryCall,
    testing::Values(
        Kind{"EIO", Fault::kFails, EIO}, Kind{"ENOSPC", Fault::kFails, ENOSPC},
        Kind{"ShortWrite", Fault::kShort, ENOSPC},
        Kind{"DiskFull", Fault::kFull, ENOSPC},
        Kind{"ReadOnly", Fault::kReadOnly, EROFS},
        Kind{"PowerCutLosingAll", Fault::kPowerCut, EIO, Survival::kSynced},
        Kind{"PowerCutLosingSome", Fault::kPowerCut, EIO, Survival::kSome},
        Kind{"ProcessKilled", Fault::kPowerCut, EIO, Survival::kAll}),
    [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace dpnmf::faults
