#include "common/files/npy.h"

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Shape = std::vector<std::uint64_t>;

NpyHeader HeaderOf(std::string dtype, bool fortran_order, Shape shape) {
  NpyHeader header;
  header.dtype = std::move(dtype);
  header.fortran_order = fortran_order;
  header.shape = std::move(shape);
  return header;
}

// A file with this dictionary, version 1.0, without padding.
std::string FileWith(const std::string& dictionary) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(dictionary.size() & 0xff));
  bytes.push_back(static_cast<char>(dictionary.size() >> 8));
  return bytes + dictionary;
}

TEST(Npy, WritesTheBytesThatNumpyWrites) {
  // numpy 1.24: numpy.save of zeros((3, 4), '<f4', order='F').
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }";
  const std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary +
      std::string(0x76 - dictionary.size() - 1, ' ') + "\n";
  const std::string bytes = NpyHeaderBytes(HeaderOf("<f4", true, {3, 4}));
  EXPECT_EQ(bytes.size() % 64, 0u);
  // numpy pads with at least 20 bytes more, for growth; the rest is the same.
  EXPECT_EQ(bytes.substr(10, dictionary.size()),
            expected.substr(10, dictionary.size()));
  EXPECT_EQ(bytes.substr(0, 8), expected.substr(0, 8));
  EXPECT_EQ(bytes.back(), '\n');
}

TEST(Npy, ReadsBackWhatItWrites) {
  for (const NpyHeader& header :
       {HeaderOf("<f4", true, {3, 4}), HeaderOf("<i8", false, {7}),
        HeaderOf("|u1", false, {0}),
        HeaderOf("<f8", false, {18446744073709551615u, 1})}) {
    const std::string bytes = NpyHeaderBytes(header);
    const auto parsed = ParseNpyHeader(bytes + "data");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->dtype, header.dtype);
    EXPECT_EQ(parsed->fortran_order, header.fortran_order);
    EXPECT_EQ(parsed->shape, header.shape);
    EXPECT_EQ(parsed->data_offset, bytes.size());
  }
}

TEST(Npy, ReadsOtherOrdersBlanksAndQuotes) {
  const auto header = ParseNpyHeader(FileWith(
      "{\"shape\":(2 ,3),\n 'fortran_order' : False,'descr':\">i2\"}"));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->dtype, ">i2");
  EXPECT_EQ(header->shape, (Shape{2, 3}));
}

TEST(Npy, ReadsTheFourByteLengthOfVersionTwo) {
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
  std::string bytes("\x93NUMPY\x02\x00", 8);
  bytes +=
      static_cast<char>(dictionary.size()) + std::string(3, '\0') + dictionary;
  const auto header = ParseNpyHeader(bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->data_offset, 12 + dictionary.size());
}

TEST(Npy, RefusesWhatIsNoPlainArray) {
  const std::string good =
      FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }");
  for (const std::string& bytes : {
           std::string(),
           std::string("PK\x03\x04zip"),
           good.substr(0, 9),
           good.substr(0, 30),
           std::string("\x93NUMPY\x09\x00", 8) + good.substr(8),
           FileWith(
               "{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }"),
           FileWith("{'descr': [('a', '<f4')], 'fortran_order': False, "
                    "'shape': (1, 2), }"),
           FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, "
                    "3), }"),
           FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"),
           FileWith(
               "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }"),
           FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': "
                    "(99999999999999999999,), }"),
           FileWith("{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2), }"),
           FileWith("{'descr': '<f4', 'shape': (1, 2), }"),
           FileWith("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, "
                    "'shape': (1,), }"),
           FileWith(
               "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), } x"),
           FileWith("{'descr': '<f4"),
           FileWith("{'descr': '<\x1b[2J', 'fortran_order': False, 'shape': "
                    "(1, 2), }"),
           FileWith("{'descr': '" + std::string(33, 'f') +
                    "', 'fortran_order': False, 'shape': (1, 2), }"),
       }) {
    const auto header = ParseNpyHeader(bytes);
    ASSERT_FALSE(header.ok()) << bytes;
    EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonCode(header.status()), "npy-malformed");
  }
}

}  // namespace
}  // namespace dpnmf
