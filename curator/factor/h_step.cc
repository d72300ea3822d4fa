#include "curator/factor/h_step.h"

#include <algorithm>

#include "curator/factor/isa/simd_layout.h"

namespace dpnmf::curator {
namespace {

// Panels of rows of W between two visits of c: 96 rows of a strip and their
// part of W stay in the first-level cache.
constexpr int kPanelsAtOnce = 16;
constexpr int kRowsAtOnce = kPanelsAtOnce * RowCut::kLargestPanel;

}  // namespace

PackedDictionary::PackedDictionary(const Eigen::MatrixXd& w, bool outliers,
                                   bool sparse)
    : features(static_cast<int>(w.rows())),
      rank(static_cast<int>(w.cols())),
      gram(w.transpose() * w) {
  if (sparse) {
    own_rows.emplace(w);
    return;
  }
  by_component.emplace(w.transpose());
  if (outliers) by_feature.emplace(w);
}

PackedDictionary::PackedDictionary(RowView w, int features_of_w,
                                   const Eigen::MatrixXd& gram_of_w,
                                   bool sparse)
    : features(features_of_w),
      rank(static_cast<int>(gram_of_w.rows())),
      gram(gram_of_w) {
  if (sparse) {
    borrowed_rows = w;
    return;
  }
  // Rows of W one after another are W' by columns.
  by_component.emplace(
      Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>(
          w.values, rank, features, Eigen::OuterStride<>(w.stride)));
}

BlockBuffers BuffersFor(const PackedDictionary& w, int strips) {
  BlockBuffers block;
  block.c.resize(strips * StripSize(w.rank));
  block.h.resize(block.c.size());
  if (w.by_component.has_value())
    block.u.resize(strips * StripSize(w.features));
  if (w.by_feature.has_value()) {
    block.v.resize(block.u.size());
    block.partial.resize(StripSize(kRowsAtOnce));
  }
  return block;
}

void Correlate(const PackedDictionary& w, int strips, BlockBuffers* block) {
  std::fill(block->c.begin(), block->c.end(), 0.0);
  for (int first = 0; first < w.features; first += kRowsAtOnce) {
    const int count = std::min(kRowsAtOnce, w.features - first);
    for (int strip = 0; strip < strips; ++strip) {
      AddProduct(
          *w.by_component, first, count,
          block->u.data() + strip * StripSize(w.features) + StripSize(first),
          block->c.data() + strip * StripSize(w.rank));
    }
  }
}

// The residual never leaves the first-level cache.
void CorrelateWithoutOutliers(const PackedDictionary& w,
                              const OutlierRule& rule, int strips,
                              BlockBuffers* block) {
  const RowCut& cut = w.by_feature->cut();
  std::fill(block->c.begin(), block->c.end(), 0.0);
  block->partial.resize(StripSize(kRowsAtOnce));
  for (int panel = 0; panel < cut.panels(); panel += kPanelsAtOnce) {
    const int end = std::min(panel + kPanelsAtOnce, cut.panels());
    const int first = cut.First(panel);
    const int count = cut.First(end) - first;
    for (int strip = 0; strip < strips; ++strip) {
      WithoutOutliers(
          *w.by_feature, panel, end, rule,
          block->h.data() + strip * StripSize(w.rank),
          block->v.data() + strip * StripSize(w.features) + StripSize(first),
          block->partial.data());
      AddProduct(*w.by_component, first, count, block->partial.data(),
                 block->c.data() + strip * StripSize(w.rank));
    }
  }
}

void SweepBlock(const PackedDictionary& w, int iterations, int strips,
                BlockBuffers* block) {
  ClearDead(w.gram, strips, block->h.data());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Sweep(w.gram, strips, block->c.data(), block->h.data());
  }
  ClearNonFinite(strips * StripSize(w.rank), block->h.data());
}

void HStepWithOutliers(const PackedDictionary& w, const OutlierRule& rule,
                       int iterations, int strips, BlockBuffers* block) {
  ClearDead(w.gram, strips, block->h.data());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    CorrelateWithoutOutliers(w, rule, strips, block);
    Sweep(w.gram, strips, block->c.data(), block->h.data());
  }
  ClearNonFinite(strips * StripSize(w.rank), block->h.data());
  for (int strip = 0; strip < strips; ++strip) {
    WithoutOutliers(*w.by_feature, 0, w.by_feature->cut().panels(), rule,
                    block->h.data() + strip * StripSize(w.rank),
                    block->v.data() + strip * StripSize(w.features),
                    block->u.data() + strip * StripSize(w.features));
  }
}

}  // namespace dpnmf::curator
