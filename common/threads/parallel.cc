#include "common/threads/parallel.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <exception>
#include <thread>
#include <vector>

namespace dpnmf {

int DefaultThreads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void ParallelFor(
    std::size_t count, int threads,
    const std::function<void(std::size_t index, int worker)>& work) {
  std::atomic<std::size_t> next{0};
  std::fenv_t environment;
  std::fegetenv(&environment);
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr failure;  // read after all threads were joined
  auto run = [&](int worker) noexcept {
    std::fesetenv(&environment);
    try {
      for (std::size_t index = next.fetch_add(1); index < count;
           index = next.fetch_add(1)) {
        work(index, worker);
      }
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
      next = count;
    }
  };
  const int helpers =
      static_cast<int>(std::min<std::size_t>(
          count, static_cast<std::size_t>(std::max(1, threads)))) -
      1;
  std::vector<std::thread> pool;
  pool.reserve(static_cast<std::size_t>(std::max(0, helpers)));
  try {
    for (int worker = 1; worker <= helpers; ++worker)
      pool.emplace_back(run, worker);
  } catch (const std::exception&) {
    // The system gives no more threads: those that exist do all of the work.
  }
  run(0);
  for (std::thread& thread : pool) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace dpnmf
