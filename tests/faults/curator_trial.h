// One trial of the curator's promise: calls of an attacker, a disk that fails
// or loses power in the midst of them, restarts, and damage between restarts;
// each answer, row, byte and draw is held to a small model (budget_model.h).
//
//   no release without its durable charge; no charge lost; none counted twice;
//   the same request gives the same bytes; damage, truncation and rollback are
//   noticed before anything is released.
#ifndef DPNMF_TESTS_FAULTS_CURATOR_TRIAL_H_
#define DPNMF_TESTS_FAULTS_CURATOR_TRIAL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/attacks/attacker.h"
#include "tests/faults/faulty_disk.h"

namespace dpnmf::faults {

struct TrialCounts {
  std::uint64_t trials = 0, calls = 0, releases = 0, faults = 0, power_cuts = 0,
                restarts = 0, unknown = 0, dead = 0, damaged = 0, refused = 0;
};

// Fails the test (gtest) at the first violation.
class CuratorTrial {
 public:
  CuratorTrial(std::uint64_t seed, TrialCounts* counts);
  // The ledger closes its files on the disk before the disk goes.
  ~CuratorTrial() { curator_.Stop(); }
  void Run(int calls);

 private:
  enum class Standing { kUnknown, kAlive, kDead };
  // A charged row and what is known of its bytes.
  struct Release {
    curator::RoundAttempt attempt;
    Standing standing = Standing::kUnknown;
    std::string bytes;
  };

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  Fault RandomFault();
  void FirstStart();
  void Step();
  void Call();
  curator::Verdict VerdictOn(const curator::Attempt& attempt) const;
  void CheckAnswer(const curator::Attempt& attempt,
                   const curator::Verdict& verdict,
                   const curator::Answer& answer);
  void JudgeRound(const curator::Attempt& attempt,
                  const curator::Verdict& verdict,
                  const curator::Answer& answer);
  void Apply(const curator::Attempt& attempt, const curator::Verdict& verdict);
  // A call failed with the disk: whether its row stands is known now, or after
  // a restart.
  void ResolveOrRestart(const curator::Attempt& attempt,
                        const curator::Verdict& verdict);
  void Restart(bool power_cut);
  // Starts, now and then with faults on the way.
  void StartAgain();
  void Damage();
  // Files, model and releases agree.
  void ExpectAgreement();
  void ExpectTotals();
  void CheckRelease(std::uint64_t row, const std::string& row_hash,
                    Release* release);

  std::mt19937_64 random_;
  TrialCounts* const counts_;
  curator::AttackedCurator curator_;
  FaultyDisk disk_;
  curator::Attacker attacker_;
  curator::BudgetModel model_;
  std::map<std::uint64_t, Release> releases_;  // by row
  std::set<std::string> bytes_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> holders_;
  // A call whose outcome a restart shows.
  std::optional<std::pair<curator::Attempt, curator::Verdict>> pending_;
  bool struck_since_start_ = false;
  std::uint64_t known_undrawn_ = 0;
  std::string old_copy_;
  std::uint64_t old_rows_ = 0;
};

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_CURATOR_TRIAL_H_
