// Prometheus metrics of a server, on a port of their own, in plain HTTP: for
// the operator's network alone. Off unless an address is given.
//
// Every value is a count of calls, bytes and rounds, a duration or a ledger
// fact. Labels are method names, documented codes and declared names; never
// what a peer wrote.
#ifndef DPNMF_COMMON_SERVER_METRICS_H_
#define DPNMF_COMMON_SERVER_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace dpnmf {

// Thread-safe.
class Metrics {
 public:
  // `program`: the metrics' prefix, such as "dpnmf_curator". `listen`:
  // HOST:PORT, HOST a name or address of this machine; port 0 takes a free one;
  // empty: counts, and shows nobody. UNAVAILABLE "listen-failed",
  // INVALID_ARGUMENT "address-malformed".
  static absl::StatusOr<std::unique_ptr<Metrics>> Create(
      const std::string& program, const std::string& listen);
  ~Metrics();

  // HOST:PORT of the page; empty if there is none.
  const std::string& address() const;
  // The page as it is served.
  std::string Page() const;

  // A call that has ended; `code` is "ok" or the refusal's.
  void CallEnded(const std::string& method, const std::string& code,
                 double seconds);
  void Bytes(std::uint64_t received, std::uint64_t sent);
  // A connection that was refused before any call.
  void PeerRefused(const std::string& code);
  // `result`: "released", "repeated" or "lost".
  void RoundEnded(const std::string& dataset, const std::string& result,
                  double seconds);
  // Runs by their state, such as "open" or "running".
  void SetRuns(const std::string& state, double count);
  void AddRuns(const std::string& state, double count);
  // Epsilons of a population, at its cap's delta and conversion: of the cap,
  // Spent and LargestRun (common/privacy/budget.h).
  void SetBudget(const std::string& population, double cap, double spent,
                 double largest_run);
  // When the population's guarantee became void (seconds since 1970); 0: it
  // holds.
  void SetVoidSince(const std::string& population, std::int64_t unix_seconds);

 private:
  struct State;
  explicit Metrics(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_METRICS_H_
