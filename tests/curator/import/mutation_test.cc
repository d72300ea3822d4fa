// Random damage to files of every format: each is either refused in one
// sentence or gives a sound matrix. Most useful under AddressSanitizer.
#include <cmath>
#include <iostream>
#include <random>

#include "common/base/error.h"
#include "common/files/npy.h"
#include "curator/import/columns.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

struct Seed {
  std::string name;
  std::string content;
  LoadOptions options;
};

std::vector<Seed> Seeds() {
  LoadOptions triples;
  triples.format = MatrixFormatOfName("triples").value();
  triples.feature_names = {"x", "y"};
  LoadOptions text;
  text.format = MatrixFormatOfName("text").value();
  NpyHeader header;
  header.dtype = "<f4";
  header.shape = {2, 2};
  const float values[] = {1, 2, 3, 4};
  return {
      {"a.csv", "who,\"a, b\",c\nann,1.5,2e3\nbob,0,7\n", {}},
      {"b.tsv", "1\t2\n3\t4\r\n\n", {}},
      {"c.txt", " 1  2 3 4 5 \n 6 7 8 9 10\n", text},
      {"d.mtx",
       "%%MatrixMarket matrix coordinate real general\n%\n2 3 2\n1 1 1\n2 3 "
       "4.5\n",
       {}},
      {"e.mtx",
       "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n",
       {}},
      {"f.npy",
       NpyHeaderBytes(header) +
           std::string(reinterpret_cast<const char*>(values), sizeof(values)),
       {}},
      {"g.data", "ann x 3\nbob y 4 88\nann y 1\n", triples},
  };
}

std::string Mutated(std::string text, std::mt19937_64* random) {
  static constexpr char kTelling[] =
      "0123456789-+.eE,;\t \"'\n\r%\\nainf()<>|\x00\xff\xef\x80";
  const auto below = [&](std::size_t limit) { return (*random)() % limit; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = text.empty() ? 0 : below(text.size());
    const char byte = below(4) == 0 ? static_cast<char>(below(256))
                                    : kTelling[below(sizeof(kTelling) - 1)];
    switch (below(5)) {
      case 0:
        text.insert(place, 1, byte);
        break;
      case 1:
        text.erase(place, 1 + below(6));
        break;
      case 2:
        text.insert(place, text.substr(text.empty() ? 0 : below(text.size()),
                                       below(20)));
        break;
      case 3:
        text.resize(place);
        break;
      default:
        if (!text.empty()) text[place] = byte;
    }
  }
  return text;
}

void ExpectSound(const LoadedMatrix& matrix) {
  ASSERT_GE(matrix.features, 1u);
  ASSERT_GE(matrix.users, 1u);
  for (const float value : matrix.values) {
    ASSERT_TRUE(std::isfinite(value) && value >= 0 && !std::signbit(value));
  }
  if (!matrix.sparse) {
    ASSERT_EQ(matrix.values.size(), matrix.features * matrix.users);
    return;
  }
  ASSERT_EQ(matrix.indptr.size(), matrix.users + 1);
  ASSERT_EQ(matrix.indices.size(), matrix.values.size());
  DatasetDescription description;
  ASSERT_TRUE(ToDataset(matrix, description).ok());
}

TEST(Mutation, EveryDamagedFileIsRefusedInOneSentenceOrSound) {
  constexpr int kRuns = 6'000;
  constexpr std::uint64_t kSeed = 20260101;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937_64 random(kSeed);
  const std::vector<Seed> seeds = Seeds();
  const Scratch scratch;
  int sound = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Seed& seed = seeds[random() % seeds.size()];
    const std::string content = Mutated(seed.content, &random);
    // A long row of digits may well declare millions of empty columns.
    if (seed.name == "d.mtx" && content.size() > seed.content.size() + 3)
      continue;
    const std::string path = scratch.Write(seed.name, content);
    auto matrix = LoadMatrix(path, run % 2 == 0, seed.options);
    if (matrix.ok()) {
      ++sound;
      ExpectSound(*matrix);
      NormaliseColumns(&*matrix, Normalisation::kL2, 1);
    } else {
      ASSERT_EQ(matrix.status().code(), absl::StatusCode::kInvalidArgument)
          << matrix.status();
      ASSERT_NE(ReasonCode(matrix.status()), "");
      ASSERT_EQ(matrix.status().message().find('\n'), absl::string_view::npos);
    }
    if (HasFatalFailure()) {
      std::cout << "run " << run << " of " << seed.name << ":\n"
                << content << "\n";
      return;
    }
  }
  // Both outcomes must occur often, or the test tests nothing.
  EXPECT_GT(sound, kRuns / 50);
  EXPECT_LT(sound, kRuns * 9 / 10);
}

}  // namespace
}  // namespace dpnmf::curator
