// This curator's part in a federation: which member it is, what its data set
// must be, what it signs, and the second account of its population.
//
// Each charge of a federation's round is booked twice. The population's own
// account has the price against an analyst with at most t curators on its side.
// A second population, NAME.others, has the price against one that has all
// other curators on its side: Delta^2 / sigma_i^2, under a cap of its own
// (docs/reference/federation.md, "If more than t collude").
#ifndef DPNMF_CURATOR_FEDERATION_MEMBERSHIP_H_
#define DPNMF_CURATOR_FEDERATION_MEMBERSHIP_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/federation/federation.h"
#include "common/federation/offer.h"
#include "curator/data/dataset.h"
#include "curator/federation/round_keys.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

// Thread-safe.
class Membership {
 public:
  // Signs with the key of the curator's receipts.
  using SignBytes = std::function<Signature(std::span<const std::byte>)>;

  // The member whose pinned receipt key is `own_key`. FAILED_PRECONDITION
  // "federation-not-a-member".
  static absl::StatusOr<std::unique_ptr<Membership>> Create(
      Federation federation, const PublicKey& own_key, SignBytes sign);

  const Federation& federation() const { return federation_; }
  const std::string& name() const { return federation_.name; }
  const FederationMember& self() const { return federation_.members[self_]; }
  std::size_t index() const { return self_; }
  const std::vector<std::string>& members() const { return members_; }

  // FAILED_PRECONDITION "federation-differs" unless D, N (N0), the bound, the
  // normalisation and the relation are those of the file, and the data set
  // holds no ratings.
  absl::Status CheckData(const DatasetDescription& description) const;

  // The facts that plans follow from, with this curator's population.
  DatasetFacts Facts(const std::string& population) const;
  // Draws of this curator in a run, from PlanRun's plan; the price is that of
  // at most t colluders. Errors of ShareOfPlan.
  absl::StatusOr<RunPlan> ShareOf(RunPlan plan) const;
  // mu^2 of a round of the stage if all other curators collude.
  absl::StatusOr<MuSquared> CostIfOthersCollude(const StagePlan& share) const;

  // The second account of a population, and the run in it.
  static std::string OthersPopulation(const std::string& population);
  PopulationPolicy OthersPolicy(const PopulationPolicy& policy) const;
  static std::string OthersRun(const std::string& run_id);

  OfferedRound RoundOf(const std::string& analyst, const std::string& run_id,
                       std::uint32_t round, const RunPlan& share,
                       const Digest& request) const;
  FederationOffer OfferOf(OfferedRound round,
                          const ExchangePublicKey& key) const;

  RoundKeys& keys() const { return keys_; }

 private:
  Membership(Federation federation, std::size_t self, SignBytes sign);
  const Federation federation_;
  const std::size_t self_;
  const std::vector<std::string> members_;
  const SignBytes sign_;
  mutable RoundKeys keys_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FEDERATION_MEMBERSHIP_H_
