// State of the ledger after the process dies, the disk fails or a second
// process comes.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <new>

#include "SQLiteCpp/SQLiteCpp.h"
#include "common/base/failpoint.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger.h"
#include "gmock/gmock.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr int kCrashed = 77;
const char* g_crash_at = "";

void StopHere(const char* place) {
  if (std::strcmp(place, g_crash_at) == 0) ::_exit(kCrashed);
}

// Runs `body` in a child that stops at `place`.
void CrashAt(const char* place, const std::function<void()>& body) {
  const int status = InChild([&] {
    g_crash_at = place;
    failpoint::on_reach = StopHere;
    body();
    return 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), kCrashed) << place << " was not reached";
}

void BeginRun(const LedgerHome& home) {
  const auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("run")).ok());
}

void ChargeFirstRound(const LedgerHome& home) {
  const auto ledger = home.Open();
  (void)ledger->ChargeRound(ChargeFor(OpeningFor("run"), 1));
}

TEST(LedgerCrash, BeforeTheCommitNothingIsCharged) {
  const LedgerHome home;
  BeginRun(home);
  CrashAt("before-commit", [&] { ChargeFirstRound(home); });
  const auto ledger = home.Open();
  EXPECT_EQ(ledger->PositionOf("people")->charged, MuSquared());
  EXPECT_TRUE(
      ledger->ChargeRound(ChargeFor(OpeningFor("run"), 1)).value().is_new);
}

TEST(LedgerCrash, AfterTheCommitTheRoundIsChargedOnce) {
  for (const char* place : {"after-commit", "after-anchor"}) {
    SCOPED_TRACE(place);
    const LedgerHome home;
    BeginRun(home);
    CrashAt(place, [&] { ChargeFirstRound(home); });
    const auto ledger = home.Open();
    ASSERT_NE(ledger, nullptr);
    const RunOpening opening = OpeningFor("run");
    EXPECT_EQ(ledger->PositionOf("people")->charged, CostOfRound(opening));
    EXPECT_FALSE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
    EXPECT_EQ(ledger->PositionOf("people")->charged, CostOfRound(opening));
    EXPECT_EQ(ledger->OpenRun(opening)->next_round, 2u);
    EXPECT_EQ(ReadAnchor(home.options.anchor_directory).value()->row_count, 4u);
  }
}

TEST(LedgerCrash, TheAnchorStandsBeforeChargeRoundReturns) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("run")).ok());
  const ChargedRow row =
      ledger->ChargeRound(ChargeFor(OpeningFor("run"), 1)).value();
  const Anchor anchor = *ReadAnchor(home.options.anchor_directory).value();
  EXPECT_EQ(anchor.row_count, row.sequence);
  EXPECT_EQ(anchor.head, row.hash);
}

// The caller writes the table only after VoidGuarantee has returned.
TEST(LedgerCrash, AGuaranteeIsVoidFromTheCommitOn) {
  const TablePublication publication = {"people", DigestOfNumber(1), "Ann"};
  for (const char* place : {"before-commit", "after-commit", "after-anchor"}) {
    SCOPED_TRACE(place);
    const LedgerHome home;
    home.OpenWithPeople();
    CrashAt(place, [&] { (void)home.Open()->VoidGuarantee(publication); });
    const auto ledger = home.Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_EQ(ledger->PositionOf("people")->void_since.has_value(),
              std::string(place) != "before-commit");
    ASSERT_TRUE(ledger->VoidGuarantee(publication).ok());
    EXPECT_EQ(ledger->PositionOf("people")->row_count, 3u);
    EXPECT_EQ(ReadAnchor(home.options.anchor_directory).value()->row_count, 3u);
  }
}

// The data set is published only after AssignPartition has returned.
TEST(LedgerCrash, ADataSetIsInItsPartitionFromTheCommitOn) {
  PopulationPolicy policy = PolicyFor("people");
  policy.partitions = {"id", {"jan", "feb"}};
  for (const char* place : {"before-commit", "after-commit", "after-anchor"}) {
    SCOPED_TRACE(place);
    const LedgerHome home;
    ASSERT_TRUE(home.Open()->DeclarePopulation(policy).ok());
    const AssignedPartition jan = {"jan", DigestOfNumber(1)};
    CrashAt(place,
            [&] { (void)home.Open()->AssignPartition("people", "d", jan); });
    const auto ledger = home.Open();
    ASSERT_NE(ledger, nullptr);
    const bool assigned = std::string(place) != "before-commit";
    EXPECT_EQ(ledger->PartitionOf("people", "d").value(),
              assigned ? jan : AssignedPartition());
    ASSERT_TRUE(ledger->AssignPartition("people", "d", jan).ok());
    EXPECT_EQ(ledger->PositionOf("people")->row_count, 3u);
    EXPECT_EQ(ReadAnchor(home.options.anchor_directory).value()->row_count, 3u);
  }
}

TEST(LedgerCrash, AKilledProcessLeavesNoLockBehind) {
  const LedgerHome home;
  BeginRun(home);
  InChild([&] {
    const auto ledger = home.Open();
    (void)ledger->ChargeRound(ChargeFor(OpeningFor("run"), 1));
    ::raise(SIGKILL);
    return 0;
  });
  const auto ledger = home.Open();
  ASSERT_NE(ledger, nullptr);
  EXPECT_EQ(ledger->OpenRun(OpeningFor("run"))->next_round, 2u);
}

TEST(LedgerLock, RefusesASecondProcess) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const int status = InChild([&] {
    return home.OpenCode() == "data-dir-in-use" && home.VerifyCode().empty()
               ? 0
               : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(LedgerLock, RefusesASecondLedgerInTheSameProcess) {
  const LedgerHome home;
  auto ledger = home.OpenWithPeople();
  EXPECT_EQ(home.OpenCode(), "data-dir-in-use");
  ledger.reset();
  EXPECT_EQ(home.OpenCode(), "");
}

// A second Open must not touch what the first one holds.
TEST(LedgerLock, TheFirstGoesOnAfterTheSecondWasRefused) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  EXPECT_EQ(home.OpenCode(), "data-dir-in-use");
  EXPECT_TRUE(ledger->OpenRun(OpeningFor("run")).ok());
  EXPECT_EQ(home.VerifyCode(), "");
}

// No write may make a file longer than `bytes`: as on a full disk.
void LimitFileSize(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, RLIM_INFINITY};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(LedgerDisk, AFailedCommitStopsTheLedgerAndChargesNothing) {
  const LedgerHome home;
  BeginRun(home);
  const int status = InChild([&] {
    const auto ledger = home.Open();
    // The write-ahead log cannot take even its first frame.
    LimitFileSize(2048);
    const RunOpening opening = OpeningFor("run");
    const auto failed = ledger->ChargeRound(ChargeFor(opening, 1));
    if (ReasonCode(failed.status()) != "storage-failed") return 1;
    LimitFileSize(RLIM_INFINITY);
    // The outcome of the commit is unknown: nothing is answered any more.
    const std::string codes[] = {
        ReasonCode(ledger->ChargeRound(ChargeFor(opening, 1)).status()),
        ReasonCode(ledger->FindCharge(ChargeFor(opening, 1)).status()),
        ReasonCode(ledger->OpenRun(opening).status()),
        ReasonCode(ledger->CloseRun("dns:analyst", "run").status()),
        ReasonCode(ledger->PositionOf("people").status()),
        ReasonCode(ledger->PositionOf("people", "dns:analyst").status()),
        ReasonCode(ledger->ChargesOf("people", "dns:analyst", 0, 1).status()),
        ReasonCode(ledger->Policy("people").status()),
        ReasonCode(ledger->DeclarePopulation(PolicyFor("people")))};
    for (const std::string& code : codes)
      if (code != "storage-failed") return 2;
    return 0;
  });
  EXPECT_EQ(status, 0);
  const auto ledger = home.Open();
  ASSERT_NE(ledger, nullptr);
  EXPECT_EQ(ledger->PositionOf("people")->charged, MuSquared());
  EXPECT_TRUE(
      ledger->ChargeRound(ChargeFor(OpeningFor("run"), 1)).value().is_new);
}

// The anchor's volume fails before the commit: nothing is charged, and the
// ledger goes on as soon as the volume is back.
TEST(LedgerDisk, AFullAnchorVolumeChargesNothing) {
  const LedgerHome home;
  BeginRun(home);
  const auto ledger = home.Open();
  const std::string anchor = home.options.anchor_directory;
  std::filesystem::rename(anchor, anchor + ".away");
  std::ofstream(anchor) << "not a directory";
  const RunOpening opening = OpeningFor("run");
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 1)), "storage-failed");
  EXPECT_EQ(ledger->PositionOf("people")->charged, MuSquared());
  std::filesystem::remove(anchor);
  std::filesystem::rename(anchor + ".away", anchor);
  EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
  EXPECT_EQ(home.VerifyCode(), "");
}

// The anchor's directory is lost between staging and publishing.
std::string g_anchor_directory;
void LoseTheAnchor(const char* place) {
  if (std::strcmp(place, "after-commit") == 0)
    std::filesystem::remove_all(g_anchor_directory);
}

TEST(LedgerDisk, AnAnchorLostAfterTheCommitStopsTheLedger) {
  const LedgerHome home;
  BeginRun(home);
  auto ledger = home.Open();
  g_anchor_directory = home.options.anchor_directory;
  failpoint::on_reach = LoseTheAnchor;
  const RunOpening opening = OpeningFor("run");
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 1)), "storage-failed");
  failpoint::on_reach = nullptr;
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 1)), "storage-failed");
  ledger.reset();
  EXPECT_EQ(home.OpenCode(), "ledger-behind-anchor");
  ASSERT_TRUE(Ledger::AcceptAnchor(home.options).ok());
  ledger = home.Open();
  EXPECT_FALSE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
}

// Memory that runs out: the row is on the disk, and the book may have a part of
// it. No call is answered from that.
TEST(LedgerMemory, AnExceptionAfterTheCommitStopsTheLedger) {
  for (const char* place : {"before-commit", "after-commit", "after-anchor"}) {
    SCOPED_TRACE(place);
    const bool committed = std::strcmp(place, "before-commit") != 0;
    const LedgerHome home;
    const RunOpening opening = OpeningFor("run");
    {
      const auto ledger = home.OpenWithPeople();
      ASSERT_TRUE(ledger->OpenRun(opening).ok());
      g_crash_at = place;
      failpoint::on_reach = [](const char* at) {
        if (std::strcmp(at, g_crash_at) == 0) throw std::bad_alloc();
      };
      EXPECT_THROW((void)ledger->ChargeRound(ChargeFor(opening, 1)),
                   std::bad_alloc);
      failpoint::on_reach = nullptr;
      EXPECT_EQ(ReasonCode(ledger->ChargeRound(ChargeFor(opening, 1)).status()),
                committed ? "storage-failed" : "");
    }
    const auto ledger = home.Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_EQ(ledger->PositionOf("people")->charged, CostOfRound(opening));
    EXPECT_FALSE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
  }
}

// A writer that does not respect the lock holds SQLite's: nothing is charged,
// and nothing is unknown.
TEST(LedgerDisk, ABusyFileChargesNothing) {
  const LedgerHome home;
  BeginRun(home);
  const auto ledger = home.Open();
  const RunOpening opening = OpeningFor("run");
  {
    SQLite::Database other(home.options.directory + "/ledger.sqlite",
                           SQLite::OPEN_READWRITE);
    const SQLite::Transaction writing(other,
                                      SQLite::TransactionBehavior::IMMEDIATE);
    EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 1)), "storage-failed");
    EXPECT_EQ(ledger->PositionOf("people")->charged, MuSquared());
  }
  EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
}

}  // namespace
}  // namespace dpnmf::curator
