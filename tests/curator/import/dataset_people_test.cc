#include "curator/import/dataset_people.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "common/base/error.h"
#include "curator/data/description.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/import_all.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

class DatasetPeopleTest : public testing::Test {
 protected:
  ImportOptions Declared() const {
    ImportOptions options;
    options.data_dir = data_dir();
    options.name = std::string("d");
    options.population = std::string("p");
    options.epsilon = 2;
    options.delta = 1e-5;
    return options;
  }
  ImportOptions MatrixOf(const std::string& file,
                         const std::string& content) const {
    ImportOptions options = Declared();
    options.input = scratch_.Write(file, content);
    options.users_are_rows = true;
    return options;
  }
  ImportOptions RatingsOf(const std::string& content) const {
    ImportOptions options = Declared();
    options.ratings = scratch_.Write("r.csv", content);
    options.items_file = scratch_.Write("items", "x\ny\n");
    options.rating_range = RatingScale{.low_units = 0, .high_units = 50000};
    options.users_count = 3;
    return options;
  }

  std::string data_dir() const { return scratch_.path() + "/data"; }
  std::string directory(const std::string& name = "d") const {
    return DatasetDirectory(data_dir(), name);
  }
  FingerprintKey Key() const {
    return LoadOrCreateFingerprintKey(data_dir()).value();
  }
  PeopleFingerprints PeopleOf(const std::vector<std::vector<float>>& rows,
                              const std::vector<std::string>& ids = {}) const {
    PeopleCollector collector(Key());
    for (const auto& row : rows) collector.AddRow(row);
    for (const auto& id : ids) collector.AddId(id);
    return collector.Finish();
  }
  void ExpectPeople(const ImportOptions& options,
                    const std::vector<std::vector<float>>& rows,
                    const std::vector<std::string>& ids = {}) const {
    const auto imported = Import(options);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const auto people = ReadPeople(directory(options.name));
    ASSERT_TRUE(people.ok()) << people.status();
    EXPECT_EQ(*people, PeopleOf(rows, ids));
    fs::remove_all(directory(options.name));
  }

  const Scratch scratch_;
};

TEST_F(DatasetPeopleTest, AreTheRowsOfTheFileBeforeTheyAreNormalised) {
  ExpectPeople(MatrixOf("m.csv", "3,4\n0,0\n5,6\n3,4\n"), {{3, 4}, {5, 6}});
}

TEST_F(DatasetPeopleTest, AreTheSameInEveryFormat) {
  const std::vector<std::vector<float>> rows = {{3, 0, 4}, {0, 5, 0}};
  ImportOptions options = MatrixOf("c.csv", "3,0\n0,5\n4,0\n");
  options.users_are_rows = false;
  options.label_columns = 0;
  ExpectPeople(options, rows);
  ExpectPeople(MatrixOf("s.mtx",
                        "%%MatrixMarket matrix coordinate real general\n"
                        "2 3 3\n1 1 3\n1 3 4\n2 2 5\n"),
               rows);
  options = MatrixOf("t.txt", "ann a 3\nbob b 5\nann c 4\n");
  options.format = MatrixFormatOfName("triples").value();
  options.features_file = scratch_.Write("f", "a\nb\nc\n");
  options.users_count = 4;  // two are not in the file
  ExpectPeople(options, rows, {"ann", "bob"});
}

TEST_F(DatasetPeopleTest, OfRatingsHaveIdsAndTheRowsThatNumbersShow) {
  ExpectPeople(RatingsOf("ann,x,1\nann,y,0\nbob,y,2.5\neve,x,0\n"),
               {{1, 0}, {0, 2.5}}, {"ann", "bob", "eve"});
}

TEST_F(DatasetPeopleTest, HaveTheIdsOfADeclaredColumn) {
  ImportOptions options = MatrixOf("m.csv", "1007,9,3,4\n1008,8,5,6\n");
  options.id_column = 1;
  // Ids that are numbers may be entries of another reading of the file.
  std::vector<std::vector<float>> rows = {
      {1007, 9, 3, 4}, {1008, 8, 5, 6}, {9, 3, 4}, {8, 5, 6}};
  ExpectPeople(options, rows, {"1007", "1008"});
  options.label_columns = 2;
  rows.insert(rows.end(), {{3, 4}, {5, 6}});
  ExpectPeople(options, rows, {"1007", "1008"});
  options.id_column = 2;
  ExpectPeople(options,
               {{1007, 9, 3, 4},
                {1008, 8, 5, 6},
                {1007, 3, 4},
                {1008, 5, 6},
                {3, 4},
                {5, 6}},
               {"8", "9"});
  options = MatrixOf("h.csv", "id,x,y\n\" ann \",3,4\nbob,5,6\n");
  options.id_column = 1;
  ExpectPeople(options, {{3, 4}, {5, 6}}, {"ann", "bob"});
}

TEST_F(DatasetPeopleTest, AnIdColumnIsALabelAndNamesPeople) {
  ImportOptions options = MatrixOf("m.csv", "1,2,3\n4,5,6\n");
  for (const int column : {0, -1, 2}) {
    options.id_column = column;
    options.label_columns = 1;
    EXPECT_EQ(ReasonCode(Import(options).status()), "id-column-out-of-range");
  }
  options.id_column = 1;
  options.users_are_rows = false;
  EXPECT_EQ(ReasonCode(Import(options).status()), "id-column-out-of-range");
  options = MatrixOf("twice.csv", "7,2,3\n8,5,6\n7,8,9\n");
  options.id_column = 1;
  EXPECT_EQ(ReasonCode(Import(options).status()), "input-duplicate");
  options = MatrixOf("none.csv", "7,2,3\n,5,6\n");
  options.id_column = 1;
  EXPECT_EQ(ReasonCode(Import(options).status()), "input-malformed");
  options = RatingsOf("ann,x,1\n");
  options.id_column = 1;
  EXPECT_EQ(ReasonCode(Import(options).status()), "ratings-mixed");
  EXPECT_FALSE(fs::exists(data_dir()));
}

TEST_F(DatasetPeopleTest, AreForTheOperatorAlone) {
  ASSERT_TRUE(Import(MatrixOf("m.csv", "3,4\n5,6\n")).ok());
  struct stat facts {};
  ASSERT_EQ(stat((directory() + "/people.bin").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(DatasetPeopleTest, AnImportSaysThatPeopleHaveABudgetElsewhere) {
  ASSERT_TRUE(Import(MatrixOf("m.csv", "3,4\n5,6\n")).ok());
  std::vector<std::string> notes;
  ImportOptions options = MatrixOf("n.csv", "3,4\n7,8\n");
  options.note = [&](const std::string& note) { notes.push_back(note); };
  options.name = std::string("e");
  ASSERT_TRUE(Import(options).ok());  // of the same population
  EXPECT_TRUE(notes.empty());
  options.name = std::string("f");
  options.population = std::string("q");
  options.input = scratch_.Write("o.csv", "5,6\n9,9\n");
  ASSERT_TRUE(Import(options).ok());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("Data set d of population p has 0 of these ids and "
                          "1 of these rows"),
            std::string::npos)
      << notes[0];
}

TEST_F(DatasetPeopleTest, ThatAreMissingAreFoundWhenTheFileIsReadAgain) {
  ImportOptions options = MatrixOf("m.csv", "ann,3,4\nbob,5,6\n");
  options.header = false;
  ASSERT_TRUE(Import(options).ok());
  fs::remove(directory() + "/people.bin");
  EXPECT_EQ(ReasonCode(ReadPeople(directory()).status()), "people-missing");
  // Without what the data set itself says.
  ImportOptions again;
  again.data_dir = data_dir();
  again.name = std::string("d");
  again.input = options.input;
  again.users_are_rows = true;
  again.header = false;
  ASSERT_TRUE(ImportPeople(again).ok());
  EXPECT_EQ(*ReadPeople(directory()), PeopleOf({{3, 4}, {5, 6}}));
  again.id_column = 1;
  ASSERT_TRUE(ImportPeople(again).ok());
  const PeopleFingerprints with_ids =
      PeopleOf({{3, 4}, {5, 6}}, {"ann", "bob"});
  EXPECT_EQ(*ReadPeople(directory()), with_ids);
  again.id_column.reset();
  ASSERT_TRUE(ImportPeople(again).ok());  // ids stay known
  EXPECT_EQ(*ReadPeople(directory()), with_ids);
  again.input = scratch_.Write("other.csv", "ann,3,4\nbob,5,7\n");
  EXPECT_EQ(ReasonCode(ImportPeople(again).status()), "people-differ");
  again.name = std::string("unknown");
  EXPECT_EQ(ReasonCode(ImportPeople(again).status()), "dataset-unknown");
}

// The directory was renamed by hand: its people are not those of "moved".
TEST_F(DatasetPeopleTest, AreNotWrittenUnderAnotherName) {
  const ImportOptions options = MatrixOf("m.csv", "3,4\n5,6\n");
  ASSERT_TRUE(Import(options).ok());
  const std::string moved = DatasetDirectory(options.data_dir, "moved");
  fs::rename(directory(), moved);
  ImportOptions again;
  again.data_dir = options.data_dir;
  again.name = "moved";
  again.input = options.input;
  again.users_are_rows = true;
  EXPECT_EQ(ReasonCode(ImportPeople(again).status()), "dataset-damaged");
}

TEST_F(DatasetPeopleTest, OfRatingsAreReadAgainToo) {
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    ImportOptions options = RatingsOf("ann,x,1\nbob,y,2\n");
    options.adjacency = adjacency;
    ASSERT_TRUE(Import(options).ok());
    const PeopleFingerprints before = ReadPeople(directory()).value();
    fs::remove(directory() + "/people.bin");
    ImportOptions again;
    again.data_dir = data_dir();
    again.name = std::string("d");
    again.ratings = options.ratings;
    again.items_file = options.items_file;
    const auto people = ImportPeople(again);
    ASSERT_TRUE(people.ok()) << people.status();
    EXPECT_EQ(ReadPeople(directory()).value(), before);
    fs::remove_all(directory());
  }
}

// Flags that a format does not have are refused, not skipped: the entries would
// be other ones than the operator believes.
TEST_F(DatasetPeopleTest, FlagsOfFieldsAreRefusedWhereAFormatHasNone) {
  const auto expect_refused = [](ImportOptions options) {
    const auto code = [&](const auto& change) {
      ImportOptions changed = options;
      change(&changed);
      return ReasonCode(Import(changed).status());
    };
    EXPECT_EQ(code([](auto* o) { o->id_column = 1; }), "flag-unused");
    EXPECT_EQ(code([](auto* o) { o->label_columns = 1; }), "flag-unused");
    EXPECT_EQ(code([](auto* o) { o->columns = "2"; }), "flag-unused");
    EXPECT_EQ(code([](auto* o) { o->delimiter = ';'; }), "flag-unused");
    EXPECT_EQ(code([](auto*) {}), "");
    fs::remove_all(DatasetDirectory(options.data_dir, options.name));
  };
  ImportOptions options = MatrixOf(
      "m.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
  options.format = MatrixFormatOfName("mtx").value();
  expect_refused(options);
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  header.resize(117, ' ');
  std::string npy =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n";
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f})
    npy.append(reinterpret_cast<const char*>(&value), sizeof(value));
  options = MatrixOf("m.npy", npy);
  options.format = MatrixFormatOfName("npy").value();
  expect_refused(options);
  options = MatrixOf("t.txt", "ann a 3\nbob b 5\n");
  options.format = MatrixFormatOfName("triples").value();
  options.features_file = scratch_.Write("f", "a\nb\n");
  options.users_count = 2;
  expect_refused(options);
}

// One line of a file is one person, whatever the flags take of it.
TEST_F(DatasetPeopleTest, AreRecognisedHoweverTheFlagsReadTheSameFile) {
  const std::string content = "71,1,2,0,5\n72,3,4,1,6\n73,5,6,0,7\n";
  using Change = std::function<void(ImportOptions*)>;
  const std::vector<std::pair<const char*, Change>> readings = {
      {"as it is", [](auto* o) { o->label_columns = 0; }},
      {"class",
       [](auto* o) {
         o->label_columns = 0, o->class_column = 4, o->classes = {"0", "1"};
       }},
      {"id", [](auto* o) { o->id_column = 1; }},
      {"labels", [](auto* o) { o->label_columns = 2; }},
      {"id and class",
       [](auto* o) {
         o->id_column = 1, o->class_column = 4, o->classes = {"0", "1"};
       }},
      {"first columns", [](auto* o) { o->columns = "1-3"; }},
      {"last columns", [](auto* o) { o->columns = "4-5"; }}};
  for (const auto& [first, read_first] : readings) {
    ImportOptions options = MatrixOf("m.csv", content);
    read_first(&options);
    options.header = false;
    ASSERT_TRUE(Import(options).ok()) << first;
    for (const auto& [second, read_second] : readings) {
      if (first == second) continue;
      ImportOptions other = MatrixOf("m.csv", content);
      read_second(&other);
      other.header = false;
      other.name = std::string("e");
      other.population = std::string("q");
      std::vector<std::string> notes;
      other.note = [&](const std::string& note) { notes.push_back(note); };
      const absl::Status imported = Import(other).status();
      EXPECT_TRUE(imported.ok() || ReasonCode(imported) == "data-known")
          << imported;
      const bool noted =
          std::any_of(notes.begin(), notes.end(), [](const auto& note) {
            return note.find(" of these rows") != std::string::npos;
          });
      EXPECT_TRUE(noted || ReasonCode(imported) == "data-known")
          << first << ", then " << second;
      fs::remove_all(directory("e"));
    }
    fs::remove_all(directory());
  }
}

// A line is known by what it holds: also where another file lacks the id, or
// the class, or both.
TEST_F(DatasetPeopleTest, HaveTheNumbersOfTheLineWithAndWithoutIdAndClass) {
  ImportOptions options = MatrixOf("m.csv", "71,word,1,2,8,5\n72,x,3,4,9,6\n");
  options.header = false;
  options.id_column = 1;
  options.class_column = 5;
  options.classes = {"8", "9"};
  options.columns = "3-4";
  ExpectPeople(options,
               {{1, 2},
                {1, 2, 8},
                {1, 2, 5},
                {1, 2, 8, 5},
                {71, 1, 2, 5},
                {71, 1, 2, 8, 5},
                {3, 4},
                {3, 4, 9},
                {3, 4, 6},
                {3, 4, 9, 6},
                {72, 3, 4, 6},
                {72, 3, 4, 9, 6}},
               {"71", "72"});
}

TEST_F(DatasetPeopleTest, AnIdIsReadAsItWasQuoted) {
  ImportOptions options = MatrixOf("m.csv", "\"O\"\"Neil\",3,4\nbob,5,6\n");
  options.header = false;
  options.id_column = 1;
  ExpectPeople(options, {{3, 4}, {5, 6}}, {"O\"Neil", "bob"});
  options = MatrixOf("t.txt", "\"O\"\"Neil\" a 3\nbob a 5\n");
  options.format = MatrixFormatOfName("triples").value();
  options.features_file = scratch_.Write("f", "a\n");
  options.users_count = 2;
  ExpectPeople(options, {{3}, {5}}, {"O\"Neil", "bob"});
}

TEST_F(DatasetPeopleTest, AnIdIsAFieldAndNoEntry) {
  ImportOptions options = MatrixOf("m.csv", "71,2,3\n72,5,6\n");
  options.id_column = 1;
  options.columns = "1-2";
  EXPECT_EQ(ReasonCode(Import(options).status()), "id-column-out-of-range");
  options.id_column = 4;
  EXPECT_EQ(ReasonCode(Import(options).status()), "id-column-out-of-range");
}

TEST_F(DatasetPeopleTest, OfAnotherDataSetAreNotTaken) {
  ASSERT_TRUE(Import(MatrixOf("m.csv", "3,4\n5,6\n")).ok());
  ImportOptions options = MatrixOf("n.csv", "3,4\n7,8\n");
  options.name = std::string("e");
  ASSERT_TRUE(Import(options).ok());
  fs::copy_file(directory("e") + "/people.bin", directory() + "/people.bin",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(ReasonCode(ReadPeople(directory()).status()), "people-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
