#include "curator/gate/release_gate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "gmock/gmock.h"
#include "tests/curator/gate/gate_fixtures.h"
#include "tests/curator/ledger/damaged_files.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

TEST(ReleaseGate, ChargesThePriceOfTheSigmasThatItDraws) {
  GateHome home;
  const auto released = home.Release(1);
  ASSERT_TRUE(released.ok()) << released.status();
  const MuSquared price =
      CostOfDrawing(SmallParts(), Adjacency::kReplaceOne).value();
  EXPECT_EQ(released->value().cost, price);
  EXPECT_EQ(home.Charged(), price);
  EXPECT_EQ(released->value().round, 1u);
  EXPECT_FALSE(released->value().lost);
}

TEST(ReleaseGate, AddRemoveOneHasItsOwnPrice) {
  GateHome home;
  RoundRequest request = RequestFor(home.run, 1);
  request.adjacency = Adjacency::kAddRemoveOne;
  const auto released =
      home.gate->Release(request, SmallSums(), Unchanged).value();
  // Both sums move by half as much, squared (docs/reference/privacy.md,
  // Theorems 3 and 4): Delta_A^2 = Q_h^2 and Delta_B^2 = Q_u Q_h in place of
  // twice as much. Each part's mu^2 = Delta^2 / min(sigma_diag^2, 2
  // sigma_off^2), respectively Delta^2 / sigma^2, is rounded up to a unit of
  // 2^-60.
  long double expected = 0;
  for (const PartPlan& part : SmallParts()) {
    const long double off = part.stddev_steps;
    const long double diagonal = part.diagonal_stddev_steps;
    const long double variance =
        part.symmetric ? std::min(diagonal * diagonal, 2 * off * off)
                       : off * off;
    expected += static_cast<long double>(part.left_norm_steps) *
                part.right_norm_steps / variance;
  }
  const long double charged =
      std::ldexp(static_cast<long double>(released.value().cost.units()), -60);
  EXPECT_NEAR(static_cast<double>(charged / expected), 1, 1e-12);
  EXPECT_EQ(home.Charged(), released.value().cost);
}

TEST(ReleaseGate, WithNoiseOffItReleasesTheSums) {
  GateHome home(ReleaseGateForTesting::Zeros);
  const auto released = home.Release(1).value();
  const auto& parts = released.value().parts;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "A");
  EXPECT_EQ(parts[0].lattice, SmallSums().a);
  EXPECT_TRUE(parts[0].symmetric && parts[0].is_lattice);
  EXPECT_EQ(parts[0].step_exponent, -20);
  EXPECT_EQ(parts[1].name, "B");
  EXPECT_EQ(parts[1].rows, kSmallFeatures);
  EXPECT_EQ(parts[1].columns, kSmallRank);
  EXPECT_EQ(parts[1].lattice, SmallSums().b);
}

TEST(ReleaseGate, Theorem9TheSameRequestGetsTheSameBytesAtNoCost) {
  GateHome home;
  const auto first = home.Release(1).value();
  const MuSquared charged = home.Charged();
  for (int restart = 0; restart < 2; ++restart) {
    const auto again = home.Release(1).value();
    const auto found = home.gate->Find(RequestFor(home.run, 1)).value();
    EXPECT_EQ(again.value().parts, first.value().parts);
    EXPECT_EQ(again.value().row_hash, first.value().row_hash);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->value().parts, first.value().parts);
    EXPECT_EQ(home.Charged(), charged);
    home.Reopen();
  }
}

TEST(ReleaseGate, TwoRoundsGetDifferentNoise) {
  GateHome home;
  const auto first = home.Release(1).value(), second = home.Release(2).value();
  // 21 normals of standard deviation 2^26 steps: all equal with a probability
  // below 1e-100.
  EXPECT_NE(first.value().parts[0].lattice, second.value().parts[0].lattice);
  EXPECT_NE(first.value().parts[1].lattice, second.value().parts[1].lattice);
}

// Copies of a container, or a volume that is put back with its anchor: the same
// round is charged in each, and each draws its own noise. (The operator must
// prevent such copies; the gate must ensure that they tell no noise.)
TEST(ReleaseGate, ACopyAndAVolumePutBackDrawOtherNoise) {
  GateHome original, copy;
  const auto close = [](GateHome* home) {
    home->gate.reset();
    home->ledger.reset();
  };
  close(&original);
  close(&copy);
  const TempDirectory backup;
  ReplaceDirectory(original.home.directory.path(), backup / "all");
  ReplaceDirectory(backup / "all", copy.home.directory.path());
  std::vector<std::vector<std::int64_t>> drawn;
  std::vector<Digest> rows;
  const auto release = [&](GateHome* home) {
    home->Reopen();
    const auto released = home->Release(1).value();
    drawn.push_back(released.value().parts[0].lattice);
    drawn.push_back(released.value().parts[1].lattice);
    rows.push_back(released.value().row_hash);
    close(home);
  };
  release(&original);
  release(&copy);
  ReplaceDirectory(backup / "all", original.home.directory.path());
  release(&original);
  // One row of one history, three times; see above for the probability.
  EXPECT_EQ(rows, std::vector<Digest>(3, rows[0]));
  for (const int part : {0, 1}) {
    EXPECT_NE(drawn[part], drawn[part + 2]);
    EXPECT_NE(drawn[part], drawn[part + 4]);
    EXPECT_NE(drawn[part + 2], drawn[part + 4]);
  }
}

TEST(ReleaseGate, RefusesAnotherRequestForAChargedRound) {
  GateHome home;
  ASSERT_TRUE(home.Release(1).ok());
  RoundRequest other = RequestFor(home.run, 1);
  other.request_hash = DigestOfNumber(5);
  EXPECT_CODE(home.gate->Release(other, SmallSums(), Unchanged),
              "round-differs");
  EXPECT_CODE(home.gate->Find(other), "round-differs");
  other = RequestFor(home.run, 3);
  EXPECT_CODE(home.gate->Release(other, SmallSums(), Unchanged),
              "round-out-of-order");
}

TEST(ReleaseGate, FindsNothingBeforeTheCharge) {
  GateHome home;
  EXPECT_FALSE(home.gate->Find(RequestFor(home.run, 1)).value().has_value());
  EXPECT_EQ(home.Charged(), MuSquared());
}

TEST(ReleaseGate, AMissingOrDamagedReleaseIsLostAndNeverDrawnAgain) {
  const std::function<void(const fs::path&)> harms[] = {
      [](const fs::path& file) { fs::remove(file); },
      [](const fs::path& file) { std::ofstream(file) << "damaged"; },
      [](const fs::path& file) { fs::resize_file(file, 0); }};
  for (const auto& harm : harms) {
    std::atomic<int> draws{0};
    GateHome home([&](const std::vector<PartPlan>& parts, int threads) {
      ++draws;
      return ReleaseGateForTesting::Zeros(parts, threads);
    });
    ASSERT_TRUE(home.Release(1).ok());
    for (const auto& entry : fs::directory_iterator(home.Store())) harm(entry);
    const MuSquared charged = home.Charged();
    for (int restart = 0; restart < 2; ++restart) {
      const auto again = home.Release(1).value();
      EXPECT_TRUE(again.value().lost);
      EXPECT_TRUE(again.value().parts.empty());
      EXPECT_EQ(again.value().cost, CostOfRound(home.run));
      EXPECT_TRUE(
          home.gate->Find(RequestFor(home.run, 1))->value().value().lost);
      EXPECT_EQ(home.Charged(), charged);
      home.Reopen();
    }
    EXPECT_EQ(draws, 1);
    // The run goes on with the next round.
    EXPECT_FALSE(home.Release(2).value().value().lost);
  }
}

TEST(ReleaseGate, AnotherRowsFileIsNotTakenForThisRows) {
  GateHome home;
  const auto one = home.Release(1).value(), two = home.Release(2).value();
  const auto path = [&](const auto& released) {
    return home.Store() + "/" + HexOf(released.value().row_hash) + ".release";
  };
  fs::copy_file(path(one), path(two), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(home.Release(2).value().value().lost);
}

TEST(ReleaseGate, RefusesSumsThatDoNotFitThePlanAndChargesNothing) {
  GateHome home;
  const auto refused = [&](const RoundRequest& request, const ExactSums& sums) {
    const auto status = home.gate->Release(request, sums, Unchanged).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(ReasonCode(status), "sums-malformed");
  };
  const RoundRequest good = RequestFor(home.run, 1);
  ExactSums sums = SmallSums();
  sums.a.pop_back();
  refused(good, sums);
  sums = SmallSums();
  sums.b.push_back(0);
  refused(good, sums);
  const std::function<void(std::vector<PartPlan>*)> changes[] = {
      [](auto* parts) { parts->pop_back(); },
      [](auto* parts) { parts->push_back(parts->back()); },
      [](auto* parts) { std::swap((*parts)[0], (*parts)[1]); },
      [](auto* parts) { (*parts)[0].symmetric = false; },
      [](auto* parts) { (*parts)[0].rows = 4; },
      [](auto* parts) { (*parts)[1].rows = 4; }};
  for (const auto& change : changes) {
    RoundRequest request = good;
    change(&request.parts);
    refused(request, SmallSums());
  }
  EXPECT_EQ(home.Charged(), MuSquared());
}

TEST(ReleaseGate, RefusesAPlanWithoutNoise) {
  GateHome home;
  for (auto sigma :
       {&PartPlan::stddev_steps, &PartPlan::diagonal_stddev_steps}) {
    RoundRequest request = RequestFor(home.run, 1);
    request.parts[0].*sigma = 0;
    EXPECT_EQ(
        home.gate->Release(request, SmallSums(), Unchanged).status().code(),
        absl::StatusCode::kInternal);
  }
  EXPECT_EQ(home.Charged(), MuSquared());
}

TEST(ReleaseGate, AnOverflowIsRefusedWithoutANumber) {
  for (const std::int64_t sum : {std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min()}) {
    GateHome home([&](const std::vector<PartPlan>& parts, int threads) {
      auto noise = ReleaseGateForTesting::Zeros(parts, threads);
      noise[0][0] = sum > 0 ? 1 : -1;
      return noise;
    });
    ExactSums sums = SmallSums();
    sums.a[0] = sum;
    const auto status =
        home.gate->Release(RequestFor(home.run, 1), sums, Unchanged).status();
    EXPECT_EQ(ReasonCode(status), "noise-malformed");
    EXPECT_EQ(std::string(status.message()).find_first_of("0123456789"),
              std::string::npos);
    EXPECT_TRUE(home.Release(1).value().value().lost);
  }
}

TEST(ReleaseGate, Theorem7StoresWhatThePostProcessingMakes) {
  GateHome home(ReleaseGateForTesting::Zeros);
  const auto gradient = [](std::vector<NoisedMatrix> noised) {
    NoisedMatrix matrix;
    matrix.name = "gradient";
    matrix.rows = 1;
    matrix.columns = 1;
    matrix.is_lattice = false;
    matrix.reals = {static_cast<double>(noised[0].lattice[0]) / 3};
    return std::vector<NoisedMatrix>{matrix};
  };
  const auto released =
      home.gate->Release(RequestFor(home.run, 1), SmallSums(), gradient)
          .value();
  ASSERT_EQ(released.value().parts.size(), 1u);
  EXPECT_EQ(released.value().parts[0].reals[0], 100.0 / 3);
  EXPECT_EQ(home.gate->Find(RequestFor(home.run, 1))->value().value().parts,
            released.value().parts);
}

// The sigmas reach the entries that they belong to: diagonal entries stand at
// 0, 2 and 5 of the upper triangle by columns. The mean square of n = 1200
// normals lies within 7 sqrt(2/n) of its expectation but for a probability
// below 2e-10 (upper tail of chi-square with 1200 degrees of freedom), three
// times.
TEST(ReleaseGate, DiagonalAndOffDiagonalEntriesGetTheirOwnNoise) {
  constexpr int kRounds = 400;
  std::vector<PartPlan> parts = SmallParts();
  parts[0].stddev_steps = 1 << 29;
  parts[0].diagonal_stddev_steps = 1ull << 31;
  parts[1].stddev_steps = 1 << 30;
  const LedgerHome home;
  const auto ledger = home.OpenWithPeople();
  RunOpening opening = OpeningFor("run", kRounds);
  PriceRounds(&opening, CostOfDrawing(parts, Adjacency::kReplaceOne).value());
  ASSERT_TRUE(ledger->OpenRun(opening).ok());
  const auto gate =
      ReleaseGate::Create(ledger.get(), home.directory / "store", 1).value();
  double diagonal = 0, off_diagonal = 0, full = 0;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    RoundRequest request = RequestFor(opening, round);
    request.parts = parts;
    const auto released =
        gate->Release(request, SmallSums(), Unchanged).value();
    const auto square = [&](std::size_t part, std::size_t i, std::int64_t sum) {
      const double noise =
          static_cast<double>(released.value().parts[part].lattice[i] - sum);
      return noise * noise;
    };
    for (std::size_t i : {0, 2, 5}) diagonal += square(0, i, SmallSums().a[i]);
    for (std::size_t i : {1, 3, 4})
      off_diagonal += square(0, i, SmallSums().a[i]);
    for (std::size_t i : {0, 7, 14}) full += square(1, i, SmallSums().b[i]);
  }
  constexpr double kCount = 3.0 * kRounds;
  const auto expect_stddev = [&](double squares, double stddev) {
    EXPECT_NEAR(squares / kCount / (stddev * stddev), 1,
                7 * std::sqrt(2 / kCount));
  };
  expect_stddev(diagonal, 1ull << 31);
  expect_stddev(off_diagonal, 1 << 29);
  expect_stddev(full, 1 << 30);
}

// Whoever asks while the noise is being drawn gets the same bytes, not "lost".
TEST(ReleaseGate, ManyThreadsWithOneRequestGetOneRelease) {
  std::atomic<int> draws{0};
  GateHome home([&](const std::vector<PartPlan>& parts, int threads) {
    ++draws;
    return ReleaseGateForTesting::Zeros(parts, threads);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      if (t % 2 == 0) {
        const auto released = home.Release(1);
        ASSERT_TRUE(released.ok()) << released.status();
        EXPECT_FALSE(released->value().lost);
        EXPECT_EQ(released->value().parts[0].lattice, SmallSums().a);
      } else {
        const auto found = home.gate->Find(RequestFor(home.run, 1));
        ASSERT_TRUE(found.ok());
        EXPECT_FALSE(found->has_value() && (*found)->value().lost);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(draws, 1);
  EXPECT_EQ(home.Charged(), CostOfRound(home.run));
}

}  // namespace
}  // namespace dpnmf::curator
