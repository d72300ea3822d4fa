#include "analyst/planning/budget.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/planning/epsilon_text.h"
#include "analyst/planning/planner.h"
#include "analyst/store/run_states.h"
#include "common/base/error.h"
#include "common/wire/convert.h"

namespace dpnmf::analyst {
namespace {

// Orders of the cumulative Renyi curve, as in common accountants.
constexpr double kOrders[] = {1.25, 1.5, 1.75, 2,   2.25, 2.5, 3,
                              3.5,  4,   4.5,  5,   6,    8,   16,
                              32,   64,  128,  256, 512,  1024};

// More pages than any record has: a curator that never ends is an error.
constexpr int kMaxPages = 100'000;

std::string RoundName(const std::string& run_id, std::uint32_t round) {
  return absl::StrCat("round ", round, " of run ", run_id);
}

absl::Status RecordMalformed() {
  return Refusal(
      absl::StatusCode::kInternal, "record-malformed",
      "The curator's ledger reply cannot be read; both sides must run the same "
      "version.");
}

absl::StatusOr<MuSquared> TotalOf(const std::vector<MirroredCharge>& charges) {
  MuSquared total;
  for (const MirroredCharge& charge : charges) {
    const std::optional<MuSquared> sum = MuSquared::Add(total, charge.cost);
    if (!sum.has_value()) {
      return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                     "The mirror's charges are out of range; restore the state "
                     "directory.");
    }
    total = *sum;
  }
  return total;
}

// A chain that is shorter than it once was, or another one of the same length.
std::string ChainFault(const MirrorView& before,
                       const v1::LedgerPosition& position) {
  if (position.row_count() < before.row_count) {
    return absl::StrCat(
        "The curator's ledger has ", position.row_count(),
        " rows and once had ", before.row_count,
        ": it was rolled back. Contact the curator's operator.");
  }
  if (position.row_count() == before.row_count &&
      position.head() != before.head) {
    return "The curator's ledger has a different chain head than it had before "
           "at the same length: it was replaced. Contact the curator's "
           "operator.";
  }
  return "";
}

// The record's charges must add up to what it says they do.
std::string TotalsFault(const Record& record) {
  MuSquared total;
  for (const v1::LedgerCharge& charge : record.charges) {
    const auto cost = FromProto(charge.charged());
    const auto sum = cost.ok() ? MuSquared::Add(total, *cost) : std::nullopt;
    if (!sum.has_value()) return "A charge in the record cannot be read.";
    total = *sum;
  }
  const auto said = FromProto(record.totals.own_charged());
  if (!said.ok() || *said != total ||
      record.totals.own_charge_count() != record.charges.size()) {
    return "The record's own rows do not add up to its totals. Contact the "
           "curator's operator.";
  }
  return "";
}

std::string MissingInRecord(const MirrorView& before, const Record& record) {
  std::map<std::string, std::string> cost_of_hash;
  for (const v1::LedgerCharge& charge : record.charges) {
    cost_of_hash[charge.row_hash()] = charge.charged().units();
  }
  for (const MirroredCharge& mine : before.charges) {
    const auto found = cost_of_hash.find(mine.row_hash);
    if (found == cost_of_hash.end()) {
      return absl::StrCat(
          "The record lacks the charge of ", RoundName(mine.run_id, mine.round),
          ", which this analyst has recorded. Contact the curator's operator.");
    }
    if (found->second != mine.cost.UnitsText()) {
      return absl::StrCat("The record has a different cost for ",
                          RoundName(mine.run_id, mine.round),
                          ". Contact the curator's operator.");
    }
  }
  return "";
}

std::string MissingInMirror(const Record& record, const MirrorView& after,
                            const std::vector<OpenRound>& open_rounds) {
  std::set<std::string> mirrored;
  for (const MirroredCharge& mine : after.charges)
    mirrored.insert(mine.row_hash);
  std::set<std::pair<std::string, std::uint32_t>> explained;
  for (const OpenRound& open : open_rounds)
    explained.insert({open.run_id, open.round});
  std::size_t unknown = 0;
  std::string first;
  for (const v1::LedgerCharge& charge : record.charges) {
    if (mirrored.contains(charge.row_hash()) ||
        explained.contains({charge.run_id(), charge.round()})) {
      continue;
    }
    if (unknown++ == 0) first = RoundName(charge.run_id(), charge.round());
  }
  if (unknown == 0) return "";
  return absl::StrCat(
      "The record contains ", unknown, unknown == 1 ? " charge" : " charges",
      " that this analyst has not ", "recorded, the first for ", first,
      ": another state directory made them, or the certificate "
      "is also used elsewhere.");
}

// Rounds of deleted runs, whose charges stay in the mirror.
absl::StatusOr<std::vector<OpenRound>> ForgottenRounds(RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const auto runs, store->ForgottenRuns());
  std::vector<OpenRound> rounds;
  for (const auto& [run_id, last_round] : runs)
    rounds.push_back({run_id, last_round + 1, true});
  return rounds;
}

absl::StatusOr<std::vector<OpenRound>> OpenRoundsOf(RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<RunRecord> records, store->List());
  std::vector<OpenRound> rounds;
  for (const RunRecord& record : records) {
    const v1::Run& run = record.run;
    if (IsFittedHere(run)) continue;  // the curator knows none of them
    rounds.push_back(
        {run.run_id(), run.rounds_done() + 1, IsFinal(run.state())});
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<OpenRound> forgotten,
                         ForgottenRounds(store));
  rounds.insert(rounds.end(), forgotten.begin(), forgotten.end());
  return rounds;
}

void AddCharges(const std::vector<v1::LedgerCharge>& charges,
                google::protobuf::RepeatedPtrField<v1::UnmirroredCharge>* to) {
  for (const v1::LedgerCharge& charge : charges) {
    v1::UnmirroredCharge* const added = to->Add();
    added->set_run_id(charge.run_id());
    added->set_round(charge.round());
    *added->mutable_charged() = charge.charged();
  }
}

absl::Status AddReadings(v1::GetBudgetReply* reply) {
  DPNMF_ASSIGN_OR_RETURN(const MuSquared cap,
                         FromProto(reply->guarantee().cap()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged,
                         FromProto(reply->record().charged()));
  DPNMF_ASSIGN_OR_RETURN(
      const MuSquared own,
      FromProto(reply->has_own_charged_here() ? reply->own_charged_here()
                                              : reply->own_charged()));
  const double delta = reply->guarantee().delta();
  DPNMF_ASSIGN_OR_RETURN(*reply->mutable_cap_epsilons(),
                         EpsilonsOf(cap, delta));
  DPNMF_ASSIGN_OR_RETURN(*reply->mutable_charged_epsilons(),
                         EpsilonsOf(charged, delta));
  DPNMF_ASSIGN_OR_RETURN(*reply->mutable_own_epsilons(),
                         EpsilonsOf(own, delta));
  for (const double order : kOrders) {
    v1::RdpPoint* point = reply->add_rdp_curve();
    point->set_order(order);
    point->set_epsilon(RdpAtOrder(charged, order));
  }
  DPNMF_ASSIGN_OR_RETURN(
      const double largest_run,
      LargestRunOf(reply->guarantee(), reply->record(), delta));
  reply->set_largest_run(largest_run);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Record> ReadRecord(CuratorConnection* curator,
                                  const std::string& dataset) {
  Record record;
  std::uint64_t after = 0;
  for (int page = 0; page < kMaxPages; ++page) {
    DPNMF_ASSIGN_OR_RETURN(record.totals, curator->GetLedger(dataset, after));
    for (const v1::LedgerCharge& charge : record.totals.own_charges()) {
      if (charge.sequence() <= after) return RecordMalformed();
      after = charge.sequence();
      record.charges.push_back(charge);
    }
    if (!record.totals.more()) return record;
    if (record.totals.own_charges().empty()) return RecordMalformed();
  }
  return RecordMalformed();
}

Unmirrored ExplainedCharges(const Record& record, const MirrorView& after,
                            const std::vector<OpenRound>& open_rounds) {
  std::set<std::string> mirrored;
  for (const MirroredCharge& mine : after.charges)
    mirrored.insert(mine.row_hash);
  Unmirrored result;
  for (const v1::LedgerCharge& charge : record.charges) {
    if (mirrored.contains(charge.row_hash())) continue;
    for (const OpenRound& open : open_rounds) {
      if (open.run_id != charge.run_id() || open.round != charge.round())
        continue;
      (open.ended ? result.never_fetched : result.under_way).push_back(charge);
      break;
    }
  }
  return result;
}

std::string Disagreement(const MirrorView& before, const Record& record,
                         const MirrorView& after,
                         const std::vector<OpenRound>& open_rounds) {
  if (std::string fault = ChainFault(before, record.totals.position());
      !fault.empty()) {
    return fault;
  }
  if (std::string fault = TotalsFault(record); !fault.empty()) return fault;
  if (std::string fault = MissingInRecord(before, record); !fault.empty())
    return fault;
  return MissingInMirror(record, after, open_rounds);
}

absl::StatusOr<v1::GetBudgetReply> ReadBudget(const std::string& dataset,
                                              CuratorConnection* curator,
                                              RunStore* store) {
  DPNMF_ASSIGN_OR_RETURN(const v1::Dataset facts,
                         FindDataset(curator, dataset));
  DPNMF_ASSIGN_OR_RETURN(const MirrorView before,
                         store->Mirror(facts.population()));
  DPNMF_ASSIGN_OR_RETURN(const Record record, ReadRecord(curator, dataset));
  // Open rounds first: a round that ends in between is then in the mirror.
  DPNMF_ASSIGN_OR_RETURN(const std::vector<OpenRound> open_rounds,
                         OpenRoundsOf(store));
  DPNMF_ASSIGN_OR_RETURN(const MirrorView after,
                         store->Mirror(facts.population()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared mirrored, TotalOf(after.charges));

  v1::GetBudgetReply reply;
  *reply.mutable_guarantee() = record.totals.guarantee();
  *reply.mutable_record() = record.totals.position();
  *reply.mutable_own_charged() = record.totals.own_charged();
  reply.set_own_charge_count(record.totals.own_charge_count());
  if (record.totals.has_own_charged_here())
    *reply.mutable_own_charged_here() = record.totals.own_charged_here();
  v1::MirrorPosition& mirror = *reply.mutable_mirror();
  *mirror.mutable_charged() = ToProto(mirrored);
  mirror.set_charge_count(after.charges.size());
  mirror.set_row_count(after.row_count);
  mirror.set_head(after.head);
  reply.set_disagreement(Disagreement(before, record, after, open_rounds));
  reply.set_agree(reply.disagreement().empty());
  const Unmirrored unmirrored = ExplainedCharges(record, after, open_rounds);
  AddCharges(unmirrored.under_way, reply.mutable_under_way());
  AddCharges(unmirrored.never_fetched, reply.mutable_never_fetched());
  DPNMF_RETURN_IF_ERROR(AddReadings(&reply));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<v1::MemberBudget> members,
                         curator->MemberBudgets(dataset));
  reply.mutable_members()->Add(members.begin(), members.end());
  return reply;
}

}  // namespace dpnmf::analyst
