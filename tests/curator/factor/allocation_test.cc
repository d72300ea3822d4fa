// Allocations of a round say nothing of the people: neighbours have the same
// number of allocations and the same number of bytes. Otherwise, if memory is
// short, one neighbour would be answered and the other refused.
//
// operator new is replaced in this program: it counts, and it can refuse.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <string>

#include "common/nmf/dictionary.h"
#include "curator/factor/moments.h"
#include "curator/factor/ratings_sums.h"
#include "curator/factor/statistics.h"
#include "gtest/gtest.h"
#include "tests/curator/each_mechanism.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/curator/factor/ratings_fixtures.h"

namespace {

struct Counts {
  std::uint64_t calls = 0, bytes = 0, most = 0;
  bool operator==(const Counts&) const = default;
};

std::atomic<std::uint64_t> calls, bytes, held, most_held;
std::atomic<std::uint64_t> refused_from = ~std::uint64_t{0};

// The size stands before what is handed out.
void* Allocate(std::size_t size, std::size_t alignment) {
  alignment = std::max(alignment, alignof(std::max_align_t));
  const std::uint64_t now = held += size;
  if (now > refused_from) {
    held -= size;
    throw std::bad_alloc();
  }
  for (std::uint64_t most = most_held;
       most < now && !most_held.compare_exchange_weak(most, now);) {
  }
  ++calls;
  bytes += size;
  const std::size_t whole = (size + 2 * alignment - 1) / alignment * alignment;
  void* const base = std::aligned_alloc(alignment, whole);
  if (base == nullptr) std::abort();
  auto* const given = static_cast<std::byte*>(base) + alignment;
  reinterpret_cast<std::size_t*>(given)[-1] = size;
  return given;
}

void Free(void* given, std::size_t alignment) {
  if (given == nullptr) return;
  alignment = std::max(alignment, alignof(std::max_align_t));
  held -= static_cast<std::size_t*>(given)[-1];
  std::free(static_cast<std::byte*>(given) - alignment);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* given) noexcept { Free(given, 0); }
void operator delete(void* given, std::size_t) noexcept { Free(given, 0); }
void operator delete(void* given, std::align_val_t alignment) noexcept {
  Free(given, static_cast<std::size_t>(alignment));
}
void operator delete(void* given, std::size_t,
                     std::align_val_t alignment) noexcept {
  Free(given, static_cast<std::size_t>(alignment));
}

namespace dpnmf::curator {
namespace {

constexpr int kFeatures = 5000, kUsers = 37, kRank = 3, kBits = 16;

Counts CountsOf(const std::function<void()>& work) {
  const std::uint64_t calls_before = calls, bytes_before = bytes,
                      held_before = held;
  most_held = held_before;
  work();
  return {calls - calls_before, bytes - bytes_before, most_held - held_before};
}

StatisticsRequest RequestFor(const Eigen::MatrixXd& w, bool outliers) {
  StatisticsRequest request;
  request.w = &w;
  request.outliers = outliers;
  request.lambda = 1e-4;
  request.outlier_bound = 1;
  request.inner_iterations = 2;
  request.coefficient_bits = request.data_bits = kBits;
  return request;
}

using Round = std::function<void(const Dataset& data, int threads)>;

struct Kind {
  std::string name;
  Round round;
  // Bound on the bytes held, from public numbers.
  std::function<std::uint64_t(const Dataset& data, int threads)> most;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const Eigen::MatrixXd& Dictionary() {
  static const Eigen::MatrixXd w = RandomDictionary(kFeatures, kRank, 7);
  return w;
}

RoundShape ShapeOf(const Dataset& data, bool outliers, bool objective,
                   int threads) {
  return {.features = kFeatures,
          .rank = kRank,
          .users = LargestUserCount(FactsOf(data.description())),
          .sparse = data.sparse(),
          .outliers = outliers,
          .objective = objective,
          .threads = threads};
}

// H is there before the round, as in a run.
Kind Statistics(bool outliers) {
  return {
      outliers ? "statistics with outliers" : "statistics",
      [outliers](const Dataset& data, int threads) {
        static std::unique_ptr<Coefficients> h;
        const std::uint64_t users =
            LargestUserCount(FactsOf(data.description()));
        if (h == nullptr || h->users() != users)
          h = std::make_unique<Coefficients>(kRank, users);
        ASSERT_TRUE(ComputeStatistics(data, RequestFor(Dictionary(), outliers),
                                      {threads, 0}, h.get())
                        .ok());
      },
      [outliers](const Dataset& data, int threads) {
        return StatisticsBytes(ShapeOf(data, outliers, false, threads));
      }};
}

const Kind kKinds[] = {
    Statistics(false),
    Statistics(true),
    {"objective",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(
           ComputeObjective(data, RequestFor(Dictionary(), false), {threads, 0})
               .ok());
     },
     [](const Dataset& data, int threads) {
       return StatisticsBytes(ShapeOf(data, false, true, threads)) +
              8 * kRank * LargestUserCount(FactsOf(data.description()));
     }},
    {"mean",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(ComputeMean(data, 1, kBits, {threads, 0}).ok());
     },
     [](const Dataset& data, int threads) {
       return MeanBytes(kFeatures,
                        LargestUserCount(FactsOf(data.description())), threads);
     }},
    {"moments",
     [](const Dataset& data, int threads) {
       static constexpr std::uint32_t kRows[] = {0, 1, 2, 40, 600, 4999};
       ASSERT_TRUE(ComputeMoments(data, kRows, 1, kBits, {threads, 0}).ok());
     },
     [](const Dataset& data, int threads) {
       return MomentsBytes(6, kFeatures,
                           LargestUserCount(FactsOf(data.description())),
                           threads);
     }},
};

// One person's column is empty in one and full in the other.
Eigen::MatrixXf Columns(bool full, int users = kUsers) {
  Eigen::MatrixXf v = RandomColumns(kFeatures, users, 3, 0.01);
  v.col(5) = full ? Eigen::VectorXf::Constant(kFeatures, 0.01F).eval()
                  : Eigen::VectorXf::Zero(kFeatures).eval();
  return v;
}

class Allocation : public testing::TestWithParam<Kind> {
 protected:
  Counts Of(const Dataset& data, int threads) const {
    GetParam().round(data, threads);  // what is made once is made
    const Counts counts = CountsOf([&] { GetParam().round(data, threads); });
    // Memory of threads and std::function is not part of the bound.
    EXPECT_LE(counts.most, GetParam().most(data, threads) + 4096)
        << threads << " threads, " << (data.sparse() ? "sparse" : "dense");
    EXPECT_GE(2 * counts.most + 65536, GetParam().most(data, threads))
        << "a bound that is far too large refuses runs that there is room for";
    return counts;
  }
};
INSTANTIATE_TEST_SUITE_P(Rounds, Allocation, testing::ValuesIn(kKinds),
                         [](const auto& kind) {
                           std::string name = kind.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_P(Allocation, IsTheSameWhetherAPersonsColumnIsEmptyOrFull) {
  for (const bool sparse : {true, false}) {
    const auto empty =
        sparse ? SparseOf(Columns(false)) : DenseOf(Columns(false));
    const auto full = sparse ? SparseOf(Columns(true)) : DenseOf(Columns(true));
    EXPECT_EQ(Of(*empty, 1), Of(*full, 1));
    // At once, threads may hold a few bytes more or less of their own.
    const Counts a = Of(*empty, 3), b = Of(*full, 3);
    EXPECT_EQ(a.calls, b.calls);
    EXPECT_EQ(a.bytes, b.bytes);
  }
}

TEST_P(Allocation, IsTheSameHoweverManyPeopleWhereTheirNumberIsPrivate) {
  DatasetDescription description;
  description.adjacency = Adjacency::kAddRemoveOne;
  description.users = 32;
  const auto with = [&](int users) {
    return SparseOf(Columns(true, users), description);
  };
  const auto data = with(16);
  const Counts one = Of(*data, 1), three = Of(*data, 3);
  for (const int users : {17, 32, 33, 49, 300}) {
    const auto neighbour = with(users);
    EXPECT_EQ(Of(*neighbour, 1), one) << users;
    const Counts counts = Of(*neighbour, 3);
    EXPECT_EQ(counts.calls, three.calls) << users;
    EXPECT_EQ(counts.bytes, three.bytes) << users;
  }
}

// Wherever memory ends: both neighbours are refused, or both are answered.
TEST_P(Allocation, ThatIsRefusedIsRefusedToBothNeighbours) {
  const auto empty = SparseOf(Columns(false)), full = SparseOf(Columns(true));
  const Counts counts = Of(*empty, 1);
  const auto answered = [&](const Dataset& data, std::uint64_t limit) {
    refused_from = held + limit;
    bool thrown = false;
    try {
      GetParam().round(data, 1);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    refused_from = ~std::uint64_t{0};
    return !thrown;
  };
  int refusals = 0;
  for (int eighths = 1; eighths <= 8; ++eighths) {
    const std::uint64_t limit = counts.most * eighths / 8;
    const bool of_empty = answered(*empty, limit);
    EXPECT_EQ(of_empty, answered(*full, limit)) << eighths;
    refusals += of_empty ? 0 : 1;
  }
  EXPECT_EQ(refusals, 7);
}

// ---------------------------------------------------------------- ratings

const std::vector<std::uint32_t>& NamedRows() {
  static const std::vector<std::uint32_t> rows = {0, 1, 2, 40, 600, 4999};
  return rows;
}

RatingsRequest RatedModel() {
  static const Eigen::MatrixXd model = RandomModel(kFeatures, kRank, 7);
  return {&model, 1};
}

std::uint64_t MostOfRatings(const Dataset& data, int threads,
                            std::uint64_t rank, std::uint64_t entries) {
  return RatingsBytes({.features = kFeatures,
                       .rank = rank,
                       .entries = entries,
                       .users = LargestUserCount(FactsOf(data.description())),
                       .threads = threads});
}

const Kind kRatings[] = {
    {"items",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(ComputeItemSums(data, Adjacency::kReplaceOne,
                                   ItemsLatticeOf(kStars, kBits), {threads, 0})
                       .ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, 0, 2 + 2 * kFeatures);
     }},
    {"co-ratings",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(
           ComputeCoRatings(data, NamedRows(), {}, kBits, {threads, 0}).ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, 0, 21);
     }},
    {"co-ratings-damped",
     [](const Dataset& data, int threads) {
       const Damping damping{std::vector<std::uint32_t>(NamedRows().size(), 20),
                             40};
       ASSERT_TRUE(
           ComputeCoRatings(data, NamedRows(), damping, kBits, {threads, 0})
               .ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, 0, 21 + NamedRows().size() + 1);
     }},
    {"profiles",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(
           ComputeProfileMoments(data, RatedModel(), kRank, kBits, {threads, 0})
               .ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, kRank, 6);
     }},
    {"residuals",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(ComputeResidualMoments(data, RatedModel(), NamedRows(),
                                          kBits, {threads, 0})
                       .ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, kRank, 21);
     }},
    {"corrections",
     [](const Dataset& data, int threads) {
       ASSERT_TRUE(
           ComputeCorrections(data, RatedModel(), 2, kBits, kBits, {threads, 0})
               .ok());
     },
     [](const Dataset& data, int threads) {
       return MostOfRatings(data, threads, kRank, 3 * (kFeatures + 3));
     }},
};

class RatingsAllocation : public testing::TestWithParam<Kind> {
 protected:
  // One person has rated nothing in one, everything in the other.
  static std::vector<Ratings> People(bool full, int users = kUsers) {
    std::vector<Ratings> people = RandomPeople(users, kFeatures, 3);
    people[5].clear();
    for (int item = 0; full && item < kFeatures; ++item)
      people[5][item] = 10'000 + item;
    return people;
  }
  Counts Of(const Dataset& data, int threads) const {
    GetParam().round(data, threads);
    const Counts counts = CountsOf([&] { GetParam().round(data, threads); });
    EXPECT_LE(counts.most, GetParam().most(data, threads) + 4096);
    EXPECT_GE(2 * counts.most + 65536, GetParam().most(data, threads));
    return counts;
  }
};
INSTANTIATE_TEST_SUITE_P(Rounds, RatingsAllocation, testing::ValuesIn(kRatings),
                         [](const auto& kind) {
                           std::string name = kind.param.name;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(RatingsAllocation, IsTheSameWhateverPeopleHaveRated) {
  const auto empty = RatingsOf(People(false), kFeatures);
  const auto full = RatingsOf(People(true), kFeatures);
  EXPECT_EQ(Of(*empty, 1), Of(*full, 1));
  const Counts a = Of(*empty, 3), b = Of(*full, 3);
  EXPECT_EQ(a.calls, b.calls);
  EXPECT_EQ(a.bytes, b.bytes);
}

TEST_P(RatingsAllocation, IsTheSameHoweverManyPeopleWhereTheirNumberIsPrivate) {
  const auto with = [](int users) {
    DatasetDescription description;
    description.name = description.population = "people";
    description.features = kFeatures;
    description.users = 32;
    description.adjacency = Adjacency::kAddRemoveOne;
    description.ratings = kStars;
    std::vector<std::int64_t> indptr = {0};
    std::vector<std::int32_t> items, units;
    for (int user = 0; user < users; ++user) {
      items.push_back(user);
      units.push_back(20'000);
      indptr.push_back(user + 1);
    }
    return *Dataset::FromRatings(description, indptr, items, units);
  };
  const auto data = with(16);
  const Counts one = Of(*data, 1), three = Of(*data, 3);
  for (const int users : {17, 32, 300}) {
    const auto neighbour = with(users);
    EXPECT_EQ(Of(*neighbour, 1), one) << users;
    const Counts counts = Of(*neighbour, 3);
    EXPECT_EQ(counts.calls, three.calls) << users;
    EXPECT_EQ(counts.bytes, three.bytes) << users;
  }
}

// ------------------------------------------------- every kind of the table

// The rounds of one kind as a session computes them, and what the quota counts.
class ReleaseAllocation : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kFew = 300, kRows = 8;

  static std::vector<std::unique_ptr<Dataset>> Neighbours(
      Person person, int users = kUsers, DatasetDescription description = {}) {
    const Holds holds = DataFor(MechanismOf(GetParam()));
    std::vector<std::unique_ptr<Dataset>> data;
    data.push_back(PeopleWith(holds, person, kFew, users, description));
    if (holds == Holds::kColumns) {
      data.push_back(
          PeopleWith(holds, person, kFew, users, description, /*sparse=*/true));
    }
    return data;
  }

  static Counts Of(const Dataset& data, int threads) {
    const ReleaseKind& kind = ReleaseKindOf(GetParam());
    const DatasetFacts facts = FactsOf(data.description());
    const RunParameters parameters =
        RunOfEach(MechanismOf(GetParam()), facts, kRank, kRows);
    const RunPlan plan = PlanRun(parameters, facts).value();
    const RoundInput input = InputOf(GetParam(), parameters, facts);
    EXPECT_TRUE(kind.check(input, parameters, facts).ok());
    std::unique_ptr<Coefficients> h;
    const RoundContext context{data, parameters, plan, {threads, 0}, &h};
    const auto round = [&] { ASSERT_TRUE(kind.sums(input, context).ok()); };
    round();  // what is made once is made
    const Counts counts = CountsOf(round);
    // H of the objective lives no longer than its round.
    const RoundMemory memory =
        kind.memory(parameters, data.description(), threads);
    EXPECT_LE(counts.most, memory.computing + 4096 +
                               (h == nullptr ? memory.coefficients : 0));
    return counts;
  }

  static void ExpectAlike(const Dataset& one, const Dataset& other) {
    EXPECT_EQ(Of(one, 1), Of(other, 1));
    const Counts a = Of(one, 3), b = Of(other, 3);
    EXPECT_EQ(a.calls, b.calls);
    EXPECT_EQ(a.bytes, b.bytes);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ReleaseAllocation,
                         testing::ValuesIn(ReleaseNames()),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::erase_if(name, [](char c) {
                             return c == '-' || c == ' ';
                           });
                           return name;
                         });

TEST_P(ReleaseAllocation, IsTheSameForNeighbours) {
  const auto empty = Neighbours(Person::kEmpty);
  const auto full = Neighbours(Person::kFull);
  for (std::size_t i = 0; i < empty.size(); ++i)
    ExpectAlike(*empty[i], *full[i]);
}

TEST_P(ReleaseAllocation, IsTheSameHoweverManyPeopleWhereTheirNumberIsPrivate) {
  DatasetDescription description;
  description.adjacency = Adjacency::kAddRemoveOne;
  description.users = 32;
  const auto data = Neighbours(Person::kFull, 16, description);
  for (const int users : {17, 300}) {
    const auto other = Neighbours(Person::kFull, users, description);
    for (std::size_t i = 0; i < data.size(); ++i)
      ExpectAlike(*data[i], *other[i]);
  }
}

}  // namespace
}  // namespace dpnmf::curator
