#include "curator/session/catalog.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/error.h"
#include "curator/import/import.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

class CatalogTest : public testing::Test {
 protected:
  std::string data_dir() const { return scratch_.path() + "/data"; }
  std::string File(const std::string& name) const {
    return DatasetDirectory(data_dir(), "d") + "/" + name;
  }

  absl::StatusOr<DatasetDescription> ImportWithNames(const std::string& names) {
    ImportOptions options = Options();
    if (!names.empty()) options.features_file = scratch_.Write("names", names);
    if (!weights_.empty())
      options.feature_weights_file = scratch_.Write("weights", weights_);
    return Import(options);
  }
  ImportOptions Options() {
    ImportOptions options =
        RowsImport(data_dir(), scratch_.Write("v.csv", "1,2\n3,4\n5,7\n"), "d",
                   "people", 1, 1e-6);
    options.label_columns = 0;
    return options;
  }

  // The file with every `from` made `to`.
  void Replace(const std::string& name, const std::string& from,
               const std::string& to) const {
    std::stringstream text;
    text << std::ifstream(File(name)).rdbuf();
    std::string edited = text.str();
    const std::size_t at = edited.find(from);
    ASSERT_NE(at, std::string::npos) << edited;
    std::ofstream(File(name)) << edited.replace(at, from.size(), to);
  }

  Scratch scratch_;
  std::string weights_;
};

TEST_F(CatalogTest, ListsTheNamesThatWereDeclaredForTheFeatures) {
  const auto imported = ImportWithNames("left\nright, \"far\"\n");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->named_features);
  const auto catalog = Catalog::Open(data_dir());
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const ItemList* const names = catalog->ItemsOf("d");
  ASSERT_NE(names, nullptr);
  EXPECT_EQ(names->ids, (std::vector<std::string>{"left", "right, \"far\""}));
  EXPECT_EQ(names->names.size(), 2u);
  EXPECT_EQ(names->features.rows(), 2);
}

TEST_F(CatalogTest, ListsTheWeightsOfFeatures) {
  weights_ = "0.5\n2\n";
  ASSERT_TRUE(ImportWithNames("").ok());
  const auto catalog = Catalog::Open(data_dir());
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  const ItemList* const features = catalog->ItemsOf("d");
  ASSERT_NE(features, nullptr);
  EXPECT_EQ(features->ids, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(features->weights, (std::vector<double>{0.5, 2}));
  std::ofstream(File("weights.txt")) << "0.5\n";
  EXPECT_EQ(ReasonCode(Catalog::Open(data_dir()).status()), "dataset-damaged");
}

TEST_F(CatalogTest, ListsNothingWithoutNames) {
  ASSERT_TRUE(ImportWithNames("").ok());
  const auto catalog = Catalog::Open(data_dir());
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_EQ(catalog->ItemsOf("d"), nullptr);
}

TEST_F(CatalogTest, KeepsNamesThatAreNotDeclaredToItself) {
  ASSERT_TRUE(ImportWithNames("left\nright\n").ok());
  Replace("dataset.json", ",\n  \"named_features\": true", "");
  const auto catalog = Catalog::Open(data_dir());
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  EXPECT_EQ(catalog->ItemsOf("d"), nullptr);
}

TEST_F(CatalogTest, RefusesNamesThatAreNotAsManyAsTheFeatures) {
  ASSERT_TRUE(ImportWithNames("left\nright\n").ok());
  Replace("features.txt", "right", "right\nbehind");
  EXPECT_EQ(ReasonCode(Catalog::Open(data_dir()).status()), "dataset-damaged");
}

TEST_F(CatalogTest, ServesNothingThatIsNotVerified) {
  ASSERT_TRUE(ImportWithNames("").ok());
  auto catalog = Catalog::Open(data_dir());
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  ASSERT_TRUE(catalog->AddAlias("federation", "d"));
  EXPECT_NE(catalog->Find("d"), nullptr);
  EXPECT_TRUE(catalog->AllServed().empty());
  for (const char* name : {"d", "federation"}) {
    const absl::Status refused = catalog->Served(name).status();
    EXPECT_EQ(ReasonCode(refused), "dataset-not-ready");
    EXPECT_TRUE(absl::IsUnavailable(refused)) << "worth another attempt";
  }
  EXPECT_EQ(ReasonCode(catalog->Served("other").status()), "dataset-unknown");
  catalog->SetVerified("d");
  for (const char* name : {"d", "federation"})
    EXPECT_EQ(catalog->Served(name).value(), catalog->Find("d"));
  EXPECT_EQ(catalog->AllServed().size(), 1u);
}

TEST_F(CatalogTest, ARemovedDataSetWhoseDirectoryComesBackIsRefused) {
  ASSERT_TRUE(ImportWithNames("").ok());
  const std::string kept = data_dir() + "/datasets/.removed/d";
  std::filesystem::create_directories(kept);
  std::filesystem::copy(File("dataset.json"), kept + "/dataset.json");
  EXPECT_EQ(ReasonCode(Catalog::Open(data_dir()).status()), "dataset-removed");
  EXPECT_EQ(ReasonCode(Catalog().OpenNew(data_dir()).status()),
            "dataset-removed");
  EXPECT_EQ(ReasonCode(Dataset::OpenNamed(data_dir(), "d").status()),
            "dataset-removed");
  EXPECT_EQ(
      ReasonCode(Dataset::OpenShare(DatasetDirectory(data_dir(), "d"), {0, 1})
                     .status()),
      "dataset-removed");
}

// Also where one of them is served already.
TEST_F(CatalogTest, TheSameDataUnderTwoPopulationsAreRefused) {
  ASSERT_TRUE(ImportWithNames("").ok());
  const auto served = Catalog::Open(data_dir());
  ASSERT_TRUE(served.ok());
  const std::string aside = scratch_.path() + "/aside";
  std::filesystem::rename(DatasetDirectory(data_dir(), "d"), aside);
  ImportOptions options = Options();
  options.name = "e";
  options.population = "others";
  ASSERT_TRUE(Import(options).ok());
  EXPECT_EQ(ReasonCode(served->OpenNew(data_dir()).status()), "data-known");
  std::filesystem::rename(aside, DatasetDirectory(data_dir(), "d"));
  EXPECT_EQ(ReasonCode(Catalog::Open(data_dir()).status()), "data-known");
}

TEST_F(CatalogTest, ANameThatATerminalWouldObeyIsNotImported) {
  EXPECT_EQ(ReasonCode(ImportWithNames("left\n\x1b[2Jright\n").status()),
            "input-malformed");
  EXPECT_EQ(
      ReasonCode(ImportWithNames("left\n" + std::string(257, 'x')).status()),
      "input-too-large");
}

}  // namespace
}  // namespace dpnmf::curator
