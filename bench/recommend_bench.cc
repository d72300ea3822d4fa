// Lists for people: how many a second one core makes, on the shape of MovieLens
// 1M (3,706 items, 165 ratings a person on average), and how long one request
// over mutual TLS on loopback takes. Data and model: generated; or, from the
// environment, MODEL (a file of `dpnmf model --output`) and DATASET (the
// directory of the imported data set, DATA_DIR/datasets/NAME).
//
// `ratio` is the time of a list over that of two products of the model's
// matrices with a vector, made beside it in the same run: a figure that does
// not depend on the machine. Processor time of this thread, best of five
// repeats.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/log/audit_log.h"
#include "common/ratings/model_file.h"
#include "common/server/server.h"
#include "common/tls/tls.h"
#include "curator/recommend/recommend_service.h"
#include "dpnmf/recommend/v1/recommend.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace dpnmf {
namespace {

constexpr int kItems = 3706;
constexpr int kPeople = 2000;  // whose lists are made; at most
constexpr int kLoadings = 33, kRanking = 32;

NamedItemModel GeneratedModel() {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  NamedItemModel named;
  ItemModel& model = named.model;
  const auto vector = [&](double middle, double spread) {
    return Eigen::VectorXd::NullaryExpr(kItems, [&, middle, spread] {
      return middle + spread * normal(generator);
    });
  };
  model.low = 1;
  model.high = 5;
  model.residual_stddev = 0.85;
  model.base = vector(3.5, 0.4);
  model.base_stddev = vector(0, 0.1).cwiseAbs();
  model.counts = vector(0, 20).cwiseAbs();
  model.counts_stddev = Eigen::VectorXd::Ones(kItems);
  model.popularity = vector(0, 1.6).array().exp();
  model.loadings = Eigen::MatrixXd::NullaryExpr(
      kItems, kLoadings, [&] { return 0.1 * normal(generator); });
  model.ranking = Eigen::MatrixXd::NullaryExpr(
      kItems, kRanking, [&] { return 0.1 * normal(generator); });
  for (int i = 0; i < kItems; ++i)
    named.items.push_back(absl::StrCat("item", i));
  return named;
}

// 20 to 310 ratings a person.
std::unique_ptr<curator::Dataset> GeneratedRatings() {
  std::mt19937 generator(2);
  std::uniform_int_distribution<int> count(20, 310), rating(1, 5);
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> items, units;
  for (int u = 0; u < kPeople; ++u) {
    const double share = static_cast<double>(count(generator)) / kItems;
    std::bernoulli_distribution rated(share);
    for (int i = 0; i < kItems; ++i) {
      if (!rated(generator)) continue;
      items.push_back(i);
      units.push_back(10'000 * rating(generator));
    }
    indptr.push_back(static_cast<std::int64_t>(items.size()));
  }
  curator::DatasetDescription description;
  description.name = "generated";
  description.population = "people";
  description.features = kItems;
  description.users = kPeople;
  description.normalisation = curator::Normalisation::kNone;
  description.epsilon = 1;
  description.delta = 1e-5;
  description.sparse = true;
  description.ratings = {.low_units = 10'000, .high_units = 50'000};
  return curator::Dataset::FromRatings(description, indptr, items, units)
      .value();
}

struct Bench {
  std::unique_ptr<curator::Dataset> data = [] {
    const char* const directory = std::getenv("DATASET");
    return directory == nullptr ? GeneratedRatings()
                                : curator::Dataset::Open(directory).value();
  }();
  curator::Recommender recommender = [this] {
    const char* const file = std::getenv("MODEL");
    NamedItemModel model =
        file == nullptr ? GeneratedModel() : ReadItemModel(file).value();
    const std::vector<std::string> items = model.items;
    return curator::Recommender::Create(std::move(model), items, {},
                                        *data->description().ratings)
        .value();
  }();
  int people = static_cast<int>(
      std::min<std::uint64_t>(kPeople, data->private_user_count()));
};
Bench& Shared() {
  static Bench bench;
  return bench;
}

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of one pass over `count` people, the best of five.
template <typename Work>
double BestSeconds(int count, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = ThreadSeconds();
    for (int u = 0; u < count; ++u) work(u);
    best = std::min(best, ThreadSeconds() - start);
  }
  return best;
}

void Lists(benchmark::State& state) {
  const Bench& bench = Shared();
  const ItemModel& model = bench.recommender.model().model;
  const Eigen::VectorXd h = Eigen::VectorXd::Ones(model.loadings.cols()),
                        g = Eigen::VectorXd::Ones(model.ranking.cols());
  Eigen::VectorXd scores(model.base.size());
  for (auto _ : state) {
    const double lists = BestSeconds(bench.people, [&](int u) {
      benchmark::DoNotOptimize(bench.recommender.Recommend(
          bench.data->RatingsOf(static_cast<std::uint64_t>(u)),
          {.by_rating = state.range(0) == 1}));
    });
    const double products = BestSeconds(bench.people, [&](int) {
      scores.noalias() = model.loadings * h;
      benchmark::DoNotOptimize(scores.data());
      scores.noalias() = model.ranking * g;
      benchmark::DoNotOptimize(scores.data());
    });
    state.counters["people_per_second"] = bench.people / lists;
    state.counters["ratio"] = lists / products;
  }
}
BENCHMARK(Lists)
    ->ArgNames({"by_rating"})
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

TlsFiles FilesOf(const std::string& directory, const std::string& name) {
  const std::string files = absl::StrCat(directory, "/", name);
  return {.ca_file = files + "/ca.crt",
          .certificate_file = files + "/tls.crt",
          .key_file = files + "/tls.key",
          .crl_file = ""};
}

// One request after the other, each with a token of its own, signed before.
void Requests(benchmark::State& state) {
  Bench& bench = Shared();
  std::string directory =
      std::filesystem::temp_directory_path() / "recommend_benchXXXXXX";
  if (mkdtemp(directory.data()) == nullptr) std::abort();
  for (const char* arguments :
       {"init %s", "issue %s curator --dns localhost", "issue %s shop"}) {
    const std::string command = absl::StrReplaceAll(
        absl::StrCat(DPNMF_CERTS_SCRIPT, " ", arguments, " >/dev/null 2>&1"),
        {{"%s", directory}});
    if (std::system(command.c_str()) != 0) {
      state.SkipWithError("no certificates");
      return;
    }
  }
  const SigningKey key = SigningKey::Generate();
  std::int64_t now = 1'800'000'000;
  curator::TokenGate::Options tokens;
  tokens.key = key.public_key();
  tokens.audience = "generated";
  tokens.unix_seconds = [&now] { return now; };
  tokens.expiry_file = directory + "/token-expiry.json";
  const auto gate = curator::TokenGate::Create(tokens).value();
  now += 1;
  const auto access = curator::AccessControl::FromGrants(
      {{"dns:shop", {Role::kFrontEnd}, {}, true, {}}});
  const auto audit = AuditLog::Open(directory + "/audit.jsonl").value();
  curator::RecommendServiceOptions options;
  options.dataset = bench.data.get();
  options.recommender = &bench.recommender;
  options.find =
      [&bench](std::string_view person) -> std::optional<std::uint64_t> {
    return std::stoull(std::string(person)) %
           static_cast<std::uint64_t>(bench.people);
  };
  options.tokens = gate.get();
  options.access = access.get();
  options.identify = PeerIdentities;
  options.observers.audit = audit.get();
  const auto service = curator::MakeRecommendService(options);
  RpcServer::Options server_options;
  server_options.listen = "localhost:0";
  server_options.credentials = ServerTls(FilesOf(directory, "curator")).value();
  server_options.service = service.get();
  const auto server = RpcServer::Start(server_options).value();
  const auto stub =
      recommend::v1::RecommendService::NewStub(grpc::CreateChannel(
          server->address(), ChannelTls(FilesOf(directory, "shop")).value()));
  std::uint64_t count = 0;
  timespec before = {}, after = {};
  double seconds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    recommend::v1::GetRecommendationsRequest request;
    ++count;
    request.set_token(
        curator::SignToken({absl::StrCat(count), "generated", now + 60,
                            absl::StrCat("a-nonce-of-this-run-", count)},
                           key));
    state.ResumeTiming();
    grpc::ClientContext context;
    recommend::v1::GetRecommendationsReply reply;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    if (!stub->GetRecommendations(&context, request, &reply).ok()) {
      state.SkipWithError("a request was refused");
      break;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    seconds += static_cast<double>(after.tv_sec - before.tv_sec) +
               1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  }
  // Time of the server, of the client and of TLS on both sides.
  state.counters["processor_ms"] = 1e3 * seconds / static_cast<double>(count);
  server->Shutdown();
  std::filesystem::remove_all(directory);
}
BENCHMARK(Requests)->Iterations(2000)->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace dpnmf

BENCHMARK_MAIN();
