// One attacker: random calls, through sessions of its own and straight at the
// ledger and the gate.
#ifndef DPNMF_TESTS_ATTACKS_ATTACKER_H_
#define DPNMF_TESTS_ATTACKS_ATTACKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/attacks/attacked_curator.h"

namespace dpnmf::curator {

struct Attempt {
  enum Kind { kOpen, kAsk, kFind, kClose };
  Kind kind = kOpen;
  int slot = -1;  // of the attacker's session; -1: straight at the gate
  std::uint64_t session = 0;  // unique among all sessions
  // For a session that is open: what it was opened with.
  std::string identity, run;
  int variant = 0;  // of RunVariants
  std::uint32_t round = 0;
  int choice = 0;  // of the input

  const RunVariant& parameters() const {
    return RunVariants()[static_cast<std::size_t>(variant)];
  }
  bool by_session() const { return slot >= 0; }
  OpenAttempt opening() const {
    return OpenAttemptOf(identity, run, parameters());
  }
  RoundAttempt asking() const {
    return RoundAttemptOf(identity, run, parameters(), round, choice);
  }
};
std::string Describe(const Attempt& attempt);

class Attacker {
 public:
  // `runs`: how many run ids are played with, on each way.
  Attacker(AttackedCurator* curator, std::uint64_t seed, int runs = 24);

  Attempt Think();
  // The call that everybody else makes too: straight at the gate, on the run
  // that is in focus.
  Attempt ThinkWithTheOthers(Attempt::Kind kind, std::uint32_t round) const;
  // The same by a session, new for an opening.
  Attempt ThinkWithTheOthersBySession(Attempt::Kind kind, std::uint32_t round);
  // May throw AttackedCurator::Crashed.
  Answer Do(const Attempt& attempt);
  // The refusal that comes before the ledger is asked, whatever it holds: ""
  // if none.
  std::string EarlyCode(const Attempt& attempt) const;
  // The curator is gone, and all sessions with it.
  void DropSessions();
  // Told what a round will be, an attacker asks for it more often.
  void Learn(const std::string& run, std::uint32_t next_round) {
    next_[run] = next_round;
  }
  // Half of the calls go to this run from now on, if it is the identity's.
  void FocusOn(std::uint64_t number) { focus_ = number % runs_; }
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

 private:
  struct Slot {
    std::string identity;
    std::uint64_t session = 0;
    std::unique_ptr<Session> stream;
    bool opened = false;
    std::string run;
    int variant = 0;
  };
  void Renew(Slot* slot);
  std::uint64_t AnyRun();
  Attempt ThinkOfASession(int slot);
  void ChooseRun(Attempt* attempt);
  void ChooseRound(Attempt* attempt);
  Answer DoBySession(const Attempt& attempt);

  AttackedCurator* const curator_;
  std::mt19937_64 random_;
  const std::uint64_t runs_;
  std::uint64_t focus_;  // runs_: none
  std::vector<Slot> slots_;
  std::map<std::string, std::uint32_t> next_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_ATTACKER_H_
