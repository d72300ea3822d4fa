// A curator under attack: its files, and the ledger, gate and sessions over
// them, which a test may stop, crash, harm and start again. Noise is counted
// and tells draws apart. NOT DIFFERENTIALLY PRIVATE: tests alone.
#ifndef DPNMF_TESTS_ATTACKS_ATTACKED_CURATOR_H_
#define DPNMF_TESTS_ATTACKS_ATTACKED_CURATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "curator/session/session.h"
#include "tests/attacks/budget_model.h"
#include "tests/attacks/ledger_file.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {

inline constexpr char kAlice[] = "dns:alice";  // all data sets
inline constexpr char kBob[] = "dns:bob";  // not `third`; capped on `people`

// A way to open a run. There are two data sets of one population and one of
// another; some variants differ in only one parameter.
struct RunVariant {
  std::string text;  // every parameter
  RunParameters parameters;
  DatasetFacts facts;
  RunPlan plan;
};
const std::vector<RunVariant>& RunVariants();

// Inputs that a round may be asked with. The last choice is not valid.
inline constexpr int kInputChoices = 4;
struct InputVariant {
  std::string text;
  std::string code;  // of its refusal, "" if it is valid
  RoundInput input;
};
InputVariant InputOf(const RunVariant& run, std::uint32_t round, int choice);

OpenAttempt OpenAttemptOf(const std::string& identity, const std::string& run,
                          const RunVariant& variant);
RoundAttempt RoundAttemptOf(const std::string& identity, const std::string& run,
                            const RunVariant& variant, std::uint32_t round,
                            int choice);

// Result of one call as an attacker sees it.
struct Answer {
  std::string code;
  std::uint32_t next_round = 0;
  Units returned = 0;
  // Set only for a round.
  bool found = false, lost = false;
  std::string bytes, row_hash;
  Units cost = 0;
};
Answer AnswerOf(const absl::StatusOr<Released<ReleasedRound>>& released);
std::string BytesOf(const std::vector<NoisedMatrix>& parts);

class AttackedCurator {
 public:
  // With its populations declared, not started.
  AttackedCurator();
  ~AttackedCurator();

  absl::Status TryStart();
  void Start();
  void Stop();

  // For a service over the same parts.
  SessionContext Context() const;
  Session NewSession(const std::string& identity) const;
  // The ledger and the gate without a session before them. Their requests are
  // others than a session's.
  Answer Open(const OpenAttempt& attempt, const RunVariant& variant);
  Answer Open(const std::string& identity, const std::string& run,
              const RunVariant& variant) {
    return Open(OpenAttemptOf(identity, run, variant), variant);
  }
  Answer Ask(const std::string& identity, const std::string& run,
             const RunVariant& variant, std::uint32_t round, int choice);
  Answer Find(const std::string& identity, const std::string& run,
              const RunVariant& variant, std::uint32_t round, int choice);
  Answer Close(const std::string& identity, const std::string& run);

  bool running() const { return locks_ != nullptr; }
  Ledger& ledger() { return *ledger_; }
  const std::vector<PopulationPolicy>& policies() const { return policies_; }
  std::uint64_t draws() const { return draws_; }

  // The next call that comes to `place` (a failpoint; "drawing" is in the
  // midst of a draw) is left by the exception Crashed. What lay on disk then is
  // what Recover starts again from. One thread only.
  struct Crashed {};
  void ArmCrash(const std::string& place);
  void DisarmCrash();
  void Recover();
  // Rows that a crash left without a draw, so that their number is known.
  void AddUndrawn() { ++undrawn_; }

  // All files of the curator lie in it.
  const std::string& LivePath() const { return live_; }
  std::string LedgerDirectoryPath() const { return live_ + "/ledger"; }
  std::string AnchorDirectoryPath() const { return live_ + "/anchor"; }
  std::string ReleasesPath() const { return live_ + "/releases"; }
  std::string ReleasePath(const std::string& row_hash) const {
    return ReleasesPath() + "/" + row_hash + ".release";
  }
  Ledger::Options LedgerOptions() const;
  // Copies of all files, as a backup or a fork takes them.
  std::string KeepCopy();
  void PutBack(const std::string& copy);

  // In a concurrent test other threads append rows meanwhile.
  bool alone = true;

 private:
  static void OnCrashPoint(const char* place);
  void MaybeCrash(const std::string& place);
  std::vector<std::vector<std::int64_t>> Draw(
      const std::vector<PartPlan>& parts);
  void ExpectDurable(std::uint64_t draw) const;

  const TempDirectory root_;
  const std::string live_;
  int copies_ = 0;
  const std::vector<PopulationPolicy> policies_;
  Catalog catalog_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<RunLocks> locks_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<ReleaseGate> gate_;
  std::atomic<std::uint64_t> draws_{0};
  std::uint64_t undrawn_ = 0;
  std::string crash_at_, crashed_copy_;
};

// From DPNMF_ATTACK_SEED, else the system's; printed. DPNMF_ATTACK_TRIALS
// multiplies what a test does.
std::uint64_t AttackSeed(const char* test);
int AttackTrials(int usual);
void ReportAttack(const std::string& line);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_ATTACKED_CURATOR_H_
