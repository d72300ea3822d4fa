// Large dictionaries pass through the whole path: W out in chunks, sums, noise,
// store, release back. No message comes near gRPC's cap, which holds in process
// as on the network.
#include "analyst/curators/curator_client.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kPeople = 64;

// Ten entries a person, spread over the features.
std::unique_ptr<curator::Dataset> SparseDataset(std::uint64_t features) {
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  for (std::uint64_t n = 0; n < kPeople; ++n) {
    for (std::uint64_t i = 0; i < 10; ++i) {
      indices.push_back(static_cast<std::int32_t>(i * (features / 10) + n));
      values.push_back(0.3f);
    }
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  curator::DatasetDescription description;
  description.name = "large";
  description.population = "people";
  description.features = features;
  description.users = kPeople;
  description.epsilon = 4;
  description.delta = 1e-5;
  description.sparse = true;
  return curator::Dataset::FromSparse(description, indptr, indices, values)
      .value();
}

struct Shape {
  std::uint64_t features;
  std::uint32_t rank;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.features << "x" << shape.rank;
}

class LargeMatrices : public curator::CuratorFixture,
                      public ::testing::WithParamInterface<Shape> {
 protected:
  LargeMatrices() {
    Stop();
    std::vector<std::unique_ptr<curator::Dataset>> datasets;
    datasets.push_back(SparseDataset(GetParam().features));
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
    access_ = curator::AccessControl::FromGrants(
        {{"dns:analyst", {Role::kAnalyst}, {"large"}, false, {}}});
    Start();
  }
};

TEST_P(LargeMatrices, PassInBothDirections) {
  const auto [features, rank] = GetParam();
  RunParameters parameters = curator::SmallRun();
  parameters.dataset = "large";
  parameters.rank = rank;
  const auto connection = analyst::ConnectCurator(server_->InProcessChannel({}),
                                                  std::chrono::seconds(60));
  const auto stream = connection->NewStream();
  ASSERT_TRUE(
      stream->Open("0123456789abcdef0123456789abcdef", ToProto(parameters))
          .ok());
  const auto result = stream->Round(1, RandomDictionary(features, rank, 1));
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->parts.size(), 2u);
  EXPECT_EQ(result->parts[1].lattice.size(), features * rank);
  EXPECT_TRUE(stream->Close().ok());
}

INSTANTIATE_TEST_SUITE_P(Shapes, LargeMatrices,
                         ::testing::Values(Shape{10'285, 30},
                                           Shape{100'000, 50}));

}  // namespace
}  // namespace dpnmf
