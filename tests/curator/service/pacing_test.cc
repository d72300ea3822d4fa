// Paced mode with a clock that the test moves.
#include "curator/pacing.h"

#include <atomic>
#include <thread>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/rpc/convert.h"
#include "common/rpc/matrix_stream.h"
#include "common/rpc/status.h"
#include "tests/curator/service/curator_fixture.h"

namespace dpnmf::curator {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kPeriod = milliseconds(10);
constexpr char kRun[] = "0123456789abcdef0123456789abcdef";
constexpr char kOtherRun[] = "fedcba9876543210fedcba9876543210";

class FakeClock final : public PaceClock {
 public:
  nanoseconds Now() const override {
    return nanoseconds(now_.fetch_add(each_reading_) + each_reading_);
  }
  void SleepUntil(nanoseconds instant) override {
    if (before_sleep) before_sleep();
    now_ = std::max<std::int64_t>(now_, instant.count());
    ++sleeps;
  }
  void Pass(nanoseconds time) { now_ += time.count(); }
  void PassAtEachReading(nanoseconds time) { each_reading_ = time.count(); }
  nanoseconds now() const { return nanoseconds(now_); }

  std::function<void()> before_sleep;
  std::atomic<int> sleeps = 0;

 private:
  mutable std::atomic<std::int64_t> now_ = 0;
  std::atomic<std::int64_t> each_reading_ = 0;
};

class PacerTest : public ::testing::Test {
 protected:
  // Begins a piece of work at `begin` that takes `duration`.
  absl::Status Run(nanoseconds begin, nanoseconds duration) {
    clock_.Pass(begin - clock_.now());
    return pacer_.Run("dns:analyst", [&](const Pacer::Expired&) {
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

// Noise off, so that sums can be compared.
class PacedSession : public CuratorFixture {
 protected:
  PacedSession() : CuratorFixture(Noise::kOff) {
    pacer_ = &pace_;
    Stop();
    Start();
  }
  Session NewSession(Pacer* pacer) {
    return Session({ledger_.get(), gate_.get(), &catalog_, access_.get(),
                    &seats_, 1, pacer},
                   {"dns:analyst"});
  }
  Uint128 Charged() {
    return ledger_->PositionOf("people").value().charged.units();
  }

  FakeClock clock_;
  Pacer pace_{kPeriod, &clock_};
  const Eigen::MatrixXd w_ = RandomDictionary(kFeatures, 3, 1);
};

TEST_F(PacedSession, ARoundIsChargedAtItsTickAndNotBefore) {
  Session session = NewSession(&pace_);
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  bool slept = false;
  clock_.before_sleep = [&] {
    slept = true;
    EXPECT_TRUE(Charged() == 0);
  };
  ASSERT_TRUE(session.Round(1, w_).ok());
  EXPECT_TRUE(slept);
  EXPECT_EQ(clock_.now(), kPeriod);
  EXPECT_FALSE(Charged() == 0);
}

TEST_F(PacedSession, AnOverrunCostsNothingAndLeavesNoTrace) {
  Session session = NewSession(&pace_), other = NewSession(nullptr);
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  ASSERT_TRUE(other.Open(kOtherRun, SmallRun()).ok());
  clock_.PassAtEachReading(kPeriod);
  EXPECT_EQ(ReasonCode(session.Round(1, w_).status()), "round-overran");
  EXPECT_TRUE(Charged() == 0);
  clock_.PassAtEachReading(nanoseconds(0));
  // The round can be asked again; H begins anew, as in a run that never
  // overran.
  EXPECT_EQ(session.Round(1, w_).value().value().parts,
            other.Round(1, w_).value().value().parts);
}

TEST_F(PacedSession, AReleaseThatIsStoredNeedsNoSlot) {
  Session session = NewSession(&pace_);
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  const auto first = session.Round(1, w_).value();
  clock_.PassAtEachReading(kPeriod);
  EXPECT_EQ(session.Round(1, w_).value().value().parts, first.value().parts);
}

// Every reply and every refusal is preceded by a tick of its own.
TEST_F(PacedSession, EveryReplyOfTheServiceLeavesAtATick) {
  const auto sleeps = [&] { return clock_.sleeps.exchange(0); };
  {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    ASSERT_TRUE(stub_->ListDatasets(&context, {}, &reply).ok());
    EXPECT_EQ(sleeps(), 1);
  }
  {
    grpc::ClientContext context;
    v1::GetLedgerRequest request;
    v1::GetLedgerReply reply;
    request.set_dataset("hidden");
    EXPECT_FALSE(stub_->GetLedger(&context, request, &reply).ok());
    EXPECT_EQ(sleeps(), 1);
  }
  grpc::ClientContext context;
  const auto stream = stub_->Train(&context);
  v1::TrainRequest request;
  v1::TrainReply reply;
  request.mutable_open()->set_run_id(kRun);
  *request.mutable_open()->mutable_parameters() = ToProto(SmallRun());
  ASSERT_TRUE(stream->Write(request) && stream->Read(&reply));
  EXPECT_TRUE(reply.has_opened());
  EXPECT_EQ(sleeps(), 1);
  request.mutable_round()->set_round(1);
  request.mutable_round()->mutable_shape()->set_rows(kFeatures);
  request.mutable_round()->mutable_shape()->set_columns(3);
  ASSERT_TRUE(stream->Write(request));
  WriteChunks(w_, [&](const v1::RealChunk& chunk) {
    *request.mutable_dictionary() = chunk;
    return stream->Write(request);
  });
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_TRUE(reply.has_release());
  EXPECT_EQ(sleeps(), 2);  // the charge's and the reply's
  while (!reply.has_end()) ASSERT_TRUE(stream->Read(&reply));
  request.mutable_round()->set_round(7);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(ReasonCode(FromGrpc(stream->Finish())), "round-out-of-range");
  EXPECT_EQ(sleeps(), 1);
}

}  // namespace
}  // namespace dpnmf::curator
