// How a rank sleeps while it waits for another rank's message, and is woken
// when the message has arrived. MPI does not announce messages: a rank that
// tests all the time takes processor time from ranks that compute, and a rank
// that sleeps notices the message late.
//
// An empty datagram means "test now". If one is lost, or comes without a
// message, this costs the rest of a sleep or one test. Ranks of one machine
// find each other in the job's directory, which only the curator's user can
// use. Ranks of other machines are not there and are not woken.
#ifndef DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_
#define DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_

#include <chrono>
#include <string>

#include "common/base/descriptor.h"

namespace dpnmf::curator {

// One for each rank. One thread may wait; others may wake at any time.
class WakeSocket {
 public:
  // directory: the job's; where it is not there, nobody can wake this rank.
  WakeSocket(const std::string& directory, int rank);

  // Returns whether others can wake this rank.
  bool open() const { return socket_.ok(); }

  // Does nothing where the rank is not on this machine. Never blocks.
  void Wake(int rank) const;

  // True as soon as somebody has woken this rank since the last call, false
  // after `time`.
  bool Sleep(std::chrono::nanoseconds time) const;

 private:
  std::string directory_;
  Descriptor socket_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_WAKE_SOCKET_H_
