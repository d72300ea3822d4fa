#include "common/base/trace.h"

#include <thread>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(Trace, TravelsAsTraceparent) {
  const Trace trace = NewTrace();
  EXPECT_EQ(trace.id.size(), 32u);
  EXPECT_EQ(trace.request.size(), 16u);
  EXPECT_EQ(ParseTraceparent(TraceparentOf(trace)), trace);
  EXPECT_NE(NewTrace(), trace);
}

TEST(Trace, ARequestIsAnotherOfTheSameTrace) {
  const std::string run = "0123456789abcdef0123456789abcdef";
  const Trace one = NewRequest(run), other = NewRequest(run);
  EXPECT_EQ(one.id, run);
  EXPECT_NE(one.request, other.request);
  EXPECT_EQ(NewRequest("a\nb").id.size(), 32u);
}

TEST(Trace, WhatIsNotATraceparentIsNone) {
  const std::string good =
      "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  ASSERT_TRUE(ParseTraceparent(good).has_value());
  for (const std::string& bad :
       {std::string(), good + "0", good.substr(1), "01" + good.substr(2),
        "00-" + std::string(32, '0') + good.substr(35),
        "00-" + std::string(32, 'A') + good.substr(35),
        good.substr(0, 36) + std::string(16, '0') + "-01",
        good.substr(0, 40) + "\n" + good.substr(41)}) {
    EXPECT_FALSE(ParseTraceparent(bad).has_value()) << bad;
  }
}

TEST(Trace, ScopesNestAndAreAThreadsOwn) {
  EXPECT_EQ(TraceScope::Current(), nullptr);
  const TraceScope outer(NewTrace());
  {
    const TraceScope inner(NewRequest(outer.trace().id));
    EXPECT_EQ(*TraceScope::Current(), inner.trace());
    std::thread([] { EXPECT_EQ(TraceScope::Current(), nullptr); }).join();
  }
  EXPECT_EQ(*TraceScope::Current(), outer.trace());
}

}  // namespace
}  // namespace dpnmf
