#include "curator/ranks/wake_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>

#include "absl/strings/str_cat.h"

namespace dpnmf::curator {
namespace {

// Returns nullopt if the name is too long for a socket.
std::optional<sockaddr_un> AddressOf(const std::string& directory, int rank) {
  const std::string path = absl::StrCat(directory, "/wake.", rank);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

WakeSocket::WakeSocket(const std::string& directory, int rank)
    : directory_(directory) {
  const auto address = AddressOf(directory, rank);
  if (!address.has_value()) return;
  socket_ =
      Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_.ok() &&
      bind(socket_.get(), Generic(*address), sizeof *address) != 0)
    socket_.Close();
}

void WakeSocket::Wake(int rank) const {
  const auto address = AddressOf(directory_, rank);
  if (!socket_.ok() || !address.has_value()) return;
  // If its queue is full, it is woken already.
  const char nothing = 0;
  sendto(socket_.get(), &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL,
         Generic(*address), sizeof *address);
}

bool WakeSocket::Sleep(std::chrono::nanoseconds time) const {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec limit{.tv_sec = time.count() / kSecond,
                       .tv_nsec = time.count() % kSecond};
  pollfd asked{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (ppoll(&asked, socket_.ok() ? 1 : 0, &limit, nullptr) <= 0) return false;
  char nothing;
  while (recv(socket_.get(), &nothing, sizeof nothing, MSG_DONTWAIT) >= 0) {
  }
  return true;
}

}  // namespace dpnmf::curator
