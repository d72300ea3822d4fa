// One training stream: messages in, messages out, a Session between.
//
// Each message is decoded, put to the session, and what the session says is
// encoded. What is written down is RunObserver's, how messages pass is
// TrainChannel's.
#ifndef DPNMF_CURATOR_SERVE_TRAIN_STREAM_H_
#define DPNMF_CURATOR_SERVE_TRAIN_STREAM_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "common/crypto/sha256.h"
#include "common/wire/matrix_stream.h"
#include "curator/serve/run_observer.h"
#include "curator/serve/service_options.h"
#include "curator/serve/train_channel.h"

namespace dpnmf::curator {

// One thread. Everything handed over outlives it.
class TrainStream {
 public:
  // Once *shutting_down, no message is taken: UNAVAILABLE "shutting-down".
  TrainStream(const ServiceOptions& options,
              const std::atomic<bool>* shutting_down, const Quota::Lease* lease,
              grpc::ServerContext* context, TrainChannel::Stream* stream);

  // Until the peer closes the run, half-closes the stream, or is refused.
  absl::Status Serve();

 private:
  absl::Status Exchange();
  absl::Status Handle(const v1::TrainRequest& request);
  absl::Status Open(const v1::OpenRun& open);
  absl::Status StartRound(const v1::RoundStart& start);
  absl::Status AddDictionary(const v1::RealChunk& chunk);
  absl::Status Round();
  // Steps of a federation's round: the offer, then the rest after all offers.
  absl::Status Offer();
  absl::Status Contribute(const v1::FederationOffers& offers);
  absl::Status SendRelease(const Released<ReleasedRound>& released);
  // Digest of the current round's release; nullopt if the release is lost.
  std::optional<Digest> DigestOf(const ReleasedRound& released) const;
  absl::Status Close();

  absl::StatusOr<v1::TrainReply> OpenedReply(const RunParameters& parameters,
                                             const OpenedSession& opened) const;
  absl::StatusOr<v1::LedgerPosition> LedgerPosition() const;
  std::uint64_t LargestRows() const;

  const ServiceOptions& options_;
  const std::atomic<bool>* const shutting_down_;
  grpc::ServerContext* const context_;
  CallRecord record_;
  TrainChannel channel_;
  RunObserver observer_;
  Session session_;
  // Round whose messages come in.
  std::uint32_t round_ = 0;
  RoundInput input_;
  std::optional<RealMatrixReader> reader_;
  bool offered_ = false;  // and the offers of all are awaited
  bool closed_ = false;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_TRAIN_STREAM_H_
