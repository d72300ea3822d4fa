// Golden values of a mechanism's runs on the disk and on the wire: hashes of
// parameters and of requests (ledger rows), every number of the plan, names of
// releases. The digests are of version 0.1.0; a run that was opened before an
// update continues after the update only if the digests stay the same.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/crypto/sha256.h"
#include "common/wire/convert.h"
#include "curator/session/session.h"
#include "gtest/gtest.h"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf::curator {
namespace {

constexpr char kRun[] = "0123456789abcdef0123456789abcde0";

struct Golden {
  std::string mechanism;
  std::uint32_t rounds = 0;
  std::uint32_t moment_rows = 0;
  std::string releases;    // of the stages on the wire, with their rounds
  std::string plan;        // first 16 digits of the digest of PlanText
  std::string parameters;  // of the request hash of the row that opens the run
  std::string requests;    // of the digest of the request hashes of its charges
};

const Golden kGoldens[] = {
    {"statistics", 2, 0, "statistics:2", "52489c7cc6a740ff", "d39db44a46577eef",
     "2911a515f30cf610"},
    {"gradient", 2, 0, "gradient:2", "52489c7cc6a740ff", "a536e6ca981ed8a3",
     "f4faf2066962fccc"},
    {"moments", 1, 12, "moments:1", "ba8af4717767ca27", "cd942d2c06faa600",
     "9fbb4b96e4057e57"},
    {"moments", 2, 5, "mean:1 moments:1", "a091946a39fe2e68",
     "8f63fcdd66e4ccf1", "8b9543332473cc8b"},
    {"moments", 4, 5, "mean:1 moments:1 statistics:2", "bb8e5433fcfa2926",
     "614b661cc69b80f1", "63d6bac61b5cac10"},
    {"objective", 1, 0, "objective:1", "37ad06deff663d02", "300fb942881c3f8b",
     "138ccca6e5d5b962"},
};

RunParameters ParametersOf(const Golden& golden) {
  RunParameters parameters = SmallRun();
  parameters.mechanism = golden.mechanism;
  parameters.rounds = golden.rounds;
  parameters.moment_rows = golden.moment_rows;
  return parameters;
}

std::string PlanText(const RunPlan& plan) {
  std::string text = absl::StrCat(
      plan.coefficient_bits, " ", plan.data_bits, " ", plan.coefficient_bound,
      " ", plan.data_bound, " ", plan.cost.UnitsText(), "\n");
  for (const StagePlan& stage : plan.stages) {
    absl::StrAppend(&text, stage.rounds, " ", stage.cost_per_round.UnitsText(),
                    "\n");
    for (const PartPlan& part : stage.parts) {
      absl::StrAppend(&text, part.name, " ", part.rows, " ", part.columns, " ",
                      part.symmetric, " ", part.step_exponent, " ",
                      part.stddev_steps, " ", part.diagonal_stddev_steps, " ",
                      part.left_norm_steps, " ", part.right_norm_steps, " ",
                      part.whole_sensitivity, "\n");
    }
  }
  return text;
}

std::string ReleasesText(const v1::RunPlan& plan) {
  std::string text;
  for (const v1::StagePlan& stage : plan.stages()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", stage.release(), ":",
                    stage.rounds());
  }
  return text;
}

RoundInput InputFor(const std::string& release, std::uint32_t moment_rows) {
  RoundInput input;
  if (release == "moments" && moment_rows < kFeatures) input.rows = {0, 3, 7};
  if (release == "mean" || release == "moments") return input;
  input.w = Eigen::MatrixXd::Constant(kFeatures, 3, 0.125);
  return input;
}

std::string Start16(const Digest& digest) {
  return HexOf(digest).substr(0, 16);
}

class MechanismGolden : public CuratorFixture {};

TEST_F(MechanismGolden, HashesPlansAndNamesAreThoseOfTheFirstVersion) {
  const DatasetFacts facts = FactsOf(catalog_.Find("planted")->description());
  std::string run_id = kRun;
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(golden.releases);
    ++run_id.back();
    const RunParameters parameters = ParametersOf(golden);
    const SessionContext context = {ledger_.get(), gate_.get(), &catalog_,
                                    access_.get(), &locks_,     1};
    Session session(context, {"dns:analyst"});
    RunParameters cheap = parameters;
    cheap.epsilon = 0.125;  // all of them together stay below the cap
    const OpenedSession opened = session.Open(run_id, cheap).value();
    const v1::RunPlan wire = ToProto(opened.plan, cheap, facts).value();
    EXPECT_EQ(ReleasesText(wire), golden.releases);
    EXPECT_EQ(Start16(Sha256().AddString(PlanText(opened.plan)).Finish()),
              golden.plan);
    for (std::uint32_t round = 1; round <= golden.rounds; ++round) {
      const RoundInput input =
          InputFor(StageOf(wire, round).stage->release(), golden.moment_rows);
      ASSERT_TRUE(session.Round(round, input).ok()) << round;
    }
    std::string opening;
    Sha256 requests;
    Ledger::Options places;
    places.directory = directory_ + "/ledger";
    const std::vector<LedgerRow> rows = Ledger::ReadRows(places).value();
    for (const LedgerRow& row : rows) {
      if (row.run_id != run_id) continue;
      if (row.kind == RowKind::kOpen) opening = Start16(row.request_hash);
      if (row.kind == RowKind::kCharge)
        requests.AddString(HexOf(row.request_hash));
    }
    EXPECT_EQ(opening, golden.parameters);
    EXPECT_EQ(Start16(requests.Finish()), golden.requests);
  }
}

}  // namespace
}  // namespace dpnmf::curator
