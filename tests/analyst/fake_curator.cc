#include "tests/analyst/fake_curator.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>

#include "common/base/error.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"

namespace dpnmf::analyst {
namespace {

constexpr double kCapEpsilon = 10;
constexpr double kDelta = 1e-5;

NoisedMatrix Reals(const std::string& name, const Eigen::MatrixXd& sum,
                   bool symmetric) {
  NoisedMatrix part;
  part.name = name;
  part.rows = static_cast<std::uint64_t>(sum.rows());
  part.columns = static_cast<std::uint64_t>(sum.cols());
  part.symmetric = symmetric;
  part.is_lattice = false;
  for (Eigen::Index j = 0; j < sum.cols(); ++j) {
    for (Eigen::Index i = 0; i < (symmetric ? j + 1 : sum.rows()); ++i) {
      part.reals.push_back(sum(i, j));
    }
  }
  return part;
}

// The sum on the part's lattice, without noise.
NoisedMatrix Lattice(const PartPlan& plan, const Eigen::MatrixXd& sum) {
  const NoisedMatrix reals = Reals(plan.name, sum, plan.symmetric);
  NoisedMatrix part = reals;
  part.is_lattice = true;
  part.step_exponent = plan.step_exponent;
  part.reals.clear();
  for (const double entry : reals.reals)
    part.lattice.push_back(
        std::llround(std::ldexp(entry, -plan.step_exponent)));
  return part;
}

std::string HashOf(std::uint64_t sequence) {
  std::string hash(32, '\0');
  for (int i = 0; i < 8; ++i) hash[i] = static_cast<char>(sequence >> (8 * i));
  hash[31] = 'h';
  return hash;
}

}  // namespace

class FakeStream : public RunStream {
 public:
  explicit FakeStream(FakeCurator* curator) : curator_(curator) {}
  absl::StatusOr<OpenedRun> Open(const std::string& run_id,
                                 const v1::RunParameters& parameters) override {
    run_id_ = run_id;
    return curator_->Open(run_id, parameters);
  }
  absl::StatusOr<RoundResult> Round(std::uint32_t round,
                                    const RoundInput& input) override {
    return curator_->Round(run_id_, round, input);
  }
  absl::StatusOr<ClosedRun> Close() override {
    return curator_->Close(run_id_);
  }
  void Cancel() override {}

 private:
  FakeCurator* const curator_;
  std::string run_id_;
};

FakeCurator::FakeCurator(Eigen::MatrixXd v)
    : v_(std::move(v)),
      cap_(*LargestCost(Conversion::kRdp, kCapEpsilon, kDelta)) {}

v1::Dataset FakeCurator::dataset() const {
  v1::Dataset dataset;
  dataset.set_name("toy");
  dataset.set_population("people");
  dataset.set_features(static_cast<std::uint64_t>(v_.rows()));
  dataset.set_users(static_cast<std::uint64_t>(v_.cols()));
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_column_bound(1);
  dataset.set_named_features(named_features);
  dataset.set_weighted_features(weighted_features);
  dataset.set_max_rank(64);
  dataset.set_max_rounds(1000);
  v1::Guarantee& guarantee = *dataset.mutable_guarantee();
  guarantee.set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  guarantee.set_conversion(v1::CONVERSION_RDP);
  guarantee.set_epsilon(kCapEpsilon);
  guarantee.set_delta(kDelta);
  *guarantee.mutable_cap() = ToProto(cap_);
  return dataset;
}

absl::Status FakeCurator::Strike(Moment moment, const std::string& run_id,
                                 std::uint32_t round) {
  return hook ? hook(moment, run_id, round) : absl::OkStatus();
}

absl::StatusOr<v1::ListDatasetsReply> FakeCurator::ListDatasets() {
  v1::ListDatasetsReply reply;
  *reply.add_datasets() = dataset();
  return reply;
}

absl::StatusOr<v1::ListItemsReply> FakeCurator::ListItems(const std::string&,
                                                          std::uint64_t first) {
  if (items) return items(first);
  return Refusal(absl::StatusCode::kFailedPrecondition, "items-none",
                 "The data set has no list of items.");
}

void FakeCurator::AddRow() { ++row_count_; }

v1::LedgerPosition FakeCurator::Position() const {
  v1::LedgerPosition position;
  position.set_population("people");
  *position.mutable_cap() = ToProto(cap_);
  *position.mutable_charged() = ToProto(charged_);
  *position.mutable_reserved() = ToProto(reserved_);
  const MuSquared committed = *MuSquared::Add(charged_, reserved_);
  *position.mutable_left() = ToProto(*MuSquared::Subtract(cap_, committed));
  if (own_cap.has_value()) {
    *position.mutable_own_limit()->mutable_cap() = ToProto(*own_cap);
    *position.mutable_own_limit()->mutable_charged() = ToProto(charged_);
    *position.mutable_own_limit()->mutable_reserved() = ToProto(reserved_);
  }
  position.set_row_count(row_count_);
  position.set_head(HashOf(row_count_));
  return position;
}

absl::StatusOr<v1::GetLedgerReply> FakeCurator::GetLedger(
    const std::string&, std::uint64_t after_sequence) {
  MutexLock lock(&mutex_);
  v1::GetLedgerReply reply;
  *reply.mutable_guarantee() = dataset().guarantee();
  *reply.mutable_position() = Position();
  MuSquared own;
  for (const v1::LedgerCharge& charge : charges_) {
    own = *MuSquared::Add(own, *FromProto(charge.charged()));
    if (charge.sequence() <= after_sequence) continue;
    if (static_cast<std::size_t>(reply.own_charges_size()) == page) {
      reply.set_more(true);
      continue;
    }
    *reply.add_own_charges() = charge;
  }
  *reply.mutable_own_charged() = ToProto(own);
  reply.set_own_charge_count(charges_.size());
  return reply;
}

std::unique_ptr<RunStream> FakeCurator::NewStream() {
  return std::make_unique<FakeStream>(this);
}

absl::StatusOr<OpenedRun> FakeCurator::Open(
    const std::string& run_id, const v1::RunParameters& parameters) {
  DPNMF_RETURN_IF_ERROR(Strike(Moment::kOpen, run_id, 0));
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset()));
  DPNMF_ASSIGN_OR_RETURN(const RunParameters decoded, FromProto(parameters));
  DPNMF_ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(decoded, facts));
  MutexLock lock(&mutex_);
  RunRow& run = runs_[run_id];
  if (run.closed) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "run-closed",
                   "The run is closed.");
  }
  if (run.rounds == 0) {
    const auto committed =
        MuSquared::Add(*MuSquared::Add(charged_, reserved_), plan.cost);
    if (!committed.has_value() || *committed > cap_) {
      runs_.erase(run_id);
      return Refusal(absl::StatusCode::kResourceExhausted, "budget-exhausted",
                     "Over budget.");
    }
    run.parameters = parameters.SerializeAsString();
    run.rounds = parameters.rounds();
    run.plan = plan;
    run.reserved = plan.cost;
    reserved_ = *MuSquared::Add(reserved_, plan.cost);
    AddRow();
  } else if (run.parameters != parameters.SerializeAsString()) {
    return Refusal(absl::StatusCode::kAlreadyExists, "run-differs",
                   "Another request.");
  }
  OpenedRun opened;
  DPNMF_ASSIGN_OR_RETURN(opened.plan, ToProto(plan, decoded, facts));
  opened.next_round = static_cast<std::uint32_t>(run.charges.size()) + 1;
  opened.users = facts.users;
  opened.ledger = Position();
  opened.receipt_key.assign(key->public_key().begin(), key->public_key().end());
  return opened;
}

Eigen::MatrixXd FakeCurator::Coefficients(const Eigen::MatrixXd& v,
                                          const Eigen::MatrixXd& w) {
  Eigen::MatrixXd h = (w.transpose() * v).cwiseMax(0);  // K x N
  for (Eigen::Index n = 0; n < h.cols(); ++n)
    h.col(n) /= std::max(1.0, h.col(n).norm());
  return h;
}

void FakeCurator::AddReceipt(const std::string& run_id, std::uint32_t round,
                             const std::optional<Digest>& release,
                             RoundResult* result) const {
  v1::Receipt receipt;
  receipt.set_ledger_id(std::string(32, '1'));
  receipt.set_sequence(result->ledger.row_count());
  receipt.set_row_hash(result->row_hash);
  receipt.set_population(result->ledger.population());
  receipt.set_dataset("toy");
  receipt.set_identity("dns:analyst");
  receipt.set_run_id(run_id);
  receipt.set_round(round);
  *receipt.mutable_charged() = ToProto(result->cost);
  if (release.has_value() && sign_releases)
    receipt.set_release_sha256(release->data(), release->size());
  Sign(*key, &receipt);
  result->receipt = std::move(receipt);
  if (forge) forge(result);
}

absl::StatusOr<RoundResult> FakeCurator::Round(const std::string& run_id,
                                               std::uint32_t round,
                                               const RoundInput& input) {
  const Eigen::MatrixXd& w = input.w;
  DPNMF_RETURN_IF_ERROR(Strike(Moment::kBeforeCharge, run_id, round));
  RoundResult result;
  v1::RunParameters parameters;
  StagePlan stage;
  {
    MutexLock lock(&mutex_);
    requests_.emplace_back(round, w);
    RunRow& run = runs_[run_id];
    parameters.ParseFromString(run.parameters);
    stage = run.plan.StageOf(round);
    const MuSquared cost = stage.cost_per_round;
    if (round > run.charges.size() + 1) {
      return Refusal(absl::StatusCode::kFailedPrecondition,
                     "round-out-of-order", "Order.");
    }
    if (round == run.charges.size() + 1) {
      v1::LedgerCharge charge;
      AddRow();
      charge.set_sequence(row_count_);
      charge.set_run_id(run_id);
      charge.set_round(round);
      *charge.mutable_charged() = ToProto(cost);
      charge.set_row_hash(HashOf(row_count_));
      charged_ = *MuSquared::Add(charged_, cost);
      reserved_ = *MuSquared::Subtract(reserved_, cost);
      run.reserved = *MuSquared::Subtract(run.reserved, cost);
      run.charges.push_back(charge);
      run.asked[round] = w;
      charges_.push_back(charge);
    } else if (run.asked[round] != w) {
      return Refusal(absl::StatusCode::kFailedPrecondition, "round-differs",
                     "Another W.");
    }
    result.cost = cost;
    result.row_hash = run.charges[round - 1].row_hash();
    result.ledger = Position();
  }
  result.lost = std::find(lost_rounds.begin(), lost_rounds.end(), round) !=
                lost_rounds.end();
  std::optional<Digest> release;
  if (!result.lost) {
    result.parts = PartsOf(parameters, stage, input);
    DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(dataset()));
    DPNMF_ASSIGN_OR_RETURN(const RunParameters decoded, FromProto(parameters));
    const v1::RunParameters canonical = ToProto(decoded);
    const v1::StagePlan planned = ToProto(stage, facts);
    release = DigestOfRelease({&canonical, &planned, facts.users, input.rows,
                               input.numbers, &input.w},
                              result.parts);
  }
  AddReceipt(run_id, round, release, &result);
  DPNMF_RETURN_IF_ERROR(Strike(Moment::kAfterCharge, run_id, round));
  return result;
}

std::vector<NoisedMatrix> FakeCurator::PartsOf(
    const v1::RunParameters& parameters, const StagePlan& stage,
    const RoundInput& input) const {
  if (stage.release == "mean")
    return {Lattice(stage.parts[0], v_.rowwise().sum())};
  if (stage.release == "moments") {
    std::vector<int> rows(input.rows.begin(), input.rows.end());
    for (int i = 0; input.rows.empty() && i < v_.rows(); ++i) rows.push_back(i);
    const Eigen::MatrixXd on_rows = v_(rows, Eigen::all);
    return {Lattice(stage.parts[0], on_rows * on_rows.transpose())};
  }
  if (stage.release == "aimed") {
    const std::vector<int> rows(input.rows.begin(), input.rows.end());
    const Eigen::MatrixXd u = input.w(rows, Eigen::all);
    Eigen::MatrixXd z = v_(rows, Eigen::all);
    z -= u * (u.transpose() * z).eval();
    z *= input.numbers[0];
    for (auto column : z.colwise()) column /= std::max(1.0, column.norm());
    return {Lattice(stage.parts[0], z * z.transpose())};
  }
  const Eigen::MatrixXd h = Coefficients(v_, input.w);
  const Eigen::MatrixXd a = h * h.transpose();
  const Eigen::MatrixXd b = v_ * h.transpose();
  if (parameters.mechanism() == "gradient")
    return {Reals("gradient", input.w * a - b, false)};
  return {Reals("A", a, true), Reals("B", b, false)};
}

absl::StatusOr<ClosedRun> FakeCurator::Close(const std::string& run_id) {
  DPNMF_RETURN_IF_ERROR(Strike(Moment::kClose, run_id, 0));
  ClosedRun closed;
  {
    MutexLock lock(&mutex_);
    RunRow& run = runs_[run_id];
    closed.returned = run.reserved;
    reserved_ = *MuSquared::Subtract(reserved_, run.reserved);
    run.reserved = MuSquared();
    run.closed = true;
    AddRow();
    closed.ledger = Position();
  }
  DPNMF_RETURN_IF_ERROR(Strike(Moment::kAfterClose, run_id, 0));
  return closed;
}

std::vector<std::pair<std::uint32_t, Eigen::MatrixXd>> FakeCurator::Requests()
    const {
  MutexLock lock(&mutex_);
  return requests_;
}

std::size_t FakeCurator::charges() const {
  MutexLock lock(&mutex_);
  return charges_.size();
}

MuSquared FakeCurator::reserved() const {
  MutexLock lock(&mutex_);
  return reserved_;
}

void FakeCurator::DropLastCharge() {
  MutexLock lock(&mutex_);
  charges_.pop_back();
}

void FakeCurator::AddForeignCharge() {
  MutexLock lock(&mutex_);
  v1::LedgerCharge charge = charges_.back();
  charge.set_sequence(++row_count_);
  charge.set_run_id("somebody else's");
  charge.set_row_hash(HashOf(row_count_));
  charges_.push_back(charge);
}

void FakeCurator::TruncateChain(std::uint64_t rows) {
  MutexLock lock(&mutex_);
  row_count_ = rows;
}

v1::RunSpecification FakeSpecification(std::uint32_t rank, std::uint32_t rounds,
                                       const std::string& mechanism) {
  v1::RunSpecification specification;
  v1::RunParameters& parameters = *specification.mutable_parameters();
  parameters.set_dataset("toy");
  parameters.set_rank(rank);
  parameters.set_rounds(rounds);
  parameters.set_epsilon(1);
  parameters.set_delta(1e-5);
  parameters.set_mechanism(mechanism);
  specification.mutable_learner()->set_seed(7);
  specification.set_hopeless(true);  // a toy is too small for any epsilon
  return specification;
}

Eigen::MatrixXd FakeData(int features, int users) {
  std::mt19937_64 generator(20240501);
  std::uniform_real_distribution<double> uniform(0, 1);
  Eigen::MatrixXd v(features, users);
  for (Eigen::Index i = 0; i < v.size(); ++i) v.data()[i] = uniform(generator);
  for (Eigen::Index n = 0; n < v.cols(); ++n) v.col(n) /= v.col(n).norm();
  return v;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "dpnmf-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dpnmf::analyst
