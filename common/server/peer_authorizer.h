// Stands before every call of a server, whatever its service: its own, health,
// reflection, or one that does not exist.
//
// The peer's certificate is checked again (a connection outlives a revocation),
// and what is not the server's own service is for those whom `admit` knows. Own
// methods check their caller themselves, with roles.
#ifndef DPNMF_COMMON_SERVER_PEER_AUTHORIZER_H_
#define DPNMF_COMMON_SERVER_PEER_AUTHORIZER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/tls/tls.h"

namespace grpc {
class AuthMetadataProcessor;
}  // namespace grpc

namespace dpnmf {

// Checks that a peer with these identities is on the allow-list.
using Admit = std::function<absl::Status(const std::vector<std::string>&)>;

// For grpc::ServerCredentials::SetAuthMetadataProcessor. Refusals are
// UNAUTHENTICATED or PERMISSION_DENIED with a fixed sentence. Asked by the
// server's threads, several at once: `admit` is thread-safe.
std::shared_ptr<grpc::AuthMetadataProcessor> MakePeerAuthorizer(TlsFiles files,
                                                                Admit admit);

// Lets in whoever has a name of this server's own certificate (its health
// check), and whom `admit` lets in.
Admit OrOneself(const TlsFiles& files, Admit admit);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_PEER_AUTHORIZER_H_
