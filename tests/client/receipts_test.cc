// receipts export and verify.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "client/render/names.h"
#include "common/base/exit_code.h"
#include "common/wire/receipt.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Receipts : public Program {
 protected:
  Receipts() {
    for (std::uint32_t round = 1; round <= 3; ++round) {
      v1::Receipt receipt;
      receipt.set_sequence(4 + round);
      receipt.set_round(round);
      receipt.set_row_hash(std::string(32, 'h'));
      Sign(key_, &receipt);
      analyst().receipts.push_back(receipt);
    }
    std::ofstream(key_file_) << PemOf(key_.public_key());
  }
  int Export() { return Run({"receipts", "export", "--output", file_}); }
  int Verify() {
    return Run({"receipts", "verify", file_, "--key", key_file_});
  }

  const SigningKey key_ = SigningKey::Generate();
  const std::string file_ = (directory_ / "receipts.jsonl").string();
  const std::string key_file_ = (directory_ / "receipt.pub").string();
};

TEST_F(Receipts, AreExportedAndVerifiedWithoutAServer) {
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_EQ(Verify(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("all 3 receipts are signed"));
}

// The mark is the curator's word like the rest: it is said, and it is signed.
TEST_F(Receipts, OfAVoidGuaranteeSaySinceWhen) {
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), Not(HasSubstr("VOID")));
  analyst().receipts[1].set_void_since(1'700'000'000);
  Sign(key_, &analyst().receipts[1]);
  const std::string said = "1 of them are of a population whose guarantee is " +
                           VoidText(1'700'000'000);
  ASSERT_EQ(Export(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(said));
  EXPECT_EQ(Verify(), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("all 3 receipts are signed"));
  EXPECT_THAT(out_.str(), HasSubstr(said));
  ASSERT_EQ(Run({"receipts", "verify", file_, "--key", key_file_, "--format",
                 "json"}),
            kExitOk);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["void_guarantees"], "1");
  EXPECT_EQ(json["void_since"], "1700000000");
  // Another time, a mark without its signature, a signature without its mark,
  // the mark of another receipt.
  const v1::Receipt whole = analyst().receipts[1];
  const std::function<void(v1::Receipt*)> tampers[] = {
      [](v1::Receipt* one) { one->set_void_since(1'800'000'000); },
      [](v1::Receipt* one) { one->clear_void_signature(); },
      [](v1::Receipt* one) { one->clear_void_since(); },
      [&](v1::Receipt* one) {
        v1::Receipt other = analyst().receipts[2];
        other.set_void_since(one->void_since());
        Sign(key_, &other);
        one->set_void_signature(other.void_signature());
      }};
  for (const auto& tamper : tampers) {
    analyst().receipts[1] = whole;
    tamper(&analyst().receipts[1]);
    ASSERT_EQ(Export(), kExitOk) << err_.str();
    EXPECT_NE(Verify(), kExitOk);
    EXPECT_THAT(err_.str(), HasSubstr("[receipt-invalid]"));
  }
}

TEST_F(Receipts, OfAnUnknownDataSetReplaceNothing) {
  analyst().receipts.clear();
  std::ofstream(file_) << "kept";
  EXPECT_EQ(Run({"receipts", "export", "--dataset", "nope", "--output", file_}),
            kExitNotFound);
  EXPECT_THAT(err_.str(), HasSubstr("[dataset-unknown]"));
  EXPECT_EQ(std::filesystem::file_size(file_), 4u);
}

TEST_F(Receipts, OfOneRunAreFoundByTheFirstDigitsOfItsId) {
  analyst().receipts[1].set_run_id(kRunId);
  ASSERT_EQ(
      Run({"receipts", "export", "--run", std::string(kRunId).substr(0, 8),
           "--output", file_, "--format", "json"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["receipts"], "1");
  EXPECT_EQ(Run({"receipts", "export", "--run", "ffffffff", "--output", file_}),
            kExitNotFound);
}

TEST_F(Receipts, ThatAreNoneAreNotVerified) {
  std::ofstream(file_) << "";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipts-empty]"));
}

TEST_F(Receipts, AsJsonAreGoodOnlyOnceTheyAreVerified) {
  ASSERT_EQ(Run({"receipts", "export", "--output", file_, "--format", "json"}),
            kExitOk);
  auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["receipts"], "3");
  EXPECT_FALSE(json.contains("ok"));
  EXPECT_FALSE(json.contains("public_key"));
  ASSERT_EQ(Run({"receipts", "verify", file_, "--key", key_file_, "--format",
                 "json"}),
            kExitOk);
  json = nlohmann::json::parse(out_.str());
  EXPECT_TRUE(json["ok"]);
  EXPECT_EQ(json["public_key"].get<std::string>().size(), 64u);
}

TEST_F(Receipts, OfAnotherKeyAreRefused) {
  ASSERT_EQ(Export(), kExitOk);
  std::ofstream(key_file_) << PemOf(SigningKey::Generate().public_key());
  EXPECT_EQ(Verify(), kExitState);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-key-differs]"));
}

TEST_F(Receipts, ThatWereChangedAreRefused) {
  analyst().receipts[1].set_round(7);
  ASSERT_EQ(Export(), kExitOk);
  EXPECT_EQ(Verify(), kExitDataLoss);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-invalid]"));
}

TEST_F(Receipts, NeedAFileAndAKeyThatAreSuch) {
  EXPECT_EQ(Verify(), kExitNotFound);
  std::ofstream(file_) << "hello\n";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-malformed]"));
  std::ofstream(key_file_) << "hello\n";
  EXPECT_EQ(Verify(), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[receipt-key-malformed]"));
}

}  // namespace
}  // namespace dpnmf::cli
