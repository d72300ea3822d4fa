// A knob that is one more row, of a mechanism that no file outside this one
// knows: flag, checks, message, hash and text follow from the row.
#include <string>

#include "analyst/planning/planner.h"
#include "client/flags/run_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"
#include "curator/session/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_analyst.h"
#include "tests/common/base/added_row.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// In the product the member has no flag and no line.
constexpr Knob kToyKnobs[] = {
    {{"toy_share", 1000, &RunParameters::share_of_mean},
     {.text = "above 0 and at most 1", .code = "share-out-of-range", .most = 1},
     {"--toy-share", "X", "Share of the toy"},
     {"share of the toy", [](const RunParameters& parameters) {
        return std::to_string(parameters.share_of_mean);
      }}}};

bool UsesOfToy(std::string_view field, const RunParameters&,
               const DatasetFacts&) {
  return field == "toy_share";
}

Mechanism Toy() {
  Mechanism toy = kStatisticsMechanism;
  toy.name = "toy";
  toy.uses = UsesOfToy;
  toy.knobs = kToyKnobs;
  return toy;
}

constexpr analyst::Mechanism kToyAtAnalyst = {
    .name = "toy",
    .fill_defaults = [](const DatasetFacts&, RunParameters*) {},
    .releases = {}};

class AddedKnob : public ::testing::Test {
 protected:
  // `dpnmf plan --dataset digits --rank 2 --epsilon 1 --toy-share SHARE`.
  absl::StatusOr<cli::PreparedRun> Typed(std::string_view mechanism,
                                         double share) {
    cli::RunFlags flags;
    flags.dataset = "digits";
    flags.epsilon = 1;
    flags.rank = 2;
    flags.mechanism = mechanism;
    for (const Flag& flag : cli::FlagsOfRun(&flags))
      if (std::string_view(flag.name) == "--toy-share")
        *std::get<std::optional<double>*>(flag.target) = share;
    return cli::PrepareRun(cli::AnalystClient(server_.Channel()), flags);
  }

  cli::FakeServer server_;
  const Mechanism toy_ = Toy();
  const AddedRow<Mechanism> row_{&Mechanisms(), &toy_};
};

TEST_F(AddedKnob, IsAFlagThatIsHeldToItsMechanismAndItsRange) {
  const absl::Status unused = Typed("statistics", 0.25).status();
  EXPECT_EQ(ReasonCode(unused), "flag-unused");
  EXPECT_THAT(std::string(unused.message()), HasSubstr("`--toy-share`"));
  for (const double share : {0.0, 1.5})
    EXPECT_EQ(Typed("toy", share).status().message(),
              "`--toy-share` must be above 0 and at most 1.");
}

TEST_F(AddedKnob, IsSentShownAndChecked) {
  const auto prepared = Typed("toy", 0.25);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  v1::PlanRunReply reply;
  *reply.mutable_specification() = prepared->specification;
  EXPECT_THAT(cli::PlanText(reply),
              HasSubstr("share of the toy           0.25"));
  reply.mutable_specification()->mutable_parameters()->set_mechanism(
      "gradient");
  EXPECT_THAT(cli::PlanText(reply), Not(HasSubstr("share of the toy")));

  RunParameters run = FromProto(prepared->specification.parameters()).value();
  run.rounds = 1;
  run.share_of_a = 0.1;
  DatasetFacts facts;
  facts.features = 64;
  facts.users = 1797;
  facts.max_rank = facts.max_rounds = 10;
  EXPECT_EQ(CheckRunParameters(run, facts).message(), "");
  run.share_of_mean = 1.5;
  EXPECT_EQ(CheckRunParameters(run, facts).message(),
            "`toy_share` must be above 0 and at most 1.");
}

TEST_F(AddedKnob, HasItsInitializerIfNobodySetsIt) {
  const AddedRow<analyst::Mechanism> at_analyst(&analyst::Mechanisms(),
                                                &kToyAtAnalyst);
  v1::RunSpecification specification;
  specification.mutable_parameters()->set_mechanism("toy");
  EXPECT_EQ(analyst::WithDefaults(specification, cli::SampleDataset("digits"))
                .parameters()
                .share_of_mean(),
            0.1);
}

// The values are from a separate program, in which the tag, 2^64 - 1 - 1000,
// comes after the shares.
TEST_F(AddedKnob, IsInTheHashAfterATagOnceItIsSet) {
  RunParameters run;
  run.share_of_mean = 0;
  EXPECT_EQ(HexOf(curator::HashOf(run)),
            "b6792c95893f7d395474ff24437c245f0dca814f449d3a28b8ccb7008f6f71ee");
  run.share_of_mean = 0.25;
  EXPECT_EQ(HexOf(curator::HashOf(run)),
            "60e7e9ab06525666a0d1c2948bb315125b340c4d40709074a899fd8982ed77e4");
  run.shares = {0.5};
  EXPECT_EQ(HexOf(curator::HashOf(run)),
            "286b420b8baa8d21cc1f1d02f6fc1d1a77786b568d6ba1c5b17ed37af52280ad");
}

}  // namespace
}  // namespace dpnmf
