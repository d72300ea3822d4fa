// Rounds of a federation (docs/reference/federation.md): offer, then
// contribution.
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/base/error.h"
#include "curator/federation/masks.h"
#include "curator/session/session.h"

namespace dpnmf::curator {
namespace {

// mu^2 of all rounds if all other curators collude.
absl::StatusOr<MuSquared> WholeCostOfOthers(const Membership& membership,
                                            const RunPlan& plan) {
  MuSquared whole;
  for (const StagePlan& stage : plan.stages) {
    DPNMF_ASSIGN_OR_RETURN(const MuSquared round,
                           membership.CostIfOthersCollude(stage));
    const auto all = MuSquared::Multiply(round, stage.rounds);
    const auto sum =
        all.has_value() ? MuSquared::Add(whole, *all) : std::nullopt;
    if (!sum.has_value()) {
      return Refusal(absl::StatusCode::kResourceExhausted, "budget-exhausted",
                     "The run costs more than any budget; ask for a smaller "
                     "epsilon or fewer rounds.");
    }
    whole = *sum;
  }
  return whole;
}

absl::Status FederatedSessionNotOpened() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "session-not-opened",
                 "No run of a federation is open: open the run before asking "
                 "for a round.");
}

}  // namespace

absl::Status Session::PlanFederated(const RunParameters& parameters,
                                    Run* run) const {
  const Membership& membership = *context_.membership;
  run->federated = true;
  run->facts = membership.Facts(run->facts.population);
  DPNMF_RETURN_IF_ERROR(CheckFederatedMechanism(parameters.mechanism));
  DPNMF_ASSIGN_OR_RETURN(RunPlan whole, PlanRun(parameters, run->facts));
  DPNMF_ASSIGN_OR_RETURN(run->plan, membership.ShareOf(std::move(whole)));
  return absl::OkStatus();
}

absl::StatusOr<RunOpening> Session::OthersOpening(const RunOpening& opening,
                                                  const RunPlan& plan,
                                                  const Grant& grant) const {
  RunOpening others = opening;
  others.run_id = Membership::OthersRun(opening.run_id);
  others.population = Membership::OthersPopulation(opening.population);
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         context_.ledger->Policy(others.population));
  DPNMF_ASSIGN_OR_RETURN(others.identity_cap, IdentityCap(grant, policy));
  DPNMF_ASSIGN_OR_RETURN(others.cost,
                         WholeCostOfOthers(*context_.membership, plan));
  return others;
}

absl::Status Session::OpenOthers(const RunOpening& opening, const RunPlan& plan,
                                 const Grant& grant,
                                 const absl::StatusOr<OpenedRun>& first) const {
  Ledger& ledger = *context_.ledger;
  // Closes a run: no more is charged, and nothing may stay reserved.
  const auto close = [&](const std::string& run_id) {
    ledger.CloseRun(opening.identity, run_id).IgnoreError();
    context_.membership->keys().Forget(opening.identity, opening.run_id);
  };
  if (!first.ok()) {
    // Closed in the first account, here or by the operator.
    if (ReasonCode(first.status()) == "run-closed")
      close(Membership::OthersRun(opening.run_id));
    return first.status();
  }
  const auto others = OthersOpening(opening, plan, grant);
  const absl::Status opened =
      others.ok() ? ledger.OpenRun(*others).status() : others.status();
  if (opened.ok()) return opened;
  // A disk failure is not a refusal: the run stays open in the first account,
  // and the analyst can open it again.
  const bool refused_unspent =
      first->next_round == 1 && !absl::IsUnavailable(opened);
  if (ReasonCode(opened) == "run-closed" || refused_unspent)
    close(opening.run_id);
  return opened;
}

absl::StatusOr<Charge> Session::ChargeOfOthers(std::uint32_t round,
                                               const Digest& request) const {
  Charge charge;
  charge.identity = run_->identity;
  charge.run_id = Membership::OthersRun(run_->id);
  charge.round = round;
  charge.request_hash = request;
  DPNMF_ASSIGN_OR_RETURN(charge.cost, context_.membership->CostIfOthersCollude(
                                          run_->plan.StageOf(round)));
  return charge;
}

OfferedRound Session::RoundOffered(std::uint32_t round,
                                   const Digest& request) const {
  return context_.membership->RoundOf(run_->identity, run_->id, round,
                                      run_->plan, request);
}

absl::StatusOr<FederationOffer> Session::Offer(std::uint32_t round,
                                               const RoundInput& input) {
  if (!federated()) return FederatedSessionNotOpened();
  DPNMF_RETURN_IF_ERROR(CheckRound(round, input));
  MutexLock lock(&run_->run_lock->busy);
  if (run_->run_lock->holder != number_) return TakenOver();
  const Membership& membership = *context_.membership;
  const RoundRequest request = RequestOf(round, input);
  // A round that is charged there belongs to this very W, whatever became of it
  // here; one that is not must be the next.
  DPNMF_ASSIGN_OR_RETURN(const Charge others,
                         ChargeOfOthers(round, request.request_hash));
  DPNMF_RETURN_IF_ERROR(context_.ledger->FindCharge(others).status());
  const OfferedRound offered = RoundOffered(round, request.request_hash);
  DPNMF_ASSIGN_OR_RETURN(
      const std::optional<RequestedRound> made,
      context_.gate->Find(request.identity, request.run_id, round));
  if (made.has_value()) {
    const std::vector<ExchangePublicKey> keys =
        KeysIn(made->released.value().parts, membership.federation().size());
    if (!keys.empty() && TranscriptOf(offered, keys) == made->request_hash)
      return membership.OfferOf(offered, keys[membership.index()]);
  } else {
    DPNMF_RETURN_IF_ERROR(
        context_.ledger
            ->FindCharge({request.identity, request.run_id, round,
                          request.request_hash, MuSquared()})
            .status());
  }
  const auto key = membership.keys().KeyOf(request.identity, request.run_id,
                                           round, request.request_hash);
  return membership.OfferOf(offered, key->public_key());
}

absl::StatusOr<Released<ReleasedRound>> Session::Contribute(
    std::uint32_t round, const RoundInput& input,
    const std::vector<FederationOffer>& offers) {
  if (!federated()) return FederatedSessionNotOpened();
  DPNMF_RETURN_IF_ERROR(CheckRound(round, input));
  MutexLock lock(&run_->run_lock->busy);
  if (run_->run_lock->holder != number_) return TakenOver();
  const Membership& membership = *context_.membership;
  RoundRequest request = RequestOf(round, input);
  const Digest asked = request.request_hash;
  const OfferedRound offered = RoundOffered(round, asked);
  // Condition 1: U is exactly the declared set, and all of it signed the same.
  DPNMF_ASSIGN_OR_RETURN(const std::vector<ExchangePublicKey> keys,
                         CheckOffers(membership.federation(), offered, offers));
  // U, all keys, the plan and W stand in the charged row.
  request.request_hash = TranscriptOf(offered, keys);
  request.shares = membership.federation().shares();
  // One masked message for a round, ever: the stored one, or none.
  DPNMF_ASSIGN_OR_RETURN(
      std::optional<RequestedRound> made,
      context_.gate->Find(request.identity, request.run_id, round));
  if (made.has_value()) {
    if (made->request_hash == request.request_hash)
      return std::move(made->released);
    return ReleaseGate::WithoutBytes(made->released);
  }
  const auto key =
      membership.keys().Find(request.identity, request.run_id, round, asked);
  if (key == nullptr || key->public_key() != keys[membership.index()]) {
    return Refusal(absl::StatusCode::kUnavailable, "federation-key-lost",
                   "The curator no longer has the key of its offer: ask all "
                   "curators for the round again.");
  }
  DPNMF_ASSIGN_OR_RETURN(
      const Masks masks,
      Masks::Create(*key, membership.index(), membership.members(), keys,
                    request.request_hash));
  absl::Cleanup restart = [this] { Restart(); };
  DPNMF_ASSIGN_OR_RETURN(const RoundSums sums, Sums(round, input));
  DPNMF_ASSIGN_OR_RETURN(const Charge others, ChargeOfOthers(round, asked));
  DPNMF_RETURN_IF_ERROR(context_.ledger->ChargeRound(others).status());
  // The unmasked noised sums of this curator exist only during this call: what
  // the gate stores and reads back is masked.
  absl::StatusOr<Released<ReleasedRound>> released = context_.gate->Release(
      request, sums, [&](std::vector<NoisedMatrix> noised) {
        masks.AddTo(&noised);
        noised.push_back(KeysPart(keys));
        return noised;
      });
  if (!released.ok()) return released;
  membership.keys().Forget(request.identity, request.run_id);
  std::move(restart).Cancel();
  return released;
}

}  // namespace dpnmf::curator
