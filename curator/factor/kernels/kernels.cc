#include "curator/factor/kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace dpnmf::curator {
PackedRows::PackedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix)
    : rows_(static_cast<int>(matrix.rows())),
      inner_(static_cast<int>(matrix.cols())),
      cut_(rows_),
      values_(static_cast<std::size_t>(matrix.size())) {
  double* to = values_.data();
  for (int panel = 0; panel < cut_.panels(); ++panel) {
    for (int i = 0; i < inner_; ++i) {
      for (int r = 0; r < cut_.Rows(panel); ++r) {
        *to++ = matrix(cut_.First(panel) + r, i);
      }
    }
  }
}

PackedGram::PackedGram(const Eigen::Ref<const Eigen::MatrixXd>& gram)
    : rows_(gram), inverse_diagonal_(static_cast<std::size_t>(gram.rows())) {
  for (Eigen::Index k = 0; k < gram.rows(); ++k) {
    const double inverse = 1 / gram(k, k);
    inverse_diagonal_[k] =
        gram(k, k) > 0 && std::isfinite(inverse) ? inverse : 0;
  }
}

void AddProduct(const PackedRows& m, int first, int count, const double* x,
                double* out) {
  Kernels().add_product(m.view(), first, count, x, out);
}

void WithoutOutliers(const PackedRows& w, int first_panel, int last_panel,
                     const OutlierRule& rule, const double* h, const float* v,
                     double* u) {
  Kernels().without_outliers(w.view(), first_panel, last_panel, rule, h, v, u);
}

void Sweep(const PackedGram& gram, int strips, const double* c, double* h) {
  Kernels().sweep(gram.rows().view(), gram.inverse_diagonal(), strips, c, h);
}

void ClearDead(const PackedGram& gram, int strips, double* h) {
  const int rank = gram.rows().rows();
  for (int strip = 0; strip < strips; ++strip) {
    for (int k = 0; k < rank; ++k) {
      if (gram.inverse_diagonal()[k] != 0) continue;
      std::fill_n(
          h + (static_cast<std::size_t>(strip) * rank + k) * kStripUsers,
          kStripUsers, 0.0);
    }
  }
}

void ClearNonFinite(std::size_t count, double* values) {
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::isfinite(values[i]) ? values[i] : 0;
  }
}

void LoadStrip(const float* const* columns, int rows, float* strip) {
  Kernels().load_floats(columns, rows, strip);
}
void LoadStrip(const float* const* columns, int rows, double* strip) {
  Kernels().load_doubles(columns, rows, strip);
}
void LoadStrip(const double* const* columns, int rows, double* strip) {
  Kernels().load_columns(columns, rows, strip);
}
void StoreStrip(const double* strip, int rows, double* const* columns) {
  Kernels().store_columns(strip, rows, columns);
}

}  // namespace dpnmf::curator
