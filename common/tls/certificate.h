// Facts and checks of a PEM certificate: one check per function, used by tls.cc
// (all of them, at start) and by `dpnmf doctor` (one by one).
//
// Every sentence names the file. Pure functions of files and the given time;
// thread-safe.
#ifndef DPNMF_COMMON_TLS_CERTIFICATE_H_
#define DPNMF_COMMON_TLS_CERTIFICATE_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpnmf {

struct X509Deleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using X509Pointer = std::unique_ptr<X509, X509Deleter>;

// Names of the subject alternative name, in the certificate's order. Names with
// a character outside printable ASCII are left out.
struct SubjectNames {
  std::vector<std::string> identities;  // "dns:NAME" and "uri:URI"
  std::vector<std::string> dns;         // lower-case
  std::vector<std::string> uris;
  std::vector<std::string> ips;  // as text
};

// For OpenSSL's readers of PEM: a passphrase is never asked for.
int NoPassphrase(char*, int, int, void*);

// All certificates of a PEM text, in order: own certificate first, then its
// intermediates; or the CAs. Empty if there is none or one is broken.
std::vector<X509Pointer> ParseCertificates(std::string_view pem);
// FAILED_PRECONDITION "tls-file-unreadable", "tls-certificate-invalid".
absl::StatusOr<std::vector<X509Pointer>> ReadCertificates(
    const std::string& path);
// The same of the own certificate and its intermediates. Also
// "tls-certificate-invalid" if a CA's certificate is where the own one must be:
// first.
absl::StatusOr<std::vector<X509Pointer>> ReadOwnCertificates(
    const std::string& path);

// "2026-01-31 23:59 UTC".
std::string TimeText(std::int64_t unix_seconds);

SubjectNames NamesOf(const X509& certificate);
// Seconds since 1970.
std::int64_t NotBefore(const X509& certificate);
std::int64_t NotAfter(const X509& certificate);

// FAILED_PRECONDITION "tls-certificate-invalid" unless `now` (seconds since
// 1970) lies within the certificate's dates.
absl::Status CheckDates(const X509& certificate, std::int64_t now,
                        const std::string& path);
// ... unless it states a DNS or URI name: without one a peer has no identity.
absl::Status CheckHasName(const X509& certificate, const std::string& path);
// ... unless one of `authorities` signed it, by way of the certificates that
// follow the first. chain must not be empty.
absl::Status CheckSignature(const std::vector<X509Pointer>& chain,
                            const std::vector<X509Pointer>& authorities,
                            const std::string& path,
                            const std::string& ca_path);
// FAILED_PRECONDITION "tls-file-unreadable" or "tls-key-mismatch" (also if the
// key is protected by a passphrase: servers start unattended). `path` names the
// certificate's file.
absl::Status CheckKey(const X509& certificate, const std::string& path,
                      const std::string& key_path);
// FAILED_PRECONDITION "tls-key-readable" if every user of the machine may read
// the key.
absl::Status CheckKeyMode(const std::string& key_path);

// Checks that the certificate is for this DNS name or IP address (RFC 6125 by
// OpenSSL; a wildcard stands for one whole label; never the common name).
bool IsForHost(const X509& certificate, const std::string& host);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_CERTIFICATE_H_
