// Mutual TLS for both servers and all clients.
//
// TLS 1.3 only. A server requires a client certificate signed by its CA; a
// peer's identity is a DNS or URI entry of its certificate's subject
// alternative name, never the common name. Renewed files are taken up within
// seconds, without a restart; open streams go on.
#ifndef DPNMF_COMMON_RPC_TLS_H_
#define DPNMF_COMMON_RPC_TLS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_context.h"

namespace dpnmf {

struct TlsFiles {
  std::string ca_file;           // PEM: the CA that signs peers
  std::string certificate_file;  // PEM: own certificate (chain)
  std::string key_file;          // PEM: own key; must not be readable by others
};

// Must be called before the first use of gRPC in a process: forces TLS 1.3.
void RequireTls13();

// Reads and checks the files: FAILED_PRECONDITION "tls-file-unreadable",
// "tls-certificate-invalid" (not PEM, expired, not yet valid, no SAN, not
// signed by the CA) or "tls-key-mismatch", one sentence that names the file.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Both check the files first and return that error.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerTls(
    const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelTls(
    const TlsFiles& files);

// The peer's identities as the certificate states them: "dns:NAME" and
// "uri:URI", lower-case DNS names, in the certificate's order. Empty for a peer
// without a certificate (never the case behind ServerTls).
std::vector<std::string> PeerIdentities(const grpc::ServerContextBase& context);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RPC_TLS_H_
