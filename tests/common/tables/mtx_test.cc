// Matrix Market files as programs write them.
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/tables/load.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf {
namespace {

using Columns = std::vector<std::vector<float>>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct MtxText {
  const char* name;
  const char* content;
  Columns columns;  // of the file
};

void PrintTo(const MtxText& text, std::ostream* out) { *out << text.name; }

class EveryMtxText : public testing::TestWithParam<MtxText> {};

TEST_P(EveryMtxText, IsReadAsItsProgramMeantIt) {
  const Scratch scratch;
  const auto matrix =
      LoadMatrix(scratch.Write("m.mtx", GetParam().content), false);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_EQ(ColumnsOf(*matrix), GetParam().columns);
}

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, EveryMtxText,
    testing::Values(
        // scipy.io.mmwrite of uint8 to uint64.
        MtxText{"unsignedCoordinate",
                "%%MatrixMarket matrix coordinate unsigned-integer general\n%\n"
                "2 2 3\n1 1 7\n2 1 18446744073709551615\n2 2 9\n",
                {{7, 18446744073709551615.0f}, {0, 9}}},
        MtxText{"unsignedArray",
                "%%MatrixMarket matrix array unsigned-integer general\n%\n2 2\n"
                "1\n2\n3\n4\n",
                {{1, 2}, {3, 4}}},
        MtxText{"double",
                "%%MatrixMarket matrix array double general\n1 2\n.5\n6.\n",
                {{0.5f}, {6}}},
        MtxText{"upperCase",
                "%%MATRIXMARKET MATRIX COORDINATE UNSIGNED-INTEGER GENERAL\n"
                "2 2 1\n1 2 3\n",
                {{0, 0}, {3, 0}}},
        MtxText{"byteOrderMarkAndWindows",
                "\xEF\xBB\xBF%%MatrixMarket matrix coordinate real general\r\n"
                "%c\r\n\r\n2 1 1\r\n\r\n2 1 8\r\n",
                {{0, 8}}},
        MtxText{"commentsBetween",
                "%%MatrixMarket  matrix\tcoordinate real general \n\n% a\n  % "
                "\"b\n2 2 2\n% c\n1 1 1\n\n%d\n2 2 2\n%\n",
                {{1, 0}, {0, 2}}},
        MtxText{"fortranExponents",
                "%%MatrixMarket matrix coordinate real general\n2 2 3\n"
                "1 1 1.0D+00\n2 1 2.5d-1\n2 2 3D2\n",
                {{1, 0.25f}, {0, 300}}},
        MtxText{"fortranArray",
                "%%MatrixMarket matrix array double general\n1 1\n0.7D+01\n",
                {{7}}},
        MtxText{"symmetric",
                "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n"
                "1 1 2\n2 1 3\n3 2 4\n3 3 5\n",
                {{2, 3, 0}, {3, 0, 4}, {0, 4, 5}}},
        MtxText{"symmetricPattern",
                "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n"
                "3 1\n2 2\n",
                {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}},
        // R's Matrix package writes the upper triangle of a dsCMatrix.
        MtxText{"symmetricUpper",
                "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n"
                "1 2 6\n",
                {{0, 6}, {6, 0}}},
        MtxText{"symmetricArray",
                "%%MatrixMarket matrix array integer symmetric\n3 3\n"
                "1\n2\n3\n4\n5\n6\n",
                {{1, 2, 3}, {2, 4, 5}, {3, 5, 6}}}),
    [](const auto& text) { return std::string(text.param.name); });

TEST(MatrixMarket, SaysThatAnEntryOfASymmetricOneCountsTwice) {
  const Scratch scratch;
  std::vector<std::string> said;
  LoadOptions options;
  options.note = [&](const std::string& sentence) { said.push_back(sentence); };
  const std::string entries = "2 2 1\n2 1 5\n";
  const std::string banner = "%%MatrixMarket matrix coordinate real ";
  ASSERT_TRUE(LoadMatrix(scratch.Write("g.mtx", banner + "general\n" + entries),
                         true, options)
                  .ok());
  EXPECT_THAT(said, IsEmpty());
  ASSERT_TRUE(
      LoadMatrix(scratch.Write("s.mtx", banner + "symmetric\n" + entries), true,
                 options)
          .ok());
  EXPECT_THAT(said, ElementsAre(HasSubstr("The matrix is symmetric")));
}

TEST(MatrixMarket, NamesWhatCannotBeRead) {
  const struct {
    const char *content, *code, *sentence;
  } cases[] = {
      {"coordinate real skew-symmetric\n2 2 1\n2 1 1\n", "input-malformed",
       "line 1, column 5: a skew-symmetric matrix is no matrix of non-negative "
       "numbers"},
      {"coordinate complex hermitian\n1 1 1\n1 1 1 0\n", "input-malformed",
       "line 1, column 4: a complex matrix"},
      {"coordinate real Hermitian\n1 1 1\n1 1 1\n", "input-malformed",
       "line 1, column 5: a hermitian matrix"},
      {"array real triangular\n1 1\n1\n", "input-malformed",
       "the symmetry must be general or symmetric"},
      {"coordinate real symmetric\n2 3 1\n1 1 1\n", "input-malformed",
       "line 2, column 2: a symmetric matrix has as many columns as rows"},
      // An entry and its mirror: which one counts is not said.
      {"coordinate real symmetric\n2 2 2\n2 1 4\n1 2 4\n", "input-duplicate",
       "line 4"},
      {"array real symmetric\n2 2\n1\n2\n", "input-malformed",
       "the file ends here after 2 of 3 entries"},
      {"array real symmetric\n2 2\n1\n2\n3\n4\n", "input-malformed",
       "more than the 3 entries"},
      {"coordinate real general\n1 1 1\n1 1 1.0D\n", "input-not-a-number",
       "line 3, column 3: '1.0D'"},
      {"coordinate real general\n1 1 1\n1 1 -1D0\n", "input-negative",
       "line 3, column 3"}};
  for (const auto& one : cases) {
    const Scratch scratch;
    const absl::Status status =
        LoadMatrix(
            scratch.Write("m.mtx",
                          std::string("%%MatrixMarket matrix ") + one.content),
            true)
            .status();
    EXPECT_EQ(ReasonCode(status), one.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.sentence));
  }
}

}  // namespace
}  // namespace dpnmf
