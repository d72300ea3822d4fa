// A small item model for tests: the same at every call.
#ifndef DPNMF_TESTS_COMMON_RATINGS_SAMPLE_MODEL_H_
#define DPNMF_TESTS_COMMON_RATINGS_SAMPLE_MODEL_H_

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/ratings/model_file.h"

namespace dpnmf {

// Ratings from 1 to 5. `items` items "i0", "i1", ...; q columns, the first the
// person's bias; k columns of ranking.
inline NamedItemModel SampleItemModel(int items, int q, int k) {
  NamedItemModel named;
  ItemModel& model = named.model;
  model.low = 1;
  model.high = 5;
  model.residual_stddev = 0.85;
  model.base.resize(items);
  model.base_stddev.resize(items);
  model.counts.resize(items);
  model.counts_stddev.resize(items);
  model.popularity.resize(items);
  model.loadings.resize(items, q);
  model.ranking.resize(items, k);
  for (int i = 0; i < items; ++i) {
    model.base(i) = 3 + std::sin(i);
    model.base_stddev(i) = 0.1 + 0.01 * (i % 7);
    model.counts(i) = 40.0 / (1 + i % 13);
    model.counts_stddev(i) = 1.5;
    model.popularity(i) = model.counts(i) + 1e-3 * i;
    model.loadings(i, 0) = 0.4;
    for (int j = 1; j < q; ++j)
      model.loadings(i, j) = 0.5 * std::cos(1.7 * i * j + j) / j;
    for (int j = 0; j < k; ++j)
      model.ranking(i, j) = std::sin(0.9 * i * (j + 1) + 0.3 * j) / (j + 1);
    named.items.push_back(absl::StrCat("i", i));
    named.names.push_back(absl::StrCat("Item, number ", i));
  }
  return named;
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_RATINGS_SAMPLE_MODEL_H_
