// Start of a curator that has a federation.json.
#include "curator/serve/open_membership.h"

#include <fstream>

#include "tests/curator/federation/hospitals.h"

namespace dpnmf::curator {
namespace {

class OpenMembershipTest : public ::testing::Test {
 protected:
  OpenMembershipTest() {
    const DatasetDescription people = DescriptionOfPeople("a", kSizes[0]);
    EXPECT_TRUE(ledger_
                    ->DeclarePopulation({people.population, people.adjacency,
                                         people.conversion, people.epsilon,
                                         people.delta})
                    .ok());
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      const auto key =
          i == 0 ? signer_.public_key() : SigningKey::Generate().public_key();
      const std::string name(1, static_cast<char>('a' + i));
      entries.push_back(
          absl::StrCat("{\"name\": \"", name, "\", \"dataset\": \"", name,
                       "\", \"users\": ", kSizes[i], ", \"receipt_key\": \"",
                       HexOf(key), "\", \"address\": \"localhost:1\"}"));
    }
    std::ofstream(home_.directory / "federation.json")
        << FederationText(entries);
  }

  // Starts as a new process does.
  absl::StatusOr<std::unique_ptr<Membership>> Start() {
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(PeopleOf("a", 0, kSizes[0]));
    Catalog catalog = Catalog::FromDatasets(std::move(datasets));
    return OpenMembership(home_.directory / "federation.json", ledger_.get(),
                          signer_, &catalog);
  }
  std::size_t RowCount() const {
    return Ledger::ReadRows(home_.options)->size();
  }

  const LedgerHome home_;
  const std::unique_ptr<Ledger> ledger_ = home_.Open();
  const ReceiptSigner signer_ =
      ReceiptSigner::Open(home_.directory.path(), ledger_.get()).value();
};

// Both accounts promise something about the same people.
TEST_F(OpenMembershipTest, AGuaranteeThatIsVoidIsVoidInTheSecondAccountToo) {
  ASSERT_TRUE(
      ledger_->VoidGuarantee({"a-people", DigestOfNumber(3), "Ann"}).ok());
  ASSERT_TRUE(Start().ok());
  EXPECT_NE(ledger_->PositionOf("a-people.others")->void_since, std::nullopt);
  const auto row = ledger_->VoidRowOf("a-people.others");
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ((*row)->request_hash, DigestOfNumber(3));
  EXPECT_EQ((*row)->detail, "Ann");
  const std::size_t rows = RowCount();
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(RowCount(), rows) << "once only";
}

TEST_F(OpenMembershipTest, AGuaranteeThatHoldsHoldsInBothAccounts) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(ledger_->PositionOf("a-people.others")->void_since, std::nullopt);
  EXPECT_EQ(ledger_->PositionOf("a-people")->void_since, std::nullopt);
}

}  // namespace
}  // namespace dpnmf::curator
