#include "client/render/picture.h"

#include <png.h>

#include <string>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf::cli {
namespace {

// A decoded picture.
struct Pixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb;
  std::vector<int> At(std::uint32_t x, std::uint32_t y) const {
    const std::size_t i = 3 * (std::size_t{y} * width + x);
    return {rgb[i], rgb[i + 1], rgb[i + 2]};
  }
};

std::vector<int> Colour(Rgb rgb) { return {rgb.red, rgb.green, rgb.blue}; }

Pixels Decode(const std::string& bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(
      png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()));
  image.format = PNG_FORMAT_RGB;
  Pixels pixels;
  pixels.width = image.width;
  pixels.height = image.height;
  pixels.rgb.resize(PNG_IMAGE_SIZE(image));
  EXPECT_TRUE(
      png_image_finish_read(&image, nullptr, pixels.rgb.data(), 0, nullptr));
  return pixels;
}

// The middle of cell (row, column) of the tile at (down, across).
std::vector<int> CellColour(const Pixels& pixels, const TileLayout& layout,
                            const TileShape& shape, std::uint32_t down,
                            std::uint32_t across, std::uint32_t row,
                            std::uint32_t column) {
  const std::uint32_t x =
      2 * layout.margin +
      across * (shape.columns * layout.cell + layout.margin) +
      column * layout.cell + layout.cell / 2;
  const std::uint32_t y = 2 * layout.margin +
                          down * (shape.rows * layout.cell + layout.margin) +
                          row * layout.cell + layout.cell / 2;
  return pixels.At(x, y);
}

// Two columns of six entries; the second ten times smaller.
Eigen::MatrixXd TwoParts() {
  Eigen::MatrixXd w(6, 2);
  w << 0, 0, 0.5, 0.1, 1, 0, 0, 0.05, 0, 0, 0.25, 0;
  return w;
}

TEST(Picture, ShowsEachEntryWhereRowMajorOrderPutsIt) {
  const TileShape shape = {2, 3, true};
  const auto png = TilesPng(TwoParts(), shape);
  ASSERT_TRUE(png.ok()) << png.status();
  const Pixels pixels = Decode(*png);
  const TileLayout layout = LayoutOf(2, shape);
  EXPECT_EQ(pixels.width, layout.width);
  EXPECT_EQ(pixels.height, layout.height);
  ASSERT_EQ(layout.tiles_across * layout.tiles_down, 2u);
  const auto first = [&](std::uint32_t row, std::uint32_t column) {
    return CellColour(pixels, layout, shape, 0, 0, row, column);
  };
  EXPECT_EQ(first(0, 0), Colour(kTile));
  EXPECT_EQ(first(0, 2), Colour(kInk));  // entry 2
  EXPECT_EQ(first(1, 0), Colour(kTile));
  // Entry 1 is half of the largest: half way between white and ink.
  EXPECT_NEAR(first(0, 1)[0], (kTile.red + kInk.red) / 2.0, 1);
  // Each part has its own scale: 0.1 is full ink in the second.
  const std::uint32_t down = layout.tiles_down - 1;
  const std::uint32_t across = layout.tiles_across - 1;
  EXPECT_EQ(CellColour(pixels, layout, shape, down, across, 0, 1),
            Colour(kInk));
  EXPECT_NEAR(CellColour(pixels, layout, shape, down, across, 1, 0)[2],
              (kTile.blue + kInk.blue) / 2.0, 1);
}

TEST(Picture, ColumnMajorOrderRunsDownwards) {
  const TileShape shape = {2, 3, false};
  const auto png = TilesPng(TwoParts(), shape);
  ASSERT_TRUE(png.ok());
  const Pixels pixels = Decode(*png);
  const TileLayout layout = LayoutOf(2, shape);
  // Entry 2 is row 0 of column 1.
  EXPECT_EQ(CellColour(pixels, layout, shape, 0, 0, 0, 1), Colour(kInk));
  EXPECT_EQ(CellColour(pixels, layout, shape, 0, 0, 0, 2), Colour(kTile));
}

TEST(Picture, MarginsArePaper) {
  const TileShape shape = {2, 3, true};
  const Pixels pixels = Decode(*TilesPng(TwoParts(), shape));
  EXPECT_EQ(pixels.At(0, 0), Colour(kPaper));
  EXPECT_EQ(pixels.At(pixels.width - 1, pixels.height - 1), Colour(kPaper));
}

TEST(Picture, APartOfZerosIsBlank) {
  const TileShape shape = {1, 1, true};
  const Pixels pixels = Decode(*TilesPng(Eigen::MatrixXd::Zero(1, 1), shape));
  const TileLayout layout = LayoutOf(1, shape);
  EXPECT_EQ(CellColour(pixels, layout, shape, 0, 0, 0, 0), Colour(kTile));
}

TEST(Picture, EveryTileHasAPlaceWithinThePicture) {
  for (std::uint64_t tiles = 1; tiles <= 60; ++tiles) {
    for (const TileShape& shape :
         {TileShape{8, 8, true}, TileShape{1, 96, true}, TileShape{64, 3, true},
          TileShape{200, 300, true}}) {
      const TileLayout layout = LayoutOf(tiles, shape);
      ASSERT_GE(std::uint64_t{layout.tiles_across} * layout.tiles_down, tiles);
      ASSERT_GE(layout.cell, 1u);
      const std::uint32_t right =
          2 * layout.margin +
          layout.tiles_across * (shape.columns * layout.cell + layout.margin);
      const std::uint32_t bottom =
          2 * layout.margin +
          layout.tiles_down * (shape.rows * layout.cell + layout.margin);
      ASSERT_EQ(right + layout.margin, layout.width);
      ASSERT_EQ(bottom + layout.margin, layout.height);
    }
  }
}

TEST(Picture, TooLargeIsRefused) {
  const TileShape dot = {1, 1, true};
  EXPECT_TRUE(TilesPng(Eigen::MatrixXd::Zero(1, 1000), dot).ok());
  EXPECT_EQ(
      ReasonCode(TilesPng(Eigen::MatrixXd::Zero(1, 2'000'000), dot).status()),
      "picture-too-large");
}

TEST(Picture, AShapeIsASquareIfNoneIsGiven) {
  const auto shape = TileShapeOf("", 64, true);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->rows, 8u);
  EXPECT_EQ(shape->columns, 8u);
}

TEST(Picture, AShapeHasToFit) {
  EXPECT_EQ(ReasonCode(TileShapeOf("", 65, true).status()), "shape-mismatch");
  EXPECT_EQ(ReasonCode(TileShapeOf("8x9", 64, true).status()),
            "shape-mismatch");
  // 65536 * 65536 is 0 in 32 bits.
  EXPECT_FALSE(TileShapeOf("65536x65536", 0, true).ok());
  for (const char* text : {"8", "8x", "x8", "8x8x1", "0x64", "-8x-8", "axb"})
    EXPECT_EQ(ReasonCode(TileShapeOf(text, 64, true).status()),
              "shape-malformed")
        << text;
  EXPECT_TRUE(TileShapeOf("4x16", 64, true).ok());
}

}  // namespace
}  // namespace dpnmf::cli
