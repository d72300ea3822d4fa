// Records of the analyst's lasting state.
#ifndef DPNMF_ANALYST_STORE_RUN_RECORDS_H_
#define DPNMF_ANALYST_STORE_RUN_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "common/learning/mechanism.h"
#include "common/privacy/mu_squared.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// A run as stored: `run.spent` is not (it is derived from `run.charged`).
struct RunRecord {
  v1::Run run;
  // The promise of the population's cap when the run was started, and since
  // when it is void, as soon as a reply about the population says so.
  v1::Guarantee guarantee;
  std::string population;
};

// One charge that a reply reported.
struct MirroredCharge {
  std::string run_id;
  std::uint32_t round = 0;
  MuSquared cost;
  std::string row_hash;  // 32 bytes
  std::optional<v1::Receipt> receipt = {};
};

// Record that this analyst keeps of a population.
struct MirrorView {
  std::vector<MirroredCharge> charges;
  // Rows and head of the longest chain so far; 0 and empty before the first.
  std::uint64_t row_count = 0;
  std::string head;
};

// A round that ended: with a release that has been used, or lost.
struct FinishedRound {
  std::uint32_t round = 0;
  MirroredCharge charge;
  LearnerState state;  // W_{t+1} and memory; not stored if the round was lost
  bool lost = false;
  // The messages of the round as it came (WriteRound of common/wire/release.h),
  // where they are kept.
  std::vector<v1::ReleaseReply> release = {};
  v1::RunEvent event;  // its cursor and state are set by the store
  // Receipts of the other curators of a federation.
  std::vector<v1::Receipt> other_receipts = {};
};

// A curator's word that the guarantee of a charge is void, with what signs it.
struct VoidMark {
  std::string row_hash;
  std::uint64_t sequence = 0;
  std::string signature;  // Receipt.void_signature
};

// A client's request by a name that the client does not use for another one.
struct ClientRequest {
  std::string name;    // "id:" and a request id, or "refit:" and a digest
  std::string digest;  // of all that was asked for
};

// Answer to a request: the run may have been forgotten since.
struct AnsweredRequest {
  std::string run_id, digest;
};

// Facts of a new run besides its record and its state.
struct NewRunFacts {
  std::optional<v1::Dataset> dataset = std::nullopt;
  std::optional<ClientRequest> request = std::nullopt;
  // The run whose data set and item pages are copied; empty: none.
  std::string like = {};
  std::vector<v1::ListItemsReply> items = {};
  // Messages of rounds that were released to somebody else, in order.
  std::vector<v1::ReleaseReply> release = {};
};

// Changes of a run besides a round. Fields that are empty stay as they are.
struct StateChange {
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
  std::optional<v1::RunPlan> plan;
  std::optional<std::string> error, error_code;
  v1::RunEvent event;  // its cursor and state are set by the store

  // The error as clients read it. One without a code is "internal-error" and a
  // fixed sentence; its own goes to the log.
  void SetError(const absl::Status& failure);
};

struct Model {
  Eigen::MatrixXd w;              // D x K
  std::uint32_t rounds_done = 0;  // that W follows from
  v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
  std::optional<double> prior_share;  // FitFigures::prior_share
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_STORE_RUN_RECORDS_H_
