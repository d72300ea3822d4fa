#include "common/tls/tls.h"

#include <grpc/support/log.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server_context.h>
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
#include "common/threads/mutex.h"
#include "common/tls/address.h"
#include "common/tls/certificate.h"
#include "common/tls/peer_check.h"
#include "common/wire/status.h"

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

// ---- Refusals, told ----

Mutex sink_mutex;
RefusalSink& Sink() {
  static RefusalSink* const sink = new RefusalSink;
  return *sink;
}

void TellRefusal(const std::string& code, const std::string& sentence) {
  RefusalSink sink;
  {
    MutexLock lock(&sink_mutex);
    sink = Sink();
  }
  if (sink) sink(code, sentence);
}

// OpenSSL itself ends a handshake without TLS 1.3, before any certificate is
// seen; gRPC writes that to its log and nowhere else.
void ReadTransportLog(gpr_log_func_args* line) {
  const std::string_view text(line->message);
  // RpcServer::Start says it in a sentence.
  if (text.find("No address added") != std::string_view::npos) return;
  if (text.find("Handshake failed") == std::string_view::npos) {
    std::fprintf(stderr, "gRPC: %s\n", line->message);
  } else if (text.find("unsupported protocol") != std::string_view::npos ||
             text.find("protocol version") != std::string_view::npos) {
    TellRefusal("tls-too-old", "The peer offers no TLS 1.3.");
  } else if (text.find("wrong version number") != std::string_view::npos ||
             text.find("http request") != std::string_view::npos) {
    TellRefusal("tls-missing", "The peer does not speak TLS.");
  } else if (text.find("certificate verify failed") != std::string_view::npos) {
    TellRefusal("certificate-refused", kCertificateRefused);
  } else {
    TellRefusal("tls-failed",
                absl::StrCat("The TLS handshake failed: ", line->message));
  }
}

// ---- Peers ----

// Own certificate first.
std::vector<X509Pointer> ChainOf(grpc::string_ref own, grpc::string_ref all) {
  std::vector<X509Pointer> chain =
      ParseCertificates(std::string_view(own.data(), own.size()));
  if (chain.size() != 1) return {};
  for (X509Pointer& other :
       ParseCertificates(std::string_view(all.data(), all.size()))) {
    chain.push_back(std::move(other));
  }
  return chain;
}

grpc::string_ref PropertyOf(const grpc::AuthContext& peer, const char* name) {
  const std::vector<grpc::string_ref> values = peer.FindPropertyValues(name);
  return values.size() == 1 ? values.front() : grpc::string_ref();
}

std::vector<X509Pointer> ChainOf(const grpc::AuthContext& peer) {
  return ChainOf(PropertyOf(peer, GRPC_X509_PEM_CERT_PROPERTY_NAME),
                 PropertyOf(peer, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME));
}

TrustFiles TrustOf(const TlsFiles& files) {
  return {files.ca_file, files.crl_file};
}

using VerificationRequest =
    grpc::experimental::TlsCustomVerificationCheckRequest;

// Decides about every peer of a handshake, on both sides.
class PeerVerifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  PeerVerifier(PeerKind kind, TlsFiles files)
      : kind_(kind), files_(std::move(files)) {}

  bool Verify(VerificationRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const std::vector<X509Pointer> chain =
        ChainOf(request->peer_cert(), request->peer_cert_full_chain());
    const absl::Status verdict = CheckPeer(chain, *request);
    *status = verdict.ok() ? grpc::Status::OK
                           : grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                                          HandshakeText(verdict));
    if (!verdict.ok()) {
      TellRefusal(ReasonCode(verdict),
                  absl::StrCat(verdict.message(), " (",
                               chain.empty() ? "no certificate"
                                             : DescribePeer(*chain.front()),
                               ")"));
    }
    return true;  // done, without a callback
  }
  void Cancel(VerificationRequest*) override {}

 private:
  absl::Status CheckPeer(const std::vector<X509Pointer>& chain,
                         const VerificationRequest& request) const {
    DPNMF_RETURN_IF_ERROR(CheckPeerCertificate(chain, kind_, TrustOf(files_),
                                               std::time(nullptr)));
    if (kind_ == PeerKind::kClient) return absl::OkStatus();
    // gRPC's own host name check falls back to the common name.
    const grpc::string_ref target = request.target_name();
    const std::string_view text(target.data(), target.size());
    const absl::StatusOr<Address> address = ParseAddress(text);
    return CheckPeerName(*chain.front(),
                         address.ok() ? address->host : std::string(text));
  }

  const PeerKind kind_;
  const TlsFiles files_;
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
                         ReadOwnCertificates(files.certificate_file));
  const X509& own = *chain.front();
  DPNMF_RETURN_IF_ERROR(
      CheckDates(own, std::time(nullptr), files.certificate_file));
  DPNMF_RETURN_IF_ERROR(CheckHasName(own, files.certificate_file));
  DPNMF_RETURN_IF_ERROR(CheckSignature(chain, authorities,
                                       files.certificate_file, files.ca_file));
  DPNMF_RETURN_IF_ERROR(CheckKey(own, files.certificate_file, files.key_file));
  DPNMF_RETURN_IF_ERROR(CheckKeyMode(files.key_file));
  if (files.crl_file.empty()) return absl::OkStatus();
  return ReadRevocationLists(TrustOf(files), std::time(nullptr)).status();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerTls(
    const TlsFiles& files) {
  RequireTls13();
  DPNMF_RETURN_IF_ERROR(CheckTlsFiles(files));
  grpc::experimental::TlsServerCredentialsOptions options(Watch(files));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  // The verifier is the gate: it sees every peer, also one without a
  // certificate, knows the revocation list, and says why. (OpenSSL has checked
  // that the peer holds the certificate's key.)
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<PeerVerifier>(
          PeerKind::kClient, files));
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
      grpc::experimental::ExternalCertificateVerifier::Create<PeerVerifier>(
          PeerKind::kServer, files));
  return grpc::experimental::TlsCredentials(options);
}

void OnPeerRefused(RefusalSink sink) {
  {
    MutexLock lock(&sink_mutex);
    Sink() = std::move(sink);
  }
  gpr_set_log_function(&ReadTransportLog);
}

std::vector<std::string> IdentitiesOf(const grpc::AuthContext& peer) {
  const std::vector<X509Pointer> chain = ChainOf(peer);
  return chain.empty() ? std::vector<std::string>()
                       : NamesOf(*chain.front()).identities;
}

std::vector<std::string> PeerIdentities(
    const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  return peer == nullptr ? std::vector<std::string>() : IdentitiesOf(*peer);
}

absl::Status CheckPeerStillValid(const grpc::AuthContext& peer,
                                 const TlsFiles& files) {
  return CheckPeerCertificate(ChainOf(peer), PeerKind::kClient, TrustOf(files),
                              std::time(nullptr));
}

absl::Status CheckPeerStillValid(const grpc::ServerContextBase& context,
                                 const TlsFiles& files) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer != nullptr) return CheckPeerStillValid(*peer, files);
  return CheckPeerCertificate({}, PeerKind::kClient, TrustOf(files), 0);
}

}  // namespace dpnmf
