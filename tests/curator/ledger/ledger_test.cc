#include "curator/ledger/ledger.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "curator/ledger/ledger_row.h"
#include "gmock/gmock.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

using testing::HasSubstr;

TEST(Ledger, ANewLedgerHoldsItsFirstRowAlone) {
  const LedgerHome home;
  home.Open();
  const auto rows = Ledger::ReadRows(home.options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].kind, RowKind::kGenesis);
  EXPECT_EQ((*rows)[0].detail.size(), 32u);
  EXPECT_EQ((*rows)[0].unix_seconds, 1'700'000'000);
}

TEST(Ledger, TwoLedgersHaveDifferentNames) {
  const LedgerHome one, two;
  one.Open();
  two.Open();
  EXPECT_NE(Ledger::ReadRows(one.options)->at(0).detail,
            Ledger::ReadRows(two.options)->at(0).detail);
}

TEST(Ledger, DeclaresThePopulationWithTheLargestCostOfItsPolicy) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const Position position = ledger->PositionOf("people").value();
  EXPECT_EQ(position.cap, CapOf(PolicyFor("people")));
  EXPECT_EQ(position.left, position.cap);
  EXPECT_EQ(position.charged, MuSquared());
  EXPECT_EQ(position.reserved, MuSquared());
  EXPECT_EQ(position.row_count, 2u);
  EXPECT_EQ(ledger->Policy("people").value(), PolicyFor("people"));
}

TEST(Ledger, TheSamePolicyAgainAppendsNothing) {
  const LedgerHome home;
  home.OpenWithPeople();
  const auto ledger = home.Open();
  EXPECT_TRUE(ledger->DeclarePopulation(PolicyFor("people")).ok());
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 2u);
}

TEST(Ledger, RefusesToChangeAPolicy) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  PopulationPolicy other = PolicyFor("people");
  other.epsilon = 2;
  EXPECT_CODE(ledger->DeclarePopulation(other), "population-differs");
  other = PolicyFor("people");
  other.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_CODE(ledger->DeclarePopulation(other), "population-differs");
  other.adjacency = Adjacency::kOneRating;
  EXPECT_CODE(ledger->DeclarePopulation(other), "population-differs");
  EXPECT_EQ(ledger->Policy("people").value(), PolicyFor("people"));
}

TEST(Ledger, RefusesAPolicyOutOfRange) {
  const LedgerHome home;
  const auto ledger = home.Open();
  PopulationPolicy policy = PolicyFor("people");
  policy.epsilon = std::numeric_limits<double>::quiet_NaN();
  EXPECT_CODE(ledger->DeclarePopulation(policy), "epsilon-out-of-range");
  policy = PolicyFor("people");
  policy.delta = 1;
  EXPECT_CODE(ledger->DeclarePopulation(policy), "delta-out-of-range");
  EXPECT_CODE(ledger->DeclarePopulation(PolicyFor("")), "population-malformed");
  EXPECT_CODE(ledger->Policy("people"), "population-unknown");
}

TEST(Ledger, EveryConversionKeepsItsPolicyOverARestart) {
  const LedgerHome home;
  const PopulationPolicy policies[] = {
      {"a", Adjacency::kReplaceOne, Conversion::kRdp, 0.1, 1e-5},
      {"b", Adjacency::kAddRemoveOne, Conversion::kRdpOptimal, 1.0 / 3, 1e-9},
      {"c", Adjacency::kReplaceOne, Conversion::kGaussian, 20, 0.1},
      {"d", Adjacency::kReplaceOne, Conversion::kGaussian, 1e-3, 1e-12},
      {"e", Adjacency::kOneRating, Conversion::kRdp, 2, 1e-6}};
  {
    const auto ledger = home.Open();
    for (const auto& policy : policies)
      ASSERT_TRUE(ledger->DeclarePopulation(policy).ok());
  }
  const auto ledger = home.Open();
  for (const auto& policy : policies) {
    EXPECT_EQ(ledger->Policy(policy.population).value(), policy);
    EXPECT_EQ(ledger->PositionOf(policy.population)->cap, CapOf(policy));
  }
}

// Rows stay for ever: who opens and closes without end is refused, and others
// are not.
TEST(Ledger, AnIdentityMayHaveSoManyRunsWithoutACharge) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const auto open = [&](const std::string& run, const std::string& identity) {
    RunOpening opening = OpeningFor(run);
    opening.identity = identity;
    opening.most_uncharged_runs = 3;
    PriceRounds(&opening, Fraction(CapOf(PolicyFor("people")), 100));
    return ledger->OpenRun(opening).status();
  };
  const std::string own = OpeningFor("1").identity;
  ASSERT_TRUE(open("1", own).ok());
  ASSERT_TRUE(open("2", own).ok());
  ASSERT_TRUE(open("3", own).ok());
  ASSERT_TRUE(ledger->CloseRun(own, OpeningFor("2").run_id).ok());
  const std::uint64_t rows = ledger->PositionOf("people")->row_count;
  EXPECT_CODE(open("4", own), "too-many-uncharged-runs");
  EXPECT_EQ(ledger->PositionOf("people")->row_count, rows);
  EXPECT_TRUE(open("5", "another").ok());
  EXPECT_TRUE(open("1", own).ok()) << "an open run goes on";
  // A charge makes room: its run counts no more, and it allows one itself.
  RunOpening opening = OpeningFor("1");
  PriceRounds(&opening, Fraction(CapOf(PolicyFor("people")), 100));
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
  EXPECT_TRUE(open("6", own).ok());
  EXPECT_TRUE(open("7", own).ok());
  EXPECT_CODE(open("8", own), "too-many-uncharged-runs");
}

TEST(Ledger, OpeningARunReservesItsWholeCost) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  const OpenedRun opened = ledger->OpenRun(opening).value();
  EXPECT_EQ(opened.next_round, 1u);
  EXPECT_FALSE(opened.was_open);
  const Position position = ledger->PositionOf("people").value();
  EXPECT_EQ(position.reserved, *MuSquared::Multiply(CostOfRound(opening), 4));
  EXPECT_EQ(position.charged, MuSquared());
}

TEST(Ledger, TheSameRunAgainGoesOnAtItsNextRound) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
  const Position before = ledger->PositionOf("people").value();
  const OpenedRun again = ledger->OpenRun(opening).value();
  EXPECT_EQ(again.next_round, 2u);
  EXPECT_TRUE(again.was_open);
  EXPECT_EQ(ledger->PositionOf("people")->row_count, before.row_count);
  EXPECT_EQ(ledger->PositionOf("people")->reserved, before.reserved);
}

TEST(Ledger, RefusesAnotherRequestUnderTheSameRunId) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  const std::vector<std::function<void(RunOpening*)>> changes = {
      [](RunOpening* o) { o->identity = "dns:other"; },
      [](RunOpening* o) { o->dataset = "faces"; },
      [](RunOpening* o) { o->mechanism = "gradient"; },
      [](RunOpening* o) { o->parameters_hash = DigestOfNumber(8); },
      [](RunOpening* o) { o->rounds = 3; },
      [](RunOpening* o) { o->population = "others"; },
      [](RunOpening* o) { o->cost = MuSquared::FromUnits(5); }};
  for (const auto& change : changes) {
    RunOpening other = opening;
    change(&other);
    EXPECT_CODE(ledger->OpenRun(other), "run-differs");
  }
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 3u);
}

TEST(Ledger, RefusesARunOfAnUnknownPopulation) {
  const LedgerHome home;
  const auto ledger = home.Open();
  EXPECT_CODE(ledger->OpenRun(OpeningFor("run")), "population-unknown");
  EXPECT_CODE(ledger->PositionOf("people"), "population-unknown");
  EXPECT_CODE(ledger->PositionOf("people", "dns:analyst"),
              "population-unknown");
  EXPECT_CODE(ledger->ChargesOf("people", "dns:analyst", 0, 9),
              "population-unknown");
}

TEST(Ledger, FillsTheCapToTheLastUnitAndNotBeyond) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening whole = OpeningFor("whole", 1);
  whole.cost = CapOf(PolicyFor("people"));
  RunOpening beyond = whole;
  beyond.run_id = "beyond";
  beyond.cost = MuSquared::FromUnits(whole.cost.units() + 1);
  EXPECT_CODE(ledger->OpenRun(beyond), "budget-exhausted");
  EXPECT_TRUE(ledger->OpenRun(whole).ok());
  RunOpening tiny = OpeningFor("tiny", 1);
  tiny.cost = MuSquared::FromUnits(1);
  EXPECT_CODE(ledger->OpenRun(tiny), "budget-exhausted");
}

// The largest costs there are, also beside a reservation: no sum wraps around.
TEST(Ledger, RefusesACostThatNoBudgetHolds) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening opening = OpeningFor("run", 100'000);
  for (const std::uint64_t rows : {2u, 3u}) {
    for (const Uint128 units :
         {(static_cast<Uint128>(1) << 120) - 1, ~Uint128{0}}) {
      opening.cost = MuSquared::FromUnits(units);
      EXPECT_CODE(ledger->OpenRun(opening), "budget-exhausted");
    }
    EXPECT_EQ(ledger->PositionOf("people")->row_count, rows);
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("reserved")).ok());
  }
}

TEST(Ledger, RefusesARunThatCostsNothing) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening opening = OpeningFor("run");
  opening.cost = MuSquared();
  EXPECT_EQ(ledger->OpenRun(opening).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 2u);
}

TEST(Ledger, SaysAskedSpentReservedAndTheLargestRunInOneSentence) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening first = OpeningFor("first", 4, 2);
  ASSERT_TRUE(ledger->OpenRun(first).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(first, 1)).ok());
  RunOpening whole = OpeningFor("whole", 1, 1);
  const absl::Status status = ledger->OpenRun(whole).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  // By hand: epsilon(rho) = rho + 2 sqrt(rho ln 1e5); rho of the cap is
  // 0.0208199, an eighth charged, three eighths reserved.
  EXPECT_EQ(
      std::string(status.message()),
      "The run exceeds the budget of population `people`: asked epsilon 1, "
      "spent 0.3488, spent and reserved 0.7028, largest run 0.7027, cap "
      "1 (rdp at delta 1e-05); ask for at most the largest run, or wait "
      "until open runs end.");
}

TEST(Ledger, CapsWhatOneIdentityMayUse) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening opening = OpeningFor("first", 4, 8);
  opening.identity_cap = Fraction(CapOf(PolicyFor("people")), 4);
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  opening.run_id = "second";
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  opening.run_id = "third";
  EXPECT_CODE(ledger->OpenRun(opening), "identity-budget-exhausted");
  EXPECT_THAT(ledger->OpenRun(opening).status().message(),
              HasSubstr("`dns:analyst` on population `people`"));
  opening.identity = "dns:other";
  EXPECT_TRUE(ledger->OpenRun(opening).ok());
}

TEST(Ledger, ARefusalNamesTheLargestRunThatFitsAllBudgets) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const MuSquared cap = CapOf(PolicyFor("people"));
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("first", 1, 2)).ok());
  // Half the cap is free, an eighth of it for this identity.
  RunOpening opening = OpeningFor("second", 1, 1);
  opening.identity = "dns:other";
  opening.identity_cap = Fraction(cap, 8);
  const absl::Status refusal = ledger->OpenRun(opening).status();
  EXPECT_EQ(ReasonCode(refusal), "budget-exhausted");
  const std::string text(refusal.message());
  constexpr std::string_view kLargest = "largest run ";
  const double largest = std::strtod(
      text.c_str() + text.find(kLargest) + kLargest.size(), nullptr);
  opening.cost = LargestCost(Conversion::kRdp, largest, 1e-5).value();
  EXPECT_TRUE(ledger->OpenRun(opening).ok()) << text;
  EXPECT_GT(opening.cost, Fraction(cap, 9)) << text;
}

TEST(Ledger, ChargesRoundsInOrder) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run", 2);
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 0)), "round-out-of-order");
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 2)), "round-out-of-order");
  const ChargedRow first = ledger->ChargeRound(ChargeFor(opening, 1)).value();
  EXPECT_TRUE(first.is_new);
  EXPECT_EQ(first.sequence, 4u);
  EXPECT_EQ(first.cost, CostOfRound(opening));
  EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 2)).value().is_new);
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 3)), "round-out-of-order");
  const Position position = ledger->PositionOf("people").value();
  EXPECT_EQ(position.charged, *MuSquared::Multiply(CostOfRound(opening), 2));
  EXPECT_EQ(position.reserved, MuSquared());
}

TEST(Ledger, TheSameRequestAgainIsNotChargedAgain) {
  const LedgerHome home;
  auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  const ChargedRow first = ledger->ChargeRound(ChargeFor(opening, 1)).value();
  const Position before = ledger->PositionOf("people").value();
  for (int restart = 0; restart < 2; ++restart) {
    const ChargedRow again = ledger->ChargeRound(ChargeFor(opening, 1)).value();
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(again.hash, first.hash);
    EXPECT_EQ(again.sequence, first.sequence);
    EXPECT_EQ(again.cost, first.cost);
    EXPECT_EQ(ledger->PositionOf("people")->head, before.head);
    EXPECT_EQ(ledger->PositionOf("people")->charged, before.charged);
    ledger.reset();
    ledger = home.Open();
  }
}

TEST(Ledger, TheSameRequestIsFoundAfterTheRunWasClosed) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
  ASSERT_TRUE(ledger->CloseRun("dns:analyst", "run").ok());
  EXPECT_FALSE(ledger->ChargeRound(ChargeFor(opening, 1)).value().is_new);
  EXPECT_TRUE(ledger->FindCharge(ChargeFor(opening, 1)).value().has_value());
  EXPECT_CODE(ledger->ChargeRound(ChargeFor(opening, 2)), "run-closed");
  EXPECT_CODE(ledger->FindCharge(ChargeFor(opening, 2)), "run-closed");
}

TEST(Ledger, RefusesAnotherRequestForAChargedRound) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
  Charge other = ChargeFor(opening, 1);
  other.request_hash = DigestOfNumber(99);
  EXPECT_CODE(ledger->ChargeRound(other), "round-differs");
  EXPECT_CODE(ledger->FindCharge(other), "round-differs");
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 4u);
}

TEST(Ledger, DoesNotShowAnotherIdentityThatARunExists) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  Charge other = ChargeFor(opening, 1);
  other.identity = "dns:other";
  Charge unknown = ChargeFor(opening, 1);
  unknown.run_id = "none";
  EXPECT_EQ(ledger->ChargeRound(other).status(),
            ledger->ChargeRound(unknown).status());
  EXPECT_CODE(ledger->ChargeRound(other), "run-unknown");
  EXPECT_CODE(ledger->FindCharge(other), "run-unknown");
  EXPECT_CODE(ledger->CloseRun("dns:other", "run"), "run-unknown");
}

// Seven units over three rounds, and none of them alike.
TEST(Ledger, RoundsOfOneRunMayCostUnequally) {
  const LedgerHome home;
  RunOpening opening = OpeningFor("run", 3);
  opening.cost = MuSquared::FromUnits(7);
  {
    const auto ledger = home.OpenWithPeople();
    ASSERT_TRUE(ledger->OpenRun(opening).ok());
    EXPECT_EQ(ledger->PositionOf("people")->reserved, MuSquared::FromUnits(7));
    for (const std::uint32_t round : {1u, 2u}) {
      Charge charge = ChargeFor(opening, round);
      charge.cost = MuSquared::FromUnits(round);
      ASSERT_TRUE(ledger->ChargeRound(charge).ok());
    }
    Charge beyond = ChargeFor(opening, 3);
    beyond.cost = MuSquared::FromUnits(5);
    EXPECT_CODE(ledger->ChargeRound(beyond), "charge-over-reservation");
  }
  const auto again = home.OpenWithPeople();
  EXPECT_EQ(*again->CloseRun(opening.identity, "run"), MuSquared::FromUnits(4));
  EXPECT_EQ(again->PositionOf("people")->charged, MuSquared::FromUnits(3));
}

TEST(Ledger, RefusesAChargeAboveTheReservation) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run", 2);
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  Charge charge = ChargeFor(opening, 1);
  charge.cost = MuSquared::FromUnits(2 * CostOfRound(opening).units() + 1);
  const absl::Status status = ledger->ChargeRound(charge).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ReasonCode(status), "charge-over-reservation");
  charge.cost = MuSquared();
  EXPECT_EQ(ledger->ChargeRound(charge).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(ledger->PositionOf("people")->charged, MuSquared());
}

TEST(Ledger, FindChargeChargesNothing) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  Charge charge = ChargeFor(opening, 1);
  charge.cost = MuSquared();
  EXPECT_FALSE(ledger->FindCharge(charge).value().has_value());
  EXPECT_CODE(ledger->FindCharge(ChargeFor(opening, 2)), "round-out-of-order");
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 3u);
}

TEST(Ledger, ClosingReturnsWhatWasNotCharged) {
  const LedgerHome home;
  auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run", 4);
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
  const MuSquared returned = ledger->CloseRun("dns:analyst", "run").value();
  EXPECT_EQ(returned, *MuSquared::Multiply(CostOfRound(opening), 3));
  const Position position = ledger->PositionOf("people").value();
  EXPECT_EQ(position.reserved, MuSquared());
  EXPECT_EQ(position.charged, CostOfRound(opening));
  EXPECT_EQ(position.left,
            *MuSquared::Subtract(position.cap, CostOfRound(opening)));
  ledger.reset();
  ledger = home.Open();
  EXPECT_EQ(ledger->CloseRun("dns:analyst", "run").value(), returned);
  EXPECT_EQ(ledger->PositionOf("people")->row_count, position.row_count);
  EXPECT_CODE(ledger->OpenRun(opening), "run-closed");
}

TEST(Ledger, ListsTheChargesOfOneIdentityInPages) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening mine = OpeningFor("mine", 5, 4),
             theirs = OpeningFor("theirs", 5, 4);
  theirs.identity = "dns:other";
  ASSERT_TRUE(ledger->OpenRun(mine).ok());
  ASSERT_TRUE(ledger->OpenRun(theirs).ok());
  for (std::uint32_t round = 1; round <= 5; ++round) {
    ASSERT_TRUE(ledger->ChargeRound(ChargeFor(theirs, round)).ok());
    ASSERT_TRUE(ledger->ChargeRound(ChargeFor(mine, round)).ok());
  }
  std::vector<std::uint32_t> rounds;
  std::uint64_t after = 0;
  for (;;) {
    const auto page = ledger->ChargesOf("people", "dns:analyst", after, 2);
    ASSERT_TRUE(page.ok());
    if (page->empty()) break;
    EXPECT_LE(page->size(), 2u);
    for (const LedgerRow& row : *page) {
      EXPECT_EQ(row.run_id, "mine");
      rounds.push_back(row.round);
      after = row.sequence;
    }
  }
  EXPECT_THAT(rounds, testing::ElementsAre(1, 2, 3, 4, 5));
  const auto position = ledger->PositionOf("people", "dns:analyst").value();
  EXPECT_EQ(position.charge_count, 5u);
  EXPECT_EQ(position.charged, *MuSquared::Multiply(CostOfRound(mine), 5));
  EXPECT_EQ(ledger->PositionOf("people", "dns:nobody")->charge_count, 0u);
}

TEST(Ledger, TextOfAnyBytesSurvives) {
  const LedgerHome home;
  RunOpening opening = OpeningFor(std::string("r\0'\"\n\xff", 6));
  {
    const auto ledger = home.OpenWithPeople();
    ASSERT_TRUE(ledger->OpenRun(opening).ok());
  }
  EXPECT_TRUE(home.Open()->OpenRun(opening).value().was_open);
}

TEST(Ledger, VerifyAndAuditSayWhatOpenWouldWhileAServerRuns) {
  const LedgerHome home;
  EXPECT_EQ(home.VerifyCode(), "ledger-missing");
  const auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->OpenRun(OpeningFor("run")).ok());
  const auto verified = Ledger::Verify(home.options);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->row_count, 3u);
  EXPECT_EQ(verified->head, ledger->PositionOf("people")->head);
  const auto audit = Ledger::Audit(home.options);
  ASSERT_TRUE(audit.ok());
  EXPECT_EQ(audit->anchor, AnchorState::kAgrees);
  ASSERT_EQ(audit->policies.size(), 1u);
  EXPECT_EQ(audit->policies[0], PolicyFor("people"));
  EXPECT_EQ(audit->positions[0].reserved,
            ledger->PositionOf("people")->reserved);
}

TEST(Ledger, VerifyLeavesTheFilesAsTheyAre) {
  const LedgerHome home;
  home.OpenWithPeople();
  const auto before = Ledger::ReadRows(home.options).value();
  ASSERT_TRUE(Ledger::Verify(home.options).ok());
  EXPECT_EQ(Ledger::ReadRows(home.options).value(), before);
  EXPECT_NE(home.Open(), nullptr);
}

// Threads that together ask for far more than the cap.
TEST(Ledger, StartsFromManyThreadsNeverExceedTheCap) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  constexpr std::uint32_t kFit = 10;
  constexpr int kThreads = 8, kRunsEach = 10;
  std::atomic<int> accepted{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int r = 0; r < kRunsEach; ++r) {
        const auto opening = OpeningFor(
            "run-" + std::to_string(t) + "-" + std::to_string(r), 1, kFit);
        const auto opened = ledger->OpenRun(opening);
        if (!opened.ok()) {
          EXPECT_CODE(opened, "budget-exhausted");
          ++refused;
          continue;
        }
        ++accepted;
        EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, static_cast<int>(kFit));
  EXPECT_EQ(refused, kThreads * kRunsEach - static_cast<int>(kFit));
  const Position position = ledger->PositionOf("people").value();
  EXPECT_LE(position.charged, position.cap);
  EXPECT_TRUE(Ledger::Verify(home.options).ok());
}

TEST(Ledger, ChargesOneRoundOnceFromManyThreads) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  std::atomic<int> charged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const auto row = ledger->ChargeRound(ChargeFor(opening, 1));
      ASSERT_TRUE(row.ok());
      if (row->is_new) ++charged;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(charged, 1);
  EXPECT_EQ(ledger->PositionOf("people")->charged, CostOfRound(opening));
}

TablePublication PublicationOf(std::uint64_t label,
                               const std::string& population = "people") {
  return {population, DigestOfNumber(label), "Ann Operator"};
}

TEST(LedgerPublication, AVoidGuaranteeSaysSinceWhenAndByWhom) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  EXPECT_EQ(ledger->PositionOf("people")->void_since, std::nullopt);
  ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(1)).ok());
  EXPECT_EQ(ledger->PositionOf("people")->void_since, 1'700'000'000);
  const LedgerRow row = ledger->RowAt(3).value();
  EXPECT_EQ(row.kind, RowKind::kVoid);
  EXPECT_EQ(row.population, "people");
  EXPECT_EQ(row.detail, "Ann Operator");
  EXPECT_EQ(row.request_hash, DigestOfNumber(1));
  EXPECT_EQ(row.cost, MuSquared());
}

TEST(LedgerPublication, NothingTakesAVoidGuaranteeBack) {
  LedgerHome home;
  {
    const auto ledger = home.OpenWithPeople();
    ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(1)).ok());
  }
  home.options.unix_seconds = [] { return std::int64_t{1'800'000'000}; };
  const auto ledger = home.OpenWithPeople();  // declared again
  ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(2)).ok());
  ASSERT_TRUE(ledger->AcceptOverlap(PublicationOf(3)).ok());
  EXPECT_EQ(ledger->PositionOf("people")->void_since, 1'700'000'000);
  EXPECT_EQ(Ledger::Audit(home.options)->positions.at(0).void_since,
            1'700'000'000);
}

TEST(LedgerPublication, ConcernsOnePopulationAlone) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->DeclarePopulation(PolicyFor("others")).ok());
  ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(1, "others")).ok());
  EXPECT_EQ(ledger->PositionOf("people")->void_since, std::nullopt);
  EXPECT_EQ(ledger->PositionOf("others")->void_since, 1'700'000'000);
  EXPECT_EQ(ledger->Populations(),
            (std::vector<std::string>{"people", "others"}));
}

TEST(LedgerPublication, TheSameOneAgainAppendsNothing) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(1)).ok());
    ASSERT_TRUE(ledger->AcceptOverlap(PublicationOf(1)).ok());
  }
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 4u);
  ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(2)).ok());
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 5u);
}

TEST(LedgerPublication, AnAcceptedOverlapLeavesTheGuarantee) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  ASSERT_TRUE(ledger->AcceptOverlap(PublicationOf(1)).ok());
  EXPECT_EQ(ledger->RowAt(3)->kind, RowKind::kOverlap);
  EXPECT_EQ(ledger->PositionOf("people")->void_since, std::nullopt);
}

TEST(LedgerPublication, RefusesAnUnknownPopulationAndANamelessApprover) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  EXPECT_CODE(ledger->VoidGuarantee(PublicationOf(1, "strangers")),
              "population-unknown");
  for (const std::string& approver :
       {std::string(), std::string("two\nlines"), std::string("\xff"),
        std::string(kLongestApprover + 1, 'x')}) {
    TablePublication publication = PublicationOf(1);
    publication.approver = approver;
    EXPECT_CODE(ledger->VoidGuarantee(publication), "approver-malformed");
    EXPECT_CODE(ledger->AcceptOverlap(publication), "approver-malformed");
  }
  EXPECT_EQ(ledger->PositionOf("people")->row_count, 2u);
}

// Rounds after the publication are charged as before; VoidBefore tells of it.
TEST(LedgerPublication, RunsGoOnOnAVoidPopulation) {
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  const RunOpening opening = OpeningFor("run");
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  const ChargedRow before = ledger->ChargeRound(ChargeFor(opening, 1)).value();
  ASSERT_TRUE(ledger->VoidGuarantee(PublicationOf(1)).ok());
  const ChargedRow after = ledger->ChargeRound(ChargeFor(opening, 2)).value();
  EXPECT_EQ(ledger->VoidBefore("people", before.sequence), std::nullopt);
  EXPECT_EQ(ledger->VoidBefore("people", after.sequence), 1'700'000'000);
  EXPECT_EQ(ledger->VoidBefore("strangers", after.sequence), std::nullopt);
  EXPECT_EQ(ledger->PositionOf("people")->charged,
            MuSquared::Multiply(CostOfRound(opening), 2));
  EXPECT_TRUE(ledger->CloseRun(opening.identity, opening.run_id).ok());
}

// Every field stands in the hash, and no field can pass for its neighbour.
TEST(LedgerRow, TheHashDependsOnEveryFieldAndOnTheirBounds) {
  LedgerRow row;
  row.population = "ab";
  row.identity = "c";
  const std::vector<std::function<void(LedgerRow*)>> changes = {
      [](LedgerRow* r) { r->sequence = 1; },
      [](LedgerRow* r) { r->kind = RowKind::kOpen; },
      [](LedgerRow* r) { r->unix_seconds = -1; },
      [](LedgerRow* r) {
        r->identity = r->population.back() + r->identity;
        r->population.pop_back();
      },
      [](LedgerRow* r) { r->identity.push_back('d'); },
      [](LedgerRow* r) { r->run_id.push_back('x'); },
      [](LedgerRow* r) { r->round = 1; },
      [](LedgerRow* r) { r->mechanism.push_back('x'); },
      [](LedgerRow* r) { r->dataset.push_back('x'); },
      [](LedgerRow* r) { r->request_hash[31] = 1; },
      [](LedgerRow* r) { r->cost = MuSquared::FromUnits(1); },
      [](LedgerRow* r) { r->detail.push_back('x'); },
      [](LedgerRow* r) { r->previous_hash[0] = 1; }};
  std::vector<Digest> hashes = {HashOf(row)};
  for (const auto& change : changes) {
    LedgerRow other = row;
    change(&other);
    hashes.push_back(HashOf(other));
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
  LedgerRow other = row;
  other.hash[0] = 1;
  EXPECT_EQ(HashOf(other), HashOf(row));
}

TEST(LedgerRow, PolicyTextReadsBackAndNothingElseDoes) {
  const PopulationPolicy policy{"p", Adjacency::kAddRemoveOne,
                                Conversion::kGaussian, 0.1, 1e-5};
  const std::string text = PolicyText(policy);
  EXPECT_EQ(text,
            "adjacency=add_remove_one conversion=gaussian epsilon=0.1 "
            "delta=1e-05");
  EXPECT_EQ(ParsePolicy("p", text), policy);
  for (const char* wrong :
       {"", "adjacency=add_remove_one conversion=gaussian epsilon=0.1",
        "adjacency=add_remove_one conversion=gaussian epsilon=0.10 delta=1e-05",
        "adjacency=add_remove_one conversion=gaussian epsilon=0.1 delta=1e-05 ",
        "adjacency=both conversion=gaussian epsilon=0.1 delta=1e-05",
        "epsilon=0.1 adjacency=add_remove_one conversion=gaussian delta=1e-05",
        "adjacency=add_remove_one conversion=gaussian epsilon=x delta=1e-05"}) {
    EXPECT_FALSE(ParsePolicy("p", wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace dpnmf::curator
