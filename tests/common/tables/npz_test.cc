// .npz files: ZIP archives of arrays.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/npy.h"
#include "common/tables/load.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"
#include "tests/common/tables/zip_bytes.h"

namespace dpnmf::npz {
namespace {

using ::testing::HasSubstr;
using People = std::vector<std::vector<float>>;

const People kTwoPeople = {{1, 2, 3}, {4, 5, 6}};

// [[1, 2, 3], [4, 5, 6]], plus `more`, as bytes.
std::string ArrayOf(int more = 0, std::string dtype = "|u1") {
  NpyHeader header;
  header.dtype = std::move(dtype);
  header.shape = {2, 3};
  std::string bytes = NpyHeaderBytes(header);
  for (int i = 1; i <= 6; ++i) bytes.push_back(static_cast<char>(i + more));
  return bytes;
}

absl::StatusOr<LoadedMatrix> Load(const std::string& bytes,
                                  const std::string& array = "",
                                  const std::string& name = "m.npz") {
  const Scratch scratch;
  LoadOptions options;
  options.array = array;
  return LoadMatrix(scratch.Write(name, bytes), /*users_are_rows=*/true,
                    options);
}

std::string CodeOf(const std::string& bytes, const std::string& array = "") {
  return ReasonCode(Load(bytes, array).status());
}

TEST(Npz, ReadsWhatNumpyWrites) {
  // numpy 1.24: numpy.savez_compressed(path, people=array of uint8).
  const std::string golden = absl::HexStringToBytes(
      "504b0304140000000800000021001026ca7e4c000000860000000a00140070656f706c65"
      "2e6e7079010010008600000000000000"
      "4c000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a0"
      "9e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0a"
      "b50a64032e46266616563600504b01021403140000000800000021001026ca7e4c000000"
      "860000000a000000000000000000000080010000000070656f706c652e6e7079504b0506"
      "000000000100010038000000880000000000");
  for (const char* array : {"", "people"}) {
    const auto matrix = Load(golden, array);
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_EQ(ColumnsOf(*matrix), kTwoPeople);
  }
}

TEST(Npz, ReadsStoredAndDeflatedMembersAndSizesOf64Bits) {
  for (const bool deflate : {false, true}) {
    for (const bool wide : {false, true}) {
      const auto matrix =
          Load(ZipOf({{"a.npy", ArrayOf(), deflate}}, wide), "", "no_name");
      ASSERT_TRUE(matrix.ok()) << matrix.status();
      EXPECT_EQ(ColumnsOf(*matrix), kTwoPeople);
    }
  }
}

TEST(Npz, ReadsAnArrayThatIsLongerThanTheBuffers) {
  NpyHeader header;
  header.dtype = "|u1";
  header.shape = {3000, 200};
  std::string bytes = NpyHeaderBytes(header);
  for (std::size_t i = 0; i < 600'000; ++i)
    bytes.push_back(static_cast<char>(i * 7919 % 251));
  for (const bool deflate : {false, true}) {
    const auto matrix = Load(ZipOf({{"a.npy", bytes, deflate}}));
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    ASSERT_EQ(matrix->values.size(), 600'000u);
    for (std::size_t i = 0; i < 600'000; ++i)
      ASSERT_EQ(matrix->values[i], static_cast<float>(i * 7919 % 251)) << i;
  }
}

TEST(Npz, OfSeveralArraysOneIsNamed) {
  const std::string both = ZipOf({{"readme.txt", "hello"},
                                  {"people.npy", ArrayOf()},
                                  {"weights.npy", ArrayOf(7)}});
  const auto ambiguous = Load(both).status();
  EXPECT_EQ(ReasonCode(ambiguous), "input-ambiguous");
  EXPECT_THAT(std::string(ambiguous.message()),
              HasSubstr("'people', 'weights'; give the one of people with "
                        "--array NAME"));
  EXPECT_EQ(ColumnsOf(*Load(both, "people")), kTwoPeople);
  EXPECT_EQ(ColumnsOf(*Load(both, "weights"))[0][0], 8);
  EXPECT_EQ(CodeOf(both, "readme"), "array-unknown");
  EXPECT_EQ(CodeOf(ZipOf({{"readme.txt", "hello"}})), "input-empty");
}

TEST(Npz, AnArrayIsNamedOfNoOtherFormat) {
  EXPECT_EQ(ReasonCode(Load("1,2\n3,4\n", "people", "m.csv").status()),
            "flag-unused");
}

TEST(Npz, RefusesWhatIsCutOffAtAnyByte) {
  for (const bool deflate : {false, true}) {
    const std::string whole = ZipOf({{"a.npy", ArrayOf(), deflate}}, true);
    for (std::size_t size = 4; size < whole.size(); ++size)
      ASSERT_EQ(CodeOf(whole.substr(0, size)), "input-malformed") << size;
  }
}

// Whatever byte is damaged: the same numbers, or a refusal with a code.
TEST(Npz, ADamagedByteIsNoOtherNumber) {
  for (const bool deflate : {false, true}) {
    const std::string whole = ZipOf({{"a.npy", ArrayOf(), deflate}}, true);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
      const auto matrix = Load(damaged);
      if (matrix.ok()) {
        ASSERT_EQ(ColumnsOf(*matrix), kTwoPeople) << at;
      } else {
        ASSERT_NE(ReasonCode(matrix.status()), "") << matrix.status();
      }
    }
  }
}

TEST(Npz, SizesThatAreDeclaredAreNotBelieved) {
  NpyHeader header;
  header.dtype = "<f8";
  header.shape = {100'000'000, 100'000'000};
  const std::string huge = NpyHeaderBytes(header) + std::string(64, 'x');
  EXPECT_EQ(CodeOf(ZipOf({{"a.npy", huge}})), "input-malformed");
  EXPECT_EQ(CodeOf(ZipOf({{"a.npy", huge, false}})), "input-malformed");
  // The directory declares 2^60 bytes of content, of few stored ones.
  std::string archive = ZipOf({{"a.npy", huge}}, true);
  const std::string size = LittleEndian(huge.size(), 8);
  for (std::size_t at = archive.find(size); at != std::string::npos;
       at = archive.find(size, at + 8))
    archive.replace(at, 8, LittleEndian(std::uint64_t{1} << 60, 8));
  EXPECT_EQ(CodeOf(archive), "input-unreadable");
  // A million members in a directory of nothing.
  std::string members = ZipOf({{"a.npy", ArrayOf()}});
  members.replace(members.size() - 12, 2, LittleEndian(0xffff, 2));
  EXPECT_EQ(CodeOf(members), "input-malformed");
}

TEST(Npz, RefusesOtherMethodsAndEncryption) {
  std::string other = ZipOf({{"a.npy", ArrayOf()}});
  const std::size_t entry = other.find(LittleEndian(0x02014b50, 4));
  std::string encrypted = other;
  other.replace(entry + 10, 2, LittleEndian(14, 2));  // LZMA
  encrypted.replace(entry + 8, 2, LittleEndian(1, 2));
  for (const std::string& bytes : {other, encrypted}) {
    const auto status = Load(bytes).status();
    EXPECT_EQ(ReasonCode(status), "input-malformed");
    EXPECT_THAT(std::string(status.message()), HasSubstr("numpy.savez"));
  }
  const Scratch scratch;
  EXPECT_EQ(ReasonCode(LoadMatrix(scratch.WriteGzip(
                                      "m.npz", ZipOf({{"a.npy", ArrayOf()}})),
                                  true)
                           .status()),
            "input-malformed");
}

}  // namespace
}  // namespace dpnmf::npz
