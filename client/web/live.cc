#include "client/web/live.h"

#include "absl/strings/str_cat.h"
#include "client/files/coherence.h"
#include "client/session/client.h"
#include "common/base/error.h"
#include "common/base/trace.h"
#include "common/web/reply.h"
#include "common/wire/json.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"

namespace dpnmf::cli::web {
namespace {

// Sends each message of `reader` that is wanted, under `name`. A reader of the
// page that goes cancels the call.
template <typename Message, typename Reader, typename Wanted>
absl::Status Forward(const char* name, grpc::ClientContext* context,
                     Reader* reader, EventWriter* writer, Wanted wanted) {
  writer->OnGone([context] { context->TryCancel(); });
  for (Message message; reader->Read(&message);) {
    if (!wanted(message)) continue;
    if (!writer->Send(
            absl::StrCat("{\"", name, "\":", ToJsonLine(message), "}")))
      context->TryCancel();
  }
  const absl::Status status = FromGrpc(reader->Finish());
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
  grpc::ClientContext context;
  SendTrace(&context);
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  request.set_cursor(cursor);
  v1::AnalystService::Stub stub(channel_);
  const auto reader = stub.WatchRun(&context, request);
  const absl::Status status = Forward<v1::RunEvent>(
      "event", &context, reader.get(), writer, Any<v1::RunEvent>);
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
  grpc::ClientContext context;
  SendTrace(&context);
  v1::AnalystService::Stub stub(channel_);
  const auto reader = stub.ChooseRank(&context, request);
  const auto wanted = [&](const v1::ChooseRankReply& reply) {
    if (!reply.has_words()) return true;
    if (text != nullptr) {
      writer->Send(absl::StrCat(
          "{\"coherence\":", ToJsonLine(text->CoherenceOf(reply.words())),
          "}"));
    }
    return false;
  };
  SendEnd(Forward<v1::ChooseRankReply>("reply", &context, reader.get(), writer,
                                       wanted),
          writer);
}

void LiveCalls::SendModel(const v1::GetModelRequest& request,
                          bool (*wanted)(const v1::ModelReply&),
                          EventWriter* writer) const {
  const TraceScope trace(NewTrace());
  grpc::ClientContext context;
  SendTrace(&context);
  v1::AnalystService::Stub stub(channel_);
  const auto reader = stub.GetModel(&context, request);
  SendEnd(
      Forward<v1::ModelReply>("reply", &context, reader.get(), writer, wanted),
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
