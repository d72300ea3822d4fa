// Bytes from the other party, below gRPC: messages of any content through the
// decoders of both sides. Refused in one sentence, or a plan, a matrix or a
// release within what was declared.
#include <cmath>
#include <limits>

#include "analyst/planning/planner.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/privacy/accounting.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/plan_refusal.h"
#include "common/wire/status.h"
#include "tests/fuzz/fuzz_target.h"

namespace dpnmf::fuzz::wire {
namespace {

// The next message, its length in front; as it stands if the bytes are none.
template <typename Message>
Message MessageOf(FuzzInput* bytes) {
  const std::string_view text = bytes->Bytes(bytes->Word() & 0xffff);
  Message message;
  if (!message.ParseFromArray(text.data(), static_cast<int>(text.size())))
    Count("no message");
  return message;
}

std::string WithLength(const google::protobuf::Message& message) {
  const std::string bytes = message.SerializeAsString();
  std::string all;
  for (int i = 0; i < 4; ++i)
    all.push_back(static_cast<char>(bytes.size() >> (8 * i)));
  return all + bytes;
}

template <typename Value>
bool Read(const std::string& what, const absl::StatusOr<Value>& value) {
  Count(what + (value.ok() ? " read" : " refused"));
  if (!value.ok()) DemandRefusal(value.status());
  return value.ok();
}

// Demands that the draws cost no more than the cap allows, whatever was asked.
void DemandSoundPlan(const RunPlan& plan, const RunParameters& parameters,
                     const DatasetFacts& facts) {
  const MuSquared most =
      LargestCost(parameters.conversion, parameters.epsilon, parameters.delta)
          .value();
  Demand(plan.cost <= most, "a plan above its epsilon");
  std::uint64_t rounds = 0;
  MuSquared total;
  for (const StagePlan& stage : plan.stages) {
    rounds += stage.rounds;
    const auto cost = CostOfDrawing(stage.parts, parameters.adjacency);
    Demand(cost.ok() && *cost == stage.cost_per_round, "a wrong price");
    const auto all = MuSquared::Multiply(*cost, stage.rounds);
    Demand(all.has_value(), "a stage without a price");
    total = MuSquared::Add(total, *all).value();
    for (const PartPlan& part : stage.parts) {
      const std::uint64_t stddev =
          std::max(part.stddev_steps, part.diagonal_stddev_steps);
      const Uint128 m = LargestEntrySteps(facts.column_bound, plan.data_bits);
      Demand(m * m * LargestUserCount(facts) + 64 * Uint128{stddev} < Uint128{1}
                                                                          << 62,
             "sums that could overflow");
      Demand(stddev >= 1 && stddev <= std::uint64_t{1} << 50,
             "noise out of range");
    }
  }
  Demand(rounds == parameters.rounds, "not the rounds asked for");
  Demand(total == plan.cost, "a plan whose stages cost otherwise");
  const auto wire = ToProto(plan, parameters, facts);
  Demand(wire.ok(), "a plan that cannot be sent");
}

void FuzzParameters(FuzzInput* bytes) {
  const auto message = MessageOf<v1::RunParameters>(bytes);
  const auto parameters = FromProto(message);
  const auto facts = FactsOf(MessageOf<v1::Dataset>(bytes));
  if (!Read("facts", facts) || !Read("parameters", parameters)) return;
  // NaN is not equal to itself.
  const auto again = FromProto(ToProto(*parameters));
  Demand(again.ok() && ToProto(*again).SerializeAsString() ==
                           ToProto(*parameters).SerializeAsString(),
         "parameters that are not read back");
  const auto plan = PlanRun(*parameters, *facts);
  if (!Read("plan", plan)) return;
  DemandSoundPlan(*plan, *parameters, *facts);
}

// The curator's replies as the analyst's planner takes them.
void FuzzPlanner(FuzzInput* bytes) {
  const auto specification = MessageOf<v1::RunSpecification>(bytes);
  const auto dataset = MessageOf<v1::Dataset>(bytes);
  const auto position = MessageOf<v1::LedgerPosition>(bytes);
  const auto planned = analyst::PlanFor(specification, dataset, position);
  if (!Read("planned run", planned)) return;
  const absl::Status refusal = RefusalOf(planned->reply);
  if (!refusal.ok()) return DemandRefusal(refusal);
  Demand(FromProto(planned->reply.plan().cost()).value() <=
             RoomOf(position).value(),
         "a run that the budget has no room for");
}

void FuzzStatus(FuzzInput* bytes) {
  const auto code = static_cast<grpc::StatusCode>(bytes->Byte() % 20);
  const std::string text(bytes->Bytes(bytes->Below(200)));
  const std::string details(bytes->Rest());
  const absl::Status status = FromGrpc(grpc::Status(code, text, details));
  Demand(status.ok() == (code == grpc::StatusCode::OK),
         "a refusal taken for an answer");
  if (status.ok()) return;
  // The peer's own code need not be one of ours.
  const std::string reason = ReasonCode(status);
  Demand(!reason.empty() && reason.size() <= 64, "a refusal without a code");
  for (const char c : status.message())
    Demand(static_cast<unsigned char>(c) >= ' ', "control characters");
  Count("status");
  const grpc::Status back = ToGrpc(status);
  Demand(!back.ok() && FromGrpc(back) == status, "a refusal not passed on");
}

// A dictionary's chunks, as the curator gathers them.
void FuzzDictionary(FuzzInput* bytes) {
  const std::uint64_t rows = 1 + bytes->Below(8), columns = 1 + bytes->Below(8);
  const auto shape = MessageOf<v1::MatrixShape>(bytes);
  auto reader = RealMatrixReader::Create(shape, rows, columns);
  if (!Read("shape", reader)) return;
  std::uint64_t held = 0;
  while (!bytes->empty() && !reader->complete()) {
    const auto chunk = MessageOf<v1::RealChunk>(bytes);
    const absl::Status added = reader->Add(chunk);
    Demand(
        added.ok() == (chunk.offset() == held && chunk.values_size() >= 1 &&
                       held + static_cast<std::uint64_t>(chunk.values_size()) <=
                           shape.rows() * shape.columns()),
        "a chunk that does not go on where the last one ended");
    if (!added.ok()) return DemandRefusal(added);
    held += static_cast<std::uint64_t>(chunk.values_size());
  }
  if (!reader->complete()) return;
  Count("dictionary read");
  const Eigen::MatrixXd w = reader->Take();
  Demand(w.rows() >= 1 && w.cols() >= 1 &&
             static_cast<std::uint64_t>(w.rows()) <= rows &&
             static_cast<std::uint64_t>(w.cols()) <= columns,
         "a dictionary larger than declared");
}

bool IsFeasible(const Eigen::MatrixXd& w) {
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    if (!(w.col(k).norm() <= 1 + 1e-12)) return false;
    for (const double entry : w.col(k))
      if (!(entry >= 0)) return false;
  }
  return true;
}

// A release's chunks as the analyst gathers and uses them.
void FuzzRelease(FuzzInput* bytes) {
  const bool is_rare = bytes->size() % 16 == 15;
  constexpr std::uint64_t kMostEntries = 256;
  constexpr std::string_view kKinds[] = {"statistics", "gradient", "mean",
                                         "moments", "objective"};
  const std::string_view kind = kKinds[bytes->Below(5)];
  const auto rows = 1 + static_cast<Eigen::Index>(bytes->Below(8));
  const auto columns = 1 + static_cast<Eigen::Index>(bytes->Below(4));
  analyst::RoundFacts facts;
  facts.round = 1 + bytes->Below(3);
  facts.rounds = 3;
  facts.moment_rows = 1 + bytes->Below(static_cast<std::uint32_t>(rows));
  facts.users = bytes->Double();
  facts.stddev_a = bytes->Double();
  facts.largest_a_norm = bytes->Double();
  facts.stddev_of_mean = bytes->Double();
  for (const char* part : {"A", "B", "G", "mean", "objective"})
    facts.noise[part] = {bytes->Double(), bytes->Double()};
  auto reader =
      ReleaseReader::Create(MessageOf<v1::ReleaseStart>(bytes), kMostEntries);
  if (!Read("release header", reader)) return;
  while (!bytes->empty() && !reader->complete()) {
    const absl::Status added =
        bytes->Bit() ? reader->Add(MessageOf<v1::LatticeChunk>(bytes))
                     : reader->Add(MessageOf<v1::RealChunk>(bytes));
    if (!added.ok()) return DemandRefusal(added);
  }
  if (!reader->complete()) return;
  const std::vector<NoisedMatrix> parts = reader->Take();
  // A fit takes as long as a thousand other inputs.
  if (kind == "moments" && !is_rare) return;
  analyst::LearnerState state;
  state.w = Eigen::MatrixXd::Constant(rows, columns, 0.1);
  const absl::Status updated =
      analyst::FindReleaseKind(kind)->update(parts, facts, &state);
  Count(std::string(kind) + (updated.ok() ? " used" : " not used"));
  if (!updated.ok()) return DemandRefusal(updated);
  Demand(state.w.rows() == rows && state.w.cols() == columns &&
             IsFeasible(state.w),
         "a dictionary that is not feasible");
}

// ------------------------------------------------------------------- seeds

v1::Dataset SomeDataset() {
  v1::Dataset dataset;
  dataset.set_name("digits");
  dataset.set_population("people");
  dataset.set_features(8);
  dataset.set_users(100);
  dataset.set_column_bound(1);
  dataset.set_max_rank(8);
  dataset.set_max_rounds(1000);
  dataset.mutable_guarantee()->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  dataset.mutable_guarantee()->set_conversion(v1::CONVERSION_RDP);
  dataset.mutable_guarantee()->set_delta(1e-5);
  return dataset;
}

v1::RunParameters SomeParameters(const std::string& mechanism) {
  RunParameters parameters;
  parameters.dataset = "digits";
  parameters.mechanism = mechanism;
  parameters.rank = 2;
  parameters.rounds = mechanism == "objective" ? 1 : 3;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  if (mechanism == "moments") parameters.moment_rows = 4;
  return ToProto(parameters);
}

// The parts of a release of the kind, of D = 4, K = 2 and M = 2.
std::vector<NoisedMatrix> SomeRelease(std::string_view kind) {
  const auto lattice = [](std::string name, std::uint64_t rows,
                          std::uint64_t columns, bool symmetric) {
    NoisedMatrix part;
    part.name = std::move(name);
    part.rows = rows;
    part.columns = columns;
    part.symmetric = symmetric;
    part.step_exponent = -20;
    part.lattice.assign(EntryCount(rows, columns, symmetric), 1 << 19);
    return part;
  };
  if (kind == "statistics")
    return {lattice("A", 2, 2, true), lattice("B", 4, 2, false)};
  if (kind == "mean") return {lattice("mean", 4, 1, false)};
  if (kind == "moments") return {lattice("G", 2, 2, true)};
  if (kind == "objective") return {lattice("objective", 1, 1, false)};
  NoisedMatrix part = lattice("gradient", 4, 2, false);
  part.is_lattice = false;
  part.lattice.clear();
  part.reals.assign(8, 0.25);
  return {part};
}

// Kind, D, K, round, M, then special doubles: users 1e6, sigma 0.5.
std::string ReleaseHead(char kind) {
  return std::string({4, kind, 3, 1, 0, 1, 23, 17, 18, 17}) +
         std::string(10, 17);
}

std::string ReleaseSeed(char kind, std::string_view name) {
  std::string seed = ReleaseHead(kind);
  v1::ReleaseStart start;
  std::string chunks;
  for (const NoisedMatrix& part : SomeRelease(name)) {
    *start.add_parts() = HeaderOf(part);
    WritePart(
        part,
        [&](const v1::LatticeChunk& chunk) {
          chunks += '\1' + WithLength(chunk);
          return true;
        },
        [&](const v1::RealChunk& chunk) {
          chunks += '\0' + WithLength(chunk);
          return true;
        });
  }
  seed += WithLength(start) + chunks;
  seed.resize((seed.size() + 15) / 16 * 16);
  return seed;
}

std::string StatusSeed() {
  v1::ErrorDetail detail;
  detail.set_code("budget-exhausted");
  const std::string text = "too much";
  return std::string({2, 8, static_cast<char>(text.size())}) + text +
         detail.SerializeAsString();
}

// 3 x 2 entries in chunks of these sizes.
std::string DictionarySeed(std::initializer_list<int> sizes) {
  v1::MatrixShape shape;
  shape.set_rows(3);
  shape.set_columns(2);
  std::string seed = std::string({3, 7, 7}) + WithLength(shape);
  std::uint64_t offset = 0;
  for (const int size : sizes) {
    v1::RealChunk chunk;
    chunk.set_offset(offset);
    for (int i = 0; i < size; ++i) chunk.add_values(0.5);
    seed += WithLength(chunk);
    offset += static_cast<std::uint64_t>(size);
  }
  return seed;
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds, own_limits;
  for (const std::string mechanism :
       {"statistics", "gradient", "moments", "objective"}) {
    seeds.push_back('\0' + WithLength(SomeParameters(mechanism)) +
                    WithLength(SomeDataset()));
    v1::RunSpecification specification;
    *specification.mutable_parameters() = SomeParameters(mechanism);
    v1::LedgerPosition position;
    position.mutable_charged()->set_units("0");
    position.mutable_reserved()->set_units("0");
    position.mutable_cap()->set_units(std::string(1 + seeds.size() * 4, '9'));
    *position.mutable_left() = position.cap();
    seeds.push_back('\1' + WithLength(specification) +
                    WithLength(SomeDataset()) + WithLength(position));
    for (auto* const units : {position.mutable_own_limit()->mutable_cap(),
                              position.mutable_own_limit()->mutable_charged(),
                              position.mutable_own_limit()->mutable_reserved()})
      units->set_units("123456789012345678");
    own_limits.push_back('\1' + WithLength(specification) +
                         WithLength(SomeDataset()) + WithLength(position));
  }
  seeds.insert(seeds.end(), own_limits.begin(), own_limits.end());
  seeds.push_back(StatusSeed());
  seeds.push_back(DictionarySeed({6}));
  seeds.push_back(DictionarySeed({2, 1, 3}));
  seeds.push_back(DictionarySeed({4, 3}));  // one too many
  seeds.push_back(DictionarySeed({7}));
  seeds.push_back(DictionarySeed({3, 0}));
  v1::ReleaseStart large;  // one entry more than is allowed
  *large.add_parts() = HeaderOf(SomeRelease("mean")[0]);
  large.mutable_parts(0)->mutable_shape()->set_rows(257);
  seeds.push_back(ReleaseHead(2) + WithLength(large));
  char kind = 0;
  for (const std::string_view name :
       {"statistics", "gradient", "mean", "moments", "objective"})
    seeds.push_back(ReleaseSeed(kind++, name));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes = {"status", "dictionary read"};
  for (const std::string what : {"facts", "parameters", "plan", "planned run",
                                 "shape", "release header"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  for (const std::string what :
       {"statistics", "gradient", "mean", "moments", "objective"}) {
    outcomes.push_back(what + " used");
    outcomes.push_back(what + " not used");
  }
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kDecoders[])(FuzzInput*) = {
      FuzzParameters, FuzzPlanner, FuzzStatus, FuzzDictionary, FuzzRelease};
  // The library writes a line for each text that is not UTF-8.
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  FuzzInput bytes(data, size);
  kDecoders[bytes.Byte() % std::size(kDecoders)](&bytes);
}

[[maybe_unused]] const bool kRegistered =
    Register({"wire", 5'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::wire
