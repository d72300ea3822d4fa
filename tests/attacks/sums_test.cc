// The sums (Casacuberta, Shoemate, Vadhan and Wagaman 2022, "Widespread
// underestimation of sensitivity in differentially private libraries and how to
// fix it"): a sum whose rounding depends on the order, a contribution that
// depends on other people, a norm that exceeds its bound by a rounding. One
// checker for the product and for a twin of each kind. Nothing here is
// statistical: no false alarms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/privacy/run_plan.h"
#include "curator/factor/kernels/quantise.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/gate_path.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr int kFeatures = 24, kRank = 4, kUsers = 57, kBits = 20;

// Terms and sums of one round, bit by bit.
struct Added {
  // One per person: k, then l. Doubles stand as their bits.
  std::vector<std::vector<std::int64_t>> people;
  std::vector<std::int64_t> sums;  // likewise
};

// A way of running a round: the product's or a weak one.
struct Summer {
  std::string name;
  bool integers = true;  // people and sums are lattice integers
  std::function<Added(const Eigen::MatrixXf& v,
                      const StatisticsRequest& request,
                      const Execution& execution)>
      run;
};

// Counts of the values that were checked, and of those that moved wrongly.
struct Findings {
  int people_compared = 0, people_moved = 0;
  int sums_compared = 0, sums_moved = 0;
  int norms_checked = 0, norms_exceeded = 0;
  std::int64_t largest_move = 0;  // of an integer k or l

  std::string Text() const {
    std::string text = absl::StrFormat(
        "people moved: %d of %d; sums moved: %d of %d; norms exceeded: %d of "
        "%d",
        people_moved, people_compared, sums_moved, sums_compared,
        norms_exceeded, norms_checked);
    if (largest_move > 0) {
      text += absl::StrFormat("; largest move of an entry: %.2g",
                              std::ldexp(largest_move, -kBits));
    }
    return text;
  }
};

StatisticsRequest Request(const Eigen::MatrixXd& w, double bound = 1) {
  StatisticsRequest request;
  request.w = &w;
  request.coefficient_bound = request.data_bound = bound;
  request.coefficient_bits = request.data_bits = kBits;
  return request;
}

// ------------------------------------------------------------- the checker

class Checker {
 public:
  explicit Checker(const Summer& summer) : summer_(summer) {}

  Findings Check() {
    const Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 1, 0.6);
    const Eigen::MatrixXd w = RandomW(kFeatures, kRank, 2);
    const StatisticsRequest request = Request(w);
    const Added base = summer_.run(v, request, {1, 16});
    for (const Execution& other : {Execution{1, 48}, {2, 16}, {3, 32}, {1, 0}})
      CompareAll(base, summer_.run(v, request, other), InOrder());
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 6; ++trial) {
      std::vector<int> order = InOrder();
      std::shuffle(order.begin(), order.end(), random);
      CompareAll(base, summer_.run(v(Eigen::all, order), request, {1, 16}),
                 order);
    }
    // One kept, all others replaced, at every place, in companies of other
    // sizes.
    for (int place = 0; place < 40; ++place) {
      Eigen::MatrixXf others =
          RandomColumns(kFeatures, 40 + place % 5, 100 + place, 0.6);
      others.col((place + 1) % 40) *= 30;
      others.col(place) = v.col(5);
      const Added company = summer_.run(others, request, {1, 16});
      ComparePerson(base.people[5], company.people[place]);
    }
    if (summer_.integers) CheckNorms();
    return findings_;
  }

 private:
  static std::vector<int> InOrder() {
    std::vector<int> order(kUsers);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  void ComparePerson(const std::vector<std::int64_t>& expected,
                     const std::vector<std::int64_t>& actual) {
    ++findings_.people_compared;
    if (expected == actual) return;
    ++findings_.people_moved;
    if (!summer_.integers) return;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      findings_.largest_move = std::max<std::int64_t>(
          findings_.largest_move, std::abs(expected[i] - actual[i]));
    }
  }

  // order: who of `expected` stands at each place of `actual`.
  void CompareAll(const Added& expected, const Added& actual,
                  const std::vector<int>& order) {
    for (int place = 0; place < kUsers; ++place)
      ComparePerson(expected.people[order[place]], actual.people[place]);
    for (std::size_t i = 0; i < expected.sums.size(); ++i) {
      ++findings_.sums_compared;
      findings_.sums_moved += expected.sums[i] != actual.sums[i] ? 1 : 0;
    }
  }

  void CheckNorm(std::span<const std::int64_t> x, double bound) {
    ++findings_.norms_checked;
    findings_.norms_exceeded += WithinGate(x, bound, kBits) ? 0 : 1;
  }

  // Long columns and short dictionaries, so that everything is clipped; axes,
  // where one entry has all the length. A bound that is no lattice point, and
  // one just below a lattice point.
  void CheckNorms() {
    Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 4, 0.6) * 3;
    for (int user = 0; user < kUsers / 2; ++user) {
      v.col(user).setZero();
      v(user % kFeatures, user) = 1.1f + 0.07f * static_cast<float>(user);
    }
    const Eigen::MatrixXd axes =
        Eigen::MatrixXd::Identity(kFeatures, kRank) * 0.9;
    const Eigen::MatrixXd random = RandomW(kFeatures, kRank, 5) * 0.2;
    for (const double bound : {1.0, 0.7, 1 - 0x1p-53}) {
      for (const Eigen::MatrixXd& w : {axes, random}) {
        const Added added = summer_.run(v, Request(w, bound), {1, 16});
        for (const auto& person : added.people) {
          CheckNorm(std::span(person).first(kRank), bound);
          CheckNorm(std::span(person).subspan(kRank), bound);
        }
      }
    }
  }

  const Summer& summer_;
  Findings findings_;
};

Findings CheckAndPrint(const Summer& summer) {
  const Findings findings = Checker(summer).Check();
  PrintFigure("order and rounding of sums", summer.name, findings.Text());
  return findings;
}

// ------------------------------------------------------------- the product

Added RunProduct(const Dataset& data, const StatisticsRequest& request,
                 const Execution& execution) {
  Coefficients h(kRank, data.private_user_count()), again = h;
  const std::vector<UserContribution> people =
      ContributionsForTesting(data, request, execution, &h).value();
  Added added;
  for (const UserContribution& user : people) {
    added.people.push_back(user.k);
    added.people.back().insert(added.people.back().end(), user.l.begin(),
                               user.l.end());
  }
  added.sums =
      Flat(ComputeStatistics(data, request, execution, &again).value());
  return added;
}

Summer Product(bool sparse, bool outliers) {
  return {absl::StrFormat("product, %s%s", sparse ? "sparse" : "dense",
                          outliers ? ", with outliers" : ""),
          true,
          [=](const Eigen::MatrixXf& v, StatisticsRequest request,
              const Execution& execution) {
            request.outliers = outliers;
            request.lambda = 0.02;
            request.outlier_bound = 0.3;
            return RunProduct(sparse ? *SparseOf(v) : *DenseOf(v), request,
                              execution);
          }};
}

TEST(SumsAttack, FindsNothingInTheProduct) {
  for (const bool sparse : {false, true}) {
    for (const bool outliers : {false, true}) {
      const Findings findings = CheckAndPrint(Product(sparse, outliers));
      EXPECT_EQ(findings.people_moved, 0);
      EXPECT_EQ(findings.sums_moved, 0);
      EXPECT_EQ(findings.norms_exceeded, 0);
      EXPECT_GT(findings.people_compared, 10 * kUsers);
      EXPECT_GT(findings.sums_compared, 10 * kFeatures * kRank);
      EXPECT_EQ(findings.norms_checked, 12 * kUsers);
    }
  }
}

// ----------------------------------------------------------------- twins

// Clipped in doubles to the bound.
Eigen::VectorXd ClipInDoubles(const Eigen::VectorXd& x, double bound) {
  const Eigen::VectorXd positive = x.cwiseMax(0);
  const double length = positive.norm();
  return length > bound ? Eigen::VectorXd(positive * (bound / length))
                        : positive;
}

// The product's own gate, which a twin keeps unless it is the fault.
std::vector<std::int64_t> Gated(const Eigen::VectorXd& x, double bound) {
  Eigen::VectorXd column = x;
  QuantiseColumn(LatticeBoundsOf(bound, kBits).value(),
                 std::span(column.data(), column.size()));
  return {column.begin(), column.end()};
}

// k, then l, from h and u = v.
using ToIntegers =
    std::function<std::vector<std::int64_t>(const Eigen::VectorXd&, double)>;

Added AddUp(const Eigen::MatrixXd& h, const Eigen::MatrixXf& v, double bound,
            const ToIntegers& to_integers) {
  Added added;
  added.sums.assign(kRank * kRank + kFeatures * kRank, 0);
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    std::vector<std::int64_t> person = to_integers(h.col(user), bound);
    const auto l = to_integers(v.col(user).cast<double>(), bound);
    person.insert(person.end(), l.begin(), l.end());
    std::size_t at = 0;
    for (const std::int64_t entry : person) {
      for (int k = 0; k < kRank; ++k) added.sums[at++] += entry * person[k];
    }
    added.people.push_back(std::move(person));
  }
  return added;
}

Eigen::MatrixXd NaiveH(const Eigen::MatrixXf& v,
                       const StatisticsRequest& request) {
  Eigen::MatrixXd h(kRank, v.cols());
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    h.col(user) = NaiveHStep(request, v.col(user).cast<double>(),
                             Eigen::VectorXd::Zero(kRank))
                      .h;
  }
  return h;
}

// Real vectors, added in the order of the people.
Added RunDoubleSum(const Eigen::MatrixXf& v, const StatisticsRequest& request,
                   const Execution&) {
  const Eigen::MatrixXd h = NaiveH(v, request);
  Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(kRank + kFeatures, kRank);
  Added added;
  const auto bits = [](const auto& x) {
    std::vector<std::int64_t> all;
    for (const double entry : x.reshaped())
      all.push_back(std::bit_cast<std::int64_t>(entry));
    return all;
  };
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    Eigen::VectorXd person(kRank + kFeatures);
    person.head(kRank) = ClipInDoubles(h.col(user), request.coefficient_bound);
    person.tail(kFeatures) =
        ClipInDoubles(v.col(user).cast<double>(), request.data_bound);
    sums += person * person.head(kRank).transpose();
    added.people.push_back(bits(person));
  }
  added.sums = bits(sums);
  return added;
}

TEST(SumsAttack, SeesAPlainSumOfDoubles) {
  const Findings findings =
      CheckAndPrint({"twin: doubles summed in order", false, RunDoubleSum});
  EXPECT_GT(findings.sums_moved, 0);
  EXPECT_EQ(findings.people_moved, 0);
}

// Nesterov's accelerated projected gradient on a block of people, whose
// momentum starts again when the objective of the block, not of the person, has
// risen (O'Donoghue and Candes 2015, adaptive restart).
Eigen::MatrixXd BlockWithOneRestart(const Eigen::MatrixXd& w,
                                    const Eigen::MatrixXd& v, int iterations) {
  const Eigen::MatrixXd gram = w.transpose() * w;
  const double step = 1 / gram.norm();
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(kRank, v.cols()), ahead = h;
  double momentum = 1;
  double last = std::numeric_limits<double>::infinity();
  for (int i = 0; i < iterations; ++i) {
    Eigen::MatrixXd next(kRank, v.cols());
    for (Eigen::Index user = 0; user < v.cols(); ++user) {
      next.col(user) = (ahead.col(user) - step * (gram * ahead.col(user) -
                                                  w.transpose() * v.col(user)))
                           .cwiseMax(0);
    }
    const double objective = (v - w * next).squaredNorm();
    if (objective > last) momentum = 1;
    last = objective;
    const double faster = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next + (momentum - 1) / faster * (next - h);
    momentum = faster;
    h = next;
  }
  return h;
}

// Runs BlockWithOneRestart for every block of 16.
Added RunOneRestart(const Eigen::MatrixXf& v, const StatisticsRequest& request,
                    const Execution&) {
  constexpr Eigen::Index kBlock = 16;
  Eigen::MatrixXd h(kRank, v.cols());
  for (Eigen::Index first = 0; first < v.cols(); first += kBlock) {
    const Eigen::Index size = std::min(kBlock, v.cols() - first);
    h.middleCols(first, size) = BlockWithOneRestart(
        *request.w, v.middleCols(first, size).cast<double>(), 30);
  }
  return AddUp(h, v, request.coefficient_bound, Gated);
}

TEST(SumsAttack, SeesARestartSharedByABlock) {
  const Findings findings =
      CheckAndPrint({"twin: one restart a block", true, RunOneRestart});
  EXPECT_GT(findings.people_moved, 0);
  EXPECT_GT(findings.sums_moved, 0);
}

// W'V in single precision as fast kernels do it: sixteen columns at a time with
// the rows in four partial sums, what remains column by column.
Eigen::MatrixXf FastProduct(const Eigen::MatrixXf& w,
                            const Eigen::MatrixXf& v) {
  Eigen::MatrixXf c(w.cols(), v.cols());
  const Eigen::Index whole = v.cols() / 16 * 16;
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    for (Eigen::Index k = 0; k < w.cols(); ++k) {
      float partial[4] = {};
      for (Eigen::Index row = 0; row < w.rows(); ++row)
        partial[user < whole ? row % 4 : 0] += w(row, k) * v(row, user);
      c(k, user) = (partial[0] + partial[1]) + (partial[2] + partial[3]);
    }
  }
  return c;
}

Added RunSinglePrecision(const Eigen::MatrixXf& v,
                         const StatisticsRequest& request, const Execution&) {
  const Eigen::MatrixXd& w = *request.w;
  const Eigen::MatrixXd c = FastProduct(w.cast<float>(), v).cast<double>();
  const Eigen::MatrixXd gram = w.transpose() * w;
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(kRank, v.cols());
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    for (int sweep = 0; sweep < request.inner_iterations; ++sweep) {
      for (int k = 0; k < kRank; ++k) {
        const double descent = c(k, user) - gram.row(k).dot(h.col(user));
        h(k, user) = std::max(0.0, h(k, user) + descent / gram(k, k));
      }
    }
  }
  return AddUp(h, v, request.coefficient_bound, Gated);
}

TEST(SumsAttack, SeesAColumnThatIsARemainder) {
  const Findings findings =
      CheckAndPrint({"twin: single-precision product with remainder columns",
                     true, RunSinglePrecision});
  EXPECT_GT(findings.people_moved, 0);
  EXPECT_GT(findings.sums_moved, 0);
}

// floor(2^q x) of what was clipped in doubles, and no gate after it.
Added RunUngated(const Eigen::MatrixXf& v, const StatisticsRequest& request,
                 const Execution&) {
  const auto floor_of = [](const Eigen::VectorXd& x, double bound) {
    std::vector<std::int64_t> integers;
    for (const double entry : ClipInDoubles(x, bound))
      integers.push_back(
          static_cast<std::int64_t>(std::floor(std::ldexp(entry, kBits))));
    return integers;
  };
  return AddUp(NaiveH(v, request), v, request.coefficient_bound, floor_of);
}

TEST(SumsAttack, SeesClippingWithoutTheIntegerGate) {
  const Findings findings =
      CheckAndPrint({"twin: clipped in doubles, no gate", true, RunUngated});
  EXPECT_GT(findings.norms_exceeded, 0);
  EXPECT_EQ(findings.people_moved, 0);
  EXPECT_EQ(findings.sums_moved, 0);
}

// The same in round-to-nearest, which exceeds the bound more often.
TEST(SumsAttack, SeesRoundingToNearestWithoutTheIntegerGate) {
  const auto run = [](const Eigen::MatrixXf& v,
                      const StatisticsRequest& request, const Execution&) {
    const auto nearest = [](const Eigen::VectorXd& x, double bound) {
      std::vector<std::int64_t> integers;
      for (const double entry : ClipInDoubles(x, bound))
        integers.push_back(std::llround(std::ldexp(entry, kBits)));
      return integers;
    };
    return AddUp(NaiveH(v, request), v, request.coefficient_bound, nearest);
  };
  const Findings findings =
      CheckAndPrint({"twin: rounded to nearest, no gate", true, run});
  EXPECT_GT(findings.norms_exceeded, 0);
  EXPECT_EQ(findings.people_moved, 0);
}

}  // namespace
}  // namespace dpnmf::curator
