#include "analyst/curators/federated_curator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/curators/receipt_check.h"
#include "common/base/error.h"
#include "common/log/log.h"
#include "common/threads/parallel.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"
#include "common/wire/status.h"

namespace dpnmf::analyst {

namespace {

absl::Status FederationUnknown() {
  return Refusal(absl::StatusCode::kUnimplemented, "federation-unknown",
                 "This connection does not belong to a federation; this is a "
                 "fault of the program.");
}

// A sequence number that no row reaches: the totals alone are wanted.
constexpr std::uint64_t kNoRows = INT64_MAX;

// Calls work(i) for every member at once. The first refusal of a call, else the
// first failure: what is refused is not mended by another attempt.
absl::Status OnEveryMember(
    std::size_t members, const std::function<absl::Status(std::size_t)>& work) {
  std::vector<absl::Status> results(members);
  ParallelFor(members, static_cast<int>(members),
              [&](std::size_t i, int) { results[i] = work(i); });
  absl::Status failure;
  for (const absl::Status& status : results) {
    if (status.ok()) continue;
    if (failure.ok() || IsConnectionFailure(failure)) failure = status;
  }
  return failure;
}

struct Least {
  std::size_t member = 0;
  v1::LedgerPosition position;
};

// The position of the member with the least left, as the federation's: with its
// name, and the first member's chain.
absl::StatusOr<Least> LeastOf(const std::string& name,
                              const std::vector<v1::LedgerPosition>& all) {
  Least least;
  MuSquared room;
  for (std::size_t i = 0; i < all.size(); ++i) {
    DPNMF_ASSIGN_OR_RETURN(const MuSquared own, RoomOf(all[i]));
    if (i > 0 && own >= room) continue;
    room = own;
    least.member = i;
  }
  least.position = all[least.member];
  least.position.set_population(name);
  least.position.set_row_count(all[0].row_count());
  least.position.set_head(all[0].head());
  for (const v1::LedgerPosition& position : all) {
    if (!position.has_void_since()) continue;
    if (!least.position.has_void_since() ||
        position.void_since() < least.position.void_since()) {
      least.position.set_void_since(position.void_since());
    }
  }
  return least;
}

class FederatedStream final : public RunStream {
 public:
  FederatedStream(const Federation* federation,
                  std::vector<std::unique_ptr<RunStream>> streams)
      : federation_(*federation), streams_(std::move(streams)) {}

  std::optional<Trace> trace() const override {
    return streams_.front()->trace();
  }

  absl::StatusOr<OpenedRun> Open(const std::string& run_id,
                                 const v1::RunParameters& parameters) override {
    run_id_ = run_id;
    DPNMF_RETURN_IF_ERROR(PlanShares(parameters));
    std::vector<OpenedRun> opened(streams_.size());
    std::vector<absl::Status> results(streams_.size());
    DPNMF_RETURN_IF_ERROR(OnEveryMember(streams_.size(), [&](std::size_t i) {
      auto one = streams_[i]->Open(run_id, parameters);
      results[i] = one.status();
      if (one.ok()) opened[i] = *std::move(one);
      // Closed at one curator: the others are closed too, below.
      return ReasonCode(results[i]) == "run-closed" ? absl::OkStatus()
                                                    : results[i];
    }));
    DPNMF_RETURN_IF_ERROR(CloseWithTheOthers(results));
    OpenedRun all;
    all.next_round = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < opened.size(); ++i) {
      DPNMF_RETURN_IF_ERROR(CheckOpened(i, opened[i]));
      all.next_round = std::min(all.next_round, opened[i].next_round);
      positions_.push_back(opened[i].ledger);
    }
    all.users = facts_.users;
    DPNMF_ASSIGN_OR_RETURN(
        all.plan, dpnmf::ToProto(SumOfShares(share_, federation_.size()),
                                 parameters_, facts_));
    DPNMF_ASSIGN_OR_RETURN(const Least least,
                           LeastOf(federation_.name, positions_));
    all.ledger = least.position;
    all.keys_checked = true;
    return all;
  }

  absl::StatusOr<RoundResult> Round(std::uint32_t round,
                                    const RoundInput& input) override {
    std::vector<FederationOffer> offers(streams_.size());
    DPNMF_RETURN_IF_ERROR(
        OnEveryMember(streams_.size(), [&](std::size_t i) -> absl::Status {
          DPNMF_ASSIGN_OR_RETURN(offers[i], streams_[i]->Offer(round, input));
          return absl::OkStatus();
        }));
    DPNMF_ASSIGN_OR_RETURN(const std::vector<ExchangePublicKey> keys,
                           CheckOffered(round, offers));
    std::vector<RoundResult> results(streams_.size());
    DPNMF_RETURN_IF_ERROR(
        OnEveryMember(streams_.size(), [&](std::size_t i) -> absl::Status {
          DPNMF_ASSIGN_OR_RETURN(results[i],
                                 streams_[i]->Contribute(round, offers));
          return CheckResult(i, round, input, keys, &results[i]);
        }));
    return Sum(round, std::move(results));
  }

  absl::StatusOr<ClosedRun> Close() override {
    std::vector<ClosedRun> closed(streams_.size());
    DPNMF_RETURN_IF_ERROR(
        OnEveryMember(streams_.size(), [&](std::size_t i) -> absl::Status {
          DPNMF_ASSIGN_OR_RETURN(closed[i], streams_[i]->Close());
          return absl::OkStatus();
        }));
    for (std::size_t i = 0; i < closed.size(); ++i)
      positions_[i] = closed[i].ledger;
    DPNMF_ASSIGN_OR_RETURN(const Least least,
                           LeastOf(federation_.name, positions_));
    return ClosedRun{closed[least.member].returned, least.position};
  }

  void Cancel() override {
    for (const auto& stream : streams_) stream->Cancel();
  }

 private:
  // Computes the share that every curator must plan and draw.
  absl::Status PlanShares(const v1::RunParameters& parameters) {
    facts_ = FactsOf(federation_);
    DPNMF_ASSIGN_OR_RETURN(parameters_, FromProto(parameters));
    DPNMF_RETURN_IF_ERROR(CheckFederatedMechanism(parameters_.mechanism));
    DPNMF_ASSIGN_OR_RETURN(RunPlan whole, PlanRun(parameters_, facts_));
    DPNMF_ASSIGN_OR_RETURN(share_,
                           ShareOfPlan(std::move(whole), federation_.adjacency,
                                       federation_.shares()));
    DPNMF_ASSIGN_OR_RETURN(share_message_,
                           dpnmf::ToProto(share_, parameters_, facts_));
    share_message_.clear_epsilons();
    return absl::OkStatus();
  }

  // A run that is closed at one curator is over: what it has reserved at the
  // others is given back.
  absl::Status CloseWithTheOthers(const std::vector<absl::Status>& opened) {
    absl::Status closed;
    for (const absl::Status& status : opened)
      if (!status.ok()) closed = status;
    if (closed.ok()) return closed;
    DPNMF_RETURN_IF_ERROR(OnEveryMember(streams_.size(), [&](std::size_t i) {
      return opened[i].ok() ? streams_[i]->Close().status() : absl::OkStatus();
    }));
    return closed;
  }

  absl::Status CheckOpened(std::size_t i, const OpenedRun& opened) const {
    const FederationMember& member = federation_.members[i];
    const std::string pinned(member.receipt_key.begin(),
                             member.receipt_key.end());
    if (opened.receipt_key != pinned) {
      return Refusal(absl::StatusCode::kFailedPrecondition,
                     "receipt-key-changed",
                     absl::StrCat("The curator `", member.name,
                                  "` signs with another key than "
                                  "federation.json has for it; ask its "
                                  "operator."));
    }
    // Epsilons are readings, whose last digits follow from the machine.
    v1::RunPlan plan = opened.plan;
    plan.clear_epsilons();
    if (opened.users == facts_.users &&
        plan.SerializeAsString() == share_message_.SerializeAsString()) {
      return absl::OkStatus();
    }
    return Refusal(absl::StatusCode::kInvalidArgument, "plan-differs",
                   absl::StrCat("The curator `", member.name,
                                "` plans another run than federation.json "
                                "says; give the same file to everybody."));
  }

  // Checks the offers as every curator will: a refusal here costs nothing.
  absl::StatusOr<std::vector<ExchangePublicKey>> CheckOffered(
      std::uint32_t round, const std::vector<FederationOffer>& offers) const {
    OfferedRound expected = offers.front().round;
    expected.federation = federation_.sha256;
    expected.run_id = run_id_;
    expected.round = round;
    expected.plan = HashOf(share_);
    expected.members = MembersOf(federation_);
    return CheckOffers(federation_, expected, offers);
  }

  absl::Status CheckResult(std::size_t i, std::uint32_t round,
                           const RoundInput& input,
                           const std::vector<ExchangePublicKey>& keys,
                           RoundResult* result) const {
    const FederationMember& member = federation_.members[i];
    if (!result->receipt.has_value()) {
      return Refusal(absl::StatusCode::kDataLoss, "receipt-missing",
                     absl::StrCat("The curator `", member.name,
                                  "` gave no receipt for round ", round,
                                  "; its release is not used. Contact its "
                                  "operator."));
    }
    const v1::Receipt& receipt = *result->receipt;
    DPNMF_RETURN_IF_ERROR(CheckReceipt(receipt));
    if (KeyOf(receipt) != member.receipt_key || receipt.run_id() != run_id_ ||
        receipt.dataset() != federation_.name || receipt.round() != round ||
        receipt.row_hash() != result->row_hash ||
        receipt.charged().units() != result->cost.UnitsText()) {
      return Refusal(absl::StatusCode::kDataLoss, "receipt-invalid",
                     absl::StrCat("The receipt of the curator `", member.name,
                                  "` is for a different round, or from another "
                                  "key. Contact its operator."));
    }
    if (result->lost) return absl::OkStatus();
    const v1::RunParameters canonical = dpnmf::ToProto(parameters_);
    const v1::StagePlan stage = dpnmf::ToProto(share_.StageOf(round), facts_);
    const Digest digest = DigestOfRelease(
        {&canonical, &stage, facts_.users, input.rows, input.numbers, &input.w},
        result->parts);
    if (receipt.release_sha256() != std::string(digest.begin(), digest.end()) ||
        KeysIn(result->parts, federation_.size()) != keys) {
      return ReleaseDiffers();
    }
    result->parts.pop_back();  // the keys
    return absl::OkStatus();
  }

  absl::StatusOr<RoundResult> Sum(std::uint32_t round,
                                  std::vector<RoundResult> results) {
    RoundResult sum;
    sum.receipts_checked = true;
    sum.cost = results.front().cost;
    sum.row_hash = results.front().row_hash;
    sum.receipt = results.front().receipt;
    for (std::size_t i = 0; i < results.size(); ++i) {
      positions_[i] = results[i].ledger;
      sum.lost = sum.lost || results[i].lost;
      if (i > 0) sum.other_receipts.push_back(*results[i].receipt);
    }
    DPNMF_ASSIGN_OR_RETURN(const Least least,
                           LeastOf(federation_.name, positions_));
    sum.ledger = least.position;
    if (sum.lost) return sum;
    sum.parts = std::move(results.front().parts);
    for (std::size_t i = 1; i < results.size(); ++i)
      DPNMF_RETURN_IF_ERROR(Add(results[i].parts, &sum.parts));
    DPNMF_RETURN_IF_ERROR(CheckSum(share_.StageOf(round), sum.parts));
    return sum;
  }

  static absl::Status Add(const std::vector<NoisedMatrix>& more,
                          std::vector<NoisedMatrix>* sum) {
    if (more.size() != sum->size()) return SumMalformed();
    for (std::size_t p = 0; p < more.size(); ++p) {
      const NoisedMatrix& from = more[p];
      NoisedMatrix& to = (*sum)[p];
      if (from.name != to.name || from.rows != to.rows ||
          from.columns != to.columns || from.symmetric != to.symmetric ||
          from.step_exponent != to.step_exponent || !from.is_lattice ||
          !to.is_lattice || from.lattice.size() != to.lattice.size()) {
        return SumMalformed();
      }
      // Masks cancel modulo 2^64.
      for (std::size_t e = 0; e < from.lattice.size(); ++e) {
        to.lattice[e] = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(to.lattice[e]) +
            static_cast<std::uint64_t>(from.lattice[e]));
      }
    }
    return absl::OkStatus();
  }

  // No entry exceeds what all people can add, |x y| <= |x| |y| each, and 64
  // standard deviations; masks that do not cancel would leave numbers of any
  // size.
  absl::Status CheckSum(const StagePlan& stage,
                        const std::vector<NoisedMatrix>& parts) const {
    if (parts.size() != stage.parts.size()) return SumMalformed();
    const auto people = static_cast<double>(LargestUserCount(facts_));
    const double members = std::sqrt(static_cast<double>(federation_.size()));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const PartPlan& plan = stage.parts[p];
      if (parts[p].name != plan.name || parts[p].rows != plan.rows ||
          parts[p].columns != plan.columns ||
          parts[p].symmetric != plan.symmetric ||
          parts[p].step_exponent != plan.step_exponent ||
          parts[p].lattice.size() !=
              EntryCount(plan.rows, plan.columns, plan.symmetric)) {
        return SumMalformed();
      }
      const double stddev = static_cast<double>(
          std::max(plan.stddev_steps, plan.diagonal_stddev_steps));
      const double most =
          people * std::sqrt(static_cast<double>(plan.left_norm_steps) *
                             static_cast<double>(plan.right_norm_steps)) +
          64 * members * stddev;
      for (const std::int64_t entry : parts[p].lattice) {
        if (!(std::abs(static_cast<double>(entry)) <= most))
          return SumMalformed();
      }
    }
    return absl::OkStatus();
  }

  static absl::Status SumMalformed() {
    return Refusal(absl::StatusCode::kDataLoss, "federation-sum-malformed",
                   "The sum of the curators' releases is not one that the plan "
                   "allows, so a curator sent something else; it is not used. "
                   "Contact the curators' operators.");
  }

  const Federation& federation_;
  const std::vector<std::unique_ptr<RunStream>> streams_;
  std::string run_id_;
  RunParameters parameters_;
  DatasetFacts facts_;
  RunPlan share_;
  v1::RunPlan share_message_;
  std::vector<v1::LedgerPosition> positions_;  // of each member, latest
};

class FederatedCurator final : public CuratorConnection {
 public:
  FederatedCurator(std::unique_ptr<CuratorConnection> plain,
                   Federation federation,
                   std::vector<std::unique_ptr<CuratorConnection>> members)
      : plain_(std::move(plain)),
        federation_(std::move(federation)),
        members_(std::move(members)) {}

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    v1::ListDatasetsReply reply;
    if (plain_ != nullptr) {
      DPNMF_ASSIGN_OR_RETURN(reply, plain_->ListDatasets());
    } else if (const auto first = members_.front()->ListDatasets();
               first.ok()) {
      reply.set_version(first->version());
    }
    *reply.add_datasets() = Described();
    return reply;
  }

  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override {
    if (dataset == federation_.name || plain_ == nullptr) {
      return Refusal(absl::StatusCode::kFailedPrecondition, "items-none",
                     "A federation has no list of features: request the list "
                     "of one curator's data set.");
    }
    return plain_->ListItems(dataset, first);
  }

  absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) override {
    if (dataset != federation_.name) {
      if (plain_ == nullptr) return DatasetUnknown();
      return plain_->GetLedger(dataset, after_sequence);
    }
    DPNMF_ASSIGN_OR_RETURN(std::vector<v1::GetLedgerReply> ledgers,
                           Ledgers(after_sequence));
    std::vector<v1::LedgerPosition> positions;
    for (const v1::GetLedgerReply& ledger : ledgers)
      positions.push_back(ledger.position());
    DPNMF_ASSIGN_OR_RETURN(const Least least,
                           LeastOf(federation_.name, positions));
    v1::GetLedgerReply reply = std::move(ledgers.front());
    if (least.member > 0)
      *reply.mutable_guarantee() = ledgers[least.member].guarantee();
    *reply.mutable_position() = least.position;
    return reply;
  }

  std::unique_ptr<RunStream> NewStream() override {
    return NewStreamFor(federation_.name);
  }

  std::unique_ptr<RunStream> NewStreamFor(const std::string& dataset) override {
    if (dataset != federation_.name && plain_ != nullptr)
      return plain_->NewStreamFor(dataset);
    std::vector<std::unique_ptr<RunStream>> streams;
    for (const auto& member : members_) streams.push_back(member->NewStream());
    return std::make_unique<FederatedStream>(&federation_, std::move(streams));
  }

  absl::StatusOr<std::vector<v1::MemberBudget>> MemberBudgets(
      const std::string& dataset) override {
    std::vector<v1::MemberBudget> budgets;
    if (dataset != federation_.name) return budgets;
    DPNMF_ASSIGN_OR_RETURN(const std::vector<v1::GetLedgerReply> ledgers,
                           Ledgers(kNoRows));
    for (std::size_t i = 0; i < ledgers.size(); ++i) {
      v1::MemberBudget budget;
      budget.set_curator(federation_.members[i].name);
      *budget.mutable_guarantee() = ledgers[i].guarantee();
      *budget.mutable_position() = ledgers[i].position();
      *budget.mutable_own_charged() = ledgers[i].own_charged();
      budget.set_own_charge_count(ledgers[i].own_charge_count());
      budgets.push_back(std::move(budget));
    }
    return budgets;
  }

 private:
  static absl::Status DatasetUnknown() {
    return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                   "The curator offers no data set with that name to this "
                   "analyst; `dpnmf datasets` lists them.");
  }

  // Ledgers of all members; rows of the first member only.
  absl::StatusOr<std::vector<v1::GetLedgerReply>> Ledgers(
      std::uint64_t after_sequence) {
    std::vector<v1::GetLedgerReply> ledgers(members_.size());
    DPNMF_RETURN_IF_ERROR(
        OnEveryMember(members_.size(), [&](std::size_t i) -> absl::Status {
          DPNMF_ASSIGN_OR_RETURN(
              ledgers[i],
              members_[i]->GetLedger(federation_.name,
                                     i == 0 ? after_sequence : kNoRows));
          return absl::OkStatus();
        }));
    return ledgers;
  }

  // Data set of federation.json; the guarantee is that of the curator with the
  // least left, and only a relation and a conversion while one is away.
  v1::Dataset Described() {
    const DatasetFacts facts = FactsOf(federation_);
    v1::Dataset dataset;
    dataset.set_name(federation_.name);
    dataset.set_population(federation_.name);
    dataset.set_features(facts.features);
    dataset.set_users(facts.users);
    dataset.set_normalisation(federation_.normalisation == "l2"
                                  ? v1::NORMALISATION_L2
                                  : v1::NORMALISATION_NONE);
    dataset.set_column_bound(facts.column_bound);
    dataset.set_max_rank(facts.max_rank);
    dataset.set_max_rounds(facts.max_rounds);
    v1::FederationFacts& shares = *dataset.mutable_federation();
    shares.set_members(federation_.size());
    shares.set_colluders(federation_.colluders);
    shares.set_copies(federation_.copies);
    const auto ledger = GetLedger(federation_.name, kNoRows);
    if (ledger.ok()) {
      *dataset.mutable_guarantee() = ledger->guarantee();
    } else {
      LogWarning("a curator of federation {} is away: {}", federation_.name,
                 std::string(ledger.status().message()));
    }
    dataset.mutable_guarantee()->set_adjacency(
        dpnmf::ToProto(federation_.adjacency));
    dataset.mutable_guarantee()->set_conversion(
        dpnmf::ToProto(federation_.conversion));
    return dataset;
  }

  const std::unique_ptr<CuratorConnection> plain_;
  const Federation federation_;
  const std::vector<std::unique_ptr<CuratorConnection>> members_;
};

}  // namespace

absl::StatusOr<FederationOffer> RunStream::Offer(std::uint32_t,
                                                 const RoundInput&) {
  return FederationUnknown();
}

absl::StatusOr<RoundResult> RunStream::Contribute(
    std::uint32_t, const std::vector<FederationOffer>&) {
  return FederationUnknown();
}

std::unique_ptr<CuratorConnection> FederateCurators(
    std::unique_ptr<CuratorConnection> plain, Federation federation,
    std::vector<std::unique_ptr<CuratorConnection>> members) {
  return std::make_unique<FederatedCurator>(
      std::move(plain), std::move(federation), std::move(members));
}

}  // namespace dpnmf::analyst
