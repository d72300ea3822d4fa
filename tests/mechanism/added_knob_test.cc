// A knob that is one more row of a mechanism that no file outside this one
// knows: its flag, the check of its use and of its range, the conversion, the
// hash and the text follow from the row.
#include <algorithm>

#include "client/render/text.h"
#include "client/flags/run_flags.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"
#include "curator/session/session.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "gtest/gtest.h"
#include "tests/client/fake_analyst.h"
#include "tests/common/base/added_row.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToyName[] = "toy";

// A row of its own for a member that has no flag and no text elsewhere.
constexpr Knob kToyKnobs[] = {{.name = "share_of_mean",
                               .field = 16,
                               .member = &RunParameters::share_of_mean,
                               .range = kShareRange,
                               .flag = {"--toy-share", "X", "Share of the toy"},
                               .line = {"share of the toy"}}};

std::vector<StageDraft> StagesOfToy(MuSquared whole, int bits,
                                    const RunParameters& parameters,
                                    const DatasetFacts& facts) {
  return {StageOfMean(ShareOf(whole, parameters.share_of_mean), bits, facts)};
}

bool UsesOfToy(std::string_view field, const RunParameters&,
               const DatasetFacts&) {
  return field == kToyKnobs[0].name;
}

constexpr Mechanism kToy = {.name = kToyName,
                            .summary = "a share of the mean",
                            .draws_people = true,
                            .rounds = AnyRounds,
                            .check = CheckNothing,
                            .stages = StagesOfToy,
                            .uses = UsesOfToy,
                            .knobs = kToyKnobs};

class AddedKnob : public ::testing::Test {
 protected:
  // `dpnmf plan --dataset digits --epsilon 1 --rank 2 --toy-share SHARE`.
  absl::StatusOr<cli::PreparedRun> Typed(const std::string& mechanism,
                                         double share) {
    cli::RunFlags flags;
    flags.dataset = "digits";
    flags.epsilon = 1;
    flags.rank = 2;
    flags.mechanism = mechanism;
    for (const Flag& flag : cli::FlagsOfRun(&flags)) {
      if (std::string_view(flag.name) == "--toy-share")
        *std::get<std::optional<double>*>(flag.target) = share;
    }
    return cli::PrepareRun(cli::AnalystClient(server_.Channel()), flags);
  }

  cli::FakeServer server_;
  const AddedRow<Mechanism> row_{&Mechanisms(), &kToy};
};

TEST_F(AddedKnob, IsAFlagThatIsHeldToItsMechanismAndItsRange) {
  cli::RunFlags flags;
  const std::vector<Flag> table = cli::FlagsOfRun(&flags);
  const auto flag =
      std::find_if(table.begin(), table.end(), [](const Flag& one) {
        return std::string_view(one.name) == "--toy-share";
      });
  ASSERT_NE(flag, table.end());
  EXPECT_STREQ(flag->help, "Share of the toy");
  EXPECT_STREQ(flag->rules.value, "X");

  EXPECT_EQ(ReasonCode(Typed("statistics", 0.25).status()), "flag-unused");
  EXPECT_THAT(std::string(Typed("statistics", 0.25).status().message()),
              HasSubstr("`--toy-share` has no effect on a run with "
                        "--mechanism statistics"));
  for (const double share : {0.0, 1.0}) {
    EXPECT_EQ(Typed(kToyName, share).status().message(),
              "`--toy-share` must be strictly between 0 and 1.");
  }
}

TEST_F(AddedKnob, TravelsIsCheckedPlannedAndShown) {
  const auto prepared = Typed(kToyName, 0.25);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  v1::PlanRunReply reply;
  *reply.mutable_specification() = prepared->specification;
  EXPECT_THAT(cli::PlanText(reply), HasSubstr("share of the toy       0.25\n"));
  reply.mutable_specification()->mutable_parameters()->set_mechanism(
      std::string(kStatisticsMechanism.name));
  EXPECT_THAT(cli::PlanText(reply), Not(HasSubstr("share of the toy")));

  RunParameters sent = FromProto(prepared->specification.parameters()).value();
  EXPECT_EQ(sent.share_of_mean, 0.25);
  DatasetFacts facts;
  facts.features = 64;
  facts.users = 1797;
  facts.max_rank = facts.max_rounds = 10;
  sent.rounds = 1;
  for (const Knob& knob : KnobsOfEveryRun()) SetDefault(knob, &sent);
  const auto plan = PlanRun(sent, facts);
  ASSERT_TRUE(plan.ok()) << plan.status();
  RunParameters more = sent;
  more.share_of_mean = 0.5;
  EXPECT_LT(plan->cost, PlanRun(more, facts)->cost);
  EXPECT_NE(curator::HashOf(sent), curator::HashOf(more));
  more.share_of_mean = 1;
  EXPECT_EQ(CheckRunParameters(more, facts).message(),
            "`share_of_mean` must be strictly between 0 and 1.");
}

// A field that no message of the product has.
TEST(KnobOfAnotherField, IsWrittenReadAndHashedByItsName) {
  constexpr Knob kOther[] = {{.name = "toy_share",
                              .field = 1000,
                              .member = &RunParameters::share_of_mean}};
  google::protobuf::FileDescriptorProto file;
  file.set_name("toy.proto");
  file.set_syntax("proto3");
  v1::RunParameters::descriptor()->CopyTo(file.add_message_type());
  for (auto& field : *file.mutable_message_type(0)->mutable_field()) {
    if (field.has_type_name()) {
      field.clear_type_name();
      field.set_type(google::protobuf::FieldDescriptorProto::TYPE_INT32);
    }
  }
  auto* const added = file.mutable_message_type(0)->add_field();
  added->set_name("toy_share");
  added->set_number(1000);
  added->set_type(google::protobuf::FieldDescriptorProto::TYPE_DOUBLE);
  google::protobuf::DescriptorPool pool;
  const auto* const type =
      pool.BuildFile(file)->FindMessageTypeByName("RunParameters");
  google::protobuf::DynamicMessageFactory messages;
  const std::unique_ptr<google::protobuf::Message> message(
      messages.GetPrototype(type)->New());

  RunParameters parameters;
  parameters.share_of_mean = 0.125;
  const Digest before = curator::HashOf(parameters);
  Mechanism toy = kToy;
  toy.knobs = kOther;
  const AddedRow<Mechanism> row(&Mechanisms(), &toy);
  EXPECT_NE(curator::HashOf(parameters), before);
  WriteKnobs(parameters, message.get());
  EXPECT_EQ(message->GetReflection()->GetDouble(
                *message, type->FindFieldByName("toy_share")),
            0.125);
  RunParameters back;
  ReadKnobs(*message, &back);
  EXPECT_EQ(back.share_of_mean, 0.125);
  // In the product's message it would be lost.
  EXPECT_DEATH(ToProto(parameters), "the message has no field toy_share");
}

}  // namespace
}  // namespace dpnmf
