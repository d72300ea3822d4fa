#include "common/tls/peer_check.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using StorePointer = std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)>;
using ContextPointer =
    std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)>;

std::vector<X509CrlPointer> ParseLists(const std::string& pem) {
  std::vector<X509CrlPointer> lists;
  const BioPointer bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  while (X509_CRL* list =
             PEM_read_bio_X509_CRL(bio.get(), nullptr, NoPassphrase, nullptr)) {
    lists.emplace_back(list);
  }
  ERR_clear_error();
  return lists;
}

std::string ReadIfThere(const std::string& path) {
  return ReadFile(path, kSettingsFileLimit).value_or("");
}

// Refusal for an error that OpenSSL found.
absl::Status FromVerification(int error) {
  constexpr auto kKind = absl::StatusCode::kUnauthenticated;
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Refusal(kKind, "certificate-expired",
                     "The peer's certificate has expired; it must be renewed.");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Refusal(kKind, "certificate-not-yet-valid",
                     "The peer's certificate is not valid yet; compare the "
                     "clocks of both machines.");
    case X509_V_ERR_CERT_REVOKED:
      return Refusal(kKind, "certificate-revoked",
                     "The peer's certificate has been revoked; the peer needs "
                     "a new certificate.");
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
      return Refusal(
          kKind, "revocation-list-missing",
          "There is no revocation list of the peer's CA, so access is denied "
          "to all peers; the operator must provide the list.");
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return Refusal(kKind, "revocation-list-expired",
                     "The revocation list has expired, so access is denied to "
                     "all peers; the operator must renew the list.");
    case X509_V_ERR_INVALID_PURPOSE:
      return Refusal(kKind, "certificate-wrong-purpose",
                     "The peer's certificate is not issued for this purpose "
                     "(extendedKeyUsage).");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
      return Refusal(kKind, "certificate-unknown-ca",
                     "The CA file of this side holds an intermediate CA "
                     "without the CA that signed it; the operator must add the "
                     "root's certificate to the file.");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
      return Refusal(kKind, "certificate-unknown-ca",
                     "The peer's certificate is not signed by the CA that this "
                     "side trusts, or the peer does not send the certificate "
                     "of the intermediate CA that signed it, which belongs "
                     "after its own.");
    default:
      return Refusal(kKind, "certificate-refused",
                     absl::StrCat("The peer's certificate is refused: ",
                                  X509_verify_cert_error_string(error), "."));
  }
}

// The CAs, and the revocation lists if any are kept.
absl::StatusOr<StorePointer> TrustStore(const TrustFiles& trust) {
  StorePointer store(X509_STORE_new(), &X509_STORE_free);
  const std::vector<X509Pointer> authorities =
      ParseCertificates(ReadIfThere(trust.ca_file));
  if (authorities.empty()) {
    return Refusal(absl::StatusCode::kUnauthenticated, "ca-missing",
                   "The CA file cannot be read, so access is denied to all "
                   "peers; the operator must provide the file.");
  }
  for (const X509Pointer& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  if (trust.crl_file.empty()) return store;
  // No list at all makes the verification fail with UNABLE_TO_GET_CRL.
  for (const X509CrlPointer& list : ParseLists(ReadIfThere(trust.crl_file)))
    X509_STORE_add_crl(store.get(), list.get());
  X509_STORE_set_flags(store.get(),
                       X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return store;
}

absl::Status BadList(const std::string& path, absl::string_view what) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "tls-crl-invalid",
                 absl::StrCat("The revocation list ", path, " ", what,
                              "; renew it (deploy/certs.sh crl)."));
}

}  // namespace

absl::Status CheckPeerCertificate(const std::vector<X509Pointer>& chain,
                                  PeerKind kind, const TrustFiles& trust,
                                  std::int64_t now) {
  if (chain.empty()) {
    return Refusal(absl::StatusCode::kUnauthenticated, "certificate-missing",
                   "The peer presented no certificate.");
  }
  DPNMF_ASSIGN_OR_RETURN(const StorePointer store, TrustStore(trust));
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> others(
      sk_X509_new_null(), [](STACK_OF(X509) * stack) { sk_X509_free(stack); });
  for (std::size_t i = 1; i < chain.size(); ++i)
    sk_X509_push(others.get(), chain[i].get());
  const ContextPointer context(X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  if (X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(),
                          others.get()) != 1) {
    return FromVerification(X509_V_ERR_UNSPECIFIED);
  }
  X509_VERIFY_PARAM* const parameters =
      X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, now);
  X509_VERIFY_PARAM_set_auth_level(parameters, 2);
  X509_VERIFY_PARAM_set_purpose(parameters, kind == PeerKind::kClient
                                                ? X509_PURPOSE_SSL_CLIENT
                                                : X509_PURPOSE_SSL_SERVER);
  const bool verified = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  if (!verified || error != X509_V_OK) return FromVerification(error);
  const SubjectNames names = NamesOf(*chain.front());
  if (kind == PeerKind::kServer || !names.identities.empty())
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kUnauthenticated, "certificate-nameless",
                 "The peer's certificate states no DNS or URI name (the common "
                 "name is not used).");
}

absl::Status CheckPeerName(const X509& certificate, const std::string& host) {
  if (IsForHost(certificate, host)) return absl::OkStatus();
  const SubjectNames names = NamesOf(certificate);
  std::vector<std::string> hosts = names.dns;
  hosts.insert(hosts.end(), names.ips.begin(), names.ips.end());
  constexpr std::size_t kMostNames = 5;
  if (hosts.size() > kMostNames) hosts.resize(kMostNames);
  return Refusal(
      absl::StatusCode::kUnauthenticated, "certificate-wrong-name",
      absl::StrCat("The server's certificate is not for the name ", host,
                   " to which the connection was made; connect to a name that "
                   "it states (",
                   hosts.empty() ? "none" : absl::StrJoin(hosts, ", "),
                   "), or have it issued for ", host, "."));
}

absl::StatusOr<std::vector<X509CrlPointer>> ReadRevocationLists(
    const TrustFiles& trust, std::int64_t now) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<X509Pointer> authorities,
                         ReadCertificates(trust.ca_file));
  const auto text = ReadFile(trust.crl_file, kSettingsFileLimit);
  if (!text.ok()) {
    return BadList(
        trust.crl_file,
        absl::StrCat("cannot be read. ",
                     absl::StripSuffix(text.status().message(), ".")));
  }
  std::vector<X509CrlPointer> lists = ParseLists(*text);
  if (lists.empty()) return BadList(trust.crl_file, "contains no list");
  std::time_t time = now;
  for (const X509CrlPointer& list : lists) {
    const ASN1_TIME* const end = X509_CRL_get0_nextUpdate(list.get());
    if (end == nullptr) return BadList(trust.crl_file, "states no next update");
    if (X509_cmp_time(end, &time) <= 0)
      return BadList(trust.crl_file, "has expired");
    if (X509_cmp_time(X509_CRL_get0_lastUpdate(list.get()), &time) >= 0)
      return BadList(trust.crl_file, "is not valid yet");
  }
  for (const X509Pointer& authority : authorities) {
    bool found = false;
    for (const X509CrlPointer& list : lists) {
      found =
          found ||
          (X509_NAME_cmp(X509_CRL_get_issuer(list.get()),
                         X509_get_subject_name(authority.get())) == 0 &&
           X509_CRL_verify(list.get(), X509_get0_pubkey(authority.get())) == 1);
    }
    ERR_clear_error();
    if (!found) return BadList(trust.crl_file, "lacks the list of a CA");
  }
  return lists;
}

std::string DescribePeer(const X509& certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr),
      &BN_free);
  char* const hex = number == nullptr ? nullptr : BN_bn2hex(number.get());
  const std::string serial = hex == nullptr ? "unknown" : hex;
  OPENSSL_free(hex);
  const SubjectNames names = NamesOf(certificate);
  constexpr std::size_t kMostDigits = 40;  // RFC 5280, 4.1.2.2: 20 bytes
  return absl::StrCat(
      names.identities.empty()
          ? "no name"
          : absl::StrJoin(names.identities, ", ").substr(0, 200),
      ", serial ", serial.substr(0, kMostDigits),
      serial.size() > kMostDigits ? "..." : "");
}

}  // namespace dpnmf
