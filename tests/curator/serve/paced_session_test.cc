// Sessions and the service in paced mode, with a clock that the test moves.
#include <memory>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "tests/curator/serve/curator_fixture.h"
#include "tests/curator/serve/fake_pace_clock.h"
#include "tests/curator/serve/run_ids.h"

namespace dpnmf::curator {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kPeriod = milliseconds(10);

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
                    &locks_, 1, pacer},
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
  // The round can be asked again; H starts again, as in a run that never
  // overran.
  EXPECT_EQ(session.Round(1, w_).value().value().parts,
            other.Round(1, w_).value().value().parts);
}

// The work of a round that overran goes on after its session is gone: it has
// its own dictionary and its own H.
TEST_F(PacedSession, ASessionMayEndWhileItsWorkGoesOn) {
  auto pace = std::make_unique<Pacer>(kPeriod, &clock_);
  {
    auto w = std::make_unique<Eigen::MatrixXd>(w_);
    Session session = NewSession(pace.get());
    ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
    clock_.PassAtEachReading(kPeriod);
    EXPECT_EQ(ReasonCode(session.Round(1, *w).status()), "round-overran");
  }
  pace.reset();
  EXPECT_TRUE(Charged() == 0);
}

TEST_F(PacedSession, AReleaseThatIsStoredNeedsNoSlot) {
  Session session = NewSession(&pace_);
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  const auto first = session.Round(1, w_).value();
  clock_.PassAtEachReading(kPeriod);
  EXPECT_EQ(session.Round(1, w_).value().value().parts, first.value().parts);
}

// A call that waits for its tick holds a thread: it counts as open. Who is
// refused for that holds none.
TEST_F(PacedSession, ACallIsOpenUntilItsReplyLeaves) {
  limits_.calls = 1;
  Stop();
  Start();
  absl::Status second;
  clock_.before_sleep = [&] {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    second = FromGrpc(stub_->ListDatasets(&context, {}, &reply));
  };
  clock_.sleeps = 0;
  grpc::ClientContext context;
  v1::ListDatasetsReply reply;
  EXPECT_TRUE(stub_->ListDatasets(&context, {}, &reply).ok());
  EXPECT_EQ(ReasonCode(second), "too-many-calls");
  EXPECT_EQ(clock_.sleeps, 1);
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
