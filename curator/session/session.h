// One training stream as a state machine, without gRPC.
//
//   Open(run, parameters) -> Round(1, W_0) -> Round(2, W_1) ... -> Close()
//
// A session may end at any point; another one opens the same run and goes on. A
// later session for a run takes it over: rounds asked on an earlier one are
// then refused. docs/reference/protocol.md draws the states.
#ifndef DPNMF_CURATOR_SESSION_SESSION_H_
#define DPNMF_CURATOR_SESSION_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "common/threads/mutex.h"
#include "curator/factor/statistics.h"
#include "curator/federation/membership.h"
#include "curator/gate/release_gate.h"
#include "curator/ledger/ledger.h"
#include "curator/mechanism/mechanism.h"
#include "curator/ranks/rank_job.h"
#include "curator/session/access.h"
#include "curator/session/catalog.h"
#include "curator/session/pacing.h"
#include "curator/session/run_memory_limit.h"

namespace dpnmf::curator {

// Lets one session at a time work on a run. Thread-safe.
class RunLocks {
 public:
  struct Lock {
    Mutex busy;  // held while a round is computed, charged and stored
    std::uint64_t holder ABSL_GUARDED_BY(busy) = 0;
  };
  // The lock of a run, made at first use; the caller keeps it alive.
  std::shared_ptr<Lock> LockOf(const std::string& identity,
                               const std::string& run_id);

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<Lock>> locks_
      ABSL_GUARDED_BY(mutex_);
};

// Objects that all sessions share, all of which outlive the sessions.
struct SessionContext {
  Ledger* ledger = nullptr;
  ReleaseGate* gate = nullptr;
  const Catalog* catalog = nullptr;
  AccessControl* access = nullptr;
  RunLocks* locks = nullptr;
  int threads = 1;
  // Pacer of rounds; if null, rounds are not paced. Work of ended sessions may
  // go on in the pacer: the work ends before the catalog does.
  Pacer* pacer = nullptr;
  RunMemoryLimit* memory = nullptr;          // null: without a limit
  std::uint64_t most_uncharged_runs = 1000;  // RunOpening
  RankJob* ranks = nullptr;  // null: all sums are computed in this process
  // This curator's part in a federation; null: it is in none. Its name is an
  // alias of its data set in the catalog.
  const Membership* membership = nullptr;
};

struct OpenedSession {
  RunPlan plan;
  DatasetFacts facts;
  std::uint32_t next_round = 1;
};

// SHA-256 over every field of the parameters, in a fixed order.
Digest HashOf(const RunParameters& parameters);

// The cap on what the grant's identity alone may spend, if the operator set
// one.
absl::StatusOr<std::optional<MuSquared>> IdentityCap(
    const Grant& grant, const PopulationPolicy& policy);

// Not thread-safe: one thread drives a session.
class Session {
 public:
  // `identities`: of the peer's certificate. `abandoned`: whether nobody waits
  // for the answer any more, asked from any thread; a round that is not paced
  // then ends before anything is charged.
  Session(const SessionContext& context, std::vector<std::string> identities,
          std::function<bool()> abandoned = {});

  // Errors of AccessControl::Require, Catalog::Served, CheckPromise,
  // CheckPartitionIn, CheckRunParameters, PlanRun, CheckDataHoldsRun,
  // RunMemoryLimit::Take and Ledger::OpenRun, and for a run of the federation
  // those of CheckFederatedMechanism and Membership::ShareOf; INVALID_ARGUMENT
  // "run-id-malformed"; FAILED_PRECONDITION "session-opened" the second time.
  absl::StatusOr<OpenedSession> Open(const std::string& run_id,
                                     const RunParameters& parameters);

  // The release of a round. The identity and its role are checked again. After
  // a round that fails once its sums have begun, or that throws, H starts
  // again: what the round did to H is not part of any later one. Errors of
  // Open, ReleaseKind::check and ReleaseGate::Release; INVALID_ARGUMENT
  // "round-out-of-range"; ABORTED "run-taken-over"; FAILED_PRECONDITION
  // "session-not-opened"; CANCELLED "cancelled".
  absl::StatusOr<Released<ReleasedRound>> Round(std::uint32_t round,
                                                const RoundInput& input);

  // A round of a federation's run, in two steps (session_federation.cc).
  //
  // Offer: this curator's signed word and key for the round; nothing is charged
  // and nothing private leaves. For a round that is charged, the key that it
  // was charged with; if its bytes are lost, a key that is never used, so that
  // the others can charge their part of a round that is dead. Errors as Round.
  //
  // Contribute: checks the offers of all curators, charges both accounts,
  // draws, masks and stores; the same offers again get the stored bytes, others
  // get the round as lost. Besides the errors of Round: those of CheckOffers
  // and Masks::Create; UNAVAILABLE "federation-key-lost" if this curator has
  // been restarted since its offer.
  bool federated() const { return run_.has_value() && run_->federated; }
  absl::StatusOr<FederationOffer> Offer(std::uint32_t round,
                                        const RoundInput& input);
  absl::StatusOr<Released<ReleasedRound>> Contribute(
      std::uint32_t round, const RoundInput& input,
      const std::vector<FederationOffer>& offers);

  // Returns the amount that went back to the budget.
  absl::StatusOr<MuSquared> Close();

  const RunParameters& parameters() const { return run_->parameters; }
  // No request of the run has a matrix of more columns: K, or 1 + K of ratings.
  std::uint64_t LargestColumns() const {
    return std::uint64_t{run_->parameters.rank} +
           (run_->facts.ratings.has_value() ? 1 : 0);
  }
  const DatasetFacts& facts() const { return run_->facts; }
  // Stage of a round of the opened run.
  const StagePlan& StageOf(std::uint32_t round) const {
    return run_->plan.StageOf(round);
  }
  const std::string& population() const { return run_->facts.population; }
  const std::string& identity() const { return run_->identity; }
  // Cap of the identity in the allow-list when the run was opened.
  const std::optional<MuSquared>& identity_cap() const {
    return run_->identity_cap;
  }
  bool opened() const { return run_.has_value(); }

 private:
  struct Run {
    std::string id;
    std::string identity;
    std::optional<MuSquared> identity_cap;
    RunParameters parameters;
    DatasetFacts facts;  // adjacency and conversion: the ledger's
    RunPlan plan;
    const Dataset* dataset = nullptr;
    std::shared_ptr<RunLocks::Lock> run_lock;
    // H of the rounds before; made when the first statistic is computed.
    std::unique_ptr<Coefficients> coefficients;
    // The same where the ranks hold it.
    std::unique_ptr<RankJob::RemoteCoefficients> remote;
    RunMemoryLimit::Lease memory;
    bool federated = false;
  };

  // Prices the run by the ledger's promise and plans it. Errors of PlanRun,
  // PlanFederated and CheckDataHoldsRun.
  absl::Status Plan(const PopulationPolicy& policy, Run* run) const;
  RunOpening OpeningOf(const Run& run,
                       std::optional<MuSquared> identity_cap) const;
  absl::Status TakeMemory(Run* run) const;
  // The facts and the plan of a run of the federation.
  absl::Status PlanFederated(const RunParameters& parameters, Run* run) const;
  // Opening that reserves in the second account. The opening has its own cap of
  // the identity, if the operator set one.
  absl::StatusOr<RunOpening> OthersOpening(const RunOpening& opening,
                                           const RunPlan& plan,
                                           const Grant& grant) const;
  // The reservation in the second account, after `first` in the population's:
  // given back if the second refuses and nothing is charged yet. A run that is
  // closed in one of them is closed in the other too.
  absl::Status OpenOthers(const RunOpening& opening, const RunPlan& plan,
                          const Grant& grant,
                          const absl::StatusOr<OpenedRun>& first) const;
  // Charge in the second account for a round.
  absl::StatusOr<Charge> ChargeOfOthers(std::uint32_t round,
                                        const Digest& request) const;
  OfferedRound RoundOffered(std::uint32_t round, const Digest& request) const;

  absl::Status CheckRound(std::uint32_t round, const RoundInput& input);
  // ABORTED "run-taken-over".
  static absl::Status TakenOver();
  // H is a function of the rounds that were released
  // (docs/reference/privacy.md, theorem 1). So what a round that was not
  // released did to H is thrown away, here and at the ranks.
  void Restart();
  // Parts of the round's stage, as this request wants them.
  std::vector<PartPlan> PartsOf(std::uint32_t round,
                                const RoundInput& input) const;
  RoundRequest RequestOf(std::uint32_t round, const RoundInput& input) const;
  // The sums of a round, in paced mode at a tick: UNAVAILABLE "round-overran",
  // FAILED_PRECONDITION "overruns-exhausted". The run has no H after a failure.
  absl::StatusOr<RoundSums> Sums(std::uint32_t round, const RoundInput& input);

  const SessionContext context_;
  const std::vector<std::string> identities_;
  const std::function<bool()> abandoned_;
  const std::uint64_t number_;  // distinguishes sessions of a process
  std::optional<Run> run_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_SESSION_H_
