// A mechanism that no file outside this one knows: from its descriptor to a
// paid release, through the product's own plan, protocol, gate, ledger and
// learner. And what happens where a name is known to nobody.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "analyst/curators/curator_client.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "client/flags/run_flags.h"
#include "common/base/error.h"
#include "common/federation/federation.h"
#include "common/learning/mechanism.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"
#include "curator/factor/moments.h"
#include "curator/mechanism/mechanism.h"
#include "curator/session/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_analyst.h"
#include "tests/common/base/added_row.h"
#include "tests/mechanism/analyst_fixture.h"

namespace dpnmf {
namespace {

using curator::CuratorFixture;
using curator::kFeatures;
using curator::kUsers;
using ::testing::HasSubstr;
using ::testing::Not;

// "totals": a person's sum of entries, clipped to [0, c], and the person's
// column; both summed over people, in one Gaussian release of two parts with
// shapes, sensitivities and sigmas of their own.
constexpr char kName[] = "totals";

// A person adds an integer of [0, m] to `total`: Delta = m steps under either
// relation. `columns` is S_v: theorem 4a of docs/reference/privacy.md.
std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  const MuSquared round =
      MuSquared::FromUnits(whole.units() / parameters.rounds);
  const MuSquared of_total = ShareOf(round, 0.25);
  const std::uint64_t most = LargestEntrySteps(facts.column_bound, bits);
  const PartPlan total{.name = "total",
                       .rows = 1,
                       .columns = 1,
                       .step_exponent = -bits,
                       .left_norm_steps = most,
                       .right_norm_steps = most,
                       .whole_sensitivity = true};
  const PartPlan columns{
      .name = "columns",
      .rows = facts.features,
      .columns = 1,
      .step_exponent = -bits,
      .left_norm_steps = NormBoundSteps(facts.column_bound, bits),
      .right_norm_steps = 1};
  return {{.release = kName,
           .rounds = parameters.rounds,
           .parts = {{total, of_total, most},
                     {columns, Less(round, of_total), most}}}};
}

bool Uses(std::string_view field, const RunParameters&, const DatasetFacts&) {
  return field == "rounds";
}

constexpr Mechanism kPublic = {.name = kName,
                               .summary = "noised totals",
                               .learns_dictionary = false,
                               .rounds = AnyRounds,
                               .check = CheckNothing,
                               .stages = Stages,
                               .uses = Uses};

absl::StatusOr<curator::RoundSums> SumsOfTotals(
    const RoundInput&, const curator::RoundContext& context) {
  const RunPlan& plan = context.plan;
  const double most =
      static_cast<double>(LargestEntrySteps(plan.data_bound, plan.data_bits));
  std::int64_t total = 0;
  for (std::uint64_t n = 0; n < context.data.private_user_count(); ++n) {
    double sum = 0;
    for (const float entry : context.data.DenseColumn(n)) sum += entry;
    total += static_cast<std::int64_t>(
        std::clamp(std::floor(std::ldexp(sum, plan.data_bits)), 0.0, most));
  }
  curator::RoundSums sums;
  sums.parts.push_back({total});
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<std::int64_t> columns,
      curator::ComputeMean(context.data, plan.data_bound, plan.data_bits,
                           context.execution));
  sums.parts.push_back(std::move(columns));
  return sums;
}

curator::RoundMemory MemoryOfTotals(const RunParameters&,
                                    const curator::DatasetDescription& data,
                                    int threads) {
  return {.computing = curator::MeanBytes(data.features, data.users, threads)};
}

constexpr curator::ReleaseKind kCuratorReleases[] = {
    {.name = kName,
     .check = curator::CheckTakesNothing,
     .sums = SumsOfTotals,
     .publish = curator::PublishAll,
     .memory = MemoryOfTotals}};
constexpr curator::Mechanism kAtCurator = {kName, kCuratorReleases};

absl::Status UpdateFromTotals(const std::vector<NoisedMatrix>& parts,
                              const analyst::RoundFacts& facts,
                              analyst::LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(
      const Eigen::MatrixXd total,
      analyst::MeanOfPart(parts, "total", 1, 1, facts.users));
  DPNMF_ASSIGN_OR_RETURN(
      state->memory["columns"],
      analyst::MeanOfPart(parts, "columns", state->w.rows(), 1, facts.users));
  Eigen::MatrixXd& kept = state->memory["total"];
  kept.resize(1, 2);
  kept << total(0, 0), facts.noise.at("total").stddev;
  return absl::OkStatus();
}

std::optional<analyst::Figure> FigureOf(const analyst::LearnerState& state) {
  const Eigen::MatrixXd* const kept = analyst::Kept(state, "total");
  if (kept == nullptr) return std::nullopt;
  return analyst::Figure{(*kept)(0, 0), (*kept)(0, 1)};
}

void TwoRounds(const DatasetFacts&, RunParameters* parameters) {
  if (parameters->rounds == 0) parameters->rounds = 2;
}

constexpr analyst::ReleaseKind kAnalystReleases[] = {
    {.name = kName,
     .input = analyst::SendNothing,
     .update = UpdateFromTotals,
     .is_answer = true}};
constexpr analyst::Mechanism kAtAnalyst = {.name = kName,
                                           .fill_defaults = TwoRounds,
                                           .releases = kAnalystReleases,
                                           .figure = FigureOf};

v1::RunSpecification SpecificationOf(const std::string& mechanism) {
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = mechanism;
  parameters.rounds = 0;  // the mechanism's default
  v1::RunSpecification specification;
  *specification.mutable_parameters() = ToProto(parameters);
  return specification;
}

DatasetFacts Facts() {
  DatasetFacts facts;
  facts.name = facts.population = "people";
  facts.features = kFeatures;
  facts.users = kUsers;
  facts.max_rank = 12;
  facts.max_rounds = 100;
  return facts;
}

class AddedMechanism : public AnalystFixture {
 protected:
  // Before the parties' threads, and gone after them.
  struct Rows {
    AddedRow<Mechanism> row{&Mechanisms(), &kPublic};
    AddedRow<curator::Mechanism> at_curator{&curator::Mechanisms(),
                                            &kAtCurator};
    AddedRow<analyst::Mechanism> at_analyst{&analyst::Mechanisms(),
                                            &kAtAnalyst};
  };
};

TEST_F(AddedMechanism, RunsFromItsDescriptorToAPaidRelease) {
  const Rows rows;
  const analyst::PlannedRun planned =
      analyst::PlanWithCurator(SpecificationOf(kName), connection_.get())
          .value();
  const v1::RunParameters& filled = planned.reply.specification().parameters();
  EXPECT_EQ(filled.rounds(), 2u);
  const DatasetFacts facts = FactsOf(catalog_.Find("planted")->description());
  const RunPlan plan = PlanRun(FromProto(filled).value(), facts).value();
  const std::string id =
      manager_->Start(planned, std::nullopt, "dns:alice")->run_id();
  const v1::Run run = Await(id);
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();

  // Both sides planned the same, and the ledger has been paid just that.
  EXPECT_EQ(planned.reply.plan().cost().units(), plan.cost.UnitsText());
  EXPECT_EQ(run.plan().SerializeAsString(),
            planned.reply.plan().SerializeAsString());
  EXPECT_EQ(ledger_->PositionOf("people").value().charged, plan.cost);
  curator::Ledger::Options places;
  places.directory = directory_ + "/ledger";
  const auto written = curator::Ledger::ReadRows(places).value();
  const auto opening = std::find_if(
      written.begin(), written.end(),
      [](const auto& row) { return row.kind == curator::RowKind::kOpen; });
  ASSERT_NE(opening, written.end());
  EXPECT_EQ(opening->mechanism, kName);

  // Every planted column adds up to more than c = 1, so the exact mean of
  // totals is 1. Noise beyond 8 sigma has a chance of 1.3e-15 an entry.
  const v1::PartPlan& total = run.plan().stages(0).parts(0);
  const v1::PartPlan& columns = run.plan().stages(0).parts(1);
  EXPECT_NEAR(run.objective().value(), 1, 8 * total.stddev());
  EXPECT_EQ(run.objective().stddev(), total.stddev());
  const auto memory = store_->ReadLearner(id).value().memory;
  const auto data = curator::PlantedDataset("planted", "people");
  for (std::uint64_t d = 0; d < kFeatures; ++d) {
    double mean = 0;
    for (std::uint64_t n = 0; n < kUsers; ++n)
      mean += data->DenseColumn(n)[d] / static_cast<double>(kUsers);
    EXPECT_NEAR(memory.at("columns")(static_cast<Eigen::Index>(d), 0), mean,
                8 * columns.stddev() + 1e-6);
  }
}

// The analyst's side of a mechanism that tells no figure.
constexpr analyst::Mechanism kWithoutFigure = {
    .name = kName, .fill_defaults = TwoRounds, .releases = kAnalystReleases};

// Planner, flags and federation depend only on the fields of a mechanism.
class FieldsOfAMechanism : public AnalystFixture {
 protected:
  std::string Planned(const v1::RunSpecification& specification) {
    const absl::Status status =
        analyst::PlanWithCurator(specification, connection_.get()).status();
    sentence_ = std::string(status.message());
    return ReasonCode(status);
  }
  // `dpnmf train --dataset digits --epsilon 1 --mechanism totals`.
  std::string Typed() {
    cli::FakeServer server;
    cli::RunFlags flags;
    flags.dataset = "digits";
    flags.epsilon = 1;
    flags.mechanism = kName;
    return ReasonCode(
        cli::PrepareRun(cli::AnalystClient(server.Channel()), flags).status());
  }

  Mechanism fields_ = kPublic;
  std::string sentence_;  // of the last refusal

 private:
  AddedRow<Mechanism> row_{&Mechanisms(), &fields_};
  AddedRow<curator::Mechanism> at_curator_{&curator::Mechanisms(), &kAtCurator};
  AddedRow<analyst::Mechanism> at_analyst_{&analyst::Mechanisms(),
                                           &kWithoutFigure};
};

TEST_F(FieldsOfAMechanism, OneThatDrawsPeopleIsPlannedAndTypedWithoutARank) {
  EXPECT_EQ(Planned(SpecificationOf(kName)), "mechanism-unknown");
  EXPECT_EQ(Typed(), "mechanism-unknown");
  EXPECT_THAT(cli::MechanismHelp(), Not(HasSubstr(kName)));
  fields_.draws_people = true;
  EXPECT_EQ(Planned(SpecificationOf(kName)), "");
  EXPECT_EQ(Typed(), "");
  EXPECT_THAT(cli::MechanismHelp(), HasSubstr("totals (noised totals)"));
  EXPECT_FALSE(GivesParts(fields_));
}

TEST_F(FieldsOfAMechanism, OneThatLearnsADictionaryNeedsARank) {
  fields_.learns_dictionary = true;
  EXPECT_EQ(Planned(SpecificationOf(kName)), "");
  EXPECT_EQ(Typed(), "usage");
  EXPECT_TRUE(GivesParts(fields_));
  fields_.for_ratings = true;
  EXPECT_FALSE(GivesParts(fields_));
  EXPECT_EQ(Planned(SpecificationOf(kName)), "mechanism-mismatch");
}

TEST_F(FieldsOfAMechanism, RowsAreOfOneThatTakesThem) {
  fields_.draws_people = true;
  v1::RunSpecification specification = SpecificationOf(kName);
  specification.mutable_learner()->mutable_rows()->Add(0);
  specification.mutable_learner()->mutable_rows()->Add(2);
  EXPECT_EQ(Planned(specification), "moment-rows-unused");
  fields_.takes_rows = true;
  EXPECT_EQ(Planned(specification), "");
  // The refusal of another names it.
  specification.mutable_parameters()->set_mechanism(
      std::string(kStatisticsMechanism.name));
  EXPECT_EQ(Planned(specification), "moment-rows-unused");
  EXPECT_THAT(sentence_, HasSubstr("Only runs of mechanism moments or totals"));
}

TEST_F(FieldsOfAMechanism, APriorIsOfOneThatFitsMoments) {
  fields_.draws_people = true;
  v1::RunSpecification specification = SpecificationOf(kName);
  specification.add_priors()->set_kind(v1::PRIOR_KIND_RUN);
  EXPECT_EQ(Planned(specification), "prior-unused");
  fields_.fits_moments = true;
  EXPECT_EQ(Planned(specification), "");
}

TEST_F(FieldsOfAMechanism, AFederationTakesOneThatMayBeFederated) {
  const absl::Status refused = CheckFederatedMechanism(kName);
  EXPECT_EQ(ReasonCode(refused), "federation-mechanism");
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("choose `mechanism` moments or statistics."));
  fields_.may_be_federated = true;
  EXPECT_TRUE(CheckFederatedMechanism(kName).ok());
  EXPECT_THAT(std::string(CheckFederatedMechanism("none").message()),
              HasSubstr("moments, statistics or totals."));
}

TEST_F(AddedMechanism, IsRefusedByEveryPartWhereItIsNotAdded) {
  EXPECT_EQ(ReasonCode(analyst::PlanWithCurator(SpecificationOf(kName),
                                                connection_.get())
                           .status()),
            "mechanism-unknown");
  const curator::SessionContext context = {
      ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1};
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = kName;
  curator::Session session(context, {"dns:analyst"});
  EXPECT_EQ(
      ReasonCode(session.Open("0123456789abcdef0123456789abcdef", parameters)
                     .status()),
      "mechanism-unknown");
  EXPECT_EQ(ledger_->PositionOf("people").value().reserved, MuSquared());
  EXPECT_EQ(analyst::FindReleaseKind(kName), nullptr);
}

TEST(UnknownReleaseDeathTest, StopsTheCuratorBeforeItSumsAnything) {
  EXPECT_DEATH(curator::ReleaseKindOf("totals"),
               "the curator has no release named totals");
  EXPECT_DEATH(curator::ReleaseKindOf(""), "no release named");
  // Planned, since the descriptor is there, and nothing to compute it with.
  const AddedRow<Mechanism> row(&Mechanisms(), &kPublic);
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = kName;
  const RunPlan plan = PlanRun(parameters, Facts()).value();
  curator::DatasetDescription data;
  EXPECT_DEATH(curator::MemoryOfRun(plan, parameters, data, 1),
               "no release named");
}

// A charge for one of two releases of one name could pay for the other.
TEST(UnknownReleaseDeathTest, TwoReleasesOfOneNameStopTheCurator) {
  static constexpr curator::ReleaseKind kSecond[] = {
      {.name = "statistics",
       .check = curator::CheckTakesNothing,
       .sums = SumsOfTotals,
       .publish = curator::PublishAll,
       .memory = MemoryOfTotals}};
  static constexpr curator::Mechanism kOther = {"another", kSecond};
  const AddedRow<curator::Mechanism> row(&curator::Mechanisms(), &kOther);
  EXPECT_DEATH(curator::ReleaseKindOf("statistics"),
               "two releases are named statistics");
}

TEST(UnknownReleaseDeathTest, ATakenNameStopsTheProcess) {
  EXPECT_DEATH(
      {
        const AddedRow<Mechanism> one(&Mechanisms(), &kPublic);
        const AddedRow<Mechanism> two(&Mechanisms(), &kPublic);
      },
      "the name totals is in use");
}

TEST(Mechanisms, HaveASideInEachLayerAndReleasesOfTheirOwn) {
  std::vector<std::string> releases;
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    ASSERT_NE(curator::Mechanisms().Find(mechanism->name), nullptr);
    ASSERT_NE(analyst::Mechanisms().Find(mechanism->name), nullptr);
    for (const auto& kind :
         curator::Mechanisms().Find(mechanism->name)->releases) {
      EXPECT_NE(analyst::FindReleaseKind(kind.name), nullptr) << kind.name;
      releases.emplace_back(kind.name);
    }
  }
  EXPECT_EQ(Mechanisms().rows().size(), curator::Mechanisms().rows().size());
  EXPECT_EQ(Mechanisms().rows().size(), analyst::Mechanisms().rows().size());
  std::sort(releases.begin(), releases.end());
  EXPECT_EQ(std::adjacent_find(releases.begin(), releases.end()),
            releases.end());
}

// Rules that PlanRun enforces for every mechanism, whoever wrote it.
TEST(PlanRun,
     RefusesAMechanismThatSpendsMoreThanItsRunOrAnotherNumberOfRounds) {
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = kName;
  Mechanism wrong = kPublic;
  const AddedRow<Mechanism> row(&Mechanisms(), &wrong);
  ASSERT_TRUE(PlanRun(parameters, Facts()).ok());
  wrong.stages = [](MuSquared whole, int bits, const RunParameters& p,
                    const DatasetFacts& facts) {
    return Stages(MuSquared::Add(whole, whole).value(), bits, p, facts);
  };
  EXPECT_EQ(ReasonCode(PlanRun(parameters, Facts()).status()), "plan-invalid");
  wrong.stages = [](MuSquared whole, int bits, const RunParameters& p,
                    const DatasetFacts& facts) {
    auto stages = Stages(whole, bits, p, facts);
    stages[0].rounds -= 1;
    return stages;
  };
  EXPECT_EQ(ReasonCode(PlanRun(parameters, Facts()).status()), "plan-invalid");
  // Sums that could not be held exactly.
  wrong.stages = [](MuSquared whole, int bits, const RunParameters& p,
                    const DatasetFacts& facts) {
    auto stages = Stages(whole, bits, p, facts);
    stages[0].parts[0].largest_entry = Uint128{1} << 60;
    return stages;
  };
  EXPECT_EQ(ReasonCode(PlanRun(parameters, Facts()).status()),
            "noise-out-of-range");
}

}  // namespace
}  // namespace dpnmf
