#include "analyst/cli/probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using SslConnection = std::unique_ptr<SSL, decltype(&SSL_free)>;

absl::StatusOr<AddressList> Lookup(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list);
  if (error != 0) {
    return Refusal(absl::StatusCode::kUnavailable, "name-unknown",
                   absl::StrCat("The name ", address.host, " has no address (",
                                gai_strerror(error), ")."));
  }
  return AddressList(list, &freeaddrinfo);
}

std::string TextOf(const addrinfo& entry) {
  char text[NI_MAXHOST] = "";
  getnameinfo(entry.ai_addr, entry.ai_addrlen, text, sizeof(text), nullptr, 0,
              NI_NUMERICHOST);
  return text;
}

void SetTimeout(int socket_number, std::chrono::milliseconds timeout) {
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = timeout.count() % 1000 * 1000;
  setsockopt(socket_number, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  setsockopt(socket_number, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

// 0, or the errno of the attempt.
int ConnectWithin(int socket_number, const addrinfo& entry,
                  std::chrono::milliseconds timeout) {
  const int flags = fcntl(socket_number, F_GETFL);
  fcntl(socket_number, F_SETFL, flags | O_NONBLOCK);
  if (connect(socket_number, entry.ai_addr, entry.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd waiting{.fd = socket_number, .events = POLLOUT, .revents = 0};
    if (poll(&waiting, 1, static_cast<int>(timeout.count())) != 1) {
      return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket_number, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  fcntl(socket_number, F_SETFL, flags);
  SetTimeout(socket_number, timeout);
  return 0;
}

// Why the last TLS operation failed: the server's alert if it sent one. (gRPC's
// servers close the connection without.)
std::string TlsFailure(int system_error) {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (error != 0 &&
      ERR_GET_REASON(error) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    const char* reason = ERR_reason_error_string(error);
    return reason != nullptr ? reason : "unknown TLS error";
  }
  if (system_error == EAGAIN || system_error == EWOULDBLOCK) {
    return "no answer in time";
  }
  return "the connection was closed";
}

SslContext ContextFor(const TlsFiles& files) {
  SslContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_use_certificate_chain_file(context.get(),
                                     files.certificate_file.c_str());
  SSL_CTX_use_PrivateKey_file(context.get(), files.key_file.c_str(),
                              SSL_FILETYPE_PEM);
  const unsigned char h2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), h2, sizeof(h2));
  return context;
}

std::vector<X509Pointer> ChainOf(SSL* ssl) {
  std::vector<X509Pointer> chain;
  const STACK_OF(X509)* certificates = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; certificates != nullptr && i < sk_X509_num(certificates);
       ++i) {
    X509* certificate = sk_X509_value(certificates, i);
    X509_up_ref(certificate);
    chain.emplace_back(certificate);
  }
  return chain;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

absl::StatusOr<std::vector<std::string>> ResolveHost(const Address& address) {
  DPNMF_ASSIGN_OR_RETURN(const AddressList list, Lookup(address));
  std::vector<std::string> texts;
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next) {
    texts.push_back(TextOf(*entry));
  }
  return texts;
}

absl::StatusOr<Descriptor> ConnectTcp(const Address& address,
                                      std::chrono::milliseconds timeout) {
  DPNMF_ASSIGN_OR_RETURN(const AddressList list, Lookup(address));
  int error = 0;
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next) {
    Descriptor connection(
        socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC, 0));
    error = connection.number() < 0
                ? errno
                : ConnectWithin(connection.number(), *entry, timeout);
    if (error == 0) return connection;
  }
  return Refusal(
      absl::StatusCode::kUnavailable, "port-closed",
      absl::StrCat("Nothing accepts connections at ", address.host, ", port ",
                   address.port, " (", std::strerror(error), ")."));
}

Handshake ShakeHands(const Descriptor& connection, const std::string& host,
                     const TlsFiles& files) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed connection is an answer, too
  Handshake result;
  const SslContext context = ContextFor(files);
  const SslConnection ssl(SSL_new(context.get()), &SSL_free);
  SSL_set_fd(ssl.get(), connection.number());
  SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  errno = 0;
  result.completed = SSL_connect(ssl.get()) == 1;
  if (!result.completed) result.failure = TlsFailure(errno);
  result.server_chain = ChainOf(ssl.get());
  if (!result.completed) return result;
  // In TLS 1.3 a client learns only now whether the server took its
  // certificate. An HTTP/2 server speaks first, so there is something to read.
  char byte;
  errno = 0;
  result.accepted = SSL_read(ssl.get(), &byte, 1) == 1;
  if (!result.accepted) result.refusal = TlsFailure(errno);
  return result;
}

}  // namespace dpnmf::cli
