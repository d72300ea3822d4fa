// The gate when the process dies or the disk fails: charged at most once, drawn
// at most once.
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>

#include "common/base/failpoint.h"
#include "tests/curator/gate/gate_fixtures.h"
#include "tests/curator/ledger/crash.h"

namespace dpnmf::curator {
namespace {

// A release of round 1 in a child that stops at `place`.
void CrashReleasing(GateHome* home, const char* place) {
  home->gate.reset();
  home->ledger.reset();
  CrashAt(place, [&] {
    home->Reopen();
    (void)home->Release(1);
  });
  home->Reopen();
}

TEST(ReleaseGateCrash, BeforeTheCommitTheRoundIsReleasedAfterwards) {
  GateHome home;
  CrashReleasing(&home, "before-commit");
  EXPECT_EQ(home.Charged(), MuSquared());
  EXPECT_FALSE(home.Release(1).value().value().lost);
  EXPECT_EQ(home.Charged(), CostOfRound(home.run));
}

TEST(ReleaseGateCrash, Theorem9BetweenChargeAndStoreTheRowIsDead) {
  for (const char* place :
       {"after-commit", "after-anchor", "after-charge", "after-draw"}) {
    SCOPED_TRACE(place);
    int draws = 0;
    GateHome home([&](const std::vector<PartPlan>& parts, int threads) {
      ++draws;
      return ReleaseGateForTesting::Zeros(parts, threads);
    });
    CrashReleasing(&home, place);
    EXPECT_EQ(home.Charged(), CostOfRound(home.run));
    EXPECT_TRUE(home.Release(1).value().value().lost);
    EXPECT_TRUE(home.gate->Find(RequestFor(home.run, 1))->value().value().lost);
    EXPECT_EQ(draws, 0) << "the dead row was drawn again";
    EXPECT_EQ(home.Charged(), CostOfRound(home.run));
    EXPECT_FALSE(home.Release(2).value().value().lost);
    EXPECT_EQ(draws, 1);
    EXPECT_EQ(home.ledger->CloseRun("dns:analyst", "run").value(),
              *MuSquared::Multiply(CostOfRound(home.run), 2));
  }
}

TEST(ReleaseGateCrash, AfterTheStoreTheReleaseIsThere) {
  GateHome home;
  CrashReleasing(&home, "after-store");
  const auto released = home.Release(1).value();
  EXPECT_FALSE(released.value().lost);
  EXPECT_EQ(home.Charged(), CostOfRound(home.run));
  home.Reopen();
  EXPECT_EQ(home.Release(1).value().value().parts, released.value().parts);
}

// The release does not fit the disk: seen before the charge.
TEST(ReleaseGateDisk, AFullStoreChargesNothing) {
  GateHome home;
  home.gate.reset();
  home.ledger.reset();
  const int status = InChild([&] {
    home.Reopen();
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (ReasonCode(home.Release(1).status()) != "storage-failed") return 1;
    return home.Charged() == MuSquared() ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  home.Reopen();
  EXPECT_EQ(home.Charged(), MuSquared());
  EXPECT_FALSE(home.Release(1).value().value().lost);
}

// The store is lost after the charge: the round is dead, and the sentence is of
// the disk alone.
GateHome* g_home = nullptr;
void LoseTheStore(const char* place) {
  if (std::strcmp(place, "after-charge") == 0)
    std::filesystem::remove_all(g_home->Store());
}

TEST(ReleaseGateDisk, AStoreLostAfterTheChargeLosesTheRoundAlone) {
  GateHome home;
  g_home = &home;
  failpoint::on_reach = LoseTheStore;
  EXPECT_CODE(home.Release(1), "storage-failed");
  failpoint::on_reach = nullptr;
  home.Reopen();
  EXPECT_TRUE(home.Release(1).value().value().lost);
  EXPECT_EQ(home.Charged(), CostOfRound(home.run));
  EXPECT_FALSE(home.Release(2).value().value().lost);
}

}  // namespace
}  // namespace dpnmf::curator
