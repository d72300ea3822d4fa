// Nobody may be in two partitions of a population (docs/reference/growing.md).
#include "curator/import/partitions.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tables/sum_rows.h"
#include "curator/data/description.h"
#include "curator/import/dataset_people.h"
#include "gmock/gmock.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CanonicalIdOf, IsOneForTheCommonWaysOfWritingAnId) {
  const std::pair<const char*, const char*> same[] = {
      {"7", "7"},
      {"007", "7"},
      {"7.0", "7"},
      {"7.", "7"},
      {" 7\t", "7"},
      {"0", "0"},
      {"000", "0"},
      {"0.00", "0"},
      {"Ann", "ann"},
      {" ANN ", "ann"},
      {"a-07", "a-07"},
      {"7.10", "7.10"},
      {"7.0.0", "7.0.0"},
      {"-7", "-7"},
      {".0", ".0"},
      {"1e3", "1000"},
      {"00120E2", "12000"},
      {"1e-3", "1e-3"},
      {"e5", "e5"},
      {"1e", "1e"},
      {"1e2e3", "1e2e3"},
      {"12ab5", "12ab5"},
      {"1e100", "1e100"},
      {"", ""},
      {"123456789012345678901234567890", "123456789012345678901234567890"}};
  for (const auto& [id, form] : same) EXPECT_EQ(CanonicalId(id), form) << id;
}

using Elsewhere = std::vector<PeopleElsewhere>;
// Populations about which anything was released.
const std::vector<std::string> kNone;

class PartitionsTest : public testing::Test {
 protected:
  ImportOptions OptionsFor(const std::string& name,
                           const std::string& partition,
                           const std::string& content) {
    ImportOptions options =
        RowsImport(data_dir(), scratch_.Write(name + ".csv", content), name,
                   "patients", 2, 1e-5);
    options.partitions = {"id", {"jan", "feb", "mar"}};
    options.partition = partition;
    options.note = [this](const std::string& sentence) {
      notes_.push_back(sentence);
    };
    return options;
  }
  std::string CodeOf(const ImportOptions& options, LedgerFacts facts = {}) {
    if (!facts.elsewhere.has_value()) facts.elsewhere.emplace();
    const auto imported = Import(options, {.facts = std::move(facts)});
    sentence_ = std::string(imported.status().message());
    return ReasonCode(imported.status());
  }
  std::string CodeOf(const std::string& name, const std::string& partition,
                     const std::string& content) {
    return CodeOf(OptionsFor(name, partition, content));
  }

  std::string data_dir() const { return scratch_.path() + "/data"; }
  std::string directory(const std::string& name) const {
    return DatasetDirectory(data_dir(), name);
  }

  const std::string jan_ = "id,a,b\nann,3,4\nbob,0,7\n007,1,1\n";
  Scratch scratch_;
  std::vector<std::string> notes_;
  std::string sentence_;
};

TEST_F(PartitionsTest, DisjointPeopleAreImportedAndTheDescriptionSaysWhere) {
  EXPECT_EQ(CodeOf("jan", "jan", jan_), "");
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,3,4\ndan,2,7\n"), "")
      << sentence_;
  const auto stored = ReadDescription(directory("feb"));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->description.partition, "feb");
  EXPECT_THAT(stored->description.partitions.names,
              ElementsAre("jan", "feb", "mar"));
  EXPECT_EQ(stored->description.partitions.by, "id");
  EXPECT_EQ(stored->description.features, 2u) << "the id is no feature";
  EXPECT_TRUE(ReadPeople(directory("feb"))->has_ids);
}

TEST_F(PartitionsTest, APersonOfAnotherPartitionIsRefused) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,1,1\nann,9,9\n"),
            "people-in-two-partitions");
  EXPECT_THAT(sentence_, HasSubstr("Data set jan of partition jan has 1 of"));
  EXPECT_FALSE(fs::exists(directory("feb"))) << "nothing is left behind";
  // Under the commonest other spellings too.
  for (const char* row : {"ANN,9,9", " ann ,9,9", "7,9,9", "7.0,9,9"}) {
    EXPECT_EQ(
        CodeOf("feb", "feb", absl::StrCat("id,a,b\ncyd,1,1\n", row, "\n")),
        "people-in-two-partitions")
        << row;
  }
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,1,1\ndan,9,9\n"), "");
}

// Cases that a fingerprint cannot see (docs/reference/growing.md).
TEST_F(PartitionsTest, AnotherIdIsAnotherPersonButTheSameRowIsSaid) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  notes_.clear();
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\nann.,2,9\ncyd,1,5\n"), "");
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_EQ(CodeOf("mar", "mar", "id,a,b\nanna,3,4\ncid,1,8\n"), "");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0],
              HasSubstr("Data set jan of partition jan has 1 of these rows"));
}

TEST_F(PartitionsTest, VersionsShareAPartitionAndDataInNoneAreForAll) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  EXPECT_EQ(CodeOf("jan-2", "jan", "id,a,b\nann,3,5\neve,1,1\n"), "");
  EXPECT_EQ(CodeOf("all", "", "id,a,b\nann,3,5\ncyd,1,1\n"), "");
  EXPECT_EQ(ReadDescription(directory("all"))->description.partition, "");
  // In a later version of one partition somebody of another.
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\neve,1,1\ncyd,2,2\n"),
            "people-in-two-partitions");
  EXPECT_THAT(sentence_, HasSubstr("jan-2"));
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,1,1\ndan,2,2\n"), "");
  EXPECT_EQ(CodeOf("jan-3", "jan", "id,a,b\nann,3,5\ndan,1,1\n"),
            "people-in-two-partitions");
}

TEST_F(PartitionsTest, ARemovedDataSetCountsForEver) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  fs::create_directories(RemovedDirectory(data_dir()));
  fs::rename(directory("jan"), RemovedDirectory(data_dir(), "jan"));
  ImportOptions feb = OptionsFor("feb", "feb", "id,a,b\nann,3,5\ncyd,1,1\n");
  // Even if nothing was ever released of the population.
  EXPECT_EQ(CodeOf(feb, {.used_populations = kNone}),
            "people-in-two-partitions");
}

TEST_F(PartitionsTest, TheColumnOfIdsIsFoundByItsNameAndByNoOther) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  const std::pair<const char*, const char*> wrong[] = {
      {"visit,a,b\nv1,3,4\nv2,1,1\n", "the file's header does not have it"},
      {"ann,3,4\ncyd,1,1\n", "the file's header does not have it"},
      {"id,id,a\nann,cyd,1\nbob,dan,2\n", "has it twice"},
      {"a,id\nx,9,2\ny,8,1\n", "one field fewer"}};
  for (const auto& [content, sentence] : wrong) {
    EXPECT_EQ(CodeOf("feb", "feb", content), "id-column-missing") << content;
    EXPECT_THAT(sentence_, HasSubstr(sentence));
  }
  // By its number another column cannot be slipped in.
  ImportOptions other =
      OptionsFor("feb", "feb", "visit,id,a,b\nv1,ann,3,4\nv2,cyd,1,1\n");
  other.id_column = 1;
  EXPECT_EQ(CodeOf(other), "id-column-missing");
  other.id_column = 2;
  EXPECT_EQ(CodeOf(other), "people-in-two-partitions");
  other.id_column.reset();
  other.header = false;
  EXPECT_EQ(CodeOf(other), "id-column-missing");
}

// Else every row would have its id among its entries.
TEST_F(PartitionsTest, TheColumnOfIdsIsNoFeatureAndNoClass) {
  const std::string file = "kind,id,a,b\nx,1,3,5\ny,2,1,9\n";
  ImportOptions options = OptionsFor("jan", "jan", "id,a,b\n1,3,4\n2,1,1\n");
  options.label_columns = 0;
  EXPECT_EQ(CodeOf(options), "id-column-out-of-range");
  options.columns = std::string("2,3");
  EXPECT_EQ(CodeOf(options), "");
  EXPECT_EQ(ReadDescription(directory("jan"))->description.features, 2u);
  options = OptionsFor("feb", "feb", file);
  options.class_column = 2;
  options.classes = {"1", "2"};
  EXPECT_EQ(CodeOf(options), "id-column-missing");
  EXPECT_THAT(sentence_, HasSubstr("--class-column names it too"));
  options.class_column = 1;
  options.classes = {"x", "y"};
  options.label_columns = 1;
  EXPECT_EQ(CodeOf(options), "id-column-out-of-range");
  EXPECT_FALSE(fs::exists(directory("feb")));
}

TEST_F(PartitionsTest, EveryPersonHasOneRowAndAnId) {
  EXPECT_EQ(CodeOf("jan", "jan", "id,a,b\nann,3,4\nann,1,1\n"),
            "input-duplicate");
  EXPECT_EQ(CodeOf("jan", "jan", "id,a,b\nann,3,4\n,1,1\n"), "input-malformed");
  EXPECT_EQ(CodeOf("jan", "jan", "id,a,b\n07,3,4\n7,1,1\n"),
            "partition-ids-alike");
  EXPECT_EQ(CodeOf("jan", "jan", "id,a,b\nAnn,3,4\nann,1,1\n"),
            "partition-ids-alike");
  EXPECT_FALSE(fs::exists(directory("jan")));
}

TEST_F(PartitionsTest, NothingIsSaidWithoutTheFingerprintsOfTheOthers) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  const std::string file = directory("jan") + "/people.bin";
  const std::string kept = ReadAll(file);
  const std::string feb = "id,a,b\ncyd,1,1\ndan,2,2\n";
  fs::remove(file);
  EXPECT_EQ(CodeOf("feb", "feb", feb), "people-missing");
  scratch_.Write("data/datasets/jan/people.bin", kept.substr(0, 60));
  EXPECT_EQ(CodeOf("feb", "feb", feb), "people-damaged");
  scratch_.Write("data/datasets/jan/people.bin", kept);
  // A data set that was read and whose directory is gone.
  ImportOptions options = OptionsFor("feb", "feb", feb);
  const Digest jan = ReadDescription(directory("jan"))->description.people;
  EXPECT_EQ(
      CodeOf(options, {.elsewhere = Elsewhere{{"jan", jan}, {"gone", jan}}}),
      "people-missing");
  EXPECT_THAT(sentence_, HasSubstr("The ledger has data set gone"));
  // One of the same name that somebody else is in.
  EXPECT_EQ(CodeOf(options, {.elsewhere = Elsewhere{{"jan", Digest{7}}}}),
            "people-missing");
  EXPECT_THAT(sentence_, HasSubstr("of that name holds other people"));
  scratch_.Write("data/fingerprint.key", std::string(32, 'k'));
  EXPECT_EQ(CodeOf("feb", "feb", feb), "people-damaged") << "another key";
  EXPECT_FALSE(fs::exists(directory("feb")));
}

// The ledger's last word is february: a directory that says january is not what
// it speaks of, and does not tell who is in february.
TEST_F(PartitionsTest,
       TheSamePeopleUnderOneNameInTwoPartitionsAreNotExchanged) {
  ASSERT_EQ(CodeOf("apr", "jan", jan_), "");
  const std::string january = scratch_.path() + "/january";
  fs::rename(directory("apr"), january);
  ASSERT_EQ(CodeOf("apr", "feb", jan_), "");
  const Digest last = ReadDescription(directory("apr"))->description.people;
  EXPECT_NE(ReadDescription(january)->description.people, last);
  fs::rename(directory("apr"), scratch_.path() + "/february");
  fs::rename(january, directory("apr"));
  ImportOptions options = OptionsFor("x", "jan", jan_);
  EXPECT_EQ(CodeOf(options, {.elsewhere = Elsewhere{{"apr", last}}}),
            "people-missing");
  EXPECT_FALSE(fs::exists(directory("x")));
}

// Another import may end, or be killed, while a long file is read.
TEST_F(PartitionsTest, TheLedgerIsAskedWhileNoOtherImportRuns) {
  auto import =
      DatasetImport::Load(OptionsFor("feb", "feb", "id,a,b\ncyd,1,1\n"));
  ASSERT_TRUE(import.ok()) << import.status();
  EXPECT_TRUE(TakeImportLock(data_dir()).ok());
  ASSERT_TRUE(import->Recognise().ok());
  EXPECT_EQ(ReasonCode(TakeImportLock(data_dir()).status()), "import-running");
  EXPECT_EQ(
      ReasonCode(
          import->Draft({.elsewhere = Elsewhere{{"jan", Digest{1}}}}).status()),
      "people-missing");
  EXPECT_FALSE(fs::exists(directory("feb")));
}

TEST_F(PartitionsTest, FingerprintsThatAreMadeAgainAreCheckedAgain) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  ASSERT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,1,1\ndan,2,2\n"), "");
  ImportOptions again = OptionsFor("jan", "", jan_);
  again.partitions = {};
  fs::remove(directory("jan") + "/people.bin");
  const auto made = ImportPeople(again);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(made->has_ids);
  EXPECT_EQ(CodeOf("mar", "mar", "id,a,b\nAnn,1,9\neve,2,9\n"),
            "people-in-two-partitions");
}

// Else the ids that a person is recognised by could be replaced.
TEST_F(PartitionsTest, FingerprintsAreNeverMadeOfOtherIds) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  const std::string file = directory("jan") + "/people.bin";
  const std::string kept = ReadAll(file);
  // The same rows, under pseudonyms.
  const std::string renamed = "id,a,b\nx,3,4\ny,0,7\nz,1,1\n";
  ImportOptions again = OptionsFor("jan", "", renamed);
  again.partitions = {};
  EXPECT_EQ(ReasonCode(ImportPeople(again).status()), "people-differ");
  EXPECT_EQ(ReadAll(file), kept);
  fs::remove(file);
  EXPECT_EQ(ReasonCode(ImportPeople(again).status()), "people-differ");
  EXPECT_FALSE(fs::exists(file));
  // Nor are those of another data set of the same rows taken for them.
  ASSERT_EQ(CodeOf("jan-2", "jan", renamed), "");
  fs::copy_file(directory("jan-2") + "/people.bin", file);
  EXPECT_EQ(ReasonCode(ReadPeople(directory("jan")).status()),
            "people-damaged");
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\ncyd,1,1\ndan,2,2\n"),
            "people-damaged");
  fs::remove(file);
  again = OptionsFor("jan", "", jan_);
  again.partitions = {};
  ASSERT_TRUE(ImportPeople(again).ok());
  EXPECT_EQ(ReadAll(file), kept);
}

// A file with ids that were numbered again has the fingerprint of the first.
TEST_F(PartitionsTest, TheSameDataUnderOtherIdsAreInNoOtherPartition) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  const std::string renamed = "id,a,b\nz,1,1\nx,3,4\ny,0,7\n";
  EXPECT_EQ(CodeOf("feb", "feb", renamed), "data-known");
  EXPECT_THAT(sentence_, HasSubstr("as data set jan of partition jan"));
  ImportOptions options = OptionsFor("feb", "feb", renamed);
  options.accept_equal_rows = true;
  EXPECT_EQ(CodeOf(options), "data-known");
  // Removed data sets count too: their ids count for ever.
  fs::create_directories(RemovedDirectory(data_dir()));
  fs::rename(directory("jan"), RemovedDirectory(data_dir(), "jan"));
  EXPECT_EQ(CodeOf(options, {.used_populations = kNone}), "data-known");
  EXPECT_FALSE(fs::exists(directory("feb")));
  // Data sets that share the budget may have the same data.
  EXPECT_EQ(CodeOf("jan-2", "jan", renamed), "");
  EXPECT_EQ(CodeOf("all", "", renamed), "");
}

// With one person more the fingerprint is another, and the rows tell.
TEST_F(PartitionsTest, MostOfTheRowsOfAnotherPartitionAreRefused) {
  ASSERT_EQ(CodeOf("jan", "jan", jan_), "");
  const std::string more = "id,a,b\nz,1,1\nx,3,4\nq,5,5\nr,6,6\nt,7,8\n";
  EXPECT_EQ(CodeOf("feb", "feb", more), "rows-in-two-partitions");
  EXPECT_THAT(sentence_, HasSubstr("has 2 of these rows under other ids"));
  EXPECT_FALSE(fs::exists(directory("feb")));
  ImportOptions options = OptionsFor("feb", "feb", more);
  options.accept_equal_rows = true;
  notes_.clear();
  EXPECT_EQ(CodeOf(options), "");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("has 2 of these rows"));
  // The flag is no word about ids.
  options = OptionsFor("mar", "mar", "id,a,b\nann,9,9\neve,8,8\n");
  options.accept_equal_rows = true;
  EXPECT_EQ(CodeOf(options), "people-in-two-partitions");
}

// A declared N0 says nothing of how many people there are.
TEST_F(PartitionsTest, TheDeclaredNumberOfPeopleHidesNoEqualRows) {
  const auto code = [&](const std::string& name, const std::string& content) {
    ImportOptions options = OptionsFor(name, name, content);
    options.adjacency = Adjacency::kAddRemoveOne;
    options.users_count = 1000;
    return CodeOf(options);
  };
  // Ids with one form and with two.
  for (const char* ids : {"a,b,c", "A,B,C"}) {
    SCOPED_TRACE(ids);
    fs::remove_all(data_dir());
    const std::string text = ids;
    ASSERT_EQ(code("jan", absl::StrCat("id,u,v\n", text.substr(0, 1), ",3,4\n",
                                       text.substr(2, 1), ",0,7\n",
                                       text.substr(4, 1), ",1,1\n")),
              "")
        << sentence_;
    EXPECT_EQ(code("feb", "id,u,v\nZ,1,1\nX,3,4\nQ,5,5\nR,6,6\nT,7,8\n"),
              "rows-in-two-partitions");
    EXPECT_EQ(code("feb", "id,u,v\nW,1,1\nQ,5,5\nR,6,6\nT,7,8\n"), "")
        << sentence_;
  }
}

// R writes 100000 as 1e+05, and a spreadsheet 100000000001 as 1E+11.
TEST_F(PartitionsTest, NumbersWithExponentsAreNoIds) {
  ASSERT_EQ(CodeOf("jan", "jan", "id,a,b\n100000,3,4\n3,1,1\n"), "");
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\n1e5,3,5\n2,1,7\n"),
            "people-in-two-partitions");
  for (const char* id : {"1e+05", "1.00001E+11", "1.2e6", " 1E+11 ",
                         "\"1,23457E+11\"", "1e+999"}) {
    EXPECT_EQ(
        CodeOf("feb", "feb", absl::StrCat("id,a,b\n", id, ",3,5\n2,1,7\n")),
        "partition-id-rounded")
        << id;
  }
  EXPECT_FALSE(fs::exists(directory("feb")));
  EXPECT_EQ(CodeOf("feb", "feb", "id,a,b\n12e4,3,5\n1.5,1,7\n3f-e+1,1,9\n"),
            "");
}

TEST_F(PartitionsTest, OptionsThatSayNothingOfIdsAreRefused) {
  ImportOptions options = OptionsFor("jan", "apr", jan_);
  EXPECT_EQ(CodeOf(options), "partition-unknown");
  EXPECT_THAT(sentence_, HasSubstr("it has jan, feb, mar"));
  options.partition = "jan";
  options.partitions.names.push_back("jan");
  EXPECT_EQ(CodeOf(options), "partitions-malformed");
  options = OptionsFor("jan", "jan", jan_);
  options.users_are_rows = false;
  EXPECT_EQ(CodeOf(options), "partition-mixed");
  options = OptionsFor("jan", "jan", jan_);
  options.are_sums = true;
  EXPECT_EQ(CodeOf(options), "partition-mixed");
  options = OptionsFor("jan", "jan",
                       "%%MatrixMarket matrix coordinate real "
                       "general\n2 2 1\n1 1 3\n");
  EXPECT_EQ(CodeOf(options), "flag-unused");
}

}  // namespace
}  // namespace dpnmf::curator
