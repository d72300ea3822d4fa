#include "curator/factor/block_data.h"

#include <algorithm>

namespace dpnmf::curator {
namespace {

template <typename T>
void LoadDense(const Dataset& data, UserRange users, AlignedVector<T>* strips) {
  const int features = static_cast<int>(data.features());
  strips->resize(users.strips() * StripSize(features));
  for (int strip = 0; strip < users.strips(); ++strip) {
    const float* columns[kStripUsers] = {};
    for (int lane = 0; lane < users.InStrip(strip); ++lane) {
      columns[lane] =
          data.DenseColumn(users.first + strip * kStripUsers + lane).data();
    }
    LoadStrip(columns, features, strips->data() + strip * StripSize(features));
  }
}

template <typename T>
void LoadSparse(const Dataset& data, UserRange users,
                AlignedVector<T>* strips) {
  const int features = static_cast<int>(data.features());
  strips->assign(users.strips() * StripSize(features), T{0});
  for (int user = 0; user < users.count; ++user) {
    const SparseColumn column = data.SparseColumnOf(users.first + user);
    T* const to = strips->data() + LaneOf(user, features);
    for (std::size_t i = 0; i < column.rows.size(); ++i) {
      to[static_cast<std::size_t>(column.rows[i]) * kStripUsers] =
          column.values[i];
    }
  }
}

template <typename T>
void LoadAs(const Dataset& data, UserRange users, AlignedVector<T>* strips) {
  if (data.sparse()) return LoadSparse(data, users, strips);
  LoadDense(data, users, strips);
}

}  // namespace

void LoadData(const Dataset& data, UserRange users,
              AlignedVector<float>* strips) {
  LoadAs(data, users, strips);
}

void LoadData(const Dataset& data, UserRange users,
              AlignedVector<double>* strips) {
  LoadAs(data, users, strips);
}

void CorrelateNonzeros(const Dataset& data, const PackedDictionary& w,
                       UserRange users, AlignedVector<double>* column,
                       double* c) {
  std::fill_n(c, users.strips() * StripSize(w.rank), 0.0);
  column->resize(w.rows().stride);
  for (int user = 0; user < users.count; ++user) {
    SparseProduct(w.rows(), data.SparseColumnOf(users.first + user),
                  column->data());
    double* const to = c + LaneOf(user, w.rank);
    for (int k = 0; k < w.rank; ++k) to[k * kStripUsers] = (*column)[k];
  }
}

}  // namespace dpnmf::curator
