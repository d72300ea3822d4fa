#include "curator/serve/service.h"

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/log/log.h"
#include "common/log/without_exceptions.h"
#include "common/server/call_record.h"
#include "common/wire/convert.h"
#include "common/wire/item_pages.h"
#include "common/wire/status.h"
#include "curator/serve/train_stream.h"
#include "curator/serve/wire.h"
#include "curator/session/redact_for_peer.h"

namespace dpnmf::curator {
namespace {

constexpr std::size_t kLedgerPage = 1000;

// A unary call's request or reply that got lost: only in tests.
grpc::Status Lost() {
  return {grpc::StatusCode::UNAVAILABLE, "the message was lost"};
}

std::string CodeOrText(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  return code.empty() ? std::string(status.ToString()) : code;
}

}  // namespace

CuratorServiceImpl::CuratorServiceImpl(ServiceOptions options)
    : options_(std::move(options)),
      quota_(options_.limits),
      refused_(options_.observers) {}

absl::StatusOr<Quota::Lease> CuratorServiceImpl::Admit(
    const grpc::ServerContext& context) {
  refused_.WriteDue();
  DPNMF_ASSIGN_OR_RETURN(const Grant grant, options_.context.access->GrantOf(
                                                options_.identify(context)));
  return quota_.Enter(grant.identity);
}

// A caller who is not admitted is answered at once, also in paced mode. The
// time of that answer tells nothing of V.
grpc::Status CuratorServiceImpl::Refuse(const char* call,
                                        const grpc::ServerContext& context,
                                        const absl::Status& refusal) {
  CallRecord record(options_.observers, call, context,
                    options_.identify(context));
  refused_.Note(refusal, &record);
  return ToGrpc(RedactForPeer(record.Finish(refusal)));
}

absl::StatusOr<v1::ListDatasetsReply> CuratorServiceImpl::List(
    const grpc::ServerContext& context) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant, options_.context.access->GrantOf(
                                                options_.identify(context)));
  v1::ListDatasetsReply reply;
  reply.set_version(options_.version);
  for (const Dataset* dataset : options_.context.catalog->AllServed()) {
    const DatasetDescription& description = dataset->description();
    if (!grant.Covers(description.name)) continue;
    DPNMF_ASSIGN_OR_RETURN(
        const PopulationPolicy policy,
        options_.context.ledger->Policy(description.population));
    DPNMF_ASSIGN_OR_RETURN(const Position position,
                           options_.context.ledger->PositionFor(
                               description.population, description.name));
    DPNMF_ASSIGN_OR_RETURN(*reply.add_datasets(),
                           DescriptionOf(*dataset, policy, position));
  }
  return reply;
}

absl::StatusOr<v1::ListItemsReply> CuratorServiceImpl::ItemsOf(
    const grpc::ServerContext& context, const v1::ListItemsRequest& request) {
  DPNMF_RETURN_IF_ERROR(options_.context.access
                            ->Require(options_.identify(context),
                                      {Role::kAnalyst}, request.dataset())
                            .status());
  DPNMF_RETURN_IF_ERROR(
      options_.context.catalog->Served(request.dataset()).status());
  const ItemList* const items =
      options_.context.catalog->ItemsOf(request.dataset());
  if (items == nullptr) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "items-none",
        "The data set has no list: only data sets of ratings have items; other "
        "data sets have names of features if they were declared.");
  }
  return ItemPage(*items, request.first());
}

absl::StatusOr<v1::GetLedgerReply> CuratorServiceImpl::LedgerOf(
    const grpc::ServerContext& context, const v1::GetLedgerRequest& request) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant,
                         options_.context.access->Require(
                             options_.identify(context),
                             {Role::kAnalyst, Role::kAuditor, Role::kOperator},
                             request.dataset()));
  DPNMF_ASSIGN_OR_RETURN(const Dataset* const dataset,
                         options_.context.catalog->Served(request.dataset()));
  const std::string& population = dataset->description().population;
  const Ledger& ledger = *options_.context.ledger;
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         ledger.Policy(population));
  DPNMF_ASSIGN_OR_RETURN(const auto identity_cap, IdentityCap(grant, policy));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         ledger.PositionFor(population, request.dataset()));
  DPNMF_ASSIGN_OR_RETURN(const IdentityPosition own,
                         ledger.PositionOf(population, grant.identity));
  DPNMF_ASSIGN_OR_RETURN(
      const IdentityPosition own_here,
      ledger.PositionFor(population, request.dataset(), grant.identity));
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<LedgerRow> rows,
      ledger.ChargesOf(population, grant.identity, request.after_sequence(),
                       kLedgerPage + 1));
  v1::GetLedgerReply reply;
  DPNMF_ASSIGN_OR_RETURN(*reply.mutable_guarantee(),
                         GuaranteeOf(policy, position));
  *reply.mutable_position() = ToProto(population, position);
  if (identity_cap.has_value()) {
    *reply.mutable_position()->mutable_own_limit() =
        ToProto(*identity_cap, own_here);
  }
  if (policy.partitions.any())
    *reply.mutable_own_charged_here() = dpnmf::ToProto(own_here.charged);
  *reply.mutable_own_charged() = dpnmf::ToProto(own.charged);
  reply.set_own_charge_count(own.charge_count);
  reply.set_more(rows.size() > kLedgerPage);
  for (std::size_t i = 0; i < std::min(rows.size(), kLedgerPage); ++i) {
    v1::LedgerCharge& charge = *reply.add_own_charges();
    charge = ChargeOf(rows[i]);
    if (position.void_since.has_value()) {
      charge.set_void_signature(
          options_.receipts->MarkOf(rows[i], *position.void_since));
    }
  }
  return reply;
}

template <typename Reply, typename Compute>
grpc::Status CuratorServiceImpl::Answer(const char* call,
                                        grpc::ServerContext* context,
                                        Reply* reply, Compute compute) {
  if (!DPNMF_TRANSFER("curator-receive", true)) return Lost();
  // Held until the reply leaves: a call that waits for its tick is open.
  const absl::StatusOr<Quota::Lease> lease = Admit(*context);
  if (!lease.ok()) return Refuse(call, *context, lease.status());
  CallRecord record(options_.observers, call, *context,
                    options_.identify(*context));
  absl::StatusOr<Reply> result = WithoutExceptions(compute);
  const absl::Status outcome = record.Finish(result.status());
  AwaitTick(options_.context.pacer);
  if (!outcome.ok()) return ToGrpc(RedactForPeer(outcome));
  *reply = *std::move(result);
  return DPNMF_TRANSFER("curator-send", true) ? grpc::Status::OK : Lost();
}

grpc::Status CuratorServiceImpl::ListDatasets(grpc::ServerContext* context,
                                              const v1::ListDatasetsRequest*,
                                              v1::ListDatasetsReply* reply) {
  return Answer("ListDatasets", context, reply, [&] { return List(*context); });
}

grpc::Status CuratorServiceImpl::ListItems(grpc::ServerContext* context,
                                           const v1::ListItemsRequest* request,
                                           v1::ListItemsReply* reply) {
  return Answer("ListItems", context, reply,
                [&] { return ItemsOf(*context, *request); });
}

grpc::Status CuratorServiceImpl::GetLedger(grpc::ServerContext* context,
                                           const v1::GetLedgerRequest* request,
                                           v1::GetLedgerReply* reply) {
  return Answer("GetLedger", context, reply,
                [&] { return LedgerOf(*context, *request); });
}

grpc::Status CuratorServiceImpl::Train(grpc::ServerContext* context,
                                       TrainChannel::Stream* stream) {
  // Held until the last reply leaves.
  const absl::StatusOr<Quota::Lease> lease = Admit(*context);
  if (!lease.ok()) return Refuse("Train", *context, lease.status());
  const absl::Status status = WithoutExceptions([&] {
    return TrainStream(options_, &shutting_down_, &*lease, context, stream)
        .Serve();
  });
  if (!status.ok()) LogInfo("a training stream ended: {}", CodeOrText(status));
  AwaitTick(options_.context.pacer);
  return ToGrpc(RedactForPeer(status));
}

ServedCurator MakeCuratorService(ServiceOptions options) {
  auto service = std::make_shared<CuratorServiceImpl>(std::move(options));
  return {service, [service] { service->BeginShutdown(); }};
}

}  // namespace dpnmf::curator
