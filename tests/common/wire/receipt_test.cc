#include "common/wire/receipt.h"

#include <random>

#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

v1::Receipt SomeReceipt() {
  v1::Receipt receipt;
  receipt.set_ledger_id(std::string(32, 'a'));
  receipt.set_sequence(7);
  receipt.set_row_hash(std::string(32, '\x05'));
  receipt.set_population("people");
  receipt.set_dataset("digits");
  receipt.set_identity("dns:analyst");
  receipt.set_run_id(std::string(32, 'b'));
  receipt.set_round(3);
  receipt.set_mechanism("statistics");
  receipt.mutable_charged()->set_units("12345");
  return receipt;
}

v1::Receipt Signed(const SigningKey& key) {
  v1::Receipt receipt = SomeReceipt();
  Sign(key, &receipt);
  return receipt;
}

// RFC 8032, section 7.1, test 2.
TEST(Ed25519, VerifiesTheStandardsExample) {
  const auto bytes = [](std::string_view hex, auto array) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      array[i] = static_cast<std::uint8_t>(
          std::stoi(std::string(hex.substr(2 * i, 2)), nullptr, 16));
    }
    return array;
  };
  const PublicKey key =
      bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            PublicKey{});
  Signature signature = bytes(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
      Signature{});
  const std::byte message[] = {std::byte{0x72}};
  EXPECT_TRUE(Verify(key, message, signature));
  signature[10] ^= 1;
  EXPECT_FALSE(Verify(key, message, signature));
}

TEST(Ed25519, KeysSurviveTheirFilesAndOtherTextIsNone) {
  const SigningKey key = SigningKey::Generate();
  const auto again = SigningKey::FromPem(key.Pem());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->public_key(), key.public_key());
  EXPECT_EQ(PublicKeyOfPem(PemOf(key.public_key())), key.public_key());
  EXPECT_FALSE(SigningKey::FromPem("no key").has_value());
  EXPECT_FALSE(SigningKey::FromPem(PemOf(key.public_key())).has_value());
  EXPECT_FALSE(PublicKeyOfPem(key.Pem()).has_value());
  EXPECT_NE(SigningKey::Generate().public_key(), key.public_key());
}

TEST(Receipt, IsGoodAndTheSameHoweverOftenItIsSigned) {
  const SigningKey key = SigningKey::Generate();
  const v1::Receipt receipt = Signed(key);
  EXPECT_TRUE(CheckReceipt(receipt).ok());
  EXPECT_EQ(KeyOf(receipt), key.public_key());
  EXPECT_EQ(Signed(key).SerializeAsString(), receipt.SerializeAsString());
}

TEST(Receipt, NoFieldCanBeChanged) {
  const v1::Receipt good = Signed(SigningKey::Generate());
  const auto* type = v1::Receipt::descriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    SCOPED_TRACE(type->field(i)->name());
    v1::Receipt changed = good;
    const auto* field = type->field(i);
    const auto* reflection = changed.GetReflection();
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        reflection->SetInt64(&changed, field, 8);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING: {
        std::string text = reflection->GetString(changed, field);
        if (text.empty()) text = "?";
        text[0] = static_cast<char>(text[0] ^ 1);
        reflection->SetString(&changed, field, text);
        break;
      }
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(&changed, field, 8);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(&changed, field, 8);
        break;
      default:
        changed.mutable_charged()->set_units("1");
    }
    EXPECT_EQ(ReasonCode(CheckReceipt(changed)), "receipt-invalid");
  }
}

// The mark of a void guarantee is signed too; who knows nothing of it checks
// the first signature, which is that of a receipt without the mark.
TEST(Receipt, TheMarkOfAVoidGuaranteeIsSigned) {
  const SigningKey key = SigningKey::Generate();
  v1::Receipt marked = SomeReceipt();
  marked.set_void_since(1'700'000'000);
  Sign(key, &marked);
  EXPECT_TRUE(CheckReceipt(marked).ok());
  EXPECT_EQ(marked.signature(), Signed(key).signature());
  v1::Receipt changed = marked;
  changed.set_void_since(1'700'000'001);
  EXPECT_EQ(ReasonCode(CheckReceipt(changed)), "receipt-invalid");
  changed = marked;
  changed.clear_void_signature();
  EXPECT_EQ(ReasonCode(CheckReceipt(changed)), "receipt-invalid");
  changed = marked;
  changed.mutable_void_signature()->back() ^= 1;
  EXPECT_EQ(ReasonCode(CheckReceipt(changed)), "receipt-invalid");
  // The mark of another receipt.
  v1::Receipt other = SomeReceipt();
  other.set_sequence(8);
  other.set_void_since(1'700'000'000);
  Sign(key, &other);
  changed = marked;
  changed.set_void_signature(other.void_signature());
  EXPECT_EQ(ReasonCode(CheckReceipt(changed)), "receipt-invalid");
  const auto read = ParseReceipts(LineOf(marked));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at(0).SerializeAsString(), marked.SerializeAsString());
}

TEST(Receipt, TextOfOneFieldIsNotAnothers) {
  v1::Receipt receipt = SomeReceipt();
  const SigningKey key = SigningKey::Generate();
  Sign(key, &receipt);
  receipt.set_population("peopled");
  receipt.set_dataset("igits");
  EXPECT_EQ(ReasonCode(CheckReceipt(receipt)), "receipt-invalid");
}

TEST(Receipt, AnotherKeysSignatureIsNoProof) {
  v1::Receipt receipt = Signed(SigningKey::Generate());
  const PublicKey other = SigningKey::Generate().public_key();
  receipt.set_public_key(other.data(), other.size());
  EXPECT_EQ(ReasonCode(CheckReceipt(receipt)), "receipt-invalid");
}

TEST(ReceiptFile, ReadsBackWhatWasWritten) {
  const SigningKey key = SigningKey::Generate();
  const v1::Receipt receipt = Signed(key);
  const auto read = ParseReceipts(LineOf(receipt) + "\n" + LineOf(receipt));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_TRUE(CheckReceipt((*read)[1]).ok());
  EXPECT_EQ(ParseReceipts("")->size(), 0u);
}

TEST(ReceiptFile, NamesTheLineThatIsNone) {
  const std::string good = LineOf(Signed(SigningKey::Generate()));
  const auto read = ParseReceipts(good + "{\"round\": \"x\"}\n");
  EXPECT_EQ(ReasonCode(read.status()), "receipt-malformed");
  EXPECT_NE(read.status().message().find("Line 2"), std::string::npos);
}

// Mutations of a line are refused or say what was signed. Nothing in it is
// chance but the choice of mutations; the seed is fixed.
TEST(ReceiptFile, NoMutatedLineProvesAnythingElse) {
  const v1::Receipt good = Signed(SigningKey::Generate());
  const std::string line = LineOf(good);
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 3'000; ++trial) {
    std::string mutated = line;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      mutated[random() % mutated.size()] = static_cast<char>(random() % 128);
    const auto read = ParseReceipts(mutated);
    if (!read.ok()) continue;
    for (const v1::Receipt& receipt : *read) {
      if (!CheckReceipt(receipt).ok()) continue;
      v1::Receipt same = receipt;
      same.mutable_charged()->set_value(good.charged().value());
      EXPECT_EQ(same.SerializeAsString(), good.SerializeAsString());
    }
  }
}

// The digest of what was released has a signature of its own: what was signed
// before it existed is signed as it was.
TEST(Receipt, CoversWhatWasReleasedBesides) {
  const SigningKey key = SigningKey::Generate();
  v1::Receipt receipt = SomeReceipt();
  Sign(key, &receipt);
  const std::string before = receipt.signature();
  receipt.set_release_sha256(std::string(32, 'r'));
  EXPECT_EQ(ReasonCode(CheckReceipt(receipt)), "receipt-invalid");
  Sign(key, &receipt);
  EXPECT_EQ(receipt.signature(), before);
  EXPECT_TRUE(CheckReceipt(receipt).ok());
  for (std::size_t i = 0; i < receipt.release_sha256().size(); ++i) {
    v1::Receipt changed = receipt;
    (*changed.mutable_release_sha256())[i] ^= 1;
    EXPECT_FALSE(CheckReceipt(changed).ok());
  }
  v1::Receipt other = receipt;
  other.clear_release_signature();
  EXPECT_FALSE(CheckReceipt(other).ok());
  other = receipt;
  other.clear_release_sha256();
  EXPECT_FALSE(CheckReceipt(other).ok());
  // The release signature of another charge.
  other = SomeReceipt();
  other.set_round(4);
  Sign(key, &other);
  other.set_release_sha256(receipt.release_sha256());
  other.set_release_signature(receipt.release_signature());
  EXPECT_FALSE(CheckReceipt(other).ok());
  // Both taken away: an unsigned release.
  other = receipt;
  other.clear_release_sha256();
  other.clear_release_signature();
  EXPECT_TRUE(CheckReceipt(other).ok());
}

}  // namespace
}  // namespace dpnmf
