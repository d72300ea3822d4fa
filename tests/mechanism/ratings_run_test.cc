// Runs on ratings through the product's own plan, protocol, gate, ledger, store
// and learner: paid once whatever gets lost, refused before anything is
// charged.
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/curators/curator_client.h"
#include "analyst/planning/budget.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/item_model.h"
#include "analyst/runs/run_items.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/wire/convert.h"
#include "curator/session/session.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"
#include "tests/curator/serve/fake_pace_clock.h"

namespace dpnmf {
namespace {

using curator::CuratorFixture;
using curator::Dataset;
using curator::DatasetDescription;
using curator::PopulationPolicy;
using curator::Session;

constexpr char kRun[] = "0123456789abcdef0123456789abcdef";
constexpr std::int32_t kItems = 15, kPeople = 90;

// Ratings from 1 to 5 in halves; every tenth person has none.
std::unique_ptr<Dataset> SomeRatings(const std::string& name,
                                     const std::string& population,
                                     Adjacency adjacency) {
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> items, units;
  for (std::int32_t n = 0; n < kPeople; ++n) {
    for (std::int32_t i = n % 3; i < kItems && n % 10 != 0; i += 1 + n % 4) {
      items.push_back(i);
      units.push_back(10'000 + 5'000 * ((7 * n + 3 * i + n * i) % 9));
    }
    indptr.push_back(static_cast<std::int64_t>(items.size()));
  }
  DatasetDescription description;
  description.name = name;
  description.population = population;
  description.features = kItems;
  description.users = kPeople;
  description.adjacency = adjacency;
  description.epsilon = 4;
  description.delta = 1e-5;
  description.normalisation = curator::Normalisation::kNone;
  description.ratings = RatingScale{10'000, 50'000, 1};
  return Dataset::FromRatings(description, indptr, items, units).value();
}

ItemList SomeItems() {
  ItemList items;
  items.feature_names = {"year"};
  items.features.resize(kItems, 1);
  for (int i = 0; i < kItems; ++i) {
    items.ids.push_back(absl::StrCat("i", i));
    items.names.push_back(absl::StrCat("Item ", i));
    items.features(i, 0) = 1950 + i % 7;
  }
  return items;
}

// The curator, with what a test does to what it says.
class AlteredCurator : public analyst::CuratorConnection {
 public:
  explicit AlteredCurator(std::unique_ptr<analyst::CuratorConnection> curator)
      : curator_(std::move(curator)) {}

  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    return curator_->ListDatasets();
  }
  absl::StatusOr<v1::GetLedgerReply> GetLedger(const std::string& dataset,
                                               std::uint64_t after) override {
    return curator_->GetLedger(dataset, after);
  }
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string& dataset,
                                               std::uint64_t first) override {
    ++item_pages;
    DPNMF_ASSIGN_OR_RETURN(v1::ListItemsReply page,
                           curator_->ListItems(dataset, first));
    if (alter_items) DPNMF_RETURN_IF_ERROR(alter_items(&page));
    return page;
  }
  std::unique_ptr<analyst::RunStream> NewStream() override {
    return std::make_unique<Stream>(this, curator_->NewStream());
  }

  std::function<absl::Status(v1::ListItemsReply*)> alter_items;
  std::function<void(v1::RunPlan*)> alter_plan;
  std::function<absl::Status(std::uint32_t round)> after_round;
  std::atomic<int> item_pages = 0;

 private:
  class Stream : public analyst::RunStream {
   public:
    Stream(AlteredCurator* own, std::unique_ptr<RunStream> stream)
        : own_(own), stream_(std::move(stream)) {}
    absl::StatusOr<analyst::OpenedRun> Open(
        const std::string& run_id,
        const v1::RunParameters& parameters) override {
      auto opened = stream_->Open(run_id, parameters);
      if (opened.ok() && own_->alter_plan) own_->alter_plan(&opened->plan);
      return opened;
    }
    absl::StatusOr<analyst::RoundResult> Round(
        std::uint32_t round, const RoundInput& input) override {
      auto result = stream_->Round(round, input);
      if (result.ok() && own_->after_round)
        DPNMF_RETURN_IF_ERROR(own_->after_round(round));
      return result;
    }
    absl::StatusOr<analyst::ClosedRun> Close() override {
      return stream_->Close();
    }
    void Cancel() override { stream_->Cancel(); }

   private:
    AlteredCurator* const own_;
    const std::unique_ptr<RunStream> stream_;
  };

  const std::unique_ptr<analyst::CuratorConnection> curator_;
};

// "planted": ratings, of the population of the relation.
class RatingsRun : public CuratorFixture {
 protected:
  RatingsRun() { Serve(Adjacency::kReplaceOne); }
  ~RatingsRun() override {
    manager_.reset();
    connection_.reset();
  }

  void Serve(Adjacency adjacency) {
    manager_.reset();
    connection_.reset();
    store_.reset();
    population_ = absl::StrCat("raters-", static_cast<int>(adjacency));
    ASSERT_TRUE(ledger_
                    ->DeclarePopulation(
                        {population_, adjacency, Conversion::kRdp, 4, 1e-5})
                    .ok());
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(SomeRatings("planted", population_, adjacency));
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets),
                                              {{"planted", SomeItems()}});
    connection_ = std::make_unique<AlteredCurator>(analyst::ConnectCurator(
        server_->InProcessChannel({}), std::chrono::seconds(60)));
    store_ = analyst::RunStore::Open(directory_ + "/" + population_).value();
    Begin();
  }

  void Begin() {
    analyst::RunManager::Settings settings;
    settings.learner.first_pause = settings.learner.longest_pause =
        std::chrono::milliseconds(1);
    manager_ =
        analyst::RunManager::Create(store_.get(), connection_.get(), settings)
            .value();
  }

  v1::RunSpecification Specification() const {
    v1::RunSpecification specification;
    v1::RunParameters& run = *specification.mutable_parameters();
    run.set_dataset("planted");
    run.set_epsilon(1);
    run.set_delta(1e-5);
    // A stage of each kind.
    for (const double share : {0.4, 0.15, 0.15, 0.15, 0.15})
      run.add_shares(share);
    run.set_rank(3);
    run.set_moment_rows(6);
    run.set_profile_directions(2);
    run.set_rounds(6);
    return specification;
  }

  analyst::PlannedRun Planned() {
    return analyst::PlanWithCurator(Specification(), connection_.get()).value();
  }
  std::string Start() {
    analyst::PlannedRun planned = Planned();
    if (alter_planned_) alter_planned_(&planned);
    return manager_->Start(planned, std::nullopt, "dns:alice")->run_id();
  }
  v1::Run Await(const std::string& id) {
    EXPECT_TRUE(manager_
                    ->Watch(
                        id, 0, [](const v1::RunEvent&) { return true; },
                        [] { return false; })
                    .ok());
    return manager_->Get(id).value();
  }

  curator::Position Position() const {
    return ledger_->PositionOf(population_).value();
  }
  std::size_t Charges() const {
    return ledger_->ChargesOf(population_, "dns:analyst", 0, 1000)
        .value()
        .size();
  }
  // Every round is paid for once; what was reserved beyond is returned.
  void ExpectPaidOnce(const v1::Run& run) {
    EXPECT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
    const auto planned = FromProto(run.plan().cost()).value();
    EXPECT_EQ(Position().charged, planned);
    EXPECT_EQ(Position().reserved, MuSquared());
    EXPECT_EQ(run.charged().units(), planned.UnitsText());
    EXPECT_EQ(Charges(), 6u);
  }
  // The run ended with that code, and nothing was charged or stays reserved.
  void ExpectRefused(const std::string& code) {
    const v1::Run run = Await(Start());
    EXPECT_EQ(run.state(), v1::RUN_STATE_FAILED);
    EXPECT_EQ(run.error_code(), code);
    EXPECT_EQ(Position().charged, MuSquared());
    EXPECT_EQ(Position().reserved, MuSquared());
  }

  Session NewSession(curator::Pacer* pacer = nullptr) {
    return Session({ledger_.get(), gate_.get(), &catalog_, access_.get(),
                    &locks_, 1, pacer},
                   {"dns:analyst"});
  }
  RunParameters Parameters() {
    return FromProto(Planned().reply.specification().parameters()).value();
  }

  std::string population_;
  std::unique_ptr<AlteredCurator> connection_;
  std::function<void(analyst::PlannedRun*)> alter_planned_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
};

TEST_F(RatingsRun, IsPlannedPaidAndLearnedUnderEveryRelation) {
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne,
        Adjacency::kOneRating}) {
    SCOPED_TRACE(std::string(NameOf(adjacency)));
    Serve(adjacency);
    const analyst::PlannedRun planned = Planned();
    EXPECT_EQ(planned.reply.specification().parameters().mechanism(),
              "ratings");
    EXPECT_EQ(planned.reply.plan().stages_size(), 5);
    const std::string id = Start();
    const v1::Run run = Await(id);
    ExpectPaidOnce(run);
    EXPECT_EQ(run.plan().SerializeAsString(),
              planned.reply.plan().SerializeAsString());
    EXPECT_TRUE(analyst::ReadBudget("planted", connection_.get(), store_.get())
                    ->agree());

    const analyst::LearnerState state = store_->ReadLearner(id).value();
    EXPECT_EQ(state.w.rows(), kItems);
    EXPECT_GE(state.w.cols(), 2);
    EXPECT_LE(state.w.cols(), 4);
    EXPECT_TRUE(state.w.allFinite());
    EXPECT_GT(state.w.norm(), 0);
    const analyst::RunItems stored =
        analyst::StoredItems(id, run.specification(), store_.get()).value();
    EXPECT_EQ(stored.items.names, SomeItems().names);
    EXPECT_EQ(stored.items.feature_names, SomeItems().feature_names);
    EXPECT_EQ(stored.facts.item_features, SomeItems().features);
    const auto model = RatingsModel(stored.facts, state.memory);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->base, state.w.col(0));
    EXPECT_EQ(model->loadings, state.w.rightCols(state.w.cols() - 1));
    // The same as it is handed out, with what the items are called.
    const auto named = analyst::ItemModelOf(id, store_.get());
    ASSERT_TRUE(named.ok()) << named.status();
    ASSERT_TRUE(named->has_value());
    EXPECT_EQ((*named)->items, SomeItems().ids);
    EXPECT_EQ((*named)->names, SomeItems().names);
    EXPECT_EQ((*named)->model.base, model->base);
    EXPECT_EQ((*named)->model.counts, model->counts);
    EXPECT_EQ((*named)->model.level, 0);
    // And as parts, of the same releases.
    RatingsFacts of_parts = stored.facts;
    of_parts.non_negative = true;
    const auto parts = analyst::ItemModelOf(id, store_.get(), true);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_GT((*parts)->model.level, 0);
    EXPECT_EQ((*parts)->model.loadings,
              RatingsModel(of_parts, state.memory)->loadings);
    EXPECT_EQ((*parts)->model.base, model->base);
    EXPECT_EQ(
        analyst::ItemModelOf(id, store_.get(), false).value()->model.loadings,
        model->loadings);
  }
}

TEST_F(RatingsRun, IsChosenForRatingsAndItsNumbersAreFilledIn) {
  v1::RunSpecification specification = Specification();
  v1::RunParameters& run = *specification.mutable_parameters();
  run.set_mechanism("auto");
  run.clear_shares();
  run.clear_rank();
  run.clear_moment_rows();
  run.clear_profile_directions();
  run.clear_rounds();
  const auto planned =
      analyst::PlanWithCurator(specification, connection_.get());
  ASSERT_TRUE(planned.ok()) << planned.status();
  const v1::RunParameters& filled = planned->reply.specification().parameters();
  EXPECT_EQ(filled.mechanism(), "ratings");
  EXPECT_EQ(filled.shares_size(), 5);
  EXPECT_GE(filled.rank(), 1u);
  EXPECT_NE(planned->reply.reason(), "");
  const v1::Run ended =
      Await(manager_->Start(*planned, std::nullopt, "dns:alice")->run_id());
  EXPECT_EQ(ended.state(), v1::RUN_STATE_COMPLETED) << ended.error();
}

// A request with other bits than before would be refused: "round-differs".
TEST_F(RatingsRun, ALostReplyIsAskedForAgainWithTheSameBits) {
  std::set<std::uint32_t> lost;
  connection_->after_round = [&](std::uint32_t round) {
    return lost.insert(round).second
               ? Refusal(absl::StatusCode::kUnavailable, "unreachable", "Lost.")
               : absl::OkStatus();
  };
  const v1::Run run = Await(Start());
  EXPECT_EQ(lost.size(), 6u);
  ExpectPaidOnce(run);
}

TEST_F(RatingsRun, AnAnalystThatBeginsAnewInEveryRoundAsksForTheSame) {
  std::string id;
  std::set<std::uint32_t> lost;
  std::atomic<std::uint32_t> round_lost = 0;
  connection_->after_round = [&](std::uint32_t round) {
    if (!lost.insert(round).second) return absl::OkStatus();
    round_lost = round;
    return Refusal(absl::StatusCode::kUnavailable, "unreachable", "Lost.");
  };
  id = Start();
  for (std::uint32_t round = 1; round <= 6; ++round) {
    // The event of the outage is stored after the round was charged.
    EXPECT_TRUE(manager_
                    ->Watch(
                        id, 0,
                        [&](const v1::RunEvent&) { return round_lost < round; },
                        [&] { return round_lost >= round; })
                    .ok());
    manager_.reset();
    store_.reset();
    store_ = analyst::RunStore::Open(directory_ + "/" + population_).value();
    Begin();
  }
  ExpectPaidOnce(Await(id));
  EXPECT_EQ(connection_->item_pages, 1);
}

TEST_F(RatingsRun, ACuratorThatIsAwayWhileItemsAreListedIsAskedAgain) {
  int away = 0;
  connection_->alter_items = [&](v1::ListItemsReply*) {
    return ++away <= 3 ? Refusal(absl::StatusCode::kUnavailable,
                                 "curator-unreachable", "Away.")
                       : absl::OkStatus();
  };
  ExpectPaidOnce(Await(Start()));
  EXPECT_EQ(connection_->item_pages, 4);
}

TEST_F(RatingsRun, AMalformedListOfItemsEndsTheRunBeforeAnythingIsCharged) {
  const std::function<void(v1::ListItemsReply*)> spoils[] = {
      [](auto* page) { page->mutable_items()->RemoveLast(); },
      [](auto* page) { page->mutable_items(3)->set_features(0, NAN); },
      [](auto* page) { page->mutable_items(3)->set_id("i2"); },
      [](auto* page) { page->clear_feature_names(); },
      [](auto* page) { page->set_first(7); }};
  for (const auto& spoil : spoils) {
    connection_->alter_items = [&](v1::ListItemsReply* page) {
      spoil(page);
      return absl::OkStatus();
    };
    ExpectRefused("items-malformed");
  }
}

// Pages of as many items would fill the disk.
TEST_F(RatingsRun, ADataSetOfMoreItemsThanAModelMayHaveEndsTheRun) {
  // Changes what is stored with the run after its plan was made.
  alter_planned_ = [](analyst::PlannedRun* planned) {
    planned->dataset.set_features(10000001);
  };
  ExpectRefused("items-malformed");
  EXPECT_EQ(connection_->item_pages, 0);
}

TEST_F(RatingsRun, AnotherPlanThanTheRunsEndsItBeforeAnythingIsCharged) {
  const std::function<void(v1::RunPlan*)> alterations[] = {
      [](auto* plan) { plan->mutable_stages()->RemoveLast(); },
      [](auto* plan) { plan->mutable_stages(1)->set_rounds(2); },
      [](auto* plan) {
        plan->mutable_stages(0)->mutable_parts(1)->set_stddev_steps(1);
      }};
  for (const auto& alter : alterations) {
    connection_->alter_plan = alter;
    ExpectRefused("plan-differs");
  }
}

TEST_F(RatingsRun, APublicFirstDictionaryIsRefused) {
  EXPECT_EQ(ReasonCode(manager_
                           ->Start(Planned(), Eigen::MatrixXd::Ones(kItems, 3),
                                   "dns:alice")
                           .status()),
            "dictionary-unexpected");
  EXPECT_EQ(Position().reserved, MuSquared());
}

// Returns a valid input of a round; the test below damages copies of it.
RoundInput GoodInput(const std::string& release) {
  RoundInput input;
  if (release == "co-ratings" || release == "residuals")
    input.rows = {0, 2, 3, 9};
  if (release == "items") return input;
  if (release == "co-ratings") {
    input.w = Eigen::Vector4d(255, 0, 17, 40);
    input.numbers = {48};
    return input;
  }
  input.w = Eigen::MatrixXd::Constant(kItems, 4, 0.25);
  input.w.col(0).setConstant(3);
  input.w(4, 3) = -1;  // of any sign
  input.numbers = {0.75};
  return input;
}

TEST_F(RatingsRun, HostileRequestsAreRefusedAndNothingIsChargedTwice) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    const char* code;
    std::function<void(RoundInput*)> spoil;
  };
  // Refused inputs of rounds with and without a model or rows.
  const Case of_models[] = {
      {"matrix-shape", [](auto* i) { i->w.resize(0, 0); }},
      {"matrix-shape", [](auto* i) { i->w = i->w.leftCols(1).eval(); }},
      {"matrix-shape",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(kItems, 5); }},
      {"matrix-shape",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(kItems - 1, 4); }},
      {"model-out-of-range", [&](auto* i) { i->w(7, 2) = nan; }},
      {"model-out-of-range",
       [](auto* i) { i->w(0, 0) = -std::numeric_limits<double>::infinity(); }},
      {"model-out-of-range", [](auto* i) { i->w(1, 1) = 1.0001e6; }},
      {"numbers-malformed", [](auto* i) { i->numbers.clear(); }},
      {"numbers-malformed",
       [](auto* i) {
         i->numbers = {1, 1};
       }},
      {"numbers-malformed", [&](auto* i) { i->numbers = {nan}; }},
      {"numbers-malformed", [](auto* i) { i->numbers = {0}; }},
      {"numbers-malformed", [](auto* i) { i->numbers = {-1}; }}};
  const Case of_no_model[] = {
      {"matrix-shape",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(kItems, 4); }},
      {"numbers-malformed", [](auto* i) { i->numbers = {1}; }}};
  // Co-ratings: weights of the rows, and the strength of the damping.
  const Case of_weights[] = {
      {"row-weights-malformed",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(5, 1); }},
      {"row-weights-malformed",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(4, 2); }},
      {"row-weights-malformed",
       [](auto* i) { i->w = Eigen::MatrixXd::Ones(kItems, 4); }},
      {"row-weights-malformed", [](auto* i) { i->w(2, 0) = 0.5; }},
      {"row-weights-malformed", [](auto* i) { i->w(2, 0) = 256; }},
      {"row-weights-malformed", [](auto* i) { i->w(2, 0) = -1; }},
      {"row-weights-malformed", [&](auto* i) { i->w(2, 0) = nan; }},
      {"numbers-malformed", [](auto* i) { i->w.resize(0, 0); }},
      {"numbers-malformed", [](auto* i) { i->numbers.clear(); }},
      {"numbers-malformed",
       [](auto* i) {
         i->numbers = {1, 1};
       }},
      {"numbers-malformed", [](auto* i) { i->numbers = {65}; }},
      {"numbers-malformed", [](auto* i) { i->numbers = {0.5}; }},
      {"numbers-malformed", [&](auto* i) { i->numbers = {nan}; }}};
  const Case of_rows[] = {
      {"rows-malformed", [](auto* i) { i->rows = {}; }},
      {"rows-malformed",
       [](auto* i) {
         i->rows = {3, 2};
       }},
      {"rows-malformed",
       [](auto* i) {
         i->rows = {2, 2};
       }},
      {"rows-malformed",
       [](auto* i) {
         i->rows = {2, kItems};
       }},
      {"rows-malformed", [](auto* i) { i->rows = {0, 1, 2, 3, 4, 5, 6}; }}};
  const Case of_no_rows[] = {
      {"rows-malformed", [](auto* i) { i->rows = {1}; }}};

  Session session = NewSession();
  const auto opened = session.Open(kRun, Parameters()).value();
  for (std::uint32_t round = 1; round <= 6; ++round) {
    const std::string& release = opened.plan.StageOf(round).release;
    SCOPED_TRACE(release);
    const RoundInput good = GoodInput(release);
    const MuSquared before = Position().charged;
    const auto refuses = [&](const auto& cases) {
      for (const Case& bad : cases) {
        RoundInput input = good;
        bad.spoil(&input);
        EXPECT_EQ(ReasonCode(session.Round(round, input).status()), bad.code);
      }
    };
    if (release == "co-ratings") {
      refuses(of_weights);
    } else {
      good.w.size() > 0 ? refuses(of_models) : refuses(of_no_model);
    }
    good.rows.empty() ? refuses(of_no_rows) : refuses(of_rows);
    EXPECT_EQ(ReasonCode(session.Round(0, good).status()),
              "round-out-of-range");
    EXPECT_EQ(ReasonCode(session.Round(7, good).status()),
              "round-out-of-range");
    if (round == 3) {  // the round after it takes the same
      EXPECT_EQ(ReasonCode(session.Round(4, good).status()),
                "round-out-of-order");
    }
    EXPECT_EQ(Position().charged, before);

    const auto first = session.Round(round, good);
    ASSERT_TRUE(first.ok()) << first.status();
    const MuSquared after = Position().charged;
    EXPECT_EQ(MuSquared::Subtract(after, before),
              opened.plan.StageOf(round).cost_per_round);
    EXPECT_EQ(session.Round(round, good)->value().parts, first->value().parts);
    // Another model, a last bit of a number, other rows: another request.
    const auto differs = [&](const std::function<void(RoundInput*)>& change) {
      RoundInput other = good;
      change(&other);
      EXPECT_EQ(ReasonCode(session.Round(round, other).status()),
                "round-differs");
    };
    if (release == "co-ratings") {
      differs([](auto* i) { i->w(3, 0) += 1; });
      differs([](auto* i) { i->numbers[0] += 1; });
      differs([](auto* i) {
        i->w.resize(0, 0);
        i->numbers.clear();
      });
    } else if (good.w.size() > 0) {
      differs([](auto* i) { i->w(3, 2) = std::nextafter(i->w(3, 2), 1.0); });
      differs([](auto* i) { i->w = i->w.leftCols(3).eval(); });
      differs(
          [](auto* i) { i->numbers[0] = std::nextafter(i->numbers[0], 1.0); });
    }
    if (!good.rows.empty()) differs([](auto* i) { i->rows.back() = 10; });
    EXPECT_EQ(Position().charged, after);
  }
  EXPECT_EQ(Charges(), 6u);
  EXPECT_EQ(Position().charged, opened.plan.cost);
}

TEST_F(RatingsRun, MechanismsAndDataSetsThatDoNotFitAreRefused) {
  const RunParameters ratings = Parameters();
  for (const char* mechanism :
       {"statistics", "gradient", "moments", "objective"}) {
    RunParameters parameters = ratings;
    parameters.mechanism = mechanism;
    parameters.rounds = 1;
    EXPECT_EQ(ReasonCode(NewSession().Open(kRun, parameters).status()),
              "mechanism-mismatch")
        << mechanism;
  }
  for (const Adjacency other :
       {Adjacency::kAddRemoveOne, Adjacency::kOneRating}) {
    RunParameters parameters = ratings;
    parameters.adjacency = other;
    EXPECT_EQ(ReasonCode(NewSession().Open(kRun, parameters).status()),
              "adjacency-mismatch");
  }
  EXPECT_EQ(Position().reserved, MuSquared());
  std::vector<std::unique_ptr<Dataset>> datasets;
  datasets.push_back(curator::PlantedDataset("planted", "people"));
  catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
  EXPECT_EQ(ReasonCode(NewSession().Open(kRun, ratings).status()),
            "mechanism-mismatch");
  EXPECT_EQ(ledger_->PositionOf("people")->reserved, MuSquared());
}

// Populations keep their relation: data sets of ratings of one population are
// under the ledger's, whatever their own file says.
TEST_F(RatingsRun, ADataSetOfAnotherRelationThanItsPopulationIsNotOpened) {
  const RunParameters ratings = Parameters();
  for (const Adjacency other :
       {Adjacency::kAddRemoveOne, Adjacency::kOneRating}) {
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(SomeRatings("planted", population_, other));
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
    for (const Adjacency asked : {ratings.adjacency, other}) {
      RunParameters parameters = ratings;
      parameters.adjacency = asked;
      EXPECT_EQ(ReasonCode(NewSession().Open(kRun, parameters).status()),
                "population-differs");
    }
  }
  EXPECT_EQ(Position().reserved, MuSquared());
}

TEST_F(RatingsRun, EveryRoundIsPacedAndChargedAtItsTick) {
  curator::FakeClock clock;
  constexpr std::chrono::nanoseconds kPeriod = std::chrono::milliseconds(10);
  curator::Pacer pacer(kPeriod, &clock);
  Session paced = NewSession(&pacer);
  const auto opened = paced.Open(kRun, Parameters()).value();
  for (std::uint32_t round = 1; round <= 6; ++round) {
    const RoundInput input = GoodInput(opened.plan.StageOf(round).release);
    const MuSquared before = Position().charged;
    clock.PassAtEachReading(kPeriod);
    EXPECT_EQ(ReasonCode(paced.Round(round, input).status()), "round-overran");
    EXPECT_EQ(Position().charged, before);
    clock.PassAtEachReading(std::chrono::nanoseconds(0));
    const auto begin = clock.now();
    bool slept = false;
    clock.before_sleep = [&] {
      slept = true;
      EXPECT_EQ(Position().charged, before);
    };
    ASSERT_TRUE(paced.Round(round, input).ok()) << round;
    clock.before_sleep = nullptr;
    EXPECT_TRUE(slept);
    EXPECT_GE(clock.now(), begin + kPeriod);
  }
  EXPECT_EQ(Position().charged, opened.plan.cost);
}

}  // namespace
}  // namespace dpnmf
