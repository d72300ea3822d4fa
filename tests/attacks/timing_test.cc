// Attack: learn about the data from when a reply leaves.
//
// Two classes of data sets that differ as much as the declared bounds allow;
// which one answers is tossed again for every reply, so that whatever else the
// machine does hits both alike. Welch's t of the instant within its tick at
// which the pacer lets the reply go; the same without pacing must tell the
// classes apart. |t| < 5.5, two t values a case: a silent clock fails a case
// with a probability of at most 2 x 3.8e-8 = 7.6e-8.
//
// What runs after that instant is not measured: it takes about a nanosecond
// more or less with what the caches hold.
//
// Likewise for the number of whole ticks that a reply takes, for whether it
// overran (with a tick so long that a busy machine seldom makes it), and for
// the whole ticks of rounds that do overrun, by little and by much.
//
// A list for a person leaves without a tick, and takes longer for more ratings.
// An analyst writes the model that lists are made from: its numbers may not
// make them much longer for people whom the analyst chose.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/log/log.h"
#include "curator/factor/statistics.h"
#include "curator/noise/noise.h"
#include "curator/recommend/recommender.h"
#include "curator/session/pacing.h"
#include "gtest/gtest.h"
#include "tests/attacks/welch.h"
#include "tests/common/ratings/sample_model.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/curator/recommend/rated.h"

namespace dpnmf::curator {
namespace {

using std::chrono::nanoseconds;

constexpr double kSilent = 5.5;
// Set for the slow run.
const bool kManyReplies = std::getenv("DPNMF_MANY_REPLIES") != nullptr;
const int kPacedReplies = kManyReplies ? 100'000 : 10'000;
const int kFreeReplies = kManyReplies ? 20'000 : 5'000;
constexpr int kCalmReplies = 300, kOverruns = 300;
constexpr nanoseconds kTick = std::chrono::microseconds(50);
constexpr nanoseconds kCalmTick = std::chrono::milliseconds(2);
constexpr int kFeatures = 64, kUsers = 16, kRank = 4;

// A fixed data set against random ones, which share all the bounds.
struct Classes {
  std::string name;
  bool outliers = false;
  std::unique_ptr<Dataset> fixed;
  std::vector<std::unique_ptr<Dataset>> random;
};

// Every column dense against columns with at most a few entries.
Classes DenseAgainstNearlyEmpty() {
  Classes classes{"dense or nearly empty", false, nullptr, {}};
  classes.fixed = SparseOf(RandomColumns(kFeatures, kUsers, 1));
  for (int i = 0; i < 8; ++i) {
    classes.random.push_back(
        SparseOf(RandomColumns(kFeatures, kUsers, 2 + i, 0.02)));
  }
  return classes;
}

// Neighbours: one user of sixteen is dense, or nearly empty.
Classes OneUser() {
  Classes classes{"one user", false, nullptr, {}};
  Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 1, 0.05);
  v.col(5) = RandomColumns(kFeatures, 1, 9);
  classes.fixed = SparseOf(v);
  for (int i = 0; i < 8; ++i) {
    v.col(5) = RandomColumns(kFeatures, 1, 10 + i, 0.02);
    classes.random.push_back(SparseOf(v));
  }
  return classes;
}

// Columns that W explains against columns that are outliers throughout.
Classes ManyOutliersAgainstNone() {
  Classes classes{"many outliers or none", true, nullptr, {}};
  classes.fixed = SparseOf(Eigen::MatrixXf::Zero(kFeatures, kUsers));
  for (int i = 0; i < 8; ++i) {
    classes.random.push_back(SparseOf(RandomColumns(kFeatures, kUsers, 2 + i)));
  }
  return classes;
}

// Notes when it lets the last sleeper go.
class NotingClock final : public PaceClock {
 public:
  nanoseconds Now() const override { return clock_.Now(); }
  void SleepUntil(nanoseconds instant) override {
    clock_.SleepUntil(instant);
    left_ = clock_.Now();
  }
  nanoseconds left() const { return left_; }

 private:
  SteadyPaceClock clock_;
  nanoseconds left_{};
};

class Reply {
 public:
  Reply(const Classes& classes, bool paced, nanoseconds tick = kTick)
      : classes_(classes),
        tick_(tick),
        paced_(paced),
        seed_(std::random_device()()),
        random_(seed_),
        w_(RandomW(kFeatures, kRank, 3)),
        pacer_(tick, &clock_) {
    std::printf("seed %u\n", seed_);
    request_.w = &w_;
    request_.outliers = classes.outliers;
    request_.lambda = 0.01;
    request_.outlier_bound = 1;
  }

  // The time of the reply: within its tick if paced, else since its begin.
  Measurement Measure() {
    const int kind = random_() % 2;
    const Dataset& data =
        kind == 0 ? *classes_.fixed
                  : *classes_.random[random_() % classes_.random.size()];
    const auto h = std::make_shared<Coefficients>(kRank, kUsers);
    const int overruns = overruns_;
    const nanoseconds begin = clock_.Now();
    Answer(data, h);
    // The tick itself: never one that the end of the work chose.
    if (paced_) {
      EXPECT_GE(clock_.left() - begin, 2 * tick_);
      overran_.push_back({kind, static_cast<double>(overruns_ - overruns)});
      ticks_.push_back(
          {kind, static_cast<double>((clock_.left() - begin) / tick_)});
    }
    const nanoseconds seen =
        paced_ ? clock_.left() % tick_ : clock_.Now() - begin;
    return {kind, static_cast<double>(seen.count())};
  }
  int overruns() const { return overruns_; }
  // One value for each paced reply: 1 if it overran, and its whole ticks.
  const std::vector<Measurement>& overran() const { return overran_; }
  const std::vector<Measurement>& ticks() const { return ticks_; }

 private:
  void Answer(const Dataset& data, const std::shared_ptr<Coefficients>& h) {
    const auto work = [this, &data, h](const Pacer::Expired& expired) {
      Execution execution;
      execution.stop = expired;
      return ComputeStatistics(data, request_, execution, h.get()).status();
    };
    if (!paced_) {
      EXPECT_TRUE(work(nullptr).ok());
      return;
    }
    // A machine that stops for a while makes overruns; each is a stranger's.
    const std::string identity = std::to_string(overruns_);
    if (!pacer_.Run(identity, work).ok()) ++overruns_;
    // Between the ticks stands what a round does there: it draws its noise.
    FillGaussian(NoiseKey::Fresh(), 0, std::uint64_t{1} << 26, 1, 1, noise_);
    pacer_.AwaitTick();
  }

  const Classes& classes_;
  NotingClock clock_;
  const nanoseconds tick_;
  const bool paced_;
  const unsigned seed_;
  std::mt19937_64 random_;
  const Eigen::MatrixXd w_;
  StatisticsRequest request_;
  std::vector<std::int64_t> noise_ =
      std::vector<std::int64_t>(kFeatures * kRank);
  int overruns_ = 0;
  std::vector<Measurement> overran_, ticks_;
  Pacer pacer_;  // last: work that overran ends before what it uses
};

std::vector<Measurement> Measure(Reply* reply, int count) {
  std::vector<Measurement> measurements;
  for (int i = 0; i < count; ++i) measurements.push_back(reply->Measure());
  return measurements;
}

double TOf(const Classes& classes, bool paced) {
  Reply reply(classes, paced);
  const std::vector<Measurement> measurements =
      Measure(&reply, paced ? kPacedReplies : kFreeReplies);
  const double t = LargestT(measurements);
  std::printf("%s, %s: |t| = %.2f over %zu replies, %d overruns\n",
              classes.name.c_str(), paced ? "paced" : "free", t,
              measurements.size(), reply.overruns());
  return t;
}

// Checks that there is something to hide. A busy machine blurs the times, so
// there are several attempts; replies that show nothing fail all of them.
void ExpectFreeRepliesTell(const Classes& classes) {
  constexpr int kAttempts = 10;
  double t = 0;
  for (int i = 0; i < kAttempts && !(t > 2 * kSilent); ++i)
    t = TOf(classes, false);
  EXPECT_GT(t, 2 * kSilent);
}
double PacedT(const Classes& classes) { return TOf(classes, true); }

// Two t values each, as above.
void ExpectTicksAndOverrunsTellNothing(const Classes& classes) {
  Reply reply(classes, true, kCalmTick);
  Measure(&reply, kCalmReplies);
  EXPECT_LT(LargestT(reply.ticks()), kSilent);
  EXPECT_LT(LargestT(reply.overran()), kSilent);
}

// A machine that stops for a while makes warnings that nobody needs here.
class Timing : public ::testing::Test {
 protected:
  Timing() { SetLogLevel("error"); }
};

TEST_F(Timing, DenseAgainstNearlyEmptyColumns) {
  const Classes classes = DenseAgainstNearlyEmpty();
  ExpectFreeRepliesTell(classes);
  EXPECT_LT(PacedT(classes), kSilent);
}

TEST_F(Timing, WholeTicksAndOverrunsOfEveryClass) {
  for (const Classes& classes :
       {DenseAgainstNearlyEmpty(), OneUser(), ManyOutliersAgainstNone()}) {
    SCOPED_TRACE(classes.name);
    ExpectTicksAndOverrunsTellNothing(classes);
  }
}

// Work that does not stop when it is told to, as within a block of users: for 3
// ticks or for 20. It sleeps, so that no core is busier in one class than in
// the other.
TEST_F(Timing, AnOverrunTellsNoMoreThanThatItOverran) {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  std::vector<Measurement> ticks;
  NotingClock clock;
  for (int i = 0; i < kOverruns; ++i) {
    const int kind = random() % 2;
    Pacer pacer(kTick, &clock);
    const nanoseconds begin = clock.Now();
    const absl::Status status =
        pacer.Run("dns:analyst", [=](const Pacer::Expired&) {
          SteadyPaceClock().SleepUntil(begin + (kind == 0 ? 3 : 20) * kTick);
          return absl::OkStatus();
        });
    EXPECT_FALSE(status.ok());
    ticks.push_back(
        {kind, static_cast<double>((clock.left() - begin) / kTick)});
  }
  EXPECT_LT(LargestT(ticks), kSilent);
}

TEST_F(Timing, OneUserOfSixteen) {
  const Classes classes = OneUser();
  ExpectFreeRepliesTell(classes);
  EXPECT_LT(PacedT(classes), kSilent);
}

TEST_F(Timing, ManyOutliersAgainstNone) {
  const Classes classes = ManyOutliersAgainstNone();
  ExpectFreeRepliesTell(classes);
  EXPECT_LT(PacedT(classes), kSilent);
}

// ---- Lists

double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// Two people with as many ratings, and a model of the analyst's: neither list
// takes `kMostRatio` times as long as the other. The least processor time of
// many lists in turns, since what else the machine does only adds to some of
// them. Without a path that the model makes slow for one of the two they differ
// by a few per cent.
void ExpectListsThatTakeAsLong(const ItemModel& model, const Record& first,
                               const Record& second, std::uint32_t top) {
  constexpr int kLists = 200;
  constexpr double kMostRatio = 2;
  NamedItemModel named = SampleItemModel(static_cast<int>(model.base.size()),
                                         /*q=*/1, /*k=*/0);
  named.model = model;
  const std::vector<std::string> items = named.items;
  const Recommender recommender =
      Recommender::Create(std::move(named), items, {}, OneToFive()).value();
  const auto data = RatedBy({first, second}, static_cast<int>(items.size()));
  for (const bool by_rating : {false, true}) {
    std::array<double, 2> least;
    least.fill(std::numeric_limits<double>::infinity());
    for (int i = 0; i < 2 * kLists; ++i) {
      const std::uint64_t person = i % 2;
      const double start = ProcessorSeconds();
      const auto list = recommender.Recommend(
          data->RatingsOf(person), {.top = top, .by_rating = by_rating});
      const double seconds = ProcessorSeconds() - start;
      ASSERT_TRUE(list.ok()) << list.status();
      least[person] = std::min(least[person], seconds);
    }
    std::printf("lists by %s: %.1f and %.1f microseconds\n",
                by_rating ? "rating" : "relevance", 1e6 * least[0],
                1e6 * least[1]);
    EXPECT_LT(least[0], kMostRatio * least[1]);
    EXPECT_LT(least[1], kMostRatio * least[0]);
  }
}

constexpr int kListItems = 300;

// Ratings of ten items, `first` and those after it.
Record TenRatings(int first) {
  Record record;
  for (int item = first; item < first + 10; ++item)
    record[item] = 10'000 * (1 + item % 5);
  return record;
}

// Rows of `ranking` are long. The taste of whoever rated the chosen item is at
// a right angle to them, and the other has none: so popularity alone orders
// both lists. A search that stops where no item can be better looks at all
// items for the one, and at few for the other.
TEST_F(Timing, ListsOfWhoeverHasATasteThatTellsNothing) {
  constexpr int kMany = 50'000, kTastes = 32, kChosen = kMany - 20;
  ItemModel model = SampleItemModel(kMany, /*q=*/1, kTastes).model;
  model.popularity = Eigen::VectorXd::LinSpaced(kMany, 0, -7).array().exp();
  model.base.setConstant(3);
  model.ranking.setZero();
  model.ranking.col(1).head(kChosen).setConstant(10);
  model.ranking(kChosen, 0) = 10;
  ExpectListsThatTakeAsLong(model, TenRatings(kChosen), TenRatings(kChosen + 1),
                            kDefaultTop);
}

// Whoever rates as the model expects is at the minimum from the beginning; the
// other's is far along a narrow valley.
TEST_F(Timing, ListsOfWhoeverIsFarFromTheMinimumWithinBounds) {
  constexpr int kParts = 16;
  ItemModel model = SampleItemModel(kListItems, kParts, 0).model;
  model.level = 0.5;
  model.residual_stddev = 0.01;
  model.base.setConstant(3);
  for (int i = 0; i < kListItems; ++i)
    for (int k = 0; k < kParts; ++k)
      model.loadings(i, k) = 1 + 0.1 * ((7 * i + 3 * k) % 11);
  Record expected = TenRatings(0), other = expected;
  for (auto& [item, rating] : expected) rating = 30'000;
  for (auto& [item, rating] : other) rating = item % 2 == 0 ? 10'000 : 20'000;
  ExpectListsThatTakeAsLong(model, expected, other, kDefaultTop);
}

}  // namespace
}  // namespace dpnmf::curator
