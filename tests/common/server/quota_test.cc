#include "common/server/quota.h"

#include <optional>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

class QuotaTest : public testing::Test {
 protected:
  std::chrono::steady_clock::time_point now_;
  Quota quota_{{.calls = 2, .messages_per_second = 5}, [this] { return now_; }};
};

TEST_F(QuotaTest, AnIdentityHasItsNumberOfCallsAndAnotherItsOwn) {
  auto first = quota_.Enter("dns:a");
  auto second = quota_.Enter("dns:a");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(ReasonCode(quota_.Enter("dns:a").status()), "too-many-calls");
  EXPECT_TRUE(quota_.Enter("dns:b").ok());
  { const Quota::Lease ended = *std::move(first); }
  EXPECT_TRUE(quota_.Enter("dns:a").ok());
}

TEST_F(QuotaTest, MessagesAreHeldToTheirRateOverAllCalls) {
  const auto one = quota_.Enter("dns:a");
  const auto other = quota_.Enter("dns:a");
  int passed = 2;
  while (passed < 100 && (passed % 2 == 0 ? one : other)->Message().ok())
    ++passed;
  EXPECT_EQ(passed, 10);  // two seconds' worth at once
  EXPECT_EQ(ReasonCode(one->Message()), "too-many-messages");
  EXPECT_EQ(absl::StatusCode::kUnavailable, one->Message().code());
  now_ += std::chrono::milliseconds(200);
  EXPECT_TRUE(one->Message().ok());
  EXPECT_FALSE(one->Message().ok());
}

TEST_F(QuotaTest, ManyStrangersAreForgotten) {
  for (int i = 0; i < 1'000; ++i) {
    now_ += std::chrono::seconds(1);
    EXPECT_TRUE(quota_.Enter("dns:" + std::to_string(i)).ok());
  }
  EXPECT_LT(quota_.identities(), 10u);
}

}  // namespace
}  // namespace dpnmf
