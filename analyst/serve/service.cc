#include "analyst/serve/service.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analyst/planning/budget.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/added_release.h"
#include "analyst/runs/item_model.h"
#include "analyst/runs/refit.h"
#include "analyst/runs/run_items.h"
#include "analyst/runs/sent_release.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/crypto/sha256.h"
#include "common/learning/release_facts.h"
#include "common/learning/standard_errors.h"
#include "common/learning/synthesis.h"
#include "common/log/audit_log.h"
#include "common/log/log.h"
#include "common/privacy/mechanism.h"
#include "common/server/call_record.h"
#include "common/server/refused_calls.h"
#include "common/server/stall_timeout.h"
#include "common/threads/seldom_stop.h"
#include "common/wire/item_model_stream.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/plan_refusal.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/server_context.h"

namespace dpnmf::analyst {
namespace {

absl::Status SpecificationMissing() {
  return Refusal(absl::StatusCode::kInvalidArgument, "specification-missing",
                 "The first message must carry the run's specification.");
}

// For long computations of an answer: whether nobody waits for it any more.
Stop WhenCancelled(const grpc::ServerContext& context) {
  return AskedSeldom([&context] { return context.IsCancelled(); });
}

// A unary call's request or reply that got lost: only in tests.
grpc::Status Lost() {
  return {grpc::StatusCode::UNAVAILABLE, "the message was lost"};
}

// A call that was ended before all had come: it is not what the client asks
// for.
absl::Status UploadStalled() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The upload sent nothing for too long, so it was ended and "
                 "nothing was started: send it again.");
}

// W_0 (D x K) from the chunks that follow the specification, nothing if none
// follow; and the priors that were announced. `idle` runs while it waits.
template <typename Request>
absl::StatusOr<std::optional<Eigen::MatrixXd>> ReadDictionary(
    std::uint64_t features, std::uint64_t rank, const PriorHeaders& announced,
    grpc::ServerReader<Request>* reader, StallTimeout* idle,
    std::vector<SentPrior>* priors) {
  DPNMF_ASSIGN_OR_RETURN(PriorReader prior_reader,
                         PriorReader::Create(announced));
  v1::MatrixShape shape;
  shape.set_rows(features);
  shape.set_columns(rank);
  DPNMF_ASSIGN_OR_RETURN(
      RealMatrixReader matrix,
      RealMatrixReader::Create(shape, shape.rows(), shape.columns()));
  Request request;
  bool any = false;
  idle->Touch();
  while (DPNMF_TRANSFER("client-receive", reader->Read(&request))) {
    idle->Touch();
    if (request.has_prior_features()) {
      DPNMF_RETURN_IF_ERROR(prior_reader.Add(request.prior_features()));
      continue;
    }
    if (request.has_prior()) {
      DPNMF_RETURN_IF_ERROR(prior_reader.Add(request.prior()));
      continue;
    }
    if (!request.has_dictionary()) return SpecificationMissing();
    DPNMF_RETURN_IF_ERROR(matrix.Add(request.dictionary()));
    any = true;
  }
  idle->Pause();
  if (idle->expired()) return UploadStalled();
  DPNMF_ASSIGN_OR_RETURN(*priors, prior_reader.Finish());
  if (!any) return std::optional<Eigen::MatrixXd>();
  if (!matrix.complete()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   "W_0 has too few entries; it must be features x rank.");
  }
  return std::optional<Eigen::MatrixXd>(matrix.Take());
}

absl::Status RequestIdMalformed() {
  return Refusal(absl::StatusCode::kInvalidArgument, "request-id-malformed",
                 "`request_id` must have 1 to 64 characters of A-Z, a-z, 0-9, "
                 "'.', '_' and '-'.");
}

absl::Status CheckRequestId(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return id.size() <= 64 && std::all_of(id.begin(), id.end(), allowed)
             ? absl::OkStatus()
             : RequestIdMalformed();
}

// The specification as it was sent, and W_0.
ClientRequest RequestById(const v1::RunSpecification& specification,
                          const std::optional<Eigen::MatrixXd>& w0) {
  Sha256 hash;
  hash.AddString(specification.SerializeAsString());
  if (w0.has_value()) {
    hash.AddInteger(static_cast<std::uint64_t>(w0->rows()))
        .AddInteger(static_cast<std::uint64_t>(w0->cols()))
        .AddBytes(std::as_bytes(
            std::span(w0->data(), static_cast<std::size_t>(w0->size()))));
  }
  return {absl::StrCat("id:", specification.request_id()),
          HexOf(hash.Finish())};
}

class AnalystServiceImpl final : public v1::AnalystService::Service {
 public:
  explicit AnalystServiceImpl(ServiceParts parts)
      : parts_(std::move(parts)),
        quota_(parts_.limits),
        refused_(parts_.observers) {}

  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest* request,
                            v1::ListDatasetsReply* reply) override {
    return Answer(
        "ListDatasets", context, *request, Permission::kRead, reply,
        [&](const std::string&) { return parts_.curator->ListDatasets(); });
  }

  grpc::Status PlanRun(grpc::ServerContext* context,
                       const v1::PlanRunRequest* request,
                       v1::PlanRunReply* reply) override {
    return Answer(
        "PlanRun", context, *request, Permission::kRead, reply,
        [&](const std::string&) -> absl::StatusOr<v1::PlanRunReply> {
          DPNMF_ASSIGN_OR_RETURN(
              PlannedRun planned,
              PlanWithCurator(request->specification(), parts_.curator));
          parts_.runs->RefuseTooLarge(&planned.reply);
          return std::move(planned.reply);
        });
  }

  grpc::Status StartRun(grpc::ServerContext* context,
                        grpc::ServerReader<v1::StartRunRequest>* reader,
                        v1::Run* reply) override {
    return Answer("StartRun", context, v1::StartRunRequest(),
                  Permission::kStart, reply, [&](const std::string& client) {
                    StallTimeout idle(parts_.upload_idle,
                                      [context] { context->TryCancel(); });
                    return Start(client, reader, &idle);
                  });
  }

  grpc::Status WatchRun(grpc::ServerContext* context,
                        const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::RunEvent>* writer) override {
    CallRecord record = Begin("WatchRun", *context);
    const auto admitted = Admit(*context, Permission::kRead, &record);
    if (!admitted.ok()) return ToGrpc(record.Finish(admitted.status()));
    absl::Status refused;
    const absl::Status watched = parts_.runs->Watch(
        request->run_id(), request->cursor(),
        [&](const v1::RunEvent& event) {
          refused = StillAllowed(*context);
          record.Count(0, event.ByteSizeLong());
          return refused.ok() &&
                 DPNMF_TRANSFER("client-send", writer->Write(event));
        },
        [&] { return context->IsCancelled(); });
    return ToGrpc(record.Finish(refused.ok() ? watched : refused,
                                {{"run", request->run_id()}}));
  }

  grpc::Status GetRun(grpc::ServerContext* context,
                      const v1::GetRunRequest* request,
                      v1::Run* reply) override {
    return Answer("GetRun", context, *request, Permission::kRead, reply,
                  [&](const std::string&) {
                    return parts_.runs->Get(request->run_id());
                  });
  }

  grpc::Status ListRuns(grpc::ServerContext* context,
                        const v1::ListRunsRequest* request,
                        v1::ListRunsReply* reply) override {
    return Answer("ListRuns", context, *request, Permission::kRead, reply,
                  [&](const std::string&) -> absl::StatusOr<v1::ListRunsReply> {
                    DPNMF_ASSIGN_OR_RETURN(std::vector<v1::Run> runs,
                                           parts_.runs->List());
                    v1::ListRunsReply list;
                    for (v1::Run& run : runs) *list.add_runs() = std::move(run);
                    return list;
                  });
  }

  grpc::Status CancelRun(grpc::ServerContext* context,
                         const v1::CancelRunRequest* request,
                         v1::Run* reply) override {
    return Answer(
        "CancelRun", context, *request, Permission::kEnd, reply,
        [&](const std::string& client) -> absl::StatusOr<v1::Run> {
          DPNMF_RETURN_IF_ERROR(CheckMayEnd(*context, request->run_id()));
          LogInfo("{} asks to cancel run {}", client, request->run_id());
          return parts_.runs->Cancel(request->run_id());
        },
        request->run_id());
  }

  grpc::Status ForgetRun(grpc::ServerContext* context,
                         const v1::ForgetRunRequest* request,
                         v1::ForgetRunReply* reply) override {
    return Answer(
        "ForgetRun", context, *request, Permission::kEnd, reply,
        [&](const std::string& client) -> absl::StatusOr<v1::ForgetRunReply> {
          DPNMF_RETURN_IF_ERROR(CheckMayEnd(*context, request->run_id()));
          LogInfo("{} forgets run {}", client, request->run_id());
          return parts_.runs->Forget(request->run_id(), client);
        },
        request->run_id());
  }

  grpc::Status GetModel(grpc::ServerContext* context,
                        const v1::GetModelRequest* request,
                        grpc::ServerWriter<v1::ModelReply>* writer) override {
    CallRecord record = Begin("GetModel", *context);
    return ToGrpc(record.Finish(
        SendModel(*context, *request, &record, Counted(&record, writer)),
        {{"run", request->run_id()}}));
  }

  grpc::Status ChooseRank(
      grpc::ServerContext* context, const v1::ChooseRankRequest* request,
      grpc::ServerWriter<v1::ChooseRankReply>* writer) override {
    CallRecord record = Begin("ChooseRank", *context);
    return ToGrpc(record.Finish(
        SendRankChoice(*context, *request, &record, Counted(&record, writer)),
        {{"run", request->run_id()}}));
  }

  grpc::Status GetReceipts(grpc::ServerContext* context,
                           const v1::GetReceiptsRequest* request,
                           grpc::ServerWriter<v1::Receipt>* writer) override {
    CallRecord record = Begin("GetReceipts", *context);
    return ToGrpc(
        record.Finish(SendReceipts(*context, *request, &record, writer)));
  }

  grpc::Status RefitRun(grpc::ServerContext* context,
                        grpc::ServerReader<v1::RefitRunRequest>* reader,
                        v1::Run* reply) override {
    return Answer("RefitRun", context, v1::RefitRunRequest(),
                  Permission::kStart, reply, [&](const std::string& client) {
                    StallTimeout idle(parts_.upload_idle,
                                      [context] { context->TryCancel(); });
                    return Refit(client, reader, &idle);
                  });
  }

  grpc::Status GetRelease(
      grpc::ServerContext* context, const v1::GetReleaseRequest* request,
      grpc::ServerWriter<v1::ReleaseReply>* writer) override {
    CallRecord record = Begin("GetRelease", *context);
    return ToGrpc(record.Finish(
        SendRelease(*context, *request, &record, Counted(&record, writer)),
        {{"run", request->run_id()}}));
  }

  grpc::Status AddRelease(grpc::ServerContext* context,
                          grpc::ServerReader<v1::ReleaseReply>* reader,
                          v1::Run* reply) override {
    return Answer("AddRelease", context, v1::ReleaseReply(), Permission::kStart,
                  reply, [&](const std::string& client) {
                    return AddReleased(client, context, reader);
                  });
  }

  grpc::Status Synthesise(
      grpc::ServerContext* context, const v1::SynthesiseRequest* request,
      grpc::ServerWriter<v1::SynthesiseReply>* writer) override {
    CallRecord record = Begin("Synthesise", *context);
    return ToGrpc(record.Finish(
        SendPeople(*context, *request, &record, Counted(&record, writer)),
        {{"run", request->run_id()}}));
  }

  grpc::Status GetBudget(grpc::ServerContext* context,
                         const v1::GetBudgetRequest* request,
                         v1::GetBudgetReply* reply) override {
    return Answer("GetBudget", context, *request, Permission::kRead, reply,
                  [&](const std::string&) {
                    return ReadBudget(request->dataset(), parts_.curator,
                                      parts_.store);
                  });
  }

 private:
  CallRecord Begin(std::string method,
                   const grpc::ServerContext& context) const {
    return CallRecord(parts_.observers, std::move(method), context,
                      parts_.identities_of(context));
  }

  // Sends a reply, and counts its bytes.
  template <typename Reply>
  static std::function<bool(const Reply&)> Counted(
      CallRecord* record, grpc::ServerWriter<Reply>* writer) {
    return [record, writer](const Reply& reply) {
      record->Count(0, reply.ByteSizeLong());
      return DPNMF_TRANSFER("client-send", writer->Write(reply));
    };
  }

  absl::Status StillAllowed(const grpc::ServerContext& context) const {
    if (parts_.check_peer) DPNMF_RETURN_IF_ERROR(parts_.check_peer(context));
    return parts_.clients
        .Authorise(parts_.identities_of(context), Permission::kRead)
        .status();
  }

  // A run may be ended by who started it, and by an operator.
  absl::Status CheckMayEnd(const grpc::ServerContext& context,
                           const std::string& run_id) const {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    return parts_.clients.CheckMayEnd(parts_.identities_of(context),
                                      record.run.started_by());
  }

  // W is still what it was drawn as; `model` is what is stored of the run.
  absl::Status CheckHasLearned(const std::string& run_id, const Model& model) {
    const auto not_ready = [](std::string_view sentence) {
      return Refusal(absl::StatusCode::kFailedPrecondition, "model-not-ready",
                     sentence);
    };
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    const dpnmf::Mechanism* const mechanism = dpnmf::Mechanisms().Find(
        record.run.specification().parameters().mechanism());
    if (mechanism != nullptr && !mechanism->learns_dictionary)
      return not_ready("The run learns no dictionary; choose another run.");
    if (model.rounds_done > 0 && record.run.error_code() != "release-lost")
      return absl::OkStatus();
    return not_ready(
        IsFinal(model.state)
            ? "The run ended before it had learned from a release; "
              "start another run."
            : "The run has not learned from a release yet; try "
              "again after its first round.");
  }

  absl::Status SendModel(
      const grpc::ServerContext& context, const v1::GetModelRequest& request,
      CallRecord* record,
      const std::function<bool(const v1::ModelReply&)>& write) {
    DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                           Admit(context, Permission::kRead, record));
    DPNMF_ASSIGN_OR_RETURN(const Model model,
                           parts_.store->ReadModel(request.run_id()));
    DPNMF_RETURN_IF_ERROR(CheckHasLearned(request.run_id(), model));
    if (request.standard_errors())
      DPNMF_RETURN_IF_ERROR(CheckHasErrors(request.run_id()));
    if (request.parts()) DPNMF_RETURN_IF_ERROR(CheckParts(request.run_id()));
    std::optional<bool> non_negative;
    if (request.has_non_negative()) non_negative = request.non_negative();
    DPNMF_ASSIGN_OR_RETURN(
        const std::optional<NamedItemModel> items,
        ItemModelOf(request.run_id(), parts_.store, non_negative));
    DPNMF_RETURN_IF_ERROR(
        AuditEntry("model-sent",
                   {{"identity", admitted.client}, {"run", request.run_id()}}));
    v1::ModelReply reply;
    v1::ModelHeader& header = *reply.mutable_header();
    header.mutable_shape()->set_rows(
        static_cast<std::uint64_t>(model.w.rows()));
    header.mutable_shape()->set_columns(
        static_cast<std::uint64_t>(model.w.cols()));
    header.set_rounds_done(model.rounds_done);
    header.set_state(model.state);
    if (model.prior_share.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(const RunRecord run_record,
                             parts_.store->Get(request.run_id()));
      *header.mutable_priors() = run_record.run.specification().priors();
      header.set_prior_share(*model.prior_share);
    }
    DPNMF_ASSIGN_OR_RETURN(const std::optional<v1::Dataset> dataset,
                           parts_.store->ReadDataset(request.run_id()));
    if (dataset.has_value()) *header.mutable_dataset() = *dataset;
    if (items.has_value()) {
      header.mutable_shape()->set_columns(
          static_cast<std::uint64_t>(items->model.loadings.cols()));
      *header.mutable_item_model() = HeaderOf(*items);
      if (write(reply)) WriteItemModel(*items, write);
      return absl::OkStatus();
    }
    if (!write(reply)) return absl::OkStatus();
    if (request.feature_names()) {
      const FeatureFacts features =
          StoredFeatures(request.run_id(), parts_.store);
      WriteItemPages(
          features.ids, {},
          [&](v1::ListItemsReply&& page) {
            *reply.mutable_items() = std::move(page);
            return write(reply);
          },
          features.weights);
    }
    WriteChunks(model.w, [&](const v1::RealChunk& chunk) {
      *reply.mutable_dictionary() = chunk;
      return write(reply);
    });
    if (request.parts()) {
      DPNMF_ASSIGN_OR_RETURN(
          *reply.mutable_parts(),
          AlonePerServer<v1::PartsReply>(
              request.run_id(),
              [&](const v1::Run& run, const LearnerState& state) {
                return PartsOf(run, state, WhenCancelled(context));
              }));
      if (!write(reply)) return absl::OkStatus();
    }
    if (!request.standard_errors()) return absl::OkStatus();
    DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd errors,
                           ErrorsOf(request.run_id(), context));
    WriteChunks(errors, [&](const v1::RealChunk& chunk) {
      *reply.mutable_standard_errors() = chunk;
      return write(reply);
    });
    return absl::OkStatus();
  }

  absl::Status CheckParts(const std::string& run_id) {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                           parts_.store->ReadLearner(run_id));
    return CheckHasParts(record.run, state);
  }

  absl::Status SendRankChoice(
      const grpc::ServerContext& context, const v1::ChooseRankRequest& request,
      CallRecord* record,
      const std::function<bool(const v1::ChooseRankReply&)>& write) {
    DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                           Admit(context, Permission::kRead, record));
    return AlonePerServer<bool>(
               request.run_id(),
               [&](const v1::Run& run,
                   const LearnerState& state) -> absl::StatusOr<bool> {
                 DPNMF_RETURN_IF_ERROR(WriteRankChoice(
                     run, state, request, WhenCancelled(context), write));
                 return true;
               })
        .status();
  }

  // One at a time: drawing may take a core for minutes.
  absl::Status SendPeople(
      const grpc::ServerContext& context, const v1::SynthesiseRequest& request,
      CallRecord* record,
      const std::function<bool(const v1::SynthesiseReply&)>& write) {
    DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                           Admit(context, Permission::kRead, record));
    DPNMF_ASSIGN_OR_RETURN(const RunRecord run,
                           parts_.store->Get(request.run_id()));
    DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                           parts_.store->ReadLearner(request.run_id()));
    DPNMF_ASSIGN_OR_RETURN(std::optional<v1::Dataset> dataset,
                           parts_.store->ReadDataset(request.run_id()));
    if (!dataset.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(
          dataset, FindDataset(parts_.curator,
                               run.run.specification().parameters().dataset()));
    }
    if (drawing_people_.exchange(true)) {
      return Refusal(absl::StatusCode::kResourceExhausted, "synthesise-busy",
                     "The analyst draws people for another client; ask again "
                     "in a while.");
    }
    const absl::Cleanup done = [this] { drawing_people_ = false; };
    DPNMF_RETURN_IF_ERROR(
        AuditEntry("people-drawn",
                   {{"identity", admitted.client}, {"run", request.run_id()}}));
    return SynthesisePeople(
        request, run.run, state, *dataset, WhenCancelled(context),
        [&](v1::SynthesiseReply reply) {
          if (!reply.has_header()) return write(reply);
          *reply.mutable_header()->mutable_dataset() = *dataset;
          if (!write(reply)) return false;
          if (!request.feature_names()) return true;
          return WriteItemPages(StoredNames(request.run_id(), parts_.store), {},
                                [&](v1::ListItemsReply&& page) {
                                  *reply.mutable_items() = std::move(page);
                                  return write(reply);
                                });
        });
  }

  absl::Status SendReceipts(const grpc::ServerContext& context,
                            const v1::GetReceiptsRequest& request,
                            CallRecord* record,
                            grpc::ServerWriter<v1::Receipt>* writer) {
    constexpr int kPage = 256;
    DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                           Admit(context, Permission::kRead, record));
    v1::Receipt last;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(
          const std::vector<v1::Receipt> page,
          parts_.store->Receipts(request.dataset(), last, kPage));
      if (page.empty()) return absl::OkStatus();
      last = page.back();
      for (const v1::Receipt& receipt : page) {
        if (!DPNMF_TRANSFER("client-send", writer->Write(receipt)))
          return absl::OkStatus();
      }
    }
  }

  // Before something is done or handed out that cannot be taken back.
  absl::Status AuditEntry(std::string_view event,
                          const AuditFields& fields) const {
    const absl::Status written =
        WriteAudit(parts_.observers.audit, event, fields, AuditSync::kDurable);
    if (written.ok()) return written;
    LogError("{}", std::string(written.message()));
    return AuditFailed();
  }

  // Before anything is sent.
  absl::Status CheckHasErrors(const std::string& run_id) {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    return CheckHasStandardErrors(record.run);
  }

  // compute(run, state) of the stored run. One at a time: it takes all cores.
  template <typename Result, typename Compute>
  absl::StatusOr<Result> AlonePerServer(const std::string& run_id,
                                        const Compute& compute) {
    if (computing_errors_.exchange(true)) {
      return Refusal(
          absl::StatusCode::kResourceExhausted, "errors-busy",
          "The analyst computes standard errors, facts of parts or a "
          "choice of the rank for another client; ask again in a "
          "while.");
    }
    const absl::Cleanup done = [this] { computing_errors_ = false; };
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                           parts_.store->ReadLearner(run_id));
    return compute(record.run, state);
  }

  absl::StatusOr<Eigen::MatrixXd> ErrorsOf(const std::string& run_id,
                                           const grpc::ServerContext& context) {
    return AlonePerServer<Eigen::MatrixXd>(
        run_id, [&](const v1::Run& run, const LearnerState& state) {
          return StandardErrors(run, state, WhenCancelled(context));
        });
  }

  // A call that is under way.
  struct Admitted {
    std::string client;
    Quota::Lease lease;
  };
  // Whom it does not let in shares entries of the audit log with others.
  absl::StatusOr<Admitted> Admit(const grpc::ServerContext& context,
                                 Permission permission, CallRecord* record) {
    refused_.WriteDue();
    absl::StatusOr<Admitted> admitted = AdmitOrRefuse(context, permission);
    if (!admitted.ok()) refused_.Note(admitted.status(), record);
    return admitted;
  }
  absl::StatusOr<Admitted> AdmitOrRefuse(const grpc::ServerContext& context,
                                         Permission permission) {
    DPNMF_ASSIGN_OR_RETURN(
        std::string client,
        parts_.clients.Authorise(parts_.identities_of(context), permission));
    DPNMF_ASSIGN_OR_RETURN(Quota::Lease lease, quota_.Enter(client));
    return Admitted{std::move(client), std::move(lease)};
  }

  // Authorises, calls, writes down, and puts the value into *reply.
  template <typename Reply, typename Call>
  grpc::Status Answer(const char* method, grpc::ServerContext* context,
                      const google::protobuf::Message& request,
                      Permission permission, Reply* reply, Call call,
                      const std::string& run_id = "") {
    if (!DPNMF_TRANSFER("client-receive", true)) return Lost();
    CallRecord record = Begin(method, *context);
    AuditFields about;
    if (!run_id.empty()) about.push_back({"run", run_id});
    const auto value = [&]() -> absl::StatusOr<Reply> {
      DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                             Admit(*context, permission, &record));
      if (permission != Permission::kRead) {
        AuditFields asked = {{"method", std::string(method)},
                             {"identity", admitted.client}};
        asked.insert(asked.end(), about.begin(), about.end());
        DPNMF_RETURN_IF_ERROR(AuditEntry("call-asked", asked));
      }
      return call(admitted.client);
    }();
    if constexpr (std::is_same_v<Reply, v1::Run>) {
      if (value.ok() && run_id.empty())
        about.push_back({"run", value->run_id()});
    }
    const absl::Status outcome = record.Finish(value.status(), about);
    if (!outcome.ok()) return ToGrpc(outcome);
    *reply = *value;
    record.Count(request.ByteSizeLong(), reply->ByteSizeLong());
    return DPNMF_TRANSFER("client-send", true) ? grpc::Status::OK : Lost();
  }

  absl::StatusOr<v1::Run> Start(const std::string& client,
                                grpc::ServerReader<v1::StartRunRequest>* reader,
                                StallTimeout* idle) {
    v1::StartRunRequest first;
    if (!DPNMF_TRANSFER("client-receive", reader->Read(&first)) ||
        !first.has_specification())
      return SpecificationMissing();
    idle->Pause();
    const v1::RunSpecification& specification = first.specification();
    if (!specification.request_id().empty())
      return StartOnce(client, specification, reader, idle);
    DPNMF_ASSIGN_OR_RETURN(const PlannedRun planned, Plan(specification));
    NamedPriors priors;
    DPNMF_ASSIGN_OR_RETURN(std::optional<Eigen::MatrixXd> w0,
                           ReadDictionaryOf(planned, reader, idle, &priors));
    return Started(client, parts_.runs->Start(planned, std::move(w0), client,
                                              std::nullopt, std::move(priors)));
  }

  // With a request id: the run that it has, without asking the curator, or a
  // new one.
  absl::StatusOr<v1::Run> StartOnce(
      const std::string& client, const v1::RunSpecification& specification,
      grpc::ServerReader<v1::StartRunRequest>* reader, StallTimeout* idle) {
    DPNMF_RETURN_IF_ERROR(CheckRequestId(specification.request_id()));
    DPNMF_ASSIGN_OR_RETURN(
        const std::optional<AnsweredRequest> answered,
        parts_.store->FindRequest(
            client, RequestById(specification, std::nullopt).name));
    if (!answered.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(const PlannedRun planned, Plan(specification));
      NamedPriors priors;
      DPNMF_ASSIGN_OR_RETURN(std::optional<Eigen::MatrixXd> w0,
                             ReadDictionaryOf(planned, reader, idle, &priors));
      ClientRequest request = RequestById(specification, w0);
      return Started(client,
                     parts_.runs->Start(planned, std::move(w0), client,
                                        std::move(request), std::move(priors)));
    }
    std::optional<Eigen::MatrixXd> w0;
    if (specification.learner().initialisation() == v1::INITIALISATION_PUBLIC) {
      // Reads entries of the run's shape; another shape is another request.
      const absl::StatusOr<Model> model =
          parts_.store->ReadModel(answered->run_id);
      if (model.ok() && model->w.cols() == specification.parameters().rank()) {
        std::vector<SentPrior> priors;  // the digests have been compared
        DPNMF_ASSIGN_OR_RETURN(
            w0, ReadDictionary(static_cast<std::uint64_t>(model->w.rows()),
                               specification.parameters().rank(),
                               specification.priors(), reader, idle, &priors));
      }
    }
    DPNMF_ASSIGN_OR_RETURN(
        std::optional<v1::Run> run,
        parts_.runs->RunOf(RequestById(specification, w0), client));
    // It cannot have gone since: requests by id are never dropped.
    return *std::move(run);
  }

  absl::StatusOr<PlannedRun> Plan(const v1::RunSpecification& specification) {
    DPNMF_ASSIGN_OR_RETURN(PlannedRun planned,
                           PlanWithCurator(specification, parts_.curator));
    parts_.runs->RefuseTooLarge(&planned.reply);
    DPNMF_RETURN_IF_ERROR(RefusalOf(planned.reply));
    return planned;
  }

  absl::StatusOr<std::optional<Eigen::MatrixXd>> ReadDictionaryOf(
      const PlannedRun& planned,
      grpc::ServerReader<v1::StartRunRequest>* reader, StallTimeout* idle,
      NamedPriors* priors) {
    DPNMF_ASSIGN_OR_RETURN(
        std::optional<Eigen::MatrixXd> w0,
        ReadDictionary(planned.dataset.features(),
                       planned.reply.specification().parameters().rank(),
                       planned.reply.specification().priors(), reader, idle,
                       &priors->priors));
    const bool named = std::any_of(
        priors->priors.begin(), priors->priors.end(),
        [](const SentPrior& prior) { return !prior.names.empty(); });
    const bool weighted =
        planned.dataset.weighted_features() && !priors->priors.empty();
    if (named || weighted) {
      DPNMF_ASSIGN_OR_RETURN(priors->features,
                             AskFeatures(planned.dataset, parts_.curator));
    }
    return w0;
  }

  static absl::StatusOr<v1::Run> Started(const std::string& client,
                                         absl::StatusOr<v1::Run> run) {
    if (run.ok()) LogInfo("{} starts run {}", client, run->run_id());
    return run;
  }

  absl::StatusOr<v1::Run> Refit(const std::string& client,
                                grpc::ServerReader<v1::RefitRunRequest>* reader,
                                StallTimeout* idle) {
    v1::RefitRunRequest first;
    if (!DPNMF_TRANSFER("client-receive", reader->Read(&first)) ||
        !first.has_refit())
      return SpecificationMissing();
    idle->Pause();
    DPNMF_ASSIGN_OR_RETURN(NewRun child,
                           parts_.runs->PrepareRefit(first.refit()));
    std::vector<SentPrior> priors;
    DPNMF_ASSIGN_OR_RETURN(
        std::optional<Eigen::MatrixXd> w0,
        ReadDictionary(static_cast<std::uint64_t>(child.state.w.rows()),
                       child.record.run.specification().parameters().rank(),
                       first.refit().priors(), reader, idle, &priors));
    DPNMF_ASSIGN_OR_RETURN(
        v1::Run run, parts_.runs->Refit(std::move(child), std::move(w0), client,
                                        std::move(priors)));
    LogInfo("{} refits run {} as {}", client, run.parent(), run.run_id());
    return run;
  }

  absl::StatusOr<v1::Run> AddReleased(
      const std::string& client, grpc::ServerContext* context,
      grpc::ServerReader<v1::ReleaseReply>* reader) {
    AddedRelease release(parts_.store);
    StallTimeout idle(parts_.upload_idle, [context] { context->TryCancel(); });
    v1::ReleaseReply message;
    while (DPNMF_TRANSFER("client-receive", reader->Read(&message))) {
      idle.Touch();
      DPNMF_RETURN_IF_ERROR(release.Add(message));
    }
    idle.Pause();
    if (idle.expired()) return UploadStalled();
    DPNMF_ASSIGN_OR_RETURN(NewRun added, release.Finish());
    DPNMF_ASSIGN_OR_RETURN(v1::Run run,
                           parts_.runs->AddReleased(std::move(added), client));
    LogInfo("{} adds the release of run {}", client, run.run_id());
    return run;
  }

  absl::Status SendRelease(
      const grpc::ServerContext& context, const v1::GetReleaseRequest& request,
      CallRecord* record,
      const std::function<bool(const v1::ReleaseReply&)>& write) {
    DPNMF_ASSIGN_OR_RETURN(const Admitted admitted,
                           Admit(context, Permission::kRead, record));
    DPNMF_ASSIGN_OR_RETURN(
        const SentRelease release,
        FindRelease(request.run_id(), request.matrices(), parts_.store));
    DPNMF_RETURN_IF_ERROR(
        AuditEntry("release-sent",
                   {{"identity", admitted.client}, {"run", request.run_id()}}));
    return WriteRelease(release, parts_.store, write);
  }

  const ServiceParts parts_;
  Quota quota_;
  RefusedCalls refused_;
  std::atomic<bool> computing_errors_ = false;
  std::atomic<bool> drawing_people_ = false;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeAnalystService(ServiceParts parts) {
  return std::make_unique<AnalystServiceImpl>(std::move(parts));
}

}  // namespace dpnmf::analyst
