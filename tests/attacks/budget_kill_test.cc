// Attack: the process is killed in the midst of calls from several threads.
// Whatever was answered before stands: its row is there, and the same request
// gets the same bytes; what was charged and not answered is there with its
// bytes or dead, and is never drawn again.
//
// DPNMF_ATTACK_SEED repeats the calls and the moment up to the interleaving,
// DPNMF_ATTACK_TRIALS=n kills n times as often.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "common/base/failpoint.h"
#include "gtest/gtest.h"
#include "tests/attacks/attacker.h"

namespace dpnmf::curator {
namespace {

constexpr int kThreads = 4, kRuns = 8, kCalls = 60, kKilled = 77;

std::atomic<int> g_points_left{0};

void KillHere(const char*) {
  if (g_points_left.fetch_sub(1) == 1) ::_exit(kKilled);
  std::this_thread::yield();
}

std::string FingerprintOf(const std::string& bytes) {
  return HexOf(Sha256().AddString(bytes).Finish());
}

// Record of a thread's calls outside the process, before and after each call.
class Diary {
 public:
  explicit Diary(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {}
  ~Diary() { ::close(file_); }
  Diary(const Diary&) = delete;
  Diary& operator=(const Diary&) = delete;

  void Before(const Attempt& attempt) const {
    std::ostringstream line;
    line << "try " << attempt.kind << " " << attempt.slot << " "
         << attempt.identity << " " << attempt.run << " " << attempt.variant
         << " " << attempt.round << " " << attempt.choice << "\n";
    Write(line.str());
  }
  void After(const Attempt& attempt, const Answer& answer) const {
    std::ostringstream line;
    if (!answer.code.empty()) return;
    if (answer.found) {
      line << "got " << answer.row_hash << " " << FingerprintOf(answer.bytes)
           << " " << answer.lost << "\n";
    } else if (attempt.kind == Attempt::kClose) {
      line << "closed " << attempt.run << " " << UnitsText(answer.returned)
           << "\n";
    }
    Write(line.str());
  }

 private:
  void Write(const std::string& line) const {
    if (::write(file_, line.data(), line.size()) < 0) ::_exit(1);
  }
  const int file_;
};

// Starts the curator in a child, attacks it from threads, and is killed.
// Whether the moment came before the calls were over.
bool AttackUntilKilled(AttackedCurator* curator, std::uint64_t seed, int points,
                       const std::string& diary_path) {
  const int status = InChild([&] {
    curator->alone = false;
    curator->Start();
    const Diary diary(diary_path);
    g_points_left = points;
    failpoint::on_reach = KillHere;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Attacker attacker(curator, seed * 31 + t, kRuns);
        for (int call = 0; call < kCalls; ++call) {
          attacker.FocusOn(static_cast<std::uint64_t>(call) / 8);
          const Attempt attempt = attacker.Think();
          diary.Before(attempt);
          const Answer answer = attacker.Do(attempt);
          diary.After(attempt, answer);
          if (answer.found) attacker.Learn(attempt.run, attempt.round + 1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == kKilled || WEXITSTATUS(status) == 0);
  return WEXITSTATUS(status) == kKilled;
}

struct KillCounts {
  int kills = 0;
  std::uint64_t releases = 0, unanswered = 0, dead = 0;
};

class Survivor {
 public:
  Survivor(AttackedCurator* curator, const std::string& diary_path,
           KillCounts* counts)
      : curator_(curator), attacker_(curator, 1, kRuns), counts_(counts) {
    Read(diary_path);
    curator_->Start();
    rows_ = ReadLedgerFile(curator_->LedgerDirectoryPath());
  }

  void Check() {
    ExpectChained(rows_);
    ExpectLawful(rows_);
    std::map<std::string, const FileRow*> of_hash;
    for (const FileRow& row : rows_) {
      of_hash[row.hash] = &row;
      if (row.kind == "charge") {
        ASSERT_NO_FATAL_FAILURE(AskAgain(row));
      }
      const auto closed = closed_.find(row.run);
      if (row.kind == "close" && closed != closed_.end()) {
        ASSERT_EQ(UnitsText(row.cost), closed->second);
        closed_.erase(closed);
      }
    }
    ASSERT_TRUE(closed_.empty()) << "a refund without its row";
    for (const auto& [hash, print] : got_)
      ASSERT_TRUE(of_hash.contains(hash)) << "a release without its row";
    ASSERT_EQ(curator_->draws(), 0u) << "a row was drawn again";
  }

 private:
  void Read(const std::string& path) {
    std::ifstream file(path);
    std::string line, word;
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      fields >> word;
      if (word == "try") {
        Attempt attempt;
        int kind = 0;
        fields >> kind >> attempt.slot >> attempt.identity >> attempt.run >>
            attempt.variant >> attempt.round >> attempt.choice;
        attempt.kind = static_cast<Attempt::Kind>(kind);
        if (attempt.kind == Attempt::kAsk) tried_.push_back(attempt);
      } else if (word == "got") {
        std::string hash, print;
        bool lost = true;
        fields >> hash >> print >> lost;
        EXPECT_FALSE(lost);
        const auto [first, is_new] = got_.emplace(hash, print);
        EXPECT_EQ(first->second, print) << "two releases of one row";
      } else if (word == "closed") {
        std::string run, returned;
        fields >> run >> returned;
        closed_[run] = returned;
      }
    }
  }

  // Everybody who asked for the row asks again. Exactly one request is the one
  // that was charged. (A session's run may be closed, and is then not opened
  // again: what it was answered is checked by its row alone.)
  void AskAgain(const FileRow& row) {
    const auto answered = got_.find(row.hash);
    ++(answered != got_.end() ? counts_->releases : counts_->unanswered);
    std::map<std::string, Attempt> requests;
    for (const Attempt& attempt : tried_) {
      if (attempt.run == row.run && attempt.round == row.round &&
          attempt.identity == row.identity && !attempt.by_session()) {
        requests.emplace(attempt.asking().request, attempt);
      }
    }
    int charged = 0;
    for (const auto& [text, attempt] : requests) {
      const Answer again = attacker_.Do(attempt);
      if (again.code == "round-differs") continue;
      ASSERT_EQ(again.code, "") << Describe(attempt);
      ASSERT_EQ(again.row_hash, row.hash);
      ++charged;
      counts_->dead += again.lost;
      if (answered == got_.end()) continue;
      ASSERT_FALSE(again.lost) << "what was answered is lost";
      ASSERT_EQ(FingerprintOf(again.bytes), answered->second);
    }
    ASSERT_EQ(charged, requests.empty() ? 0 : 1);
  }

  AttackedCurator* const curator_;
  Attacker attacker_;
  KillCounts* const counts_;
  std::vector<Attempt> tried_;
  std::map<std::string, std::string> got_, closed_;
  std::vector<FileRow> rows_;
};

TEST(BudgetKill, WhatWasAnsweredStandsAndNothingIsDrawnAgain) {
  const std::uint64_t seed = AttackSeed("BudgetKill");
  const int trials = AttackTrials(60);
  KillCounts counts;
  Attacker chooser(nullptr, seed);
  for (int trial = 0; trial < trials; ++trial) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " trial " +
                 std::to_string(trial));
    const TempDirectory diary;
    AttackedCurator curator;
    counts.kills += AttackUntilKilled(
        &curator, seed + static_cast<unsigned>(trial),
        1 + static_cast<int>(chooser.Below(400)), diary / "diary");
    Survivor survivor(&curator, diary / "diary", &counts);
    ASSERT_NO_FATAL_FAILURE(survivor.Check());
    curator.Stop();
  }
  ReportAttack("kills under " + std::to_string(kThreads) + " threads | " +
               std::to_string(counts.kills) + " kills of " +
               std::to_string(trials) + " attacks, " +
               std::to_string(counts.releases) + " answered rows, " +
               std::to_string(counts.unanswered) + " unanswered, " +
               std::to_string(counts.dead) + " found dead");
  EXPECT_GT(counts.kills, 0);
}

}  // namespace
}  // namespace dpnmf::curator
