// `dpnmf-curator transform`: H of the operator's own people.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/log/audit_log.h"
#include "common/privacy/run_plan.h"
#include "curator/control/transform_record.h"
#include "curator/import/dataset_people.h"
#include "curator/import/people_sums.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;

class TransformCommandTest : public Terminal {
 protected:
  int Transform(const std::string& model, const std::string& more = "") {
    return Run("transform --data-dir z --name v --model " + model +
               " --output H.csv " + more);
  }
  // The rows of H.csv without the header.
  std::string Rows() const {
    const std::string text = ReadAll(scratch_.path() + "/H.csv");
    return text.substr(text.find('\n') + 1);
  }
};

// Columns of length 1, W the unit vectors: h is the column itself.
TEST_F(TransformCommandTest, WritesARowForEachPersonAsTheDataSetIsNormalised) {
  scratch_.Write("v.csv", "3,4\n0,2\n0,0\n");
  ASSERT_EQ(Import("--delta 1e-6"), 0) << err_;
  scratch_.Write("W.csv", "feature,part_1,part_2\nleft,1,0\nright,0,1\n");
  ASSERT_EQ(Transform("W.csv"), 0) << err_;
  EXPECT_EQ(ReadAll(scratch_.path() + "/H.csv"),
            "part_1,part_2\n0.6000000238418579,0.800000011920929\n0,1\n0,0\n");
  struct stat file {};
  ASSERT_EQ(::stat((scratch_.path() + "/H.csv").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777u, 0600u);
  EXPECT_THAT(out_, HasSubstr("H, 3 people by 2 parts"));
  EXPECT_EQ(out_, "wrote H.csv: H, 3 people by 2 parts\n")
      << "no figure of how well W fits the private data";
  EXPECT_THAT(err_, HasSubstr("private data and not a release"));
}

// Numbers that name features are no part.
TEST_F(TransformCommandTest, TheNamesOfFeaturesMayBeNumbers) {
  ASSERT_EQ(Import("--delta 1e-6"), 0) << err_;
  scratch_.Write("W.csv", "feature,part_1\n10,0.6\n20,0.8\n");
  ASSERT_EQ(Transform("W.csv"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("5 people by 1 parts"));
}

// h >= 0: the part that would be subtracted is left out.
TEST_F(TransformCommandTest, SolvesWithoutNegativeEntries) {
  scratch_.Write("v.csv", "0,2\n5,0\n");
  ASSERT_EQ(Import("--delta 1e-6 --normalise none --column-bound 10"), 0)
      << err_;
  scratch_.Write("W.csv", "1,1\n0,1\n");
  ASSERT_EQ(Transform("W.csv", "--threads 2"), 0) << err_;
  EXPECT_EQ(Rows(), "0,1\n5,0\n");
}

TEST_F(TransformCommandTest, SparseAndDenseDataGiveTheSame) {
  scratch_.Write("v.csv", "1,0,2\n0,3,0\n4,0,0\n0,1,1\n");
  ASSERT_EQ(Import("--delta 1e-6"), 0) << err_;
  scratch_.Write("W.csv", "0.5,0.1\n0.25,0.75\n0.5,0.5\n");
  ASSERT_EQ(Transform("W.csv"), 0) << err_;
  const std::string dense = Rows();
  scratch_.Write("v.mtx",
                 "%%MatrixMarket matrix coordinate real general\n4 3 6\n"
                 "1 1 1\n1 3 2\n2 2 3\n3 1 4\n4 2 1\n4 3 1\n");
  ASSERT_EQ(Run("import --name s --population people --input v.mtx --users "
                "rows --epsilon 1 --delta 1e-6 --data-dir z"),
            0)
      << err_;
  ASSERT_EQ(Run("transform --data-dir z --name s --model W.csv --output H.csv"),
            0)
      << err_;
  EXPECT_EQ(Rows(), dense);
  ASSERT_EQ(Run("transform --data-dir z --name s --model W.csv --output H.npy"),
            0)
      << err_;
  EXPECT_THAT(ReadAll(scratch_.path() + "/H.npy"), HasSubstr("(4, 2)"));
}

// Sums as add-sums makes them.
TEST_F(TransformCommandTest, SumsHaveNoPeople) {
  ASSERT_EQ(Import("--delta 1e-6"), 0) << err_;
  const std::string data_dir = scratch_.path() + "/z";
  DatasetFacts facts;
  facts.features = 2;
  facts.users = 5;
  facts.max_rank = facts.max_rounds = 1;
  PeopleSums sums;
  sums.features = 2;
  sums.people = 5;
  sums.bits = BitsOfSums(facts, 2).value();
  sums.key_check = CheckOfKey(LoadOrCreateFingerprintKey(data_dir).value());
  sums.sums.resize(5);
  sums.rows.resize(5);
  for (std::size_t n = 0; n < 5; ++n)
    sums.rows[n][0] = static_cast<std::uint8_t>(n + 1);
  sums.parts = {Digest{}};
  ImportOptions options =
      RowsImport(data_dir, scratch_.Write("sums.txt", PeopleSumsText(sums)),
                 "s", "others", 1, 1e-6);
  options.are_sums = true;
  options.users_count = 5;
  const auto imported = ::dpnmf::curator::Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  scratch_.Write("W.csv", "1,0\n0,1\n");
  EXPECT_EQ(Run("transform --data-dir z --name s --model W.csv --output H.csv"),
            kExitState);
  EXPECT_THAT(err_, HasSubstr("[sums-only]"));
  EXPECT_THAT(err_, HasSubstr("contains no people"));
  EXPECT_FALSE(Exists("H.csv"));
}

// The SHA-256 of "1,0\n0,1\n", as sha256sum prints it.
constexpr char kModelHash[] =
    "28d9679320141cb843249a311e9cbd982b4155c8d857a7c1a1d9a40d9c21531f";

// In a data directory with five people, and W of two parts.
class TransformRecordTest : public TransformCommandTest {
 protected:
  TransformRecordTest() {
    EXPECT_EQ(Import("--delta 1e-6 --no-anchor"), 0) << err_;
    scratch_.Write("W.csv", "1,0\n0,1\n");
  }
  std::string data_dir() const { return scratch_.path() + "/z"; }
  std::unique_ptr<Ledger> HoldLedger() const {
    return Ledger::Open(LedgerPaths(data_dir(), "", true).value()).value();
  }
  // The last entry of a log.
  nlohmann::json EntryOf(const std::string& name) const {
    std::string text = ReadAll(scratch_.path() + "/" + name);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return nlohmann::json::parse(text.substr(text.rfind('\n') + 1));
  }
  void ExpectEntry(const nlohmann::json& entry) const {
    EXPECT_EQ(entry.at("event"), "transform-asked");
    EXPECT_EQ(entry.at("dataset"), "v");
    EXPECT_EQ(entry.at("population"), "people");
    EXPECT_EQ(entry.at("model_sha256"), kModelHash);
    EXPECT_EQ(entry.at("output"), scratch_.path() + "/H.csv");
    EXPECT_EQ(entry.at("by"), "operator, uid " + std::to_string(::getuid()));
    EXPECT_EQ(entry.size(), 7u) << "and the time: nothing of the data";
  }
};

TEST_F(TransformRecordTest, IsInTheAuditLogOfTheDataDirectory) {
  ASSERT_EQ(Transform("W.csv"), 0) << err_;
  ExpectEntry(EntryOf("z/audit.jsonl"));
  ASSERT_EQ(Transform("W.csv", "--audit-log other.jsonl"), 0) << err_;
  ExpectEntry(EntryOf("other.jsonl"));
}

TEST_F(TransformRecordTest, IsWrittenByTheServerThatRuns) {
  const auto ledger = HoldLedger();
  const auto log = AuditLog::Open(scratch_.path() + "/server.jsonl").value();
  const auto control =
      ControlServer::Start(data_dir(), TransformRecordHandlers(log.get()))
          .value();
  ASSERT_EQ(Transform("W.csv", "--audit-log other.jsonl"), 0) << err_;
  ExpectEntry(EntryOf("server.jsonl"));
  EXPECT_FALSE(Exists("z/audit.jsonl"));
  EXPECT_FALSE(Exists("other.jsonl")) << "one process appends";
}

TEST_F(TransformRecordTest, WithoutAnEntryNothingIsComputed) {
  std::filesystem::create_directory(scratch_.path() + "/z/audit.jsonl");
  EXPECT_NE(Transform("W.csv"), 0);
  EXPECT_THAT(err_, HasSubstr("[audit-failed]"));
  EXPECT_FALSE(Exists("H.csv"));
}

// The hashed bytes are the bytes that are computed with: the file is read once,
// so that a pipe is possible.
TEST_F(TransformRecordTest, NamesTheBytesThatItComputedWith) {
  const std::string pipe = scratch_.path() + "/pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "1,0\n0,1\n"; });
  EXPECT_EQ(Transform("pipe.csv"), 0) << err_;
  // Whoever still waits for a reader waits no more.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  writer.join();
  ::close(reader);
  ASSERT_TRUE(Exists("z/audit.jsonl"));
  ExpectEntry(EntryOf("z/audit.jsonl"));
}

// Such as a server that starts, or an import.
TEST_F(TransformRecordTest, NobodyAppendsBesideTheProcessThatHoldsTheLedger) {
  auto ledger = HoldLedger();
  EXPECT_EQ(Transform("W.csv"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[data-dir-in-use]"));
  EXPECT_FALSE(Exists("z/audit.jsonl"));
  EXPECT_FALSE(Exists("H.csv"));
  ledger.reset();
  EXPECT_EQ(Transform("W.csv"), 0) << err_;
}

// The file for H is open while the entry is written.
TEST_F(TransformRecordTest, OneThatIsKilledLeavesNoFile) {
  const auto control =
      ControlServer::Start(
          data_dir(),
          {{"record-transform",
            [this](const nlohmann::json&) -> absl::StatusOr<nlohmann::json> {
              ::kill(std::stoi(ReadAll(scratch_.path() + "/pid")), SIGKILL);
              return nlohmann::json::object();
            }}})
          .value();
  EXPECT_NE(std::system(("cd '" + scratch_.path() +
                         "' && echo $$ >pid && exec '" DPNMF_PROGRAM
                         "' transform --data-dir z --name v --model W.csv "
                         "--output H.csv")
                            .c_str()),
            0);
  for (const auto& file :
       std::filesystem::directory_iterator(scratch_.path())) {
    EXPECT_FALSE(file.path().filename().string().starts_with("H.csv"))
        << file.path();
  }
}

TEST_F(TransformRecordTest, AServerThatDoesNotKnowTheRequestIsSaid) {
  const auto control = ControlServer::Start(data_dir(), {}).value();
  EXPECT_EQ(Transform("W.csv"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[control-request-malformed]"));
  EXPECT_FALSE(Exists("H.csv"));
}

TEST_F(TransformRecordTest, AMalformedRequestIsRefused) {
  const auto log = AuditLog::Open(scratch_.path() + "/server.jsonl").value();
  const auto control =
      ControlServer::Start(data_dir(), TransformRecordHandlers(log.get()))
          .value();
  const nlohmann::json good = {{"request", "record-transform"},
                               {"dataset", "v"},
                               {"population", "people"},
                               {"model_sha256", kModelHash},
                               {"output", "/H.csv"},
                               {"by", "me"}};
  EXPECT_TRUE(AskControl(data_dir(), good).ok());
  const std::string before = ReadAll(scratch_.path() + "/server.jsonl");
  for (const auto& [field, value] :
       std::map<std::string, nlohmann::json>{{"dataset", "../v"},
                                             {"population", ""},
                                             {"model_sha256", "00"},
                                             {"output", 7},
                                             {"by", std::string(300, 'a')}}) {
    nlohmann::json bad = good;
    bad[field] = value;
    EXPECT_EQ(ReasonCode(AskControl(data_dir(), bad).status()),
              "control-request-malformed")
        << field;
    bad.erase(field);
    EXPECT_EQ(ReasonCode(AskControl(data_dir(), bad).status()),
              "control-request-malformed")
        << field;
  }
  EXPECT_EQ(ReadAll(scratch_.path() + "/server.jsonl"), before);
}

TEST_F(TransformCommandTest, RefusesWhatDoesNotFitAndWritesNothing) {
  ASSERT_EQ(Import("--delta 1e-6"), 0) << err_;
  scratch_.Write("W.csv", "1,0\n0,1\n");
  scratch_.Write("long.csv", "1,0\n0,1\n1,1\n");
  scratch_.Write("signed.csv", "1,0\n0,-1\n");
  EXPECT_EQ(Transform("long.csv"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[features-mismatch]"));
  EXPECT_EQ(Transform("signed.csv"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-negative]"));
  EXPECT_EQ(Run("transform --data-dir z --name v --model W.csv --output H.txt"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[file-type-unknown]"));
  EXPECT_NE(Run("transform --data-dir z --name w --model W.csv --output H.csv"),
            0);
  EXPECT_THAT(err_, HasSubstr("[dataset-unknown]"));
  EXPECT_FALSE(Exists("H.csv"));
}

}  // namespace
}  // namespace dpnmf::curator
