// Load: 64 watching clients, 16 runs at once over 4 data sets, over loopback;
// and peers that are slow or silent. Waves follow one another; in each, every
// run must end, all watchers must see its end, and no run may wait for
// another's end before its own first round. Between waves memory, threads and
// descriptors are read.
//
// DPNMF_LOAD_MINUTES=M goes on for M minutes and then compares the figures with
// those after the first waves (tests/load/run.sh). No speed is asserted.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "analyst/curators/curator_client.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "analyst/serve/service.h"
#include "common/base/error.h"
#include "common/log/log.h"
#include "common/nmf/dictionary.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "curator/serve/service.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "tests/curator/ledger/release_fixtures.h"
#include "tests/integration/loopback_server.h"

namespace dpnmf {
namespace {

using curator::TempDirectory;
using std::chrono::steady_clock;

constexpr int kDatasets = 4, kRunsEach = 4, kWatchersEach = 4;
constexpr std::uint32_t kRounds = 40;

struct Figures {
  std::uint64_t resident_kib = 0, threads = 0, descriptors = 0;
};

Figures FiguresNow() {
  Figures figures;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:"))
      figures.resident_kib = std::stoull(line.substr(6));
    if (line.starts_with("Threads:"))
      figures.threads = std::stoull(line.substr(8));
  }
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++figures.descriptors;
  }
  return figures;
}

std::unique_ptr<curator::Dataset> DatasetOf(const std::string& name,
                                            std::uint64_t features,
                                            std::uint64_t users) {
  curator::DatasetDescription description;
  description.name = name;
  description.population = "of-" + name;
  description.features = features;
  description.users = users;
  description.epsilon = 900;
  description.delta = 1e-5;
  std::vector<float> values(features * users);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.001f * static_cast<float>((i * 7919) % 97);
  return curator::Dataset::FromDense(description, std::move(values)).value();
}

class ServerLoad : public testing::Test {
 protected:
  // Calls on which nothing moves for so long are ended.
  explicit ServerLoad(int idle_seconds = 1) {
    SetLogLevel("off");
    StartCurator(idle_seconds);
    connection_ = analyst::ConnectCurator(
        analyst::CuratorChannel(curator_address_,
                                grpc::InsecureChannelCredentials()),
        std::chrono::seconds(60));
    store_ = analyst::RunStore::Open(root_ / "state").value();
    analyst::RunManager::Settings settings;
    settings.max_running = kDatasets * kRunsEach;
    manager_ =
        analyst::RunManager::Create(store_.get(), connection_.get(), settings)
            .value();
    StartAnalyst();
  }
  ~ServerLoad() override {
    manager_->Stop();
    analyst_->Shutdown(std::chrono::system_clock::now());
    analyst_.reset();
    manager_.reset();
    connection_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  static constexpr std::uint64_t kLargeFeatures = 400'000;

  void StartCurator(int idle_seconds) {
    std::vector<std::unique_ptr<curator::Dataset>> datasets;
    for (int i = 0; i < kDatasets; ++i)
      datasets.push_back(DatasetOf("data-" + std::to_string(i), 64, 500));
    datasets.push_back(DatasetOf("large", kLargeFeatures, 4));
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
    access_ = curator::AccessControl::FromGrants(
        {{"dns:analyst", {Role::kAnalyst}, {}, true, {}}});
    curator::Ledger::Options options;
    options.directory = root_ / "ledger";
    options.anchor_directory = root_ / "anchor";
    ledger_ = curator::Ledger::Open(options).value();
    for (const curator::Dataset* dataset : catalog_.All()) {
      const auto& d = dataset->description();
      ASSERT_TRUE(
          ledger_
              ->DeclarePopulation({d.population, Adjacency::kReplaceOne,
                                   Conversion::kRdp, d.epsilon, d.delta})
              .ok());
    }
    gate_ = curator::ReleaseGate::Create(ledger_.get(), root_ / "releases", 1)
                .value();
    curator::ServiceOptions service;
    service.context = {ledger_.get(), gate_.get(), &catalog_, access_.get(),
                       &locks_,       1,           nullptr};
    service.identify = [](const grpc::ServerContextBase&) {
      return std::vector<std::string>{"dns:analyst"};
    };
    receipts_.emplace(
        curator::ReceiptSigner::Open(root_ / ".", ledger_.get()).value());
    service.receipts = &*receipts_;
    service.idle_seconds = idle_seconds;
    service.limits.calls = 24;
    curator_service_ = std::make_unique<curator::CuratorServiceImpl>(service);
    server_ = ServeOnLoopback(curator_service_.get(), &curator_address_);
  }

  void StartAnalyst() {
    const std::string clients = root_ / "clients.json";
    std::ofstream(clients) << R"({"peers": [{"identity": "dns:client",
        "roles": ["analyst"]}]})";
    analyst::ServiceParts parts = {
        manager_.get(), store_.get(), connection_.get(),
        analyst::ClientList::Read(clients).value(),
        [](const grpc::ServerContextBase&) {
          return std::vector<std::string>{"dns:client"};
        }};
    parts.limits.calls = 100;
    analyst_service_ = analyst::MakeAnalystService(std::move(parts));
    analyst_ = ServeOnLoopback(analyst_service_.get(), &analyst_address_);
  }

  std::unique_ptr<v1::AnalystService::Stub> Client() const {
    return v1::AnalystService::NewStub(grpc::CreateChannel(
        analyst_address_, grpc::InsecureChannelCredentials()));
  }

  static v1::RunSpecification Specification(int dataset) {
    RunParameters parameters;
    parameters.dataset = "data-" + std::to_string(dataset);
    parameters.mechanism = "statistics";
    parameters.rank = 4;
    parameters.rounds = kRounds;
    parameters.epsilon = 0.5;
    parameters.delta = 1e-5;
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(parameters);
    specification.mutable_learner()->set_initialisation(
        v1::INITIALISATION_RANDOM);
    specification.mutable_learner()->set_steps_per_round(20);
    return specification;
  }

  std::string StartRun(v1::AnalystService::Stub* client, int dataset) {
    grpc::ClientContext context;
    v1::Run run;
    const auto writer = client->StartRun(&context, &run);
    v1::StartRunRequest request;
    *request.mutable_specification() = Specification(dataset);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run.run_id();
  }

  // All events of a run to its end; false if the last is not COMPLETED.
  static bool WatchToTheEnd(
      v1::AnalystService::Stub* client, const std::string& run,
      const std::function<void(std::uint32_t)>& at_round) {
    grpc::ClientContext context;
    v1::WatchRunRequest request;
    request.set_run_id(run);
    const auto reader = client->WatchRun(&context, request);
    v1::RunEvent event;
    v1::RunState last = v1::RUN_STATE_UNSPECIFIED;
    while (reader->Read(&event)) {
      last = event.state();
      at_round(event.round());
    }
    return reader->Finish().ok() && last == v1::RUN_STATE_COMPLETED;
  }

  // A client that asks for events and never reads them.
  struct Silent {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::RunEvent>> reader;
  };

  void Wave() {
    const auto starter = Client();
    std::vector<std::string> runs;
    for (int i = 0; i < kDatasets * kRunsEach; ++i)
      runs.push_back(StartRun(starter.get(), i % kDatasets));
    std::vector<Silent> silent(4);
    for (Silent& one : silent) {
      v1::WatchRunRequest request;
      request.set_run_id(runs[0]);
      one.reader = starter->WatchRun(&one.context, request);
    }
    std::atomic<int> begun{0}, ended{0}, begun_at_first_end{-1};
    std::vector<std::thread> watchers;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (int w = 0; w < kWatchersEach; ++w) {
        watchers.emplace_back([&, i, w] {
          const auto client = Client();
          bool first = true;
          const bool completed =
              WatchToTheEnd(client.get(), runs[i], [&](std::uint32_t round) {
                if (w == 0 && round > 0 && first) {
                  first = false;
                  ++begun;
                }
              });
          EXPECT_TRUE(completed);
          if (w != 0) return;
          int none = -1;
          begun_at_first_end.compare_exchange_strong(none, begun);
          ++ended;
        });
      }
    }
    for (std::thread& watcher : watchers) watcher.join();
    for (Silent& one : silent) one.context.TryCancel();
    EXPECT_EQ(ended, kDatasets * kRunsEach) << "a run is stuck";
    most_begun_ = std::max(most_begun_, begun_at_first_end.load());
  }

  const TempDirectory root_;
  curator::Catalog catalog_;
  std::unique_ptr<curator::AccessControl> access_;
  curator::RunLocks locks_;
  std::unique_ptr<curator::Ledger> ledger_;
  std::unique_ptr<curator::ReleaseGate> gate_;
  std::optional<curator::ReceiptSigner> receipts_;
  std::unique_ptr<curator::CuratorServiceImpl> curator_service_;
  std::unique_ptr<grpc::Server> server_, analyst_;
  std::string curator_address_, analyst_address_;
  std::unique_ptr<analyst::CuratorConnection> connection_;
  std::unique_ptr<analyst::RunStore> store_;
  std::unique_ptr<analyst::RunManager> manager_;
  std::shared_ptr<grpc::Service> analyst_service_;
  int most_begun_ = 0;
};

void Print(const char* when, double minutes, int waves, const Figures& f) {
  std::printf(
      "load: %s %.1f min, %d waves, %llu MiB, %llu threads, %llu "
      "descriptors\n",
      when, minutes, waves,
      static_cast<unsigned long long>(f.resident_kib / 1024),
      static_cast<unsigned long long>(f.threads),
      static_cast<unsigned long long>(f.descriptors));
  std::fflush(stdout);
}

TEST_F(ServerLoad, SixtyFourWatchersAndSixteenRunsOverFourDataSets) {
  const char* const text = std::getenv("DPNMF_LOAD_MINUTES");
  const double minutes = text != nullptr ? std::atof(text) : 0;
  const auto begin = steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(steady_clock::now() - begin).count() /
           60;
  };
  Figures warm;
  double printed = 0;
  int waves = 0;
  constexpr int kWarm = 3;
  while ((waves < kWarm + 1 || passed() < minutes) && !HasFailure()) {
    Wave();
    if (++waves == kWarm) {
      warm = FiguresNow();
      Print("warm after", passed(), waves, warm);
    }
    if (passed() - printed >= 0.25) {
      printed = passed();
      Print("at", printed, waves, FiguresNow());
    }
  }
  const Figures last = FiguresNow();
  Print("end after", passed(), waves, last);
  // The ledger's book grows with the charges, 640 a wave: some hundred bytes
  // each. gRPC keeps a pool of threads that breathes, and closes sockets late.
  EXPECT_LE(last.resident_kib, warm.resident_kib + warm.resident_kib / 4 +
                                   static_cast<std::uint64_t>(waves) * 200);
  EXPECT_LE(last.threads, warm.threads + 32);
  EXPECT_LE(last.descriptors, warm.descriptors + 80);
  // Fair: with room for all sixteen, none waits for the end of another. On a
  // busy machine a wave's first run may end before its last was started, so
  // that the best wave counts; runs one after another would show 1 in all of
  // them.
  std::printf(
      "load: when the first run of a wave ended, up to %d of %d had their "
      "first "
      "round\n",
      most_begun_, kDatasets * kRunsEach);
  EXPECT_GE(most_begun_, kDatasets * kRunsEach / 2);
}

// A training stream, driven by hand.
struct Stream {
  explicit Stream(v1::CuratorService::Stub* stub)
      : stream(stub->Train(&context)) {}
  void Open(const std::string& run_id) {
    RunParameters parameters;
    parameters.dataset = "large";
    parameters.mechanism = "statistics";
    parameters.rank = 4;
    parameters.rounds = 1;
    parameters.epsilon = 1;
    parameters.delta = 1e-5;
    parameters.inner_iterations = 1;
    v1::TrainRequest request;
    request.mutable_open()->set_run_id(run_id);
    *request.mutable_open()->mutable_parameters() = ToProto(parameters);
    stream->Write(request);
  }
  void Ask(const Eigen::MatrixXd& w) {
    v1::TrainRequest request;
    request.mutable_round()->set_round(1);
    request.mutable_round()->mutable_shape()->set_rows(
        static_cast<std::uint64_t>(w.rows()));
    request.mutable_round()->mutable_shape()->set_columns(
        static_cast<std::uint64_t>(w.cols()));
    stream->Write(request);
    WriteChunks(w, [&](const v1::RealChunk& chunk) {
      v1::TrainRequest part;
      *part.mutable_dictionary() = chunk;
      return stream->Write(part);
    });
  }
  // Returns true if all of the round came.
  bool ReadToEnd() {
    v1::TrainReply reply;
    while (stream->Read(&reply))
      if (reply.has_end()) return true;
    return false;
  }
  absl::Status Finish() {
    v1::TrainReply reply;
    while (stream->Read(&reply)) {
    }
    return FromGrpc(stream->Finish());
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::TrainRequest, v1::TrainReply>>
      stream;
};

TEST_F(ServerLoad, APeerThatDoesNotReadHoldsNoLockAndIsEnded) {
  const auto stub = v1::CuratorService::NewStub(grpc::CreateChannel(
      curator_address_, grpc::InsecureChannelCredentials()));
  const Eigen::MatrixXd w = RandomDictionary(kLargeFeatures, 4, 1);
  const std::string run(32, 'a');
  Stream silent(stub.get());
  silent.Open(run);
  v1::TrainReply opened;
  ASSERT_TRUE(silent.stream->Read(&opened));
  silent.Ask(w);
  // The release has begun; it is larger than any window, and nobody reads on.
  ASSERT_TRUE(silent.stream->Read(&opened));
  ASSERT_TRUE(opened.has_release());
  // Another stream takes the run over; its bytes are those of the first asking,
  // so it has been charged once.
  {
    const auto other = v1::CuratorService::NewStub(grpc::CreateChannel(
        curator_address_, grpc::InsecureChannelCredentials()));
    Stream reader(other.get());
    reader.Open(run);
    reader.Ask(w);
    EXPECT_TRUE(reader.ReadToEnd());
    reader.context.TryCancel();
  }
  EXPECT_EQ(ledger_->PositionOf("of-large", "dns:analyst")->charge_count, 1u);
  // The silent one is ended after idle_seconds, not served for ever.
  for (int attempt = 0;
       attempt < 6000 && locks_.LockOf("dns:analyst", run).use_count() > 1;
       ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(locks_.LockOf("dns:analyst", run).use_count(), 1);
  EXPECT_FALSE(silent.Finish().ok());
}

// On a busy machine it takes seconds until all calls are open.
class OpenCalls : public ServerLoad {
 protected:
  OpenCalls() : ServerLoad(300) {}
};

TEST_F(OpenCalls, OneIdentityHasItsNumberOfCallsAndNoMore) {
  const auto stub = v1::CuratorService::NewStub(grpc::CreateChannel(
      curator_address_, grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 24; ++i) {
    streams.push_back(std::make_unique<Stream>(stub.get()));
    streams.back()->Open(std::string(31, 'b') +
                         static_cast<char>(i < 10 ? '0' + i : 'a' + i % 6));
    v1::TrainReply reply;
    if (i < 10) {
      ASSERT_TRUE(streams.back()->stream->Read(&reply));
    }
  }
  std::string code;
  // The server sees the calls above when it comes to them.
  for (int attempt = 0; attempt < 3000 && code != "too-many-calls"; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Stream more(stub.get());
    more.Open(std::string(32, 'c'));
    more.stream->WritesDone();
    code = ReasonCode(more.Finish());
  }
  EXPECT_EQ(code, "too-many-calls");
  for (const auto& stream : streams) stream->context.TryCancel();
}

}  // namespace
}  // namespace dpnmf
