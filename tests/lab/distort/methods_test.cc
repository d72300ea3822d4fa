#include "lab/distort/methods.h"

#include <string>
#include <vector>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/distort/places.h"
#include "tests/lab/distort/distort_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::MatrixXd;
using ::testing::ElementsAre;

std::vector<std::string> NamesOf(const std::vector<std::string>& asked,
                                 bool as_published = false) {
  const auto methods = DistortMethodsOf(asked, as_published);
  EXPECT_TRUE(methods.ok()) << methods.status();
  std::vector<std::string> names;
  for (const DistortMethod* method : *methods) names.emplace_back(method->name);
  return names;
}

const DistortMethod& MethodOf(const std::string& name) {
  for (const DistortMethod& method : DistortMethods())
    if (method.name == name) return method;
  ADD_FAILURE() << name;
  return DistortMethods()[0];
}

MatrixXd Distorted(const MatrixXd& a, const std::string& method,
                   const DistortOptions& options = {}, std::uint64_t seed = 1) {
  DistortCache cache;
  Draws draws(seed);
  auto values = Distort(a, MethodOf(method), options, &cache, &draws);
  EXPECT_TRUE(values.ok()) << values.status();
  return *values;
}

TEST(DistortMethods, AreNamedOnceInOrder) {
  EXPECT_THAT(NamesOf({"all"}),
              ElementsAre("ud", "nd", "svd", "nmf", "nmfm", "ssvd", "csvd",
                          "esvd", "snmf", "cnmf", "enmf"));
  EXPECT_THAT(NamesOf({"svd", "ud", "svd"}), ElementsAre("svd", "ud"));
  EXPECT_THAT(NamesOf({"ssvd", "nmf"}, true),
              ElementsAre("ssvd", "ssvd-as-published", "nmf"));
  for (const auto& names : std::vector<std::vector<std::string>>{
           {}, {"pca"}, {"ssvd-as-published"}}) {
    EXPECT_EQ(ReasonCode(DistortMethodsOf(names, true).status()),
              "distort-method-unknown");
  }
}

TEST(DistortMethods, FullRankIsTheTableItself) {
  for (const auto& [rows, columns] : {std::pair{40, 6}, {6, 40}, {5, 5}}) {
    const MatrixXd a = Generated(rows, columns, 1);
    DistortOptions options;
    options.rank = std::min(rows, columns);
    EXPECT_LT((Distorted(a, "svd", options) - a).norm(), 1e-12 * a.norm());
  }
}

TEST(DistortMethods, SvdIsTheBestOfItsRank) {
  const MatrixXd a = Generated(3000, 7, 2);
  DistortOptions options;
  options.rank = 3;
  // Eckart and Young: what is left are the other singular values.
  const ThinSvd svd = ThinSvdOf(a, 7);
  EXPECT_NEAR((Distorted(a, "svd", options) - a).norm(), svd.s.tail(4).norm(),
              1e-10);
  EXPECT_LT((svd.u.transpose() * svd.u - MatrixXd::Identity(7, 7)).norm(),
            1e-12);
  EXPECT_LT((svd.v.transpose() * svd.v - MatrixXd::Identity(7, 7)).norm(),
            1e-12);
}

TEST(DistortMethods, SvdOfLessThanItsRankHasNoNoise) {
  const MatrixXd a = Generated(30, 2, 3) * Generated(2, 6, 4);
  DistortOptions options;
  options.rank = 5;
  EXPECT_LT((Distorted(a, "svd", options) - a).norm(), 1e-12 * a.norm());
  EXPECT_TRUE(Distorted(a, "ssvd", options).allFinite());
}

TEST(DistortMethods, NoiseHasItsLaw) {
  const MatrixXd zero = MatrixXd::Zero(20'000, 5);
  const MatrixXd uniform = Distorted(zero, "ud");
  EXPECT_GE(uniform.minCoeff(), 0);
  EXPECT_LT(uniform.maxCoeff(), 0.8);
  EXPECT_NEAR(uniform.mean(), 0.4, 0.005);  // 7 standard errors
  const MatrixXd normal = Distorted(zero, "nd");
  EXPECT_NEAR(normal.mean(), 0, 0.01);  // 7 standard errors
  EXPECT_NEAR(normal.norm() / std::sqrt(1e5), 0.46, 0.008);
}

TEST(DistortMethods, SparsifyAtThresholds) {
  DistortOptions options;
  MatrixXd x(3, 2);
  x << 0.0009, -1, 0.5, 0.15, -0.001, 0.0009;
  MatrixXd sts = x;
  MakeSparse(Sparsify::kSts, options, &sts);
  EXPECT_EQ(sts, (MatrixXd(3, 2) << 0, -1, 0.5, 0.15, -0.001, 0).finished());
  MatrixXd cts = x;  // means .16730, .38363; a fifth: .03346, .07673
  MakeSparse(Sparsify::kCts, options, &cts);
  EXPECT_EQ(cts, (MatrixXd(3, 2) << 0, -1, 0.5, 0.15, 0, 0).finished());
  MatrixXd ets = x;  // .01 exp(.2) .5 = .0061, .01 exp(.4) 1 = .0149
  MakeSparse(Sparsify::kEts, options, &ets);
  EXPECT_EQ(ets, (MatrixXd(3, 2) << 0, -1, 0.5, 0.15, 0, 0).finished());
  MatrixXd same = x;
  MakeSparse(Sparsify::kNothing, options, &same);
  EXPECT_EQ(same, x);
}

TEST(DistortMethods, KeepOnlySoManyComponents) {
  const MatrixXd a = Generated(50, 6, 5);
  DistortOptions options;
  options.rank = 5;
  options.kept = 2;
  DistortOptions two;
  two.rank = 2;
  EXPECT_LT((Distorted(a, "svd", options) - Distorted(a, "svd", two)).norm(),
            1e-12);
}

TEST(DistortMethods, OfOneCoreShareItsFactors) {
  const MatrixXd a = Generated(50, 6, 6);
  DistortOptions options;
  options.rank = 3;
  DistortCache cache;
  Draws draws(7);
  const auto nmf = Distort(a, MethodOf("nmf"), options, &cache, &draws);
  const auto again = Distort(a, MethodOf("nmf"), options, &cache, &draws);
  ASSERT_TRUE(nmf.ok());
  EXPECT_EQ(*nmf, *again);
  ASSERT_NE(cache.NmfOf(MethodOf("enmf")), nullptr);
  EXPECT_EQ(cache.NmfOf(MethodOf("nmfm")), nullptr);
  EXPECT_EQ(cache.NmfOf(MethodOf("svd")), nullptr);
}

struct Published {
  std::string method;
  double vd, rp, rk, cp, ck;
};

// VD within 1e-4; RP within .05; the rest to the digits of the source.
TEST(DistortMethods, OfWisconsinAreThePublications) {
  const std::vector<Published> rows = {
      // table IV of the publication
      {"svd", .1222, 228.8972, .0114, .2222, .7778},
      {"ssvd-as-published", 1.2662, 228.1370, .0011, 3.3333, 0},
      {"csvd-as-published", 1.2702, 230.1561, .0020, 3.3333, 0},
      // an independent program, without the transposition error
      {"ssvd", .1222, 228.6428, .0107, .2222, .7778},
      {"csvd", .1233, 223.8509, .0094, 0, 1},
      {"esvd", .1227, 225.1830, .0113, .2222, .7778},
  };
  const MatrixXd& a = Wisconsin().values;
  for (const Published& row : rows) {
    const MatrixXd distorted = Distorted(a, row.method);
    EXPECT_NEAR(ValueDifference(a, distorted), row.vd, 1e-4) << row.method;
    const PlaceChanges places = PlaceChangesOf(a, distorted).by_sort_index;
    // Rows that are equal but for rounding are sorted by it: with the error
    // more of them are.
    EXPECT_NEAR(places.rp, row.rp, MethodOf(row.method).transposed ? .15 : .05)
        << row.method;
    EXPECT_NEAR(places.rk, row.rk, 2e-4) << row.method;
    EXPECT_NEAR(places.cp, row.cp, 1e-4) << row.method;
    EXPECT_NEAR(places.ck, row.ck, 1e-4) << row.method;
  }
}

TEST(DistortMethods, BadInputIsRefused) {
  const MatrixXd a = Generated(10, 4, 8);
  MatrixXd negative = a;
  negative(3, 2) = -1;
  const auto check = [](const MatrixXd& table, const std::string& method,
                        const DistortOptions& options) {
    return ReasonCode(CheckDistort(table, {&MethodOf(method)}, options));
  };
  DistortOptions options;
  options.rank = 4;
  EXPECT_EQ(check(a, "nmf", options), "");
  EXPECT_EQ(check(negative, "nmf", options), "distort-negative");
  EXPECT_EQ(check(negative, "svd", options), "");
  EXPECT_EQ(check(MatrixXd::Zero(3, 3), "ud", options), "distort-all-zero");
  EXPECT_EQ(check(a.transpose(), "ssvd-as-published", options),
            "distort-as-published");
  options.rank = 5;
  EXPECT_EQ(check(a, "nmf", options), "rank-out-of-range");
  EXPECT_EQ(check(a, "ud", options), "");
  options.rank = 0;
  EXPECT_EQ(check(a, "svd", options), "rank-out-of-range");
  options = {};
  options.rank = 2;
  for (const double bad : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    DistortOptions wrong = options;
    wrong.uniform_width = bad;
    EXPECT_EQ(check(a, "ud", wrong), "distort-parameter");
    wrong = options;
    wrong.normal_stddev = bad;
    EXPECT_EQ(check(a, "ud", wrong), "distort-parameter");
    wrong = options;
    wrong.nmf.tolerance = bad;
    EXPECT_EQ(check(a, "nmf", wrong), "distort-parameter");
    wrong = options;
    wrong.nmf.stop_at_vd = bad;
    EXPECT_EQ(check(a, "nmf", wrong), "distort-parameter");
    wrong = options;
    wrong.nmf.seconds = bad;
    EXPECT_EQ(check(a, "nmf", wrong), "distort-parameter");
  }
  DistortOptions wrong = options;
  wrong.kept = 3;
  EXPECT_EQ(check(a, "svd", wrong), "distort-parameter");
  wrong = options;
  wrong.nmf.iterations = 0;
  EXPECT_EQ(check(a, "nmf", wrong), "distort-parameter");
}

}  // namespace
}  // namespace dpnmf::curator::lab
