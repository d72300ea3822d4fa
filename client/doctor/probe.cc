#include "client/doctor/probe.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  if (error == 0) return AddressList(list, &freeaddrinfo);
  return Refusal(absl::StatusCode::kUnavailable, "name-unknown",
                 absl::StrCat("The name ", address.host, " has no address (",
                              gai_strerror(error), ")."));
}

// A socket that is connected to the address, or -1 and errno. On Linux a
// timeout for sending is one for connecting, too.
int ConnectWithin(const addrinfo& entry, std::chrono::milliseconds timeout) {
  const int number = socket(entry.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (number < 0) return -1;
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = timeout.count() % 1000 * 1000;
  setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
  if (connect(number, entry.ai_addr, entry.ai_addrlen) == 0) return number;
  const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  close(number);
  errno = error;
  return -1;
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
  return system_error == EAGAIN ? "no answer in time"
                                : "the connection was closed";
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
  const STACK_OF(X509)* sent = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; sent != nullptr && i < sk_X509_num(sent); ++i)
    chain.emplace_back(X509_dup(sk_X509_value(sent, i)));
  return chain;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ResolveHost(const Address& address) {
  DPNMF_ASSIGN_OR_RETURN(const AddressList list, Lookup(address));
  std::vector<std::string> texts;
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next) {
    char text[NI_MAXHOST] = "";
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof(text), nullptr,
                0, NI_NUMERICHOST);
    texts.push_back(text);
  }
  return texts;
}

absl::StatusOr<Connection> ConnectTcp(const Address& address,
                                      std::chrono::milliseconds timeout) {
  DPNMF_ASSIGN_OR_RETURN(const AddressList list, Lookup(address));
  for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next) {
    const int number = ConnectWithin(*entry, timeout);
    if (number >= 0)
      return Connection(BIO_new_socket(number, BIO_CLOSE), &BIO_free_all);
  }
  return Refusal(
      absl::StatusCode::kUnavailable, "port-closed",
      absl::StrCat("Nothing accepts connections at ", address.host, ", port ",
                   address.port, " (", std::strerror(errno), ")."));
}

absl::StatusOr<Connection> ConnectThrough(const Proxy& proxy,
                                          const std::string& address,
                                          std::chrono::milliseconds timeout) {
  DPNMF_ASSIGN_OR_RETURN(Connection connection,
                         ConnectTcp(proxy.address, timeout));
  std::string request =
      absl::StrCat("CONNECT ", address, " HTTP/1.1\r\nHost: ", address, "\r\n");
  if (!proxy.user_info.empty()) {
    absl::StrAppend(&request, "Proxy-Authorization: Basic ",
                    absl::Base64Escape(proxy.user_info), "\r\n");
  }
  absl::StrAppend(&request, "\r\n");
  std::signal(SIGPIPE, SIG_IGN);
  BIO_write(connection.get(), request.data(), static_cast<int>(request.size()));
  constexpr std::size_t kLongestAnswer = 8192;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string answer;
  for (char byte; !absl::EndsWith(answer, "\r\n\r\n");) {
    if (answer.size() >= kLongestAnswer ||
        std::chrono::steady_clock::now() >= deadline ||
        BIO_read(connection.get(), &byte, 1) != 1)
      break;
    answer += byte;
  }
  const std::string line = answer.substr(0, answer.find('\r'));
  const std::vector<std::string> fields = absl::StrSplit(line, ' ');
  if (absl::StartsWith(line, "HTTP/1.") && fields.size() > 1 &&
      fields[1] == "200")
    return connection;
  return Refusal(
      absl::StatusCode::kUnavailable, "unreachable",
      absl::StrCat(
          "It does not connect to ", address, " (",
          line.empty() ? "no answer" : absl::CHexEscape(line.substr(0, 200)),
          ")."));
}

Handshake ShakeHands(Connection connection, const std::string& host,
                     const TlsFiles& files) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed connection is an answer, too
  Handshake result;
  const SslContext context = ContextFor(files);
  const SslConnection ssl(SSL_new(context.get()), &SSL_free);
  BIO* const bio = connection.release();
  SSL_set_bio(ssl.get(), bio, bio);  // owns it
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
