// Random histories: the ledger against a model that keeps every request and
// adds up afresh each time, with the ledger reopened at random points.
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "curator/ledger/ledger.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

// Reason codes, "" for OK; numbers in units of MuSquared.
class LedgerModel {
 public:
  struct Run {
    RunOpening opening;
    std::vector<Charge> charges;
    bool closed = false;

    Uint128 Reserved() const { return opening.cost.units(); }
    Uint128 Charged() const {
      Uint128 sum = 0;
      for (const Charge& charge : charges) sum += charge.cost.units();
      return sum;
    }
  };
  struct Totals {
    Uint128 charged = 0, reserved = 0;
    std::uint64_t charges = 0;
  };

  void Declare(const std::string& population, MuSquared cap) {
    caps_[population] = cap.units();
  }

  Totals TotalsOf(const std::string& population,
                  const std::string& identity = "") const {
    Totals totals;
    for (const auto& [id, run] : runs_) {
      if (run.opening.population != population) continue;
      if (!identity.empty() && run.opening.identity != identity) continue;
      totals.charged += run.Charged();
      totals.charges += run.charges.size();
      if (!run.closed) totals.reserved += run.Reserved() - run.Charged();
    }
    return totals;
  }

  std::string Open(const RunOpening& opening) {
    const auto found = runs_.find(opening.run_id);
    if (found != runs_.end()) {
      const RunOpening& o = found->second.opening;
      if (o.identity != opening.identity ||
          o.population != opening.population || o.rounds != opening.rounds ||
          o.cost != opening.cost ||
          o.parameters_hash != opening.parameters_hash) {
        return "run-differs";
      }
      return found->second.closed ? "run-closed" : "";
    }
    if (!caps_.contains(opening.population)) return "population-unknown";
    const Uint128 asked = opening.cost.units();
    const Totals all = TotalsOf(opening.population);
    if (all.charged + all.reserved + asked > caps_.at(opening.population))
      return "budget-exhausted";
    const Totals own = TotalsOf(opening.population, opening.identity);
    if (opening.identity_cap.has_value() &&
        own.charged + own.reserved + asked > opening.identity_cap->units()) {
      return "identity-budget-exhausted";
    }
    runs_[opening.run_id] = Run{opening, {}, false};
    ++rows;
    return "";
  }

  std::string Charge_(const Charge& charge, bool* is_new) {
    *is_new = false;
    const auto found = runs_.find(charge.run_id);
    if (found == runs_.end() ||
        found->second.opening.identity != charge.identity) {
      return "run-unknown";
    }
    Run& run = found->second;
    if (charge.round >= 1 && charge.round <= run.charges.size()) {
      return run.charges[charge.round - 1].request_hash == charge.request_hash
                 ? ""
                 : "round-differs";
    }
    if (run.closed) return "run-closed";
    if (charge.round != run.charges.size() + 1 ||
        charge.round > run.opening.rounds) {
      return "round-out-of-order";
    }
    if (run.Charged() + charge.cost.units() > run.Reserved())
      return "charge-over-reservation";
    run.charges.push_back(charge);
    *is_new = true;
    ++rows;
    return "";
  }

  std::string Close(const std::string& identity, const std::string& run_id,
                    Uint128* returned) {
    const auto found = runs_.find(run_id);
    if (found == runs_.end() || found->second.opening.identity != identity)
      return "run-unknown";
    if (!found->second.closed) ++rows;
    found->second.closed = true;
    *returned = found->second.Reserved() - found->second.Charged();
    return "";
  }

  std::size_t NextRound(const std::string& run_id) const {
    const auto found = runs_.find(run_id);
    return found == runs_.end() ? 1 : found->second.charges.size() + 1;
  }
  const std::map<std::string, Uint128>& caps() const { return caps_; }

  std::uint64_t rows = 0;

 private:
  std::map<std::string, Uint128> caps_;
  std::map<std::string, Run> runs_;
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    ledger_ = home_.Open();
    model_.rows = 1;
    for (const char* name : {"people", "others"}) {
      EXPECT_TRUE(ledger_->DeclarePopulation(PolicyFor(name)).ok());
      model_.Declare(name, CapOf(PolicyFor(name)));
      ++model_.rows;
    }
  }

  void Step() {
    switch (Below(20)) {
      case 0:
        ledger_.reset();
        ledger_ = home_.Open();
        break;
      case 1:
      case 2:
      case 3:
        OpenRun();
        break;
      case 4:
        CloseRun();
        break;
      default:
        ChargeRound();
    }
  }

  void ExpectTheSameTotals() {
    for (const auto& [population, cap] : model_.caps()) {
      const Position position = ledger_->PositionOf(population).value();
      const LedgerModel::Totals totals = model_.TotalsOf(population);
      ASSERT_TRUE(position.charged.units() == totals.charged);
      ASSERT_TRUE(position.reserved.units() == totals.reserved);
      ASSERT_TRUE(position.cap.units() == cap);
      ASSERT_TRUE(position.left.units() + totals.charged + totals.reserved ==
                  cap);
      ASSERT_EQ(position.row_count, model_.rows);
      for (int i = 0; i < 3; ++i)
        ExpectTheSameIdentity(population, Identity(i));
    }
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  static std::string Identity(std::uint64_t i) {
    return "dns:analyst-" + std::to_string(i);
  }
  std::string AnyRun() { return "run-" + std::to_string(Below(60)); }

  // The identity that mostly belongs to a run, and now and then another.
  std::string IdentityFor(const std::string& run_id) {
    const std::uint64_t own = std::hash<std::string>()(run_id) % 3;
    return Identity(Below(30) == 0 ? Below(3) : own);
  }

  void OpenRun() {
    RunOpening opening = OpeningFor(AnyRun());
    opening.identity = IdentityFor(opening.run_id);
    const std::uint64_t kind = std::hash<std::string>()(opening.run_id + "x");
    opening.population = kind % 2 == 0 ? "people" : "others";
    if (Below(40) == 0) opening.population = "strangers";
    opening.rounds = 1 + (kind / 2) % 6;
    PriceRounds(&opening,
                Fraction(CapOf(PolicyFor("people")), 7 + (kind / 16) % 200));
    if (Below(20) == 0) opening.parameters_hash = DigestOfNumber(Below(9));
    if (Below(3) == 0)
      opening.identity_cap = Fraction(CapOf(PolicyFor("people")), 3);
    const auto opened = ledger_->OpenRun(opening);
    const std::string expected = model_.Open(opening);
    ASSERT_EQ(ReasonCode(opened.status()), expected);
    if (expected.empty()) {
      ASSERT_EQ(opened->next_round, model_.NextRound(opening.run_id));
    }
    known_.push_back(opening);
  }

  void ChargeRound() {
    if (known_.empty()) return;
    const RunOpening& opening = known_[Below(known_.size())];
    Charge charge = ChargeFor(
        opening, static_cast<std::uint32_t>(model_.NextRound(opening.run_id)));
    charge.identity = IdentityFor(opening.run_id);
    if (Below(4) == 0) charge.round = static_cast<std::uint32_t>(Below(8));
    charge.request_hash = DigestOfNumber(charge.round + 100 * (Below(10) == 0));
    if (Below(20) == 0)
      charge.cost = MuSquared::FromUnits(charge.cost.units() * 3);
    if (Below(20) == 0)
      charge.cost = MuSquared::FromUnits(charge.cost.units() / 2 + 1);
    const auto charged = ledger_->ChargeRound(charge);
    bool is_new = false;
    ASSERT_EQ(ReasonCode(charged.status()), model_.Charge_(charge, &is_new));
    if (charged.ok()) {
      ASSERT_EQ(charged->is_new, is_new);
    }
  }

  void CloseRun() {
    const std::string run_id = AnyRun();
    const std::string identity = IdentityFor(run_id);
    const auto returned = ledger_->CloseRun(identity, run_id);
    Uint128 expected = 0;
    ASSERT_EQ(ReasonCode(returned.status()),
              model_.Close(identity, run_id, &expected));
    if (returned.ok()) {
      ASSERT_TRUE(returned->units() == expected);
    }
  }

  void ExpectTheSameIdentity(const std::string& population,
                             const std::string& identity) {
    const auto position = ledger_->PositionOf(population, identity).value();
    const LedgerModel::Totals totals = model_.TotalsOf(population, identity);
    ASSERT_TRUE(position.charged.units() == totals.charged);
    ASSERT_TRUE(position.reserved.units() == totals.reserved);
    ASSERT_EQ(position.charge_count, totals.charges);
    ASSERT_EQ(ledger_->ChargesOf(population, identity, 0, 1'000'000)->size(),
              totals.charges);
  }

  std::mt19937_64 random_;
  const LedgerHome home_;
  std::unique_ptr<Ledger> ledger_;
  LedgerModel model_;
  std::vector<RunOpening> known_;
};

TEST(LedgerModel,
     Theorem8RandomHistoriesNeverExceedTheCapAndAgreeWithTheModel) {
  const std::uint64_t first_seed = std::random_device()();
  constexpr int kHistories = 20, kSteps = 400;
  std::printf("first seed %llu\n", static_cast<unsigned long long>(first_seed));
  for (int h = 0; h < kHistories; ++h) {
    SCOPED_TRACE(first_seed + h);
    History history(first_seed + h);
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_NO_FATAL_FAILURE(history.Step());
      if (step % 5 == 0) {
        ASSERT_NO_FATAL_FAILURE(history.ExpectTheSameTotals());
      }
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator
