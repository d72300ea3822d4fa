#include "tests/client/fake_analyst.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/wire/item_model_stream.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "grpcpp/server_builder.h"

namespace dpnmf::cli {
namespace {

void SetCost(double value, v1::MuSquared* cost) {
  cost->set_units(std::to_string(static_cast<std::uint64_t>(
      value * static_cast<double>(std::uint64_t{1} << 60))));
  cost->set_value(value);
}

void SetEpsilons(double rdp, v1::Epsilons* epsilons) {
  epsilons->set_delta(1e-5);
  epsilons->set_rdp(rdp);
  epsilons->set_rdp_optimal(rdp * 0.75);
  epsilons->set_gaussian(rdp * 0.5);
  epsilons->set_rdp_order(12);
  epsilons->set_rdp_optimal_order(11);
}

void SetPosition(v1::LedgerPosition* position) {
  position->set_population("digits-people");
  SetCost(0.5, position->mutable_cap());
  SetCost(0.125, position->mutable_charged());
  SetCost(0.0625, position->mutable_reserved());
  SetCost(0.3125, position->mutable_left());
  position->set_row_count(7);
  position->set_head(std::string(32, '\xab'));
}

void SetPart(const std::string& name, std::uint64_t rows, double stddev,
             double diagonal, v1::PartPlan* part) {
  part->set_name(name);
  part->mutable_shape()->set_rows(rows);
  part->mutable_shape()->set_columns(2);
  part->set_step_exponent(-40);
  part->set_stddev(stddev);
  part->set_diagonal_stddev(diagonal);
  part->set_l2_sensitivity(1.41421356237);
}

void SetPlan(v1::RunPlan* plan) {
  v1::StagePlan* stage = plan->add_stages();
  stage->set_release("statistics");
  stage->set_rounds(30);
  SetPart("A", 2, 0.0123456, 0.0174593, stage->add_parts());
  SetPart("B", 6, 0.0123456, 0, stage->add_parts());
  SetCost(0.03125, plan->mutable_cost());
  SetEpsilons(0.99995, plan->mutable_epsilons());
}

void SetSpecification(v1::RunSpecification* specification) {
  v1::RunParameters* parameters = specification->mutable_parameters();
  parameters->set_dataset("digits");
  parameters->set_rank(2);
  parameters->set_rounds(3);
  parameters->set_epsilon(1);
  parameters->set_delta(1e-5);
  parameters->set_mechanism("statistics");
  parameters->set_inner_iterations(10);
  parameters->set_share_of_a(0.5);
  parameters->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  parameters->set_conversion(v1::CONVERSION_RDP);
  specification->mutable_learner()->set_initialisation(
      v1::INITIALISATION_RANDOM);
}

grpc::Status Unknown() {
  return ToGrpc(Refusal(absl::StatusCode::kNotFound, "run-unknown",
                        "There is no such run."));
}

}  // namespace

v1::Dataset SampleDataset(const std::string& name) {
  v1::Dataset dataset;
  dataset.set_name(name);
  dataset.set_population(name + "-people");
  dataset.set_features(6);
  dataset.set_users(100);
  dataset.set_normalisation(v1::NORMALISATION_L2);
  dataset.set_column_bound(1);
  dataset.set_max_rank(1024);
  dataset.set_max_rounds(1000);
  v1::Guarantee* guarantee = dataset.mutable_guarantee();
  guarantee->set_adjacency(v1::ADJACENCY_REPLACE_ONE);
  guarantee->set_conversion(v1::CONVERSION_RDP);
  guarantee->set_epsilon(4);
  guarantee->set_delta(1e-5);
  SetCost(0.5, guarantee->mutable_cap());
  return dataset;
}

v1::Run SampleRun(const std::string& run_id) {
  v1::Run run;
  run.set_run_id(run_id);
  SetSpecification(run.mutable_specification());
  run.set_state(v1::RUN_STATE_COMPLETED);
  run.set_rounds_done(3);
  SetCost(0.03125, run.mutable_charged());
  SetEpsilons(0.99995, run.mutable_spent());
  SetPlan(run.mutable_plan());
  run.set_created_unix_seconds(1'700'000'000);
  run.set_updated_unix_seconds(1'700'000'030);
  run.set_started_by("dns:client.example");
  return run;
}

v1::RunEvent SampleEvent(std::uint64_t cursor) {
  v1::RunEvent event;
  event.set_cursor(cursor);
  event.set_state(cursor < 3 ? v1::RUN_STATE_RUNNING : v1::RUN_STATE_COMPLETED);
  event.set_round(static_cast<std::uint32_t>(cursor));
  event.set_rounds(3);
  SetEpsilons(0.333333 * static_cast<double>(cursor), event.mutable_spent());
  SetPosition(event.mutable_position());
  event.set_largest_run(3.123456);
  event.set_round_seconds(0.5);
  event.set_relative_change(0.0456789);
  return event;
}

v1::PlanRunReply SamplePlan() {
  v1::PlanRunReply reply;
  SetPlan(reply.mutable_plan());
  *reply.mutable_guarantee() = SampleDataset("digits").guarantee();
  SetPosition(reply.mutable_position());
  SetCost(0.28125, reply.mutable_left_after());
  SetEpsilons(2.5, reply.mutable_epsilons_after());
  SetSpecification(reply.mutable_specification());
  return reply;
}

v1::GetBudgetReply SampleBudget() {
  v1::GetBudgetReply reply;
  *reply.mutable_guarantee() = SampleDataset("digits").guarantee();
  SetPosition(reply.mutable_record());
  SetCost(0.125, reply.mutable_own_charged());
  reply.set_own_charge_count(4);
  SetCost(0.125, reply.mutable_mirror()->mutable_charged());
  reply.mutable_mirror()->set_charge_count(4);
  reply.mutable_mirror()->set_row_count(7);
  reply.mutable_mirror()->set_head(reply.record().head());
  reply.set_agree(true);
  SetEpsilons(4, reply.mutable_cap_epsilons());
  SetEpsilons(1.75, reply.mutable_charged_epsilons());
  SetEpsilons(1.75, reply.mutable_own_epsilons());
  for (const double order : {2.0, 16.0}) {
    v1::RdpPoint* point = reply.add_rdp_curve();
    point->set_order(order);
    point->set_epsilon(order * 0.0625);
  }
  reply.set_largest_run(1.899999);
  return reply;
}

FakeAnalyst::FakeAnalyst()
    : plan(SamplePlan()),
      budget(SampleBudget()),
      runs({SampleRun(kRunId)}),
      model(Eigen::MatrixXd::Constant(6, 2, 0.25)),
      events({SampleEvent(1), SampleEvent(2), SampleEvent(3)}),
      after_event([](int, std::uint64_t) { return grpc::Status::OK; }) {
  // The rounds are those of its stages, so it is another model than that of the
  // run.
  plan.mutable_specification()->mutable_parameters()->set_rounds(30);
  *datasets.add_datasets() = SampleDataset("digits");
  datasets.set_version("0.1.0");
}

grpc::Status FakeAnalyst::ListDatasets(grpc::ServerContext*,
                                       const v1::ListDatasetsRequest*,
                                       v1::ListDatasetsReply* reply) {
  *reply = datasets;
  return unavailable;
}

grpc::Status FakeAnalyst::PlanRun(grpc::ServerContext*,
                                  const v1::PlanRunRequest* request,
                                  v1::PlanRunReply* reply) {
  last_specification = request->specification();
  *reply = plan;
  return planned;
}

grpc::Status FakeAnalyst::StartRun(
    grpc::ServerContext*, grpc::ServerReader<v1::StartRunRequest>* reader,
    v1::Run* run) {
  for (v1::StartRunRequest request; reader->Read(&request);) {
    if (request.has_specification())
      last_specification = request.specification();
    for (const double value : request.dictionary().values())
      last_dictionary.push_back(value);
  }
  if (on_start) on_start();
  *run = runs[0];
  if (started.has_value()) {
    *run = *started;
    runs.push_back(*run);
  }
  run->set_state(v1::RUN_STATE_QUEUED);
  run->set_rounds_done(0);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::WatchRun(grpc::ServerContext*,
                                   const v1::WatchRunRequest* request,
                                   grpc::ServerWriter<v1::RunEvent>* writer) {
  watch_cursors.push_back(request->cursor());
  const int attempt = static_cast<int>(watch_cursors.size());
  std::uint64_t sent = 0;
  const std::vector<v1::RunEvent> now = events;
  for (const v1::RunEvent& event : now) {
    if (event.cursor() <= request->cursor()) continue;
    const grpc::Status status = after_event(attempt, sent);
    if (!status.ok()) return status;
    writer->Write(event);
    ++sent;
  }
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::GetRun(grpc::ServerContext*,
                                 const v1::GetRunRequest* request,
                                 v1::Run* run) {
  for (const v1::Run& known : runs) {
    if (known.run_id() != request->run_id()) continue;
    *run = known;
    return grpc::Status::OK;
  }
  return Unknown();
}

grpc::Status FakeAnalyst::ListRuns(grpc::ServerContext*,
                                   const v1::ListRunsRequest*,
                                   v1::ListRunsReply* reply) {
  for (const v1::Run& run : runs) *reply->add_runs() = run;
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::CancelRun(grpc::ServerContext*,
                                    const v1::CancelRunRequest* request,
                                    v1::Run* run) {
  cancelled = request->run_id();
  *run = SampleRun(cancelled);
  run->set_state(v1::RUN_STATE_CANCELLING);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::ForgetRun(grpc::ServerContext* context,
                                    const v1::ForgetRunRequest* request,
                                    v1::ForgetRunReply* reply) {
  forgotten = request->run_id();
  const auto trace = context->client_metadata().find("traceparent");
  if (trace != context->client_metadata().end())
    traceparent = std::string(trace->second.data(), trace->second.size());
  reply->set_run_id(forgotten);
  reply->set_charge_count(30);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::RefitRun(
    grpc::ServerContext*, grpc::ServerReader<v1::RefitRunRequest>* reader,
    v1::Run* run) {
  if (!knows_refits) return Service::RefitRun(nullptr, reader, run);
  v1::Refit refit;
  for (v1::RefitRunRequest request; reader->Read(&request);) {
    if (request.has_refit()) refit = request.refit();
    for (const double value : request.dictionary().values())
      last_dictionary.push_back(value);
  }
  if (runs.size() >= most_runs) {
    // Whoever waits finds that one of them has ended.
    ++most_runs;
    return ToGrpc(Refusal(absl::StatusCode::kFailedPrecondition,
                          "too-many-runs", "Too many."));
  }
  refits.push_back(refit);
  *run = SampleRun(absl::StrCat(std::string(30, 'c'), 10 + refits.size()));
  run->set_parent(refit.run_id());
  run->mutable_specification()->mutable_parameters()->set_rank(refit.rank());
  runs.push_back(*run);
  run->set_state(v1::RUN_STATE_QUEUED);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::GetRelease(
    grpc::ServerContext*, const v1::GetReleaseRequest* request,
    grpc::ServerWriter<v1::ReleaseReply>* writer) {
  last_release = *request;
  const std::vector<v1::ReleaseReply> messages = release;
  for (const v1::ReleaseReply& message : messages) writer->Write(message);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::AddRelease(
    grpc::ServerContext*, grpc::ServerReader<v1::ReleaseReply>* reader,
    v1::Run* run) {
  for (v1::ReleaseReply message; reader->Read(&message);)
    added.push_back(message);
  *run = SampleRun(kRunId);
  run->set_added(true);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::GetReceipts(grpc::ServerContext*,
                                      const v1::GetReceiptsRequest*,
                                      grpc::ServerWriter<v1::Receipt>* writer) {
  const std::vector<v1::Receipt> now = receipts;
  for (const v1::Receipt& receipt : now) writer->Write(receipt);
  return grpc::Status::OK;
}

// Stable up to rank 3.
grpc::Status FakeAnalyst::ChooseRank(
    grpc::ServerContext*, const v1::ChooseRankRequest* request,
    grpc::ServerWriter<v1::ChooseRankReply>* writer) {
  v1::ChooseRankReply reply;
  reply.set_progress(0.5);
  writer->Write(reply);
  std::vector<std::uint32_t> ranks(request->ranks().begin(),
                                   request->ranks().end());
  if (ranks.empty()) ranks = ranks_by_itself;
  for (const std::uint32_t rank : ranks) {
    v1::RankFacts& facts = *reply.mutable_facts();
    facts.set_rank(rank);
    facts.set_stability(rank <= 3 ? 1 : 0.5);
    facts.set_stable_parts(std::min(rank, 3u));
    facts.set_held_out(0.25 * request->seeds());
    facts.set_explained(0.75);
    writer->Write(reply);
  }
  // The first words are those of the first rows.
  for (const std::uint32_t rank : ranks) {
    if (request->words() == 0 || !sends_words) break;
    v1::RankWords& words = *reply.mutable_words();
    words.Clear();
    words.set_rank(rank);
    for (std::uint32_t k = 0; k < rank; ++k) {
      v1::RankWords::Part& part = *words.add_parts();
      part.add_rows(0);
      part.add_rows(rank == 2 ? 1 : 2);
    }
    writer->Write(reply);
  }
  reply.mutable_choice()->set_rank(3);
  reply.mutable_choice()->set_expected(2);
  reply.mutable_choice()->set_sentence("3 parts are stable; more are noise.");
  writer->Write(reply);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::Synthesise(
    grpc::ServerContext*, const v1::SynthesiseRequest* request,
    grpc::ServerWriter<v1::SynthesiseReply>* writer) {
  last_synthesise = *request;
  const std::vector<v1::SynthesiseReply> replies = people;
  for (const v1::SynthesiseReply& reply : replies) writer->Write(reply);
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::GetModel(grpc::ServerContext*,
                                   const v1::GetModelRequest* request,
                                   grpc::ServerWriter<v1::ModelReply>* writer) {
  v1::ModelReply reply;
  const auto found = models.find(request->run_id());
  const Eigen::MatrixXd w = found == models.end() ? model : found->second;
  const auto item_model =
      request->non_negative() && non_negative_items.has_value()
          ? non_negative_items
          : items;
  const auto feature_names = names;
  const auto feature_weights = weights;
  reply.mutable_header()->mutable_shape()->set_rows(
      static_cast<std::uint64_t>(w.rows()));
  reply.mutable_header()->mutable_shape()->set_columns(
      static_cast<std::uint64_t>(w.cols()));
  reply.mutable_header()->set_rounds_done(3);
  reply.mutable_header()->set_state(v1::RUN_STATE_COMPLETED);
  if (model_dataset.has_value())
    *reply.mutable_header()->mutable_dataset() = *model_dataset;
  if (item_model.has_value()) {
    *reply.mutable_header()->mutable_item_model() = HeaderOf(*item_model);
    writer->Write(reply);
    WriteItemModel(*item_model, [&](const v1::ModelReply& part) {
      return writer->Write(part);
    });
    return grpc::Status::OK;
  }
  writer->Write(reply);
  if (request->feature_names()) {
    WriteItemPages(
        feature_names, {},
        [&](v1::ListItemsReply&& page) {
          *reply.mutable_items() = std::move(page);
          return writer->Write(reply);
        },
        feature_weights);
  }
  WriteChunks(w, [&](const v1::RealChunk& chunk) {
    *reply.mutable_dictionary() = chunk;
    return writer->Write(reply);
  });
  if (request->parts()) {
    for (Eigen::Index k = 0; k < w.cols(); ++k) {
      v1::PartFacts& part = *reply.mutable_parts()->add_parts();
      part.set_explained(k == 0 ? 0.5 : 0.25);
      part.set_reliability(k == 0 ? 0.95 : 0.5);
      part.set_noise(k != 0);
    }
    writer->Write(reply);
  }
  if (!request->standard_errors()) return grpc::Status::OK;
  const Eigen::MatrixXd errors =
      Eigen::MatrixXd::Constant(w.rows(), w.cols(), 0.125);
  WriteChunks(errors, [&](const v1::RealChunk& chunk) {
    *reply.mutable_standard_errors() = chunk;
    return writer->Write(reply);
  });
  return grpc::Status::OK;
}

grpc::Status FakeAnalyst::GetBudget(grpc::ServerContext*,
                                    const v1::GetBudgetRequest* request,
                                    v1::GetBudgetReply* reply) {
  *reply = budget;
  return budget_status[request->dataset()];
}

FakeServer::FakeServer() {
  grpc::ServerBuilder builder;
  builder.RegisterService(&analyst);
  server_ = builder.BuildAndStart();
}

FakeServer::~FakeServer() {
  // Calls under way are ended rather than waited for.
  server_->Shutdown(std::chrono::system_clock::now());
}

std::shared_ptr<grpc::Channel> FakeServer::Channel() {
  return server_->InProcessChannel(grpc::ChannelArguments());
}

}  // namespace dpnmf::cli
