// Imports of rows that another program writes: the bits of a file, whose end is
// known.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr char kRows[] =
    "who,beds,days\nann,1,2\nbob,0,\"3\"\ncyn,5,1\ndan,3,2\neve,0,1\n";
constexpr char kMatrix[] =
    "--input - --format-in csv --users rows --label-columns 1";

class StandardInput : public Terminal {
 protected:
  StandardInput() {
    scratch_.Write("items.txt", "tea\nsalt\nrye\n");
    scratch_.Write("rows.csv", kRows);
  }

  // Runs the program with a pipe that ends after the content.
  int Pipe(const std::string& content, const std::string& arguments) {
    scratch_.Write("in", content);
    const int status = std::system(("cd '" + scratch_.path() +
                                    "' && cat in | '" DPNMF_PROGRAM "' " +
                                    arguments + " >out 2>err")
                                       .c_str());
    out_ = ReadAll(scratch_.path() + "/out");
    err_ = ReadAll(scratch_.path() + "/err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // An import into the directory, with its promise.
  static std::string Into(const std::string& data_dir,
                          const std::string& flags) {
    return "import --name v --population people --epsilon 1 --delta 1e-6 "
           "--data-dir " +
           data_dir + " " + flags;
  }

  // Bytes of every file of the data sets, by name.
  std::map<std::string, std::string> Files(const std::string& data_dir) const {
    std::map<std::string, std::string> files;
    const std::string root = scratch_.path() + "/" + data_dir + "/datasets";
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(root, none))
      if (entry.is_regular_file())
        files[entry.path().lexically_relative(root)] = ReadAll(entry.path());
    return files;
  }

  // The refusal is one line with this code, and nothing is stored.
  void ExpectRefused(const std::string& code) const {
    EXPECT_THAT(err_, HasSubstr("[" + code + "]"));
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
    EXPECT_FALSE(Exists("z/ledger/ledger.sqlite")) << code;
    EXPECT_FALSE(Exists("z/datasets")) << code;
  }
};

// ---- The bits of a file

TEST_F(StandardInput, GivesTheDataSetOfTheSameRowsInAFile) {
  const struct {
    const char* name;
    std::string content;
    const char* flags;  // with FILE in the place of the file
    int rows;
  } cases[] = {
      {"m.csv", kRows,
       "--input FILE --format-in csv --users rows --label-columns 1 "
       "--features-from-header",
       5},
      {"bom.csv", std::string("\xEF\xBB\xBF") + kRows,
       "--input FILE --format-in csv --users rows --id-column 1", 5},
      {"m.tsv", "# made\n1\t2\n3\t4\n0\t1\n\n",
       "--input FILE --format-in tsv --users rows", 3},
      {"c.txt", "1 2 3\n4 5 0\n",
       "--input FILE --format-in text --users columns", 2},
      {"t.csv", "who,what,n\nkim,tea,2\nlee,rye,0\nkim,rye,4\n",
       "--input FILE --format-in triples --features items.txt --users-count 3",
       3},
      {"r.csv", "user,item,rating\nann,tea,0\nbob,rye,5\nann,tea,3.5\n",
       "--ratings FILE --items items.txt --rating-range 0,5 --users-count 3",
       3}};
  for (const auto& one : cases) {
    for (const char* old : {"/a", "/a.anchor", "/b", "/b.anchor"})
      fs::remove_all(scratch_.path() + old);
    scratch_.Write(one.name, one.content);
    const auto flags = [&](const std::string& file) {
      std::string all = one.flags;
      all.replace(all.find("FILE"), 4, file);
      return all;
    };
    ASSERT_EQ(Run(Into("a", flags(one.name))), kExitOk) << one.name << err_;
    const std::string printed = out_.substr(0, out_.find("\nimported"));
    // Fingerprints are keyed.
    fs::create_directories(scratch_.path() + "/b");
    fs::copy_file(scratch_.path() + "/a/fingerprint.key",
                  scratch_.path() + "/b/fingerprint.key");
    std::string piped = flags("-");
    if (piped.find("--ratings") == 0) piped += " --format-in csv";
    ASSERT_EQ(Pipe(one.content, Into("b", piped + " --expect-rows " +
                                              std::to_string(one.rows))),
              kExitOk)
        << one.name << err_;
    EXPECT_EQ(out_.substr(0, out_.find("\nimported")), printed);
    EXPECT_GE(Files("a").size(), 4u);
    EXPECT_EQ(Files("a"), Files("b")) << one.name;
    // The closing line is no data.
    fs::remove_all(scratch_.path() + "/b/datasets");
    fs::remove_all(scratch_.path() + "/b/ledger");
    fs::remove_all(scratch_.path() + "/b.anchor");
    ASSERT_EQ(Pipe(one.content + "-- end\r\n",
                   Into("b", piped + " --closing-line '-- end'")),
              kExitOk)
        << one.name << err_;
    EXPECT_EQ(Files("a"), Files("b")) << one.name;
  }
}

TEST_F(StandardInput, IsReadAsAFileWouldBe) {
  scratch_.WriteGzip("rows.gz", kRows);
  EXPECT_EQ(Pipe(ReadAll(scratch_.path() + "/rows.gz"),
                 Into("z", absl::StrCat(kMatrix, " --expect-rows 5"))),
            kExitOk)
      << err_;
  std::string utf16 = "\xFF\xFE";
  for (const char c : std::string(kRows)) (utf16 += c) += '\0';
  EXPECT_EQ(Pipe(utf16, Into("y", absl::StrCat(kMatrix, " --expect-rows 5"))),
            kExitOk)
      << err_;
  EXPECT_EQ(Files("z").count("v/values.npy"), 1u);
  EXPECT_EQ(Files("z")["v/values.npy"], Files("y")["v/values.npy"]);
  // A line is named by the input that it stands in.
  EXPECT_EQ(Pipe("who,beds\nann,1\nbob,x\ncyn,\n",
                 Into("x", absl::StrCat(kMatrix, " --expect-rows 3"))),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("`standard input`, line 3, column 2"));
}

TEST_F(StandardInput, OfPartsIsJoined) {
  fs::create_directories(scratch_.path() + "/z");
  scratch_.Write("z/fingerprint.key", std::string(32, 'k'));
  const std::string part =
      Into("z", "--input - --format-in csv --users rows --shard-of ");
  EXPECT_EQ(Pipe("1,2\n0,3\n", part + "1-2/3 --expect-rows 3"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[rows-mismatch]"));
  EXPECT_EQ(Pipe("1,2\n0,3\n", part + "1-2/3 --expect-rows 2"), kExitOk)
      << err_;
  EXPECT_EQ(Pipe("5,1\nEND\n", part + "3-3/3 --closing-line END"), kExitOk)
      << err_;
  ASSERT_EQ(Run("join-parts --name v --data-dir z"), kExitOk) << err_;
  const std::string json = Files("z")["v/dataset.json"];
  EXPECT_THAT(json, HasSubstr("\"users\": 3"));
  EXPECT_THAT(json, Not(HasSubstr("unverified")));
}

TEST_F(StandardInput, LongerThanAPieceIsWhole) {
  std::string rows;
  for (int n = 0; n < 100'000; ++n)
    absl::StrAppend(&rows, n % 7, ",", n % 1000, "\n");
  scratch_.Write("long.csv", rows);
  ASSERT_EQ(Run(Into("a", "--input long.csv --users rows")), kExitOk) << err_;
  ASSERT_EQ(Pipe(rows + "END\n", Into("b",
                                      "--input - --format-in csv --users rows "
                                      "--closing-line END --expect-rows "
                                      "100000")),
            kExitOk)
      << err_;
  EXPECT_EQ(Files("a")["v/values.npy"], Files("b")["v/values.npy"]);
}

// More lines than wait in memory to be sorted; a fingerprint is that of the
// entries, however they are stored.
TEST_F(StandardInput, OfManyTriplesIsSorted) {
  constexpr int kPeople = 700, kItems = 100;
  const auto count = [](int n, int d) { return (n * 31 + d * 17) % 10; };
  std::string table, triples, items;
  for (int n = 0; n < kPeople; ++n)
    for (int d = 0; d < kItems; ++d)
      absl::StrAppend(&table, count(n, d), d + 1 < kItems ? "," : "\n");
  for (int d = kItems - 1; d >= 0; --d) {
    for (int n = 0; n < kPeople; ++n)
      absl::StrAppend(&triples, "p", n, ",i", d, ",", count(n, d), "\n");
  }
  for (int d = 0; d < kItems; ++d) absl::StrAppend(&items, "i", d, "\n");
  scratch_.Write("table.csv", table);
  scratch_.Write("triples.csv", triples);
  scratch_.Write("items.txt", items);
  ASSERT_EQ(Run(Into("a", "--input table.csv --users rows")), kExitOk) << err_;
  fs::create_directories(scratch_.path() + "/b");
  fs::copy_file(scratch_.path() + "/a/fingerprint.key",
                scratch_.path() + "/b/fingerprint.key");
  const std::string flags =
      "--format-in triples --features items.txt --users-count 700 --input ";
  const auto fingerprint = [&](const char* data_dir) {
    return nlohmann::json::parse(
        Files(data_dir)["v/dataset.json"])["fingerprint"];
  };
  ASSERT_EQ(Pipe(triples, Into("b", flags + "- --expect-rows 70000")), kExitOk)
      << err_;
  EXPECT_EQ(fingerprint("a"), fingerprint("b"));
  const std::string data = Files("b")["v/data.npy"];
  fs::remove_all(scratch_.path() + "/b/datasets");
  fs::remove_all(scratch_.path() + "/b/ledger");
  fs::remove_all(scratch_.path() + "/b.anchor");
  ASSERT_EQ(Run(Into("b", flags + "triples.csv")), kExitOk) << err_;
  EXPECT_EQ(Files("b")["v/data.npy"], data);
  // Lines are found again.
  EXPECT_EQ(
      Pipe(triples + "p1,i99,5\n", Into("z", flags + "- --expect-rows 1")),
      kExitUsage);
  EXPECT_THAT(err_, HasSubstr("`standard input`, line 70001, column 1: this "
                              "entry is also in line 2"));
  ExpectRefused("input-duplicate");
  // So are ratings: the last one of an item counts.
  const std::string ratings =
      "--ratings - --format-in csv --items items.txt --rating-range 0,9 "
      "--users-count 700 --expect-rows 70002";
  ASSERT_EQ(Pipe(triples + "p699,i0,1\np699,i0,2.5\n", Into("y", ratings)),
            kExitOk)
      << err_;
  EXPECT_THAT(err_, HasSubstr("the same person and item: 2."));
  std::int32_t last[100];
  const std::string units = Files("y")["v/ratings.npy"];
  std::memcpy(last, units.data() + units.size() - sizeof last, sizeof last);
  EXPECT_EQ(last[0], 25000);
  for (int d = 1; d < kItems; ++d)
    EXPECT_EQ(last[d], 10000 * count(kPeople - 1, d)) << d;
}

TEST_F(StandardInput, IsCheckedByADryRunThatWritesNothing) {
  const std::string flags =
      absl::StrCat("import --dry-run ", kMatrix, " --expect-rows ");
  ASSERT_EQ(Pipe(kRows, flags + "5"), kExitOk) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("2 features (D) x 5 users"),
                          HasSubstr("Nothing was written.")));
  ASSERT_EQ(Pipe(kRows, flags + "5 --data-dir z"), kExitOk) << err_;
  EXPECT_FALSE(Exists("z"));
  EXPECT_EQ(Pipe(kRows, flags + "4"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[rows-mismatch]"));
  EXPECT_EQ(Pipe(kRows, flags + "5 --max-bytes 20"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-too-large]"));
  fs::create_directories(scratch_.path() + "/z/datasets");
  ASSERT_EQ(Pipe(kRows, flags + "5 --data-dir z"), kExitOk) << err_;
  EXPECT_THAT(Files("z"), IsEmpty());
}

// ---- Its end

TEST_F(StandardInput, ThatMayBeCutIsRefused) {
  const struct {
    std::string content;
    const char *flags, *code;
  } cases[] = {
      {kRows, "", "end-undeclared"},
      {kRows, "--closing-line ''", "end-undeclared"},
      {kRows, "--expect-rows 6", "rows-mismatch"},
      {kRows, "--expect-rows 4", "rows-mismatch"},
      {"", "--expect-rows 5", "input-empty"},
      {kRows, "--closing-line END", "closing-line-missing"},
      {std::string(kRows) + "END\n\n", "--closing-line END",
       "closing-line-missing"},
      {std::string(kRows) + " END\n", "--closing-line END",
       "closing-line-missing"},
      {std::string(kRows) + "xEND", "--closing-line END",
       "closing-line-missing"},
      {std::string(kRows) + "END\n", "--closing-line END --expect-rows 6",
       "rows-mismatch"},
      {"", "--closing-line END", "closing-line-missing"},
      {"END\n", "--closing-line END", "input-empty"},
      // The beginning of a row that was cut.
      {std::string(kRows) + "END", "--closing-line END",
       "closing-line-missing"},
      // So many rows, and half a number.
      {std::string(kRows) + "fay,0,1", "--expect-rows 6", "rows-mismatch"},
      {kRows, "--closing-line 'a\tb'", "closing-line-malformed"},
      {kRows, "--expect-rows 5 --accept-unverified-end", "flag-unused"}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.flags);
    EXPECT_NE(
        Pipe(one.content, Into("z", absl::StrCat(kMatrix, " ", one.flags))),
        kExitOk);
    ExpectRefused(one.code);
  }
}

TEST_F(StandardInput, OfTriplesAndRatingsIsCountedByLines) {
  const std::string triples =
      "--input - --format-in triples --features items.txt --users-count 3 "
      "--expect-rows ";
  EXPECT_EQ(Pipe("kim tea 2\nlee rye 0\n", Into("z", triples + "1")),
            kExitUsage);
  ExpectRefused("rows-mismatch");
  const std::string ratings =
      "--ratings - --format-in csv --items items.txt --rating-range 0,5 "
      "--users-count 3 --unlisted drop --expect-rows ";
  const std::string lines = "kim,tea,2\nkim,tea,3\nlee,nut,1\n";
  EXPECT_EQ(Pipe(lines, Into("z", ratings + "2")), kExitUsage);
  ExpectRefused("rows-mismatch");
  EXPECT_EQ(Pipe(lines, Into("z", ratings + "3")), kExitOk) << err_;
}

TEST_F(StandardInput, WithAnEndThatNobodyKnowsIsRecorded) {
  ASSERT_EQ(
      Pipe(kRows, Into("z", absl::StrCat(kMatrix, " --accept-unverified-end"))),
      kExitOk)
      << err_;
  EXPECT_THAT(err_, HasSubstr("note: Nothing tells whether standard input was "
                              "whole"));
  EXPECT_THAT(Files("z")["v/dataset.json"],
              HasSubstr("\"unverified_end\": true"));
  ASSERT_EQ(Pipe(kRows, Into("y", absl::StrCat(kMatrix, " --expect-rows 5"))),
            kExitOk)
      << err_;
  EXPECT_EQ(err_, "");
  EXPECT_THAT(Files("y")["v/dataset.json"], Not(HasSubstr("unverified")));
  // The people of a data set are recognised by their fingerprint.
  const std::string people = "people --name v --data-dir y " +
                             std::string(kMatrix) +
                             " --id-column 1 --expect-rows 5";
  EXPECT_EQ(Pipe(kRows, people), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("5 ids"));
  std::string other = kRows;
  other[other.find("cyn,5") + 4] = '6';
  EXPECT_NE(Pipe(other, people), kExitOk);
  EXPECT_THAT(err_, HasSubstr("[people-differ]"));
  EXPECT_NE(Pipe(std::string(kRows).substr(0, 40), people), kExitOk);
  EXPECT_THAT(err_, HasSubstr("[users-mismatch]"));
}

// A person without entries is not in the fingerprint of the data.
TEST_F(StandardInput, OfPeopleHasADeclaredEnd) {
  const std::string flags =
      "--input - --format-in triples --features items.txt ";
  ASSERT_EQ(Pipe("kim,tea,2\nlee,rye,0\n",
                 Into("y", flags + "--users-count 3 --expect-rows 2")),
            kExitOk)
      << err_;
  const std::string people = "people --name v --data-dir y " + flags;
  EXPECT_EQ(Pipe("kim,tea,2\n", people), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[end-undeclared]"));
  EXPECT_EQ(Pipe("kim,tea,2\n", people + "--expect-rows 2"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[rows-mismatch]"));
  EXPECT_EQ(Pipe("kim,tea,2\nEN", people + "--closing-line END"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[closing-line-missing]"));
  EXPECT_EQ(Pipe("kim,tea,2\n", people + "--expect-rows 1 --max-bytes 9"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-too-large]"));
  EXPECT_EQ(Pipe("kim,tea,2\nlee,rye,0\nEND\n", people + "--closing-line END"),
            kExitOk)
      << err_;
}

// The last line of the text, not of the bytes that carry it.
TEST_F(StandardInput, OfAnotherEncodingIsCutAsItsText) {
  const std::string cut = std::string(kRows) + "fay,0,1";
  const auto utf16 = [](const std::string& text) {
    std::string bytes = "\xFF\xFE";
    for (const char c : text) (bytes += c) += '\0';
    return bytes;
  };
  scratch_.WriteGzip("cut.gz", cut);
  const std::string gzip = ReadAll(scratch_.path() + "/cut.gz");
  const std::string import = Into("z", kMatrix);
  for (const std::string& bytes : {gzip, utf16(cut)}) {
    EXPECT_EQ(Pipe(bytes, import + " --expect-rows 6"), kExitUsage);
    ExpectRefused("rows-mismatch");
    EXPECT_THAT(err_, HasSubstr("has no line end"));
  }
  EXPECT_EQ(Pipe(gzip, import + " --closing-line END"), kExitUsage);
  ExpectRefused("closing-line-missing");
  EXPECT_THAT(err_, HasSubstr("is compressed (gzip)"));
  EXPECT_EQ(
      Pipe(utf16(std::string(kRows) + "END\n"), import + " --closing-line END"),
      kExitUsage);
  EXPECT_THAT(err_, HasSubstr("is in UTF-16"));
}

// ---- The other files

// The writer goes on until its pipe breaks; nobody waits for it.
TEST_F(StandardInput, IsNotReadBeforeTheOtherFiles) {
  scratch_.Write("twice.txt", "tea\ntea\n");
  const std::string triples = "--input - --format-in triples --users-count 3 ";
  const std::string ratings =
      "--ratings - --format-in csv --rating-range 0,5 --users-count 3 ";
  for (const std::string& flags :
       {triples + "--features none.txt", triples + "--features twice.txt",
        triples + "--features items.txt --feature-weights none.txt",
        ratings + "--items none.txt",
        ratings + "--items items.txt --item-features none.txt"}) {
    // An input that never ends.
    EXPECT_NE(std::system(("cd '" + scratch_.path() +
                           "' && yes kim,tea,2 | '" DPNMF_PROGRAM "' " +
                           Into("z", flags) +
                           " --expect-rows 1 --max-bytes 1000000 >out 2>err")
                              .c_str()),
              0)
        << flags;
    err_ = ReadAll(scratch_.path() + "/err");
    ExpectRefused(flags.find("twice") != flags.npos ? "input-duplicate"
                                                    : "input-not-found");
  }
}

// ---- Flags

TEST_F(StandardInput, IsOneOfTheFilesAndHasAFormat) {
  const struct {
    const char *flags, *code;
  } cases[] = {
      {"--input - --users rows --expect-rows 5", "input-ambiguous"},
      {"--input - --format-in npy --users rows --expect-rows 5",
       "input-ambiguous"},
      {"--input - --format-in mtx --users rows --expect-rows 5",
       "input-ambiguous"},
      {"--ratings - --items items.txt --rating-range 0,5 --users-count 3 "
       "--expect-rows 5",
       "input-ambiguous"},
      {"--ratings - --format-in tsv --items items.txt --rating-range 0,5 "
       "--users-count 3 --expect-rows 5",
       "input-malformed"},
      {"--input - --ratings - --format-in csv --expect-rows 5", "stdin-mixed"},
      {"--input - --format-in triples --features - --users-count 3 "
       "--expect-rows 5",
       "stdin-mixed"},
      {"--ratings - --format-in csv --items - --rating-range 0,5 "
       "--users-count 3 --expect-rows 5",
       "stdin-mixed"},
      {"--input - --ratings rows.csv --format-in csv --items items.txt "
       "--rating-range 0,5 --users-count 3 --expect-rows 5",
       "ratings-mixed"},
      {"--input rows.csv --users rows --expect-rows 5", "flag-unused"},
      {"--input rows.csv --users rows --max-bytes 100", "flag-unused"},
      {"--input rows.csv --users rows --closing-line END", "flag-unused"},
      {"--input - --format-in csv --users rows --accept-unverified-end "
       "--shard-of 1-5/9",
       "flag-unused"}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.flags);
    EXPECT_NE(Pipe(kRows, Into("z", one.flags)), kExitOk);
    ExpectRefused(one.code);
  }
}

TEST_F(StandardInput, HasALimit) {
  const std::string flags = absl::StrCat(kMatrix, " --expect-rows 5");
  EXPECT_EQ(Pipe(kRows, Into("z", flags + " --max-bytes 20")), kExitUsage);
  ExpectRefused("input-too-large");
  EXPECT_NE(Pipe(kRows, Into("z", flags + " --max-bytes 4000000000000000000")),
            kExitOk);
  ExpectRefused("storage-failed");
  EXPECT_EQ(Pipe(kRows, Into("z", absl::StrCat(flags, " --max-bytes ",
                                               std::string(kRows).size()))),
            kExitOk)
      << err_;
}

TEST_F(StandardInput, ThatFillsTheDiskIsRefused) {
  std::string rows;
  while (rows.size() < 300'000) rows += "1,2\n";
  scratch_.Write("long.csv", rows);
  const std::string command =
      "cd '" + scratch_.path() +
      "' && trap '' XFSZ && ulimit -f 256 && cat long.csv | '" DPNMF_PROGRAM
      "' " +
      Into("z",
           "--input - --format-in csv --users rows --expect-rows 75000 "
           ">out 2>err");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), kExitUnreachable);
  err_ = ReadAll(scratch_.path() + "/err");
  ExpectRefused("storage-failed");
}

TEST_F(StandardInput, OfADryRunWaitsWhereTheUserMayWrite) {
  fs::create_directories(scratch_.path() + "/shut");
  fs::permissions(scratch_.path() + "/shut", fs::perms(0500));
  const std::string flags = absl::StrCat(kMatrix, " --expect-rows 5 ");
  constexpr char kMost[] = "--max-bytes 4000000000000000000";
  EXPECT_EQ(
      Pipe(kRows, absl::StrCat("import --dry-run --data-dir z ", flags, kMost)),
      kExitUnreachable);
  EXPECT_THAT(err_, HasSubstr("The disk of `"));
  // Root, too, may not write there without this capability.
  const std::string program = absl::StrCat(
      geteuid() == 0 ? "setpriv --bounding-set=-dac_override " : "",
      "'" DPNMF_PROGRAM "' import --data-dir shut ");
  const auto run = [&](const std::string& more) {
    const int status =
        std::system(("cd '" + scratch_.path() + "' && " + program + flags +
                     more + " <rows.csv >out 2>err")
                        .c_str());
    err_ = ReadAll(scratch_.path() + "/err");
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(run("--dry-run"), kExitOk) << err_;
  EXPECT_EQ(run(absl::StrCat("--dry-run ", kMost)), kExitUnreachable);
  EXPECT_THAT(err_, HasSubstr("Memory has room for "));
  EXPECT_NE(run("--name v --population people --epsilon 1 --delta 1e-6"),
            kExitOk);
  EXPECT_THAT(err_, HasSubstr("[storage-failed]"));
  EXPECT_FALSE(Exists("z"));
}

TEST_F(StandardInput, ThatIsATerminalIsRefused) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  EXPECT_EQ(Run(Into("z", absl::StrCat(kMatrix, " --expect-rows 5 <",
                                       ptsname(terminal)))),
            kExitUsage);
  ExpectRefused("input-unreadable");
  EXPECT_THAT(err_, HasSubstr("is a terminal"));
  EXPECT_EQ(Run(Into("z", absl::StrCat(kMatrix, " --expect-rows 5 <&-"))),
            kExitUsage);
  ExpectRefused("input-unreadable");
  EXPECT_THAT(err_, HasSubstr("is closed"));
  close(terminal);
}

// ---- A process that ends early

// The program as it waits for more of its input.
class WaitingImport {
 public:
  WaitingImport(const std::string& directory, const std::string& arguments) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[0], STDIN_FILENO);
      execl("/bin/sh", "sh", "-c",
            ("cd '" + directory + "' && exec '" DPNMF_PROGRAM "' " + arguments +
             " >out 2>err")
                .c_str(),
            nullptr);
      _exit(127);
    }
    close(ends[0]);
    input_ = ends[1];
    EXPECT_EQ(write(input_, kRows, sizeof kRows - 1),
              static_cast<ssize_t>(sizeof kRows - 1));
  }
  ~WaitingImport() { close(input_); }

  // The file without a name that has all bytes, once it has them.
  std::string Spool() const {
    while (kill(process_, 0) == 0) {
      const std::string files = absl::StrCat("/proc/", process_, "/fd");
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(files, none)) {
        struct stat facts = {};
        const std::string name = fs::read_symlink(entry.path(), none).string();
        if (name.ends_with(" (deleted)") &&
            stat(entry.path().c_str(), &facts) == 0 &&
            facts.st_size == sizeof kRows - 1)
          return entry.path();
      }
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) == process_) return "";
      usleep(1000);
    }
    return "";
  }

  int StatusAfter(int signal) const {
    int status = 0;
    kill(process_, signal);
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
};

// First there is no data directory: the rows wait above it.
TEST_F(StandardInput, LeavesNothingWhenTheProcessIsStopped) {
  const std::string above = fs::canonical(scratch_.path()).string();
  for (const int signal : {SIGTERM, SIGINT, SIGKILL, SIGTERM}) {
    const std::string directory =
        above + (Exists("z/datasets") ? "/z/datasets" : "");
    const WaitingImport import(
        scratch_.path(), Into("z", absl::StrCat(kMatrix, " --expect-rows 5")));
    const std::string spool = import.Spool();
    ASSERT_NE(spool, "") << ReadAll(scratch_.path() + "/err");
    EXPECT_EQ(fs::read_symlink(spool).parent_path(), directory);
    struct stat facts = {};
    ASSERT_EQ(stat(spool.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    EXPECT_EQ(facts.st_nlink, 0u);  // nothing to remove, whatever happens
    const int status = import.StatusAfter(signal);
    if (signal == SIGKILL) {
      EXPECT_TRUE(WIFSIGNALED(status));
    } else {
      EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted);
      EXPECT_THAT(ReadAll(scratch_.path() + "/err"),
                  HasSubstr("[interrupted]"));
    }
    EXPECT_THAT(Files("z"), IsEmpty()) << signal;
    if (signal == SIGKILL) fs::create_directories(above + "/z/datasets");
  }
  fs::remove_all(above + "/z");
  const WaitingImport trial(
      scratch_.path(), absl::StrCat("import --dry-run --data-dir z ", kMatrix,
                                    " --expect-rows 5"));
  ASSERT_NE(trial.Spool(), "");
  EXPECT_EQ(WEXITSTATUS(trial.StatusAfter(SIGTERM)), kExitInterrupted);
  EXPECT_EQ(Pipe(kRows, Into("z", absl::StrCat(kMatrix, " --expect-rows 5"))),
            kExitOk)
      << err_;
}

}  // namespace
}  // namespace dpnmf::curator
