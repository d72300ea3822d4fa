// How near a completed table is to the ratings, and the publication's measure
// of privacy. Without privacy: all are exact functions of the ratings.
#ifndef DPNMF_LAB_COMPLETE_MEASURES_H_
#define DPNMF_LAB_COMPLETE_MEASURES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "Eigen/Core"
#include "lab/complete/sparse_ratings.h"
#include "lab/tables/trial_table.h"

namespace dpnmf::curator::lab {

// Row i of a completed table, one number an item.
using CompletedRow = std::function<Eigen::VectorXd(Eigen::Index)>;

// Pi = 2^H(Y|X), discrete entropy in bits (Agrawal and Aggarwal 2001 write it
// for densities): Y the true value, X the published one, rounded to a whole
// number. At most 2^H(Y), its ceiling, which X reaches that says nothing of Y.
class ConditionalEntropy {
 public:
  void Add(double x, double y, std::int64_t times = 1);
  double Pi() const;       // NaN without values
  double Ceiling() const;  // NaN without values

 private:
  using Counts = std::map<double, std::int64_t>;
  std::map<double, Counts> by_x_;
};

struct CompletionMeasures {
  double mae =
      kNotMeasured;  // over the ratings of `test`; NaN if there is none
  std::int64_t tested = 0;
  // Over all cells with 0 where there is no rating, as the publication's
  // figures are: that measures mostly how sparse the table is.
  double pi_all = kNotMeasured, ceiling_all = kNotMeasured;
  // Over the rated cells alone.
  double pi_rated = kNotMeasured, ceiling_rated = kNotMeasured;
};

// `train` are the ratings that the table was made from, `test` others of the
// same people and items.
CompletionMeasures Measure(const SparseRatings& train,
                           const SparseRatings& test, const CompletedRow& row);

// |rating - published| of each rating of `test`, in its order.
std::vector<double> AbsoluteErrors(const SparseRatings& test,
                                   const CompletedRow& row);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_MEASURES_H_
