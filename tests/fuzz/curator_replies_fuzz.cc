// A curator that answers anything: the analyst's client, its planner, its
// budget readings and its mechanisms take what comes. A reply that is not the
// protocol's is an error with a code; memory is that of the plan.
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "analyst/curators/curator_client.h"
#include "analyst/curators/receipt_check.h"
#include "analyst/planning/budget.h"
#include "analyst/planning/planner.h"
#include "analyst/store/run_store.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/log/log.h"
#include "common/wire/convert.h"
#include "common/wire/item_pages.h"
#include "common/wire/matrix_stream.h"
#include "dpnmf/v1/analyst.pb.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::curator_replies {
namespace {

constexpr int kFeatures = 4, kRank = 2;

// First bytes from this one on are followed by a page of items.
constexpr int kWithItems = 238;

// Answers of the curator, the same for any request.
struct Script {
  std::vector<v1::TrainReply> replies;
  v1::ListDatasetsReply datasets;
  v1::GetLedgerReply ledger;
  v1::ListItemsReply items;
  grpc::Status end;
};

class ScriptedCurator final : public v1::CuratorService::Service {
 public:
  // Streams that are still being ended keep theirs.
  void Play(Script script) {
    const std::lock_guard<std::mutex> lock(mutex_);
    script_ = std::make_shared<const Script>(std::move(script));
  }

  grpc::Status Train(grpc::ServerContext*,
                     grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>*
                         stream) override {
    const auto script = Current();
    if (!ReadRequest(stream)) return script->end;
    for (const v1::TrainReply& reply : script->replies) {
      if (!stream->Write(reply)) break;
      // After these the analyst asks for more, or has gone away.
      const bool is_last =
          reply.has_opened() || reply.has_end() || reply.has_lost();
      if (is_last && !ReadRequest(stream)) break;
    }
    return script->end;
  }

  grpc::Status ListDatasets(grpc::ServerContext*,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override {
    *reply = Current()->datasets;
    return grpc::Status::OK;
  }

  grpc::Status ListItems(grpc::ServerContext*, const v1::ListItemsRequest*,
                         v1::ListItemsReply* reply) override {
    *reply = Current()->items;
    return grpc::Status::OK;
  }

  // A few pages, then the status: the analyst's own limit is too far off.
  grpc::Status GetLedger(grpc::ServerContext*, const v1::GetLedgerRequest*,
                         v1::GetLedgerReply* reply) override {
    const auto script = Current();
    if (++pages_ % 4 == 0) return script->end;
    *reply = script->ledger;
    return grpc::Status::OK;
  }

 private:
  // One request: the dictionary of a round is in one chunk.
  static bool ReadRequest(
      grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>* stream) {
    v1::TrainRequest request;
    if (!stream->Read(&request)) return false;
    return !request.round().has_shape() || stream->Read(&request);
  }

  std::shared_ptr<const Script> Current() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return script_;
  }

  std::mutex mutex_;
  std::shared_ptr<const Script> script_;
  std::atomic<int> pages_{0};
};

// One of each for the process.
struct World {
  World() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&curator);
    server = builder.BuildAndStart();
    connection = analyst::ConnectCurator(server->InProcessChannel({}),
                                         std::chrono::seconds(20));
    store = analyst::RunStore::Open(files.directory() + "/analyst").value();
  }
  ~World() {
    connection.reset();
    server->Shutdown();
  }

  const OneFile files;
  ScriptedCurator curator;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<analyst::CuratorConnection> connection;
  std::unique_ptr<analyst::RunStore> store;
};

// Refusals that the analyst makes have documented codes; what the peer sends
// has any.
void DemandCode(const absl::Status& refusal) {
  const std::string code = ReasonCode(refusal);
  Demand(!refusal.ok() && !code.empty() && code.size() <= 64,
         "a refusal without a code: " + refusal.ToString());
  for (const char c : refusal.message())
    Demand(static_cast<unsigned char>(c) >= ' ', "control characters");
  v1::RunEvent event;
  event.set_message(std::string(refusal.message()));
  Demand(event.ParseFromString(event.SerializeAsString()),
         "a sentence that cannot be stored");
}

template <typename Value>
bool Read(const std::string& what, const absl::StatusOr<Value>& value) {
  Count(what + (value.ok() ? " read" : " refused"));
  if (!value.ok()) DemandCode(value.status());
  return value.ok();
}

// ------------------------------------------------------ bytes to a script

template <typename Message>
bool Merge(FuzzInput* bytes, Message* message) {
  const std::string_view text = bytes->Bytes(bytes->Below(96));
  Message any;
  if (!any.ParseFromArray(text.data(), static_cast<int>(text.size())))
    return false;
  message->MergeFrom(any);
  return true;
}

std::string HashOf(FuzzInput* bytes) {
  return std::string(bytes->Byte() < 240 ? 32 : bytes->Byte(), 'h');
}

std::string CostOf(FuzzInput* bytes) {
  constexpr const char* kCosts[] = {
      "0",  "1152921504606846976",
      "",   "-1",
      "01", "1329227995784915872903807060280344575",
      "x",  "1329227995784915872903807060280344576"};
  const std::uint8_t choice = bytes->Byte();
  return kCosts[choice < 192 ? choice % 2 : choice % 8];
}

v1::LedgerPosition PositionOf(FuzzInput* bytes) {
  v1::LedgerPosition position;
  position.set_population("people");
  position.set_row_count(bytes->Byte());
  position.set_head(HashOf(bytes));
  position.mutable_charged()->set_units(CostOf(bytes));
  position.mutable_reserved()->set_units(CostOf(bytes));
  position.mutable_cap()->set_units(CostOf(bytes));
  *position.mutable_left() = position.cap();
  return position;
}

v1::PartPlan PlannedPart(const char* name, std::uint64_t rows,
                         std::uint64_t columns) {
  v1::PartPlan part;
  part.set_name(name);
  part.mutable_shape()->set_rows(rows);
  part.mutable_shape()->set_columns(columns);
  part.set_layout(v1::LAYOUT_FULL);
  return part;
}

v1::RunPlan PlanOf(FuzzInput* bytes) {
  v1::RunPlan plan;
  v1::StagePlan& stage = *plan.add_stages();
  stage.set_release("mean");
  stage.set_rounds(2);
  *stage.add_parts() = PlannedPart("mean", kFeatures, 1);
  if (bytes->Byte() >= 224) {
    stage.mutable_parts(0)->mutable_shape()->set_rows(bytes->LongWord());
    stage.mutable_parts(0)->mutable_shape()->set_columns(bytes->LongWord());
  }
  if (bytes->Byte() >= 224) Merge(bytes, &plan);
  return plan;
}

v1::ReleaseStart ReleaseOf(FuzzInput* bytes) {
  v1::ReleaseStart start;
  start.set_round(1 + bytes->Byte() / 200);
  for (int left = bytes->Byte() % 4; left > 0; --left) {
    constexpr const char* kNames[] = {"A", "B", "gradient", "mean", "G"};
    v1::ReleasedPart& part = *start.add_parts();
    part.set_name(kNames[bytes->Below(5)]);
    part.mutable_shape()->set_rows(bytes->Byte() < 240 ? bytes->Byte() % 5
                                                       : bytes->LongWord());
    part.mutable_shape()->set_columns(bytes->Byte() < 240 ? bytes->Byte() % 5
                                                          : bytes->LongWord());
    part.set_layout(static_cast<v1::Layout>(bytes->Byte() % 4));
    part.set_lattice(bytes->Bit());
    part.set_step_exponent(bytes->Byte() - 128);
  }
  return start;
}

template <typename Outcome>
void SetOutcome(FuzzInput* bytes, Outcome* outcome) {
  outcome->set_round(1 + bytes->Byte() / 200);
  outcome->mutable_charged()->set_units(CostOf(bytes));
  outcome->set_row_hash(HashOf(bytes));
  *outcome->mutable_ledger() = PositionOf(bytes);
}

v1::TrainReply ReplyOf(FuzzInput* bytes) {
  v1::TrainReply reply;
  switch (bytes->Byte() % 8) {
    case 0:
      *reply.mutable_opened()->mutable_plan() = PlanOf(bytes);
      reply.mutable_opened()->set_next_round(bytes->Byte());
      reply.mutable_opened()->set_users(bytes->Byte());
      *reply.mutable_opened()->mutable_ledger() = PositionOf(bytes);
      break;
    case 1:
      *reply.mutable_release() = ReleaseOf(bytes);
      break;
    case 2: {
      v1::LatticeChunk& chunk = *reply.mutable_lattice();
      chunk.set_offset(bytes->Byte() < 240 ? 0 : bytes->LongWord());
      for (int left = bytes->Byte() % 24; left > 0; --left)
        chunk.add_values(bytes->Byte() < 240
                             ? bytes->Byte()
                             : static_cast<std::int64_t>(bytes->LongWord()));
      break;
    }
    case 3: {
      v1::RealChunk& chunk = *reply.mutable_real();
      chunk.set_offset(bytes->Byte() < 240 ? 0 : bytes->LongWord());
      for (int left = bytes->Byte() % 24; left > 0; --left)
        chunk.add_values(bytes->Double());
      break;
    }
    case 4:
      SetOutcome(bytes, reply.mutable_end());
      break;
    case 5:
      SetOutcome(bytes, reply.mutable_lost());
      break;
    case 6:
      reply.mutable_closed()->mutable_returned()->set_units(CostOf(bytes));
      *reply.mutable_closed()->mutable_ledger() = PositionOf(bytes);
      break;
    default:
      Merge(bytes, &reply);
  }
  return reply;
}

v1::GetLedgerReply LedgerOf(FuzzInput* bytes) {
  v1::GetLedgerReply ledger;
  ledger.mutable_guarantee()->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  ledger.mutable_guarantee()->set_conversion(v1::CONVERSION_RDP);
  ledger.mutable_guarantee()->set_delta(bytes->Byte() < 192 ? 1e-5
                                                            : bytes->Double());
  ledger.mutable_guarantee()->mutable_cap()->set_units(CostOf(bytes));
  *ledger.mutable_position() = PositionOf(bytes);
  ledger.mutable_own_charged()->set_units(CostOf(bytes));
  if (const std::string here = CostOf(bytes); here != "0")
    ledger.mutable_own_charged_here()->set_units(here);
  for (int left = bytes->Byte() % 3; left > 0; --left) {
    v1::LedgerCharge& charge = *ledger.add_own_charges();
    charge.set_sequence(bytes->Byte());
    charge.set_run_id(std::string(bytes->Bytes(4)));
    charge.mutable_charged()->set_units(CostOf(bytes));
    charge.set_row_hash(HashOf(bytes));
  }
  ledger.set_own_charge_count(bytes->Byte() % 4);
  ledger.set_more(bytes->Bit());
  if (bytes->Byte() >= 224) Merge(bytes, &ledger);
  return ledger;
}

v1::ListDatasetsReply DatasetsOf(FuzzInput* bytes) {
  v1::ListDatasetsReply reply;
  v1::Dataset& dataset = *reply.add_datasets();
  dataset.set_name("digits");
  dataset.set_population("people");
  dataset.set_features(kFeatures);
  dataset.set_users(100);
  dataset.set_column_bound(1);
  dataset.set_max_rank(4);
  dataset.set_max_rounds(100);
  dataset.mutable_guarantee()->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  dataset.mutable_guarantee()->set_conversion(v1::CONVERSION_RDP);
  dataset.mutable_guarantee()->set_delta(1e-5);
  if (bytes->Byte() >= 192) Merge(bytes, &dataset);
  return reply;
}

// kFeatures items with a feature each, or something like it.
v1::ListItemsReply ItemsOf(FuzzInput* bytes) {
  v1::ListItemsReply page;
  page.add_feature_names("year");
  for (int left = bytes->Byte() % 8; left > 0; --left) {
    v1::Item& item = *page.add_items();
    item.set_id(std::string(bytes->Bytes(1 + bytes->Byte() % 4)));
    item.set_name(std::string(bytes->Bytes(bytes->Byte() % 4)));
    item.add_features(bytes->Byte() < 224 ? bytes->Byte() : bytes->Double());
  }
  page.set_more(bytes->Byte() >= 192);
  if (bytes->Byte() >= 224) Merge(bytes, &page);
  return page;
}

Script ScriptOf(FuzzInput* bytes) {
  Script script;
  const std::uint8_t first = bytes->Byte();
  const auto code = static_cast<grpc::StatusCode>(first % 17);
  if (first >= kWithItems) script.items = ItemsOf(bytes);
  const std::string text(bytes->Bytes(bytes->Below(8)));
  script.end =
      grpc::Status(code, text, std::string(bytes->Bytes(bytes->Below(24))));
  script.datasets = DatasetsOf(bytes);
  script.ledger = LedgerOf(bytes);
  while (!bytes->empty() && script.replies.size() < 12)
    script.replies.push_back(ReplyOf(bytes));
  return script;
}

// ---------------------------------------------------------- the analyst

void UseRelease(const analyst::RoundResult& result, bool with_dictionary) {
  analyst::RoundFacts facts;
  facts.moment_rows = kFeatures;
  facts.users = 100;
  for (const char* name : {"statistics", "gradient", "mean"}) {
    analyst::LearnerState state;
    state.w = Eigen::MatrixXd::Constant(kFeatures, kRank, 0.1);
    const absl::Status used =
        analyst::FindReleaseKind(name)->update(result.parts, facts, &state);
    if (!used.ok()) DemandRefusal(used);
    if (used.ok()) Count(std::string(name) + " used");
    Demand(state.w.allFinite(), "a dictionary that is not finite");
  }
  std::uint64_t entries = 0;
  for (const NoisedMatrix& part : result.parts)
    entries += part.lattice.size() + part.reals.size();
  const std::uint64_t most = with_dictionary ? kFeatures * kRank + kRank * kRank
                                             : std::uint64_t{1} << 28;
  Demand(entries <= most, "more entries than the request can have");
}

void Train(World* world) {
  const auto stream = world->connection->NewStream();
  const auto opened = stream->Open(std::string(32, 'a'), v1::RunParameters());
  if (!Read("opened", opened)) return;
  const absl::Status announced =
      analyst::CheckAnnouncedKey("digits", *opened, world->store.get());
  if (!announced.ok()) DemandRefusal(announced);
  for (const bool with_dictionary : {false, true}) {
    RoundInput input;
    if (with_dictionary)
      input.w = Eigen::MatrixXd::Constant(kFeatures, kRank, 0.1);
    const auto result = stream->Round(with_dictionary ? 2 : 1, input);
    if (!Read("round", result)) return;
    if (result->lost) Count("round lost");
    const std::uint32_t round = with_dictionary ? 2 : 1;
    const absl::Status receipted = analyst::CheckRoundReceipt(
        {std::string(32, 'a'), "digits", round}, *result, world->store.get());
    if (!receipted.ok()) DemandRefusal(receipted);
    UseRelease(*result, with_dictionary);
  }
  Read("closed", stream->Close());
}

void PlanAndBudget(World* world) {
  v1::RunSpecification specification;
  specification.mutable_parameters()->set_dataset("digits");
  specification.mutable_parameters()->set_mechanism("statistics");
  specification.mutable_parameters()->set_rank(kRank);
  specification.mutable_parameters()->set_epsilon(1);
  specification.mutable_parameters()->set_delta(1e-5);
  Read("plan",
       analyst::PlanWithCurator(specification, world->connection.get()));
  Read("budget", analyst::ReadBudget("digits", world->connection.get(),
                                     world->store.get()));
}

// The pages that there are, as a learner takes them.
void Items(World* world) {
  ItemPagesReader reader(kFeatures, 1);
  while (!reader.complete()) {
    const auto page = world->connection->ListItems("digits", reader.next());
    if (!Read("items", page)) return;
    const std::uint64_t held = reader.next();
    const absl::Status added = reader.Add(*page);
    if (!added.ok()) {
      Count("items malformed");
      return DemandRefusal(added);
    }
    Demand(reader.next() > held, "a page that brings nothing");
  }
  const ItemList items = reader.Take();
  Count("items complete");
  Demand(items.ids.size() == kFeatures && items.names.size() == kFeatures &&
             items.feature_names.size() == 1 &&
             items.features.rows() == kFeatures && items.features.allFinite(),
         "a list of items that is not whole");
}

std::string Repeated(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

std::vector<std::string> FuzzSeeds() {
  const std::string position = Repeated({3, 0, 0, 0, 1});
  // No status; the usual data set; a ledger without rows, cap 1.
  const std::string head =
      Repeated({0, 0, 0, 0, 0, 1}) + position + Repeated({0, 0, 0, 0, 0, 0});
  const std::string opened = Repeated({0, 0, 0, 1, 100}) + position;
  const auto outcome = [&](int kind, int round) {
    return Repeated({kind, round == 2 ? 200 : 0, 0, 0}) + position;
  };
  // "mean", kFeatures x 1, full, lattice, step 2^-20; its chunk.
  const std::string mean =
      Repeated({1, 0, 1, 3, 0, 4, 0, 1, 1, 1, 108, 2, 0, 4}) +
      Repeated({0, 9, 0, 8, 0, 7, 0, 6}) + outcome(4, 1);
  // "A" upper 2 x 2 and "B" 4 x 2 for round 2.
  const std::string statistics =
      Repeated({1, 200, 2, 0, 0, 2, 0, 2, 2, 1, 108,  //
                1, 0, 4, 0, 2, 1, 1, 108}) +
      Repeated({2, 0, 3, 0, 9, 0, 1, 0, 8}) +
      Repeated({2, 0, 8, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}) +
      outcome(4, 2);
  // "gradient", 4 x 2, real.
  const std::string gradient =
      Repeated({1, 200, 1, 2, 0, 4, 0, 2, 1, 0, 128, 3, 0, 8}) +
      std::string(8, 17) + outcome(4, 2);
  const std::string closed = Repeated({6, 0}) + position;
  return {head + opened + mean + statistics + closed,
          head + opened + mean + gradient + closed,
          head + opened + outcome(5, 1) + statistics + closed,
          head + opened + outcome(5, 1) + outcome(5, 2) + closed,
          // Four items; two of them with one id.
          Repeated({kWithItems, 4, 0, 'a', 0, 0,   1,   0, 'b', 1, 'B', 0, 2, 0,
                    'c',        0, 0, 3,   1, 'd', 'd', 0, 0,   4, 0,   0}),
          Repeated({kWithItems, 4,   0, 'a', 0, 0, 1,   0, 'a', 0, 0, 2,
                    0,          'c', 0, 0,   3, 0, 'd', 0, 0,   4, 0, 0}),
          // A refusal, no code.
          Repeated({8, 3}) + "all" + Repeated({0, 0, 0, 1}) + position +
              Repeated({0, 0, 1, 1, 'r', 'u', 'n', '1', 0, 0, 1, 1, 0})};
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes = {"round lost", "statistics used",
                                       "gradient used", "mean used"};
  outcomes.insert(outcomes.end(),
                  {"items read", "items malformed", "items complete"});
  for (const std::string what :
       {"opened", "round", "closed", "plan", "budget"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  SetLogLevel("off");
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  static World world;
  FuzzInput bytes(data, size);
  world.curator.Play(ScriptOf(&bytes));
  Train(&world);
  PlanAndBudget(&world);
  Items(&world);
}

[[maybe_unused]] const bool kRegistered =
    Register({"curator_replies", 3'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::curator_replies
