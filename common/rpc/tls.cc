#include "common/rpc/tls.h"

#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/conf.h>
#include <openssl/ssl.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/rpc/address.h"
#include "common/rpc/certificate.h"

namespace dpnmf {
namespace {

// Renewed files are seen after at most this many seconds.
constexpr unsigned int kRefreshSeconds = 1;

// MinProtocol alone does not do: gRPC sets its own minimum, 1.2, on every
// context afterwards. Protocol = -TLSv1.2 sets an option that it leaves alone.
constexpr char kTls13Configuration[] = R"(
openssl_conf = dpnmf_init
[dpnmf_init]
ssl_conf = dpnmf_ssl
[dpnmf_ssl]
system_default = dpnmf_tls13
[dpnmf_tls13]
MinProtocol = TLSv1.3
Protocol = -SSLv3,-TLSv1,-TLSv1.1,-TLSv1.2
CipherString = DEFAULT:@SECLEVEL=2
)";

bool LoadConfiguration() {
  // First the machine's own configuration, so that it does not come later and
  // replace this one.
  if (OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr) != 1) return false;
  OPENSSL_load_builtin_modules();
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> text(
      BIO_new_mem_buf(kTls13Configuration, -1), &BIO_free_all);
  const std::unique_ptr<CONF, decltype(&NCONF_free)> configuration(
      NCONF_new(nullptr), &NCONF_free);
  long error_line = 0;
  return NCONF_load_bio(configuration.get(), text.get(), &error_line) == 1 &&
         CONF_modules_load(configuration.get(), nullptr, 0) == 1;
}

bool NewContextsRefuseTls12() {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_method()), &SSL_CTX_free);
  return context != nullptr &&
         (SSL_CTX_get_options(context.get()) & SSL_OP_NO_TLSv1_2) != 0;
}

// The peer's own certificate, or nothing.
X509Pointer PeerCertificate(grpc::string_ref pem) {
  std::vector<X509Pointer> chain =
      ParseCertificates(std::string_view(pem.data(), pem.size()));
  return chain.empty() ? nullptr : std::move(chain.front());
}

// The certificate of a call's peer, or nothing.
X509Pointer CertificateOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr) return nullptr;
  const std::vector<grpc::string_ref> pems =
      peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return pems.size() == 1 ? PeerCertificate(pems.front()) : nullptr;
}

using VerificationRequest =
    grpc::experimental::TlsCustomVerificationCheckRequest;

// Runs after OpenSSL has verified the chain, on both sides.
class PeerVerifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  bool Verify(VerificationRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const X509Pointer certificate = PeerCertificate(request->peer_cert());
    const absl::Status verdict =
        certificate == nullptr ? absl::UnauthenticatedError("no certificate")
                               : Check(*certificate, *request);
    *status = verdict.ok() ? grpc::Status::OK
                           : grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                                          std::string(verdict.message()));
    return true;  // done, without a callback
  }
  void Cancel(VerificationRequest*) override {}

 private:
  virtual absl::Status Check(const X509& certificate,
                             const VerificationRequest& request) const = 0;
};

// On the server: the client has an identity. (A resumed session skips OpenSSL's
// verification, so the dates are looked at here, too.)
class ClientVerifier final : public PeerVerifier {
  absl::Status Check(const X509& certificate,
                     const VerificationRequest&) const override {
    DPNMF_RETURN_IF_ERROR(
        CheckDates(certificate, std::time(nullptr), "of the client"));
    return CheckHasName(certificate, "of the client");
  }
};

// On the client: the server is the one that was dialled. (gRPC's own host name
// check falls back to the common name.)
class ServerVerifier final : public PeerVerifier {
  absl::Status Check(const X509& certificate,
                     const VerificationRequest& request) const override {
    const grpc::string_ref target = request.target_name();
    const std::string_view text(target.data(), target.size());
    const absl::StatusOr<Address> address = ParseAddress(text);
    const std::string host = address.ok() ? address->host : std::string(text);
    if (IsForHost(certificate, host)) return absl::OkStatus();
    return absl::UnauthenticatedError(
        absl::StrCat("the server's certificate is not for the name ", host));
  }
};

std::shared_ptr<grpc::experimental::CertificateProviderInterface> Watch(
    const TlsFiles& files) {
  return std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key_file, files.certificate_file, files.ca_file, kRefreshSeconds);
}

}  // namespace

void RequireTls13() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (LoadConfiguration() && NewContextsRefuseTls12()) return;
    std::fputs("dpnmf: OpenSSL cannot be limited to TLS 1.3; stopping\n",
               stderr);
    std::abort();
  });
}

absl::Status CheckTlsFiles(const TlsFiles& files) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<X509Pointer> authorities,
                         ReadCertificates(files.ca_file));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<X509Pointer> chain,
                         ReadCertificates(files.certificate_file));
  const X509& own = *chain.front();
  DPNMF_RETURN_IF_ERROR(
      CheckDates(own, std::time(nullptr), files.certificate_file));
  DPNMF_RETURN_IF_ERROR(CheckHasName(own, files.certificate_file));
  DPNMF_RETURN_IF_ERROR(CheckSignature(chain, authorities,
                                       files.certificate_file, files.ca_file));
  DPNMF_RETURN_IF_ERROR(CheckKey(own, files.key_file));
  return CheckKeyMode(files.key_file);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerTls(
    const TlsFiles& files) {
  RequireTls13();
  DPNMF_RETURN_IF_ERROR(CheckTlsFiles(files));
  grpc::experimental::TlsServerCredentialsOptions options(Watch(files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<
          ClientVerifier>());
  return grpc::experimental::TlsServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelTls(
    const TlsFiles& files) {
  RequireTls13();
  DPNMF_RETURN_IF_ERROR(CheckTlsFiles(files));
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Watch(files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<
          ServerVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

std::vector<std::string> PeerIdentities(
    const grpc::ServerContextBase& context) {
  const X509Pointer certificate = CertificateOf(context);
  return certificate == nullptr ? std::vector<std::string>()
                                : NamesOf(*certificate).identities;
}

absl::Status CheckPeerStillValid(const grpc::ServerContextBase& context) {
  const X509Pointer certificate = CertificateOf(context);
  if (certificate != nullptr && std::time(nullptr) <= NotAfter(*certificate)) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kUnauthenticated, "certificate-expired",
                 "Your certificate has expired; renew it and connect again.");
}

}  // namespace dpnmf
