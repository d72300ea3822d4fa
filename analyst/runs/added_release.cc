#include "analyst/runs/added_release.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/curators/receipt_check.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/learning/round_facts.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"

namespace dpnmf::analyst {
namespace {

constexpr std::uint32_t kReleaseVersion = 1;
constexpr std::size_t kLongestName = 256;

absl::Status Malformed(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 sentence);
}

absl::Status NotForThisRun() {
  return Refusal(absl::StatusCode::kDataLoss, "receipt-invalid",
                 "A receipt of the release belongs to another run, round, data "
                 "set or charge; ask whoever made the file for it again.");
}

std::uint64_t EntriesOf(const v1::RunPlan& plan) {
  std::uint64_t entries = 0;
  for (const v1::StagePlan& stage : plan.stages()) {
    for (const v1::PartPlan& part : stage.parts())
      entries += EntryCount(part.shape().rows(), part.shape().columns(),
                            part.layout() == v1::LAYOUT_UPPER);
  }
  return entries;
}

// Each part as the plan has it; G may be on fewer rows.
bool FitsPlan(const v1::StagePlan& stage, const CarriedRound& round) {
  if (round.parts.size() != 1 || stage.parts_size() != 1) return false;
  const NoisedMatrix& part = round.parts[0];
  const v1::PartPlan& planned = stage.parts(0);
  return part.name == planned.name() && part.is_lattice &&
         part.step_exponent == planned.step_exponent() &&
         part.symmetric == (planned.layout() == v1::LAYOUT_UPPER) &&
         part.rows <= planned.shape().rows() &&
         part.columns <= planned.shape().columns();
}

}  // namespace

absl::Status AddedRelease::Add(const v1::ReleaseReply& message) {
  if (!rounds_.has_value()) {
    return message.has_header() ? Begin(message.header())
                                : Malformed("A release begins with a header.");
  }
  if (message.has_items()) return AddItems(message.items());
  rounds_begun_ = true;
  return rounds_->Add(message);
}

absl::Status AddedRelease::Begin(const v1::ReleaseHeader& header) {
  if (header.version() != kReleaseVersion) {
    return Refusal(absl::StatusCode::kInvalidArgument, "release-newer",
                   "This program cannot read the format of the release; use "
                   "the version that wrote it, or a newer one.");
  }
  const v1::Dataset& dataset = header.dataset();
  v1::Run& run = run_.record.run;
  run.set_run_id(header.run().run_id());
  v1::RunSpecification& specification = *run.mutable_specification();
  *specification.mutable_parameters() =
      header.run().specification().parameters();
  v1::LearnerOptions& learner = *specification.mutable_learner();
  learner.set_seed(header.run().specification().learner().seed());
  const v1::RunParameters& asked = specification.parameters();
  if (!IsHexId(run.run_id()) || asked.dataset().empty() ||
      asked.dataset().size() > kLongestName ||
      asked.dataset() != dataset.name() ||
      !MechanismHas(asked.mechanism(), &dpnmf::Mechanism::fits_moments) ||
      dataset.has_ratings() || dataset.features() > kMostAddedFeatures)
    return Malformed(
        "The header does not describe a run of `moments` or `aimed`.");
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset));
  DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters, FromProto(asked));
  DPNMF_ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(parameters, facts));
  DPNMF_ASSIGN_OR_RETURN(const v1::RunPlan whole,
                         ToProto(plan, parameters, facts));
  *run.mutable_plan() = PlanOfPaid(whole);
  parameters_ = ToProto(parameters);
  specification = WithDefaults(std::move(specification), dataset);
  run.set_state(v1::RUN_STATE_QUEUED);
  run.set_added(true);
  run_.record.guarantee = dataset.guarantee();
  run_.record.population = dataset.population();
  run_.facts.dataset = dataset;
  run_.state.w.resize(static_cast<Eigen::Index>(facts.features), 0);
  users_ = facts.users;
  rounds_.emplace(EntriesOf(run.plan()));
  if (HasNames(dataset)) items_.emplace(dataset.features(), 0);
  return absl::OkStatus();
}

absl::Status AddedRelease::AddItems(const v1::ListItemsReply& page) {
  item_bytes_ += page.ByteSizeLong();
  const bool plain =
      std::all_of(page.items().begin(), page.items().end(),
                  [](const v1::Item& item) { return item.name().empty(); });
  if (rounds_begun_ || !items_.has_value() || !plain ||
      page.feature_names_size() > 0 || item_bytes_ > kMostNameBytes) {
    return Refusal(absl::StatusCode::kInvalidArgument, "items-malformed",
                   "The list of names in the release is malformed or too "
                   "long; ask whoever made the file for it again.");
  }
  DPNMF_RETURN_IF_ERROR(items_->Add(page));
  run_.facts.items.push_back(page);
  return absl::OkStatus();
}

// Returns the request of the round. The request of a second release follows
// from the first release, as it did where the round was paid for.
absl::StatusOr<RoundInput> AddedRelease::RequestFor(const v1::StagePlan& stage,
                                                    const CarriedRound& round) {
  if (stage.parts_size() != 1 || stage.parts(0).name() != kReleasedAimed) {
    RoundInput asked;
    asked.rows = round.rows;
    return asked;
  }
  const Eigen::MatrixXd* const g = Kept(run_.state, kPaidMoments);
  // Fails without the first release, from which the request follows.
  if (g == nullptr) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "release-missing",
                   "The release has only the second of two second moments; ask "
                   "whoever made the file for both.");
  }
  DPNMF_ASSIGN_OR_RETURN(const std::vector<int> rows,
                         RowsOfMoments(parameters_.moment_rows(), run_.state));
  if (g->rows() != static_cast<Eigen::Index>(rows.size()))
    return Malformed("The second release has other rows than the first.");
  const v1::Run& run = run_.record.run;
  const RoundFacts facts =
      FactsOfRound(run.specification(), run.plan(), {&stage, stage.rounds()},
                   static_cast<double>(users_));
  DPNMF_ASSIGN_OR_RETURN(aim_, AimAfter(facts, run_.state, g->rows(),
                                        static_cast<int>(parameters_.rank())));
  stddev_of_aimed_ = stage.parts(0).stddev();
  return RequestOf(*aim_, rows, run_.state.w.rows());
}

absl::Status AddedRelease::CheckRound(const CarriedRound& round,
                                      const v1::Receipt& first,
                                      const std::string& key) {
  const v1::Run& run = run_.record.run;
  const v1::StagePlan* const stage = StageOf(run.plan(), round.round).stage;
  const v1::Receipt& receipt = round.receipt;
  if (stage == nullptr)
    return Malformed("The release has more rounds than the run's plan.");
  DPNMF_RETURN_IF_ERROR(CheckReceipt(receipt));
  if (receipt.public_key() != key) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "receipt-key-differs",
        "The release is signed with another key than the one recorded for the "
        "data set; if it is from the same curator, ask its operator, else give "
        "the release to an analyst of that curator.");
  }
  if (receipt.run_id() != run.run_id() || receipt.round() != round.round ||
      receipt.dataset() != run.specification().parameters().dataset() ||
      receipt.population() != run_.record.population ||
      receipt.charged().units() != stage->cost_per_round().units() ||
      receipt.ledger_id() != first.ledger_id() ||
      receipt.identity() != first.identity())
    return NotForThisRun();
  if (receipt.release_sha256().empty()) return ReleaseUnsigned();
  DPNMF_ASSIGN_OR_RETURN(const RoundInput asked, RequestFor(*stage, round));
  const Digest digest = DigestOfRelease(
      {&parameters_, stage, users_, asked.rows, asked.numbers, &asked.w},
      round.parts);
  if (receipt.release_sha256() != std::string(digest.begin(), digest.end()))
    return ReleaseDiffers();
  if (!FitsPlan(*stage, round) || asked.rows != round.rows)
    return Malformed("A round of the release does not match the run's plan.");
  if (receipt.has_void_since()) {
    v1::Guarantee& guarantee = run_.record.guarantee;
    if (!guarantee.has_void_since() ||
        guarantee.void_since() > receipt.void_since())
      guarantee.set_void_since(receipt.void_since());
  }
  return absl::OkStatus();
}

// Keeps of the round what the run's own learner keeps.
absl::Status AddedRelease::Learn(const CarriedRound& round) {
  const auto features = run_.state.w.rows();
  const double users = static_cast<double>(users_);
  const NoisedMatrix& part = round.parts[0];
  if (part.name == kPaidMean) {
    if (!round.rows.empty())
      return Malformed("The mean of the release is on chosen rows.");
    DPNMF_ASSIGN_OR_RETURN(
        run_.state.memory[kPaidMean],
        MeanOfPart(round.parts, kPaidMean, features, 1, users));
    return absl::OkStatus();
  }
  const auto count = static_cast<Eigen::Index>(part.rows);
  if (part.name == kReleasedAimed) {
    DPNMF_ASSIGN_OR_RETURN(
        Eigen::MatrixXd z,
        MeanOfPart(round.parts, kReleasedAimed, count, count, users));
    KeepAimed({*std::move(aim_), std::move(z), stddev_of_aimed_}, &run_.state);
    return absl::OkStatus();
  }
  DPNMF_ASSIGN_OR_RETURN(
      run_.state.memory[kPaidMoments],
      MeanOfPart(round.parts, kPaidMoments, count, count, users));
  const bool all = round.rows.empty() && count == features;
  const bool chosen = count < features && round.rows.size() == part.rows &&
                      static_cast<Eigen::Index>(round.rows.back()) < features;
  if (!all && !chosen)
    return Malformed("The rows of the second moment do not fit it.");
  if (!chosen) return absl::OkStatus();
  Eigen::MatrixXd rows(count, 1);
  std::copy(round.rows.begin(), round.rows.end(), rows.data());
  run_.state.memory[kChosenRows] = std::move(rows);
  return absl::OkStatus();
}

absl::StatusOr<NewRun> AddedRelease::Finish() {
  if (!rounds_.has_value() || !rounds_->complete() ||
      (items_.has_value() && !run_.facts.items.empty() && !items_->complete()))
    return Malformed("The release ends before it is complete.");
  const std::string& dataset =
      run_.record.run.specification().parameters().dataset();
  DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> key,
                         store_->ReceiptKeyOf(dataset));
  if (!key.has_value()) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "receipt-key-unknown",
        absl::StrCat("This analyst has no receipt key for data set `", dataset,
                     "`, so it cannot verify the release; its operator must "
                     "give the curator's receipt.pub with --receipt-key."));
  }
  const std::vector<CarriedRound> rounds = rounds_->Take();
  for (const CarriedRound& round : rounds) {
    DPNMF_RETURN_IF_ERROR(CheckRound(round, rounds.front().receipt, *key));
    DPNMF_RETURN_IF_ERROR(Learn(round));
    WriteRound(round, [&](const v1::ReleaseReply& message) {
      run_.facts.release.push_back(message);
      return true;
    });
  }
  // A mean that was lost is missed; without G there is nothing to fit to.
  DPNMF_RETURN_IF_ERROR(PaidMomentsOf(run_.record.run, run_.state).status());
  return std::move(run_);
}

absl::Status ReleaseUnsigned() {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "release-unsigned",
      "The curator has not signed this release, so it proves nothing to "
      "others; export only its numbers, with `dpnmf export --moments`.");
}

v1::ReleaseHeader HeaderOfRelease(const RunRecord& record,
                                  const v1::Dataset& dataset) {
  v1::ReleaseHeader header;
  header.set_version(kReleaseVersion);
  v1::Run& run = *header.mutable_run();
  run.set_run_id(record.run.run_id());
  *run.mutable_specification()->mutable_parameters() =
      record.run.specification().parameters();
  run.mutable_specification()->mutable_learner()->set_seed(
      record.run.specification().learner().seed());
  *run.mutable_plan() = PlanOfPaid(record.run.plan());
  *header.mutable_guarantee() = record.guarantee;
  *header.mutable_dataset() = dataset;
  // Takes the run's guarantee, which may have become void since the start.
  *header.mutable_dataset()->mutable_guarantee() = record.guarantee;
  return header;
}

}  // namespace dpnmf::analyst
