#include "curator/import/import.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/import/people/fingerprint.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/child_process.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

class ImportTest : public testing::Test {
 protected:
  ImportOptions OptionsFor(const std::string& file,
                           const std::string& content) const {
    ImportOptions options = RowsImport(
        data_dir(), scratch_.Write(file, content), "d", "p", 2, 1e-5);
    return options;
  }

  std::string data_dir() const { return scratch_.path() + "/data"; }

  std::vector<std::string> Left() const { return LeftBelow(data_dir()); }

  static mode_t ModeOf(const std::string& path) {
    struct stat facts;
    EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 07777;
  }

  Scratch scratch_;
};

// ---- Names of features

TEST_F(ImportTest, NamesOfTheHeaderAreThoseOfTheFeaturesIfDeclared) {
  const std::string file = "id, left ,\"right, up\"\nann,3,4\nbob,0,7\n";
  ASSERT_TRUE(Import(OptionsFor("m.csv", file)).ok());
  EXPECT_FALSE(
      std::filesystem::exists(data_dir() + "/datasets/d/features.txt"));
  ImportOptions options = OptionsFor("m.csv", file);
  options.name = "named";
  options.names_from_header = true;
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->named_features);
  EXPECT_EQ(imported->features, 2u);
  EXPECT_EQ(ReadAll(data_dir() + "/datasets/named/features.txt"),
            "left\nright, up\n");
}

TEST_F(ImportTest, AHeaderThatNamesNoFeaturesIsRefused) {
  const struct {
    const char *file, *code;
    bool rows = true;
  } cases[] = {{"3,4\n5,1\n", "features-mismatch"},
               {"a,a\n3,4\n5,1\n", "features-mismatch"},
               {"a,b\n3,4\n5,1\n", "features-mismatch", false},
               {"a,\x01\n3,4\n5,1\n", "input-malformed"}};
  for (const auto& one : cases) {
    ImportOptions options = OptionsFor("m.csv", one.file);
    options.users_are_rows = one.rows;
    options.names_from_header = true;
    EXPECT_EQ(ReasonCode(Import(options).status()), one.code) << one.file;
  }
  ImportOptions both = OptionsFor("m.csv", "a,b\n3,4\n");
  both.names_from_header = true;
  both.features_file = scratch_.Write("f", "left\nright\n");
  EXPECT_EQ(ReasonCode(Import(both).status()), "flag-unused");
  ImportOptions other = OptionsFor("m.mtx",
                                   "%%MatrixMarket matrix array real general\n"
                                   "1 2\n3\n4\n");
  other.names_from_header = true;
  EXPECT_EQ(ReasonCode(Import(other).status()), "flag-unused");
}

// --header yes makes the first person's row a header.
TEST_F(ImportTest, APersonIsNotPublishedAsNamesOfFeatures) {
  const char* const first_rows[] = {
      "3,4",         "a,4",     "3,b",       "a,-1.5e3",        "a,-Inf",
      "a, 4 ",       "a,\"4\"", "a,\" 4 \"", "a,\"\"\"4\"\"\"", "a,'4'",
      "a,\"1 000\"", "a,+0",    "a,\"3,5\"", "a,1e999",
  };
  for (const char* const first : first_rows) {
    ImportOptions options =
        OptionsFor("m.csv", std::string(first) + "\n5,1\n0,2\n");
    options.header = true;
    options.label_columns = 0;
    options.names_from_header = true;
    const auto imported = Import(options).status();
    EXPECT_EQ(ReasonCode(imported), "header-not-names") << first;
    EXPECT_NE(imported.message().find("looks like a person"),
              std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(data_dir() + "/datasets/d"));
  }
  // A label is a number, and names are words.
  ImportOptions labelled = OptionsFor("m.csv", "17,left,right\n18,5,1\n");
  labelled.header = true;
  labelled.label_columns = 1;
  labelled.names_from_header = true;
  EXPECT_EQ(ReasonCode(Import(labelled).status()), "header-not-names");
  ImportOptions names = OptionsFor("m.csv", "x1,2nd\n5,1\n0,2\n");
  names.header = true;
  names.label_columns = 0;
  names.names_from_header = true;
  EXPECT_TRUE(Import(names).ok()) << "words with digits";
}

// ---- Written files

TEST_F(ImportTest, WritesDenseColumnsAsAFortranOrderedArray) {
  const auto imported = Import(OptionsFor("m.csv", "3,4\n0,0\n0,7\n"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->features, 2u);
  EXPECT_EQ(imported->users, 3u);
  EXPECT_EQ(imported->column_bound, 1);
  EXPECT_FALSE(imported->sparse);
  EXPECT_EQ(Left(), (std::vector<std::string>{
                        "datasets/d", "datasets/d/dataset.json",
                        "datasets/d/digests.json", "datasets/d/people.bin",
                        "datasets/d/values.npy"}));
  const float expected[] = {0.6f, 0.8f, 0, 0, 0, 1};
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  const std::string bytes = ReadAll(data_dir() + "/datasets/d/values.npy");
  ASSERT_EQ(bytes.size(), 128 + sizeof(expected));
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 118),
            absl::StrCat(dictionary, std::string(117 - dictionary.size(), ' '),
                         "\n"));
  EXPECT_EQ(std::memcmp(bytes.data() + 128, expected, sizeof(expected)), 0);
}

TEST_F(ImportTest, WritesSparseColumnsAsThreeArrays) {
  ImportOptions options =
      OptionsFor("m.mtx",
                 "%%MatrixMarket matrix coordinate real general\n"
                 "3 2 3\n1 1 3\n3 1 4\n2 2 9\n");
  options.users_are_rows = false;
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->sparse);
  const std::string directory = data_dir() + "/datasets/d";
  const float data[] = {0.6f, 0.8f, 1};
  const std::int32_t indices[] = {0, 2, 1};
  const std::int64_t indptr[] = {0, 2, 3};
  const auto expect_end = [&](const std::string& file, const auto& array,
                              const char* dtype) {
    const std::string bytes = ReadAll(absl::StrCat(directory, "/", file));
    EXPECT_EQ(bytes.size(), 128 + sizeof(array)) << file;
    EXPECT_EQ(bytes.substr(128),
              std::string(reinterpret_cast<const char*>(array), sizeof(array)));
    EXPECT_NE(
        bytes.find(absl::StrCat("{'descr': '", dtype,
                                "', 'fortran_order': False, 'shape': (3,), }")),
        std::string::npos);
  };
  expect_end("data.npy", data, "<f4");
  expect_end("indices.npy", indices, "<i4");
  expect_end("indptr.npy", indptr, "<i8");
}

TEST_F(ImportTest, NumpyOpensWhatIsWritten) {
  const std::string python = "/usr/bin/python3";
  if (std::system(
          absl::StrCat(python, " -c 'import numpy' 2>/dev/null").c_str()) !=
      0) {
    GTEST_SKIP() << "python3-numpy is not installed";
  }
  ASSERT_TRUE(Import(OptionsFor("m.csv", "3,4\n0,0\n0,7\n")).ok());
  ImportOptions sparse =
      OptionsFor("m.mtx",
                 "%%MatrixMarket matrix coordinate real general\n"
                 "2 3 3\n1 1 3\n1 3 4\n2 2 9\n");
  sparse.name = std::string("s");
  ASSERT_TRUE(Import(sparse).ok());
  const std::string script = scratch_.Write("check.py", R"(
import sys, numpy as np
d = sys.argv[1] + '/datasets/'
v = np.load(d + 'd/values.npy', mmap_mode='r')
assert v.dtype == np.float32 and v.shape == (2, 3) and v.flags.f_contiguous, v
assert (v == np.array([[.6, 0, 0], [.8, 0, 1]], np.float32)).all(), v
data, indices, indptr = (np.load(d + 's/' + n + '.npy') for n in ('data', 'indices', 'indptr'))
assert (data.dtype, indices.dtype, indptr.dtype) == (np.float32, np.int32, np.int64)
assert indptr.tolist() == [0, 2, 3] and indices.tolist() == [0, 2, 1]
assert (data == np.array([.6, .8, 1], np.float32)).all(), data
)");
  EXPECT_EQ(
      std::system(absl::StrCat(python, " ", script, " ", data_dir()).c_str()),
      0);
}

TEST_F(ImportTest, KeepsFilesToTheOperator) {
  const mode_t before = umask(0);
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  options.features_file = scratch_.Write("f", "left\nright\n");
  ASSERT_TRUE(Import(options).ok());
  umask(before);
  EXPECT_EQ(ModeOf(data_dir()), 0700u);
  EXPECT_EQ(ModeOf(data_dir() + "/fingerprint.key"), 0600u);
  EXPECT_EQ(ModeOf(data_dir() + "/datasets"), 0700u);
  EXPECT_EQ(ModeOf(data_dir() + "/datasets/d"), 0700u);
  for (const char* file : {"values.npy", "dataset.json", "features.txt"}) {
    EXPECT_EQ(ModeOf(absl::StrCat(data_dir(), "/datasets/d/", file)), 0600u);
  }
  EXPECT_EQ(ReadAll(data_dir() + "/datasets/d/features.txt"), "left\nright\n");
}

TEST_F(ImportTest, DescribesWhatWasDeclaredAndNothingElse) {
  ImportOptions options = OptionsFor("m.csv", "1,2\n3,4\n6,6\n");
  options.adjacency = Adjacency::kAddRemoveOne;
  options.users_count = 100;
  options.conversion = Conversion::kGaussian;
  options.normalisation = Normalisation::kNone;
  options.column_bound = 2.5;
  options.is_public = true;
  ASSERT_TRUE(Import(options).ok());
  const auto dataset = Dataset::Open(DatasetDirectory(data_dir(), "d"));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const DatasetDescription& description = (*dataset)->description();
  EXPECT_EQ(description.users, 100u);  // N0; the 3 that are there stay private
  EXPECT_EQ((*dataset)->private_user_count(), 3u);
  EXPECT_EQ(description.column_bound, 2.5);
  EXPECT_EQ(description.conversion, Conversion::kGaussian);
  EXPECT_EQ(description.epsilon, 2);
  EXPECT_TRUE(description.is_public);
  for (std::uint64_t n = 0; n < 3; ++n) {
    const auto column = (*dataset)->DenseColumn(n);
    EXPECT_LE(std::hypot(column[0], column[1]), 2.5 * (1 + 1e-6));
  }
}

TEST_F(ImportTest, ImportsTriplesIntoDeclaredItemsAndUsers) {
  ImportOptions options =
      OptionsFor("u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n");
  options.users_are_rows.reset();
  options.format = MatrixFormatOfName("triples").value();
  options.features_file = scratch_.Write("items", "302\n7\n242\n");
  options.users_count = 5;
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->features, 3u);
  EXPECT_EQ(imported->users, 5u);
  EXPECT_TRUE(imported->sparse);
}

TEST_F(ImportTest, GivesAUserTheSameBitsWhereverTheUserStands) {
  ImportOptions options = OptionsFor("a.csv", "1,2,3\n4,5,6\n0.1,0.7,0.3\n");
  ASSERT_TRUE(Import(options).ok());
  options.input =
      scratch_.Write("b.csv", "0.1,0.7,0.3\n9,9,9\n1,2,3\n100,0,0\n4,5,6\n");
  options.name = std::string("e");
  ASSERT_TRUE(Import(options).ok());
  const auto a = Dataset::Open(DatasetDirectory(data_dir(), "d"));
  const auto b = Dataset::Open(DatasetDirectory(data_dir(), "e"));
  ASSERT_TRUE(a.ok() && b.ok());
  const std::pair<int, int> same[] = {{0, 2}, {1, 4}, {2, 0}};
  for (const auto& [i, j] : same) {
    EXPECT_TRUE(std::ranges::equal((*a)->DenseColumn(i), (*b)->DenseColumn(j)));
  }
}

// ---- Refusals, which leave nothing behind

TEST_F(ImportTest, ChecksTheOptionsBeforeItLooksAtTheFile) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    const char* code;
    std::function<void(ImportOptions*)> change;
  } cases[] = {
      {"name-malformed",
       [](ImportOptions* o) { o->name = std::string("../d"); }},
      {"name-malformed", [](ImportOptions* o) { o->name = std::string(""); }},
      {"population-malformed",
       [](ImportOptions* o) { o->population = std::string("P"); }},
      {"epsilon-out-of-range", [](ImportOptions* o) { o->epsilon = 0; }},
      {"epsilon-out-of-range", [](ImportOptions* o) { o->epsilon = 1000.001; }},
      {"epsilon-out-of-range", [=](ImportOptions* o) { o->epsilon = nan; }},
      {"epsilon-out-of-range",
       [=](ImportOptions* o) { o->epsilon = infinity; }},
      {"delta-out-of-range", [](ImportOptions* o) { o->delta = 0; }},
      {"delta-out-of-range", [](ImportOptions* o) { o->delta = 1; }},
      {"delta-out-of-range", [=](ImportOptions* o) { o->delta = nan; }},
      {"column-bound-out-of-range",
       [](ImportOptions* o) { o->column_bound = 2; }},
      {"column-bound-missing",
       [](ImportOptions* o) { o->normalisation = Normalisation::kNone; }},
      {"column-bound-out-of-range",
       [=](ImportOptions* o) {
         o->normalisation = Normalisation::kNone;
         o->column_bound = nan;
       }},
      {"column-bound-out-of-range",
       [](ImportOptions* o) {
         o->normalisation = Normalisation::kNone;
         o->column_bound = 0;
       }},
      {"column-bound-out-of-range",
       [](ImportOptions* o) {
         o->normalisation = Normalisation::kNone;
         o->column_bound = 1e7;
       }},
      {"users-orientation-missing",
       [](ImportOptions* o) { o->users_are_rows.reset(); }},
      {"features-missing",
       [](ImportOptions* o) {
         o->format = MatrixFormatOfName("triples").value();
       }},
      {"users-count-missing",
       [](ImportOptions* o) {
         o->format = MatrixFormatOfName("triples").value();
         o->features_file = std::string("f");
       }},
      {"users-count-missing",
       [](ImportOptions* o) { o->adjacency = Adjacency::kAddRemoveOne; }},
      {"users-count-out-of-range",
       [](ImportOptions* o) { o->users_count = 0; }},
      {"users-count-out-of-range",
       [](ImportOptions* o) { o->users_count = (std::uint64_t{1} << 40) + 1; }},
      {"users-count-out-of-range",  // so many columns would be made
       [](ImportOptions* o) {
         o->format = MatrixFormatOfName("triples").value();
         o->features_file = std::string("f");
         o->users_count = 100'000'001;
       }},
      {"label-columns-out-of-range",
       [](ImportOptions* o) { o->label_columns = -1; }},
  };
  for (const auto& [code, change] : cases) {
    ImportOptions options = OptionsFor("m.csv", "1,2\n");
    options.input = scratch_.path() + "/missing.csv";
    change(&options);
    const absl::Status status = Import(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << code;
    EXPECT_EQ(ReasonCode(status), code) << status;
  }
  EXPECT_FALSE(std::filesystem::exists(data_dir()));
}

TEST_F(ImportTest, SaysOfRatingsThatTheyAreSomeBeforeItAsksForUsers) {
  ImportOptions options =
      OptionsFor("u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n");
  options.users_are_rows.reset();
  const absl::Status status = Import(options).status();
  EXPECT_EQ(ReasonCode(status), "input-ratings") << status;
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("give --ratings"));
  // The operator's declaration of the lines is believed.
  options.format = MatrixFormatOfName("tsv").value();
  EXPECT_EQ(ReasonCode(Import(options).status()), "users-orientation-missing");
  options = OptionsFor("m.csv", "1,2\n");
  options.users_are_rows.reset();
  EXPECT_EQ(ReasonCode(Import(options).status()), "users-orientation-missing");
}

TEST_F(ImportTest, LeavesNotEvenTheDataDirectoryBehindARefusedFile) {
  for (const char* content :
       {"", "a,b\n", "1,-2\n", "1,nan\n", "1,inf\n", "1,2\n3\n", "1,?\n"}) {
    const absl::Status status = Import(OptionsFor("m.csv", content)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << content;
    EXPECT_FALSE(std::filesystem::exists(data_dir())) << content;
  }
}

TEST_F(ImportTest, RefusesANameInUseBeforeItReads) {
  ASSERT_TRUE(Import(OptionsFor("m.csv", "1,2\n")).ok());
  const std::vector<std::string> before = Left();
  const std::string json = ReadAll(data_dir() + "/datasets/d/dataset.json");
  ImportOptions options = OptionsFor("m.csv", "3,4\n");
  options.input = scratch_.path() + "/missing.csv";
  const absl::Status status = Import(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReasonCode(status), "dataset-exists");
  EXPECT_EQ(Left(), before);
  EXPECT_EQ(ReadAll(data_dir() + "/datasets/d/dataset.json"), json);
}

TEST_F(ImportTest, LeavesNothingIfTheLedgerRefuses) {
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  bool was_complete = false;
  BetweenSteps between;
  between.before_publish = [&](const DatasetImport& import,
                               const DatasetDigests&) {
    EXPECT_EQ(import.description().users, 1u);
    EXPECT_FALSE(std::filesystem::exists(DatasetDirectory(data_dir(), "d")));
    was_complete = Left().size() == 5;  // the draft with its four files
    return Refusal(absl::StatusCode::kFailedPrecondition, "population-differs",
                   "no");
  };
  EXPECT_EQ(ReasonCode(Import(options, between).status()),
            "population-differs");
  EXPECT_TRUE(was_complete);
  EXPECT_EQ(Left(), std::vector<std::string>());
}

TEST_F(ImportTest, EachStepIsTakenOnceAndInOrder) {
  auto early = DatasetImport::Load(OptionsFor("m.csv", "1,2\n"));
  ASSERT_TRUE(early.ok()) << early.status();
  EXPECT_FALSE(early->Draft({}).ok());
  EXPECT_FALSE(early->Recognise().ok()) << "after a step that was refused";
  auto import = DatasetImport::Load(OptionsFor("m.csv", "1,2\n"));
  ASSERT_TRUE(import->Recognise().ok());
  EXPECT_FALSE(import->Publish().ok());
  EXPECT_FALSE(import->Draft({}).ok());
  EXPECT_EQ(Left(), std::vector<std::string>());
}

TEST_F(ImportTest, AnInterruptedImportLeavesNothingWhereverItIs) {
  ImportOptions options = OptionsFor("m.csv", "3,4\n0,0\n0,7\n");
  int refused = 0;
  for (;; ++refused) {
    ASSERT_LT(refused, 20);
    int calls = 0;
    options.interrupted = [&] { return ++calls > refused; };
    const auto imported = Import(options);
    if (imported.ok()) break;
    EXPECT_EQ(imported.status().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(ReasonCode(imported.status()), "cancelled");
    EXPECT_TRUE(Left().empty());
  }
  // While reading, before writing and before it gets its name.
  EXPECT_GE(refused, 3);
}

TEST_F(ImportTest, RefusesMoreUsersThanTheDeclaredCountLeavesRoomFor) {
  std::string text;
  for (int n = 0; n < 1027; ++n) text += "1\n";
  ImportOptions options = OptionsFor("m.csv", text);
  options.adjacency = Adjacency::kAddRemoveOne;
  options.users_count = 1;  // leaves room for 2 * 1 + 1024
  EXPECT_EQ(ReasonCode(Import(options).status()), "users-too-many");
  EXPECT_EQ(Left(), std::vector<std::string>());
  options.users_count = 2;
  EXPECT_TRUE(Import(options).ok());
}

TEST_F(ImportTest, RefusesDataThatAreKnownUnderAnotherPopulation) {
  ASSERT_TRUE(Import(OptionsFor("m.csv", "1,2\n3,4\n")).ok());
  const std::vector<std::string> before = Left();
  // The same people in another order and another format.
  ImportOptions options =
      OptionsFor("m.mtx",
                 "%%MatrixMarket matrix coordinate real general\n"
                 "2 2 4\n1 1 3\n1 2 4\n2 1 1\n2 2 2\n");
  options.name = std::string("e");
  options.population = std::string("q");
  const absl::Status status = Import(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonCode(status), "data-known");
  EXPECT_NE(status.message().find("population p"), std::string::npos);
  EXPECT_EQ(Left(), before);
  options.population = std::string("p");
  EXPECT_TRUE(Import(options).ok());
}

TEST_F(ImportTest, RefusesToGoOnIfAKnownDescriptionCannotBeRead) {
  ASSERT_TRUE(Import(OptionsFor("m.csv", "1,2\n")).ok());
  std::ofstream(data_dir() + "/datasets/d/dataset.json", std::ios::trunc)
      << "{";
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  options.name = std::string("e");
  EXPECT_EQ(ReasonCode(Import(options).status()), "dataset-damaged");
}

TEST_F(ImportTest, RefusesToReplaceALostKey) {
  ASSERT_TRUE(Import(OptionsFor("m.csv", "1,2\n")).ok());
  std::filesystem::remove(data_dir() + "/fingerprint.key");
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  options.name = std::string("e");
  EXPECT_EQ(ReasonCode(Import(options).status()), "fingerprint-key-damaged");
}

TEST_F(ImportTest, RefusesASecondImportAtTheSameTime) {
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  absl::Status inner;
  BetweenSteps between;
  between.before_publish = [&](const DatasetImport&, const DatasetDigests&) {
    ImportOptions second = OptionsFor("n.csv", "3,4\n");
    second.name = std::string("e");
    inner = Import(second).status();
    return absl::OkStatus();
  };
  EXPECT_TRUE(Import(options, between).ok());
  EXPECT_EQ(ReasonCode(inner), "import-running");
}

// ---- The machine fails

TEST_F(ImportTest, AKilledImportLeavesNoDataSetAndTheNextOneCleansUp) {
  ImportOptions options = OptionsFor("m.csv", "1,2\n");
  const int status = ExitStatusOf([&] {
    BetweenSteps between;
    between.before_publish = [](const DatasetImport&,
                                const DatasetDigests&) -> absl::Status {
      kill(getpid(), SIGKILL);
      return absl::OkStatus();
    };
    return Import(options, between).ok() ? 0 : 1;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(Left().size(), 5u);  // the draft
  EXPECT_TRUE(DatasetNames(data_dir())->empty());
  EXPECT_TRUE(Import(options).ok());
  EXPECT_EQ(Left(), (std::vector<std::string>{
                        "datasets/d", "datasets/d/dataset.json",
                        "datasets/d/digests.json", "datasets/d/people.bin",
                        "datasets/d/values.npy"}));
}

TEST_F(ImportTest, ADryRunShowsTheFirstPeopleAndWritesNothing) {
  ImportOptions options = OptionsFor("m.csv", "who,a,b\nann,1,0\nbob,0.5,0\n");
  std::vector<std::string> notes;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const auto import = DatasetImport::Load(options);
  ASSERT_TRUE(import.ok()) << import.status();
  const ImportPreview preview = import->Preview();
  EXPECT_EQ(preview.people, 2u);
  EXPECT_EQ(preview.description.features, 2u);
  EXPECT_EQ(preview.first,
            (std::vector<std::string>{"1 0 (sum 1)", "0.5 0 (sum 0.5)"}));
  EXPECT_EQ(notes,
            std::vector<std::string>{"Features that are 0 for everybody: 1"});
  EXPECT_EQ(Left(), std::vector<std::string>());
  // A dry run refuses what a real import would refuse.
  options = OptionsFor("m.csv", "1,2\n1,x\n");
  EXPECT_EQ(ReasonCode(DatasetImport::Load(options).status()),
            "input-not-a-number");
}

TEST_F(ImportTest, SaysHowManyPeopleAndFeaturesAreAllZero) {
  std::vector<std::string> notes;
  for (const char* text :
       {"0,0,1\n0,0,0\n0,0,0\n",
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 3 1\n"}) {
    notes.clear();
    ImportOptions options =
        OptionsFor(text[0] == '0' ? "m.csv" : "m.mtx", text);
    options.name = text[0] == '0' ? "d" : "e";
    options.note = [&](const std::string& note) { notes.push_back(note); };
    ASSERT_TRUE(Import(options).ok());
    EXPECT_EQ(notes, (std::vector<std::string>{
                         "People whose entries are all 0: 2",
                         "Features that are 0 for everybody: 2"}));
  }
}

TEST_F(ImportTest, AFullDiskLeavesNothing) {
  std::string text;
  for (int n = 0; n < 5000; ++n) absl::StrAppend(&text, n, ",1\n");
  ImportOptions options = OptionsFor("m.csv", text);  // values.npy: 40 kB
  options.label_columns = 0;
  options.header = false;
  const int status = ExitStatusOf([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status refused = Import(options).status();
    return ReasonCode(refused) == "storage-failed" &&
                   refused.code() == absl::StatusCode::kUnavailable
               ? 0
               : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Left(), std::vector<std::string>());
}

// ---- The fingerprint

LoadedMatrix Matrix(std::uint64_t features, std::vector<float> values) {
  LoadedMatrix matrix;
  matrix.features = features;
  matrix.users = values.size() / features;
  matrix.values = std::move(values);
  return matrix;
}

TEST(Fingerprint, SeesTheSetOfColumnsAndTheKey) {
  const FingerprintKey key{1}, other_key{2};
  const Digest original = FingerprintOf(Matrix(2, {1, 2, 3, 0}), key);
  EXPECT_EQ(original, FingerprintOf(Matrix(2, {3, 0, 1, 2}), key));
  LoadedMatrix sparse = Matrix(2, {1, 2, 3});
  sparse.sparse = true;
  sparse.users = 2;
  sparse.indptr = {0, 2, 3};
  sparse.indices = {0, 1, 0};
  EXPECT_EQ(original, FingerprintOf(sparse, key));
  EXPECT_NE(original, FingerprintOf(Matrix(2, {1, 2, 3, 0}), other_key));
  EXPECT_NE(original, FingerprintOf(Matrix(2, {2, 1, 3, 0}), key));
  EXPECT_NE(
      original,
      FingerprintOf(Matrix(2, {1, 2, std::nextafter(3.0f, 4.0f), 0}), key));
  EXPECT_NE(original, FingerprintOf(Matrix(4, {1, 2, 3, 0}), key));
  // Whoever has no entries gets no budget.
  EXPECT_EQ(original, FingerprintOf(Matrix(2, {1, 2, 3, 0, 0, 0}), key));
  EXPECT_NE(original, FingerprintOf(Matrix(2, {1, 2}), key));
  EXPECT_NE(original, FingerprintOf(Matrix(2, {1, 2, 1, 2, 3, 0}), key));
}

TEST(Fingerprint, KeyIsDrawnOnceAndKept) {
  const Scratch a, b;
  const auto first = LoadOrCreateFingerprintKey(a.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, *LoadOrCreateFingerprintKey(a.path()));
  EXPECT_NE(*first, *LoadOrCreateFingerprintKey(b.path()));
  a.Write("fingerprint.key", "short");
  EXPECT_EQ(ReasonCode(LoadOrCreateFingerprintKey(a.path()).status()),
            "fingerprint-key-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
