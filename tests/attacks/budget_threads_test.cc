// Attack: many threads at once on one curator, through sessions and straight at
// the gate, over a few runs that they all fight for; between bouts the curator
// is restarted and releases are taken away. Afterwards one serial order must
// explain every answer (budget_history.h).
//
// DPNMF_ATTACK_SEED repeats the calls (not their interleaving),
// DPNMF_ATTACK_TRIALS=n plays n times as often. Nothing here is chance but the
// choice and the interleaving of calls.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <filesystem>
#include <thread>

#include "common/base/failpoint.h"
#include "gtest/gtest.h"
#include "tests/attacks/budget_history.h"

namespace dpnmf::curator {
namespace {

constexpr int kThreads = 6, kRuns = 8, kBouts = 3, kBlock = 12,
              kCalls = kBlock * kRuns, kStampedes = 15;

std::atomic<std::uint64_t> g_clock{1};

// Lets another thread run at the places where calls may meet.
void Jitter(const char*) {
  thread_local std::uint64_t state = g_clock.load();
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (state >> 62 == 0) std::this_thread::yield();
}

class Brawl {
 public:
  explicit Brawl(std::uint64_t seed) {
    curator_.alone = false;
    curator_.Start();
    for (std::uint64_t t = 0; t < kThreads; ++t)
      attackers_.emplace_back(&curator_, seed * 31 + t, kRuns);
    for (int bout = 0; bout < kBouts; ++bout) {
      Bout(bout);
      if (bout + 1 < kBouts) Between();
    }
    rows_ = ReadLedgerFile(curator_.LedgerDirectoryPath());
    curator_.Stop();
  }

  void ExpectSerial() const {
    curator::ExpectSerial(history_, rows_, curator_.policies());
    const auto charges =
        std::count_if(rows_.begin(), rows_.end(),
                      [](const FileRow& row) { return row.kind == "charge"; });
    EXPECT_EQ(curator_.draws(), static_cast<std::uint64_t>(charges));
  }

  const BudgetHistory& history() const { return history_; }
  std::uint64_t draws() const { return curator_.draws(); }

 private:
  struct Record {
    std::vector<Event> events;
    std::vector<Sample> samples;
  };

  void Bout(int bout) {
    std::vector<Record> records(kThreads);
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    failpoint::on_reach = Jitter;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Stampede(&attackers_[t], &together, bout, &records[t]);
        Fight(&attackers_[t], &together, &records[t]);
      });
    for (std::thread& thread : threads) thread.join();
    failpoint::on_reach = nullptr;
    for (Record& record : records) {
      std::move(record.events.begin(), record.events.end(),
                std::back_inserter(history_.events));
      std::move(record.samples.begin(), record.samples.end(),
                std::back_inserter(history_.samples));
    }
  }

  // All threads open the same new run at once, and close it at once.
  void Stampede(Attacker* attacker, std::barrier<>* together, int bout,
                Record* record) {
    for (int run = 0; run < kStampedes; ++run) {
      Attempt attempt;
      attempt.identity = kAlice;
      attempt.run =
          "stampede-" + std::to_string(bout) + "-" + std::to_string(run);
      for (const Attempt::Kind kind : {Attempt::kOpen, Attempt::kClose}) {
        attempt.kind = kind;
        together->arrive_and_wait();
        Make(attempt, attacker, record);
      }
    }
  }

  static Attempt ThinkAt(int place, Attacker* attacker) {
    switch (place) {
      case 0:
        return attacker->ThinkWithTheOthers(Attempt::kOpen, 0);
      case 1:
        return attacker->ThinkWithTheOthers(Attempt::kAsk, 1);
      case 2:
      case 4:
        return attacker->ThinkWithTheOthersBySession(Attempt::kOpen, 0);
      case 3:
      case 5:
        return attacker->ThinkWithTheOthersBySession(
            Attempt::kAsk, static_cast<std::uint32_t>(place) / 2);
      default:
        return attacker->Think();
    }
  }

  // Each block of calls is about one run. Its first calls are the same for all
  // threads, and made at once.
  void Fight(Attacker* attacker, std::barrier<>* together, Record* record) {
    for (int call = 0; call < kCalls; ++call) {
      const int place = call % kBlock;
      if (place == 0) {
        attacker->FocusOn(static_cast<std::uint64_t>(call / kBlock));
        together->arrive_and_wait();
      }
      Make(ThinkAt(place, attacker), attacker, record);
    }
  }

  void Make(const Attempt& attempt, Attacker* attacker, Record* record) {
    Event event;
    event.attempt = attempt;
    event.early_code = attacker->EarlyCode(attempt);
    event.rows_before = Look(record, true);
    event.begin = g_clock.fetch_add(1);
    event.answer = attacker->Do(attempt);
    event.end = g_clock.fetch_add(1);
    event.rows_after = Look(record, false);
    if (event.answer.code.empty()) {
      if (attempt.kind == Attempt::kOpen)
        attacker->Learn(attempt.run, event.answer.next_round);
      if (attempt.kind == Attempt::kAsk)
        attacker->Learn(attempt.run, attempt.round + 1);
    }
    record->events.push_back(std::move(event));
  }

  // The number of rows that all populations' sums were seen at or before
  // (first = true) or after.
  std::uint64_t Look(Record* record, bool first) {
    std::uint64_t rows = 0;
    for (const PopulationPolicy& policy : curator_.policies()) {
      const auto seen = curator_.ledger().PositionOf(policy.population);
      EXPECT_TRUE(seen.ok()) << seen.status();
      if (!seen.ok()) continue;
      if (rows == 0 || !first) rows = seen->row_count;
      record->samples.push_back({policy.population, seen->row_count,
                                 HexOf(seen->head), seen->charged.units(),
                                 seen->reserved.units()});
    }
    return rows;
  }

  // The curator restarts, and some stored releases are gone.
  void Between() {
    for (Attacker& attacker : attackers_) attacker.DropSessions();
    curator_.Stop();
    for (const Event& event : history_.events) {
      const Answer& answer = event.answer;
      if (!answer.found || attackers_[0].Below(10) != 0) continue;
      if (history_.dead_since.contains(answer.row_hash)) continue;
      std::filesystem::remove(curator_.ReleasePath(answer.row_hash));
      history_.dead_since[answer.row_hash] = g_clock.fetch_add(1);
    }
    curator_.Start();
  }

  AttackedCurator curator_;
  std::vector<Attacker> attackers_;
  BudgetHistory history_;
  std::vector<FileRow> rows_;
};

TEST(BudgetThreads, OneSerialOrderExplainsEveryAnswer) {
  const std::uint64_t seed = AttackSeed("BudgetThreads");
  const int brawls = AttackTrials(40);
  std::uint64_t calls = 0, samples = 0, draws = 0;
  for (int b = 0; b < brawls; ++b) {
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<unsigned>(b)));
    const Brawl brawl(seed + static_cast<unsigned>(b));
    ASSERT_NO_FATAL_FAILURE(brawl.ExpectSerial());
    calls += brawl.history().events.size();
    samples += brawl.history().samples.size();
    draws += brawl.draws();
  }
  ReportAttack("budget from " + std::to_string(kThreads) + " threads | " +
               std::to_string(calls) + " calls, " + std::to_string(draws) +
               " releases, " + std::to_string(samples) + " sums looked at");
}

}  // namespace
}  // namespace dpnmf::curator
