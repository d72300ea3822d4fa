// The replies of a call that one request begins.
#ifndef DPNMF_COMMON_WIRE_READ_STREAM_H_
#define DPNMF_COMMON_WIRE_READ_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"

namespace dpnmf {

// Sends the request, and calls take(reply) for each reply, in order, until it
// returns an error; that error ends the call and is the result. Otherwise the
// result is the status of the call (FromGrpc). The context must be new; whoever
// cancels it ends the call.
template <typename Stub, typename Request, typename Reply, typename Take>
absl::Status ReadStream(const std::shared_ptr<grpc::Channel>& channel,
                        grpc::ClientContext* context,
                        std::unique_ptr<grpc::ClientReader<Reply>> (
                            Stub::*method)(grpc::ClientContext*,
                                           const Request&),
                        const Request& request, const Take& take) {
  SendTrace(context);
  Stub stub(channel);
  const auto stream = (stub.*method)(context, request);
  absl::Status taken;
  for (Reply reply; taken.ok() && stream->Read(&reply);) taken = take(reply);
  if (!taken.ok()) context->TryCancel();
  const absl::Status status = FromGrpc(stream->Finish());
  return taken.ok() ? status : taken;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_READ_STREAM_H_
