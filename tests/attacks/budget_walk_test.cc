// Attack: any calls in any order, by two identities, with crashes, lost
// releases and old copies of the volume between them. Every answer, every sum,
// every row and every draw must be what the model says (budget_model.h).
//
// DPNMF_ATTACK_SEED repeats a walk, DPNMF_ATTACK_TRIALS=n walks n times as
// often. Nothing here is chance but the choice of calls.
#include <filesystem>
#include <fstream>
#include <set>

#include "gtest/gtest.h"
#include "tests/attacks/attacker.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

struct WalkCounts {
  std::uint64_t calls = 0, releases = 0, repeats = 0, refusals = 0, crashes = 0,
                restarts = 0, lost = 0, rollbacks = 0;
  std::map<std::string, std::uint64_t> codes;
};

class Walk {
 public:
  Walk(std::uint64_t seed, WalkCounts* counts)
      : attacker_(&curator_, seed), counts_(counts) {
    curator_.Start();
    for (const PopulationPolicy& policy : curator_.policies())
      model_.Declare(policy.population, CapOf(policy).units());
  }

  void Step() {
    switch (attacker_.Below(48)) {
      case 0:
        return Restart();
      case 1:
        return Crash();
      case 2:
        return LoseARelease();
      case 3:
        return RollBack();
      case 4:
        return FillToTheLastUnit();
      case 5:
        return RunShortOfAUnit();
      case 6:
        return DeclareAnew();
      case 7:
        return CallWithoutAnAnchorDisk();
      default:
        return Call(NextAttempt());
    }
  }

  // The books and the files, entry by entry.
  void ExpectAgreement() {
    ASSERT_TRUE(curator_.running());
    ExpectTheSameTotals();
    const std::vector<FileRow> rows =
        ReadLedgerFile(curator_.LedgerDirectoryPath());
    ASSERT_EQ(rows.size(), model_.rows());
    ExpectChained(rows);
    const FileAnchor anchor = ReadAnchorFile(curator_.AnchorDirectoryPath());
    ASSERT_EQ(anchor.rows, rows.size());
    ASSERT_EQ(anchor.head, rows.back().hash);
    std::uint64_t charges = 0;
    for (const FileRow& row : rows) charges += row.kind == "charge";
    ASSERT_EQ(charges, releases_.size());
    for (const auto& [number, release] : releases_) {
      const FileRow& row = rows[number - 1];
      ASSERT_EQ(row.kind, "charge");
      ASSERT_EQ(row.run, release.attempt.run);
      ASSERT_EQ(row.identity, release.attempt.identity);
      ASSERT_EQ(row.round, release.attempt.round);
      ASSERT_EQ(UnitsText(row.cost), UnitsText(release.attempt.cost));
      if (!release.answer.row_hash.empty()) {
        ASSERT_EQ(row.hash, release.answer.row_hash);
      }
    }
  }

 private:
  struct Release {
    RoundAttempt attempt;
    Answer answer;  // the first; without a row hash if nobody got one
    bool dead = false;
  };

  Attempt NextAttempt() {
    for (const auto& [id, run] : model_.runs()) {
      attacker_.Learn(id, static_cast<std::uint32_t>(run.charges.size()) + 1);
    }
    return attacker_.Think();
  }

  // The refusal before the ledger, in which one attacker's sessions may take
  // runs over from one another.
  std::string EarlyCode(const Attempt& attempt) const {
    const std::string code = attacker_.EarlyCode(attempt);
    if (!code.empty() || !attempt.by_session()) return code;
    if (attempt.kind != Attempt::kAsk) return code;
    const bool holds =
        holders_.at({attempt.identity, attempt.run}) == attempt.session;
    return holds ? "" : "run-taken-over";
  }

  Verdict VerdictOn(const Attempt& attempt) const {
    Verdict early;
    early.code = EarlyCode(attempt);
    if (!early.code.empty()) return early;
    switch (attempt.kind) {
      case Attempt::kOpen:
        return model_.Open(attempt.opening());
      case Attempt::kAsk:
        return model_.Ask(attempt.asking());
      case Attempt::kFind:
        return model_.Find(attempt.asking());
      case Attempt::kClose:
        return model_.Close(attempt.identity, attempt.run);
    }
    return Verdict();
  }

  void Apply(const Attempt& attempt) {
    if (attempt.kind == Attempt::kOpen) model_.DoOpen(attempt.opening());
    if (attempt.kind == Attempt::kAsk) model_.DoAsk(attempt.asking());
    if (attempt.kind == Attempt::kClose)
      model_.DoClose(attempt.identity, attempt.run);
  }

  void Call(const Attempt& attempt) {
    SCOPED_TRACE(Describe(attempt));
    const Verdict verdict = VerdictOn(attempt);
    const std::uint64_t draws = curator_.draws();
    const Answer answer = attacker_.Do(attempt);
    CheckAnswer(attempt, verdict, answer);
    const bool drawn = verdict.appends && attempt.kind == Attempt::kAsk;
    ASSERT_EQ(curator_.draws(), draws + (drawn ? 1 : 0));
  }

  void CheckAnswer(const Attempt& attempt, const Verdict& verdict,
                   const Answer& answer) {
    ++counts_->calls;
    ++counts_->codes[verdict.code];
    ASSERT_EQ(answer.code, verdict.code);
    if (!verdict.code.empty()) {
      ++counts_->refusals;
      return ExpectTheSameTotals();
    }
    if (verdict.appends) Apply(attempt);
    if (attempt.kind == Attempt::kOpen) {
      ASSERT_EQ(answer.next_round, verdict.next_round);
      if (attempt.by_session())
        holders_[{attempt.identity, attempt.run}] = attempt.session;
    } else if (attempt.kind == Attempt::kClose) {
      ASSERT_EQ(UnitsText(answer.returned), UnitsText(verdict.returned));
    } else {
      JudgeRound(attempt, verdict, answer);
    }
    ExpectTheSameTotals();
  }

  void JudgeRound(const Attempt& attempt, const Verdict& verdict,
                  const Answer& answer) {
    ASSERT_EQ(answer.found, verdict.row != 0);
    if (!answer.found) return;
    if (verdict.appends) {
      ++counts_->releases;
      ASSERT_FALSE(answer.lost);
      ASSERT_TRUE(bytes_.insert(answer.bytes).second) << "noise was reused";
      ASSERT_TRUE(hashes_.insert(answer.row_hash).second);
      ASSERT_EQ(UnitsText(answer.cost), UnitsText(attempt.asking().cost));
      releases_[verdict.row] = {attempt.asking(), answer, false};
      return;
    }
    ++counts_->repeats;
    Release& release = releases_.at(verdict.row);
    ASSERT_EQ(answer.lost, release.dead);
    ASSERT_EQ(UnitsText(answer.cost), UnitsText(release.attempt.cost));
    if (release.answer.row_hash.empty()) {
      release.answer = answer;
      if (release.dead) return;
      ASSERT_TRUE(bytes_.insert(answer.bytes).second) << "noise was reused";
    }
    ASSERT_EQ(answer.row_hash, release.answer.row_hash);
    ASSERT_EQ(answer.bytes, release.dead ? "" : release.answer.bytes);
  }

  void ExpectTheSameTotals() {
    for (const PopulationPolicy& policy : curator_.policies()) {
      const std::string& name = policy.population;
      const Position position = curator_.ledger().PositionOf(name).value();
      const BudgetModel::Totals totals = model_.TotalsOf(name);
      ASSERT_EQ(UnitsText(position.charged.units()), UnitsText(totals.charged));
      ASSERT_EQ(UnitsText(position.reserved.units()),
                UnitsText(totals.reserved));
      ASSERT_EQ(UnitsText(position.cap.units()), UnitsText(model_.CapOf(name)));
      ASSERT_LE(position.charged.units() + position.reserved.units(),
                position.cap.units());
      ASSERT_EQ(
          UnitsText(position.left.units() + totals.charged + totals.reserved),
          UnitsText(model_.CapOf(name)));
      ASSERT_EQ(position.row_count, model_.rows());
      for (const std::string identity : {kAlice, kBob}) {
        const BudgetModel::Totals own = model_.TotalsOf(name, identity);
        const auto seen = curator_.ledger().PositionOf(name, identity).value();
        ASSERT_EQ(UnitsText(seen.charged.units()), UnitsText(own.charged));
        ASSERT_EQ(UnitsText(seen.reserved.units()), UnitsText(own.reserved));
        ASSERT_EQ(seen.charge_count, own.charges);
      }
    }
  }

  void Restart() {
    ++counts_->restarts;
    attacker_.DropSessions();
    curator_.Stop();
    curator_.Start();
    ExpectAgreement();
  }

  void Crash() {
    const char* const places[] = {
        "before-commit", "after-commit", "after-anchor", "after-charge",
        "drawing",       "after-draw",   "after-store"};
    const std::string place = places[attacker_.Below(std::size(places))];
    // Until some call comes there; not every one does.
    for (int call = 0; call < 30; ++call) {
      const Attempt attempt = NextAttempt();
      SCOPED_TRACE(place + " in " + Describe(attempt));
      const Verdict verdict = VerdictOn(attempt);
      curator_.ArmCrash(place);
      try {
        const Answer answer = attacker_.Do(attempt);
        curator_.DisarmCrash();
        CheckAnswer(attempt, verdict, answer);
      } catch (const AttackedCurator::Crashed&) {
        ++counts_->crashes;
        attacker_.DropSessions();
        return AfterCrash(attempt, verdict, place);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void AfterCrash(const Attempt& attempt, const Verdict& verdict,
                  const std::string& place) {
    ASSERT_TRUE(verdict.appends) << "a refused call came to " << place;
    if (place != "before-commit") {
      Apply(attempt);
      if (attempt.kind == Attempt::kAsk) {
        releases_[verdict.row] = {attempt.asking(), Answer(),
                                  place != "after-store"};
        if (place == "after-commit" || place == "after-anchor" ||
            place == "after-charge") {
          curator_.AddUndrawn();
        }
      }
    }
    curator_.Recover();
    ExpectAgreement();
  }

  void LoseARelease() {
    std::vector<Release*> alive;
    for (auto& [row, release] : releases_) {
      if (!release.dead && !release.answer.row_hash.empty())
        alive.push_back(&release);
    }
    if (alive.size() < 2) return;
    Release& harmed = *alive[attacker_.Below(alive.size())];
    const Release& other = LikeliestToPassFor(harmed, alive);
    const std::string file = curator_.ReleasePath(harmed.answer.row_hash);
    ASSERT_TRUE(fs::exists(file));
    switch (attacker_.Below(4)) {
      case 0:
        fs::remove(file);
        break;
      case 1:
        fs::resize_file(file, attacker_.Below(fs::file_size(file)));
        break;
      case 2: {
        std::fstream bytes(file,
                           std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekg(
            static_cast<std::streamoff>(attacker_.Below(fs::file_size(file))));
        const auto at = bytes.tellg();
        const int byte = bytes.get();
        bytes.seekp(at);
        bytes.put(static_cast<char>(byte ^ 1));
        break;
      }
      default:
        if (&harmed == &other) return;
        fs::copy_file(curator_.ReleasePath(other.answer.row_hash), file,
                      fs::copy_options::overwrite_existing);
    }
    ++counts_->lost;
    harmed.dead = true;
  }

  // Returns a release of the same round and price if there is one, else any.
  const Release& LikeliestToPassFor(const Release& harmed,
                                    const std::vector<Release*>& alive) {
    for (const Release* release : alive) {
      if (release != &harmed &&
          release->attempt.round == harmed.attempt.round &&
          release->attempt.cost == harmed.attempt.cost) {
        return *release;
      }
    }
    return *alive[attacker_.Below(alive.size())];
  }

  // Opens a run that takes all that is left of the population's cap or of an
  // identity's, or one unit more.
  void FillToTheLastUnit() {
    const RunVariant& variant =
        RunVariants()[attacker_.Below(RunVariants().size())];
    OpenAttempt attempt =
        OpenAttemptOf(kAlice, "fill-" + std::to_string(++extra_runs_), variant);
    const BudgetModel::Totals all = model_.TotalsOf(attempt.population);
    const BudgetModel::Totals own = model_.TotalsOf(attempt.population, kAlice);
    attempt.cost =
        model_.CapOf(attempt.population) - all.charged - all.reserved;
    if (attempt.cost == 0) return;
    const Units more = attacker_.Below(2);
    if (attacker_.Below(2) == 0) {
      attempt.cost += more;
    } else {
      attempt.identity_cap = own.charged + own.reserved + attempt.cost - more;
    }
    OpenAndExpect(attempt, variant);
    const Attempt close{
        .kind = Attempt::kClose, .identity = kAlice, .run = attempt.run};
    Call(close);
  }

  // The last of its rounds does not fit its reservation.
  void RunShortOfAUnit() {
    const RunVariant& variant = RunVariants()[0];
    OpenAttempt attempt =
        OpenAttemptOf(kBob, "short-" + std::to_string(++extra_runs_), variant);
    attempt.cost -= 1;
    OpenAndExpect(attempt, variant);
    for (std::uint32_t round = 1; round <= attempt.rounds; ++round) {
      Call({.kind = Attempt::kAsk,
            .identity = kBob,
            .run = attempt.run,
            .round = round});
    }
    Call({.kind = Attempt::kClose, .identity = kBob, .run = attempt.run});
  }

  void OpenAndExpect(const OpenAttempt& attempt, const RunVariant& variant) {
    ASSERT_EQ(curator_.Open(attempt, variant).code,
              model_.DoOpen(attempt).code);
    ExpectTheSameTotals();
  }

  // A cap is fixed.
  void DeclareAnew() {
    PopulationPolicy policy = curator_.policies()[attacker_.Below(2)];
    ASSERT_TRUE(curator_.ledger().DeclarePopulation(policy).ok());
    policy.epsilon *= 2;
    ASSERT_EQ(ReasonCode(curator_.ledger().DeclarePopulation(policy)),
              "population-differs");
    ExpectTheSameTotals();
  }

  // The anchor's disk takes nothing: no row is appended, and nothing is lost.
  void CallWithoutAnAnchorDisk() {
    const std::string in_the_way =
        curator_.AnchorDirectoryPath() + "/anchor.json.new";
    const Attempt attempt = NextAttempt();
    SCOPED_TRACE("full anchor disk: " + Describe(attempt));
    Verdict verdict = VerdictOn(attempt);
    const std::uint64_t draws = curator_.draws();
    fs::create_directory(in_the_way);
    const Answer answer = attacker_.Do(attempt);
    fs::remove(in_the_way);
    if (verdict.appends) {
      verdict = Verdict();
      verdict.code = "storage-failed";
    }
    CheckAnswer(attempt, verdict, answer);
    ASSERT_EQ(curator_.draws(), draws);
  }

  // An old copy of all but the anchor is served, unless it is the newest.
  void RollBack() {
    if (old_copy_.empty() || attacker_.Below(3) == 0) {
      old_copy_ = curator_.KeepCopy();
      old_rows_ = model_.rows();
      return;
    }
    ++counts_->rollbacks;
    attacker_.DropSessions();
    const std::string present = curator_.KeepCopy();
    curator_.Stop();
    curator_.PutBack(old_copy_);
    fs::remove_all(curator_.AnchorDirectoryPath());
    fs::copy(present + "/anchor", curator_.AnchorDirectoryPath());
    const std::string code = ReasonCode(curator_.TryStart());
    ASSERT_EQ(code, old_rows_ < model_.rows() ? "ledger-behind-anchor" : "");
    curator_.Stop();
    curator_.PutBack(present);
    curator_.Start();
    ExpectAgreement();
  }

  AttackedCurator curator_;
  Attacker attacker_;
  WalkCounts* const counts_;
  BudgetModel model_;
  std::map<std::uint64_t, Release> releases_;  // by row
  std::set<std::string> bytes_, hashes_;       // of all that was released
  // Session that opened the run last, by (identity, run).
  std::map<std::pair<std::string, std::string>, std::uint64_t> holders_;
  int extra_runs_ = 0;
  std::string old_copy_;
  std::uint64_t old_rows_ = 0;
};

TEST(BudgetWalk, EveryAnswerIsTheModels) {
  const std::uint64_t seed = AttackSeed("BudgetWalk");
  const int walks = AttackTrials(40);
  constexpr int kSteps = 250;
  WalkCounts counts;
  for (int w = 0; w < walks; ++w) {
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<unsigned>(w)));
    Walk walk(seed + static_cast<unsigned>(w), &counts);
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_NO_FATAL_FAILURE(walk.Step()) << "step " << step;
    }
    ASSERT_NO_FATAL_FAILURE(walk.ExpectAgreement());
  }
  ReportAttack("budget walk | " + std::to_string(counts.calls) + " calls, " +
               std::to_string(counts.releases) + " releases, " +
               std::to_string(counts.repeats) + " repeats, " +
               std::to_string(counts.refusals) + " refusals, " +
               std::to_string(counts.crashes) + " crashes, " +
               std::to_string(counts.restarts) + " restarts, " +
               std::to_string(counts.lost) + " releases lost, " +
               std::to_string(counts.rollbacks) + " rollbacks");
  // The walk goes everywhere.
  for (const char* code :
       {"", "budget-exhausted", "identity-budget-exhausted", "run-differs",
        "run-closed", "run-unknown", "round-differs", "round-out-of-order",
        "charge-over-reservation", "run-taken-over", "session-opened",
        "session-not-opened", "dataset-unknown", "round-out-of-range",
        "storage-failed", "matrix-shape"}) {
    EXPECT_TRUE(counts.codes.contains(code)) << code << " was never met";
  }
}

}  // namespace
}  // namespace dpnmf::curator
