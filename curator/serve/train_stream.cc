#include "curator/serve/train_stream.h"

#include "common/base/error.h"
#include "common/federation/offer_wire.h"
#include "common/log/without_exceptions.h"
#include "common/wire/convert.h"
#include "common/wire/release.h"
#include "curator/serve/wire.h"

namespace dpnmf::curator {
namespace {

absl::Status UnexpectedMessage() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "message-out-of-order",
                 "The order in a stream must be: open, then rounds each with "
                 "its dictionary, then close.");
}

absl::Status ShuttingDown() {
  return Refusal(absl::StatusCode::kUnavailable, "shutting-down",
                 "The curator is stopping: the run continues when it is back.");
}

}  // namespace

TrainStream::TrainStream(const ServiceOptions& options,
                         const std::atomic<bool>* shutting_down,
                         const Quota::Lease* lease,
                         grpc::ServerContext* context,
                         TrainChannel::Stream* stream)
    : options_(options),
      shutting_down_(shutting_down),
      context_(context),
      record_(options.observers, "Train", *context, options.identify(*context)),
      channel_(stream, context, lease, &record_, options.context.pacer,
               options.idle_seconds),
      observer_(options.observers, *options.context.ledger, record_.identity()),
      session_(options.context, options.identify(*context),
               [this] { return *shutting_down_ || channel_.Abandoned(); }) {}

absl::Status TrainStream::Serve() {
  const absl::Status ended = WithoutExceptions([this] { return Exchange(); });
  observer_.Ended();
  return record_.Finish(ended, {{"run", observer_.run_id()}});
}

absl::Status TrainStream::Exchange() {
  v1::TrainRequest request;
  while (!closed_) {
    DPNMF_ASSIGN_OR_RETURN(const bool more, channel_.Read(&request));
    if (!more) break;
    if (*shutting_down_) return ShuttingDown();
    DPNMF_RETURN_IF_ERROR(Handle(request));
  }
  return absl::OkStatus();
}

absl::Status TrainStream::Handle(const v1::TrainRequest& request) {
  switch (request.message_case()) {
    case v1::TrainRequest::kOpen:
      return Open(request.open());
    case v1::TrainRequest::kRound:
      return StartRound(request.round());
    case v1::TrainRequest::kDictionary:
      return AddDictionary(request.dictionary());
    case v1::TrainRequest::kClose:
      return Close();
    case v1::TrainRequest::kOffers:
      return Contribute(request.offers());
    default:
      return UnexpectedMessage();
  }
}

absl::Status TrainStream::Open(const v1::OpenRun& open) {
  DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters,
                         FromProto(open.parameters()));
  DPNMF_RETURN_IF_ERROR(observer_.Asked());
  DPNMF_ASSIGN_OR_RETURN(const OpenedSession opened,
                         session_.Open(open.run_id(), parameters));
  DPNMF_ASSIGN_OR_RETURN(const v1::TrainReply reply,
                         OpenedReply(parameters, opened));
  DPNMF_RETURN_IF_ERROR(observer_.Opened(open.run_id(), parameters, opened));
  return channel_.Write(reply);
}

absl::Status TrainStream::StartRound(const v1::RoundStart& start) {
  if (!session_.opened() || reader_.has_value()) return UnexpectedMessage();
  input_ = RoundInput();
  offered_ = false;
  if (start.rows_size() > static_cast<int>(kMaxMomentRows)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "rows-malformed",
                   "`rows` names more rows than any round takes.");
  }
  if (start.numbers_size() > kMostRequestNumbers) {
    return Refusal(absl::StatusCode::kInvalidArgument, "numbers-malformed",
                   "`numbers` has more numbers than any round takes.");
  }
  input_.rows.assign(start.rows().begin(), start.rows().end());
  input_.numbers.assign(start.numbers().begin(), start.numbers().end());
  round_ = start.round();
  if (!start.has_shape()) return Round();
  // The session checks the shape exactly; here it bounds the memory.
  DPNMF_ASSIGN_OR_RETURN(reader_,
                         RealMatrixReader::Create(start.shape(), LargestRows(),
                                                  session_.LargestColumns()));
  return absl::OkStatus();
}

absl::Status TrainStream::AddDictionary(const v1::RealChunk& chunk) {
  if (!reader_.has_value()) return UnexpectedMessage();
  DPNMF_RETURN_IF_ERROR(reader_->Add(chunk));
  if (!reader_->complete()) return absl::OkStatus();
  input_.w = reader_->Take();
  reader_.reset();
  return Round();
}

absl::Status TrainStream::Round() {
  if (options_.check_peer)
    DPNMF_RETURN_IF_ERROR(options_.check_peer(*context_));
  DPNMF_RETURN_IF_ERROR(observer_.RoundAsked(round_));
  if (session_.federated()) return Offer();
  const absl::StatusOr<Released<ReleasedRound>> answer =
      session_.Round(round_, input_);
  // Broken off before its charge.
  if (absl::IsCancelled(answer.status()) && *shutting_down_)
    return ShuttingDown();
  DPNMF_RETURN_IF_ERROR(answer.status());
  return SendRelease(*answer);
}

absl::Status TrainStream::Offer() {
  DPNMF_ASSIGN_OR_RETURN(const FederationOffer offer,
                         session_.Offer(round_, input_));
  offered_ = true;
  v1::TrainReply reply;
  *reply.mutable_offer() = ToProto(offer);
  return channel_.Write(reply);
}

absl::Status TrainStream::Contribute(const v1::FederationOffers& message) {
  if (!session_.opened() || reader_.has_value() || !offered_)
    return UnexpectedMessage();
  offered_ = false;
  if (options_.check_peer)
    DPNMF_RETURN_IF_ERROR(options_.check_peer(*context_));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<FederationOffer> offers,
                         FromProto(message));
  const absl::StatusOr<Released<ReleasedRound>> answer =
      session_.Contribute(round_, input_, offers);
  if (absl::IsCancelled(answer.status()) && *shutting_down_)
    return ShuttingDown();
  DPNMF_RETURN_IF_ERROR(answer.status());
  return SendRelease(*answer);
}

absl::Status TrainStream::SendRelease(const Released<ReleasedRound>& released) {
  DPNMF_ASSIGN_OR_RETURN(const v1::LedgerPosition position, LedgerPosition());
  std::optional<v1::Receipt> receipt;
  if (options_.receipts != nullptr) {
    DPNMF_ASSIGN_OR_RETURN(
        receipt, options_.receipts->ReceiptOf(released.value().row,
                                              DigestOf(released.value())));
  }
  DPNMF_RETURN_IF_ERROR(observer_.RoundReleased(released.value()));
  channel_.AwaitTick();
  const bool written =
      WriteRelease(released, position, receipt,
                   [this](const auto& reply) { return channel_.Send(reply); });
  return written ? absl::OkStatus() : PeerGone();
}

std::optional<Digest> TrainStream::DigestOf(
    const ReleasedRound& released) const {
  if (released.lost) return std::nullopt;
  const DatasetFacts& facts = session_.facts();
  const v1::RunParameters parameters = ToProto(session_.parameters());
  const v1::StagePlan stage = ToProto(session_.StageOf(released.round), facts);
  return DigestOfRelease({&parameters, &stage, facts.users, input_.rows,
                          input_.numbers, &input_.w},
                         released.parts);
}

absl::Status TrainStream::Close() {
  if (!session_.opened() || reader_.has_value()) return UnexpectedMessage();
  DPNMF_ASSIGN_OR_RETURN(const MuSquared returned, session_.Close());
  DPNMF_RETURN_IF_ERROR(observer_.Closed(returned));
  v1::TrainReply reply;
  *reply.mutable_closed()->mutable_returned() = ToProto(returned);
  DPNMF_ASSIGN_OR_RETURN(*reply.mutable_closed()->mutable_ledger(),
                         LedgerPosition());
  closed_ = true;
  return channel_.Write(reply);
}

absl::StatusOr<v1::TrainReply> TrainStream::OpenedReply(
    const RunParameters& parameters, const OpenedSession& opened) const {
  v1::TrainReply reply;
  v1::RunOpened* const message = reply.mutable_opened();
  DPNMF_ASSIGN_OR_RETURN(*message->mutable_plan(),
                         ToProto(opened.plan, parameters, opened.facts));
  message->set_next_round(opened.next_round);
  message->set_users(opened.facts.users);
  if (options_.receipts != nullptr) {
    const PublicKey& key = options_.receipts->public_key();
    message->set_receipt_key(key.data(), key.size());
  }
  DPNMF_ASSIGN_OR_RETURN(*message->mutable_ledger(), LedgerPosition());
  return reply;
}

absl::StatusOr<v1::LedgerPosition> TrainStream::LedgerPosition() const {
  const Ledger& ledger = *options_.context.ledger;
  const std::string& population = session_.population();
  const std::string& dataset = session_.facts().name;
  DPNMF_ASSIGN_OR_RETURN(const Position position,
                         ledger.PositionFor(population, dataset));
  v1::LedgerPosition message = ToProto(population, position);
  message.clear_partitions();  // of GetLedger alone: there may be many
  if (session_.identity_cap().has_value()) {
    DPNMF_ASSIGN_OR_RETURN(
        const IdentityPosition own,
        ledger.PositionFor(population, dataset, session_.identity()));
    *message.mutable_own_limit() = ToProto(*session_.identity_cap(), own);
  }
  return message;
}

std::uint64_t TrainStream::LargestRows() const {
  return session_.facts().features;
}

}  // namespace dpnmf::curator
