// Paced mode with a clock that the test moves.
#include "curator/session/pacing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "tests/curator/serve/fake_pace_clock.h"

namespace dpnmf::curator {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kPeriod = milliseconds(10);
class PacerTest : public ::testing::Test {
 protected:
  // Begins a piece of work at `begin` that takes `duration`.
  absl::Status Run(nanoseconds begin, nanoseconds duration) {
    clock_.Pass(begin - clock_.now());
    return pacer_.Run("dns:analyst", [this, duration](const Pacer::Expired&) {
      clock_.Pass(duration);
      return absl::OkStatus();
    });
  }

  FakeClock clock_;
  Pacer pacer_{kPeriod, &clock_};
};

TEST_F(PacerTest, WorkEndsAtTheFirstTickAPeriodAfterItsBegin) {
  struct Case {
    int begin, end;
  };
  for (const Case& c : {Case{0, 10}, {11, 30}, {39, 50}, {60, 70}}) {
    ASSERT_TRUE(Run(milliseconds(c.begin), milliseconds(3)).ok());
    EXPECT_EQ(clock_.now(), milliseconds(c.end)) << c.begin;
  }
}

TEST_F(PacerTest, TheEndDoesNotDependOnHowLongTheWorkTook) {
  for (int i = 0; i <= 10; ++i) {
    const nanoseconds begin = milliseconds(100 * i);
    ASSERT_TRUE(Run(begin, milliseconds(i)).ok());
    EXPECT_EQ(clock_.now(), begin + kPeriod) << i;
  }
}

TEST_F(PacerTest, AnOverrunIsRefusedAtATick) {
  const absl::Status status = Run(milliseconds(3), milliseconds(18));
  EXPECT_EQ(ReasonCode(status), "round-overran");
  EXPECT_EQ(clock_.now(), milliseconds(30));
}

TEST_F(PacerTest, AnOverrunIsRefusedAtTheSameTickHoweverLongTheWorkGoesOn) {
  for (const int ticks : {2, 3, 7, 20, 61}) {
    FakeClock clock;
    std::atomic<bool> refused = false;
    Pacer pacer(kPeriod, &clock);
    // A block that takes so many ticks and does not ask whether to stop.
    const absl::Status status =
        pacer.Run("dns:analyst", [&, ticks](const Pacer::Expired&) {
          clock.Pass(kPeriod + nanoseconds(1));
          while (!refused) std::this_thread::yield();
          clock.Pass((ticks - 1) * kPeriod);
          return absl::OkStatus();
        });
    EXPECT_EQ(ReasonCode(status), "round-overran");
    EXPECT_EQ(clock.now(), 2 * kPeriod) << ticks;
    refused = true;
  }
}

// Work that goes on when its slot is over takes the time of the next slot,
// which ends at ticks of its own.
TEST_F(PacerTest, WorkThatGoesOnTakesItsTimeFromTheNextSlot) {
  std::atomic<bool> worked = false;
  EXPECT_EQ(ReasonCode(pacer_.Run("dns:analyst",
                                  [&](const Pacer::Expired&) {
                                    clock_.Pass(kPeriod + nanoseconds(1));
                                    while (clock_.waits < 2)
                                      std::this_thread::yield();
                                    clock_.Pass(kPeriod + nanoseconds(1));
                                    return absl::OkStatus();
                                  })),
            "round-overran");
  EXPECT_EQ(clock_.now(), 2 * kPeriod);
  const auto work = [&](const Pacer::Expired&) {
    worked = true;
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonCode(pacer_.Run("dns:second", work)), "round-overran");
  EXPECT_EQ(clock_.now(), 4 * kPeriod);
  worked = false;
  EXPECT_TRUE(pacer_.Run("dns:second", work).ok());
  EXPECT_TRUE(worked);
  EXPECT_EQ(clock_.now(), 5 * kPeriod);
}

TEST_F(PacerTest, WhatTheWorkThrowsIsThrownAtTheTick) {
  const auto work = [](const Pacer::Expired&) -> absl::Status {
    throw std::bad_alloc();
  };
  EXPECT_THROW(static_cast<void>(pacer_.Run("dns:analyst", work)),
               std::bad_alloc);
  EXPECT_EQ(clock_.now(), kPeriod);
  EXPECT_TRUE(Run(clock_.now(), nanoseconds(0)).ok());
}

TEST_F(PacerTest, TheWorkIsToldOnceItsTimeIsOver) {
  EXPECT_EQ(ReasonCode(pacer_.Run("dns:analyst",
                                  [&](const Pacer::Expired& expired) {
                                    EXPECT_FALSE(expired());
                                    clock_.Pass(kPeriod);
                                    EXPECT_FALSE(expired());
                                    clock_.Pass(nanoseconds(1));
                                    EXPECT_TRUE(expired());
                                    return absl::OkStatus();
                                  })),
            "round-overran");
}

TEST_F(PacerTest, WhatTheWorkRefusesIsReturnedAtTheTickToo) {
  const absl::Status status =
      pacer_.Run("dns:analyst", [](const Pacer::Expired&) {
        return Refusal(absl::StatusCode::kInternal, "sums-overflow", "full.");
      });
  EXPECT_EQ(ReasonCode(status), "sums-overflow");
  EXPECT_EQ(clock_.now(), kPeriod);
}

TEST_F(PacerTest, AnIdentityMayOverrunAFixedNumberOfTimes) {
  for (int i = 0; i < kMostOverruns; ++i)
    EXPECT_EQ(ReasonCode(Run(clock_.now(), 3 * kPeriod)), "round-overran");
  bool worked = false;
  const auto work = [&](const Pacer::Expired&) {
    worked = true;
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonCode(pacer_.Run("dns:analyst", work)), "overruns-exhausted");
  EXPECT_FALSE(worked);
  EXPECT_TRUE(pacer_.Run("dns:second", work).ok());
}

TEST_F(PacerTest, ARepliesTickIsTheFirstAfterNow) {
  pacer_.AwaitTick();
  EXPECT_EQ(clock_.now(), kPeriod);
  pacer_.AwaitTick();
  EXPECT_EQ(clock_.now(), 2 * kPeriod);
  clock_.Pass(milliseconds(9));
  pacer_.AwaitTick();
  EXPECT_EQ(clock_.now(), 3 * kPeriod);
}

TEST_F(PacerTest, SlotsFollowOneAnother) {
  std::atomic<int> inside = 0, most = 0;
  const auto work = [&](const Pacer::Expired&) {
    most = std::max<int>(most, ++inside);
    std::this_thread::yield();
    --inside;
    return absl::OkStatus();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k)
        EXPECT_TRUE(pacer_.Run("dns:analyst", work).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(clock_.now(), 200 * kPeriod);
}

TEST(SteadyPaceClock, SleepsUntilTheInstantAndNotLess) {
  SteadyPaceClock clock;
  for (const nanoseconds time :
       {nanoseconds(-5), nanoseconds(1000), nanoseconds(milliseconds(2))}) {
    const nanoseconds instant = clock.Now() + time;
    clock.SleepUntil(instant);
    EXPECT_GE(clock.Now(), instant);
  }
}

}  // namespace
}  // namespace dpnmf::curator
