// Runs a function over indices on several threads.
#ifndef DPNMF_COMMON_THREADS_PARALLEL_H_
#define DPNMF_COMMON_THREADS_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace dpnmf {

// Threads that the machine offers, at least 1.
int DefaultThreads();

// Calls work(index, worker) for every index in [0, count) on up to `threads`
// threads (the caller's is one of them; worker is in [0, threads)). Indices are
// handed out one by one in ascending order. Returns when all are done; with
// fewer threads where the system gives no more. If a call of `work` throws, no
// further index is handed out; after all threads have ended, ParallelFor throws
// the first exception. Every thread runs with the caller's floating-point
// environment (rounding, FTZ/DAZ).
void ParallelFor(
    std::size_t count, int threads,
    const std::function<void(std::size_t index, int worker)>& work);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_THREADS_PARALLEL_H_
