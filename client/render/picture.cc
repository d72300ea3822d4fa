#include "client/render/picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf::cli {
namespace {

constexpr double kAspect = 4.0 / 3.0;
constexpr std::uint32_t kTargetWidth = 1000;
constexpr std::uint32_t kLargestCell = 24;
constexpr std::uint64_t kLargestPixels = std::uint64_t{1} << 26;

// The picture in memory: rows of RGB.
class Canvas {
 public:
  Canvas(std::uint32_t width, std::uint32_t height, Rgb colour)
      : width_(width), height_(height) {
    pixels_.reserve(std::size_t{3} * width * height);
    for (std::size_t i = 0; i < std::size_t{width} * height; ++i)
      pixels_.insert(pixels_.end(), {colour.red, colour.green, colour.blue});
  }

  void FillSquare(std::uint32_t x, std::uint32_t y, std::uint32_t edge,
                  Rgb colour) {
    for (std::uint32_t row = y; row < y + edge; ++row) {
      for (std::uint32_t column = x; column < x + edge; ++column) {
        std::uint8_t* pixel =
            &pixels_[3 * (std::size_t{row} * width_ + column)];
        pixel[0] = colour.red;
        pixel[1] = colour.green;
        pixel[2] = colour.blue;
      }
    }
  }

  absl::StatusOr<std::string> Png() const;

 private:
  std::uint32_t width_;
  std::uint32_t height_;
  std::vector<std::uint8_t> pixels_;
};

absl::StatusOr<std::string> Canvas::Png() const {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = width_;
  image.height = height_;
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  if (!png_image_write_get_memory_size(image, size, 0, pixels_.data(), 0,
                                       nullptr)) {
    return Refusal(
        absl::StatusCode::kInternal, "picture-failed",
        absl::StrCat("The picture cannot be made: ", image.message, "."));
  }
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels_.data(),
                                 0, nullptr)) {
    return Refusal(
        absl::StatusCode::kInternal, "picture-failed",
        absl::StrCat("The picture cannot be made: ", image.message, "."));
  }
  bytes.resize(size);
  return bytes;
}

// Ink on white: 0 is the tile's white, 1 is full ink.
Rgb Shade(double amount) {
  const double share = std::clamp(amount, 0.0, 1.0);
  const auto mix = [share](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(
        std::lround(from + share * (static_cast<double>(to) - from)));
  };
  return {mix(kTile.red, kInk.red), mix(kTile.green, kInk.green),
          mix(kTile.blue, kInk.blue)};
}

void DrawTile(const Eigen::MatrixXd& w, Eigen::Index k, const TileShape& shape,
              const TileLayout& layout, Canvas* canvas) {
  const double largest = w.col(k).maxCoeff();
  const double scale = largest > 0 ? 1 / largest : 0;
  const auto tile = static_cast<std::uint32_t>(k);
  const std::uint32_t left =
      2 * layout.margin + tile % layout.tiles_across *
                              (shape.columns * layout.cell + layout.margin);
  const std::uint32_t top =
      2 * layout.margin +
      tile / layout.tiles_across * (shape.rows * layout.cell + layout.margin);
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    for (std::uint32_t column = 0; column < shape.columns; ++column) {
      const std::uint32_t entry = shape.row_major ? row * shape.columns + column
                                                  : column * shape.rows + row;
      canvas->FillSquare(left + column * layout.cell, top + row * layout.cell,
                         layout.cell, Shade(w(entry, k) * scale));
    }
  }
}

absl::Status ShapeMismatch(std::uint64_t features, std::string_view what) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "shape-mismatch",
      absl::StrCat("`--shape` ", View(what), ": a column of W has ", features,
                   " entries; give --shape ROWSxCOLUMNS with ROWS * COLUMNS = ",
                   features, "."));
}

}  // namespace

absl::StatusOr<TileShape> TileShapeOf(const std::string& text,
                                      std::uint64_t features, bool row_major) {
  TileShape shape;
  shape.row_major = row_major;
  if (text.empty()) {
    const auto edge = static_cast<std::uint64_t>(
        std::llround(std::sqrt(static_cast<double>(features))));
    if (edge * edge != features)
      return Refusal(
          absl::StatusCode::kInvalidArgument, "shape-mismatch",
          absl::StrCat("Not a square picture (", features,
                       " features): give --shape ROWSxCOLUMNS, or write a "
                       ".csv file."));
    shape.rows = shape.columns = static_cast<std::uint32_t>(edge);
    return shape;
  }
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &shape.rows) ||
      !absl::SimpleAtoi(parts[1], &shape.columns) || shape.rows == 0 ||
      shape.columns == 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "shape-malformed",
                   absl::StrCat("`--shape` must be ROWSxCOLUMNS, such as 8x8, "
                                "and not '",
                                text, "'."));
  }
  if (std::uint64_t{shape.rows} * shape.columns != features)
    return ShapeMismatch(features, absl::StrCat(text, " does not fit"));
  return shape;
}

TileLayout LayoutOf(std::uint64_t tiles, const TileShape& shape) {
  TileLayout best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::uint64_t across = 1; across <= tiles; ++across) {
    const std::uint64_t down = (tiles + across - 1) / across;
    const double aspect =
        static_cast<double>(across * shape.columns) / (down * shape.rows);
    // Places without a tile count against a layout, as a wrong aspect does.
    const double empty = static_cast<double>(across * down - tiles) / tiles;
    const double distance = std::fabs(std::log(aspect / kAspect)) + empty;
    if (distance < best_distance) {
      best_distance = distance;
      best.tiles_across = static_cast<std::uint32_t>(across);
      best.tiles_down = static_cast<std::uint32_t>(down);
    }
  }
  const std::uint32_t cells_across = best.tiles_across * shape.columns;
  best.cell =
      std::clamp(kTargetWidth / std::max(cells_across, 1u), 1u, kLargestCell);
  best.margin =
      std::max(6u, std::min(shape.columns, shape.rows) * best.cell / 12);
  best.width = cells_across * best.cell + (best.tiles_across + 3) * best.margin;
  best.height = best.tiles_down * shape.rows * best.cell +
                (best.tiles_down + 3) * best.margin;
  return best;
}

absl::StatusOr<std::string> TilesPng(const Eigen::MatrixXd& w,
                                     const TileShape& shape) {
  const TileLayout layout =
      LayoutOf(static_cast<std::uint64_t>(w.cols()), shape);
  if (std::uint64_t{layout.width} * layout.height > kLargestPixels) {
    return Refusal(absl::StatusCode::kInvalidArgument, "picture-too-large",
                   "The picture would have more than 2^26 pixels; write a .npy "
                   "file and draw a part of it.");
  }
  Canvas canvas(layout.width, layout.height, kPaper);
  for (Eigen::Index k = 0; k < w.cols(); ++k)
    DrawTile(w, k, shape, layout, &canvas);
  return canvas.Png();
}

}  // namespace dpnmf::cli
