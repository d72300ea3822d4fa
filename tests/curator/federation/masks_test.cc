// Masks: they cancel, they are uniform, and they are bound to the round.
#include "curator/federation/masks.h"

#include <array>
#include <cmath>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c", "d"};

std::vector<NoisedMatrix> Zeros(std::size_t entries) {
  NoisedMatrix part;
  part.lattice.resize(entries);
  return {part, part};
}

struct Four {
  std::vector<ExchangeKey> own;
  std::vector<ExchangePublicKey> keys;
  Four() {
    for (int i = 0; i < 4; ++i) {
      own.push_back(ExchangeKey::Generate());
      keys.push_back(own.back().public_key());
    }
  }
  std::vector<NoisedMatrix> MaskOf(std::size_t i, const Digest& transcript,
                                   std::size_t entries) const {
    auto parts = Zeros(entries);
    Masks::Create(own[i], i, kNames, keys, transcript)->AddTo(&parts);
    return parts;
  }
};

TEST(MasksTest, CancelInTheSumOfAll) {
  const Four four;
  std::vector<std::uint64_t> sum(2 * 100);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto parts = four.MaskOf(i, Digest{1}, 100);
    for (std::size_t e = 0; e < 200; ++e)
      sum[e] += static_cast<std::uint64_t>(parts[e / 100].lattice[e % 100]);
  }
  EXPECT_EQ(sum, std::vector<std::uint64_t>(200));
}

TEST(MasksTest, OfThreeOfFourDoNotCancel) {
  const Four four;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    sum +=
        static_cast<std::uint64_t>(four.MaskOf(i, Digest{1}, 1)[0].lattice[0]);
  }
  EXPECT_NE(sum, 0u);  // false alarm: 2^-64
}

// chi-square of each of the eight bytes of 2^18 masks over 256 values, 255
// degrees of freedom. P(X >= k + 2 sqrt(k x) + 2 x) <= e^-x (Laurent and
// Massart 2000, Lemma 1); x = 53 gives 593.5, so that the false-alarm rate is
// below 8 e^-53 < 1e-21.
TEST(MasksTest, AreUniform) {
  const Four four;
  constexpr std::size_t kMasks = std::size_t{1} << 18;
  const auto parts = four.MaskOf(0, Digest{2}, kMasks / 2);
  std::array<std::array<double, 256>, 8> counts{};
  for (const NoisedMatrix& part : parts) {
    for (const std::int64_t entry : part.lattice) {
      for (int byte = 0; byte < 8; ++byte) {
        ++counts[byte][(static_cast<std::uint64_t>(entry) >> (8 * byte)) & 255];
      }
    }
  }
  for (int byte = 0; byte < 8; ++byte) {
    double chi_square = 0;
    const double expected = kMasks / 256.0;
    for (const double count : counts[byte])
      chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 593) << "byte " << byte;
  }
}

TEST(MasksTest, AreOthersForAnotherTranscript) {
  const Four four;
  EXPECT_NE(four.MaskOf(0, Digest{1}, 4)[0].lattice,
            four.MaskOf(0, Digest{2}, 4)[0].lattice);
  EXPECT_EQ(four.MaskOf(0, Digest{1}, 4)[0].lattice,
            four.MaskOf(0, Digest{1}, 4)[0].lattice);
}

// Condition 2: with one secret, other names or another order of the keys give
// another stream. Here b and c have one key; between a and b, and between a and
// c, the secret is the same.
TEST(MasksTest, DependOnWhoseKeyItIs) {
  const ExchangeKey a = ExchangeKey::Generate(), b = ExchangeKey::Generate();
  const auto mask = [&](const char* name) {
    auto parts = Zeros(4);
    const std::vector<std::string> names = {"a", name};
    const std::vector<ExchangePublicKey> keys = {a.public_key(),
                                                 b.public_key()};
    Masks::Create(a, 0, names, keys, Digest{1})->AddTo(&parts);
    return parts[0].lattice;
  };
  EXPECT_NE(mask("b"), mask("c"));
}

TEST(MasksTest, EqualZeroAndForeignKeysAreRefused) {
  Four four;
  const auto code = [&](std::size_t self) {
    return ReasonCode(
        Masks::Create(four.own[0], self, kNames, four.keys, Digest{1})
            .status());
  };
  EXPECT_EQ(code(0), "");
  EXPECT_EQ(code(1), "federation-key-lost");
  EXPECT_EQ(code(4), "federation-key-lost");
  four.keys[2] = four.keys[0];
  EXPECT_EQ(code(0), "federation-keys-equal");
  four.keys[2] = {};
  EXPECT_EQ(code(0), "federation-key-invalid");
}

// RFC 7748, section 6.1: this program's X25519 is everybody's.
TEST(MasksTest, BothSidesHaveOneSecret) {
  const ExchangeKey a = ExchangeKey::Generate(), b = ExchangeKey::Generate();
  EXPECT_EQ(a.SharedWith(b.public_key())->bytes(),
            b.SharedWith(a.public_key())->bytes());
}

}  // namespace
}  // namespace dpnmf::curator
