// dpnmf-ranks-loopback.so: loaded into mpirun and its ranks where all of them
// are on one machine (LD_PRELOAD). Whatever address of IPv4 or IPv6 they would
// listen at, they listen at the loopback address: Open MPI has no setting that
// keeps mpirun's own port away from the network.
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

extern "C" int bind(int socket, const sockaddr* address,
                    socklen_t length) noexcept {
  using Bind = int (*)(int, const sockaddr*, socklen_t);
  static const auto next = reinterpret_cast<Bind>(dlsym(RTLD_NEXT, "bind"));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (length >= sizeof four && address->sa_family == AF_INET) {
    std::memcpy(&four, address, sizeof four);
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return next(socket, reinterpret_cast<const sockaddr*>(&four), sizeof four);
  }
  if (length >= sizeof six && address->sa_family == AF_INET6) {
    std::memcpy(&six, address, sizeof six);
    six.sin6_addr = in6addr_loopback;
    return next(socket, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  }
  return next(socket, address, length);
}
