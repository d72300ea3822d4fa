#include "common/server/metrics.h"

#include <netdb.h>

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/address.h"
#include "prometheus/counter.h"
#include "prometheus/exposer.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace dpnmf {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};

absl::Status ListenFailed(const std::string& listen) {
  return Refusal(
      absl::StatusCode::kUnavailable, "listen-failed",
      absl::StrCat("Cannot serve metrics on ", listen,
                   ": the address is in use or does not belong to this "
                   "machine; choose another with --metrics-listen."));
}

// The page's server takes addresses alone.
absl::StatusOr<std::string> Numeric(const std::string& listen) {
  // Port 0, which takes a free one, is no address to dial.
  const bool any_port = absl::EndsWith(listen, ":0");
  std::string dialled = listen;
  if (any_port) dialled.back() = '1';
  DPNMF_ASSIGN_OR_RETURN(Address address, ParseAddress(dialled));
  if (any_port) address.port.assign(1, '0');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) !=
      0) {
    return ListenFailed(listen);
  }
  char host[NI_MAXHOST] = "";
  const int error = getnameinfo(found->ai_addr, found->ai_addrlen, host,
                                sizeof(host), nullptr, 0, NI_NUMERICHOST);
  const bool six = found->ai_family == AF_INET6;
  freeaddrinfo(found);
  if (error != 0) return ListenFailed(listen);
  return absl::StrCat(six ? "[" : "", host, six ? "]:" : ":", address.port);
}

}  // namespace

struct Metrics::State {
  explicit State(const std::string& program)
      : calls(BuildHistogram()
                  .Name(program + "_call_seconds")
                  .Help("How long calls took, by method.")
                  .Register(*registry)),
        refusals(BuildCounter()
                     .Name(program + "_refusals_total")
                     .Help("Calls that were refused, by method and code.")
                     .Register(*registry)),
        bytes(BuildCounter()
                  .Name(program + "_bytes_total")
                  .Help("Bytes of messages, by direction.")
                  .Register(*registry)),
        peers(BuildCounter()
                  .Name(program + "_refused_peers_total")
                  .Help("Connections refused in their handshake, by code.")
                  .Register(*registry)),
        rounds(BuildHistogram()
                   .Name(program + "_round_seconds")
                   .Help("How long rounds took, by data set and result.")
                   .Register(*registry)),
        runs(BuildGauge()
                 .Name(program + "_runs")
                 .Help("Runs, by state.")
                 .Register(*registry)),
        epsilon(BuildGauge()
                    .Name(program + "_epsilon")
                    .Help("The budget of a population: cap (the guarantee), "
                          "spent (a reading of the ledger), largest_run (the "
                          "largest epsilon that one run may still ask for).")
                    .Register(*registry)),
        void_since(BuildGauge()
                       .Name(program + "_guarantee_void_since_seconds")
                       .Help("When the guarantee of a population became void "
                             "(seconds since 1970); 0: it holds.")
                       .Register(*registry)) {
    // Both are there from the start.
    for (const char* direction : {"received", "sent"})
      bytes.Add({{"direction", direction}});
  }

  const std::shared_ptr<prometheus::Registry> registry =
      std::make_shared<prometheus::Registry>();
  prometheus::Family<prometheus::Histogram>& calls;
  prometheus::Family<prometheus::Counter>& refusals;
  prometheus::Family<prometheus::Counter>& bytes;
  prometheus::Family<prometheus::Counter>& peers;
  prometheus::Family<prometheus::Histogram>& rounds;
  prometheus::Family<prometheus::Gauge>& runs;
  prometheus::Family<prometheus::Gauge>& epsilon;
  prometheus::Family<prometheus::Gauge>& void_since;
  std::string address;
  std::unique_ptr<prometheus::Exposer> exposer;  // last: it reads the rest
};

Metrics::Metrics(std::unique_ptr<State> state) : state_(std::move(state)) {}
Metrics::~Metrics() = default;

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Create(
    const std::string& program, const std::string& listen) {
  auto state = std::make_unique<State>(program);
  if (!listen.empty()) {
    DPNMF_ASSIGN_OR_RETURN(const std::string numeric, Numeric(listen));
    try {
      state->exposer = std::make_unique<prometheus::Exposer>(numeric, 1);
    } catch (const std::exception&) {
      return ListenFailed(listen);
    }
    state->exposer->RegisterCollectable(state->registry);
    state->address = absl::StrCat(numeric.substr(0, numeric.rfind(':')), ":",
                                  state->exposer->GetListeningPorts().front());
  }
  return std::unique_ptr<Metrics>(new Metrics(std::move(state)));
}

const std::string& Metrics::address() const { return state_->address; }

std::string Metrics::Page() const {
  return prometheus::TextSerializer().Serialize(state_->registry->Collect());
}

void Metrics::CallEnded(const std::string& method, const std::string& code,
                        double seconds) {
  state_->calls.Add({{"method", method}}, kSeconds).Observe(seconds);
  if (code != "ok")
    state_->refusals.Add({{"method", method}, {"code", code}}).Increment();
}

void Metrics::Bytes(std::uint64_t received, std::uint64_t sent) {
  state_->bytes.Add({{"direction", "received"}})
      .Increment(static_cast<double>(received));
  state_->bytes.Add({{"direction", "sent"}})
      .Increment(static_cast<double>(sent));
}

void Metrics::PeerRefused(const std::string& code) {
  state_->peers.Add({{"code", code}}).Increment();
}

void Metrics::RoundEnded(const std::string& dataset, const std::string& result,
                         double seconds) {
  state_->rounds.Add({{"dataset", dataset}, {"result", result}}, kSeconds)
      .Observe(seconds);
}

void Metrics::SetRuns(const std::string& state, double count) {
  state_->runs.Add({{"state", state}}).Set(count);
}

void Metrics::AddRuns(const std::string& state, double count) {
  state_->runs.Add({{"state", state}}).Increment(count);
}

void Metrics::SetBudget(const std::string& population, double cap, double spent,
                        double largest_run) {
  const std::pair<const char*, double> readings[] = {
      {"cap", cap}, {"spent", spent}, {"largest_run", largest_run}};
  for (const auto& [reading, value] : readings) {
    state_->epsilon.Add({{"population", population}, {"reading", reading}})
        .Set(value);
  }
}

void Metrics::SetVoidSince(const std::string& population,
                           std::int64_t unix_seconds) {
  state_->void_since.Add({{"population", population}})
      .Set(static_cast<double>(unix_seconds));
}

}  // namespace dpnmf
