// How a long computation learns that its result is no longer wanted.
#ifndef DPNMF_COMMON_THREADS_STOP_H_
#define DPNMF_COMMON_THREADS_STOP_H_

#include <functional>

namespace dpnmf {

// True: stop. Once true it must stay true. Empty: never. A function that takes
// one asks at least every 100 ms of work, always on the thread that called it.
// After a true answer its result is not to be used: the caller asks again.
using Stop = std::function<bool()>;

inline bool Stopped(const Stop& stop) { return stop && stop(); }

}  // namespace dpnmf

#endif  // DPNMF_COMMON_THREADS_STOP_H_
