#include "curator/import/readers/feature_weights.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/import/columns.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

using Weights = std::vector<double>;
const std::vector<std::string> kThreeNames = {"a", "new york", "c, d"};

class FeatureWeightsTest : public testing::Test {
 protected:
  absl::StatusOr<Weights> Load(const std::string& text,
                               const std::vector<std::string>& names = {}) {
    return LoadFeatureWeights(scratch_.Write("weights", text), names, 3);
  }

  ImportOptions Options(const std::string& name, const std::string& weights) {
    ImportOptions options =
        RowsImport(scratch_.path() + "/data",
                   scratch_.Write("v.csv", "1,2,2\n0,3,4\n5,0,0\n"), name,
                   "people", 1, 1e-6);
    options.label_columns = 0;
    if (!weights.empty())
      options.feature_weights_file = scratch_.Write("w", weights);
    return options;
  }

  // The columns as they are stored.
  std::vector<std::vector<float>> Stored(const std::string& name) {
    const auto dataset =
        Dataset::Open(DatasetDirectory(scratch_.path() + "/data", name));
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    std::vector<std::vector<float>> columns;
    for (std::uint64_t n = 0; n < (*dataset)->private_user_count(); ++n) {
      const auto column = (*dataset)->DenseColumn(n);
      columns.emplace_back(column.begin(), column.end());
    }
    return columns;
  }

  Scratch scratch_;
};

TEST_F(FeatureWeightsTest, AreReadInOrderOrByName) {
  EXPECT_EQ(Load("1\n0.5\r\n0\n").value(), (Weights{1, 0.5, 0}));
  EXPECT_EQ(Load("2e0\n-0\n1e-12\n\n").value(), (Weights{2, 0, 1e-12}));
  const Weights expected = {1, 2, 3};
  for (const char* text :
       {"a\t1\nnew york\t2\nc, d\t3\n", "\"c, d\",3\na,1\nnew york,2\n",
        "feature,idf\na,1\nnew york,2\nc, d,3\n", "new york 2\na 1\nc, d,3\n"})
    EXPECT_EQ(Load(text, kThreeNames).value(), expected) << text;
  EXPECT_EQ(Load("1\n2\n3\n", kThreeNames).value(), expected);
}

// write.table, write.csv and pandas' Series.to_csv.
TEST_F(FeatureWeightsTest, AreReadAsProgramsWriteThem) {
  const Weights expected = {1, 2.5, 3};
  for (const char* text :
       {"\"feature\" \"idf\"\n\"a\" 1\n\"new york\" 2.5\n\"c, d\" 3\n",
        "\"\",\"x\"\n\"a\",1\n\"new york\",2.5\n\"c, d\",3\n",
        ",0\na,1.0\nnew york,2.5\n\"c, d\",3.0\n",
        "\"a\",\"1\"\n\"new york\",\"2.5\"\n\"c, d\",\"3\"\n",
        "name;weight\na;1\nnew york;2.5\nc, d;3\n",
        "\xEF\xBB\xBF\"feature\"\t\"idf\"\r\na\t1\r\nnew york\t2.5\r\nc, "
        "d\t3\r\n"})
    EXPECT_EQ(Load(text, kThreeNames).value(), expected) << text;
  for (const char* text : {"weight\n1\n2.5\n3\n", "\"x\"\n\"1\"\n2.5\n3\n"})
    EXPECT_EQ(Load(text).value(), expected) << text;
}

TEST_F(FeatureWeightsTest, AHeaderIsTold) {
  std::vector<std::string> said;
  const auto note = [&](const std::string& s) { said.push_back(s); };
  const std::string path = scratch_.Write("w", "idf\n1\n2\n");
  ASSERT_TRUE(LoadFeatureWeights(path, {}, 2, note).ok());
  EXPECT_EQ(said, (std::vector<std::string>{
                      "`" + path + "`: line 1 is a header, no weight"}));
  said.clear();
  ASSERT_TRUE(
      LoadFeatureWeights(scratch_.Write("w", "1\n2\n"), {}, 2, note).ok());
  EXPECT_TRUE(said.empty());
}

TEST_F(FeatureWeightsTest, AreRefusedByTheirCause) {
  const struct {
    const char *text, *code, *sentence;
  } cases[] = {
      {"a;0,5\nnew york;1\nc, d;1\n", "input-not-a-number",
       "line 1: '0,5' has a decimal comma; write decimal numbers with a point"},
      {"a 0,5\nnew york 1\nc, d 1\n", "features-mismatch",
       "no feature has the name 'a 0'; remove the line, or write decimal "
       "numbers with a point"},
      {"\"1\",\"a\",2\n", "input-ragged", "line 1, column 1: the line has 3"},
      {"a,NA\nnew york,1\nc,1\n", "input-not-a-number", "line 1: 'NA'"}};
  for (const auto& one : cases) {
    const absl::Status status = Load(one.text, kThreeNames).status();
    EXPECT_EQ(ReasonCode(status), one.code) << status;
    EXPECT_NE(std::string(status.message()).find(one.sentence),
              std::string::npos)
        << status;
  }
}

TEST_F(FeatureWeightsTest, AreRefusedUnlessEveryFeatureHasOne) {
  const struct {
    const char *text, *code;
    bool named = false;
  } cases[] = {{"1\n2\n", "features-mismatch"},
               {"1\n2\n3\n4\n", "features-mismatch"},
               {"", "features-mismatch"},
               {"a,1\nb,2\nc,3\n", "features-mismatch"},
               {"a,1\nnew york,2\n", "features-mismatch", true},
               {"a,1\nnew york,2\nx,3\n", "features-mismatch", true},
               {"a,1\na,1\nnew york,2\n", "input-duplicate", true},
               {"1\nnew york,2\n3\n", "input-malformed", true},
               {"1\n-2\n3\n", "input-negative"},
               {"1\nnan\n3\n", "input-not-finite"},
               {"1\ninf\n3\n", "input-not-finite"},
               {"1\n1e-13\n3\n", "input-out-of-range"},
               {"1\n1e13\n3\n", "input-out-of-range"},
               {"1\nx\n3\n", "input-not-a-number"},
               {"a,1\nnew york,x\nc,3\n", "input-not-a-number", true},
               {"0\n0\n0\n", "weights-zero"}};
  for (const auto& one : cases) {
    const auto weights =
        Load(one.text, one.named ? kThreeNames : std::vector<std::string>());
    EXPECT_EQ(ReasonCode(weights.status()), one.code) << one.text;
  }
  EXPECT_EQ(
      ReasonCode(LoadFeatureWeights(scratch_.path() + "/none", {}, 3).status()),
      "input-not-found");
  EXPECT_EQ(ReasonCode(LoadFeatureWeights(scratch_.Write("w", "1\n"), {},
                                          kMostWeightedFeatures + 1)
                           .status()),
            "input-too-large");
}

TEST_F(FeatureWeightsTest, MultiplyEntriesBeforeColumnsAreNormalised) {
  const auto imported = Import(Options("l2", "4\n1\n0\n"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->weighted_features);
  const float length = std::sqrt(20.0f);
  const auto columns = Stored("l2");
  EXPECT_FLOAT_EQ(columns[0][0], 4 / length);
  EXPECT_FLOAT_EQ(columns[0][1], 2 / length);
  EXPECT_EQ(columns[0][2], 0);
  EXPECT_EQ(columns[1], (std::vector<float>{0, 1, 0}));
  EXPECT_EQ(columns[2], (std::vector<float>{1, 0, 0}));
  ImportOptions bounded = Options("bounded", "4\n1\n0\n");
  bounded.normalisation = Normalisation::kNone;
  bounded.column_bound = 5;
  ASSERT_TRUE(Import(bounded).ok());
  EXPECT_EQ(Stored("bounded"),
            (std::vector<std::vector<float>>{{4, 2, 0}, {0, 3, 0}, {5, 0, 0}}));
}

// The sensitivity is that of the bound, whatever the weights are.
TEST_F(FeatureWeightsTest, NoColumnExceedsItsBound) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-12, 12), any(0, 38);
  for (const Normalisation normalisation :
       {Normalisation::kL2, Normalisation::kNone}) {
    for (int trial = 0; trial < 200; ++trial) {
      LoadedMatrix matrix;
      matrix.features = 5;
      matrix.users = 1;
      Weights weights;
      for (int i = 0; i < 5; ++i) {
        matrix.values.push_back(
            static_cast<float>(std::pow(10.0, any(random))));
        weights.push_back(std::pow(10.0, exponent(random)));
      }
      NormaliseColumns(&matrix, normalisation, 3, weights);
      double length = 0;
      for (const float value : matrix.values) {
        ASSERT_TRUE(std::isfinite(value));
        length += static_cast<double>(value) * static_cast<double>(value);
      }
      const double bound = normalisation == Normalisation::kL2 ? 1 : 3;
      EXPECT_LE(std::sqrt(length), bound * (1 + 1e-6));
    }
  }
}

TEST_F(FeatureWeightsTest, SparseAndDenseColumnsAreAlike) {
  LoadedMatrix dense;
  dense.features = dense.users = 3;
  dense.values = {1, 0, 2, 0, 7, 0, 0, 3, 4};
  LoadedMatrix sparse;
  sparse.features = sparse.users = 3;
  sparse.sparse = true;
  sparse.values = {1, 2, 7, 3, 4};
  sparse.indptr = {0, 2, 3, 5};
  sparse.indices = {0, 2, 1, 1, 2};
  const Weights weights = {0.3, 0, 1.7};
  NormaliseColumns(&dense, Normalisation::kL2, 1, weights);
  NormaliseColumns(&sparse, Normalisation::kL2, 1, weights);
  EXPECT_EQ(ColumnsOf(sparse), ColumnsOf(dense));
  EXPECT_EQ(sparse.indptr, (std::vector<std::int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(sparse.values.size(), 3u);  // the zeros are gone
}

TEST_F(FeatureWeightsTest, OfOneChangeNothing) {
  ASSERT_TRUE(Import(Options("plain", "")).ok());
  ASSERT_TRUE(Import(Options("ones", "1\n1\n1\n")).ok());
  EXPECT_EQ(Stored("ones"), Stored("plain"));
}

// The same people are the same people.
TEST_F(FeatureWeightsTest, FingerprintsOfPeopleDoNotDependOnThem) {
  ASSERT_TRUE(Import(Options("plain", "")).ok());
  ASSERT_TRUE(Import(Options("weighted", "4\n1\n0\n")).ok());
  std::map<std::string, StoredDescription> stored;
  for (const char* name : {"plain", "weighted"}) {
    const std::string directory =
        DatasetDirectory(scratch_.path() + "/data", name);
    stored[name] = ReadDescription(directory).value();
    const auto people = ReadPeople(directory);
    ASSERT_TRUE(people.ok()) << people.status();
    EXPECT_EQ(
        people->rows,
        ReadPeople(DatasetDirectory(scratch_.path() + "/data", "plain"))->rows);
  }
  EXPECT_EQ(stored["plain"].fingerprint, stored["weighted"].fingerprint);
  ImportOptions elsewhere = Options("elsewhere", "1\n2\n3\n");
  elsewhere.population = "others";
  EXPECT_EQ(ReasonCode(Import(elsewhere).status()), "data-known");
}

TEST_F(FeatureWeightsTest, StayWithTheDataSet) {
  ASSERT_TRUE(Import(Options("d", "0.1\n4\n0\n")).ok());
  const std::string directory =
      DatasetDirectory(scratch_.path() + "/data", "d");
  const DatasetDescription description =
      ReadDescription(directory)->description;
  EXPECT_TRUE(description.weighted_features);
  EXPECT_EQ(ReadFeatureWeights(directory, description).value(),
            (Weights{0.1, 4, 0}));
  std::ofstream(directory + "/weights.txt") << "1\n2\n";
  EXPECT_EQ(ReasonCode(ReadFeatureWeights(directory, description).status()),
            "dataset-damaged");
}

TEST_F(FeatureWeightsTest, AreNotForRangesAndRatings) {
  ImportOptions ranged = Options("ranged", "1\n2\n3\n");
  ranged.normalisation = Normalisation::kNone;
  ranged.column_bound = 10;
  ranged.range = EntryRange{.low = 0, .high = 5};
  EXPECT_EQ(ReasonCode(Import(ranged).status()), "weights-mixed");
  ImportOptions ratings = Options("ratings", "1\n2\n3\n");
  ratings.input.clear();
  ratings.ratings = scratch_.Write("r.csv", "ann,x,1\n");
  ratings.users_are_rows.reset();
  ratings.label_columns.reset();
  EXPECT_EQ(ReasonCode(Import(ratings).status()), "ratings-mixed");
}

}  // namespace
}  // namespace dpnmf::curator
