// The protocol's state machine, without gRPC.
#include "curator/session/session.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <set>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gmock/gmock.h"
#include "tests/curator/gate/release_gate_for_testing.h"
#include "tests/curator/ranks/rank_fixtures.h"
#include "tests/curator/serve/curator_fixture.h"
#include "tests/curator/serve/run_ids.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;

constexpr char kThirdRun[] = "00112233445566778899aabbccddeeff";

class SessionTest : public CuratorFixture {
 protected:
  Session NewSession(std::vector<std::string> identities = {"dns:analyst"}) {
    return Session(Context(), std::move(identities));
  }
  SessionContext Context() {
    return {ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1};
  }
  double Charged() {
    return ledger_->PositionOf("people").value().charged.ToDouble();
  }
  double Reserved() {
    return ledger_->PositionOf("people").value().reserved.ToDouble();
  }
  const Eigen::MatrixXd w_ = RandomDictionary(kFeatures, 3, 1);
};

TEST_F(SessionTest, ReservesTheWholeRunAtItsStartAndReturnsTheRestAtItsEnd) {
  Session session = NewSession();
  const OpenedSession opened = session.Open(kRun, SmallRun()).value();
  EXPECT_EQ(opened.next_round, 1u);
  const double cost = opened.plan.cost.ToDouble();
  EXPECT_DOUBLE_EQ(Reserved(), cost);
  EXPECT_EQ(Charged(), 0);
  ASSERT_TRUE(session.Round(1, w_).ok());
  EXPECT_DOUBLE_EQ(Charged(), cost / 4);
  EXPECT_DOUBLE_EQ(Reserved(), cost * 3 / 4);
  EXPECT_DOUBLE_EQ(session.Close().value().ToDouble(), cost * 3 / 4);
  EXPECT_EQ(Reserved(), 0);
  EXPECT_DOUBLE_EQ(Charged(), cost / 4);
}

TEST_F(SessionTest, TheSameRequestGetsTheSameBytesAndNoSecondCharge) {
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  const Released<ReleasedRound> first = session.Round(1, w_).value();
  const double charged = Charged();
  const Released<ReleasedRound> again = session.Round(1, w_).value();
  EXPECT_EQ(first.value().parts, again.value().parts);
  EXPECT_EQ(first.value().row_hash, again.value().row_hash);
  EXPECT_EQ(Charged(), charged);
}

// Nobody waits for the answer: the work ends and nothing is charged. The next
// session gets what the first would have got.
TEST_F(SessionTest, ARoundThatNobodyWaitsForEndsBeforeItsCharge) {
  bool gone = true;
  Session session(Context(), {"dns:analyst"}, [&] { return gone; });
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  EXPECT_EQ(ReasonCode(session.Round(1, w_).status()), "cancelled");
  EXPECT_EQ(Charged(), 0);
  gone = false;
  EXPECT_TRUE(session.Round(1, w_).ok());
}

TEST_F(SessionTest, OpenRunsTakeTheirShareOfMemoryAndGiveItBack) {
  SessionContext context = Context();
  const RunParameters parameters = SmallRun();
  const DatasetDescription& data = catalog_.Find("planted")->description();
  const std::uint64_t one = MemoryOfRun(
      PlanRun(parameters, FactsOf(data)).value(), parameters, data, 1);
  RunMemoryLimit memory(2 * one), small(one - 1);
  context.memory = &small;
  EXPECT_EQ(
      ReasonCode(
          Session(context, {"dns:analyst"}).Open(kRun, parameters).status()),
      "run-too-large");
  EXPECT_EQ(Reserved(), 0);
  context.memory = &memory;
  Session third(context, {"dns:analyst"});
  {
    Session first(context, {"dns:analyst"}), second(context, {"dns:analyst"});
    ASSERT_TRUE(first.Open(kRun, parameters).ok());
    ASSERT_TRUE(second.Open(kOtherRun, parameters).ok());
    EXPECT_EQ(ReasonCode(third.Open(kThirdRun, parameters).status()),
              "too-much-memory");
  }
  EXPECT_TRUE(third.Open(kThirdRun, parameters).ok());
}

// Under add_remove_one any rank may hold all people of a data set in parts.
TEST_F(SessionTest, ARunInRanksTakesTheRoomOfEveryShareOfParts) {
  const Scratch scratch;
  const std::string data_dir = scratch.path();
  ImportPartsOf(scratch, data_dir, "planted", {30, 9, 1}, kFeatures,
                /*sparse=*/false, /*private_count=*/10'000);
  Catalog catalog = Catalog::Open(data_dir).value();
  catalog.SetVerified("planted");
  const DatasetDescription& data = catalog.Find("planted")->description();
  ASSERT_TRUE(
      ledger_
          ->DeclarePopulation({data.population, data.adjacency, data.conversion,
                               data.epsilon, data.delta})
          .ok());
  RankJobOptions options;
  options.ranks = 6;
  options.mpi_run = {
      "/usr/bin/python3",
      std::string(DPNMF_SOURCE_DIR) + "/tests/curator/ranks/lying_job.py",
      "right"};
  options.program = "dpnmf-ranks";
  options.data_dir = data_dir;
  const auto job = RankJob::Start(options).value();
  RunParameters parameters = SmallRun();
  parameters.adjacency = data.adjacency;
  const std::uint64_t counted =
      MemoryOfRun(PlanRun(parameters, FactsOf(data)).value(), parameters, data,
                  1, {.ranks = 6, .in_parts = true});
  RunMemoryLimit enough(counted), less(counted - 1);
  SessionContext context = Context();
  context.catalog = &catalog;
  context.ranks = job.get();
  context.memory = &less;
  EXPECT_EQ(
      ReasonCode(
          Session(context, {"dns:analyst"}).Open(kRun, parameters).status()),
      "run-too-large");
  context.memory = &enough;
  const auto opened = Session(context, {"dns:analyst"}).Open(kRun, parameters);
  EXPECT_TRUE(opened.ok()) << opened.status();
}

TEST_F(SessionTest, TheSameRoundWithAnotherDictionaryIsRefused) {
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  ASSERT_TRUE(session.Round(1, w_).ok());
  Eigen::MatrixXd other = w_;
  other(0, 0) = std::nextafter(other(0, 0), 1.0);
  EXPECT_EQ(ReasonCode(session.Round(1, other).status()), "round-differs");
}

TEST_F(SessionTest, ASkippedRoundIsRefusedAndCostsNothing) {
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  EXPECT_EQ(ReasonCode(session.Round(2, w_).status()), "round-out-of-order");
  EXPECT_EQ(Charged(), 0);
}

TEST_F(SessionTest, AnotherSessionGoesOnWithTheRunAndTakesItOver) {
  Session first = NewSession();
  ASSERT_TRUE(first.Open(kRun, SmallRun()).ok());
  ASSERT_TRUE(first.Round(1, w_).ok());
  Session second = NewSession();
  EXPECT_EQ(second.Open(kRun, SmallRun()).value().next_round, 2u);
  EXPECT_EQ(ReasonCode(first.Round(2, w_).status()), "run-taken-over");
  EXPECT_TRUE(second.Round(2, w_).ok());
}

TEST_F(SessionTest,
       ARunGoesOnAfterARestartWithTheSameBytesForRoundsThatWereAnswered) {
  std::vector<NoisedMatrix> before;
  {
    Session session = NewSession();
    ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
    before = session.Round(1, w_).value().value().parts;
  }
  Stop();
  Start();
  Session session = NewSession();
  EXPECT_EQ(session.Open(kRun, SmallRun()).value().next_round, 2u);
  EXPECT_EQ(session.Round(1, w_).value().value().parts, before);
}

TEST_F(SessionTest, TheSameRunWithOtherParametersIsRefused) {
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  RunParameters other = SmallRun();
  other.rounds = 5;
  Session again = NewSession();
  EXPECT_EQ(ReasonCode(again.Open(kRun, other).status()), "run-differs");
}

TEST_F(SessionTest, AClosedRunTakesNoMoreRounds) {
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  ASSERT_TRUE(session.Close().ok());
  EXPECT_EQ(ReasonCode(session.Round(1, w_).status()), "run-closed");
  EXPECT_EQ(Charged(), 0);
}

TEST_F(SessionTest, OverBudgetIsRefusedWithWhatWasAskedAndTheLargestRun) {
  RunParameters large = SmallRun();
  large.epsilon = 4;
  Session first = NewSession();
  ASSERT_TRUE(first.Open(kRun, large).ok());
  Session second = NewSession();
  const absl::Status status = second.Open(kOtherRun, SmallRun()).status();
  EXPECT_EQ(ReasonCode(status), "budget-exhausted");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* word : {"asked", "spent", "reserved", "largest run"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(word));
  }
}

TEST_F(SessionTest, AnIdentityHasItsOwnCapWhereTheOperatorSetsOne) {
  Session second = NewSession({"dns:second"});  // capped at epsilon 0.5
  EXPECT_EQ(ReasonCode(second.Open(kRun, SmallRun()).status()),
            "identity-budget-exhausted");
  RunParameters small = SmallRun();
  small.epsilon = 0.5;
  EXPECT_TRUE(second.Open(kRun, small).ok());
}

TEST_F(SessionTest, ADatasetThatIsNotGrantedLooksLikeOneThatDoesNotExist) {
  RunParameters hidden = SmallRun(), missing = SmallRun();
  hidden.dataset = "hidden";
  missing.dataset = "missing";
  Session first = NewSession(), second = NewSession();
  const absl::Status of_hidden = first.Open(kRun, hidden).status();
  const absl::Status of_missing = second.Open(kRun, missing).status();
  EXPECT_EQ(ReasonCode(of_hidden), "dataset-unknown");
  EXPECT_EQ(of_hidden, of_missing);
}

TEST_F(SessionTest, AnAuditorMayNotTrain) {
  Session session = NewSession({"dns:auditor"});
  EXPECT_EQ(ReasonCode(session.Open(kRun, SmallRun()).status()),
            "role-missing");
}

TEST_F(SessionTest, AnUnknownIdentityIsRefused) {
  Session session = NewSession({"dns:stranger", "uri:spiffe://x"});
  EXPECT_EQ(ReasonCode(session.Open(kRun, SmallRun()).status()),
            "identity-unknown");
}

TEST_F(SessionTest, TheIdentityIsCheckedAgainEveryRound) {
  const std::string path = directory_ + "/allow.json";
  std::ofstream(path) << R"({"peers": [{"identity": "dns:analyst",
      "roles": ["analyst"], "datasets": ["planted"]}]})";
  const auto access = AccessControl::FromFile(path).value();
  Session session(
      {ledger_.get(), gate_.get(), &catalog_, access.get(), &locks_, 1},
      {"dns:analyst"});
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  ASSERT_TRUE(session.Round(1, w_).ok());
  const double charged = Charged();
  std::ofstream(path) << R"({"peers": []})";  // the operator withdraws it
  EXPECT_EQ(ReasonCode(session.Round(2, w_).status()), "identity-unknown");
  EXPECT_EQ(Charged(), charged);
}

struct BadDictionary {
  const char* what;
  double value;
  const char* code;
};

TEST_F(SessionTest, ABadDictionaryIsRefusedAndCostsNothing) {
  const BadDictionary cases[] = {
      {"NaN", std::numeric_limits<double>::quiet_NaN(),
       "dictionary-not-finite"},
      {"infinite", std::numeric_limits<double>::infinity(),
       "dictionary-not-finite"},
      {"negative", -1e-300, "dictionary-negative"},
      {"large", 2.5, "dictionary-out-of-range"},
  };
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, SmallRun()).ok());
  for (const BadDictionary& bad : cases) {
    Eigen::MatrixXd w = w_;
    w(3, 1) = bad.value;
    EXPECT_EQ(ReasonCode(session.Round(1, w).status()), bad.code) << bad.what;
  }
  EXPECT_EQ(
      ReasonCode(
          session.Round(1, Eigen::MatrixXd(Eigen::MatrixXd::Ones(kFeatures, 2)))
              .status()),
      "matrix-shape");
  EXPECT_EQ(ReasonCode(session.Round(0, w_).status()), "round-out-of-range");
  EXPECT_EQ(ReasonCode(session.Round(5, w_).status()), "round-out-of-range");
  EXPECT_EQ(Charged(), 0);
}

TEST_F(SessionTest, BadParametersAreRefusedAndReserveNothing) {
  struct Case {
    const char* code;
    void (*spoil)(RunParameters*);
  };
  const Case cases[] = {
      {"rank-out-of-range", [](RunParameters* p) { p->rank = 0; }},
      {"rank-out-of-range", [](RunParameters* p) { p->rank = 13; }},
      {"rounds-out-of-range", [](RunParameters* p) { p->rounds = 0; }},
      {"epsilon-out-of-range", [](RunParameters* p) { p->epsilon = 0; }},
      {"epsilon-out-of-range", [](RunParameters* p) { p->epsilon = -1; }},
      {"epsilon-out-of-range",
       [](RunParameters* p) {
         p->epsilon = std::numeric_limits<double>::quiet_NaN();
       }},
      {"delta-out-of-range", [](RunParameters* p) { p->delta = 1; }},
      {"delta-out-of-range",
       [](RunParameters* p) {
         p->delta = std::numeric_limits<double>::quiet_NaN();
       }},
      {"mechanism-unknown", [](RunParameters* p) { p->mechanism = "magic"; }},
      {"share-out-of-range", [](RunParameters* p) { p->share_of_a = 1; }},
      {"adjacency-mismatch",
       [](RunParameters* p) { p->adjacency = Adjacency::kAddRemoveOne; }},
      {"conversion-mismatch",
       [](RunParameters* p) { p->conversion = Conversion::kGaussian; }},
      {"inner-iterations-out-of-range",
       [](RunParameters* p) { p->inner_iterations = 0; }},
      {"lambda-out-of-range",
       [](RunParameters* p) {
         p->outliers = true;
         p->lambda = -1;
         p->outlier_bound = 1;
       }},
      {"outlier-bound-out-of-range",
       [](RunParameters* p) {
         p->outliers = true;
         p->lambda = 0.1;
         p->outlier_bound = 0;
       }},
  };
  for (const Case& bad : cases) {
    RunParameters parameters = SmallRun();
    bad.spoil(&parameters);
    Session session = NewSession();
    EXPECT_EQ(ReasonCode(session.Open(kRun, parameters).status()), bad.code);
  }
  Session session = NewSession();
  EXPECT_EQ(ReasonCode(session.Open("not-hex", SmallRun()).status()),
            "run-id-malformed");
  EXPECT_EQ(Reserved(), 0);
}

TEST_F(SessionTest, ARoundThatTakesNoNumbersRefusesThemBeforeItIsCharged) {
  std::string id = kRun;
  for (const char* mechanism :
       {"statistics", "gradient", "moments", "objective"}) {
    for (const std::uint32_t moment_rows : {12u, 10u}) {
      SCOPED_TRACE(mechanism);
      ++id[0];
      RunParameters parameters = SmallRun();
      parameters.mechanism = mechanism;
      parameters.moment_rows = moment_rows;
      parameters.epsilon = 0.125;
      parameters.rounds = parameters.mechanism == "objective" ? 1 : 2;
      Session session = NewSession();
      const auto opened = session.Open(id, parameters);
      ASSERT_TRUE(opened.ok()) << opened.status();
      for (std::uint32_t round = 1; round <= parameters.rounds; ++round) {
        RoundInput input;
        const std::string& release = opened->plan.StageOf(round).release;
        if (release == "moments" && moment_rows < kFeatures) input.rows = {1};
        if (release != "moments" && release != "mean") input.w = w_;
        for (const double number : {1.0, std::nan("")}) {
          input.numbers = {number};
          EXPECT_EQ(ReasonCode(session.Round(round, input).status()),
                    "numbers-malformed");
        }
        input.numbers.clear();
        const auto released = session.Round(round, input);
        ASSERT_TRUE(released.ok()) << released.status();
      }
    }
  }
}

// A run that is open goes on after an update only if its parameters still have
// the hash of its opening row. Computed by a program of its own from the
// encodings of common/crypto/sha256.h.
TEST(HashOf, IsTheOneInTheLedgersOfToday) {
  EXPECT_EQ(HexOf(HashOf(RunParameters())),
            "468dafe717100958bc26662284c6c0da5feb1b1f4a3dffd22f8d0dd84a2367cb");
  RunParameters run = {.dataset = "digits",
                       .rank = 10,
                       .rounds = 20,
                       .epsilon = 1.5,
                       .delta = 1e-5,
                       .mechanism = "gradient",
                       .outliers = true,
                       .lambda = 0.25,
                       .outlier_bound = 3,
                       .inner_iterations = 17,
                       .share_of_a = 0.3,
                       .moment_rows = 7,
                       .share_of_moments = 0.2,
                       .share_of_mean = 0.15,
                       .shares = {0.25, 0, 0.5},
                       .adjacency = Adjacency::kAddRemoveOne,
                       .conversion = Conversion::kGaussian};
  EXPECT_EQ(HexOf(HashOf(run)),
            "66c6704b1d7e59eb43e7beede01b52b855d58fe7b360f8ca520aaa8156519a23");
  run.shares = {};
  run.profile_directions = 4;
  EXPECT_EQ(HexOf(HashOf(run)),
            "cd8210b668ce996f46fcd1336d4c21f05e50ecf646631ea12ce18a2c468c01d1");
}

TEST(HashOf, EveryFieldOfTheParametersCounts) {
  const RunParameters run = SmallRun();
  RunParameters shares = run, fewer = run, order = run, directions = run;
  shares.shares = {0.5, 0.25, 0};
  fewer.shares = {0.5, 0.25};
  order.shares = {0.25, 0.5, 0};
  directions.profile_directions = 3;
  std::set<Digest> digests;
  for (const RunParameters& one : {run, shares, fewer, order, directions})
    digests.insert(HashOf(one));
  EXPECT_EQ(digests.size(), 5u);
}

// A data set that was imported under another promise, and moved here, would be
// charged by that promise.
TEST_F(SessionTest, ADataSetOfAnotherPromiseThanTheLedgersIsNotOpened) {
  using Change = void (*)(DatasetDescription*);
  const Change changes[] = {
      [](DatasetDescription* d) { d->adjacency = Adjacency::kAddRemoveOne; },
      [](DatasetDescription* d) { d->adjacency = Adjacency::kOneRating; },
      [](DatasetDescription* d) { d->conversion = Conversion::kGaussian; },
      [](DatasetDescription* d) { d->epsilon = 4.5; },
      [](DatasetDescription* d) { d->epsilon = std::nextafter(4.0, 5.0); },
      [](DatasetDescription* d) { d->delta = 1e-6; },
      [](DatasetDescription* d) { d->delta = std::nextafter(1e-5, 1.0); },
      [](DatasetDescription* d) {
        d->partitions = {"id", {"jan"}};
      }};
  for (const Change change : changes) {
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(PlantedDataset("planted", "people", change));
    const Catalog catalog = Catalog::FromDatasets(std::move(datasets));
    const DatasetDescription& description =
        catalog.Find("planted")->description();
    SessionContext context = Context();
    context.catalog = &catalog;
    RunParameters parameters = SmallRun();  // as the data set's own file has it
    parameters.adjacency = description.adjacency;
    parameters.conversion = description.conversion;
    Session session(context, {"dns:analyst"});
    EXPECT_EQ(ReasonCode(session.Open(kRun, parameters).status()),
              "population-differs")
        << std::distance(&changes[0],
                         std::find(changes, std::end(changes), change));
  }
  EXPECT_EQ(Reserved(), 0);
}

// The ledger's word and the data set's own must agree, so that a run is charged
// to the partition that it reads (docs/reference/growing.md).
TEST_F(SessionTest, ARunIsChargedToThePartitionOfTheDataSetAndToNoOther) {
  PopulationPolicy policy = PolicyOf("months");
  policy.partitions = {"id", {"jan", "feb"}};
  ASSERT_TRUE(ledger_->DeclarePopulation(policy).ok());
  const Digest people{1};
  ASSERT_TRUE(
      ledger_->AssignPartition("months", "planted", {"jan", people}).ok());
  for (const std::string name : {"", "feb", "jan of others", "jan"}) {
    SCOPED_TRACE(name);
    const std::string partition = name.substr(0, 3);
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(
        PlantedDataset("planted", "months", [&](DatasetDescription* d) {
          d->partitions = policy.partitions;
          d->partition = partition;
          if (!partition.empty()) d->people = people;
          if (name == "jan of others") d->people = Digest{2};
        }));
    const Catalog catalog = Catalog::FromDatasets(std::move(datasets));
    SessionContext context = Context();
    context.catalog = &catalog;
    Session session(context, {"dns:analyst"});
    const auto opened = session.Open(kRun, SmallRun());
    if (name != "jan") {
      EXPECT_EQ(ReasonCode(opened.status()), "partition-differs");
      EXPECT_EQ(ledger_->PositionOf("months")->reserved, MuSquared());
      continue;
    }
    ASSERT_TRUE(opened.ok()) << opened.status();
    ASSERT_TRUE(session.Round(1, w_).ok());
    const Position months = ledger_->PositionOf("months").value();
    ASSERT_EQ(months.partitions.size(), 2u);
    EXPECT_EQ(months.partitions[0].charged, months.charged);
    EXPECT_GT(months.partitions[0].charged, MuSquared());
    EXPECT_EQ(months.partitions[1].left, months.cap) << "feb has all of it";
  }
}

// Noise off: NOT DIFFERENTIALLY PRIVATE, so that bits can be compared.
class HOfARun : public CuratorFixture {
 protected:
  HOfARun() : CuratorFixture(Noise::kOff) {}

  Session Opened(const char* run) {
    RunParameters parameters = SmallRun();
    parameters.inner_iterations = 1;  // H has still a way to go
    Session session(
        {ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1},
        {"dns:analyst"});
    EXPECT_TRUE(session.Open(run, parameters).ok());
    return session;
  }
  // Releases of a second round whose H begins from the start.
  std::vector<NoisedMatrix> SecondRoundFromTheStart() {
    EXPECT_TRUE(Opened(kOtherRun).Round(1, w_).ok());
    return Opened(kOtherRun).Round(2, w_).value().value().parts;
  }

  const Eigen::MatrixXd w_ = RandomDictionary(kFeatures, 3, 1);
  const Eigen::MatrixXd other_ = RandomDictionary(kFeatures, 3, 2);
};

TEST_F(HOfARun, BeginsAnewWhereARoundIsNotChargedAfterItsSums) {
  const std::vector<NoisedMatrix> again = SecondRoundFromTheStart();
  Session failed = Opened(kRun);
  ASSERT_TRUE(failed.Round(1, w_).ok());
  const std::string store = directory_ + "/releases";
  std::filesystem::rename(store, store + ".away");
  ASSERT_EQ(ReasonCode(failed.Round(2, other_).status()), "storage-failed");
  std::filesystem::rename(store + ".away", store);
  EXPECT_EQ(failed.Round(2, w_).value().value().parts, again);
}

TEST_F(HOfARun, GoesOnWhereARoundIsRefusedBeforeItsSums) {
  const std::vector<NoisedMatrix> again = SecondRoundFromTheStart();
  Session smooth = Opened(kThirdRun), refused = Opened(kRun);
  ASSERT_TRUE(smooth.Round(1, w_).ok());
  ASSERT_TRUE(refused.Round(1, w_).ok());
  ASSERT_EQ(ReasonCode(refused.Round(3, other_).status()),
            "round-out-of-order");
  const auto parts = refused.Round(2, w_).value().value().parts;
  EXPECT_EQ(parts, smooth.Round(2, w_).value().value().parts);
  EXPECT_NE(parts, again);
}

TEST_F(HOfARun, BeginsAnewWhereARoundEndsInAnException) {
  const std::vector<NoisedMatrix> again = SecondRoundFromTheStart();
  gate_.reset();
  bool fails = true;
  gate_ = ReleaseGateForTesting::Create(
              ledger_.get(), directory_ + "/releases",
              [&](const std::vector<PartPlan>& parts, int threads) {
                if (fails) throw std::bad_alloc();
                return ReleaseGateForTesting::Zeros(parts, threads);
              })
              .value();
  Session session = Opened(kRun);
  EXPECT_THROW((void)session.Round(1, w_), std::bad_alloc);
  fails = false;
  EXPECT_EQ(session.Round(2, w_).value().value().parts, again);
}

TEST_F(SessionTest, TheGradientIsTheFunctionOfNoisedSumsAndNothingElseIsSent) {
  RunParameters gradient = SmallRun();
  gradient.mechanism = "gradient";
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, gradient).ok());
  const Released<ReleasedRound> released = session.Round(1, w_).value();
  ASSERT_EQ(released.value().parts.size(), 1u);
  const NoisedMatrix& part = released.value().parts[0];
  EXPECT_EQ(part.name, "gradient");
  EXPECT_FALSE(part.is_lattice);
  EXPECT_EQ(part.rows, kFeatures);
  EXPECT_EQ(part.columns, 3u);
}

TEST_F(SessionTest, OutlierRunsWorkThroughTheSameDoor) {
  RunParameters outliers = SmallRun();
  outliers.outliers = true;
  outliers.lambda = 0.05;
  outliers.outlier_bound = 1;
  Session session = NewSession();
  ASSERT_TRUE(session.Open(kRun, outliers).ok());
  EXPECT_TRUE(session.Round(1, w_).ok());
}

}  // namespace
}  // namespace dpnmf::curator
