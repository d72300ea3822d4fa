#include "common/wire/trace_metadata.h"

namespace dpnmf {
namespace {

constexpr char kHeader[] = "traceparent";

}  // namespace

Trace SendTrace(grpc::ClientContext* context, const std::string& id) {
  Trace trace = NewRequest(id);
  context->AddMetadata(kHeader, TraceparentOf(trace));
  return trace;
}

Trace SendTrace(grpc::ClientContext* context) {
  const Trace* const current = TraceScope::Current();
  return SendTrace(context, current == nullptr ? "" : current->id);
}

Trace ReceivedTrace(const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kHeader);
  if (found != metadata.end()) {
    const auto trace = ParseTraceparent(
        std::string_view(found->second.data(), found->second.size()));
    if (trace.has_value()) return *trace;
  }
  return NewTrace();
}

}  // namespace dpnmf
