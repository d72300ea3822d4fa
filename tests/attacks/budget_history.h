// Who was answered what, and when: the record of an attack from many threads,
// and the check that some order of the calls explains all of it.
#ifndef DPNMF_TESTS_ATTACKS_BUDGET_HISTORY_H_
#define DPNMF_TESTS_ATTACKS_BUDGET_HISTORY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/attacks/attacker.h"

namespace dpnmf::curator {

// One call. It took effect at some moment between its begin and its end, at
// which the ledger had from rows_before to rows_after rows.
struct Event {
  Attempt attempt;
  std::string early_code;  // Attacker::EarlyCode
  Answer answer;
  std::uint64_t begin = 0, end = 0;  // of one clock for all threads
  std::uint64_t rows_before = 0, rows_after = 0;
};

// Position of a population that the ledger reported between the calls.
struct Sample {
  std::string population;
  std::uint64_t rows = 0;
  std::string head;
  Units charged = 0, reserved = 0;
};

struct BudgetHistory {
  std::vector<Event> events;
  std::vector<Sample> samples;
  // Row hash -> when its stored release was taken away.
  std::map<std::string, std::uint64_t> dead_since;
};

// Fails the test unless the rows on disk and every answer agree with one
// serial order of the calls:
//   - every prefix of the rows is a history that the model allows (charged +
//     reserved <= cap, rounds in order, open runs alone, refunds exact);
//   - every answer is the model's after some prefix within the call's window,
//     and what was appended stands there;
//   - one row, one byte string, one request: in all answers, and no two rows
//     share bytes; a row is lost if and only if its release was taken away;
//   - a run is taken over if and only if a later session opened it.
void ExpectSerial(const BudgetHistory& history,
                  const std::vector<FileRow>& rows,
                  const std::vector<PopulationPolicy>& policies);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_BUDGET_HISTORY_H_
