// A run of `ratings` without a curator: sums in floating point, seeded noise of
// the plan's deviations. NOT differentially private; for tests.
#ifndef DPNMF_TESTS_COMMON_RATINGS_SIMULATED_RUN_H_
#define DPNMF_TESTS_COMMON_RATINGS_SIMULATED_RUN_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "common/privacy/ratings_bounds.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/item_model.h"
#include "common/ratings/learner.h"
#include "common/ratings/solve.h"

namespace dpnmf::testing {

struct Person {
  std::vector<std::int32_t> items;  // ascending
  std::vector<double> ratings;
};

struct SimulatedOptions {
  bool noise = true;
  std::uint64_t seed = 1;
  std::set<std::uint32_t> lost;  // rounds
};

inline void MustBeOk(const absl::Status& status) {
  if (!status.ok()) throw std::logic_error(std::string(status.message()));
}

inline Eigen::VectorXd CutTo(double length, Eigen::VectorXd vector) {
  const double now = vector.norm();
  if (now > length) vector *= length / now;
  return vector;
}

class SimulatedRun {
 public:
  SimulatedRun(RatingsFacts facts, std::vector<Person> people,
               SimulatedOptions options = {})
      : facts_(std::move(facts)),
        people_(std::move(people)),
        options_(std::move(options)),
        engine_(options_.seed) {
    FillRatingsDefaults(facts_.dataset, &facts_.parameters);
    auto plan = PlanRun(facts_.parameters, facts_.dataset);
    MustBeOk(plan.status());
    facts_.plan = *std::move(plan);
  }

  const RatingsFacts& facts() const { return facts_; }

  // Returns the memory of the run at its end.
  RatingsMemory Run() {
    RatingsMemory memory;
    for (std::uint32_t round = 1; round <= facts_.parameters.rounds; ++round) {
      const auto input = RatingsInput(round, facts_, memory);
      MustBeOk(input.status());
      const std::vector<NoisedMatrix> parts = Release(round, *input);
      if (options_.lost.contains(round)) continue;
      MustBeOk(RatingsUpdate(round, facts_, parts, &memory));
    }
    return memory;
  }

  ItemModel Model() {
    auto model = RatingsModel(facts_, Run());
    MustBeOk(model.status());
    return *std::move(model);
  }

  std::vector<NoisedMatrix> Release(std::uint32_t round,
                                    const RoundInput& input) {
    const StagePlan& stage = facts_.plan.StageOf(round);
    std::vector<Eigen::MatrixXd> sums;
    if (stage.release == "items") {
      sums = Items();
    } else if (stage.release == "co-ratings") {
      sums = {CoRatings(input)};
    } else if (stage.release == "profiles") {
      sums = {Profiles(input)};
    } else if (stage.release == "residuals") {
      sums = {ResidualGram(input)};
    } else {
      sums = Corrections(input);
    }
    std::vector<NoisedMatrix> parts;
    for (std::size_t k = 0; k < sums.size(); ++k)
      parts.push_back(Noised(stage.parts[k], sums[k]));
    return parts;
  }

 private:
  RatingsBounds Bounds() const {
    return RatingsBoundsOf(*facts_.dataset.ratings, facts_.dataset.adjacency);
  }
  Eigen::Index size() const { return Eigen::Index(facts_.dataset.features); }

  std::vector<Eigen::MatrixXd> Items() const {
    const RatingsBounds bounds = Bounds();
    const bool one = facts_.dataset.adjacency == Adjacency::kOneRating;
    const RatingScale& scale = *facts_.dataset.ratings;
    const double middle =
        (scale.low_units + double(scale.high_units)) * kRatingUnit / 2;
    Eigen::MatrixXd own = Eigen::MatrixXd::Zero(2, 1),
                    sums = Eigen::MatrixXd::Zero(size(), 2);
    for (const Person& person : people_) {
      const auto n = Eigen::Index(person.items.size());
      if (n == 0) continue;
      const Eigen::VectorXd r =
          Eigen::Map<const Eigen::VectorXd>(person.ratings.data(), n);
      const double mean = r.mean(), w = one ? 1 : 1 / std::sqrt(double(n));
      own(0) += mean - middle;
      own(1) += (r.array() - mean).square().mean() / bounds.tau;
      Eigen::VectorXd t =
          w * (r.array() - mean).max(-bounds.clip).min(bounds.clip).matrix();
      if (!one) t = CutTo(bounds.c, t);
      for (Eigen::Index j = 0; j < n; ++j) {
        sums(person.items[std::size_t(j)], 0) += bounds.a * w;
        sums(person.items[std::size_t(j)], 1) += t(j);
      }
    }
    return {own, sums};
  }

  // h~ and its covariance.
  Eigen::VectorXd Solve(const Person& person, const Eigen::MatrixXd& model,
                        Eigen::MatrixXd* covariance) const {
    const Eigen::MatrixXd x =
        model(person.items, Eigen::all).rightCols(model.cols() - 1);
    const Eigen::VectorXd y = Left(person, model);
    Eigen::MatrixXd information = x.transpose() * x;
    information.diagonal().array() += 1;
    *covariance = InverseOfPositive(information);
    return *covariance * (x.transpose() * y);
  }
  static Eigen::VectorXd Left(const Person& person,
                              const Eigen::MatrixXd& model) {
    const Eigen::Map<const Eigen::VectorXd> r(
        person.ratings.data(), Eigen::Index(person.items.size()));
    return r - model.col(0)(person.items);
  }

  Eigen::MatrixXd Profiles(const RoundInput& input) const {
    const Eigen::Index q = input.w.cols() - 1;
    const double bound = ProfileMomentBound(facts_.parameters.rank);
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(q, q), moment;
    for (const Person& person : people_) {
      if (person.items.empty()) continue;
      const Eigen::VectorXd h =
          Solve(person, input.w, &moment) / input.numbers[0];
      moment += h * h.transpose();
      sum += moment * std::min(1.0, bound / moment.norm());
    }
    return sum;
  }

  // Residuals times w, clipped.
  Eigen::VectorXd Residuals(const Person& person, const RoundInput& input,
                            Eigen::VectorXd* h) const {
    Eigen::MatrixXd covariance;
    *h = Solve(person, input.w, &covariance);
    const double tau = Bounds().tau;
    return (Left(person, input.w) -
            input.w(person.items, Eigen::all).rightCols(h->size()) * *h)
        .cwiseMax(-tau)
        .cwiseMin(tau);
  }

  // Returns a person's values on the named rows, 0 on rows without one.
  Eigen::VectorXd OnRows(const RoundInput& input, const Person& person,
                         const Eigen::VectorXd& values) const {
    Eigen::VectorXd all = Eigen::VectorXd::Zero(size());
    all(person.items) = values;
    return all(input.rows);
  }

  Eigen::MatrixXd CoRatings(const RoundInput& input) const {
    const auto rows = Eigen::Index(input.rows.size());
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(rows, rows);
    for (const Person& person : people_) {
      Eigen::VectorXd z =
          OnRows(input, person,
                 Eigen::VectorXd::Ones(Eigen::Index(person.items.size())));
      if (input.w.size() > 0) {
        const Eigen::VectorXd p = input.w.col(0).normalized();
        z -= input.numbers[0] / kDampingParts * p.dot(z) * p;
      }
      if (z.norm() > 0) sum += z * z.transpose() / z.squaredNorm();
    }
    return sum;
  }

  Eigen::MatrixXd ResidualGram(const RoundInput& input) const {
    const auto rows = Eigen::Index(input.rows.size());
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(rows, rows);
    Eigen::VectorXd h;
    for (const Person& person : people_) {
      if (person.items.empty()) continue;
      const Eigen::VectorXd values = Residuals(person, input, &h);
      const double n =
          OnRows(input, person, Eigen::VectorXd::Ones(values.size())).sum();
      if (n == 0) continue;
      const Eigen::VectorXd z =
          CutTo(Bounds().c_z, OnRows(input, person, values) / std::sqrt(n));
      sum += z * z.transpose();
    }
    return sum;
  }

  std::vector<Eigen::MatrixXd> Corrections(const RoundInput& input) const {
    const Eigen::Index r = std::min<Eigen::Index>(
        facts_.parameters.profile_directions, input.w.cols() - 2);
    Eigen::MatrixXd b = Eigen::MatrixXd::Zero(size(), r + 1),
                    a = Eigen::MatrixXd::Zero(r + 1, r + 1);
    Eigen::VectorXd h;
    for (const Person& person : people_) {
      if (person.items.empty()) continue;
      const Eigen::VectorXd z =
          CutTo(Bounds().c_z, Residuals(person, input, &h) /
                                  std::sqrt(double(person.items.size())));
      Eigen::VectorXd g(r + 1);
      g(0) = kProfileConstant;
      g.tail(r) = CutTo(kProfileLength, h.segment(1, r) / input.numbers[0]);
      for (std::size_t j = 0; j < person.items.size(); ++j)
        b.row(person.items[j]) += z(Eigen::Index(j)) * g.transpose();
      a += g * g.transpose();
    }
    return {b, a};
  }

  NoisedMatrix Noised(const PartPlan& part, const Eigen::MatrixXd& sums) {
    NoisedMatrix matrix;
    matrix.name = part.name;
    matrix.rows = std::uint64_t(sums.rows());
    matrix.columns = std::uint64_t(sums.cols());
    matrix.symmetric = part.symmetric;
    matrix.step_exponent = part.step_exponent;
    matrix.is_lattice = false;
    for (Eigen::Index j = 0; j < sums.cols(); ++j) {
      for (Eigen::Index i = 0; i < (part.symmetric ? j + 1 : sums.rows());
           ++i) {
        const double steps = part.symmetric && i == j
                                 ? double(part.diagonal_stddev_steps)
                                 : double(part.stddev_steps);
        const double noise =
            options_.noise
                ? std::ldexp(steps, part.step_exponent) * normal_(engine_)
                : 0;
        matrix.reals.push_back(sums(i, j) + noise);
      }
    }
    return matrix;
  }

  RatingsFacts facts_;
  std::vector<Person> people_;
  SimulatedOptions options_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

}  // namespace dpnmf::testing

#endif  // DPNMF_TESTS_COMMON_RATINGS_SIMULATED_RUN_H_
