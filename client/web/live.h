// Calls of AnalystService that last or that the page alone makes.
#ifndef DPNMF_CLIENT_WEB_LIVE_H_
#define DPNMF_CLIENT_WEB_LIVE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/web/http_server.h"
#include "dpnmf/v1/analyst.pb.h"

namespace grpc {
class Channel;
}

namespace dpnmf::cli {
class PublicText;  // client/files/coherence.h
}

namespace dpnmf::cli::web {

// Errors are as ErrorJson (common/web/reply.h) has them; the kind is
// "UNIMPLEMENTED" if the analyst's server does not know the call. Thread-safe.
class LiveCalls {
 public:
  explicit LiveCalls(std::shared_ptr<grpc::Channel> channel)
      : channel_(std::move(channel)) {}

  // Sends each event after `cursor` as {"event": ...}, until the run has ended,
  // then {"run": ...}; or {"error": ...}. A reader that goes ends the call.
  void Watch(const std::string& run_id, std::uint64_t cursor,
             EventWriter* writer) const;
  // Each reply as {"reply": ...}, but the words of a rank as {"coherence": ...}
  // by `text`, if it is not null; then {"end": true}; or {"error": ...}.
  void ChooseRank(const v1::ChooseRankRequest& request, const PublicText* text,
                  EventWriter* writer) const;
  // The pieces of the standard errors of W, and what is known of each part (not
  // sent by an analyst's server that does not know it), each as {"reply": ...};
  // then {"end": true}; or {"error": ...}. Both take the server a while.
  void StandardErrors(const std::string& run_id, EventWriter* writer) const;
  void Parts(const std::string& run_id, EventWriter* writer) const;

 private:
  // The replies that are wanted, then {"end": true}; or {"error": ...}.
  void SendModel(const v1::GetModelRequest& request,
                 bool (*wanted)(const v1::ModelReply&),
                 EventWriter* writer) const;

  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace dpnmf::cli::web

#endif  // DPNMF_CLIENT_WEB_LIVE_H_
