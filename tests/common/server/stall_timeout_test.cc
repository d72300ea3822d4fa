#include "common/server/stall_timeout.h"

#include <atomic>
#include <future>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(StallTimeout, CancelsOnceWhenNothingMoves) {
  std::promise<void> cancelled;
  std::atomic<int> times{0};
  StallTimeout guard(milliseconds(1), [&] {
    if (times++ == 0) cancelled.set_value();
  });
  cancelled.get_future().wait();  // the test hangs if it never comes
  EXPECT_EQ(times, 1);
}

TEST(StallTimeout, DoesNotCancelWithinTheLimit) {
  std::atomic<bool> cancelled{false};
  {
    StallTimeout guard(hours(1), [&] { cancelled = true; });
    guard.Touch();
  }
  EXPECT_FALSE(cancelled);
}

TEST(StallTimeout, APauseHoldsUntilTheNextTouch) {
  std::promise<void> cancelled;
  std::future<void> future = cancelled.get_future();
  StallTimeout guard(hours(1), [&] { cancelled.set_value(); });
  guard.Pause();
  EXPECT_EQ(future.wait_for(milliseconds(0)), std::future_status::timeout);
  guard.Touch();
  EXPECT_EQ(future.wait_for(milliseconds(0)), std::future_status::timeout);
}

}  // namespace
}  // namespace dpnmf
