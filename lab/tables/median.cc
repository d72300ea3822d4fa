#include "lab/tables/median.h"

#include <algorithm>
#include <cstddef>

namespace dpnmf::curator::lab {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace dpnmf::curator::lab
