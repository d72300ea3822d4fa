// An AnalystService without a learner: it answers with what a test put in.
#ifndef DPNMF_TESTS_CLIENT_FAKE_ANALYST_H_
#define DPNMF_TESTS_CLIENT_FAKE_ANALYST_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "common/ratings/model_file.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/server.h"

namespace dpnmf::cli {

inline constexpr char kRunId[] = "3f9a0123456789abcdef0123456789ab";

// D = 6, N = 100, cap epsilon 4 at delta 1e-5 under rdp.
v1::Dataset SampleDataset(const std::string& name);
// A completed run of 3 rounds on "digits", rank 2.
v1::Run SampleRun(const std::string& run_id);
// Event `cursor` of that run: round `cursor` of 3.
v1::RunEvent SampleEvent(std::uint64_t cursor);
v1::PlanRunReply SamplePlan();
v1::GetBudgetReply SampleBudget();

// Fields are set before the calls and read after them, by one thread. A stream
// that its client gives up may still be written then: calls stream copies.
class FakeAnalyst final : public v1::AnalystService::Service {
 public:
  FakeAnalyst();

  v1::ListDatasetsReply datasets;
  v1::PlanRunReply plan;
  v1::GetBudgetReply budget;
  std::map<std::string, grpc::Status> budget_status;  // by data set; else OK
  std::vector<v1::Run> runs;
  Eigen::MatrixXd model;
  // Data set of the model; if not set, the server does not keep it.
  std::optional<v1::Dataset> model_dataset;
  // By run; of one that is not here, `model`.
  std::map<std::string, Eigen::MatrixXd> models;
  std::vector<std::string> names;       // of the rows of `model`
  std::vector<double> weights;          // the same; may be empty
  std::optional<NamedItemModel> items;  // of a run on ratings
  // Sent in its place where GetModelRequest.non_negative is set; not set: a
  // server that knows no such field.
  std::optional<NamedItemModel> non_negative_items;
  std::vector<v1::RunEvent> events;
  std::vector<v1::Receipt> receipts;
  // Replies of Synthesise, and its last request.
  std::vector<v1::SynthesiseReply> people;
  v1::SynthesiseRequest last_synthesise;
  grpc::Status unavailable;  // what ListDatasets ends with
  grpc::Status planned;      // what PlanRun ends with
  // Called after `sent` events of a stream (attempts count from 1); OK
  // continues the stream, another status ends it.
  std::function<grpc::Status(int attempt, std::uint64_t sent)> after_event;

  // Refits that RefitRun made, each with a run in `runs`; if there are
  // `most_runs`, the next call is refused, once.
  std::vector<v1::Refit> refits;
  std::size_t most_runs = 100;
  bool knows_refits = true;  // else as a server without the call
  bool sends_words = true;   // that ChooseRank asks for
  std::vector<std::uint32_t> ranks_by_itself;  // if ChooseRank names none
  // Messages that GetRelease sends, and messages that AddRelease received.
  std::vector<v1::ReleaseReply> release, added;
  v1::GetReleaseRequest last_release;

  // Run that StartRun starts; if not set, the first of `runs`.
  std::optional<v1::Run> started;
  std::function<void()> on_start;  // called by StartRun, if it is set
  v1::RunSpecification last_specification;
  std::vector<double> last_dictionary;
  std::vector<std::uint64_t> watch_cursors;  // of each WatchRun
  std::string cancelled;
  std::string forgotten;    // the run of the last ForgetRun
  std::string traceparent;  // of the last ForgetRun

  grpc::Status ListDatasets(grpc::ServerContext*,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override;
  grpc::Status PlanRun(grpc::ServerContext*, const v1::PlanRunRequest* request,
                       v1::PlanRunReply* reply) override;
  grpc::Status StartRun(grpc::ServerContext*,
                        grpc::ServerReader<v1::StartRunRequest>* reader,
                        v1::Run* run) override;
  grpc::Status WatchRun(grpc::ServerContext* context,
                        const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::RunEvent>* writer) override;
  grpc::Status GetRun(grpc::ServerContext*, const v1::GetRunRequest* request,
                      v1::Run* run) override;
  grpc::Status ListRuns(grpc::ServerContext*, const v1::ListRunsRequest*,
                        v1::ListRunsReply* reply) override;
  grpc::Status CancelRun(grpc::ServerContext*,
                         const v1::CancelRunRequest* request,
                         v1::Run* run) override;
  grpc::Status ForgetRun(grpc::ServerContext* context,
                         const v1::ForgetRunRequest* request,
                         v1::ForgetRunReply* reply) override;
  grpc::Status GetReceipts(grpc::ServerContext*, const v1::GetReceiptsRequest*,
                           grpc::ServerWriter<v1::Receipt>* writer) override;
  grpc::Status ChooseRank(
      grpc::ServerContext*, const v1::ChooseRankRequest* request,
      grpc::ServerWriter<v1::ChooseRankReply>* writer) override;
  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest*,
                        grpc::ServerWriter<v1::ModelReply>* writer) override;
  grpc::Status RefitRun(grpc::ServerContext*,
                        grpc::ServerReader<v1::RefitRunRequest>* reader,
                        v1::Run* run) override;
  grpc::Status GetRelease(
      grpc::ServerContext*, const v1::GetReleaseRequest* request,
      grpc::ServerWriter<v1::ReleaseReply>* writer) override;
  grpc::Status AddRelease(grpc::ServerContext*,
                          grpc::ServerReader<v1::ReleaseReply>* reader,
                          v1::Run* run) override;
  grpc::Status Synthesise(
      grpc::ServerContext*, const v1::SynthesiseRequest* request,
      grpc::ServerWriter<v1::SynthesiseReply>* writer) override;
  grpc::Status GetBudget(grpc::ServerContext*,
                         const v1::GetBudgetRequest* request,
                         v1::GetBudgetReply* reply) override;
};

// The fake behind an in-process server.
class FakeServer {
 public:
  FakeServer();
  ~FakeServer();
  std::shared_ptr<grpc::Channel> Channel();
  FakeAnalyst analyst;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_TESTS_CLIENT_FAKE_ANALYST_H_
