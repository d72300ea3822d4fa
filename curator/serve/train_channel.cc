#include "curator/serve/train_channel.h"

#include <chrono>

#include "common/base/error.h"
#include "common/base/failpoint.h"

namespace dpnmf::curator {

TrainChannel::TrainChannel(Stream* stream, grpc::ServerContext* context,
                           const Quota::Lease* lease, const CallRecord* record,
                           Pacer* pacer, int idle_seconds)
    : stream_(stream),
      context_(context),
      lease_(lease),
      record_(record),
      pacer_(pacer),
      idle_(std::chrono::seconds(idle_seconds),
            [context] { context->TryCancel(); }) {}

absl::StatusOr<bool> TrainChannel::Read(v1::TrainRequest* request) {
  idle_.Touch();
  if (!DPNMF_TRANSFER("curator-receive", stream_->Read(request))) return false;
  idle_.Pause();
  record_->Count(request->ByteSizeLong(), 0);
  DPNMF_RETURN_IF_ERROR(lease_->Message());
  return true;
}

absl::Status TrainChannel::Write(const v1::TrainReply& reply) {
  AwaitTick();
  return Send(reply) ? absl::OkStatus() : PeerGone();
}

void TrainChannel::AwaitTick() {
  if (pacer_ != nullptr) pacer_->AwaitTick();
}

// The peer has as long to take a message as it has to send one.
bool TrainChannel::Send(const v1::TrainReply& reply) {
  record_->Count(0, reply.ByteSizeLong());
  idle_.Touch();
  return DPNMF_TRANSFER("curator-send", stream_->Write(reply));
}

bool TrainChannel::Abandoned() {
  if (abandoned_.load(std::memory_order_relaxed)) return true;
  if (!context_mutex_.TryLock()) return false;
  const bool cancelled = context_->IsCancelled();
  context_mutex_.Unlock();
  if (cancelled) abandoned_.store(true, std::memory_order_relaxed);
  return cancelled;
}

absl::Status PeerGone() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "the peer has gone away.");
}

}  // namespace dpnmf::curator
