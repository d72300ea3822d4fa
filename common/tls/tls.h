// Mutual TLS for both servers and all clients.
//
// TLS 1.3 only. A server requires a client certificate signed by its CA; a
// peer's identity is a DNS or URI entry of its certificate's subject
// alternative name, never the common name. Renewed files are taken up within
// seconds, without a restart; open streams go on. CA and revocation list are
// read at each handshake (peer_check.h): a revoked peer is refused at once.
#ifndef DPNMF_COMMON_TLS_TLS_H_
#define DPNMF_COMMON_TLS_TLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace grpc {
class AuthContext;
class ChannelCredentials;
class ServerContextBase;
class ServerCredentials;
}  // namespace grpc

namespace dpnmf {

struct TlsFiles {
  std::string ca_file = {};           // PEM: the CA that signs peers
  std::string certificate_file = {};  // PEM: own certificate (chain)
  std::string key_file = {};  // PEM: own key; must not be readable by all
  std::string crl_file = {};  // PEM: revocation lists; empty: none are kept
};

// Told of every peer whose connection is refused: the reason's code and one
// sentence that names the peer as far as it is known. Also of handshakes that
// OpenSSL ends itself (TLS 1.2, plain text). For a server's log; set it before
// the first connection. Called from any thread.
using RefusalSink =
    std::function<void(const std::string& code, const std::string& sentence)>;
void OnPeerRefused(RefusalSink sink);

// Forces TLS 1.3 for every later TLS context of the process, by way of
// OpenSSL's configuration (gRPC 1.51 has no call for it). Call it first in
// main(); ServerTls and ChannelTls call it too. Stops the process if OpenSSL
// does not take it. Thread-safe, idempotent.
void RequireTls13();

// Reads and checks the files: FAILED_PRECONDITION "tls-file-unreadable",
// "tls-certificate-invalid" (not PEM, expired, not yet valid, without a DNS or
// URI name, not signed by the CA), "tls-key-mismatch", "tls-key-readable"
// (readable by every user) or "tls-crl-invalid" (missing, expired, not the
// CA's), one sentence that names the file.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Both check the files first and return that error.
//
// The server refuses, within the handshake, peers without a certificate of the
// CA, with an expired one, or with one that states no DNS or URI name. The
// client refuses a server whose subject alternative name does not state the
// host that was dialled.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerTls(
    const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelTls(
    const TlsFiles& files);

// The peer's identities as the certificate states them: "dns:NAME" and
// "uri:URI", lower-case DNS names, in the certificate's order. Names with a
// character outside printable ASCII are left out. Empty for a peer without a
// certificate (never the case behind ServerTls).
std::vector<std::string> PeerIdentities(const grpc::ServerContextBase& context);

// Checks that the peer would be let in now: errors of CheckPeerCertificate
// (peer_check.h). The handshake checks once; a stream or a connection may live
// longer, so ask again every round and every call.
absl::Status CheckPeerStillValid(const grpc::ServerContextBase& context,
                                 const TlsFiles& files);
// The same of a connection that has no call yet.
absl::Status CheckPeerStillValid(const grpc::AuthContext& peer,
                                 const TlsFiles& files);
std::vector<std::string> IdentitiesOf(const grpc::AuthContext& peer);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_TLS_H_
