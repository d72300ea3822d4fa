// AnalystService as plain calls: one request, one StatusOr.
#ifndef DPNMF_CLIENT_SESSION_CLIENT_H_
#define DPNMF_CLIENT_SESSION_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/session/interrupt.h"
#include "dpnmf/v1/analyst.pb.h"

namespace grpc {
class Channel;
}

namespace dpnmf::cli {

struct Model;  // client/session/model.h

// A prior of a run that is asked for (--prior).
struct PriorToSend {
  v1::Prior header;
  std::vector<std::string> names;
  Eigen::MatrixXd entries;  // as they are sent; empty: a run
};

// Errors carry the server's sentence and reason code (common/wire/status.h).
// Single calls end after a minute; streams live as long as the connection does.
// Thread-safe.
class AnalystClient {
 public:
  explicit AnalystClient(std::shared_ptr<grpc::Channel> channel)
      : channel_(std::move(channel)) {}

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() const;
  absl::StatusOr<v1::PlanRunReply> PlanRun(
      const v1::RunSpecification& specification) const;
  // `dictionary` (D x K, column by column) is sent if it has entries: W_0 of a
  // public start. `priors`, if not null: those of the specification.
  // `interrupt`, if not null, ends the call with CANCELLED "interrupted".
  absl::StatusOr<v1::Run> StartRun(
      const v1::RunSpecification& specification,
      std::span<const double> dictionary,
      const std::vector<PriorToSend>* priors = nullptr,
      Interrupt* interrupt = nullptr) const;
  // Another model of a paid release; `dictionary`, `priors` as for StartRun.
  absl::StatusOr<v1::Run> RefitRun(
      const v1::Refit& refit, std::span<const double> dictionary,
      const std::vector<PriorToSend>* priors = nullptr) const;
  // Calls take(message) for each message; its error ends the call.
  absl::Status GetRelease(
      const v1::GetReleaseRequest& request,
      const std::function<absl::Status(const v1::ReleaseReply&)>& take) const;
  // `feed` calls its argument for each message, until that returns an error.
  absl::StatusOr<v1::Run> AddRelease(
      const std::function<absl::Status(
          const std::function<absl::Status(const v1::ReleaseReply&)>&)>& feed)
      const;
  absl::StatusOr<v1::Run> GetRun(const std::string& run_id) const;
  absl::StatusOr<v1::ListRunsReply> ListRuns() const;
  absl::StatusOr<v1::Run> CancelRun(const std::string& run_id) const;
  absl::StatusOr<v1::ForgetRunReply> ForgetRun(const std::string& run_id) const;
  absl::StatusOr<v1::GetBudgetReply> GetBudget(
      const std::string& dataset) const;
  // Returns the receipts of a data set; of all if the name is empty.
  absl::StatusOr<std::vector<v1::Receipt>> GetReceipts(
      const std::string& dataset) const;
  // Standard errors and facts of parts take the server a while. non_negative:
  // of the item model of a run on ratings; without it, as the run was started.
  absl::StatusOr<Model> GetModel(
      const std::string& run_id, bool standard_errors = false,
      bool parts = false,
      std::optional<bool> non_negative = std::nullopt) const;
  // Calls on_reply for each reply, in order.
  absl::Status ChooseRank(
      const v1::ChooseRankRequest& request,
      const std::function<void(const v1::ChooseRankReply&)>& on_reply) const;

  // Calls on_reply for each reply, in order, until it returns an error, which
  // is then returned.
  absl::Status Synthesise(
      const v1::SynthesiseRequest& request,
      const std::function<absl::Status(const v1::SynthesiseReply&)>& on_reply)
      const;

  // Calls on_event for each event after `cursor` until the stream ends. An
  // interrupt ends it at once, with CANCELLED.
  absl::Status WatchRun(
      const std::string& run_id, std::uint64_t cursor, Interrupt* interrupt,
      const std::function<void(const v1::RunEvent&)>& on_event) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_CLIENT_H_
