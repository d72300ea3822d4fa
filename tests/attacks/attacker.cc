#include "tests/attacks/attacker.h"

#include <algorithm>
#include <atomic>

namespace dpnmf::curator {
namespace {

constexpr int kSlots = 3;

std::uint64_t NextSession() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

std::string RunId(std::uint64_t number, bool by_session) {
  std::string id(32, by_session ? 'a' : 'b');
  id[30] = static_cast<char>('0' + number / 10);
  id[31] = static_cast<char>('0' + number % 10);
  return id;
}

const char* OwnerOf(std::uint64_t run) { return run % 3 == 0 ? kBob : kAlice; }

}  // namespace

std::string Describe(const Attempt& attempt) {
  const char* const kinds[] = {"open", "ask", "find", "close"};
  return std::string(kinds[attempt.kind]) +
         (attempt.by_session() ? " by session " : " directly ") +
         std::to_string(attempt.session) + " " + attempt.identity + " " +
         attempt.run + " variant " + std::to_string(attempt.variant) +
         " round " + std::to_string(attempt.round) + " input " +
         std::to_string(attempt.choice);
}

Attacker::Attacker(AttackedCurator* curator, std::uint64_t seed, int runs)
    : curator_(curator),
      random_(seed),
      runs_(static_cast<std::uint64_t>(runs)),
      focus_(runs_),
      slots_(kSlots) {
  for (Slot& slot : slots_) Renew(&slot);
}

void Attacker::Renew(Slot* slot) {
  *slot = Slot();
  slot->identity = Below(3) == 0 ? kBob : kAlice;
  slot->session = NextSession();
}

void Attacker::DropSessions() {
  for (Slot& slot : slots_) Renew(&slot);
}

std::uint64_t Attacker::AnyRun() {
  return focus_ < runs_ && Below(2) == 0 ? focus_ : Below(runs_);
}

// Mostly what belongs to the run, so that calls get far; now and then not.
void Attacker::ChooseRun(Attempt* attempt) {
  const bool another = Below(12) == 0;
  std::uint64_t number = AnyRun();
  // A call other than an opening mostly goes to a run that there is.
  for (int more = 0; more < 8 && attempt->kind != Attempt::kOpen; ++more) {
    if (next_.contains(RunId(number, attempt->by_session()))) break;
    number = AnyRun();
  }
  if (!attempt->by_session()) {
    attempt->identity =
        another ? (Below(2) == 0 ? kBob : kAlice) : OwnerOf(number);
  } else if (!another) {
    while (OwnerOf(number) != attempt->identity) number = AnyRun();
  }
  attempt->run = RunId(number, attempt->by_session());
  attempt->variant = static_cast<int>((Below(12) == 0 ? Below(1'000) : number) %
                                      RunVariants().size());
}

void Attacker::ChooseRound(Attempt* attempt) {
  const auto known = next_.find(attempt->run);
  const std::uint32_t next = known == next_.end() ? 1 : known->second;
  const std::uint32_t last = attempt->parameters().parameters.rounds;
  attempt->round = std::min(next, last);
  if (Below(4) == 0)
    attempt->round = 1 + static_cast<std::uint32_t>(Below(last));
  if (Below(20) == 0) attempt->round = static_cast<std::uint32_t>(Below(8));
  attempt->choice = static_cast<int>(Below(4) == 0 ? Below(kInputChoices)
                                                   : attempt->round % 3);
}

Attempt Attacker::ThinkOfASession(int index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  if (Below(12) == 0) Renew(&slot);
  Attempt attempt;
  attempt.slot = index;
  attempt.session = slot.session;
  attempt.kind = !slot.opened     ? Attempt::kOpen
                 : Below(20) == 0 ? Attempt::kClose
                                  : Attempt::kAsk;
  if (Below(15) == 0) attempt.kind = static_cast<Attempt::Kind>(Below(2));
  attempt.identity = slot.identity;
  ChooseRun(&attempt);
  if (slot.opened && attempt.kind != Attempt::kOpen) {
    attempt.run = slot.run;
    attempt.variant = slot.variant;
  }
  ChooseRound(&attempt);
  return attempt;
}

Attempt Attacker::Think() {
  if (Below(2) == 0) return ThinkOfASession(static_cast<int>(Below(kSlots)));
  Attempt attempt;
  const std::uint64_t kind = Below(25);
  attempt.kind = kind < 5    ? Attempt::kOpen
                 : kind < 19 ? Attempt::kAsk
                 : kind < 24 ? Attempt::kFind
                             : Attempt::kClose;
  ChooseRun(&attempt);
  ChooseRound(&attempt);
  return attempt;
}

Attempt Attacker::ThinkWithTheOthers(Attempt::Kind kind,
                                     std::uint32_t round) const {
  Attempt attempt;
  attempt.kind = kind;
  attempt.identity = OwnerOf(focus_);
  attempt.run = RunId(focus_, false);
  attempt.variant = static_cast<int>(focus_ % RunVariants().size());
  attempt.round = round;
  return attempt;
}

Attempt Attacker::ThinkWithTheOthersBySession(Attempt::Kind kind,
                                              std::uint32_t round) {
  Slot& slot = slots_[0];
  Attempt attempt = ThinkWithTheOthers(kind, round);
  if (kind == Attempt::kOpen) {
    Renew(&slot);
    slot.identity = attempt.identity;
  }
  attempt.slot = 0;
  attempt.session = slot.session;
  attempt.identity = slot.identity;
  attempt.run = slot.opened ? slot.run : RunId(focus_, true);
  if (slot.opened) attempt.variant = slot.variant;
  return attempt;
}

std::string Attacker::EarlyCode(const Attempt& attempt) const {
  if (!attempt.by_session()) return "";
  const Slot& slot = slots_[static_cast<std::size_t>(attempt.slot)];
  if (attempt.kind == Attempt::kOpen) {
    if (slot.opened) return "session-opened";
    const bool hidden = attempt.identity == kBob &&
                        attempt.parameters().parameters.dataset == "third";
    return hidden ? "dataset-unknown" : "";
  }
  if (!slot.opened) return "session-not-opened";
  if (attempt.kind == Attempt::kClose) return "";
  if (attempt.round < 1 ||
      attempt.round > attempt.parameters().parameters.rounds) {
    return "round-out-of-range";
  }
  return InputOf(attempt.parameters(), attempt.round, attempt.choice).code;
}

Answer Attacker::Do(const Attempt& attempt) {
  if (attempt.by_session()) return DoBySession(attempt);
  switch (attempt.kind) {
    case Attempt::kOpen:
      return curator_->Open(attempt.identity, attempt.run,
                            attempt.parameters());
    case Attempt::kAsk:
      return curator_->Ask(attempt.identity, attempt.run, attempt.parameters(),
                           attempt.round, attempt.choice);
    case Attempt::kFind:
      return curator_->Find(attempt.identity, attempt.run, attempt.parameters(),
                            attempt.round, attempt.choice);
    case Attempt::kClose:
      return curator_->Close(attempt.identity, attempt.run);
  }
  return Answer();
}

Answer Attacker::DoBySession(const Attempt& attempt) {
  Slot& slot = slots_[static_cast<std::size_t>(attempt.slot)];
  if (slot.stream == nullptr) {
    slot.stream =
        std::make_unique<Session>(curator_->NewSession(slot.identity));
  }
  Answer answer;
  if (attempt.kind == Attempt::kOpen) {
    const auto opened =
        slot.stream->Open(attempt.run, attempt.parameters().parameters);
    answer.code = ReasonCode(opened.status());
    if (!opened.ok()) return answer;
    answer.next_round = opened->next_round;
    slot.opened = true;
    slot.run = attempt.run;
    slot.variant = attempt.variant;
    return answer;
  }
  if (attempt.kind == Attempt::kClose) {
    const auto returned = slot.stream->Close();
    answer.code = ReasonCode(returned.status());
    if (returned.ok()) answer.returned = returned->units();
    return answer;
  }
  return AnswerOf(slot.stream->Round(
      attempt.round,
      InputOf(attempt.parameters(), attempt.round, attempt.choice).input));
}

}  // namespace dpnmf::curator
