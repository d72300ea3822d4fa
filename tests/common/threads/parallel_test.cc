#include "common/threads/parallel.h"

#include <pthread.h>

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnceWhateverTheThreads) {
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    for (const int threads : {-1, 0, 1, 2, 4, 16}) {
      std::vector<std::atomic<int>> visits(count);
      ParallelFor(count, threads,
                  [&](std::size_t index, int) { ++visits[index]; });
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(visits[i], 1) << i << " of " << count;
    }
  }
}

TEST(ParallelFor, NumbersItsWorkersFromZero) {
  constexpr int kThreads = 4;
  std::atomic<bool> in_range{true};
  ParallelFor(1000, kThreads, [&](std::size_t, int worker) {
    if (worker < 0 || worker >= kThreads) in_range = false;
  });
  EXPECT_TRUE(in_range);
}

TEST(ParallelFor, NeverGivesAWorkerNumberToTwoThreadsAtOnce) {
  std::vector<std::atomic<bool>> busy(4);
  std::atomic<bool> shared{false};
  ParallelFor(10'000, 4, [&](std::size_t, int worker) {
    if (busy[worker].exchange(true)) shared = true;
    busy[worker] = false;
  });
  EXPECT_FALSE(shared);
}

// Stacks that no address space holds: no thread can be made.
TEST(ParallelFor, DoesAllTheWorkOnItsOwnThreadIfThereAreNoOthers) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 60), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  std::vector<std::atomic<int>> visits(100);
  ParallelFor(100, 4, [&](std::size_t index, int) { ++visits[index]; });
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  for (const std::atomic<int>& visit : visits) EXPECT_EQ(visit, 1);
}

// Each call waits for the other: this ends only if two threads run at once.
TEST(ParallelFor, RunsOnSeveralThreads) {
  std::mutex mutex;
  std::condition_variable arrived;
  int waiting = 0;
  std::vector<std::thread::id> ids(2);
  ParallelFor(2, 2, [&](std::size_t index, int) {
    ids[index] = std::this_thread::get_id();
    std::unique_lock lock(mutex);
    ++waiting;
    arrived.notify_all();
    arrived.wait(lock, [&] { return waiting == 2; });
  });
  EXPECT_NE(ids[0], ids[1]);
}

TEST(ParallelFor, KeepsToTheCallersThreadIfThereIsOne) {
  const std::thread::id caller = std::this_thread::get_id();
  ParallelFor(10, 1, [&](std::size_t index, int worker) {
    EXPECT_EQ(std::this_thread::get_id(), caller) << index;
    EXPECT_EQ(worker, 0);
  });
}

// Two calls that wait for each other show both threads' rounding.
TEST(ParallelFor, CarriesTheCallersFloatingPointEnvironmentToEveryThread) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
  std::mutex mutex;
  std::condition_variable arrived;
  int waiting = 0;
  std::vector<int> rounding(2, -1);
  ParallelFor(2, 2, [&](std::size_t index, int) {
    rounding[index] = std::fegetround();
    std::unique_lock lock(mutex);
    ++waiting;
    arrived.notify_all();
    arrived.wait(lock, [&] { return waiting == 2; });
  });
  std::fesetenv(&before);
  EXPECT_EQ(rounding, std::vector<int>(2, FE_UPWARD));
}

// Calls that meet before they throw: each is on a thread of its own.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  void Wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    arrived_.notify_all();
    arrived_.wait(lock, [&] { return waiting_ >= expected_; });
  }

 private:
  const int expected_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  int waiting_ = 0;
};

// Counts the calls that have not ended.
class Inside {
 public:
  explicit Inside(std::atomic<int>* count) : count_(count) { ++*count_; }
  ~Inside() { --*count_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::atomic<int>* const count_;
};

// Whichever of the threads the failing worker is.
TEST(ParallelFor, GivesTheCallerTheExceptionOfOneThreadAfterAllHaveEnded) {
  constexpr int kThreads = 3;
  for (int failing = 0; failing < kThreads; ++failing) {
    Meeting meeting(kThreads);
    std::atomic<int> inside = 0;
    EXPECT_THROW(ParallelFor(1000, kThreads,
                             [&](std::size_t index, int worker) {
                               const Inside counted(&inside);
                               if (index < kThreads) meeting.Wait();
                               if (worker == failing) throw std::bad_alloc();
                               std::this_thread::yield();
                             }),
                 std::bad_alloc);
    EXPECT_EQ(inside, 0) << "worker " << failing;
  }
}

TEST(ParallelFor, GivesTheCallerOneExceptionIfEveryThreadThrows) {
  constexpr int kThreads = 4;
  Meeting meeting(kThreads);
  std::atomic<int> inside = 0, calls = 0;
  EXPECT_THROW(ParallelFor(1000, kThreads,
                           [&](std::size_t, int) {
                             const Inside counted(&inside);
                             ++calls;
                             meeting.Wait();
                             throw std::bad_alloc();
                           }),
               std::bad_alloc);
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(calls, kThreads) << "a thread that has thrown begins nothing more";
}

TEST(ParallelFor, BeginsNothingMoreOnceACallHasThrown) {
  int calls = 0;
  EXPECT_THROW(ParallelFor(1000, 1,
                           [&](std::size_t, int) {
                             ++calls;
                             throw std::runtime_error("full");
                           }),
               std::runtime_error);
  EXPECT_EQ(calls, 1);
  // The next call is as if nothing had been.
  std::atomic<int> visits = 0;
  ParallelFor(100, 4, [&](std::size_t, int) { ++visits; });
  EXPECT_EQ(visits, 100);
}

TEST(DefaultThreads, IsAtLeastOne) { EXPECT_GE(DefaultThreads(), 1); }

}  // namespace
}  // namespace dpnmf
