// Checks that a peer's certificate is good at this moment: signed by the CA,
// within its dates, for its purpose, with a name, and not revoked.
//
// The CA's file and the revocation list are read at every check, so that a
// renewed file counts at once. One refusal a reason, each with a sentence that
// says nothing of this machine's files; all are UNAUTHENTICATED:
//
//   certificate-missing, certificate-unknown-ca, certificate-expired,
//   certificate-not-yet-valid, certificate-wrong-purpose, certificate-nameless,
//   certificate-revoked, certificate-wrong-name, certificate-refused,
//   revocation-list-missing, revocation-list-expired, ca-missing
#ifndef DPNMF_COMMON_TLS_PEER_CHECK_H_
#define DPNMF_COMMON_TLS_PEER_CHECK_H_

#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tls/certificate.h"

namespace dpnmf {

struct X509CrlDeleter {
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
};
using X509CrlPointer = std::unique_ptr<X509_CRL, X509CrlDeleter>;

// Sources of trust.
struct TrustFiles {
  std::string ca_file;   // PEM: one or more CAs
  std::string crl_file;  // PEM: a revocation list for each CA; empty: none kept
};

enum class PeerKind { kClient, kServer };

// chain: the peer's own certificate, then what it sent besides, in any order.
// Thread-safe.
absl::Status CheckPeerCertificate(const std::vector<X509Pointer>& chain,
                                  PeerKind kind, const TrustFiles& trust,
                                  std::int64_t now);
// UNAUTHENTICATED "certificate-wrong-name" unless the certificate is for the
// host that was dialled.
absl::Status CheckPeerName(const X509& certificate, const std::string& host);

// FAILED_PRECONDITION "tls-file-unreadable"; "tls-crl-invalid" unless the file
// holds revocation lists, each within its dates, one for each of the CAs and
// signed by it.
absl::StatusOr<std::vector<X509CrlPointer>> ReadRevocationLists(
    const TrustFiles& trust, std::int64_t now);

// The peer as a line of a log names it: its names and serial number, in
// printable characters.
std::string DescribePeer(const X509& certificate);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_PEER_CHECK_H_
