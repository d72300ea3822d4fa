#include "curator/recommend/token.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

constexpr std::int64_t kFirstSecond = 1'800'000'000;

class Tokens : public ::testing::Test {
 protected:
  Tokens() : key_(SigningKey::Generate()), now_(kFirstSecond) { Restart(); }

  // A process that ends and starts again: the clock goes on, and the file is
  // there.
  void Restart(std::size_t most_tokens = 1000) {
    gate_ = Create(most_tokens).value();
  }
  absl::StatusOr<std::unique_ptr<TokenGate>> Create(
      std::size_t most_tokens = 1000) {
    TokenGate::Options options;
    options.key = key_.public_key();
    options.audience = "films";
    options.expiry_file = ExpiryFile();
    options.most_tokens = most_tokens;
    options.unix_seconds = [this] { return now_; };
    return TokenGate::Create(std::move(options));
  }
  std::string ExpiryFile() const { return scratch_.path() + "/expiry.json"; }

  TokenClaims Claims(const std::string& nonce = "0123456789abcdef") const {
    return {"ann", "films", now_ + kLongestTokenSeconds, nonce};
  }
  std::string Pass(const std::string& token) {
    const auto claims = gate_->Pass(token);
    return claims.ok() ? claims->person : ReasonCode(claims.status());
  }
  std::string Pass(const TokenClaims& claims) {
    return Pass(SignToken(claims, key_));
  }

  // Anything at all, signed.
  static std::string Encoded(const std::string& bytes) {
    std::string text;
    absl::WebSafeBase64Escape(bytes, &text);
    while (text.ends_with('=')) text.pop_back();
    return text;
  }
  std::string Signed(const std::string& header, const std::string& claims) {
    const std::string text =
        absl::StrCat(Encoded(header), ".", Encoded(claims));
    const Signature signature =
        key_.Sign(std::as_bytes(std::span(text.data(), text.size())));
    return absl::StrCat(
        text, ".",
        Encoded({reinterpret_cast<const char*>(signature.data()),
                 signature.size()}));
  }
  std::string SignedClaims(const std::string& claims) {
    return Signed(R"({"alg":"EdDSA","typ":"dpnmf-recommend+jwt"})", claims);
  }

  const Scratch scratch_;
  SigningKey key_;
  std::int64_t now_;
  std::unique_ptr<TokenGate> gate_;
};

TEST_F(Tokens, ATokenPassesOnce) {
  now_ += 1;
  const TokenClaims claims = Claims();
  EXPECT_EQ(Pass(claims), "ann");
  EXPECT_EQ(Pass(claims), "token-reused");
  TokenClaims other = claims;  // another person under the same nonce
  other.person = "bob";
  EXPECT_EQ(Pass(other), "token-reused");
  other.nonce = "0123456789abcdeg";
  EXPECT_EQ(Pass(other), "bob");
}

TEST_F(Tokens, ANonceIsRememberedUntilItsTokenExpires) {
  now_ += 1;
  const TokenClaims claims = Claims();
  EXPECT_EQ(Pass(claims), "ann");
  now_ = claims.expires - 1;
  EXPECT_EQ(Pass(claims), "token-reused");
  now_ = claims.expires;
  EXPECT_EQ(Pass(claims), "token-expired");
  // The nonce is free again, for a token of its own.
  EXPECT_EQ(Pass(Claims()), "ann");
}

TEST_F(Tokens, ExpiryLiesWithinSixtySeconds) {
  now_ += 100;
  TokenClaims claims = Claims();
  claims.expires = now_ + 61;
  EXPECT_EQ(Pass(claims), "token-lifetime");
  claims.expires = now_;
  EXPECT_EQ(Pass(claims), "token-expired");
  claims.expires = now_ + 1;
  EXPECT_EQ(Pass(claims), "ann");
}

TEST_F(Tokens, AnotherAudienceIsRefused) {
  now_ += 1;
  TokenClaims claims = Claims();
  claims.audience = "books";
  EXPECT_EQ(Pass(claims), "token-audience");
}

TEST_F(Tokens, AnotherKeysSignatureIsRefusedAndSoIsAChangedToken) {
  now_ += 1;
  EXPECT_EQ(Pass(SignToken(Claims(), SigningKey::Generate())),
            "token-signature");
  const std::string token = SignToken(Claims(), key_);
  // Whatever byte is changed, nobody's list is given.
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const std::string result = Pass(changed);
    EXPECT_TRUE(result == "token-signature" || result == "token-malformed")
        << i << " " << result;
  }
  // None of them has used the nonce up.
  EXPECT_EQ(Pass(token), "ann");
}

TEST_F(Tokens, OtherShapesAreRefused) {
  now_ += 1;
  const std::string good = SignToken(Claims(), key_);
  const std::string exp = absl::StrCat(now_ + 60);
  const std::string rest =
      R"("aud":"films","jti":"0123456789abcdef","exp":)" + exp;
  const std::string claims = R"({"sub":"ann",)" + rest + "}";
  ASSERT_EQ(Pass(SignedClaims(claims)), "ann");
  const std::string tokens[] = {
      "",
      ".",
      "..",
      "...",
      good + ".x",
      good + "=",
      good + std::string(kLongestToken, 'A'),
      std::string(2 * kLongestToken, '.'),
      // Tokens that other services of the same key might take.
      Signed(R"({"alg":"EdDSA","typ":"JWT"})", claims),
      Signed(R"({"alg":"EdDSA"})", claims),
      Signed(R"({"alg":"none","typ":"dpnmf-recommend+jwt"})", claims),
      Signed(R"({"alg":"HS256","typ":"dpnmf-recommend+jwt"})", claims),
      Signed(R"({"alg":"EdDSA","typ":"dpnmf-recommend+jwt","crit":[]})",
             claims),
      Signed("[]", claims),
      SignedClaims(""),
      SignedClaims("[]"),
      SignedClaims("null"),
      SignedClaims("{\"sub\":\"ann\""),
      SignedClaims("{" + rest + "}"),
      SignedClaims(R"({"sub":"",)" + rest + "}"),
      SignedClaims(R"({"sub":7,)" + rest + "}"),
      SignedClaims(R"({"sub":["ann","bob"],)" + rest + "}"),
      SignedClaims(R"({"sub":"a\nb",)" + rest + "}"),
      SignedClaims(R"({"sub":"ann","admin":true,)" + rest + "}"),
      SignedClaims(R"({"sub":"ann","aud":["films"],"jti":"0123456789abcdef",)"
                   R"("exp":)" +
                   exp + "}"),
      SignedClaims(R"({"sub":"ann","aud":"films","jti":"short","exp":)" + exp +
                   "}"),
      SignedClaims(
          R"({"sub":"ann","aud":"films","jti":"0123456789abcdef","exp":-1})"),
      SignedClaims(
          R"({"sub":"ann","aud":"films","jti":"0123456789abcdef","exp":1e99})"),
      SignedClaims(R"({"sub":"ann","aud":"films","jti":"0123456789abcdef",)"
                   R"("exp":18446744073709551615})"),
      SignedClaims(R"({"sub":"ann","aud":"films","jti":"0123456789abcdef",)"
                   R"("exp":")" +
                   exp + "\"}"),
  };
  for (const std::string& token : tokens)
    EXPECT_EQ(Pass(token), "token-malformed") << token;
}

// A process does not know which tokens an earlier one has let pass. Whatever
// that was, it expires within a minute of the start.
TEST_F(Tokens, NoTokenPassesTwiceOverARestart) {
  now_ += 1;
  // Let pass at the last moment, with the longest life.
  const TokenClaims used = Claims();
  ASSERT_EQ(Pass(used), "ann");
  for (const int pause : {0, 1, 30, 59, 60, 61}) {
    now_ = used.expires - 60 + pause;
    Restart();
    for (int later = 0; later < 70; ++later, ++now_) {
      const std::string result = Pass(used);
      EXPECT_TRUE(result == "token-before-start" || result == "token-expired")
          << pause << " " << later << " " << result;
    }
  }
}

// The clock jumps ahead, as that of the system that signs does, a token passes,
// and the clock is set right: within the process, before the next one, or while
// the next one runs.
TEST_F(Tokens, NoTokenPassesTwiceIfTheClockJumpsAheadAndReturns) {
  for (const int restarts_after : {0, 1, 300}) {
    now_ += 1000;
    Restart();
    now_ += 500;
    const TokenClaims used = Claims();
    ASSERT_EQ(Pass(used), "ann");
    now_ -= 300;
    if (restarts_after == 0) Restart();
    for (int later = 0; later < 400; ++later, ++now_) {
      const std::string result = Pass(used);
      EXPECT_NE(result, "ann") << restarts_after << " " << later;
      if (later == restarts_after) Restart();
    }
    // Once that time is over, tokens pass again.
    EXPECT_EQ(Pass(Claims(absl::StrCat("another-nonce-of-", restarts_after))),
              "ann");
  }
}

// A clock alone that was ahead makes nobody wait: no token could pass.
TEST_F(Tokens, AClockThatWasAheadAloneIsForgottenByARestart) {
  const TokenClaims claims = Claims();
  now_ += 1000;
  EXPECT_EQ(Pass(claims), "token-expired");
  now_ -= 1000;
  EXPECT_EQ(Pass(claims), "token-expired");
  Restart();
  now_ += 1;
  EXPECT_EQ(Pass(Claims()), "ann");
}

// The expiry is on the disk before the token passes, for the latest of all.
TEST_F(Tokens, TheLatestExpiryOfTokensThatPassedIsInAPrivateFile) {
  const auto recorded = [this]() -> std::int64_t {
    return nlohmann::json::parse(ReadAll(ExpiryFile()))["latest_expiry"];
  };
  now_ += 1;
  TokenClaims claims = Claims();
  claims.audience = "books";
  EXPECT_EQ(Pass(claims), "token-audience");
  EXPECT_FALSE(std::filesystem::exists(ExpiryFile()));
  const std::int64_t latest = now_ + kLongestTokenSeconds;
  EXPECT_EQ(Pass(Claims()), "ann");
  EXPECT_EQ(recorded(), latest);
  now_ += 10;
  claims = Claims("another-nonce-of-16");
  claims.expires = latest + 5;
  EXPECT_EQ(Pass(claims), "ann");
  EXPECT_EQ(recorded(), latest + 5);
  claims = Claims("a-third-nonce-of-16");
  claims.expires = latest + 1;
  EXPECT_EQ(Pass(claims), "ann");
  EXPECT_EQ(recorded(), latest + 5);
  EXPECT_EQ(std::filesystem::status(ExpiryFile()).permissions(),
            std::filesystem::perms(0600));
  EXPECT_EQ(ReadAll(ExpiryFile()).find("ann"), std::string::npos);
}

TEST_F(Tokens, ATokenWhoseExpiryCannotBeWrittenIsRefusedAndNotUsedUp) {
  now_ += 1;
  const TokenClaims claims = Claims();
  std::filesystem::create_directory(ExpiryFile());
  const auto refused = gate_->Pass(SignToken(claims, key_));
  EXPECT_EQ(ReasonCode(refused.status()), "token-unrecorded");
  // Paths are for the operator's log.
  EXPECT_EQ(refused.status().message().find(scratch_.path()),
            absl::string_view::npos);
  std::filesystem::remove(ExpiryFile());
  EXPECT_EQ(Pass(claims), "ann");
}

TEST_F(Tokens, AFileThatIsNotWholeOrOfAnotherVersionIsRefused) {
  now_ += 1;
  ASSERT_EQ(Pass(Claims()), "ann");
  const std::string text = ReadAll(ExpiryFile());
  ASSERT_TRUE(Create().ok());
  for (const std::string& other :
       {std::string(), text.substr(0, text.size() / 2), text + text,
        std::string("{\"format\":2,\"latest_expiry\":1800000061}\n"),
        std::string("{\"format\":1,\"latest_expiry\":-1}\n"),
        std::string("{\"format\":1}\n"), std::string("[]\n")}) {
    std::ofstream(ExpiryFile()) << other;
    const auto gate = Create();
    EXPECT_EQ(ReasonCode(gate.status()), "token-expiry-damaged") << other;
    EXPECT_NE(gate.status().message().find(ExpiryFile()),
              absl::string_view::npos);
  }
}

TEST_F(Tokens, AfterAStartNewTokensPassWithinAMinute) {
  TokenClaims claims = Claims();
  claims.expires = now_ + 30;
  EXPECT_EQ(Pass(claims), "token-before-start");
  now_ += 1;
  EXPECT_EQ(Pass(Claims()), "ann");  // of the longest life
  now_ += 30;
  claims = Claims("another-nonce-of-16");
  claims.expires = now_ + 30;
  EXPECT_EQ(Pass(claims), "ann");
}

// The machine's clock is set back while the process runs.
TEST_F(Tokens, AClockThatGoesBackRevivesNoToken) {
  now_ += 1;
  const TokenClaims claims = Claims();
  EXPECT_EQ(Pass(claims), "ann");
  now_ += 120;
  EXPECT_EQ(Pass(Claims("another-nonce-of-16")), "ann");
  now_ -= 110;
  EXPECT_EQ(Pass(claims), "token-expired");
}

TEST_F(Tokens, TheMemoryOfNoncesIsBoundedAndNoneIsForgottenForAnother) {
  Restart(/*most_tokens=*/3);
  now_ += 1;
  std::vector<TokenClaims> used;
  for (int i = 0; i < 3; ++i) {
    used.push_back(Claims(absl::StrCat("nonce-of-a-token-", i)));
    EXPECT_EQ(Pass(used.back()), "ann");
  }
  EXPECT_EQ(Pass(Claims("nonce-of-a-token-3")), "too-many-tokens");
  for (const TokenClaims& claims : used)
    EXPECT_EQ(Pass(claims), "token-reused");
  now_ += 60;
  EXPECT_EQ(Pass(Claims("nonce-of-a-token-3")), "ann");
}

}  // namespace
}  // namespace dpnmf::curator
