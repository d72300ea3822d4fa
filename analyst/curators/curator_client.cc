#include "analyst/curators/curator_client.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/federation/offer_wire.h"
#include "common/log/log.h"
#include "common/server/stall_timeout.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace dpnmf::analyst {
namespace {

absl::Status Violation() {
  return Refusal(absl::StatusCode::kInternal, "protocol-violation",
                 "The curator answered out of order; both sides must run the "
                 "same version.");
}

absl::Status Cancelled() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The connection of the call was lost.");
}

absl::Status Silent() {
  return Refusal(
      absl::StatusCode::kUnavailable, "peer-silent",
      "The curator has not answered for too long; the call was ended.");
}

absl::Status Ended() {
  return Refusal(absl::StatusCode::kUnavailable, "unreachable",
                 "The curator ended the stream early; it may be restarting.");
}

// The client of this analyst must not take the curator's silence for ours.
absl::Status FromCurator(const grpc::Status& status) {
  const absl::Status converted = FromGrpc(status);
  // This side's doubts about the curator's certificate.
  if (absl::IsUnauthenticated(converted) &&
      status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    LogWarning("the curator: {} [{}]", std::string(converted.message()),
               ReasonCode(converted));
    return Refusal(
        converted.code(), ReasonCode(converted),
        "The analyst's server refuses the certificate of its curator, not "
        "yours; its operator must act, and its log has the reason.");
  }
  // Nor the curator's doubts about this server for doubts about the client.
  if (absl::IsPermissionDenied(converted) ||
      absl::IsUnauthenticated(converted)) {
    LogWarning("the curator does not admit this server: {}",
               std::string(converted.message()));
    const std::string code = ReasonCode(converted);
    const bool is_revoked = code == "certificate-revoked";
    if (is_revoked || code == "certificate-expired" ||
        code == "certificate-unknown-ca") {
      return Refusal(
          absl::StatusCode::kUnauthenticated, "analyst-not-admitted",
          absl::StrCat("The curator refuses the certificate of the analyst's "
                       "server, not yours: it ",
                       is_revoked                      ? "was revoked"
                       : code == "certificate-expired" ? "has expired"
                                                       : "is of a CA that the "
                                                         "curator does not "
                                                         "know",
                       " (", code,
                       "); the operator of the analyst's server must get a "
                       "new one from the curator's operator."));
    }
    return Refusal(
        absl::IsUnauthenticated(converted)
            ? absl::StatusCode::kUnauthenticated
            : absl::StatusCode::kFailedPrecondition,
        "analyst-not-admitted",
        absl::StrCat(
            "The curator refuses the analyst's server, not your "
            "certificate (",
            ReasonCode(converted),
            "): the curator's operator must give the server's identity access "
            "to this data set; the server's log has the curator's sentence."));
  }
  if (ReasonCode(converted) != "unreachable") return converted;
  LogWarning("the curator: {}", std::string(converted.message()));
  return Refusal(
      absl::StatusCode::kUnavailable, "curator-unreachable",
      absl::StrCat("The analyst's server cannot reach the curator",
                   IsEndedConnection(converted)
                       ? ", which ends the connection: it stops, or the "
                         "certificate of the analyst's server was "
                         "revoked, has expired or is of another CA"
                       : "",
                   "; runs that were started continue when it is back."));
}

// 32 bytes or a violation.
absl::Status CheckHash(const std::string& hash) {
  return hash.size() == 32 ? absl::OkStatus() : Violation();
}

class GrpcStream : public RunStream {
 public:
  GrpcStream(v1::CuratorService::StubInterface* stub,
             std::chrono::milliseconds silence_limit)
      : guard_(silence_limit, [this] { GiveUp(); }),
        trace_(SendTrace(&context_)),
        stream_(stub->Train(&context_)) {
    guard_.Pause();
  }
  std::optional<Trace> trace() const override { return trace_; }
  ~GrpcStream() override { context_.TryCancel(); }

  absl::StatusOr<OpenedRun> Open(const std::string& run_id,
                                 const v1::RunParameters& parameters) override {
    v1::TrainRequest request;
    request.mutable_open()->set_run_id(run_id);
    *request.mutable_open()->mutable_parameters() = parameters;
    const Working working(&guard_);
    v1::TrainReply reply;
    DPNMF_RETURN_IF_ERROR(Write(request));
    DPNMF_RETURN_IF_ERROR(Read(&reply));
    if (!reply.has_opened()) return Violation();
    v1::RunOpened& opened = *reply.mutable_opened();
    plan_ = opened.plan();
    rank_ = parameters.rank();
    return OpenedRun{std::move(*opened.mutable_plan()), opened.next_round(),
                     opened.users(), std::move(*opened.mutable_ledger()),
                     std::move(*opened.mutable_receipt_key())};
  }

  absl::StatusOr<RoundResult> Round(std::uint32_t round,
                                    const RoundInput& input) override {
    const Working working(&guard_);
    DPNMF_RETURN_IF_ERROR(SendRound(round, input));
    return ReadRelease(round, LargestRelease(round, input));
  }

  absl::StatusOr<FederationOffer> Offer(std::uint32_t round,
                                        const RoundInput& input) override {
    const Working working(&guard_);
    DPNMF_RETURN_IF_ERROR(SendRound(round, input));
    v1::TrainReply reply;
    DPNMF_RETURN_IF_ERROR(Read(&reply));
    if (!reply.has_offer()) return Violation();
    // The keys of all curators come with the release, four words each.
    largest_ = LargestRelease(round, input) + 4 * kMostMembers;
    return dpnmf::FromProto(reply.offer());
  }

  absl::StatusOr<RoundResult> Contribute(
      std::uint32_t round,
      const std::vector<FederationOffer>& offers) override {
    const Working working(&guard_);
    v1::TrainRequest request;
    *request.mutable_offers() = dpnmf::ToProto(offers);
    DPNMF_RETURN_IF_ERROR(Write(request));
    return ReadRelease(round, largest_);
  }

  absl::StatusOr<RoundResult> ReadRelease(std::uint32_t round,
                                          std::uint64_t largest) {
    v1::TrainReply reply;
    DPNMF_RETURN_IF_ERROR(Read(&reply));
    if (reply.has_lost()) return LostRound(round, reply.lost());
    if (!reply.has_release() || reply.release().round() != round)
      return Violation();
    DPNMF_ASSIGN_OR_RETURN(ReleaseReader reader,
                           ReleaseReader::Create(reply.release(), largest));
    while (!reader.complete()) {
      DPNMF_RETURN_IF_ERROR(Read(&reply));
      if (reply.has_lattice()) {
        DPNMF_RETURN_IF_ERROR(reader.Add(reply.lattice()));
      } else if (reply.has_real()) {
        DPNMF_RETURN_IF_ERROR(reader.Add(reply.real()));
      } else {
        return Violation();
      }
    }
    DPNMF_RETURN_IF_ERROR(Read(&reply));
    if (!reply.has_end() || reply.end().round() != round) return Violation();
    RoundResult result;
    result.parts = reader.Take();
    DPNMF_RETURN_IF_ERROR(CheckHash(reply.end().row_hash()));
    DPNMF_ASSIGN_OR_RETURN(result.cost, FromProto(reply.end().charged()));
    result.row_hash = reply.end().row_hash();
    result.ledger = reply.end().ledger();
    if (reply.end().has_receipt()) result.receipt = reply.end().receipt();
    return result;
  }

  absl::StatusOr<ClosedRun> Close() override {
    v1::TrainRequest request;
    request.mutable_close();
    const Working working(&guard_);
    v1::TrainReply reply;
    DPNMF_RETURN_IF_ERROR(Write(request));
    DPNMF_RETURN_IF_ERROR(Read(&reply));
    if (!reply.has_closed()) return Violation();
    ClosedRun closed;
    DPNMF_ASSIGN_OR_RETURN(closed.returned,
                           FromProto(reply.closed().returned()));
    closed.ledger = reply.closed().ledger();
    stream_->WritesDone();
    return closed;
  }

  void Cancel() override {
    cancelled_ = true;
    context_.TryCancel();
  }

 private:
  // The silence counts while a call is under way, not while the analyst works.
  class Working {
   public:
    explicit Working(StallTimeout* guard) : guard_(guard) { guard_->Touch(); }
    ~Working() { guard_->Pause(); }

   private:
    StallTimeout* const guard_;
  };

  void GiveUp() {
    silent_ = true;
    context_.TryCancel();
  }

  absl::StatusOr<RoundResult> LostRound(std::uint32_t round,
                                        const v1::RoundLost& lost) {
    if (lost.round() != round) return Violation();
    DPNMF_RETURN_IF_ERROR(CheckHash(lost.row_hash()));
    RoundResult result;
    result.lost = true;
    DPNMF_ASSIGN_OR_RETURN(result.cost, FromProto(lost.charged()));
    result.row_hash = lost.row_hash();
    result.ledger = lost.ledger();
    if (lost.has_receipt()) result.receipt = lost.receipt();
    return result;
  }

  // No release is larger than the sums that it is made of: what fits W, a
  // matrix of K columns and one on the rows of the request; or what the plan
  // says.
  std::uint64_t LargestRelease(std::uint32_t round,
                               const RoundInput& input) const {
    if (input.w.size() > 0) {
      const std::uint64_t columns = std::max<std::uint64_t>(
          rank_, static_cast<std::uint64_t>(input.w.cols()));
      return static_cast<std::uint64_t>(input.w.size()) + columns * columns +
             EntryCount(input.rows.size(), input.rows.size(), true);
    }
    constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
    const v1::StagePlan* const stage = StageOf(plan_, round).stage;
    std::uint64_t entries = 0;
    if (stage == nullptr) return entries;
    for (const v1::PartPlan& part : stage->parts()) {
      entries += std::min(
          kMost, EntryCount(part.shape().rows(), part.shape().columns(),
                            part.layout() == v1::LAYOUT_UPPER));
    }
    return std::min(kMost, entries);
  }

  absl::Status SendRound(std::uint32_t round, const RoundInput& input) {
    const Eigen::MatrixXd& w = input.w;
    v1::TrainRequest request;
    request.mutable_round()->set_round(round);
    request.mutable_round()->mutable_rows()->Add(input.rows.begin(),
                                                 input.rows.end());
    request.mutable_round()->mutable_numbers()->Add(input.numbers.begin(),
                                                    input.numbers.end());
    if (w.size() == 0) return Write(request);
    request.mutable_round()->mutable_shape()->set_rows(
        static_cast<std::uint64_t>(w.rows()));
    request.mutable_round()->mutable_shape()->set_columns(
        static_cast<std::uint64_t>(w.cols()));
    DPNMF_RETURN_IF_ERROR(Write(request));
    absl::Status status;
    WriteChunks(w, [&](const v1::RealChunk& chunk) {
      *request.mutable_dictionary() = chunk;
      status = Write(request);
      return status.ok();
    });
    return status;
  }

  absl::Status Write(const v1::TrainRequest& request) {
    if (!DPNMF_TRANSFER("analyst-send", stream_->Write(request)))
      return Failure();
    guard_.Touch();
    return absl::OkStatus();
  }

  absl::Status Read(v1::TrainReply* reply) {
    if (!DPNMF_TRANSFER("analyst-receive", stream_->Read(reply)))
      return Failure();
    guard_.Touch();
    return absl::OkStatus();
  }

  // Why the stream has ended.
  absl::Status Failure() {
    if (finished_) return Ended();
    finished_ = true;
    v1::TrainReply rest;
    while (stream_->Read(&rest)) {
    }
    const grpc::Status status = stream_->Finish();
    if (cancelled_) return Cancelled();
    if (silent_) return Silent();
    return status.ok() ? Ended() : FromCurator(status);
  }

  grpc::ClientContext context_;
  v1::RunPlan plan_;           // of Open
  std::uint64_t rank_ = 0;     // likewise
  std::uint64_t largest_ = 0;  // entries of the release that was offered
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> silent_{false};
  bool finished_ = false;
  StallTimeout guard_;
  const Trace trace_;
  std::unique_ptr<
      grpc::ClientReaderWriterInterface<v1::TrainRequest, v1::TrainReply>>
      stream_;
};

class GrpcCurator : public CuratorConnection {
 public:
  GrpcCurator(std::shared_ptr<grpc::ChannelInterface> channel,
              std::chrono::milliseconds silence_limit)
      : channel_(std::move(channel)),
        stub_(v1::CuratorService::NewStub(channel_)),
        silence_limit_(silence_limit) {}

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    return Call(&Stub::ListDatasets, v1::ListDatasetsRequest());
  }

  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override {
    v1::ListItemsRequest request;
    request.set_dataset(dataset);
    request.set_first(first);
    return Call(&Stub::ListItems, request);
  }

  absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) override {
    v1::GetLedgerRequest request;
    request.set_dataset(dataset);
    request.set_after_sequence(after_sequence);
    return Call(&Stub::GetLedger, request);
  }

  std::unique_ptr<RunStream> NewStream() override {
    return std::make_unique<GrpcStream>(stub_.get(), silence_limit_);
  }

 private:
  using Stub = v1::CuratorService::StubInterface;

  // One request, one small reply: silence and duration are the same. In tests
  // either may be lost on the way.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                          const Request&,
                                                          Reply*),
                             const Request& request) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::min<std::chrono::milliseconds>(
                             silence_limit_, std::chrono::seconds(30)));
    SendTrace(&context);
    Reply reply;
    grpc::Status status;
    const bool passed = DPNMF_TRANSFER(
        "analyst-call",
        (status = (stub_.get()->*method)(&context, request, &reply)).ok());
    if (!status.ok()) return FromCurator(status);
    if (!passed) return Ended();
    return reply;
  }

  const std::shared_ptr<grpc::ChannelInterface> channel_;
  const std::unique_ptr<v1::CuratorService::StubInterface> stub_;
  const std::chrono::milliseconds silence_limit_;
};

}  // namespace

std::shared_ptr<grpc::Channel> CuratorChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::optional<Proxy>& proxy) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // The learner has its own pauses; the channel's must not add to them.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  return OpenChannel(address, credentials, proxy, arguments);
}

std::unique_ptr<CuratorConnection> ConnectCurator(
    std::shared_ptr<grpc::ChannelInterface> channel,
    std::chrono::milliseconds silence_limit) {
  return std::make_unique<GrpcCurator>(std::move(channel), silence_limit);
}

absl::StatusOr<std::unique_ptr<CuratorConnection>> ConnectCurator(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    bool use_proxy, std::chrono::milliseconds silence_limit) {
  DPNMF_ASSIGN_OR_RETURN(const auto proxy, ProxyFor(address, use_proxy));
  return ConnectCurator(CuratorChannel(address, credentials, proxy),
                        silence_limit);
}

}  // namespace dpnmf::analyst
