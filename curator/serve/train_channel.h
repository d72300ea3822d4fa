// The messages of one training stream: quota, silence, ticks, counts of bytes.
#ifndef DPNMF_CURATOR_SERVE_TRAIN_CHANNEL_H_
#define DPNMF_CURATOR_SERVE_TRAIN_CHANNEL_H_

#include <atomic>

#include "absl/status/statusor.h"
#include "common/server/call_record.h"
#include "common/server/quota.h"
#include "common/server/stall_timeout.h"
#include "common/threads/mutex.h"
#include "curator/session/pacing.h"
#include "dpnmf/v1/curator.grpc.pb.h"

namespace dpnmf::curator {

// One thread reads and writes; everything handed over outlives it.
class TrainChannel {
 public:
  using Stream = grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>;

  // A peer that neither sends nor takes a message for `idle_seconds` is
  // cancelled. `pacer`: null if replies leave at once.
  TrainChannel(Stream* stream, grpc::ServerContext* context,
               const Quota::Lease* lease, const CallRecord* record,
               Pacer* pacer, int idle_seconds);

  // The next message; false at the end of the stream. Until the next Read or
  // Write the silence is this side's own. UNAVAILABLE "too-many-messages".
  absl::StatusOr<bool> Read(v1::TrainRequest* request);

  // At a tick. CANCELLED "cancelled" if the peer has gone.
  absl::Status Write(const v1::TrainReply& reply);
  // For a reply of several messages: AwaitTick, then each message at once;
  // false if the peer has gone.
  void AwaitTick();
  bool Send(const v1::TrainReply& reply);

  // Returns whether the call was cancelled. May be called from several threads
  // at once, unlike methods of grpc::ServerContext.
  bool Abandoned();

 private:
  Stream* const stream_;
  grpc::ServerContext* const context_;
  const Quota::Lease* const lease_;
  const CallRecord* const record_;
  Pacer* const pacer_;
  std::atomic<bool> abandoned_{false};
  Mutex context_mutex_;
  StallTimeout idle_;  // last: it is gone before what it may interrupt
};

// CANCELLED "cancelled".
absl::Status PeerGone();

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_TRAIN_CHANNEL_H_
