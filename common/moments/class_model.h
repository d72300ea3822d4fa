// People drawn from a noised release of `class_moments`: a Gaussian for each
// class, fitted to the noised size, mean and second moment with the noise's
// known law. Functions of released values and public facts alone, hence free
// post-processing (docs/reference/privacy.md, theorem 7).
#ifndef DPNMF_COMMON_MOMENTS_CLASS_MODEL_H_
#define DPNMF_COMMON_MOMENTS_CLASS_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// Released sums of z z' by class, with z = (a, v - centre) of each person.
struct NoisedClasses {
  Eigen::MatrixXd sums;  // (D + 1) x C (D + 1)
  double stddev = 0;     // of the noise of an entry
  double constant = 1;   // a
  double centre = 0;
  // Every entry of v lies in [low, high].
  double low = 0;
  double high = 1;
  std::vector<std::uint64_t> sizes;  // public sizes of the classes, or empty
};

// In units of the data, from a release's integers. INVALID_ARGUMENT
// "release-malformed" unless the facts have classes and the sums their shape.
absl::StatusOr<NoisedClasses> NoisedClassesOf(
    const DatasetFacts& facts, int data_bits, std::uint64_t stddev_steps,
    const std::vector<std::int64_t>& sums);
// The same of sums that are in units of the data already.
absl::StatusOr<NoisedClasses> NoisedClassesOf(const DatasetFacts& facts,
                                              int data_bits, double stddev,
                                              Eigen::MatrixXd sums);

struct ClassGaussian {
  double size = 0;       // estimated number of people, above 0
  Eigen::VectorXd mean;  // within [low, high]
  Eigen::MatrixXd root;  // D x D: root root' is the covariance
};

// Means are posterior means under normal priors that are fitted to all of them,
// with the noise's known law (empirical Bayes; Efron and Morris 1973): the mean
// of all people, g, has a prior of one centre and one variance over features;
// what a class has beyond g in feature i has mean 0 and variance
// k (g_i - low)(high - g_i), with one k for all classes and features. They are
// cut to the range. The second moment of a class holds its mean once more,
// S = C + m m': with the first posterior means in the place of m on one side it
// is a second reading of each mean, with noise of its own, and the posterior
// means are taken again from both. A variance of a feature
// within a range is at most b = (mean - low)(high - mean) (Bhatia and Davis
// 2000). The covariance is w C + (1 - w) kappa diag(b), C the noised one: kappa
// is fitted to the variances of all classes, and w is the share of C's distance
// from that target that the noise does not explain (Ledoit and Wolf 2004, with
// a noise that is known). Negative eigenvalues become 0, and variances above b
// become b.
std::vector<ClassGaussian> FitClasses(const NoisedClasses& noised);

// `count` people, rows, shared among the classes by their sizes (the largest
// remainders first); entries are cut to the range, and rounded where they are
// declared whole. Without a declared range a row is scaled down to the column
// bound. `normal` gives independent standard normal numbers.
struct DrawnPeople {
  Eigen::MatrixXd values;            // count x D
  std::vector<std::int32_t> labels;  // ascending
};
DrawnPeople DrawPeople(const std::vector<ClassGaussian>& classes,
                       const DatasetFacts& facts, std::uint64_t count,
                       const std::function<double()>& normal);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_CLASS_MODEL_H_
