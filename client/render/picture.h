// The columns of a dictionary as tiles of one picture: dark ink on paper.
#ifndef DPNMF_CLIENT_RENDER_PICTURE_H_
#define DPNMF_CLIENT_RENDER_PICTURE_H_

#include <cstdint>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace dpnmf::cli {

// How a column of D entries becomes a tile of rows * columns = D cells.
struct TileShape {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  // True if entry 1 of a column is right of entry 0, false if it is below.
  bool row_major = true;
};

// `text` is "ROWSxCOLUMNS" with ROWS * COLUMNS = features, or empty: then a
// square if `features` is one. INVALID_ARGUMENT "shape-malformed" or
// "shape-mismatch" says what to give instead.
absl::StatusOr<TileShape> TileShapeOf(const std::string& text,
                                      std::uint64_t features, bool row_major);

struct Rgb {
  std::uint8_t red, green, blue;
};

inline constexpr Rgb kPaper = {247, 245, 240};
inline constexpr Rgb kTile = {255, 255, 255};
inline constexpr Rgb kInk = {22, 30, 52};

// Sizes of the picture and its tiles, in pixels.
struct TileLayout {
  std::uint32_t tiles_across = 0;
  std::uint32_t tiles_down = 0;
  std::uint32_t cell = 0;    // edge of a cell
  std::uint32_t margin = 0;  // between tiles, and twice that around all
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// Layout as near to 4:3 as whole tiles allow, about a thousand pixels wide.
TileLayout LayoutOf(std::uint64_t tiles, const TileShape& shape);

// A PNG file. Tile k shows column k of W (D x K), left to right and top to
// bottom; 0 is blank and the largest entry of that column is full ink.
// INVALID_ARGUMENT "picture-too-large" beyond 2^26 pixels.
absl::StatusOr<std::string> TilesPng(const Eigen::MatrixXd& w,
                                     const TileShape& shape);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_PICTURE_H_
