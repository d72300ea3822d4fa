#include "client/files/coherence.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::cli {
namespace {

class CoherenceTest : public testing::Test {
 protected:
  CoherenceTest() {
    std::string path =
        (std::filesystem::temp_directory_path() / "dpnmf-words-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) std::abort();
    directory_ = path;
  }
  ~CoherenceTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
    return directory_ + "/" + name;
  }

  // Four documents: "cat dog", "cat dog", "cat", "fish"; and "owl" in none.
  CoherenceFlags Reference(bool turned = false) const {
    CoherenceFlags flags;
    flags.reference_features = Write("words", "fish\ncat\ndog\nowl\n");
    flags.reference =
        turned ? Write("t.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n"
                       "% documents by words\n"
                       "5 4 6\n1 2 3\n1 3 1\n2 2 1\n2 3 7\n3 2 1\n4 1 1\n")
               : Write("w.mtx",
                       "%%MatrixMarket matrix coordinate pattern general\n"
                       "4 5 6\n2 1\n3 1\n2 2\n3 2\n2 3\n1 4\n");
    return flags;
  }

  static v1::RankWords Model(
      std::initializer_list<std::initializer_list<int>> parts) {
    v1::RankWords model;
    model.set_rank(static_cast<std::uint32_t>(parts.size()));
    for (const auto& rows : parts) {
      v1::RankWords::Part& part = *model.add_parts();
      for (const int row : rows) part.add_rows(static_cast<std::uint64_t>(row));
    }
    return model;
  }

  std::string directory_;
};

const std::vector<std::string> kAnimals = {"cat", "dog", "fish", "unknown"};

// By hand, of five documents of which the fifth is empty.
TEST_F(CoherenceTest, UMassAndNpmiAreThoseOfTheirFormulas) {
  for (const bool turned : {false, true}) {
    const auto text = PublicText::Load(Reference(turned), kAnimals);
    ASSERT_TRUE(text.ok()) << text.status();
    const v1::RankCoherence pets = text->CoherenceOf(Model({{0, 1}}));
    EXPECT_EQ(pets.rank(), 1u);
    EXPECT_EQ(pets.parts(), 1u);
    EXPECT_DOUBLE_EQ(pets.umass(), std::log((2 + 1) / 3.0));
    EXPECT_DOUBLE_EQ(pets.npmi(), std::log((2 / 5.0) / (3 / 5.0 * 2 / 5.0)) /
                                      -std::log(2 / 5.0));
    EXPECT_FALSE(pets.has_word2vec());
    // The order of words counts in UMass alone.
    EXPECT_DOUBLE_EQ(text->CoherenceOf(Model({{1, 0}})).umass(),
                     std::log((2 + 1) / 2.0));
    const v1::RankCoherence strangers = text->CoherenceOf(Model({{0, 2}}));
    EXPECT_DOUBLE_EQ(strangers.umass(), std::log(1 / 3.0));
    EXPECT_EQ(strangers.npmi(), -1);
    // Means over pairs, then over parts; unknown words count for nothing.
    EXPECT_DOUBLE_EQ(
        text->CoherenceOf(Model({{0, 3, 1}, {3, 0, 2}, {3, 1}})).npmi(),
        (pets.npmi() - 1) / 2);
    EXPECT_EQ(text->CoherenceOf(Model({{0, 3, 1}, {3, 0, 2}, {3, 1}})).parts(),
              2u);
    EXPECT_FALSE(text->CoherenceOf(Model({{3, 0}})).has_npmi());
  }
}

TEST_F(CoherenceTest, WordVectorsAreComparedByTheirAngle) {
  CoherenceFlags flags;
  for (const char* file : {"4 2\ncat 3 4\ndog 8 6\nfish 0 0\nother 1 x\n",
                           "cat 3 4\ndog 8 6\nfish 0 0\nother 1 x\n"}) {
    flags.word_vectors = Write("vectors", file);
    const auto text = PublicText::Load(flags, kAnimals);
    ASSERT_TRUE(text.ok()) << text.status();
    const v1::RankCoherence pets = text->CoherenceOf(Model({{0, 1}, {0, 2}}));
    EXPECT_NEAR(pets.word2vec(), 0.96, 1e-6);
    EXPECT_EQ(pets.parts(), 1u);  // a vector of length 0 has no angle
    EXPECT_FALSE(pets.has_npmi());
  }
}

TEST_F(CoherenceTest, FilesThatDoNotFitAreRefused) {
  const auto code = [&](const CoherenceFlags& flags,
                        const std::vector<std::string>& names = kAnimals) {
    const absl::Status checked = CheckCoherenceFlags(flags);
    return ReasonCode(checked.ok() ? PublicText::Load(flags, names).status()
                                   : checked);
  };
  EXPECT_EQ(code(Reference()), "");
  EXPECT_EQ(code(Reference(), {}), "features-unnamed");
  EXPECT_EQ(code(Reference(), {"a", "b"}), "reference-foreign");
  CoherenceFlags flags = Reference();
  flags.reference_features = Write("few", "cat\ndog\n");
  EXPECT_EQ(code(flags), "reference-mismatch");
  flags.reference_features.clear();
  EXPECT_EQ(code(flags), "flags-conflict");
  flags = Reference();
  flags.reference = directory_ + "/none";
  EXPECT_EQ(code(flags), "input-not-found");
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  for (const auto& [text, wanted] :
       std::vector<std::pair<std::string, const char*>>{
           {"", "input-empty"},
           {"cat,dog\n", "input-malformed"},
           {"%%MatrixMarket matrix array real general\n4 5\n",
            "input-malformed"},
           {banner + "4 5 2\n1 1 1\n", "input-malformed"},
           {banner + "4 5 1\n5 1 1\n", "input-out-of-range"},
           {banner + "4 5 1\n1 0 1\n", "input-out-of-range"},
           {banner + "4 5 1\n1 1 -1\n", "input-negative"},
           {banner + "4 5 1\n1 1\n", "input-ragged"}}) {
    flags.reference = Write("bad.mtx", text);
    EXPECT_EQ(code(flags), wanted) << text;
  }
  flags = CoherenceFlags();
  for (const char* text :
       {"cat 1 x\n", "cat\n", "cat 1 2\ndog 1\n", "cat 1 inf\n"}) {
    flags.word_vectors = Write("bad.vec", text);
    EXPECT_EQ(code(flags), "word-vectors-malformed") << text;
  }
  flags.word_vectors = Write("foreign.vec", "owl 1 2\n");
  EXPECT_EQ(code(flags), "reference-foreign");
}

}  // namespace
}  // namespace dpnmf::cli
