#include "curator/ranks/wake_socket.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

class WakeSocketTest : public ::testing::Test {
 protected:
  WakeSocketTest() {
    std::string name = ::testing::TempDir() + "dpnmf_wake_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~WakeSocketTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(WakeSocketTest, WhoIsWokenSleepsNoLonger) {
  const WakeSocket sleeper(directory_, 0), other(directory_, 1);
  ASSERT_TRUE(sleeper.open() && other.open());
  const auto begin = steady_clock::now();
  std::thread wakes([&other] {
    std::this_thread::sleep_for(milliseconds(20));
    other.Wake(0);
  });
  EXPECT_TRUE(sleeper.Sleep(seconds(60)));
  wakes.join();
  EXPECT_LT(steady_clock::now() - begin, seconds(30));
}

TEST_F(WakeSocketTest, WhoWasWokenBeforeSleepsOnceLess) {
  const WakeSocket sleeper(directory_, 0), other(directory_, 12345);
  for (int i = 0; i < 3; ++i) other.Wake(0);
  EXPECT_TRUE(sleeper.Sleep(seconds(60)));
  EXPECT_FALSE(sleeper.Sleep(milliseconds(1)));
}

TEST_F(WakeSocketTest, NobodyElseIsWoken) {
  const WakeSocket zero(directory_, 0), one(directory_, 1), two(directory_, 2);
  zero.Wake(1);
  EXPECT_FALSE(two.Sleep(milliseconds(1)));
  EXPECT_FALSE(zero.Sleep(milliseconds(1)));
  EXPECT_TRUE(one.Sleep(seconds(60)));
}

TEST_F(WakeSocketTest, WakingMoreOftenThanTheQueueHoldsDoesNotBlock) {
  const WakeSocket sleeper(directory_, 0), other(directory_, 1);
  for (int i = 0; i < 100'000; ++i) other.Wake(0);
  EXPECT_TRUE(sleeper.Sleep(seconds(60)));
  EXPECT_FALSE(sleeper.Sleep(milliseconds(1)));
}

TEST_F(WakeSocketTest, OnAnotherMachineItSleepsAndNobodyIsWoken) {
  const WakeSocket here(directory_, 0);
  here.Wake(7);  // who is not there
  for (const std::string& directory :
       {directory_ + "/absent", directory_ + std::string(200, 'x')}) {
    const WakeSocket there(directory, 1);
    EXPECT_FALSE(there.open());
    there.Wake(0);
    const auto begin = steady_clock::now();
    EXPECT_FALSE(there.Sleep(milliseconds(5)));
    EXPECT_GE(steady_clock::now() - begin, milliseconds(5));
  }
  EXPECT_FALSE(here.Sleep(milliseconds(1)));
}

}  // namespace
}  // namespace dpnmf::curator
