#include "analyst/service.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "analyst/budget.h"
#include "analyst/planner.h"
#include "analyst/standard_errors.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/rpc/matrix_stream.h"
#include "common/rpc/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "spdlog/spdlog.h"

namespace dpnmf::analyst {
namespace {

absl::Status SpecificationMissing() {
  return Refusal(absl::StatusCode::kInvalidArgument, "specification-missing",
                 "The first message must carry the run's specification.");
}

// W_0 from the chunks that follow the specification; nothing if none follow.
absl::StatusOr<std::optional<Eigen::MatrixXd>> ReadDictionary(
    const PlannedRun& planned,
    grpc::ServerReader<v1::StartRunRequest>* reader) {
  v1::MatrixShape shape;
  shape.set_rows(planned.dataset.features());
  shape.set_columns(planned.reply.specification().parameters().rank());
  DPNMF_ASSIGN_OR_RETURN(
      RealMatrixReader matrix,
      RealMatrixReader::Create(shape, shape.rows(), shape.columns()));
  v1::StartRunRequest request;
  bool any = false;
  while (DPNMF_TRANSFER("client-receive", reader->Read(&request))) {
    if (!request.has_dictionary()) return SpecificationMissing();
    DPNMF_RETURN_IF_ERROR(matrix.Add(request.dictionary()));
    any = true;
  }
  if (!any) return std::optional<Eigen::MatrixXd>();
  if (!matrix.complete()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   "W_0 has too few entries; it must be features x rank.");
  }
  return std::optional<Eigen::MatrixXd>(matrix.Take());
}

class AnalystServiceImpl final : public v1::AnalystService::Service {
 public:
  explicit AnalystServiceImpl(ServiceParts parts)
      : parts_(std::move(parts)), quota_(parts_.limits) {}

  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override {
    return Answer(context, Permission::kRead, reply, [&](const std::string&) {
      return parts_.curator->ListDatasets();
    });
  }

  grpc::Status PlanRun(grpc::ServerContext* context,
                       const v1::PlanRunRequest* request,
                       v1::PlanRunReply* reply) override {
    return Answer(
        context, Permission::kRead, reply,
        [&](const std::string&) -> absl::StatusOr<v1::PlanRunReply> {
          DPNMF_ASSIGN_OR_RETURN(
              PlannedRun planned,
              PlanWithCurator(request->specification(), parts_.curator));
          return std::move(planned.reply);
        });
  }

  grpc::Status StartRun(grpc::ServerContext* context,
                        grpc::ServerReader<v1::StartRunRequest>* reader,
                        v1::Run* reply) override {
    return Answer(
        context, Permission::kStart, reply,
        [&](const std::string& client) { return Start(client, reader); });
  }

  grpc::Status WatchRun(grpc::ServerContext* context,
                        const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::RunEvent>* writer) override {
    const auto client = Admit(*context, Permission::kRead);
    if (!client.ok()) return ToGrpc(client.status());
    return ToGrpc(parts_.runs->Watch(
        request->run_id(), request->cursor(),
        [&](const v1::RunEvent& event) {
          return DPNMF_TRANSFER("client-send", writer->Write(event));
        },
        [&] { return context->IsCancelled(); }));
  }

  grpc::Status GetRun(grpc::ServerContext* context,
                      const v1::GetRunRequest* request,
                      v1::Run* reply) override {
    return Answer(context, Permission::kRead, reply, [&](const std::string&) {
      return parts_.runs->Get(request->run_id());
    });
  }

  grpc::Status ListRuns(grpc::ServerContext* context,
                        const v1::ListRunsRequest*,
                        v1::ListRunsReply* reply) override {
    return Answer(context, Permission::kRead, reply,
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
        context, Permission::kStart, reply, [&](const std::string& client) {
          spdlog::info("{} cancels run {}", client, request->run_id());
          return parts_.runs->Cancel(request->run_id());
        });
  }

  grpc::Status GetModel(grpc::ServerContext* context,
                        const v1::GetModelRequest* request,
                        grpc::ServerWriter<v1::ModelReply>* writer) override {
    const auto client = Admit(*context, Permission::kRead);
    if (!client.ok()) return ToGrpc(client.status());
    const absl::StatusOr<Model> model =
        parts_.store->ReadModel(request->run_id());
    if (!model.ok()) return ToGrpc(model.status());
    if (request->standard_errors()) {
      const absl::Status known = CheckHasErrors(request->run_id());
      if (!known.ok()) return ToGrpc(known);
    }
    v1::ModelReply reply;
    v1::ModelHeader& header = *reply.mutable_header();
    header.mutable_shape()->set_rows(
        static_cast<std::uint64_t>(model->w.rows()));
    header.mutable_shape()->set_columns(
        static_cast<std::uint64_t>(model->w.cols()));
    header.set_rounds_done(model->rounds_done);
    header.set_state(model->state);
    if (!DPNMF_TRANSFER("client-send", writer->Write(reply)))
      return grpc::Status::OK;
    WriteChunks(model->w, [&](const v1::RealChunk& chunk) {
      *reply.mutable_dictionary() = chunk;
      return DPNMF_TRANSFER("client-send", writer->Write(reply));
    });
    if (!request->standard_errors()) return grpc::Status::OK;
    const absl::StatusOr<Eigen::MatrixXd> errors =
        ErrorsOf(request->run_id(), *context);
    if (!errors.ok()) return ToGrpc(errors.status());
    WriteChunks(*errors, [&](const v1::RealChunk& chunk) {
      *reply.mutable_standard_errors() = chunk;
      return DPNMF_TRANSFER("client-send", writer->Write(reply));
    });
    return grpc::Status::OK;
  }

  grpc::Status GetReceipts(grpc::ServerContext* context,
                           const v1::GetReceiptsRequest* request,
                           grpc::ServerWriter<v1::Receipt>* writer) override {
    constexpr int kPage = 256;
    const auto client = Admit(*context, Permission::kRead);
    if (!client.ok()) return ToGrpc(client.status());
    v1::Receipt last;
    while (true) {
      const auto page = parts_.store->Receipts(request->dataset(), last, kPage);
      if (!page.ok()) return ToGrpc(page.status());
      if (page->empty()) return grpc::Status::OK;
      last = page->back();
      for (const v1::Receipt& receipt : *page) {
        if (!DPNMF_TRANSFER("client-send", writer->Write(receipt)))
          return grpc::Status::OK;
      }
    }
  }

  grpc::Status GetBudget(grpc::ServerContext* context,
                         const v1::GetBudgetRequest* request,
                         v1::GetBudgetReply* reply) override {
    return Answer(context, Permission::kRead, reply, [&](const std::string&) {
      return ReadBudget(request->dataset(), parts_.curator, parts_.store);
    });
  }

 private:
  // Before anything is sent.
  absl::Status CheckHasErrors(const std::string& run_id) {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    return CheckHasStandardErrors(record.run);
  }

  // One at a time: it takes all cores.
  absl::StatusOr<Eigen::MatrixXd> ErrorsOf(const std::string& run_id,
                                           const grpc::ServerContext& context) {
    if (computing_errors_.exchange(true)) {
      return Refusal(absl::StatusCode::kResourceExhausted, "errors-busy",
                     "The analyst computes standard errors for another client; "
                     "ask again in a while.");
    }
    const absl::Cleanup done = [this] { computing_errors_ = false; };
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, parts_.store->Get(run_id));
    DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                           parts_.store->ReadLearner(run_id));
    return StandardErrors(record.run, state,
                          [&context] { return context.IsCancelled(); });
  }

  // A call that is under way.
  struct Admitted {
    std::string client;
    Quota::Lease lease;
  };
  absl::StatusOr<Admitted> Admit(const grpc::ServerContext& context,
                                 Permission permission) {
    DPNMF_ASSIGN_OR_RETURN(
        std::string client,
        parts_.clients.Authorise(parts_.identities_of(context), permission));
    DPNMF_ASSIGN_OR_RETURN(Quota::Lease lease, quota_.Enter(client));
    return Admitted{std::move(client), std::move(lease)};
  }

  // Authorises, calls and puts the value into *reply.
  template <typename Reply, typename Call>
  grpc::Status Answer(grpc::ServerContext* context, Permission permission,
                      Reply* reply, Call call) {
    const absl::StatusOr<Admitted> admitted = Admit(*context, permission);
    if (!admitted.ok()) return ToGrpc(admitted.status());
    absl::StatusOr<Reply> value = call(admitted->client);
    if (!value.ok()) return ToGrpc(value.status());
    *reply = *std::move(value);
    return grpc::Status::OK;
  }

  absl::StatusOr<v1::Run> Start(
      const std::string& client,
      grpc::ServerReader<v1::StartRunRequest>* reader) {
    v1::StartRunRequest first;
    if (!DPNMF_TRANSFER("client-receive", reader->Read(&first)) ||
        !first.has_specification())
      return SpecificationMissing();
    DPNMF_ASSIGN_OR_RETURN(
        const PlannedRun planned,
        PlanWithCurator(first.specification(), parts_.curator));
    DPNMF_RETURN_IF_ERROR(RefusalOf(planned.reply));
    DPNMF_ASSIGN_OR_RETURN(std::optional<Eigen::MatrixXd> w0,
                           ReadDictionary(planned, reader));
    DPNMF_ASSIGN_OR_RETURN(v1::Run run,
                           parts_.runs->Start(planned, std::move(w0), client));
    spdlog::info("{} starts run {}", client, run.run_id());
    return run;
  }

  const ServiceParts parts_;
  Quota quota_;
  std::atomic<bool> computing_errors_ = false;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAnalystService(ServiceParts parts) {
  return std::make_unique<AnalystServiceImpl>(std::move(parts));
}

}  // namespace dpnmf::analyst
