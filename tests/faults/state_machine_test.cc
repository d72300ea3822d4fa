// The run and its ledger as state machines, every reachable state of them,
// breadth first.
//
// 1. The ledger: LedgerBook, the very code by which rows are accepted, is the
//    transition function; two runs of two rounds and a cap that holds one and a
//    half of them.
// 2. A run between analyst and curator: the decisions are the functions of
//    analyst/store/run_states.h, which store, manager and learner go by; around
//    them a learner, a client that cancels at any moment, a second stream,
//    messages that are lost or late, and processes that end at any moment.
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyst/store/run_states.h"
#include "common/base/error.h"
#include "curator/ledger/ledger_book.h"
#include "curator/ledger/ledger_row.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

// ---- 1. Reservation and return

using curator::LedgerBook;
using curator::LedgerRow;
using curator::RowKind;

constexpr std::uint64_t kCost = 10, kRounds = 2, kRuns = 2;

MuSquared Units(std::uint64_t units) { return MuSquared::FromUnits(units); }

LedgerRow RowOf(RowKind kind, std::uint64_t run) {
  LedgerRow row;
  row.kind = kind;
  row.population = "people";
  row.identity = "dns:analyst";
  row.run_id = "run-" + std::to_string(run);
  row.mechanism = "statistics";
  row.dataset = "digits";
  return row;
}

LedgerBook BookWithRoomForARunAndAHalf() {
  LedgerBook book;
  LedgerRow genesis;
  genesis.detail = std::string(32, 'a');
  book.Add(book.Chained(genesis));
  LedgerRow people;
  people.kind = RowKind::kPopulation;
  people.population = "people";
  people.cost = Units(kCost * kRounds * 3 / 2);
  people.detail = curator::PolicyText(
      {"people", Adjacency::kReplaceOne, Conversion::kRdp, 1, 1e-5});
  book.Add(book.Chained(people));
  return book;
}

// Rows that a caller may try in any state, right or wrong.
std::vector<LedgerRow> RowsToTry() {
  std::vector<LedgerRow> rows;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    LedgerRow open = RowOf(RowKind::kOpen, run);
    open.round = kRounds;
    open.cost = Units(kCost * kRounds);
    rows.push_back(open);
    for (std::uint32_t round = 0; round <= kRounds + 1; ++round) {
      for (const std::uint64_t cost : {kCost, kCost * kRounds + 1}) {
        LedgerRow charge = RowOf(RowKind::kCharge, run);
        charge.round = round;
        charge.cost = Units(cost);
        rows.push_back(charge);
      }
    }
    for (std::uint64_t returned = 0; returned <= kRounds; ++returned) {
      LedgerRow close = RowOf(RowKind::kClose, run);
      close.cost = Units(returned * kCost);
      rows.push_back(close);
    }
  }
  return rows;
}

// One run: "-" (none), "0".."2" (open, rounds charged), "c0".. (closed).
struct RunShape {
  bool open = false, closed = false;
  std::uint64_t charged = 0;
  auto operator<=>(const RunShape&) const = default;
};
using LedgerShape = std::array<RunShape, kRuns>;

// The rule, said once more without the book.
bool Allowed(const LedgerShape& shape, const LedgerRow& row) {
  const std::size_t index = row.run_id == "run-0" ? 0 : 1;
  const RunShape& run = shape[index];
  std::uint64_t used = 0;
  for (const RunShape& other : shape) {
    if (!other.open) continue;
    used += (other.closed ? other.charged : kRounds) * kCost;
  }
  switch (row.kind) {
    case RowKind::kOpen:
      return !run.open && used + kCost * kRounds <= kCost * kRounds * 3 / 2;
    case RowKind::kCharge:
      return run.open && !run.closed && row.round == run.charged + 1 &&
             row.round <= kRounds && row.cost == Units(kCost);
    case RowKind::kClose:
      return run.open && !run.closed &&
             row.cost == Units((kRounds - run.charged) * kCost);
    default:
      return false;
  }
}

void Step(LedgerShape* shape, const LedgerRow& row) {
  RunShape& run = (*shape)[row.run_id == "run-0" ? 0 : 1];
  if (row.kind == RowKind::kOpen) run.open = true;
  if (row.kind == RowKind::kCharge) ++run.charged;
  if (row.kind == RowKind::kClose) run.closed = true;
}

TEST(LedgerStateMachine,
     InEveryStateTheBookAllowsWhatTheRuleAllowsAndTheSumsHold) {
  const LedgerBook first = BookWithRoomForARunAndAHalf();
  std::map<LedgerShape, LedgerBook> seen{{LedgerShape(), first}};
  std::deque<LedgerShape> queue{LedgerShape()};
  std::uint64_t tried = 0;
  while (!queue.empty()) {
    const LedgerShape shape = queue.front();
    queue.pop_front();
    const LedgerBook book = seen.at(shape);
    const auto& people = *book.FindPopulation("people");
    std::uint64_t charged = 0, reserved = 0;
    for (const RunShape& run : shape) {
      charged += run.charged * kCost;
      if (run.open && !run.closed) reserved += (kRounds - run.charged) * kCost;
    }
    ASSERT_EQ(people.accounts.size(), 1u);
    const curator::BookedAccount& account = people.accounts.front();
    ASSERT_EQ(account.charged, Units(charged));
    ASSERT_EQ(account.reserved, Units(reserved));
    ASSERT_LE(account.charged.units() + account.reserved.units(),
              people.cap.units());
    for (const LedgerRow& asked : RowsToTry()) {
      ++tried;
      const LedgerRow row = book.Chained(asked);
      ASSERT_EQ(book.Check(row).ok(), Allowed(shape, asked))
          << NameOf(asked.kind) << " " << asked.run_id << " round "
          << asked.round << " cost " << asked.cost.UnitsText() << ": "
          << book.Check(row);
      if (!book.Check(row).ok()) continue;
      LedgerShape next = shape;
      Step(&next, asked);
      LedgerBook after = book;
      after.Add(row);
      if (seen.emplace(next, std::move(after)).second) queue.push_back(next);
    }
  }
  std::printf("ledger: %zu states, %llu transitions tried\n", seen.size(),
              static_cast<unsigned long long>(tried));
  EXPECT_GT(seen.size(), 20u);
}

// ---- 2. Cancel, resume, two streams

// Position of a learner.
enum class At {
  kAway,    // no learner has the run (queued, or the process is not there)
  kAsked,   // Open is on its way
  kOpened,  // the curator's answer is stored
  kRound,   // a round is on its way
  kClosing,
  kEnded,
};

struct World {
  // Stored by the analyst.
  v1::RunState stored = v1::RUN_STATE_QUEUED;
  bool error = false;
  int done = 0;
  // State of the analyst's process.
  At at = At::kAway;
  bool untouched = true;  // known to be, in this process
  bool told = false;      // RunControl::Cancel
  int next_round = 1;     // as the curator said at Open
  // Stored by the curator. 0: none, 1: open, 2: closed.
  int ledger = 0;
  int charged = 0;
  // A request of an earlier stream that still travels: 0 none, 1 Open, 2 Round
  // done+1 of then, 3 Close.
  int late = 0, late_round = 0;
  bool late_holds = false;  // that stream holds the run's lock
  // Left to happen.
  int cancels = 2, losses = 2, ends = 2, refusals = 1;
  int closes = 0;  // by the curator's operator
  bool closed_by_operator = false;
  bool over_budget = false;  // the curator refuses a first opening
  // True if the answer to a cancel told the client that the run is cancelled.
  bool told_client_cancelled = false;

  auto Key() const {
    return std::make_tuple(stored, error, done, at, untouched, told, next_round,
                           ledger, charged, late, late_round, late_holds,
                           cancels, losses, ends, refusals, over_budget,
                           told_client_cancelled, closes, closed_by_operator);
  }
};

constexpr int kT = 2;  // rounds

using Worlds = std::vector<World>;

bool Ending(const World& w) {
  return w.told || w.stored == v1::RUN_STATE_CANCELLING;
}

void Store(World* w, v1::RunState asked) {
  if (!IsFinal(w->stored)) w->stored = analyst::NextState(w->stored, asked);
}

void Refuse(World* w, const analyst::Refused& refused) {
  const v1::RunState next = analyst::StateAtRefusal(refused);
  if (next != v1::RUN_STATE_CANCELLED) w->error = true;
  Store(w, next);
  w->at = IsFinal(w->stored) ? At::kEnded : At::kAway;
}

// The stream breaks: what was under way may still arrive.
World Lose(World w, int request) {
  --w.losses;
  w.late = request;
  w.late_round = w.done + 1;
  w.late_holds = request != 1;
  w.at = At::kAway;
  if (w.stored != v1::RUN_STATE_CANCELLING) Store(&w, v1::RUN_STATE_WAITING);
  return w;
}

// Handles an Open as the curator does; returns false if it is refused.
bool HandleOpen(World* w) {
  if (w->ledger == 2) return false;
  if (w->ledger == 0 && w->over_budget) return false;
  w->ledger = 1;
  w->late_holds = false;  // a later stream takes the run over
  return true;
}

// False if refused. The same request again is answered and not charged.
bool HandleRound(World* w, int round) {
  if (round <= w->charged) return true;
  if (w->ledger != 1) return false;
  w->charged = round;
  return true;
}

// The learner goes on after something was stored.
void Next(World* w) {
  const bool more = w->done < kT;
  const bool fetches = !Ending(*w) || w->done + 1 < w->next_round;
  w->at = more && fetches ? At::kRound : At::kClosing;
}

void StepLearner(const World& w, Worlds* next) {
  World n = w;
  switch (w.at) {
    case At::kAway:
      if (IsFinal(w.stored)) return;
      n.at = At::kAsked;
      n.untouched = false;
      next->push_back(n);
      return;
    case At::kAsked: {
      if (w.losses > 0 && w.late == 0) next->push_back(Lose(w, 1));
      const bool opened = HandleOpen(&n);
      if (opened && w.losses > 0) {  // the answer is lost
        World lost = n;
        --lost.losses;
        lost.at = At::kAway;
        if (lost.stored != v1::RUN_STATE_CANCELLING)
          Store(&lost, v1::RUN_STATE_WAITING);
        next->push_back(lost);
      }
      if (opened) {
        n.next_round = n.charged + 1;
        Store(&n, v1::RUN_STATE_RUNNING);
        n.at = At::kOpened;
      } else if (w.ledger == 2 && (Ending(w) || w.done == kT)) {
        Store(&n, analyst::StateAtClosed(
                      n.error && n.stored == v1::RUN_STATE_CANCELLING,
                      n.done == kT));
        n.at = At::kEnded;
      } else {
        Refuse(&n, {false, w.stored == v1::RUN_STATE_CANCELLING && !w.error,
                    w.ledger == 0});
      }
      next->push_back(n);
      return;
    }
    case At::kOpened:
      Next(&n);
      next->push_back(n);
      return;
    case At::kRound: {
      if (w.refusals > 0) {  // the request, or what came, is no good
        World refused = w;
        --refused.refusals;
        Refuse(&refused,
               {true, w.stored == v1::RUN_STATE_CANCELLING && !w.error, false});
        next->push_back(refused);
      }
      if (w.losses > 0 && w.late == 0) next->push_back(Lose(w, 2));
      if (HandleRound(&n, w.done + 1)) {
        if (w.losses > 0) {
          World lost = n;
          --lost.losses;
          lost.at = At::kAway;
          if (lost.stored != v1::RUN_STATE_CANCELLING)
            Store(&lost, v1::RUN_STATE_WAITING);
          next->push_back(lost);
        }
        ++n.done;
        Store(&n, v1::RUN_STATE_RUNNING);
        Next(&n);
      } else {
        Refuse(&n,
               {true, w.stored == v1::RUN_STATE_CANCELLING && !w.error, false});
      }
      next->push_back(n);
      return;
    }
    case At::kClosing:
      if (w.losses > 0 && w.late == 0) next->push_back(Lose(w, 3));
      n.ledger = 2;
      if (w.losses > 0) {
        World lost = n;
        --lost.losses;
        lost.at = At::kAway;
        next->push_back(lost);
      }
      Store(&n,
            analyst::StateAtClosed(
                n.error && n.stored == v1::RUN_STATE_CANCELLING, n.done == kT));
      n.at = At::kEnded;
      next->push_back(n);
      return;
    case At::kEnded:
      return;
  }
}

void Arrive(const World& w, Worlds* next) {
  if (w.late == 0) return;
  World n = w;
  n.late = 0;
  if (w.late == 1) HandleOpen(&n);
  // A stream that was taken over asks for no round.
  if (w.late == 2 && w.late_holds) HandleRound(&n, w.late_round);
  if (w.late == 3 && w.ledger == 1) n.ledger = 2;
  next->push_back(n);
  n = w;
  n.late = 0;  // or it never arrives
  next->push_back(n);
}

void Cancel(const World& w, Worlds* next) {
  if (w.cancels == 0) return;
  World n = w;
  --n.cancels;
  if (!IsFinal(w.stored) && w.stored != v1::RUN_STATE_CANCELLING) {
    Store(&n, analyst::StateAtCancel(w.untouched));
    if (IsFinal(n.stored)) n.at = At::kEnded;
  }
  if (w.at != At::kAway && w.at != At::kEnded) n.told = true;
  if (n.stored == v1::RUN_STATE_CANCELLED) n.told_client_cancelled = true;
  next->push_back(n);
}

// The curator's operator closes the run (`dpnmf-curator close`), whatever is
// under way.
void CloseByOperator(const World& w, Worlds* next) {
  if (w.closes == 0 || w.ledger != 1) return;
  World n = w;
  --n.closes;
  n.ledger = 2;
  n.closed_by_operator = true;
  next->push_back(n);
}

// The analyst's process ends and comes back.
void EndProcess(const World& w, Worlds* next) {
  if (w.ends == 0) return;
  World n = w;
  --n.ends;
  if (w.late == 0 && w.at == At::kAsked) n.late = 1, n.late_holds = false;
  if (w.late == 0 && w.at == At::kRound)
    n.late = 2, n.late_round = w.done + 1, n.late_holds = true;
  if (w.late == 0 && w.at == At::kClosing) n.late = 3, n.late_holds = true;
  n.at = IsFinal(w.stored) ? At::kEnded : At::kAway;
  n.untouched = false;
  n.told = false;
  n.next_round = 1;
  next->push_back(n);
}

std::string Describe(const World& w) {
  return v1::RunState_Name(w.stored) + " done " + std::to_string(w.done) +
         " at " + std::to_string(static_cast<int>(w.at)) + " ledger " +
         std::to_string(w.ledger) + " charged " + std::to_string(w.charged) +
         " late " + std::to_string(w.late);
}

// Returns the invariant that the state violates; "" if none.
std::string Violation(const World& w) {
  if (w.done > w.charged) return "a round was used that was not charged";
  if (w.charged > kT) return "a round was charged twice";
  if (w.stored == v1::RUN_STATE_COMPLETED && w.done != kT)
    return "completed without its rounds";
  if (w.told_client_cancelled && w.stored != v1::RUN_STATE_CANCELLED)
    return "a cancel was reported, and then the run was something else";
  // A run that has ended holds no reservation, but for an Open of an earlier
  // stream that arrives late.
  const bool ended = IsFinal(w.stored);
  if (ended && w.ledger == 1 && w.late == 0)
    return "the run has ended and its reservation was not returned";
  if (w.closed_by_operator && w.ledger != 2)
    return "what an operator closed was opened again";
  // Rounds of a run that an operator closes are not fetched any more.
  if (w.stored == v1::RUN_STATE_CANCELLED && w.done != w.charged &&
      w.late == 0 && !w.closed_by_operator) {
    return "a round was paid for and not fetched";
  }
  return "";
}

struct Checked {
  std::size_t states = 0, transitions = 0;
  std::string violation;
};

Checked CheckFrom(const World& first) {
  using Key = decltype(first.Key());
  std::map<Key, World> seen{{first.Key(), first}};
  std::map<Key, std::vector<Key>> before;
  std::deque<Key> queue{first.Key()};
  std::deque<Key> good;
  Checked checked;
  while (!queue.empty()) {
    const World w = seen.at(queue.front());
    const Key here = queue.front();
    queue.pop_front();
    if (const std::string violation = Violation(w); !violation.empty()) {
      checked.violation = violation + ": " + Describe(w);
      return checked;
    }
    if (IsFinal(w.stored)) good.push_back(here);
    Worlds next;
    StepLearner(w, &next);
    Arrive(w, &next);
    Cancel(w, &next);
    CloseByOperator(w, &next);
    EndProcess(w, &next);
    for (const World& n : next) {
      if (n.closed_by_operator && n.charged != w.charged) {
        checked.violation =
            "charged after the operator's close: " + Describe(n);
        return checked;
      }
      ++checked.transitions;
      before[n.Key()].push_back(here);
      if (seen.emplace(n.Key(), n).second) queue.push_back(n.Key());
    }
  }
  checked.states = seen.size();
  // From every state an end can be reached: no run is stuck.
  std::set<Key> reaches(good.begin(), good.end());
  while (!good.empty()) {
    const Key here = good.front();
    good.pop_front();
    for (const Key& from : before[here])
      if (reaches.insert(from).second) good.push_back(from);
  }
  for (const auto& [key, w] : seen) {
    if (reaches.contains(key)) continue;
    checked.violation = "a run is stuck: " + Describe(w);
    break;
  }
  return checked;
}

TEST(RunStateMachine, EveryInterleavingEndsSoundly) {
  for (const bool over_budget : {false, true}) {
    for (const int closes : {0, 1}) {
      World first;
      first.over_budget = over_budget;
      first.closes = closes;
      const Checked checked = CheckFrom(first);
      EXPECT_EQ(checked.violation, "");
      std::printf("run%s%s: %zu states, %zu transitions\n",
                  over_budget ? " over budget" : "",
                  closes > 0 ? ", the operator may close it" : "",
                  checked.states, checked.transitions);
      EXPECT_GT(checked.states, 100u);
    }
  }
}

}  // namespace
}  // namespace dpnmf
