#include "common/server/metrics.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;

std::string Fetch(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string page;
  RunShell(absl::StrCat("bash -c 'exec 3<>/dev/tcp/", address.substr(0, colon),
                        "/", address.substr(colon + 1),
                        " && printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3 "
                        "&& cat <&3'"),
           &page);
  return page;
}

TEST(Metrics, ShowsWhatHappened) {
  const auto metrics = Metrics::Create("dpnmf_test", "localhost:0").value();
  metrics->CallEnded("GetLedger", "ok", 0.02);
  metrics->CallEnded("GetLedger", "role-missing", 0.02);
  metrics->Bytes(100, 200);
  metrics->PeerRefused("certificate-revoked");
  metrics->RoundEnded("digits", "released", 0.5);
  metrics->AddRuns("connected", 1);
  metrics->SetBudget("writers", 8, 2.5, 5);
  metrics->SetVoidSince("writers", 1'700'000'000);
  const std::string page = Fetch(metrics->address());
  for (const char* line :
       {"dpnmf_test_call_seconds_count{method=\"GetLedger\"} 2",
        "dpnmf_test_refusals_total{code=\"role-missing\",method=\"GetLedger\"} "
        "1",
        "dpnmf_test_bytes_total{direction=\"sent\"} 200",
        "dpnmf_test_refused_peers_total{code=\"certificate-revoked\"} 1",
        "dpnmf_test_round_seconds_count{dataset=\"digits\",result=\"released\"}"
        " 1",
        "dpnmf_test_runs{state=\"connected\"} 1",
        "dpnmf_test_epsilon{population=\"writers\",reading=\"spent\"} 2.5",
        "dpnmf_test_epsilon{population=\"writers\",reading=\"largest_run\"} "
        "5",
        "dpnmf_test_guarantee_void_since_seconds{population=\"writers\"} "
        "1700000000"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
}

TEST(Metrics, CountsWithoutAPage) {
  const auto metrics = Metrics::Create("dpnmf_test", "").value();
  EXPECT_EQ(metrics->address(), "");
  metrics->AddRuns("connected", 2);
  EXPECT_THAT(metrics->Page(),
              HasSubstr("dpnmf_test_runs{state=\"connected\"} 2"));
}

TEST(Metrics, RefusesAnAddressThatIsTakenOrNone) {
  const auto first = Metrics::Create("dpnmf_test", "127.0.0.1:0").value();
  EXPECT_EQ(
      ReasonCode(Metrics::Create("dpnmf_test", first->address()).status()),
      "listen-failed");
  EXPECT_EQ(ReasonCode(Metrics::Create("dpnmf_test", "nonsense").status()),
            "address-malformed");
  EXPECT_EQ(
      ReasonCode(
          Metrics::Create("dpnmf_test", "no.such.host.invalid:1").status()),
      "listen-failed");
}

}  // namespace
}  // namespace dpnmf
