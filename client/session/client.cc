#include "client/session/client.h"

#include <chrono>
#include <optional>
#include <utility>

#include "client/session/model.h"
#include "common/base/error.h"
#include "common/wire/item_model_stream.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/prior.h"
#include "common/wire/read_stream.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"

namespace dpnmf::cli {
namespace {

constexpr std::chrono::seconds kCallDeadline(60);
constexpr std::uint64_t kLargestRows = std::uint64_t{1} << 32;
constexpr std::uint64_t kLargestColumns = std::uint64_t{1} << 16;

using Stub = v1::AnalystService::Stub;

template <typename Request, typename Reply>
absl::StatusOr<Reply> Call(const std::shared_ptr<grpc::Channel>& channel,
                           grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                        const Request&, Reply*),
                           const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  SendTrace(&context);
  Reply reply;
  const absl::Status status = FromGrpc(
      (Stub(channel).*method)(&context, request, &reply), context.peer());
  if (!status.ok()) return status;
  return reply;
}

// Gathers the messages of GetModel.
class ModelReader {
 public:
  absl::Status Add(const v1::ModelReply& reply) {
    if (reply.has_header()) return Begin(reply.header());
    if (items_.has_value()) return items_->Add(reply);
    if (!matrix_.has_value()) return Malformed();
    if (reply.has_items())
      return names_->Add(reply.items()).ok() ? absl::OkStatus() : Malformed();
    if (reply.has_parts()) {
      parts_ = reply.parts();
      return absl::OkStatus();
    }
    return reply.has_standard_errors() ? errors_->Add(reply.standard_errors())
                                       : matrix_->Add(reply.dictionary());
  }

  absl::StatusOr<Model> Take(bool standard_errors, bool parts) {
    if (items_.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(NamedItemModel items, items_->Take());
      return Model{.header = std::move(header_), .items = std::move(items)};
    }
    if (!matrix_.has_value() || !matrix_->complete()) return Malformed();
    Model model{.header = std::move(header_), .w = matrix_->Take()};
    if (names_->complete()) {
      ItemList rows = names_->Take();
      // Rows without names are listed by their numbers.
      const v1::Dataset& dataset = model.header.dataset();
      if (dataset.named_features() || !dataset.weighted_features())
        model.names = std::move(rows.ids);
      model.weights = std::move(rows.weights);
    }
    if (parts && parts_.parts_size() != model.w.cols()) return Malformed();
    model.parts = std::move(parts_);
    if (!standard_errors) return model;
    if (!errors_->complete()) return Malformed();
    model.errors = errors_->Take();
    return model;
  }

 private:
  static absl::Status Malformed() { return AnswerIncomplete("model"); }

  absl::Status Begin(const v1::ModelHeader& header) {
    if (matrix_.has_value() || items_.has_value()) return Malformed();
    header_ = header;
    if (header.has_item_model()) {
      items_.emplace(header.item_model());
      return absl::OkStatus();
    }
    for (auto* reader : {&matrix_, &errors_}) {
      DPNMF_ASSIGN_OR_RETURN(
          auto matrix, RealMatrixReader::Create(header.shape(), kLargestRows,
                                                kLargestColumns));
      reader->emplace(std::move(matrix));
    }
    names_.emplace(header.shape().rows(), 0);
    return absl::OkStatus();
  }

  v1::ModelHeader header_;
  v1::PartsReply parts_;
  std::optional<RealMatrixReader> matrix_, errors_;
  std::optional<ItemPagesReader> names_;  // of the rows
  std::optional<ItemModelReader> items_;  // in the place of all three
};

}  // namespace

absl::Status CheckIsDictionary(const Model& model) {
  if (!model.items.has_value()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, "run-not-dictionary",
                 "The run is on ratings and has no dictionary W; use `dpnmf "
                 "model --output items.csv` or `--similar`.");
}

absl::StatusOr<v1::ListDatasetsReply> AnalystClient::ListDatasets() const {
  return Call(channel_, &Stub::ListDatasets, v1::ListDatasetsRequest());
}

absl::StatusOr<v1::PlanRunReply> AnalystClient::PlanRun(
    const v1::RunSpecification& specification) const {
  v1::PlanRunRequest request;
  *request.mutable_specification() = specification;
  return Call(channel_, &Stub::PlanRun, request);
}

namespace {

// The names, then the entries.
template <typename Request>
bool SendPrior(const PriorToSend& prior, grpc::ClientWriter<Request>* stream) {
  Request request;
  v1::PriorFeatures features;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < prior.names.size(); ++i) {
    features.add_names(prior.names[i]);
    bytes += prior.names[i].size() + 2;
    if (bytes < kPriorNamesBytes && i + 1 < prior.names.size()) continue;
    *request.mutable_prior_features() = features;
    if (!stream->Write(request)) return false;
    features.clear_names();
    bytes = 0;
  }
  return prior.entries.size() == 0 ||
         WriteChunks(prior.entries, [&](const v1::RealChunk& chunk) {
           *request.mutable_prior() = chunk;
           return stream->Write(request);
         });
}

// The request, then W_0 if it has entries, then the priors. A write that fails
// ends the stream; Finish says why.
template <typename Request>
absl::Status SendWithDictionary(Request request,
                                std::span<const double> dictionary,
                                const std::vector<PriorToSend>* priors,
                                grpc::ClientWriter<Request>* stream) {
  bool open = stream->Write(request);
  if (open && !dictionary.empty()) {
    const Eigen::Map<const Eigen::VectorXd> entries(
        dictionary.data(), static_cast<Eigen::Index>(dictionary.size()));
    open = WriteChunks(entries, [&](const v1::RealChunk& chunk) {
      *request.mutable_dictionary() = chunk;
      return stream->Write(request);
    });
  }
  for (std::size_t i = 0; priors != nullptr && open && i < priors->size(); ++i)
    open = SendPrior((*priors)[i], stream);
  stream->WritesDone();
  return FromGrpc(stream->Finish());
}

}  // namespace

absl::StatusOr<v1::Run> AnalystClient::StartRun(
    const v1::RunSpecification& specification,
    std::span<const double> dictionary, const std::vector<PriorToSend>* priors,
    Interrupt* interrupt) const {
  grpc::ClientContext context;
  SendTrace(&context);
  v1::Run run;
  Stub stub(channel_);
  v1::StartRunRequest request;
  *request.mutable_specification() = specification;
  if (interrupt != nullptr)
    interrupt->OnRaise([&context] { context.TryCancel(); });
  const absl::Status sent = SendWithDictionary(
      request, dictionary, priors, stub.StartRun(&context, &run).get());
  if (interrupt != nullptr) interrupt->OnRaise({});
  if (absl::IsCancelled(sent) && interrupt != nullptr && interrupt->raised()) {
    return Refusal(absl::StatusCode::kCancelled, "interrupted",
                   "Interrupted while the run was being started: it may have "
                   "started. 'dpnmf runs' shows it, and 'dpnmf cancel RUN' "
                   "ends it.");
  }
  DPNMF_RETURN_IF_ERROR(sent);
  return run;
}

absl::StatusOr<v1::Run> AnalystClient::RefitRun(
    const v1::Refit& refit, std::span<const double> dictionary,
    const std::vector<PriorToSend>* priors) const {
  grpc::ClientContext context;
  SendTrace(&context);
  v1::Run run;
  Stub stub(channel_);
  v1::RefitRunRequest request;
  *request.mutable_refit() = refit;
  DPNMF_RETURN_IF_ERROR(SendWithDictionary(
      request, dictionary, priors, stub.RefitRun(&context, &run).get()));
  return run;
}

absl::Status AnalystClient::GetRelease(
    const v1::GetReleaseRequest& request,
    const std::function<absl::Status(const v1::ReleaseReply&)>& take) const {
  grpc::ClientContext context;
  return ReadStream(channel_, &context, &Stub::GetRelease, request, take);
}

absl::StatusOr<v1::Run> AnalystClient::AddRelease(
    const std::function<absl::Status(
        const std::function<absl::Status(const v1::ReleaseReply&)>&)>& feed)
    const {
  grpc::ClientContext context;
  SendTrace(&context);
  v1::Run run;
  Stub stub(channel_);
  const auto stream = stub.AddRelease(&context, &run);
  bool broken = false;
  const absl::Status fed = feed([&](const v1::ReleaseReply& message) {
    broken = !stream->Write(message);
    return broken ? absl::CancelledError() : absl::OkStatus();
  });
  // Reports errors of the file before the server's answer.
  if (!fed.ok() && !broken) {
    context.TryCancel();
    stream->Finish();
    return fed;
  }
  stream->WritesDone();
  DPNMF_RETURN_IF_ERROR(FromGrpc(stream->Finish()));
  return run;
}

absl::StatusOr<v1::Run> AnalystClient::GetRun(const std::string& run_id) const {
  v1::GetRunRequest request;
  request.set_run_id(run_id);
  return Call(channel_, &Stub::GetRun, request);
}

absl::StatusOr<std::vector<v1::Receipt>> AnalystClient::GetReceipts(
    const std::string& dataset) const {
  grpc::ClientContext context;
  v1::GetReceiptsRequest request;
  request.set_dataset(dataset);
  std::vector<v1::Receipt> receipts;
  DPNMF_RETURN_IF_ERROR(ReadStream(channel_, &context, &Stub::GetReceipts,
                                   request, [&](const v1::Receipt& receipt) {
                                     receipts.push_back(receipt);
                                     return absl::OkStatus();
                                   }));
  return receipts;
}

absl::StatusOr<v1::ListRunsReply> AnalystClient::ListRuns() const {
  return Call(channel_, &Stub::ListRuns, v1::ListRunsRequest());
}

absl::StatusOr<v1::Run> AnalystClient::CancelRun(
    const std::string& run_id) const {
  v1::CancelRunRequest request;
  request.set_run_id(run_id);
  return Call(channel_, &Stub::CancelRun, request);
}

absl::StatusOr<v1::ForgetRunReply> AnalystClient::ForgetRun(
    const std::string& run_id) const {
  v1::ForgetRunRequest request;
  request.set_run_id(run_id);
  return Call(channel_, &Stub::ForgetRun, request);
}

absl::StatusOr<v1::GetBudgetReply> AnalystClient::GetBudget(
    const std::string& dataset) const {
  v1::GetBudgetRequest request;
  request.set_dataset(dataset);
  return Call(channel_, &Stub::GetBudget, request);
}

absl::StatusOr<Model> AnalystClient::GetModel(
    const std::string& run_id, bool standard_errors, bool parts,
    std::optional<bool> non_negative) const {
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_run_id(run_id);
  request.set_standard_errors(standard_errors);
  request.set_feature_names(true);
  request.set_parts(parts);
  if (non_negative.has_value()) request.set_non_negative(*non_negative);
  ModelReader model;
  DPNMF_RETURN_IF_ERROR(ReadStream(
      channel_, &context, &Stub::GetModel, request,
      [&](const v1::ModelReply& reply) { return model.Add(reply); }));
  DPNMF_ASSIGN_OR_RETURN(Model taken, model.Take(standard_errors, parts));
  if (taken.items.has_value() && non_negative.has_value() &&
      *non_negative != (taken.items->model.level > 0))
    return Refusal(absl::StatusCode::kDataLoss, "model-malformed",
                   "The model in the server's answer has other signs than were "
                   "asked for; use the same version on both sides.");
  return taken;
}

absl::Status AnalystClient::ChooseRank(
    const v1::ChooseRankRequest& request,
    const std::function<void(const v1::ChooseRankReply&)>& on_reply) const {
  grpc::ClientContext context;
  return ReadStream(channel_, &context, &Stub::ChooseRank, request,
                    [&](const v1::ChooseRankReply& reply) {
                      on_reply(reply);
                      return absl::OkStatus();
                    });
}

absl::Status AnalystClient::Synthesise(
    const v1::SynthesiseRequest& request,
    const std::function<absl::Status(const v1::SynthesiseReply&)>& on_reply)
    const {
  grpc::ClientContext context;
  return ReadStream(channel_, &context, &Stub::Synthesise, request, on_reply);
}

absl::Status AnalystClient::WatchRun(
    const std::string& run_id, std::uint64_t cursor, Interrupt* interrupt,
    const std::function<void(const v1::RunEvent&)>& on_event) const {
  grpc::ClientContext context;
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_cursor(cursor);
  interrupt->OnRaise([&context] { context.TryCancel(); });
  const absl::Status status =
      ReadStream(channel_, &context, &Stub::WatchRun, request,
                 [&](const v1::RunEvent& event) {
                   on_event(event);
                   return absl::OkStatus();
                 });
  interrupt->OnRaise({});
  return status;
}

}  // namespace dpnmf::cli
