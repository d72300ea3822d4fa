// Waits and transfers on sockets of this machine, with a deadline.
#ifndef DPNMF_COMMON_BASE_SOCKET_IO_H_
#define DPNMF_COMMON_BASE_SOCKET_IO_H_

#include <chrono>
#include <cstddef>
#include <span>

namespace dpnmf {

using SteadyTime = std::chrono::steady_clock::time_point;

// kClosed: the other end is closed, the system reports an error, or `stop` is
// readable.
enum class Transfer { kDone, kClosed, kTimeout };

// Never readable: nothing stops a wait before its deadline.
inline constexpr int kNoStop = -1;

// Waits until `descriptor` is ready for `events` (POLLIN, POLLOUT).
Transfer AwaitEvents(int descriptor, short events, SteadyTime deadline,
                     int stop = kNoStop);

// All of the bytes to or from a socket. A peer that is gone raises no signal.
Transfer SendAll(int descriptor, std::span<const std::byte> bytes,
                 SteadyTime deadline, int stop = kNoStop);
Transfer ReceiveAll(int descriptor, std::span<std::byte> bytes,
                    SteadyTime deadline, int stop = kNoStop);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_SOCKET_IO_H_
