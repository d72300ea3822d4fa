#include "client/web/live.h"

#include "absl/strings/str_cat.h"
#include "client/files/coherence.h"
#include "client/session/client.h"
#include "common/base/error.h"
#include "common/base/trace.h"
#include "common/web/reply.h"
#include "common/wire/json.h"
#include "common/wire/read_stream.h"
#include "dpnmf/v1/analyst.grpc.pb.h"

namespace dpnmf::cli::web {
namespace {

using Stub = v1::AnalystService::Stub;

// Sends each message of the call that is wanted, under `name`. A reader of the
// page that goes cancels the call.
template <typename Request, typename Message, typename Wanted>
absl::Status Forward(const std::shared_ptr<grpc::Channel>& channel,
                     std::unique_ptr<grpc::ClientReader<Message>> (
                         Stub::*method)(grpc::ClientContext*, const Request&),
                     const Request& request, const char* name,
                     EventWriter* writer, const Wanted& wanted) {
  grpc::ClientContext context;
  writer->OnGone([&context] { context.TryCancel(); });
  const absl::Status status = ReadStream(
      channel, &context, method, request, [&](const Message& message) {
        if (!wanted(message)) return absl::OkStatus();
        const std::string text =
            absl::StrCat("{\"", name, "\":", ToJsonLine(message), "}");
        return writer->Send(text) ? absl::OkStatus() : absl::CancelledError();
      });
  writer->OnGone({});
  return status;
}

template <typename Message>
bool Any(const Message&) {
  return true;
}

void SendEnd(const absl::Status& status, EventWriter* writer) {
  writer->Send(status.ok() ? "{\"end\":true}" : ErrorJson(status));
}

}  // namespace

void LiveCalls::Watch(const std::string& run_id, std::uint64_t cursor,
                      EventWriter* writer) const {
  const TraceScope trace(NewTrace());
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_cursor(cursor);
  const absl::Status status = Forward(channel_, &Stub::WatchRun, request,
                                      "event", writer, Any<v1::RunEvent>);
  if (!status.ok()) {
    writer->Send(ErrorJson(status));
    return;
  }
  const auto run = AnalystClient(channel_).GetRun(run_id);
  writer->Send(run.ok() ? absl::StrCat("{\"run\":", ToJsonLine(*run), "}")
                        : ErrorJson(run.status()));
}

void LiveCalls::ChooseRank(const v1::ChooseRankRequest& request,
                           const PublicText* text, EventWriter* writer) const {
  const TraceScope trace(NewTrace());
  const auto wanted = [&](const v1::ChooseRankReply& reply) {
    if (!reply.has_words()) return true;
    if (text != nullptr) {
      writer->Send(absl::StrCat(
          "{\"coherence\":", ToJsonLine(text->CoherenceOf(reply.words())),
          "}"));
    }
    return false;
  };
  SendEnd(
      Forward(channel_, &Stub::ChooseRank, request, "reply", writer, wanted),
      writer);
}

void LiveCalls::SendModel(const v1::GetModelRequest& request,
                          bool (*wanted)(const v1::ModelReply&),
                          EventWriter* writer) const {
  const TraceScope trace(NewTrace());
  SendEnd(Forward(channel_, &Stub::GetModel, request, "reply", writer, wanted),
          writer);
}

void LiveCalls::StandardErrors(const std::string& run_id,
                               EventWriter* writer) const {
  v1::GetModelRequest request;
  request.set_run_id(run_id);
  request.set_standard_errors(true);
  SendModel(
      request,
      [](const v1::ModelReply& reply) { return reply.has_standard_errors(); },
      writer);
}

void LiveCalls::Parts(const std::string& run_id, EventWriter* writer) const {
  v1::GetModelRequest request;
  request.set_run_id(run_id);
  request.set_parts(true);
  SendModel(
      request, [](const v1::ModelReply& reply) { return reply.has_parts(); },
      writer);
}

}  // namespace dpnmf::cli::web
