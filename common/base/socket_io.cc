#include "common/base/socket_io.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace dpnmf {
namespace {

// Calls of send or recv until all is done.
template <typename Call>
Transfer TransferAll(int descriptor, short events, std::size_t size,
                     SteadyTime deadline, int stop, const Call& call) {
  for (std::size_t done = 0; done < size;) {
    const Transfer ready = AwaitEvents(descriptor, events, deadline, stop);
    if (ready != Transfer::kDone) return ready;
    const ssize_t now = call(done, size - done);
    if (now > 0) {
      done += static_cast<std::size_t>(now);
    } else if (now == 0 || (errno != EINTR && errno != EAGAIN)) {
      return Transfer::kClosed;
    }
  }
  return Transfer::kDone;
}

}  // namespace

Transfer AwaitEvents(int descriptor, short events, SteadyTime deadline,
                     int stop) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Transfer::kTimeout;
    pollfd asked[] = {{.fd = descriptor, .events = events, .revents = 0},
                      {.fd = stop, .events = POLLIN, .revents = 0}};
    const int ready = poll(asked, 2,
                           static_cast<int>(std::min<std::int64_t>(
                               left.count(), std::numeric_limits<int>::max())));
    if (ready < 0 && errno != EINTR) return Transfer::kClosed;
    if (ready > 0 && asked[1].revents != 0) return Transfer::kClosed;
    if (ready > 0) return Transfer::kDone;
  }
}

Transfer SendAll(int descriptor, std::span<const std::byte> bytes,
                 SteadyTime deadline, int stop) {
  return TransferAll(descriptor, POLLOUT, bytes.size(), deadline, stop,
                     [&](std::size_t from, std::size_t size) {
                       return send(descriptor, bytes.data() + from, size,
                                   MSG_NOSIGNAL | MSG_DONTWAIT);
                     });
}

Transfer ReceiveAll(int descriptor, std::span<std::byte> bytes,
                    SteadyTime deadline, int stop) {
  return TransferAll(descriptor, POLLIN, bytes.size(), deadline, stop,
                     [&](std::size_t from, std::size_t size) {
                       return recv(descriptor, bytes.data() + from, size,
                                   MSG_DONTWAIT);
                     });
}

}  // namespace dpnmf
