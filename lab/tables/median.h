// The median of figures that were measured more than once.
#ifndef DPNMF_LAB_TABLES_MEDIAN_H_
#define DPNMF_LAB_TABLES_MEDIAN_H_

#include <vector>

namespace dpnmf::curator::lab {

// The middle one; the mean of two; 0 of none.
double MedianOf(std::vector<double> values);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_MEDIAN_H_
