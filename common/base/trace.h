// Which request a piece of work belongs to, through all three programs.
//
// A trace is one thing that somebody asked for (a command of dpnmf; a run,
// whose id is its trace); a request is one call within it. Both travel as the
// W3C header `traceparent` (common/wire/trace_metadata.h), so that the caller's
// and the callee's audit log name the same call alike.
#ifndef DPNMF_COMMON_BASE_TRACE_H_
#define DPNMF_COMMON_BASE_TRACE_H_

#include <optional>
#include <string>
#include <string_view>

namespace dpnmf {

struct Trace {
  std::string id;       // 32 lower-case hexadecimal digits, not all 0
  std::string request;  // 16, not all 0

  // "TRACE-REQUEST", as logs write it.
  std::string Text() const { return id + "-" + request; }
  friend bool operator==(const Trace&, const Trace&) = default;
};

// Random ids of the operating system. They mean nothing and protect nothing.
Trace NewTrace();
// Another request of the trace `id`; of a new one if it is none.
Trace NewRequest(const std::string& id);

// "00-TRACE-REQUEST-01". Nothing if the text is not of that form.
std::string TraceparentOf(const Trace& trace);
std::optional<Trace> ParseTraceparent(std::string_view text);

// The request that this thread works on, while a scope lives. Scopes nest.
class TraceScope {
 public:
  explicit TraceScope(Trace trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  const Trace& trace() const { return trace_; }
  // Returns null outside of every scope.
  static const Trace* Current();

 private:
  const Trace trace_;
  const TraceScope* const outer_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_TRACE_H_
