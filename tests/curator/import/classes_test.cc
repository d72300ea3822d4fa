// Classes at import: labels beside V, never in it.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "curator/data/dataset.h"
#include "curator/data/description.h"
#include "curator/import/import.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

constexpr char kPeople[] =
    "1,2,benign,3\n4,5,malignant,6\n7,8,benign,9\n1,1, benign ,1\n";

class ClassesAtImport : public testing::Test {
 protected:
  ImportOptions OptionsFor(const std::string& content,
                           const std::string& name = "d") const {
    ImportOptions options =
        RowsImport(scratch_.path() + "/data",
                   scratch_.Write(name + ".csv", content), name, "p", 2, 1e-5);
    options.normalisation = Normalisation::kNone;
    options.column_bound = 16;
    options.class_column = 3;
    options.classes = {"benign", "malignant"};
    return options;
  }

  std::string DirectoryOf(const std::string& name = "d") const {
    return DatasetDirectory(scratch_.path() + "/data", name);
  }

  // The code and the sentence of a refusal.
  static std::string Refused(const ImportOptions& options) {
    const absl::Status status = Import(options).status();
    return absl::StrCat(ReasonCode(status), ": ",
                        std::string(status.message()));
  }
  static std::string CodeOf(const ImportOptions& options,
                            const BetweenSteps& between = {}) {
    return ReasonCode(Import(options, between).status());
  }

  // Returns the code of Open after a change of the data set's description.
  std::string CodeAfter(const std::string& from, const std::string& to) const {
    const std::string path = DirectoryOf() + "/dataset.json";
    const std::string text = ReadAll(path);
    EXPECT_NE(text.find(from), std::string::npos) << text;
    scratch_.Write("data/datasets/d/dataset.json",
                   absl::StrReplaceAll(text, {{from, to}}));
    const std::string code = ReasonCode(Dataset::Open(DirectoryOf()).status());
    scratch_.Write("data/datasets/d/dataset.json", text);
    return code;
  }

  Scratch scratch_;
};

std::vector<std::int32_t> LabelsOf(const Dataset& dataset) {
  return {dataset.labels().begin(), dataset.labels().end()};
}

// Both flags count the fields of the line.
TEST_F(ClassesAtImport, AnIdMayStandBeforeOrBehindTheClass) {
  const auto import = [&](const std::string& content, const std::string& name,
                          int class_column, int id_column) {
    ImportOptions options = OptionsFor(content, name);
    options.class_column = class_column;
    options.id_column = id_column;
    const auto imported = Import(options);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return ReadAll(DirectoryOf(name) + "/people.bin");
  };
  const std::string before =
      import("benign,7,1,2\nmalignant,8,3,4\nbenign,9,5,6\n", "b", 1, 2);
  const std::string behind =
      import("7,1,2,benign\n8,3,4,malignant\n9,5,6,benign\n", "a", 4, 1);
  EXPECT_EQ(before, behind);
  EXPECT_EQ(Dataset::Open(DirectoryOf("b")).value()->features(), 2u);
  ImportOptions same = OptionsFor(kPeople, "s");
  same.id_column = same.class_column;
  EXPECT_EQ(CodeOf(same), "id-column-out-of-range");
}

TEST_F(ClassesAtImport, KeepsLabelsBesideTheColumns) {
  const auto imported = Import(OptionsFor(kPeople));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->features, 3u);
  EXPECT_EQ(imported->classes->names,
            (std::vector<std::string>{"benign", "malignant"}));
  EXPECT_TRUE(imported->classes->sizes.empty());
  const auto dataset = Dataset::Open(DirectoryOf()).value();
  EXPECT_EQ(LabelsOf(*dataset), (std::vector<std::int32_t>{0, 1, 0, 0}));
  const auto column = dataset->DenseColumn(1);
  EXPECT_EQ(std::vector<float>(column.begin(), column.end()),
            (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(dataset->description().classes, imported->classes);
  // The public description holds nothing of the labels.
  EXPECT_EQ(ReadAll(DirectoryOf() + "/dataset.json").find("sizes"),
            std::string::npos);
}

// With a header, with labels of people, and wherever the class stands.
TEST_F(ClassesAtImport, ReadsTheSameColumnsAsWithoutTheClass) {
  struct Case {
    const char* with;
    const char* without;
    int column;
  };
  const Case cases[] = {
      {"x,y,class\n1,2,benign\n3,4,malignant\n", "x,y\n1,2\n3,4\n", 3},
      {"class,x,y\nbenign,1,2\nmalignant,3,4\n", "x,y\n1,2\n3,4\n", 1},
      {"id,class,x,y\nann,benign,1,2\nbob,malignant,3,4\n",
       "id,x,y\nann,1,2\nbob,3,4\n", 2},
      {"benign,1,2\nmalignant,3,4\n", "1,2\n3,4\n", 1},
      {"1,\"benign\",2\n3,\"malignant\",4\n", "1,2\n3,4\n", 2},
  };
  for (const Case& one : cases) {
    LoadOptions options;
    const auto plain =
        LoadMatrix(scratch_.Write("plain.csv", one.without), true, options);
    options.class_column = one.column;
    options.classes = {"benign", "malignant"};
    const auto labelled =
        LoadMatrix(scratch_.Write("labelled.csv", one.with), true, options);
    ASSERT_TRUE(plain.ok() && labelled.ok()) << labelled.status();
    EXPECT_EQ(labelled->values, plain->values) << one.with;
    EXPECT_EQ(labelled->features, plain->features);
    EXPECT_EQ(labelled->labels, (std::vector<std::int32_t>{0, 1}));
  }
}

// --label-columns counts the fields of the line, as the other flags do.
TEST_F(ClassesAtImport, LabelColumnsCountTheClassThatStandsAmongThem) {
  LoadOptions options;
  options.class_column = 1;
  options.classes = {"benign", "malignant"};
  options.id_column = 2;
  options.label_columns = 2;
  const std::string path =
      scratch_.Write("m.csv", "benign,71,1,2\nmalignant,72,3,4\n");
  auto loaded = LoadMatrix(path, true, options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->values, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(loaded->ids, (std::vector<std::string>{"71", "72"}));
  options.id_column.reset();
  options.label_columns = 1;  // the class alone
  loaded = LoadMatrix(path, true, options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->values, (std::vector<float>{71, 1, 2, 72, 3, 4}));
}

// R writes no name above the first column, whatever the class's place.
TEST_F(ClassesAtImport, AHeaderWithOneFieldFewerLosesTheClassAlone) {
  LoadOptions options;
  options.classes = {"benign", "malignant"};
  options.columns = "y";
  options.class_column = 2;
  const auto first = LoadMatrix(
      scratch_.Write("r.csv", "class,x,y\nann,benign,1,2\nbob,malignant,3,4\n"),
      true, options);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->values, (std::vector<float>{2, 4}));
  options.columns = "x";
  options.class_column = 3;
  const auto middle = LoadMatrix(
      scratch_.Write("r.csv", "x,class,y\nann,1,benign,2\nbob,3,malignant,4\n"),
      true, options);
  ASSERT_TRUE(middle.ok()) << middle.status();
  EXPECT_EQ(middle->values, (std::vector<float>{1, 3}));
  options.columns = "y";
  options.class_column = 4;
  const auto last = LoadMatrix(
      scratch_.Write("r.csv", "x,y,class\nann,1,2,benign\nbob,3,4,malignant\n"),
      true, options);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->values, (std::vector<float>{2, 4}));
}

TEST_F(ClassesAtImport, ARefusedLabelIsNamedWithLineAndColumn) {
  ImportOptions options = OptionsFor("1,2,benign,3\n4,5,other,6\n");
  std::string refusal = Refused(options);
  EXPECT_EQ(refusal.substr(0, refusal.find(':')), "class-unknown");
  EXPECT_NE(refusal.find("line 2, column 3"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("'other'"), std::string::npos) << refusal;
  // The numbers of the other fields are those of the file.
  refusal = Refused(OptionsFor("1,2,benign,3\n4,5,malignant,x\n"));
  EXPECT_NE(refusal.find("line 2, column 4"), std::string::npos) << refusal;
  refusal = Refused(OptionsFor("1,2,benign,3\n4,5,malignant\n"));
  EXPECT_EQ(refusal.substr(0, refusal.find(':')), "input-ragged");
  EXPECT_NE(refusal.find("has 3 fields and the lines before have 4"),
            std::string::npos)
      << refusal;
  options = OptionsFor(kPeople);
  options.class_column = 5;
  EXPECT_EQ(CodeOf(options), "class-column-out-of-range");
  options.class_column = 0;
  EXPECT_EQ(CodeOf(options), "class-column-out-of-range");
  EXPECT_FALSE(std::filesystem::exists(DirectoryOf()));
}

TEST_F(ClassesAtImport, DeclarationsAreCheckedBeforeTheFile) {
  const auto code_with = [&](const auto& change) {
    ImportOptions options = OptionsFor(kPeople);
    options.input = "/nowhere";
    change(&options);
    return CodeOf(options);
  };
  EXPECT_EQ(code_with([](ImportOptions*) {}), "input-not-found");
  EXPECT_EQ(code_with([](auto* o) { o->classes.clear(); }), "classes-missing");
  EXPECT_EQ(code_with([](auto* o) { o->class_column.reset(); }),
            "classes-missing");
  EXPECT_EQ(code_with([](auto* o) {
              o->class_column.reset();
              o->classes.clear();
              o->labels_public = true;
            }),
            "classes-missing");
  EXPECT_EQ(code_with([](auto* o) { o->classes = {"benign"}; }),
            "classes-malformed");
  EXPECT_EQ(code_with([](auto* o) {
              o->classes = {"a", "b", "a"};
            }),
            "classes-malformed");
  EXPECT_EQ(code_with([](auto* o) {
              o->classes = {"a", ""};
            }),
            "classes-malformed");
  EXPECT_EQ(code_with([](auto* o) { o->users_are_rows = false; }),
            "class-column-mixed");
  EXPECT_EQ(
      code_with([](auto* o) { o->format = MatrixFormatOfName("mtx").value(); }),
      "class-column-mixed");
  EXPECT_EQ(code_with([](auto* o) {
              o->range = EntryRange{1, 17};
            }),
            "range-out-of-range");
  EXPECT_EQ(code_with([](auto* o) {
              o->range = EntryRange{2, 1};
            }),
            "range-out-of-range");
  EXPECT_EQ(code_with([](auto* o) {
              o->range = EntryRange{1, 1.01};
            }),
            "range-out-of-range");
  EXPECT_EQ(code_with([](auto* o) {
              o->range = EntryRange{.low = 0.5, .high = 9, .integers = true};
            }),
            "range-out-of-range");
  EXPECT_EQ(code_with([](auto* o) {
              o->range = EntryRange{0, 1};
              o->normalisation = Normalisation::kL2;
              o->column_bound.reset();
            }),
            "range-out-of-range");
}

TEST_F(ClassesAtImport, AFileOfAnotherKindIsRefusedOnceItIsKnown) {
  ImportOptions options = OptionsFor(kPeople);
  options.input = scratch_.Write(
      "m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n");
  EXPECT_EQ(CodeOf(options), "class-column-mixed");
}

TEST_F(ClassesAtImport, OnlyPublicLabelsHaveTheirSizesDescribed) {
  ImportOptions options = OptionsFor(kPeople);
  options.labels_public = true;
  options.range = EntryRange{.low = 0, .high = 10, .integers = true};
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->classes->sizes, (std::vector<std::uint64_t>{3, 1}));
  const auto dataset = Dataset::Open(DirectoryOf()).value();
  EXPECT_EQ(dataset->description().classes, imported->classes);
  EXPECT_EQ(dataset->description().range, options.range);
  // N is private under the other relation, and so are sizes.
  options = OptionsFor(
      "1,2,benign,4\n4,5,malignant,6\n7,8,benign,9\n1,1,benign,1\n", "e");
  options.population = "others";
  options.labels_public = true;
  options.adjacency = Adjacency::kAddRemoveOne;
  options.users_count = 4;
  EXPECT_EQ(CodeOf(options), "labels-public-mismatch");
  options.labels_public = false;
  EXPECT_EQ(CodeOf(options), "");
}

// Three people whose data no other number has.
std::string TextOfPeople(int number) {
  return absl::StrCat("1,2,benign,", number, "\n2,3,malignant,", number,
                      "\n4,5,benign,", number, "\n");
}

// Exact sizes of one data set would undo the promise about the other.
TEST_F(ClassesAtImport, LabelsOfAPopulationAreAllPublicOrAllPrivate) {
  int number = 0;
  for (const bool first_public : {false, true}) {
    SCOPED_TRACE(first_public);
    const std::string name = first_public ? "public" : "private";
    ImportOptions options = OptionsFor(TextOfPeople(++number), name);
    options.population = name;
    options.labels_public = first_public;
    ASSERT_EQ(CodeOf(options), "");
    ImportOptions second = OptionsFor(TextOfPeople(++number), name + "2");
    second.population = name;
    second.labels_public = !first_public;
    EXPECT_EQ(CodeOf(second), "labels-public-mismatch");
    // Data without labels, the same kind of labels and other people are fine.
    ImportOptions plain =
        OptionsFor(absl::StrCat("5,5\n6,", ++number, "\n"), name + "3");
    plain.class_column.reset();
    plain.classes.clear();
    plain.population = name;
    EXPECT_EQ(CodeOf(plain), "");
    second.labels_public = first_public;
    EXPECT_EQ(CodeOf(second), "");
  }
}

// A mistaken declaration can be taken back before anything is released, unless
// it made the sizes public.
TEST_F(ClassesAtImport, LabelsOfARemovedDataSetCount) {
  int number = 0;
  const std::string parent = scratch_.path() + "/data/datasets";
  const auto code_after_removal = [&](bool first_public, bool used) {
    const std::string name =
        std::string(first_public ? "pub" : "priv") + (used ? "-used" : "-new");
    ImportOptions options = OptionsFor(TextOfPeople(++number), name);
    options.population = name;
    options.labels_public = first_public;
    EXPECT_EQ(CodeOf(options), "");
    std::filesystem::create_directories(parent + "/.removed");
    std::filesystem::rename(parent + "/" + name, parent + "/.removed/" + name);
    ImportOptions second = OptionsFor(TextOfPeople(++number), name + "2");
    second.population = name;
    second.labels_public = !first_public;
    BetweenSteps between;
    between.facts.used_populations.emplace();
    if (used) between.facts.used_populations->push_back(name);
    return CodeOf(second, between);
  };
  EXPECT_EQ(code_after_removal(false, true), "labels-public-mismatch");
  EXPECT_EQ(code_after_removal(false, false), "");
  EXPECT_EQ(code_after_removal(true, true), "labels-public-mismatch");
  EXPECT_EQ(code_after_removal(true, false), "labels-public-mismatch");
}

// The label is no part of the fingerprint: people are known with and without.
TEST_F(ClassesAtImport, TheSamePeopleAreKnownWithAndWithoutLabels) {
  const std::string without = "1,2,3\n4,5,6\n7,8,9\n1,1,1\n";
  ASSERT_TRUE(Import(OptionsFor(kPeople)).ok());
  ImportOptions plain = OptionsFor(without, "plain");
  plain.class_column.reset();
  plain.classes.clear();
  plain.population = "others";
  EXPECT_EQ(CodeOf(plain), "data-known");
  plain.population = "p";
  EXPECT_EQ(CodeOf(plain), "");
  ImportOptions relabelled = OptionsFor(
      absl::StrReplaceAll(kPeople, {{"malignant", "benign"}}), "relabelled");
  relabelled.population = "others";
  EXPECT_EQ(CodeOf(relabelled), "data-known");
}

TEST_F(ClassesAtImport, ADamagedLabelIsRefused) {
  ImportOptions options = OptionsFor(kPeople);
  options.labels_public = true;
  options.range = EntryRange{.low = 0, .high = 10};
  ASSERT_TRUE(Import(options).ok());
  EXPECT_EQ(CodeAfter("format_version", "format_version"), "");
  EXPECT_EQ(CodeAfter("\"malignant\"", "\"benign\""), "dataset-damaged");
  EXPECT_EQ(CodeAfter("\"low\"", "\"lower\""), "dataset-damaged");
  EXPECT_EQ(CodeAfter("\"high\": 10.0", "\"high\": 17.0"), "dataset-damaged");
  EXPECT_EQ(CodeAfter("      3,", "      4,"), "dataset-damaged");
  EXPECT_EQ(CodeAfter("      3,", "      -3,"), "dataset-damaged");
  EXPECT_EQ(CodeAfter("      3,", ""), "dataset-damaged");
  const std::string labels = ReadAll(DirectoryOf() + "/labels.npy");
  const auto code_with = [&](std::string bytes) {
    scratch_.Write("data/datasets/d/labels.npy", bytes);
    return ReasonCode(Dataset::Open(DirectoryOf()).status());
  };
  std::string other = labels;
  other[other.size() - 4] = 2;  // of two classes
  EXPECT_EQ(code_with(other), "dataset-damaged");
  other[other.size() - 4] = 1;  // other sizes
  EXPECT_EQ(code_with(other), "dataset-damaged");
  other[other.size() - 1] = '\xff';
  EXPECT_EQ(code_with(other), "dataset-damaged");
  EXPECT_EQ(code_with(labels.substr(0, labels.size() - 4)), "dataset-damaged");
  std::filesystem::remove(DirectoryOf() + "/labels.npy");
  EXPECT_EQ(ReasonCode(Dataset::Open(DirectoryOf()).status()),
            "dataset-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
