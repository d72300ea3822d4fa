#include "curator/service.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <type_traits>

#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/mutex.h"
#include "common/base/sha256.h"
#include "common/nmf/dictionary.h"
#include "common/rpc/convert.h"
#include "common/rpc/idle_guard.h"
#include "common/rpc/matrix_stream.h"
#include "common/rpc/status.h"
#include "curator/budget_metrics.h"
#include "curator/wire.h"
#include "spdlog/spdlog.h"

namespace dpnmf::curator {
namespace {

using Stream = grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>;

constexpr std::size_t kLedgerPage = 1000;

absl::Status UnexpectedMessage() {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "message-out-of-order",
      "the stream must be: open, then rounds each with its dictionary, then "
      "close.");
}

absl::Status ShuttingDown() {
  return Refusal(absl::StatusCode::kUnavailable, "shutting-down",
                 "the curator is being stopped: the run goes on when it is "
                 "back.");
}

absl::Status PeerGone() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "the peer has gone away.");
}

// What is wrong with the operator's files is for the operator: a peer gets the
// code and one fixed sentence, the log the rest.
absl::Status ForPeer(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  for (const char* own : {"storage-failed", "ledger-damaged",
                          "ledger-behind-anchor", "audit-failed"}) {
    if (code != own) continue;
    spdlog::error("{}: {}", code, std::string(status.message()));
    return Refusal(status.code(), code,
                   "the curator's storage failed: its operator finds the "
                   "reason in the curator's log.");
  }
  return status;
}

// A unary call's request or reply that got lost: only in tests.
grpc::Status Lost() {
  return {grpc::StatusCode::UNAVAILABLE, "the message was lost"};
}

void AwaitTick(const ServiceOptions& options) {
  if (options.context.pacer != nullptr) options.context.pacer->AwaitTick();
}

// What f returns. An exception (memory or threads that the system does not
// give) is one code for all causes: the log has the rest.
template <typename F>
std::invoke_result_t<F> WithoutExceptions(F f) {
  try {
    return f();
  } catch (const std::exception& exception) {
    spdlog::error("a call failed: {}", exception.what());
    return Refusal(absl::StatusCode::kInternal, "internal-error",
                   "the request failed for an internal reason; the server's "
                   "operator finds it in the server's log.");
  }
}

// Whether the call was cancelled; may be asked from several threads, which
// grpc::ServerContext alone may not.
class Abandoned {
 public:
  explicit Abandoned(const grpc::ServerContext* context) : context_(context) {}
  bool operator()() {
    if (seen_.load(std::memory_order_relaxed)) return true;
    if (!mutex_.TryLock()) return false;
    const bool cancelled = context_->IsCancelled();
    mutex_.Unlock();
    if (cancelled) seen_.store(true, std::memory_order_relaxed);
    return cancelled;
  }

 private:
  const grpc::ServerContext* const context_;
  std::atomic<bool> seen_{false};
  Mutex mutex_;
};

std::string CodeOrText(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  return code.empty() ? std::string(status.ToString()) : code;
}

// One stream: messages in, messages out, a Session between.
class TrainStream {
 public:
  TrainStream(const ServiceOptions& options,
              const std::atomic<bool>* shutting_down, const Quota::Lease* lease,
              grpc::ServerContext* context, Stream* stream)
      : options_(options),
        shutting_down_(shutting_down),
        lease_(lease),
        context_(context),
        abandoned_(context),
        record_(options.observers, "Train", *context,
                options.identify(*context)),
        session_(options.context, options.identify(*context),
                 [this] { return abandoned_(); }),
        stream_(stream),
        idle_(std::chrono::seconds(options.idle_seconds),
              [context] { context->TryCancel(); }) {}

  // Until the peer closes the run, half-closes the stream, or is refused.
  absl::Status Serve() {
    const absl::Status ended = WithoutExceptions([this] { return Exchange(); });
    if (metrics() != nullptr && session_.opened() && !closed_)
      metrics()->AddRuns("connected", -1);
    return record_.Finish(ended, {{"run", run_id_}});
  }

 private:
  absl::Status Exchange() {
    v1::TrainRequest request;
    while (DPNMF_TRANSFER("curator-receive", stream_->Read(&request))) {
      idle_.Pause();
      record_.Count(request.ByteSizeLong(), 0);
      DPNMF_RETURN_IF_ERROR(lease_->Message());
      if (*shutting_down_) return ShuttingDown();
      DPNMF_RETURN_IF_ERROR(Handle(request));
      if (closed_) break;
      idle_.Touch();
    }
    return absl::OkStatus();
  }

  Metrics* metrics() const { return options_.observers.metrics; }
  // An entry about this run. Where something is about to be charged or to
  // leave, no entry means no more of it.
  absl::Status Audit(std::string_view event, AuditFields more,
                     AuditSync sync = AuditSync::kWritten) {
    AuditFields fields = {{"identity", record_.identity()}, {"run", run_id_}};
    for (auto& field : more) fields.push_back(std::move(field));
    return WriteAudit(options_.observers.audit, event, fields, sync);
  }

  absl::Status Handle(const v1::TrainRequest& request) {
    switch (request.message_case()) {
      case v1::TrainRequest::kOpen:
        return Open(request.open());
      case v1::TrainRequest::kRound:
        return StartRound(request.round());
      case v1::TrainRequest::kDictionary:
        return AddDictionary(request.dictionary());
      case v1::TrainRequest::kClose:
        return Close();
      default:
        return UnexpectedMessage();
    }
  }

  absl::Status Open(const v1::OpenRun& open) {
    DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters,
                           FromProto(open.parameters()));
    DPNMF_RETURN_IF_ERROR(WriteAudit(options_.observers.audit, "run-asked",
                                     {{"identity", record_.identity()}}));
    DPNMF_ASSIGN_OR_RETURN(const OpenedSession opened,
                           session_.Open(open.run_id(), parameters));
    v1::TrainReply reply;
    v1::RunOpened* message = reply.mutable_opened();
    DPNMF_ASSIGN_OR_RETURN(*message->mutable_plan(),
                           ToProto(opened.plan, parameters, opened.facts));
    message->set_next_round(opened.next_round);
    message->set_users(opened.facts.users);
    if (options_.receipts != nullptr) {
      const PublicKey& key = options_.receipts->public_key();
      message->set_receipt_key(key.data(), key.size());
    }
    DPNMF_ASSIGN_OR_RETURN(*message->mutable_ledger(), Ledger());
    spdlog::info("run {} of data set {} opened, next round {}", open.run_id(),
                 parameters.dataset, opened.next_round);
    run_id_ = open.run_id();
    if (metrics() != nullptr) metrics()->AddRuns("connected", 1);
    ShowBudget(*options_.context.ledger, session_.population(), metrics());
    DPNMF_RETURN_IF_ERROR(Audit(
        "run-opened", {{"dataset", parameters.dataset},
                       {"mechanism", parameters.mechanism},
                       {"reserved_mu_squared", opened.plan.cost.UnitsText()},
                       {"next_round", std::int64_t{opened.next_round}}}));
    return Write(reply);
  }

  absl::Status StartRound(const v1::RoundStart& start) {
    if (!session_.opened() || reader_.has_value()) return UnexpectedMessage();
    input_ = RoundInput();
    if (start.rows_size() > static_cast<int>(kMaxMomentRows)) {
      return Refusal(absl::StatusCode::kInvalidArgument, "rows-malformed",
                     "`rows` names more rows than any round takes.");
    }
    input_.rows.assign(start.rows().begin(), start.rows().end());
    round_ = start.round();
    if (!start.has_shape()) return Round();
    // The session checks the shape exactly; here it bounds the memory.
    DPNMF_ASSIGN_OR_RETURN(
        reader_, RealMatrixReader::Create(start.shape(), LargestRows(),
                                          session_.parameters().rank));
    return absl::OkStatus();
  }

  absl::Status AddDictionary(const v1::RealChunk& chunk) {
    if (!reader_.has_value()) return UnexpectedMessage();
    DPNMF_RETURN_IF_ERROR(reader_->Add(chunk));
    if (!reader_->complete()) return absl::OkStatus();
    input_.w = reader_->Take();
    reader_.reset();
    return Round();
  }

  absl::Status Round() {
    if (options_.check_peer) {
      DPNMF_RETURN_IF_ERROR(options_.check_peer(*context_));
    }
    const auto begin = std::chrono::steady_clock::now();
    DPNMF_RETURN_IF_ERROR(
        Audit("round-asked", {{"round", std::int64_t{round_}}}));
    DPNMF_ASSIGN_OR_RETURN(const Released<ReleasedRound> released,
                           session_.Round(round_, input_));
    DPNMF_ASSIGN_OR_RETURN(const v1::LedgerPosition position, Ledger());
    std::optional<v1::Receipt> receipt;
    if (options_.receipts != nullptr) {
      DPNMF_ASSIGN_OR_RETURN(
          receipt, options_.receipts->ReceiptOf(released.value().row));
    }
    spdlog::info("run {} round {} {}", run_id_, round_,
                 released.value().lost ? "is lost" : "released");
    DPNMF_RETURN_IF_ERROR(NoteReleased(released.value(), begin));
    AwaitTick(options_);
    const bool written =
        WriteRelease(released, position, receipt,
                     [&](const v1::TrainReply& reply) { return Send(reply); });
    return written ? absl::OkStatus() : PeerGone();
  }

  // On disk before the first byte of the release is sent. Refused here, the
  // round stays charged and stored: the same request gets it later, at no cost.
  absl::Status NoteReleased(const ReleasedRound& released,
                            std::chrono::steady_clock::time_point begin) {
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    if (metrics() != nullptr) {
      metrics()->RoundEnded(session_.parameters().dataset,
                            released.lost ? "lost" : "released", took.count());
    }
    ShowBudget(*options_.context.ledger, session_.population(), metrics());
    return Audit(released.lost ? "round-lost" : "round-released",
                 {{"round", std::int64_t{released.round}},
                  {"row", HexOf(released.row_hash)},
                  {"mu_squared", released.cost.UnitsText()}},
                 AuditSync::kDurable);
  }

  absl::Status Close() {
    if (!session_.opened() || reader_.has_value()) return UnexpectedMessage();
    DPNMF_ASSIGN_OR_RETURN(const MuSquared returned, session_.Close());
    ShowBudget(*options_.context.ledger, session_.population(), metrics());
    DPNMF_RETURN_IF_ERROR(
        Audit("run-closed", {{"returned_mu_squared", returned.UnitsText()}}));
    v1::TrainReply reply;
    *reply.mutable_closed()->mutable_returned() = ToProto(returned);
    DPNMF_ASSIGN_OR_RETURN(*reply.mutable_closed()->mutable_ledger(), Ledger());
    spdlog::info("run {} closed", run_id_);
    closed_ = true;
    if (metrics() != nullptr) metrics()->AddRuns("connected", -1);
    return Write(reply);
  }

  absl::Status Write(const v1::TrainReply& reply) {
    AwaitTick(options_);
    return Send(reply) ? absl::OkStatus() : PeerGone();
  }

  // The peer has as long to take a message as it has to send one.
  bool Send(const v1::TrainReply& reply) {
    record_.Count(0, reply.ByteSizeLong());
    idle_.Touch();
    return DPNMF_TRANSFER("curator-send", stream_->Write(reply));
  }

  absl::StatusOr<v1::LedgerPosition> Ledger() {
    const std::string& population = session_.population();
    DPNMF_ASSIGN_OR_RETURN(const Position position,
                           options_.context.ledger->PositionOf(population));
    return ToProto(population, position);
  }

  std::uint64_t LargestRows() const {
    return options_.context.catalog->Find(session_.parameters().dataset)
        ->features();
  }

  const ServiceOptions& options_;
  const std::atomic<bool>* const shutting_down_;
  const Quota::Lease* const lease_;
  grpc::ServerContext* const context_;
  Abandoned abandoned_;
  CallRecord record_;
  Session session_;
  Stream* const stream_;
  std::optional<RealMatrixReader> reader_;
  RoundInput input_;
  std::uint32_t round_ = 0;
  std::string run_id_;
  bool closed_ = false;
  IdleGuard idle_;  // last: it is gone before what it may interrupt
};

}  // namespace

CuratorServiceImpl::CuratorServiceImpl(ServiceOptions options)
    : options_(std::move(options)), quota_(options_.limits) {}

absl::StatusOr<Quota::Lease> CuratorServiceImpl::Admit(
    const grpc::ServerContext& context) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant, options_.context.access->GrantOf(
                                                options_.identify(context)));
  return quota_.Enter(grant.identity);
}

absl::StatusOr<v1::ListDatasetsReply> CuratorServiceImpl::List(
    const grpc::ServerContext& context) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant, options_.context.access->GrantOf(
                                                options_.identify(context)));
  v1::ListDatasetsReply reply;
  reply.set_version(options_.version);
  for (const Dataset* dataset : options_.context.catalog->All()) {
    const DatasetDescription& description = dataset->description();
    if (!grant.Covers(description.name)) continue;
    DPNMF_ASSIGN_OR_RETURN(
        const PopulationPolicy policy,
        options_.context.ledger->Policy(description.population));
    DPNMF_ASSIGN_OR_RETURN(
        const Position position,
        options_.context.ledger->PositionOf(description.population));
    DPNMF_ASSIGN_OR_RETURN(*reply.add_datasets(),
                           DescriptionOf(*dataset, policy, position.cap));
  }
  return reply;
}

absl::StatusOr<v1::GetLedgerReply> CuratorServiceImpl::LedgerOf(
    const grpc::ServerContext& context, const v1::GetLedgerRequest& request) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant,
                         options_.context.access->Require(
                             options_.identify(context),
                             {Role::kAnalyst, Role::kAuditor, Role::kOperator},
                             request.dataset()));
  const Dataset* dataset = options_.context.catalog->Find(request.dataset());
  if (dataset == nullptr) return UnknownDataset();
  const std::string& population = dataset->description().population;
  const Ledger& ledger = *options_.context.ledger;
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         ledger.Policy(population));
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         ledger.PositionOf(population));
  DPNMF_ASSIGN_OR_RETURN(const IdentityPosition own,
                         ledger.PositionOf(population, grant.identity));
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<LedgerRow> rows,
      ledger.ChargesOf(population, grant.identity, request.after_sequence(),
                       kLedgerPage + 1));
  v1::GetLedgerReply reply;
  DPNMF_ASSIGN_OR_RETURN(*reply.mutable_guarantee(),
                         GuaranteeOf(policy, position.cap));
  *reply.mutable_position() = ToProto(population, position);
  *reply.mutable_own_charged() = dpnmf::ToProto(own.charged);
  *reply.mutable_own_reserved() = dpnmf::ToProto(own.reserved);
  reply.set_own_charge_count(own.charge_count);
  reply.set_more(rows.size() > kLedgerPage);
  for (std::size_t i = 0; i < std::min(rows.size(), kLedgerPage); ++i) {
    *reply.add_own_charges() = ChargeOf(rows[i]);
  }
  return reply;
}

template <typename Reply, typename Compute>
grpc::Status CuratorServiceImpl::Answer(const char* call,
                                        grpc::ServerContext* context,
                                        Reply* reply, Compute compute) {
  if (!DPNMF_TRANSFER("curator-receive", true)) return Lost();
  CallRecord record(options_.observers, call, *context,
                    options_.identify(*context));
  // Held until the reply leaves: a call that waits for its tick is open.
  const absl::StatusOr<Quota::Lease> lease = Admit(*context);
  absl::StatusOr<Reply> result =
      lease.ok() ? WithoutExceptions(compute) : lease.status();
  const absl::Status outcome = record.Finish(result.status());
  // Who is not let in learns nothing of V from when that is said.
  if (lease.ok()) AwaitTick(options_);
  if (!outcome.ok()) return ToGrpc(ForPeer(outcome));
  *reply = *std::move(result);
  return DPNMF_TRANSFER("curator-send", true) ? grpc::Status::OK : Lost();
}

grpc::Status CuratorServiceImpl::ListDatasets(grpc::ServerContext* context,
                                              const v1::ListDatasetsRequest*,
                                              v1::ListDatasetsReply* reply) {
  return Answer("ListDatasets", context, reply, [&] { return List(*context); });
}

grpc::Status CuratorServiceImpl::GetLedger(grpc::ServerContext* context,
                                           const v1::GetLedgerRequest* request,
                                           v1::GetLedgerReply* reply) {
  return Answer("GetLedger", context, reply,
                [&] { return LedgerOf(*context, *request); });
}

grpc::Status CuratorServiceImpl::Train(grpc::ServerContext* context,
                                       Stream* stream) {
  // Held until the last reply leaves.
  const absl::StatusOr<Quota::Lease> lease = Admit(*context);
  absl::Status status;
  if (lease.ok()) {
    status = WithoutExceptions([&] {
      return TrainStream(options_, &shutting_down_, &*lease, context, stream)
          .Serve();
    });
  } else {
    // Who is refused at once is written down, too.
    status = CallRecord(options_.observers, "Train", *context,
                        options_.identify(*context))
                 .Finish(lease.status());
  }
  if (!status.ok())
    spdlog::info("a training stream ended: {}", CodeOrText(status));
  if (lease.ok()) AwaitTick(options_);
  return ToGrpc(ForPeer(status));
}

ServedCurator MakeCuratorService(ServiceOptions options) {
  auto service = std::make_shared<CuratorServiceImpl>(std::move(options));
  return {service, [service] { service->BeginShutdown(); }};
}

}  // namespace dpnmf::curator
