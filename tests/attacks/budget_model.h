// Model of the budget that docs/reference/privacy.md promises (section 6): sums
// and lists, added up again at each question. The model shares no code with the
// ledger and compares requests word by word, not by their hashes.
#ifndef DPNMF_TESTS_ATTACKS_BUDGET_MODEL_H_
#define DPNMF_TESTS_ATTACKS_BUDGET_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dpnmf::curator {

__extension__ typedef unsigned __int128 Units;  // of 2^-60 in mu^2
std::string UnitsText(Units units);

struct OpenAttempt {
  std::string identity, run, population;
  std::string request;  // every parameter
  std::uint32_t rounds = 0;
  Units cost = 0;  // of all rounds
  std::optional<Units> identity_cap;
};

struct RoundAttempt {
  std::string identity, run;
  std::uint32_t round = 0;
  std::string request;  // every parameter, and what the round is asked with
  Units cost = 0;
};

// Codes as in docs/reference/errors.md, "" for accepted.
struct Verdict {
  std::string code;
  bool appends = false;          // one row
  std::uint32_t next_round = 0;  // of an opening
  std::uint64_t row = 0;         // of a round: its ledger row
  Units returned = 0;            // by a closing
};

class BudgetModel {
 public:
  struct Charge {
    RoundAttempt attempt;
    std::uint64_t row = 0;
  };
  struct Run {
    OpenAttempt opening;
    std::vector<Charge> charges;
    bool closed = false;

    Units Charged() const;
    Units Left() const { return closed ? 0 : opening.cost - Charged(); }
  };
  struct Totals {
    Units charged = 0, reserved = 0;
    std::uint64_t charges = 0;
  };

  // A new ledger: its first row.
  BudgetModel() = default;

  void Declare(const std::string& population, Units cap);

  // Returns the verdict that is due now; changes nothing.
  Verdict Open(const OpenAttempt& attempt) const;
  Verdict Ask(const RoundAttempt& attempt) const;
  // Looking for a release without asking for a new one.
  Verdict Find(const RoundAttempt& attempt) const;
  Verdict Close(const std::string& identity, const std::string& run) const;

  // The same, done.
  Verdict DoOpen(const OpenAttempt& attempt);
  Verdict DoAsk(const RoundAttempt& attempt);
  Verdict DoClose(const std::string& identity, const std::string& run);

  // Totals of one identity; if `identity` is empty, of all identities.
  Totals TotalsOf(const std::string& population,
                  const std::string& identity = "") const;
  Units CapOf(const std::string& population) const {
    return caps_.at(population);
  }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t charges() const { return charges_; }
  // Returns null if there is no such run.
  const Run* FindRun(const std::string& run) const;
  const std::map<std::string, Run>& runs() const { return runs_; }

 private:
  const Run* RunOf(const std::string& identity, const std::string& run) const;

  std::map<std::string, Units> caps_;
  std::map<std::string, Run> runs_;
  std::uint64_t rows_ = 1, charges_ = 0;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_BUDGET_MODEL_H_
