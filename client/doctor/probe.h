// Looks at a server from outside, step by step: name, port, handshake. gRPC
// says no more than "unavailable"; these say why.
#ifndef DPNMF_CLIENT_DOCTOR_PROBE_H_
#define DPNMF_CLIENT_DOCTOR_PROBE_H_

#include <openssl/bio.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls/address.h"
#include "common/tls/certificate.h"
#include "common/tls/channel.h"
#include "common/tls/tls.h"

namespace dpnmf::cli {

// A connected socket, closed with the object.
using Connection = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

// The host's addresses as text. UNAVAILABLE "name-unknown".
absl::StatusOr<std::vector<std::string>> ResolveHost(const Address& address);

// A connection to the first of the host's addresses that accepts one; reads and
// writes on it give up after `timeout`. UNAVAILABLE "port-closed" with the
// system's reason.
absl::StatusOr<Connection> ConnectTcp(const Address& address,
                                      std::chrono::milliseconds timeout);

// A connection to the address through the proxy (HTTP's CONNECT). UNAVAILABLE
// "name-unknown" or "port-closed" of the proxy; "unreachable" with its answer
// if it refuses.
absl::StatusOr<Connection> ConnectThrough(const Proxy& proxy,
                                          const std::string& address,
                                          std::chrono::milliseconds timeout);

// Result of a TLS 1.3 handshake.
struct Handshake {
  bool completed = false;
  // Why not, by the TLS library or the server's alert.
  std::string failure;
  // The server's chain, own certificate first; empty if it sent none.
  std::vector<X509Pointer> server_chain;
  // True if the server answered: it took this side's certificate.
  bool accepted = false;
  // Its alert, or that it closed the connection, if it did not.
  std::string refusal;
};

// Shakes hands with own certificate. The server's chain is handed back as it
// is, not judged. `files` must have passed CheckTlsFiles.
Handshake ShakeHands(Connection connection, const std::string& host,
                     const TlsFiles& files);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_DOCTOR_PROBE_H_
