#include "common/wire/matrix_stream.h"

#include <limits>
#include <random>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
// gRPC's default largest message.
constexpr std::size_t kMessageCap = 4u << 20;

v1::MatrixShape Shape(std::uint64_t rows, std::uint64_t columns) {
  v1::MatrixShape shape;
  shape.set_rows(rows);
  shape.set_columns(columns);
  return shape;
}

v1::RealChunk Chunk(std::uint64_t offset, std::uint64_t size,
                    double value = 1) {
  v1::RealChunk chunk;
  chunk.set_offset(offset);
  for (std::uint64_t i = 0; i < size; ++i) chunk.add_values(value);
  return chunk;
}

RealMatrixReader Reader(std::uint64_t rows, std::uint64_t columns) {
  return *RealMatrixReader::Create(Shape(rows, columns), rows, columns);
}

TEST(RealMatrix, ShapesOfTheBiggestDataSetsRoundTrip) {
  const std::pair<int, int> shapes[] = {{1, 1},     {64, 10},    {32768, 1},
                                        {32769, 1}, {10285, 30}, {100000, 50}};
  for (const auto& [rows, columns] : shapes) {
    std::mt19937_64 random(9);
    const Eigen::MatrixXd matrix = Eigen::MatrixXd::NullaryExpr(
        rows, columns, [&] { return static_cast<double>(random()) * 1e-19; });
    RealMatrixReader reader = Reader(rows, columns);
    EXPECT_TRUE(WriteChunks(matrix, [&](const v1::RealChunk& chunk) {
      EXPECT_LT(chunk.ByteSizeLong(), kMessageCap);
      // Through the bytes of the wire.
      v1::RealChunk received;
      EXPECT_TRUE(received.ParseFromString(chunk.SerializeAsString()));
      return reader.Add(received).ok();
    }));
    ASSERT_TRUE(reader.complete());
    EXPECT_EQ(reader.Take(), matrix);
  }
}

TEST(RealMatrix, WritingStopsWhenTheStreamIsBroken) {
  int calls = 0;
  EXPECT_FALSE(WriteChunks(Eigen::MatrixXd::Zero(100000, 2),
                           [&](const v1::RealChunk&) { return ++calls < 3; }));
  EXPECT_EQ(calls, 3);
}

TEST(RealMatrix, RefusesShapesOutOfRange) {
  const struct {
    std::uint64_t rows, columns, largest_rows, largest_columns;
  } cases[] = {{0, 1, 10, 10},
               {1, 0, 10, 10},
               {11, 1, 10, 10},
               {1, 11, 10, 10},
               {kMost, 1, 10, 10},
               {1, kMost, 10, 10},
               {kMost, kMost, kMost, kMost},
               {std::uint64_t{1} << 63, 2, kMost, kMost}};
  for (const auto& c : cases) {
    const auto reader = RealMatrixReader::Create(
        Shape(c.rows, c.columns), c.largest_rows, c.largest_columns);
    EXPECT_EQ(ReasonCode(reader.status()), "matrix-shape")
        << c.rows << " x " << c.columns;
  }
}

TEST(RealMatrix, RefusesChunksThatDoNotContinue) {
  const struct {
    const char* what;
    v1::RealChunk chunk;
  } cases[] = {
      {"empty", Chunk(4, 0)},
      {"behind", Chunk(3, 1)},
      {"gap", Chunk(5, 1)},
      {"past the end", Chunk(4, 7)},
      {"huge offset", Chunk(kMost, 1)},
  };
  for (const auto& c : cases) {
    RealMatrixReader reader = Reader(5, 2);
    ASSERT_TRUE(reader.Add(Chunk(0, 4)).ok());
    EXPECT_EQ(ReasonCode(reader.Add(c.chunk)), "matrix-chunk") << c.what;
    EXPECT_FALSE(reader.complete());
  }
}

TEST(RealMatrix, RefusesAChunkThatIsTooLong) {
  RealMatrixReader reader = Reader(100000, 1);
  EXPECT_FALSE(reader.Add(Chunk(0, kChunkEntries + 1)).ok());
  EXPECT_TRUE(reader.Add(Chunk(0, kChunkEntries)).ok());
}

TEST(RealMatrix, RefusesAnythingAfterTheEnd) {
  RealMatrixReader reader = Reader(2, 1);
  ASSERT_TRUE(reader.Add(Chunk(0, 2)).ok());
  EXPECT_FALSE(reader.Add(Chunk(2, 1)).ok());
  EXPECT_FALSE(reader.Add(Chunk(0, 2)).ok());
}

// Random sequences of chunks, most of them malformed, against the rule said
// plainly: a chunk is taken if and only if it begins where the last one ended.
TEST(RealMatrix, TakesExactlyTheChunksThatContinueInRandomSequences) {
  std::mt19937_64 random(20240501);
  for (int trial = 0; trial < 5000; ++trial) {
    const std::uint64_t rows = 1 + random() % 9, columns = 1 + random() % 9;
    RealMatrixReader reader = Reader(rows, columns);
    std::vector<double> model;
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t offset =
          random() % 3 == 0 ? random() >> (random() % 64) : model.size();
      const std::uint64_t size = random() % 12;
      const double value = static_cast<double>(random());
      const bool expected = offset == model.size() && size >= 1 &&
                            model.size() + size <= rows * columns;
      ASSERT_EQ(reader.Add(Chunk(offset, size, value)).ok(), expected);
      if (expected) model.insert(model.end(), size, value);
      ASSERT_EQ(reader.complete(), model.size() == rows * columns);
    }
    if (reader.complete()) {
      ASSERT_EQ(reader.Take(),
                Eigen::Map<Eigen::MatrixXd>(model.data(), rows, columns));
    }
  }
}

NoisedMatrix LatticePart(std::string name, std::uint64_t rows,
                         std::uint64_t columns, bool symmetric) {
  NoisedMatrix part;
  part.name = std::move(name);
  part.rows = rows;
  part.columns = columns;
  part.symmetric = symmetric;
  part.step_exponent = -40;
  std::mt19937_64 random(rows * 31 + columns);
  part.lattice.resize(EntryCount(rows, columns, symmetric));
  for (auto& entry : part.lattice) entry = static_cast<std::int64_t>(random());
  return part;
}

NoisedMatrix RealPart(std::string name, std::uint64_t rows,
                      std::uint64_t columns) {
  NoisedMatrix part = LatticePart(std::move(name), rows, columns, false);
  part.is_lattice = false;
  for (const auto entry : part.lattice) {
    part.reals.push_back(static_cast<double>(entry));
  }
  part.lattice.clear();
  return part;
}

v1::ReleaseStart StartOf(const std::vector<NoisedMatrix>& parts) {
  v1::ReleaseStart start;
  for (const NoisedMatrix& part : parts) *start.add_parts() = HeaderOf(part);
  return start;
}

TEST(Release, PartsOfEveryKindRoundTrip) {
  const std::vector<NoisedMatrix> parts = {
      LatticePart("A", 50, 50, true), LatticePart("B", 10285, 30, false),
      RealPart("gradient", 700, 50), LatticePart("one", 1, 1, true)};
  auto reader = ReleaseReader::Create(StartOf(parts), 1 << 20);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const NoisedMatrix& part : parts) {
    EXPECT_FALSE(reader->complete());
    EXPECT_TRUE(WritePart(
        part, [&](const v1::LatticeChunk& c) { return reader->Add(c).ok(); },
        [&](const v1::RealChunk& c) { return reader->Add(c).ok(); }));
  }
  ASSERT_TRUE(reader->complete());
  EXPECT_EQ(reader->Take(), parts);
}

// A message's size says nothing about its content.
TEST(Release, EveryLatticeIntegerTakesEightBytes) {
  NoisedMatrix small = LatticePart("A", 100, 1, false), large = small;
  for (auto& entry : small.lattice) entry = 0;
  for (auto& entry : large.lattice) entry = -1;
  std::size_t sizes[2] = {};
  const NoisedMatrix* parts[2] = {&small, &large};
  for (int i = 0; i < 2; ++i) {
    WritePart(
        *parts[i],
        [&](const v1::LatticeChunk& chunk) {
          sizes[i] += chunk.ByteSizeLong();
          return true;
        },
        [](const v1::RealChunk&) { return false; });
  }
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_GE(sizes[0], 800u);
}

TEST(Release, RefusesHeadersThatAreNotOfAShape) {
  const NoisedMatrix good = LatticePart("A", 3, 3, true);
  std::vector<std::pair<const char*, v1::ReleaseStart>> cases;
  const auto add = [&](const char* what, auto change) {
    v1::ReleaseStart start = StartOf({good});
    change(start.mutable_parts(0));
    cases.emplace_back(what, start);
  };
  add("no name", [](v1::ReleasedPart* p) { p->clear_name(); });
  add("no shape", [](v1::ReleasedPart* p) { p->clear_shape(); });
  add("no layout", [](v1::ReleasedPart* p) { p->clear_layout(); });
  add("unknown layout",
      [](v1::ReleasedPart* p) { p->set_layout(static_cast<v1::Layout>(7)); });
  add("upper, not square",
      [](v1::ReleasedPart* p) { p->mutable_shape()->set_rows(2); });
  add("too many entries", [](v1::ReleasedPart* p) {
    p->mutable_shape()->set_rows(200);
    p->mutable_shape()->set_columns(200);
  });
  add("product wraps around", [](v1::ReleasedPart* p) {
    p->set_layout(v1::LAYOUT_FULL);
    p->mutable_shape()->set_rows(std::uint64_t{1} << 32);
    p->mutable_shape()->set_columns(std::uint64_t{1} << 32);
  });
  add("step", [](v1::ReleasedPart* p) { p->set_step_exponent(1000); });
  cases.emplace_back("no parts", v1::ReleaseStart());
  cases.emplace_back("one name twice", StartOf({good, good}));
  for (const auto& [what, start] : cases) {
    const auto reader = ReleaseReader::Create(start, 100);
    EXPECT_EQ(ReasonCode(reader.status()), "release-malformed") << what;
  }
}

TEST(Release, LimitsTheEntriesOfAllPartsTogether) {
  const auto start =
      StartOf({LatticePart("A", 10, 5, false), LatticePart("B", 10, 5, false)});
  EXPECT_TRUE(ReleaseReader::Create(start, 100).ok());
  EXPECT_FALSE(ReleaseReader::Create(start, 99).ok());
}

TEST(Release, RefusesAChunkOfTheWrongKind) {
  auto reader =
      ReleaseReader::Create(StartOf({LatticePart("A", 2, 2, false)}), 100);
  EXPECT_EQ(ReasonCode(reader->Add(Chunk(0, 4))), "release-malformed");
  auto real = ReleaseReader::Create(StartOf({RealPart("gradient", 2, 2)}), 100);
  v1::LatticeChunk lattice;
  lattice.add_values(1);
  EXPECT_EQ(ReasonCode(real->Add(lattice)), "release-malformed");
}

TEST(Release, TakesExactlyTheChunksThatContinueInRandomSequences) {
  std::mt19937_64 random(20240502);
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<NoisedMatrix> parts = {LatticePart("A", 3, 3, true),
                                       RealPart("gradient", 2, 4)};
    auto reader = ReleaseReader::Create(StartOf(parts), 14);
    ASSERT_TRUE(reader.ok());
    std::uint64_t held = 0;  // of 6 lattice integers, then 8 reals
    for (int step = 0; step < 30; ++step) {
      const bool in_first = held < 6;
      const std::uint64_t begin = in_first ? held : held - 6;
      const std::uint64_t total = held == 14 ? 0 : (in_first ? 6 : 8);
      const std::uint64_t offset =
          random() % 3 == 0 ? random() >> (random() % 64) : begin;
      const std::uint64_t size = random() % 5;
      const bool lattice = random() % 4 == 0 ? !in_first : in_first;
      const bool expected = held < 14 && lattice == in_first &&
                            offset == begin && size >= 1 &&
                            begin + size <= total;
      v1::LatticeChunk integers;
      integers.set_offset(offset);
      for (std::uint64_t i = 0; i < size; ++i) integers.add_values(7);
      const absl::Status status =
          lattice ? reader->Add(integers) : reader->Add(Chunk(offset, size));
      ASSERT_EQ(status.ok(), expected) << status;
      if (expected) held += size;
      ASSERT_EQ(reader->complete(), held == 14);
    }
  }
}

}  // namespace
}  // namespace dpnmf
