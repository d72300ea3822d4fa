#include "tests/faults/curator_trial.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "common/base/error.h"
#include "curator/gate/release_store.h"
#include "gtest/gtest.h"

namespace dpnmf::faults {
namespace {

namespace fs = std::filesystem;
using curator::Answer;
using curator::Attempt;
using curator::UnitsText;
using curator::Verdict;

constexpr int kErrors[] = {EIO, ENOSPC, EDQUOT};
// Calls of the system on the way of one call of the curator, about.
constexpr std::uint64_t kCallsOnTheWay = 60;

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".sqlite") || path.ends_with("-wal"))
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

CuratorTrial::CuratorTrial(std::uint64_t seed, TrialCounts* counts)
    : random_(seed),
      counts_(counts),
      disk_(curator_.LivePath(), seed + 1),
      attacker_(&curator_, seed + 2, /*runs=*/10) {
  ++counts_->trials;
}

Fault CuratorTrial::RandomFault() {
  Fault fault;
  const Fault::Kind kinds[] = {Fault::kPowerCut, Fault::kPowerCut,
                               Fault::kFails,    Fault::kShort,
                               Fault::kFull,     Fault::kReadOnly};
  fault.kind = kinds[Below(std::size(kinds))];
  fault.call = 1 + Below(kCallsOnTheWay);
  fault.error = kErrors[Below(std::size(kErrors))];
  return fault;
}

void CuratorTrial::Run(int calls) {
  ASSERT_NO_FATAL_FAILURE(FirstStart());
  for (int call = 0; call < calls; ++call) ASSERT_NO_FATAL_FAILURE(Step());
  ASSERT_NO_FATAL_FAILURE(Restart(/*power_cut=*/true));
}

void CuratorTrial::FirstStart() {
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  for (const curator::PopulationPolicy& policy : curator_.policies()) {
    model_.Declare(
        policy.population,
        LargestCost(policy.conversion, policy.epsilon, policy.delta)->units());
  }
  ExpectAgreement();
}

void CuratorTrial::Step() {
  switch (Below(24)) {
    case 0:
      return Restart(/*power_cut=*/false);
    case 1:
      return Restart(/*power_cut=*/true);
    case 2:
      if (!old_copy_.empty()) fs::remove_all(old_copy_);
      old_copy_ = curator_.KeepCopy();
      old_rows_ = model_.rows();
      return;
    case 3:
    case 4:
    case 5:
    case 6:
      disk_.Arm(RandomFault());
      return;
    default:
      return Call();
  }
}

Verdict CuratorTrial::VerdictOn(const Attempt& attempt) const {
  Verdict early;
  early.code = attacker_.EarlyCode(attempt);
  if (early.code.empty() && attempt.by_session() &&
      attempt.kind == Attempt::kAsk &&
      holders_.at({attempt.identity, attempt.run}) != attempt.session) {
    early.code = "run-taken-over";
  }
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

void CuratorTrial::Call() {
  for (const auto& [id, run] : model_.runs())
    attacker_.Learn(id, static_cast<std::uint32_t>(run.charges.size()) + 1);
  const Attempt attempt = attacker_.Think();
  SCOPED_TRACE(Describe(attempt));
  const Verdict verdict = VerdictOn(attempt);
  ++counts_->calls;
  const Answer answer = attacker_.Do(attempt);
  const bool struck = disk_.struck();
  counts_->faults += struck;
  // A curator whose disk failed once may refuse until it is started again.
  struck_since_start_ = struck_since_start_ || struck;
  if (struck_since_start_ && answer.code == "storage-failed") {
    ASSERT_NO_FATAL_FAILURE(ResolveOrRestart(attempt, verdict));
    return struck || !struck_since_start_ ? void() : Restart(Below(2) == 0);
  }
  ASSERT_EQ(answer.code, verdict.code);
  ASSERT_NO_FATAL_FAILURE(CheckAnswer(attempt, verdict, answer));
  if (disk_.dead()) return Restart(/*power_cut=*/true);
  if (struck) disk_.Disarm();
}

void CuratorTrial::Apply(const Attempt& attempt, const Verdict& verdict) {
  if (!verdict.appends) return;
  if (attempt.kind == Attempt::kOpen) model_.DoOpen(attempt.opening());
  if (attempt.kind == Attempt::kClose)
    model_.DoClose(attempt.identity, attempt.run);
  if (attempt.kind != Attempt::kAsk) return;
  model_.DoAsk(attempt.asking());
  releases_[verdict.row].attempt = attempt.asking();
}

void CuratorTrial::CheckAnswer(const Attempt& attempt, const Verdict& verdict,
                               const Answer& answer) {
  if (!verdict.code.empty()) return;
  Apply(attempt, verdict);
  if (attempt.kind == Attempt::kOpen) {
    ASSERT_EQ(answer.next_round, verdict.next_round);
    if (attempt.by_session())
      holders_[{attempt.identity, attempt.run}] = attempt.session;
  } else if (attempt.kind == Attempt::kClose) {
    ASSERT_EQ(UnitsText(answer.returned), UnitsText(verdict.returned));
  } else {
    ASSERT_NO_FATAL_FAILURE(JudgeRound(attempt, verdict, answer));
  }
  if (!disk_.dead()) ExpectTotals();
}

void CuratorTrial::JudgeRound(const Attempt& attempt, const Verdict& verdict,
                              const Answer& answer) {
  ASSERT_EQ(answer.found, verdict.row != 0);
  if (!answer.found) return;
  Release& release = releases_.at(verdict.row);
  ASSERT_EQ(UnitsText(answer.cost), UnitsText(release.attempt.cost));
  ASSERT_EQ(release.attempt.request, attempt.asking().request);
  switch (release.standing) {
    case Standing::kUnknown:
      if (verdict.appends) {
        ASSERT_FALSE(answer.lost);
        ++counts_->releases;
      }
      release.standing = answer.lost ? Standing::kDead : Standing::kAlive;
      release.bytes = answer.bytes;
      if (!answer.lost) {
        ASSERT_TRUE(bytes_.insert(answer.bytes).second) << "noise was reused";
      }
      return;
    case Standing::kAlive:
      ASSERT_FALSE(answer.lost) << "what was answered is lost";
      ASSERT_EQ(answer.bytes, release.bytes) << "other bytes for one request";
      return;
    case Standing::kDead:
      ASSERT_TRUE(answer.lost) << "a dead row was drawn again";
  }
}

void CuratorTrial::ResolveOrRestart(const Attempt& attempt,
                                    const Verdict& verdict) {
  if (verdict.appends) {
    ++counts_->unknown;
    pending_ = {attempt, verdict};
  }
  if (disk_.dead()) return Restart(/*power_cut=*/true);
  disk_.Disarm();
  const auto position =
      curator_.ledger().PositionOf(curator_.policies()[0].population);
  if (!position.ok()) {  // poisoned: it must be read again
    ASSERT_EQ(ReasonCode(position.status()), "storage-failed");
    return Restart(Below(2) == 0);
  }
  const std::uint64_t rows = position->row_count;
  const bool stands = pending_.has_value() && rows == model_.rows() + 1;
  ASSERT_TRUE(stands || rows == model_.rows());
  if (stands) Apply(attempt, verdict);
  pending_.reset();
  ExpectTotals();
}

void CuratorTrial::Restart(bool power_cut) {
  ++counts_->restarts;
  attacker_.DropSessions();
  if (power_cut) {
    ++counts_->power_cuts;
    disk_.PowerCut(static_cast<Survival>(Below(3)));
  } else {
    disk_.Disarm();
  }
  curator_.Stop();
  if (power_cut) disk_.Reboot();
  // A row that nobody was answered and no anchor knows may be taken away
  // unseen: not before the outcome is known.
  if (Below(3) == 0 && !pending_.has_value()) {
    ASSERT_NO_FATAL_FAILURE(Damage());
  }
  ASSERT_NO_FATAL_FAILURE(StartAgain());
  ASSERT_NO_FATAL_FAILURE(ExpectAgreement());
}

void CuratorTrial::StartAgain() {
  for (int faulty = static_cast<int>(Below(3)); faulty > 0; --faulty) {
    disk_.Arm(RandomFault());
    const absl::Status started = curator_.TryStart();
    const bool struck = disk_.struck(), dead = disk_.dead();
    counts_->faults += struck;
    if (!started.ok()) {
      ASSERT_TRUE(struck) << started;
      ASSERT_EQ(ReasonCode(started), "storage-failed") << started;
    }
    if (dead) ++counts_->power_cuts;
    disk_.Disarm();
    curator_.Stop();
    if (dead) disk_.Reboot();
  }
  disk_.Disarm();
  struck_since_start_ = false;
  const absl::Status started = curator_.TryStart();
  ASSERT_TRUE(started.ok()) << "a sound ledger is refused: " << started;
}

void CuratorTrial::Damage() {
  const std::vector<std::string> files =
      FilesIn(curator_.LedgerDirectoryPath());
  if (files.empty()) return;
  const std::string good = curator_.KeepCopy();
  const std::uint64_t rows =
      curator::ReadLedgerFile(curator_.LedgerDirectoryPath()).size();
  curator_.PutBack(good);  // reading may have changed the log
  const std::string harmed = files[Below(files.size())];
  bool must_refuse = false, put_back = false;
  switch (Below(5)) {
    case 0: {
      std::fstream file(harmed,
                        std::ios::in | std::ios::out | std::ios::binary);
      const auto size = fs::file_size(harmed);
      if (size == 0) break;
      const auto at = static_cast<std::streamoff>(Below(size));
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ (1 << Below(8))));
      break;
    }
    case 1:
      fs::resize_file(harmed, Below(fs::file_size(harmed) + 1));
      break;
    case 2:
      fs::remove(harmed);
      break;
    case 3:
      if (old_copy_.empty()) break;
      must_refuse = old_rows_ < rows;
      put_back = true;
      curator_.PutBack(old_copy_);
      fs::remove_all(curator_.AnchorDirectoryPath());
      fs::copy(good + "/anchor", curator_.AnchorDirectoryPath());
      break;
    default:
      must_refuse = rows > 1;
      fs::remove(curator_.AnchorDirectoryPath() + "/anchor.json");
  }
  disk_.Adopt();
  ++counts_->damaged;
  const std::uint64_t draws = curator_.draws();
  const absl::Status started = curator_.TryStart();
  counts_->refused += !started.ok();
  ASSERT_TRUE(!must_refuse || !started.ok()) << "a rollback was not noticed";
  if (started.ok()) {
    // An old copy may hold bytes that a power cut took since. Nobody was
    // answered from it, so what it shows of a row is no answer.
    const auto releases = releases_;
    const auto bytes = bytes_;
    const std::uint64_t dead = counts_->dead;
    if (put_back) {
      for (auto& [row, release] : releases_)
        if (release.standing == Standing::kDead)
          release.standing = Standing::kUnknown;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAgreement());
    releases_ = releases;
    bytes_ = bytes;
    counts_->dead = dead;
  } else {
    const std::string code = ReasonCode(started);
    ASSERT_TRUE(code == "ledger-damaged" || code == "ledger-behind-anchor" ||
                code == "ledger-newer" || code == "storage-failed")
        << started;
  }
  ASSERT_EQ(curator_.draws(), draws);
  curator_.Stop();
  curator_.PutBack(good);
  fs::remove_all(good);
  disk_.Adopt();
}

void CuratorTrial::ExpectAgreement() {
  const std::vector<curator::FileRow> rows =
      curator::ReadLedgerFile(curator_.LedgerDirectoryPath());
  ExpectChained(rows);
  ExpectLawful(rows);
  if (pending_.has_value() && rows.size() == model_.rows() + 1)
    Apply(pending_->first, pending_->second);
  pending_.reset();
  ASSERT_EQ(rows.size(), model_.rows()) << "a charge is lost, or made up";
  const curator::FileAnchor anchor =
      curator::ReadAnchorFile(curator_.AnchorDirectoryPath());
  ASSERT_EQ(anchor.rows, rows.size());
  ASSERT_EQ(anchor.head, rows.back().hash);
  std::uint64_t charges = 0;
  for (const curator::FileRow& row : rows) {
    if (row.kind != "charge") continue;
    ++charges;
    ASSERT_TRUE(releases_.contains(row.sequence));
    Release& release = releases_.at(row.sequence);
    ASSERT_EQ(row.run, release.attempt.run);
    ASSERT_EQ(row.round, release.attempt.round);
    ASSERT_EQ(UnitsText(row.cost), UnitsText(release.attempt.cost));
    ASSERT_NO_FATAL_FAILURE(CheckRelease(row.sequence, row.hash, &release));
  }
  ASSERT_EQ(charges, releases_.size());
  ASSERT_GE(charges, curator_.draws() + known_undrawn_)
      << "more draws than charges";
  for (; charges > curator_.draws() + known_undrawn_; ++known_undrawn_)
    curator_.AddUndrawn();
  ExpectTotals();
}

void CuratorTrial::CheckRelease(std::uint64_t row, const std::string& row_hash,
                                Release* release) {
  SCOPED_TRACE("row " + std::to_string(row));
  std::ifstream file(curator_.ReleasePath(row_hash), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  const auto stored = curator::DecodeRelease(content.str());
  switch (release->standing) {
    case Standing::kUnknown:
      release->standing = stored.ok() ? Standing::kAlive : Standing::kDead;
      counts_->dead += !stored.ok();
      if (!stored.ok()) return;
      release->bytes = curator::BytesOf(stored->parts);
      ASSERT_TRUE(bytes_.insert(release->bytes).second) << "noise was reused";
      return;
    case Standing::kAlive:
      ASSERT_TRUE(stored.ok()) << "what was answered is lost";
      ASSERT_EQ(curator::BytesOf(stored->parts), release->bytes);
      return;
    case Standing::kDead:
      ASSERT_FALSE(stored.ok()) << "a dead row was drawn again";
  }
}

void CuratorTrial::ExpectTotals() {
  for (const curator::PopulationPolicy& policy : curator_.policies()) {
    const auto position = curator_.ledger().PositionOf(policy.population);
    ASSERT_TRUE(position.ok()) << position.status();
    const curator::BudgetModel::Totals totals =
        model_.TotalsOf(policy.population);
    ASSERT_EQ(UnitsText(position->charged.units()), UnitsText(totals.charged));
    ASSERT_EQ(UnitsText(position->reserved.units()),
              UnitsText(totals.reserved));
    ASSERT_LE(position->charged.units() + position->reserved.units(),
              position->cap.units());
    ASSERT_EQ(position->row_count, model_.rows());
  }
}

}  // namespace dpnmf::faults
