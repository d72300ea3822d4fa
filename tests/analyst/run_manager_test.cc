#include "analyst/runs/run_manager.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

constexpr auto kHere = [] { return false; };

// Holds threads until it is opened.
class Gate {
 public:
  void Open() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    MutexLock lock(&mutex_);
    ++waiting_;
    changed_.notify_all();
    while (!open_) changed_.wait(mutex_);
  }
  void AwaitArrivals(int count) {
    MutexLock lock(&mutex_);
    while (waiting_ < count) changed_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class RunManagerTest : public testing::Test {
 protected:
  void SetUp() override { store_ = *RunStore::Open(directory_.path()); }

  void Begin(int max_running = 4, std::uint64_t run_memory = 0) {
    RunManager::Settings settings;
    settings.run_memory = run_memory;
    settings.max_running = max_running;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    manager_ = *RunManager::Create(store_.get(), &curator_, settings);
  }
  // Restarts as after a crash: the next manager knows only the store.
  void Restart(int max_running = 4, std::uint64_t run_memory = 0) {
    manager_.reset();
    store_.reset();
    store_ = *RunStore::Open(directory_.path());
    Begin(max_running, run_memory);
  }

  // Planned bytes of memory of a run of three rounds (one of `objective`).
  std::uint64_t BytesOf(std::uint32_t rank,
                        const std::string& mechanism = "statistics") {
    const std::uint32_t rounds = mechanism == "objective" ? 1 : 3;
    return PlanWithCurator(FakeSpecification(rank, rounds, mechanism),
                           &curator_)
        ->reply.learning()
        .memory_bytes();
  }

  std::string Start(std::uint32_t rounds,
                    const std::string& client = "dns:alice.client",
                    std::uint32_t rank = 2,
                    const std::string& mechanism = "statistics") {
    v1::RunSpecification specification =
        FakeSpecification(rank, rounds, mechanism);
    specification.mutable_parameters()->set_epsilon(0.2);
    const auto planned = PlanWithCurator(specification, &curator_);
    const auto run = manager_->Start(*planned, std::nullopt, client);
    EXPECT_TRUE(run.ok()) << run.status();
    return run->run_id();
  }

  std::vector<v1::RunEvent> WatchAll(const std::string& run_id,
                                     std::uint64_t cursor = 0) {
    std::vector<v1::RunEvent> events;
    const absl::Status status = manager_->Watch(
        run_id, cursor,
        [&](const v1::RunEvent& event) {
          events.push_back(event);
          return true;
        },
        kHere);
    EXPECT_TRUE(status.ok()) << status;
    return events;
  }

  TemporaryDirectory directory_;
  FakeCurator curator_{FakeData(6, 40)};
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<RunManager> manager_;
};

TEST_F(RunManagerTest, RunsToTheEndAndTellsEveryRoundOnce) {
  Begin();
  const std::string run_id = Start(10);
  EXPECT_EQ(run_id.size(), 32u);
  const auto events = WatchAll(run_id);
  std::vector<std::uint32_t> rounds;
  for (const auto& event : events) {
    if (event.round_seconds() > 0) rounds.push_back(event.round());
  }
  EXPECT_EQ(rounds,
            (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(events.back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_GT(manager_->Get(run_id)->spent().rdp(), 0);
}

TEST_F(RunManagerTest, TheLastEventSaysWhereTheTimeWent) {
  Begin();
  const auto events = WatchAll(Start(3));
  double rounds = 0, stages = 0;
  for (const auto& event : events) rounds += event.round_seconds();
  ASSERT_EQ(events.back().time_size(), 2);
  EXPECT_EQ(events.back().time(0).stage(), "curator");
  EXPECT_EQ(events.back().time(1).stage(), "learning");
  for (const auto& time : events.back().time()) {
    EXPECT_GT(time.seconds(), 0);
    stages += time.seconds();
  }
  EXPECT_LE(stages, rounds);  // a round also writes to the store
  EXPECT_THAT(events.back().message(), testing::StartsWith("3 rounds took"));
}

TEST_F(RunManagerTest,
       AWatcherThatComesBackWithItsCursorMissesAndRepeatsNothing) {
  Begin();
  const std::string run_id = Start(10);
  std::vector<std::uint64_t> cursors;
  std::uint64_t cursor = 0;
  while (true) {
    int taken = 0;
    ASSERT_TRUE(manager_
                    ->Watch(
                        run_id, cursor,
                        [&](const v1::RunEvent& event) {
                          if (++taken > 3)
                            return false;  // the client goes away
                          cursors.push_back(event.cursor());
                          return true;
                        },
                        kHere)
                    .ok());
    if (taken <= 3) break;
    cursor = cursors.back();
  }
  for (std::size_t i = 0; i < cursors.size(); ++i) EXPECT_EQ(cursors[i], i + 1);
  EXPECT_EQ(cursors.size(), WatchAll(run_id).size());
}

// Such as memory that the system does not give: no thread ends the server, and
// a run that would meet it again ends.
TEST_F(RunManagerTest, AnExceptionEndsItsRunAndNothingElse) {
  const struct {
    Moment moment;
    std::uint32_t round;
  } cases[] = {{Moment::kOpen, 0},
               {Moment::kBeforeCharge, 2},
               {Moment::kAfterCharge, 2},
               {Moment::kClose, 0}};
  for (const auto& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.moment));
    std::atomic<bool> throws = true;
    curator_.hook = [&](Moment moment, const std::string&,
                        std::uint32_t round) -> absl::Status {
      if (throws && moment == c.moment && (c.round == 0 || round == c.round))
        throw std::bad_alloc();
      return absl::OkStatus();
    };
    Begin(1);
    const std::string run_id = Start(3);
    EXPECT_EQ(WatchAll(run_id).back().state(), v1::RUN_STATE_FAILED);
    const v1::Run run = *manager_->Get(run_id);
    EXPECT_EQ(run.error_code(), "internal-error");
    EXPECT_THAT(run.error(), testing::HasSubstr("operator of the analyst"));
    if (c.moment != Moment::kClose) {
      EXPECT_EQ(curator_.reserved().UnitsText(), "0") << "it was closed";
    }
    throws = false;
    EXPECT_EQ(WatchAll(Start(3)).back().state(), v1::RUN_STATE_COMPLETED)
        << "the worker is there";
    Restart(1);
    EXPECT_EQ(manager_->Get(run_id)->state(), v1::RUN_STATE_FAILED);
    manager_.reset();
  }
}

TEST_F(RunManagerTest, SixtyFourWatchersSeeTheSame) {
  Gate gate;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kBeforeCharge && round == 2) gate.Pass();
    return absl::OkStatus();
  };
  Begin();
  const std::string run_id = Start(20);
  std::vector<std::vector<v1::RunEvent>> seen(64);
  std::vector<std::thread> watchers;
  for (auto& events : seen)
    watchers.emplace_back([&] { events = WatchAll(run_id); });
  gate.Open();
  for (std::thread& watcher : watchers) watcher.join();
  for (const auto& events : seen) {
    ASSERT_EQ(events.size(), seen[0].size());
    EXPECT_EQ(events.back().state(), v1::RUN_STATE_COMPLETED);
  }
}

TEST_F(RunManagerTest, ASlowWatcherHoldsNothingUp) {
  Begin();
  const std::string run_id = Start(10);
  Gate gate;
  std::thread slow([&] {
    EXPECT_TRUE(manager_
                    ->Watch(
                        run_id, 0,
                        [&](const v1::RunEvent&) {
                          gate.Pass();
                          return true;
                        },
                        kHere)
                    .ok());
  });
  gate.AwaitArrivals(1);
  EXPECT_EQ(WatchAll(run_id).back().state(), v1::RUN_STATE_COMPLETED);
  gate.Open();
  slow.join();
}

TEST_F(RunManagerTest,
       QueuesAboveTheLimitAndCancelsAQueuedRunWithoutTheCurator) {
  Gate gate;
  std::atomic<int> opens = 0;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    if (moment == Moment::kOpen) {
      ++opens;
      gate.Pass();
    }
    return absl::OkStatus();
  };
  Begin(/*max_running=*/1);
  const std::string first = Start(3);
  gate.AwaitArrivals(1);
  const std::string second = Start(3);
  EXPECT_EQ(manager_->Get(second)->state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(manager_->Cancel(second)->state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(manager_->Cancel(second)->state(),
            v1::RUN_STATE_CANCELLED);  // idempotent
  const std::string third = Start(3);
  gate.Open();
  EXPECT_EQ(WatchAll(first).back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(WatchAll(third).back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(WatchAll(second).back().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(opens, 2);
}

TEST_F(RunManagerTest, ARunWaitsUntilTheMemoryHasRoomForIt) {
  Gate gate;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t) {
    if (moment == Moment::kOpen) gate.Pass();
    return absl::OkStatus();
  };
  const std::uint64_t one = PlanWithCurator(FakeSpecification(2, 3), &curator_)
                                ->reply.learning()
                                .memory_bytes();
  ASSERT_GT(one, 0u);
  Begin(/*max_running=*/4, /*run_memory=*/one);
  const std::string first = Start(3);
  gate.AwaitArrivals(1);
  const std::string second = Start(3);
  // Bob has his own share, and both together have no more than two.
  const std::string bobs = Start(3, "dns:bob.client");
  gate.AwaitArrivals(2);
  const std::string carols = Start(3, "dns:carol.client");
  EXPECT_EQ(manager_->Get(second)->state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(manager_->Get(carols)->state(), v1::RUN_STATE_QUEUED);
  gate.Open();
  for (const std::string& run : {first, second, bobs, carols})
    EXPECT_EQ(WatchAll(run).back().state(), v1::RUN_STATE_COMPLETED);
}

constexpr std::uint32_t kSmall = 1, kLarge = 6;  // ranks

// Holds one run at its opening and lists all as they open.
class Opened {
 public:
  explicit Opened(FakeCurator* curator) {
    curator->hook = [this](Moment moment, const std::string& run_id,
                           std::uint32_t) {
      if (moment != Moment::kOpen) return absl::OkStatus();
      bool hold = false;
      {
        MutexLock lock(&mutex_);
        hold = held.empty() ? runs_.empty() : run_id == held;
        runs_.push_back(run_id);
      }
      if (hold) gate.Pass();
      return absl::OkStatus();
    };
  }
  std::ptrdiff_t PlaceOf(const std::string& run_id) {
    MutexLock lock(&mutex_);
    return std::find(runs_.begin(), runs_.end(), run_id) - runs_.begin();
  }
  Gate gate;
  std::string held;  // empty: the first; set before runs start

 private:
  Mutex mutex_;
  std::vector<std::string> runs_ ABSL_GUARDED_BY(mutex_);
};

// One place beside the run that is held, so that they come one by one.
TEST_F(RunManagerTest, ARunIsNotOvertakenForEver) {
  constexpr int kOvertaking = 16, kMore = 24;
  ASSERT_LE(2 * BytesOf(kSmall), BytesOf(kLarge));
  Opened opened(&curator_);
  Begin(/*max_running=*/2, /*run_memory=*/BytesOf(kLarge));
  const std::string held = Start(3, "dns:alice.client", kSmall);
  opened.gate.AwaitArrivals(1);
  const std::string large = Start(3, "dns:alice.client", kLarge);
  std::vector<std::string> small;
  for (int i = 0; i < kOvertaking + kMore; ++i)
    small.push_back(Start(1, "dns:alice.client", kSmall));
  for (int i = 0; i < kOvertaking; ++i) WatchAll(small[i]);
  opened.gate.Open();
  WatchAll(large);
  for (const std::string& run : small) WatchAll(run);
  for (int i = 0; i < kOvertaking; ++i)
    EXPECT_LT(opened.PlaceOf(small[i]), opened.PlaceOf(large));
  for (int i = kOvertaking; i < kOvertaking + kMore; ++i)
    EXPECT_LT(opened.PlaceOf(large), opened.PlaceOf(small[i]));
}

TEST_F(RunManagerTest, NorByOtherClientsOnceTheLimitWasLowered) {
  constexpr int kOvertaking = 16, kMore = 24;
  Begin(0);
  const std::string held = Start(3, "dns:carol.client", kSmall);
  const std::string large = Start(3, "dns:alice.client", kLarge);
  std::vector<std::string> small;
  for (int i = 0; i < kOvertaking + kMore; ++i)
    small.push_back(Start(1, "dns:bob.client", kSmall));
  Opened opened(&curator_);
  opened.held = held;
  // Beside the large one there is no room for another.
  Restart(/*max_running=*/2, /*run_memory=*/BytesOf(kLarge) / 2);
  opened.gate.AwaitArrivals(1);
  for (int i = 0; i < kOvertaking; ++i) WatchAll(small[i]);
  opened.gate.Open();
  WatchAll(large);
  for (const std::string& run : small) WatchAll(run);
  for (int i = kOvertaking; i < kOvertaking + kMore; ++i)
    EXPECT_LT(opened.PlaceOf(large), opened.PlaceOf(small[i]));
}

TEST_F(RunManagerTest, ARunThatWaitsForItsOwnClientHoldsNoOtherBack) {
  Opened opened(&curator_);
  Begin(/*max_running=*/2, /*run_memory=*/BytesOf(kSmall));
  const std::string held = Start(3, "dns:alice.client", kSmall);
  opened.gate.AwaitArrivals(1);
  const std::string second = Start(3, "dns:alice.client", kSmall);
  std::string last;
  for (int i = 0; i < 24; ++i) last = Start(1, "dns:bob.client", kSmall);
  EXPECT_EQ(WatchAll(last).back().state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(manager_->Get(second)->state(), v1::RUN_STATE_QUEUED);
  opened.gate.Open();
  EXPECT_EQ(WatchAll(second).back().state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(RunManagerTest, ARunThatIsCancelledWaitsForNoMemory) {
  Begin(0);
  const std::string held = Start(3, "dns:alice.client", kSmall);
  const std::string before = Start(3, "dns:alice.client", kLarge);
  const std::string after = Start(3, "dns:alice.client", kLarge);
  Restart(0);
  EXPECT_EQ(manager_->Cancel(before)->state(), v1::RUN_STATE_CANCELLING);
  Opened opened(&curator_);
  opened.held = held;
  Restart(/*max_running=*/2, /*run_memory=*/BytesOf(kSmall));
  opened.gate.AwaitArrivals(1);
  EXPECT_EQ(WatchAll(before).back().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(manager_->Get(after)->state(), v1::RUN_STATE_QUEUED);
  // Its end may come before the answer.
  EXPECT_THAT(
      manager_->Cancel(after)->state(),
      testing::AnyOf(v1::RUN_STATE_CANCELLING, v1::RUN_STATE_CANCELLED));
  EXPECT_EQ(WatchAll(after).back().state(), v1::RUN_STATE_CANCELLED);
  opened.gate.Open();
  EXPECT_EQ(WatchAll(held).back().state(), v1::RUN_STATE_COMPLETED);
}

// The plan of `objective` shows one number alone: D comes from the data set, or
// after a restart from the stored W. By the plan two runs would have room.
TEST_F(RunManagerTest, TheMemoryOfARunThatReleasesANumberCountsItsDictionary) {
  const std::uint64_t limit = BytesOf(kLarge, "objective");
  for (const bool restart : {false, true}) {
    Opened opened(&curator_);
    Begin(restart ? 0 : 2, limit);
    const std::string held = Start(1, "dns:alice.client", kLarge, "objective");
    if (!restart) opened.gate.AwaitArrivals(1);  // before any other run
    const std::string second =
        Start(1, "dns:alice.client", kLarge, "objective");
    const std::string bobs = Start(1, "dns:bob.client", kSmall);
    if (restart) {
      opened.held = held;
      Restart(2, limit);
    }
    opened.gate.AwaitArrivals(1);
    WatchAll(bobs);
    EXPECT_EQ(manager_->Get(second)->state(), v1::RUN_STATE_QUEUED);
    opened.gate.Open();
    WatchAll(held);
    WatchAll(second);
    manager_.reset();
  }
}

TEST_F(RunManagerTest, ARunThatNoClientMayHaveTheMemoryForIsRefused) {
  PlannedRun planned = *PlanWithCurator(FakeSpecification(2, 3), &curator_);
  const std::uint64_t bytes = planned.reply.learning().memory_bytes();
  Begin(/*max_running=*/4, /*run_memory=*/bytes - 1);
  const auto refused = manager_->Start(planned, std::nullopt, "dns:alice");
  EXPECT_EQ(ReasonCode(refused.status()), "learning-too-large");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  manager_->RefuseTooLarge(&planned.reply);
  EXPECT_TRUE(planned.reply.would_be_refused());
  EXPECT_EQ(planned.reply.refusal_code(), "learning-too-large");
  EXPECT_TRUE(manager_->List()->empty());
}

TEST_F(RunManagerTest, ACancelReachesARunThatIsAtWork) {
  Gate gate;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kAfterCharge && round == 2) gate.Pass();
    return absl::OkStatus();
  };
  Begin();
  const std::string run_id = Start(50);
  gate.AwaitArrivals(1);
  EXPECT_EQ(manager_->Cancel(run_id)->state(), v1::RUN_STATE_CANCELLING);
  gate.Open();
  EXPECT_EQ(WatchAll(run_id).back().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(curator_.charges(), 2u);
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

// Cancels race with rounds and ends: whatever comes first, the run ends, and
// nothing stays reserved.
TEST_F(RunManagerTest, CancelRacesEndInAFinalStateWithNothingReserved) {
  Begin(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this, i] {
      const std::string run_id = Start(5);
      for (int events = 0; events < i % 8;) {
        events = static_cast<int>(store_->Events(run_id, 0, 100)->size());
      }
      EXPECT_TRUE(manager_->Cancel(run_id).ok());
      EXPECT_TRUE(IsFinal(WatchAll(run_id).back().state()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

TEST_F(RunManagerTest, RunsGoOnAfterARestartAndTheListStays) {
  std::atomic<bool> down = true;
  Gate gate;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (!down || moment != Moment::kBeforeCharge || round != 3)
      return absl::OkStatus();
    gate.Pass();
    return Refusal(absl::StatusCode::kUnavailable, "unreachable", "Gone.");
  };
  Begin();
  const std::string first = Start(6);
  const std::string second = Start(6);
  gate.AwaitArrivals(2);
  gate.Open();
  Restart();
  EXPECT_EQ(manager_->List()->size(), 2u);
  EXPECT_EQ(manager_->List()->front().run_id(), second);
  down = false;
  for (const std::string& run_id : {first, second}) {
    const auto events = WatchAll(run_id);
    EXPECT_EQ(events.back().state(), v1::RUN_STATE_COMPLETED);
    for (std::size_t i = 0; i < events.size(); ++i)
      EXPECT_EQ(events[i].cursor(), i + 1);
  }
  EXPECT_EQ(curator_.charges(), 12u);
}

TEST_F(RunManagerTest, ACancelAfterARestartGivesBackWhatWasReservedBefore) {
  // A process that ended after the curator had opened the run and before that
  // was stored: no worker here, so that the run stays QUEUED.
  Begin(0);
  const std::string run_id = Start(3);
  ASSERT_TRUE(
      curator_.NewStream()
          ->Open(run_id, store_->Get(run_id)->run.specification().parameters())
          .ok());
  ASSERT_NE(curator_.reserved(), MuSquared());
  Restart(0);
  EXPECT_EQ(manager_->Cancel(run_id)->state(), v1::RUN_STATE_CANCELLING);
  Restart(1);
  WatchAll(run_id);
  EXPECT_EQ(manager_->Get(run_id)->state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

TEST_F(RunManagerTest, StopEndsWatchesAndRefusesNewRuns) {
  Gate gate;
  curator_.hook = [&](Moment moment, const std::string&, std::uint32_t round) {
    if (moment == Moment::kBeforeCharge && round == 2) gate.Pass();
    return absl::OkStatus();
  };
  Begin();
  const std::string run_id = Start(5);
  gate.AwaitArrivals(1);
  std::thread watcher([&] {
    const auto all = [](const v1::RunEvent&) { return true; };
    EXPECT_EQ(ReasonCode(manager_->Watch(run_id, 0, all, kHere)),
              "shutting-down");
  });
  std::thread stopper([&] { manager_->Stop(); });
  watcher.join();
  gate.Open();
  stopper.join();
  const auto planned = PlanWithCurator(FakeSpecification(2, 2), &curator_);
  EXPECT_EQ(ReasonCode(manager_->Start(*planned, std::nullopt, "").status()),
            "shutting-down");
}

TEST_F(RunManagerTest, ChecksThePublicDictionary) {
  Begin();
  v1::RunSpecification specification = FakeSpecification(2, 2);
  specification.mutable_learner()->set_initialisation(
      v1::INITIALISATION_PUBLIC);
  const auto planned = PlanWithCurator(specification, &curator_);
  const auto code = [&](std::optional<Eigen::MatrixXd> w0) {
    return ReasonCode(manager_->Start(*planned, std::move(w0), "").status());
  };
  EXPECT_EQ(code(std::nullopt), "dictionary-missing");
  EXPECT_EQ(code(Eigen::MatrixXd::Zero(2, 6)), "matrix-shape");
  EXPECT_EQ(code(Eigen::MatrixXd::Constant(6, 2, -1)), "dictionary-negative");
  EXPECT_EQ(code(Eigen::MatrixXd::Constant(6, 2, std::nan(""))),
            "dictionary-not-finite");
  EXPECT_EQ(code(Eigen::MatrixXd::Constant(6, 2, 1.5)), "");
  const auto random = PlanWithCurator(FakeSpecification(2, 2), &curator_);
  EXPECT_EQ(
      ReasonCode(
          manager_->Start(*random, Eigen::MatrixXd::Zero(6, 2), "").status()),
      "dictionary-unexpected");
  // Sent projected: the curator sees columns of length at most 1.
  WatchAll(manager_->List()->front().run_id());
  EXPECT_LE(curator_.Requests().front().second.col(0).norm(), 1);
}

TEST_F(RunManagerTest, RunsThatEndedLongAgoAreForgottenAtTheNextStart) {
  std::int64_t now = 1'000;  // decades ago
  store_.reset();
  store_ = *RunStore::Open(directory_.path(), [&] { return now; });
  Begin();
  const std::string old = Start(2);
  WatchAll(old);
  manager_.reset();
  store_.reset();
  store_ = *RunStore::Open(directory_.path());
  RunManager::Settings settings;
  settings.retain_seconds = 1'000'000;
  manager_ = *RunManager::Create(store_.get(), &curator_, settings);
  EXPECT_EQ(ReasonCode(manager_->Get(old).status()), "run-unknown");
  const std::string recent = Start(2);
  WatchAll(recent);
  EXPECT_TRUE(manager_->Get(recent).ok());
  EXPECT_EQ(store_->Mirror("people")->charges.size(), 4u);
}

}  // namespace
}  // namespace dpnmf::analyst
