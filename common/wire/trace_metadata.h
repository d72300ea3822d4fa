// Traces (common/base/trace.h) in a call's metadata.
#ifndef DPNMF_COMMON_WIRE_TRACE_METADATA_H_
#define DPNMF_COMMON_WIRE_TRACE_METADATA_H_

#include "common/base/trace.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"

namespace dpnmf {

// Puts a request of the thread's trace (a new one outside of a scope) on a call
// that has not begun, and returns it.
Trace SendTrace(grpc::ClientContext* context);
// The same of a trace that is named.
Trace SendTrace(grpc::ClientContext* context, const std::string& id);

// Returns the caller's ids, or new ids if it sent none or malformed ones.
Trace ReceivedTrace(const grpc::ServerContextBase& context);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_TRACE_METADATA_H_
