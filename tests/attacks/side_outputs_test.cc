// Side outputs of a curator beside its releases: replies, codes, sentences,
// sizes, log, audit log, metrics, files. The real program serves worlds that
// share only their public facts; an analyst that does everything right and
// wrong must not see which world it talks to, and no private number may appear
// in any output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <regex>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/nmf/dictionary.h"
#include "common/privacy/run_plan.h"
#include "common/wire/convert.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "curator/factor/moments.h"
#include "curator/factor/statistics.h"
#include "grpcpp/grpcpp.h"
#include "tests/attacks/curator_process.h"
#include "tests/attacks/taint.h"
#include "tests/curator/each_mechanism.h"

namespace dpnmf::curator {
namespace {

using Eigen::MatrixXd;

constexpr int kUsers = 40;
constexpr int kFeatures = 6;         // of the dense data set
constexpr int kManyFeatures = 1100;  // of the sparse one: a mean comes first
constexpr int kRank = 3;
constexpr std::uint64_t kSeed = 20221;

// The people of all data sets.
struct World {
  MatrixXd dense;            // kFeatures x users
  MatrixXd sparse;           // kManyFeatures x users; zeros are not in the file
  std::vector<int> classes;  // of the people of `dense`
  std::vector<Ratings> ratings;  // of kFeatures items
};

World Canaries(int users = kUsers) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> entry(0.1, 9), coin;
  World world{MatrixXd(kFeatures, users), MatrixXd::Zero(kManyFeatures, users),
              std::vector<int>(static_cast<std::size_t>(users)),
              RandomPeople(users, kFeatures, kSeed)};
  for (double& value : world.dense.reshaped()) value = entry(random);
  for (double& value : world.sparse.reshaped())
    if (coin(random) < 0.02) value = entry(random);
  for (std::size_t n = 0; n < world.classes.size(); ++n)
    world.classes[n] = n % 3 == 0;
  for (Ratings& person : world.ratings) person.emplace(0, 25'000);
  return world;
}

// With the class last, if there are any.
std::string Csv(const MatrixXd& people, const std::vector<int>& classes = {}) {
  std::string text;
  for (int n = 0; n < people.cols(); ++n) {
    for (int d = 0; d < people.rows(); ++d)
      absl::StrAppendFormat(&text, "%s%.17g", d == 0 ? "" : ",", people(d, n));
    if (!classes.empty())
      absl::StrAppend(
          &text, ",",
          classes[static_cast<std::size_t>(n)] == 0 ? "well" : "ill");
    text += "\n";
  }
  return text;
}

std::string RatingLines(const std::vector<Ratings>& people) {
  std::string text = "user,item,rating\n";
  for (std::size_t n = 0; n < people.size(); ++n) {
    for (const auto& [item, units] : people[n])
      absl::StrAppendFormat(&text, "u%d,item%d,%.4f\n", n, item,
                            units * kRatingUnit);
  }
  return text;
}

std::string ItemLines() {
  std::string text;
  for (int item = 0; item < kFeatures; ++item)
    absl::StrAppend(&text, "item", item, "\n");
  return text;
}

std::string MatrixMarket(const MatrixXd& people) {
  std::string entries;
  int count = 0;
  for (int n = 0; n < people.cols(); ++n) {
    for (int d = 0; d < people.rows(); ++d) {
      if (people(d, n) == 0) continue;
      ++count;
      absl::StrAppendFormat(&entries, "%d %d %.17g\n", d + 1, n + 1,
                            people(d, n));
    }
  }
  return absl::StrFormat(
      "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n%s",
      people.rows(), people.cols(), count, entries);
}

// The replies, and all that the program left.
struct Seen {
  std::vector<std::string> replies;
  std::map<std::string, std::string> files;
};

// One analyst that asks for everything, in and out of order.
class Curious {
 public:
  Curious(v1::CuratorService::Stub* stub, Adjacency adjacency)
      : stub_(stub), adjacency_(adjacency) {}

  // Kinds of rounds that were asked for, as the plans name them, and how many.
  const std::set<std::string>& releases() const { return releases_; }
  int planned() const { return planned_; }

  std::vector<std::string> Play() {
    Ask();
    for (const std::string dataset : {"faces", "words"}) {
      Ledger(dataset);
      for (const std::string mechanism :
           {"statistics", "gradient", "moments", "objective"})
        WholeRun(dataset, mechanism, false);
      WholeRun(dataset, "statistics", true);
      Refusals(dataset);
      Ledger(dataset);
    }
    for (const std::string& mechanism : MechanismNames()) {
      const Holds holds = DataFor(mechanism);
      RunOfTheTable(mechanism, holds == Holds::kRatings   ? "films"
                               : holds == Holds::kClasses ? "kinds"
                                                          : "faces");
    }
    for (const std::string dataset : {"kinds", "films"}) {
      Refusals(dataset);
      Ledger(dataset);
    }
    Ledger("nobody");
    return replies_;
  }

 private:
  using Stream = grpc::ClientReaderWriter<v1::TrainRequest, v1::TrainReply>;

  // Overwrites what is random or depends on the time, but keeps its size.
  static void Blot(std::string* bytes) { bytes->assign(bytes->size(), '#'); }
  // The ledger's id and the key are drawn; the hash and the signature follow
  // from them, and the digest of the release from its entries, which have
  // noise.
  static void Blot(v1::Receipt* receipt) {
    Blot(receipt->mutable_ledger_id());
    Blot(receipt->mutable_row_hash());
    Blot(receipt->mutable_public_key());
    Blot(receipt->mutable_signature());
    Blot(receipt->mutable_release_sha256());
    Blot(receipt->mutable_release_signature());
  }
  static v1::TrainReply Blotted(v1::TrainReply reply) {
    switch (reply.message_case()) {
      case v1::TrainReply::kOpened:
        Blot(reply.mutable_opened()->mutable_ledger()->mutable_head());
        Blot(reply.mutable_opened()->mutable_receipt_key());
        break;
      case v1::TrainReply::kLattice:
        for (auto& value : *reply.mutable_lattice()->mutable_values())
          value = 1;
        break;
      case v1::TrainReply::kReal:
        for (auto& value : *reply.mutable_real()->mutable_values()) value = 1;
        break;
      case v1::TrainReply::kEnd:
        Blot(reply.mutable_end()->mutable_row_hash());
        Blot(reply.mutable_end()->mutable_ledger()->mutable_head());
        Blot(reply.mutable_end()->mutable_receipt());
        break;
      case v1::TrainReply::kClosed:
        Blot(reply.mutable_closed()->mutable_ledger()->mutable_head());
        break;
      default:
        break;
    }
    return reply;
  }

  void Note(const google::protobuf::Message& reply, std::size_t size) {
    replies_.push_back(absl::StrCat(reply.ShortDebugString(), " ", size,
                                    " bytes ", reply.SerializeAsString()));
  }
  void Note(const grpc::Status& status) {
    replies_.push_back(absl::StrCat("status ", status.error_code(), " ",
                                    status.error_message(), " ",
                                    absl::CHexEscape(status.error_details())));
  }

  // Records the metadata that travels beside the messages.
  void Note(const grpc::ClientContext& context) {
    std::string text = "metadata";
    for (const auto* metadata : {&context.GetServerInitialMetadata(),
                                 &context.GetServerTrailingMetadata()}) {
      for (const auto& [name, value] : *metadata) {
        absl::StrAppend(&text, " ", std::string(name.data(), name.size()), ": ",
                        std::string(value.data(), value.size()));
      }
    }
    replies_.push_back(std::move(text));
  }

  void Ask() {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    const grpc::Status status = stub_->ListDatasets(&context, {}, &reply);
    Note(reply, reply.ByteSizeLong());
    Note(status);
    Note(context);
  }

  void Ledger(const std::string& dataset) {
    grpc::ClientContext context;
    v1::GetLedgerRequest request;
    v1::GetLedgerReply reply;
    request.set_dataset(dataset);
    const grpc::Status status = stub_->GetLedger(&context, request, &reply);
    const std::size_t size = reply.ByteSizeLong();
    Blot(reply.mutable_position()->mutable_head());
    for (v1::LedgerCharge& charge : *reply.mutable_own_charges()) {
      Blot(charge.mutable_row_hash());
      charge.set_unix_seconds(1);
    }
    Note(reply, size);
    Note(status);
    Note(context);
  }

  RunParameters Parameters(const std::string& dataset,
                           const std::string& mechanism) const {
    RunParameters parameters;
    parameters.adjacency = adjacency_;
    parameters.dataset = dataset;
    parameters.rank = kRank;
    parameters.epsilon = 1;
    parameters.delta = 1e-6;
    parameters.mechanism = mechanism;
    const bool many = dataset == "words", moments = mechanism == "moments";
    if (mechanism == "statistics") parameters.rounds = 4;
    if (mechanism == "gradient") parameters.rounds = 2;
    if (mechanism == "objective") parameters.rounds = 1;
    if (moments) parameters.rounds = many ? 2 : 1;
    if (moments) parameters.moment_rows = many ? 20 : kFeatures;
    return parameters;
  }

  int Features(const std::string& dataset) const {
    return dataset == "words" ? kManyFeatures : kFeatures;
  }

  // One run; `requests` says what is sent after it is opened.
  void Run(const RunParameters& parameters,
           const std::function<void(Stream*)>& requests) {
    grpc::ClientContext context;
    const auto stream = stub_->Train(&context);
    v1::TrainRequest request;
    request.mutable_open()->set_run_id(absl::StrFormat("%032x", ++runs_));
    *request.mutable_open()->mutable_parameters() = ToProto(parameters);
    stream->Write(request);
    Read(stream.get());
    requests(stream.get());
    stream->WritesDone();
    while (Read(stream.get())) {
    }
    Note(stream->Finish());
    Note(context);
  }

  bool Read(Stream* stream) {
    v1::TrainReply reply;
    if (!stream->Read(&reply)) return false;
    Note(Blotted(reply), reply.ByteSizeLong());
    // A release is many messages.
    return reply.has_end() || reply.has_closed() || reply.has_opened() ||
           Read(stream);
  }

  void Round(Stream* stream, int round, const MatrixXd& w,
             const std::vector<std::uint32_t>& rows = {},
             const std::vector<double>& numbers = {}) {
    v1::TrainRequest request;
    request.mutable_round()->set_round(round);
    for (const std::uint32_t row : rows) request.mutable_round()->add_rows(row);
    for (const double number : numbers)
      request.mutable_round()->add_numbers(number);
    if (w.size() > 0) {
      request.mutable_round()->mutable_shape()->set_rows(w.rows());
      request.mutable_round()->mutable_shape()->set_columns(w.cols());
    }
    stream->Write(request);
    if (w.size() > 0) {
      WriteChunks(w, [&](const v1::RealChunk& chunk) {
        *request.mutable_dictionary() = chunk;
        return stream->Write(request);
      });
    }
    Read(stream);
  }

  void Close(Stream* stream) {
    v1::TrainRequest request;
    request.mutable_close();
    stream->Write(request);
    Read(stream);
  }

  static MatrixXd Zero(int features) { return MatrixXd::Zero(features, kRank); }
  static MatrixXd OneHot(int features) {
    MatrixXd w = Zero(features);
    for (int k = 0; k < kRank; ++k) w(k, k) = 1;
    return w;
  }

  void WholeRun(const std::string& dataset, const std::string& mechanism,
                bool outliers) {
    const int features = Features(dataset);
    RunParameters parameters = Parameters(dataset, mechanism);
    parameters.outliers = outliers;
    if (outliers) {
      parameters.lambda = 0.01;
      parameters.outlier_bound = 0.5;
    }
    const std::vector<MatrixXd> dictionaries = {
        RandomDictionary(features, kRank, 1), OneHot(features), Zero(features),
        RandomDictionary(features, kRank, 2)};
    Run(parameters, [&](Stream* stream) {
      for (std::uint32_t round = 1; round <= parameters.rounds; ++round) {
        if (mechanism != "moments") {
          Round(stream, round, dictionaries[round - 1]);
          Round(stream, round, dictionaries[round - 1]);  // once more
        } else if (round == 1) {
          Round(stream, round, MatrixXd());
        } else {
          Round(stream, round, MatrixXd(), {0, 17, 1099});
        }
      }
      Close(stream);
    });
    Run(parameters, [&](Stream* stream) {  // what is not the plan's
      Round(stream, parameters.rounds + 1, dictionaries[0]);
    });
  }

  // Every round of a mechanism on data that it takes, and each once more.
  void RunOfTheTable(const std::string& mechanism, const std::string& dataset) {
    DatasetFacts facts;
    facts.name = facts.population = dataset;
    facts.features = kFeatures;
    facts.users = kUsers;
    facts.adjacency = adjacency_;
    facts.max_rank = 1024;
    facts.max_rounds = 1000;
    if (dataset == "films") facts.ratings = kStars;
    if (dataset == "kinds") facts.classes = ClassFacts{{"well", "ill"}};
    RunParameters parameters = RunOfEach(mechanism, facts, kRank, 4);
    parameters.epsilon = 0.5;
    parameters.delta = 1e-6;
    const auto plan = PlanRun(parameters, facts);
    ASSERT_TRUE(plan.ok()) << plan.status();
    Run(parameters, [&](Stream* stream) {
      for (std::uint32_t round = 1; round <= parameters.rounds; ++round) {
        const std::string& release = plan->StageOf(round).release;
        releases_.insert(release);
        const RoundInput input = InputOf(release, parameters, facts);
        for (int time = 0; time < 2; ++time, ++planned_)
          Round(stream, static_cast<int>(round), input.w, input.rows,
                input.numbers);
      }
      Close(stream);
    });
  }

  // Each ends its stream.
  void Refusals(const std::string& dataset) {
    const int features = Features(dataset);
    const RunParameters good = Parameters(dataset, "statistics");
    MatrixXd w = RandomDictionary(features, kRank, 1);
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), -1.0, 1e300, 1.5}) {
      w(0, 0) = bad;
      Run(good, [&](Stream* stream) { Round(stream, 1, w); });
    }
    Run(good, [&](Stream* stream) {
      Round(stream, 1, RandomDictionary(features, kRank, 1));
      Round(stream, 1, RandomDictionary(features, kRank, 2));
    });
    Run(good, [&](Stream* stream) {
      Round(stream, 3, RandomDictionary(features, kRank, 1));
    });
    Run(good, [&](Stream* stream) { Round(stream, 1, MatrixXd()); });
    Run(good, [&](Stream* stream) {
      Round(stream, 1, RandomDictionary(features + 1, kRank, 1));
    });
    RunParameters moments = Parameters(dataset, "moments");
    Run(moments, [&](Stream* stream) { Round(stream, 1, MatrixXd(), {0, 0}); });
    const std::function<void(RunParameters*)> faults[] = {
        [](RunParameters* p) { p->rank = 0; },
        [](RunParameters* p) { p->rank = 1024; },
        [](RunParameters* p) { p->rounds = 0; },
        [](RunParameters* p) { p->epsilon = 1e3; },
        [](RunParameters* p) { p->epsilon = -1; },
        [](RunParameters* p) { p->mechanism = "sum"; },
        [](RunParameters* p) { p->dataset = "nobody"; },
        [](RunParameters* p) { p->lambda = 1; },
        [](RunParameters* p) {
          p->adjacency = p->adjacency == Adjacency::kReplaceOne
                             ? Adjacency::kAddRemoveOne
                             : Adjacency::kReplaceOne;
        },
    };
    for (const auto& fault : faults) {
      RunParameters parameters = good;
      fault(&parameters);
      Run(parameters, [](Stream*) {});
    }
  }

  v1::CuratorService::Stub* const stub_;
  const Adjacency adjacency_;
  std::vector<std::string> replies_;
  std::set<std::string> releases_;
  int planned_ = 0;
  int runs_ = 0;
};

// Without what differs from one start to the next: hours, how long calls took,
// ports, the names of requests, the ledger's own name, and hashes, which hold
// the hour.
std::string Masked(std::string text) {
  static const std::regex kTime(
      R"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:?\d\d|Z)?)"),
      kPort(R"(127\.0\.0\.1:\d+)"), kHash("[0-9a-f]{64}"),
      kLedger(R"("ledger":"[0-9a-f]{32}")"),
      kRequest(R"("request":"[0-9a-f]{32}-[0-9a-f]{16}")"),
      kLength("Content-Length: [0-9]+"),  // of the page, with its durations
      kSeconds(R"((_seconds_(bucket|sum)\{[^}]*\}) [0-9.e+-]+)");
  text = std::regex_replace(text, kTime, "TIME");
  text = std::regex_replace(text, kPort, "PORT");
  text = std::regex_replace(text, kLedger, "LEDGER");
  text = std::regex_replace(text, kRequest, "REQUEST");
  text = std::regex_replace(text, kLength, "LENGTH");
  text = std::regex_replace(text, kSeconds, "$1 SECONDS");
  return std::regex_replace(text, kHash, "HASH");
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

class SideOutputs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = new TestCertificates; }
  static void TearDownTestSuite() {
    delete certificates_;
    certificates_ = nullptr;
  }

  static Seen Observe(const World& world,
                      const std::string& import_options = "",
                      Adjacency adjacency = Adjacency::kReplaceOne) {
    CuratorProcess curator(
        certificates_,
        {{"faces", Csv(world.dense), "--users rows " + import_options},
         {"words", MatrixMarket(world.sparse),
          "--users columns " + import_options},
         {"kinds", Csv(2 * world.dense, world.classes),
          "--users rows --class-column 7 --classes well,ill " + import_options},
         {"films", RatingLines(world.ratings),
          "--rating-range 1,5 " + (adjacency == Adjacency::kReplaceOne
                                       ? absl::StrCat("--users-count ", kUsers)
                                       : import_options),
          "--ratings", ItemLines()}});
    Seen seen;
    Curious curious(&curator.stub(), adjacency);
    seen.replies = curious.Play();
    seen.files = curator.Stop();
    for (const std::string& release : ReleaseNames())
      EXPECT_TRUE(curious.releases().contains(release)) << release;
    // It was not refused everything. Of each data set: rounds of statistics (4
    // and 4), gradient (2) and objective, each asked twice, and two more
    // among the refusals; moments of faces (asked twice), mean and moments of
    // words.
    // Then two of each round of the table, and two among the refusals of kinds.
    const int releases = 2 * (2 * 11 + 2) + 1 + 2 + curious.planned() + 2;
    EXPECT_EQ(Count(seen.files.at("serve.log"), " released"), releases);
    EXPECT_EQ(Count(seen.files.at("home/audit.jsonl"), "round-released"),
              releases);
    for (const char* metric : {"_round_seconds_count", "_bytes_total",
                               "_refusals_total", "reading=\"largest_run\""}) {
      EXPECT_GT(Count(seen.files.at("metrics"), metric), 0) << metric;
    }
    return seen;
  }

  static void ExpectAlike(const Seen& one, const Seen& other) {
    ASSERT_EQ(one.replies.size(), other.replies.size());
    for (std::size_t i = 0; i < one.replies.size(); ++i) {
      EXPECT_EQ(absl::CHexEscape(one.replies[i]),
                absl::CHexEscape(other.replies[i]))
          << "reply " << i;
    }
    ASSERT_EQ(one.files.size(), other.files.size());
    for (const auto& [name, content] : one.files) {
      ASSERT_TRUE(other.files.contains(name)) << name;
      EXPECT_EQ(Masked(content), Masked(other.files.at(name))) << name;
    }
  }

  static TestCertificates* certificates_;
};
TestCertificates* SideOutputs::certificates_ = nullptr;

// The neighbours' person: as much as can be, and nothing at all.
constexpr int kPerson = 17;
World WithFullPerson() {
  World world = Canaries();
  world.dense.col(kPerson).setConstant(1e6);
  world.sparse.col(kPerson).setConstant(1e6);
  world.classes[kPerson] = 1;
  for (int item = 0; item < kFeatures; ++item)
    world.ratings[kPerson][item] = 50'000;
  return world;
}
World WithEmptyPerson() {
  World world = Canaries();
  world.dense.col(kPerson).setZero();
  world.sparse.col(kPerson).setZero();
  world.classes[kPerson] = 0;
  world.ratings[kPerson] = {{3, 10'000}};
  return world;
}

TEST_F(SideOutputs, AreAlikeForNeighbours) {
  ExpectAlike(Observe(WithFullPerson()), Observe(WithEmptyPerson()));
}

TEST_F(SideOutputs, AreAlikeWithOnePersonMoreUnderAddRemoveOne) {
  const std::string declared =
      absl::StrCat("--adjacency add_remove_one --users-count ", kUsers);
  ExpectAlike(
      Observe(Canaries(kUsers), declared, Adjacency::kAddRemoveOne),
      Observe(Canaries(kUsers + 1), declared, Adjacency::kAddRemoveOne));
}

TEST_F(SideOutputs, AreAlikeForAnyPeople) {
  World others = Canaries();
  others.dense = others.dense.colwise().reverse().eval();
  others.sparse.setZero();
  std::reverse(others.classes.begin(), others.classes.end());
  others.ratings.assign(kUsers, {{1, 10'000}});
  const std::string bound = "--normalise none --column-bound 3";
  ExpectAlike(Observe(Canaries(), bound), Observe(others, bound));
}

// A float dataset as import makes it: columns scaled to length 1.
MatrixXd Normalised(MatrixXd people) {
  for (auto person : people.colwise())
    if (person.norm() > 0) person.normalize();
  return people;
}

void AddReals(const MatrixXd& values, Taint* taint) {
  for (const double value : values.reshaped()) taint->Add(value);
}

// Adds the numbers that the curator holds and computes from one data set in the
// first rounds of the runs above.
void AddPrivateNumbers(const MatrixXd& people, Taint* taint) {
  const auto users = static_cast<double>(people.cols());
  const MatrixXd v = Normalised(people);
  std::vector<float> stored;
  for (const double value : v.reshaped())
    stored.push_back(static_cast<float>(value));
  AddReals(people, taint);
  AddReals(v, taint);
  for (const float value : stored) taint->Add(static_cast<double>(value));
  AddReals(people.colwise().norm(), taint);
  AddReals(people.colwise().sum(), taint);
  AddReals(people.rowwise().sum(), taint);
  AddReals(people.rowwise().mean(), taint);
  taint->Add(people.norm());
  taint->Add(people.sum());
  taint->Add(people.mean());

  DatasetDescription description;
  description.name = "canaries";
  description.population = "people";
  description.features = people.rows();
  description.users = people.cols();
  description.epsilon = 20;
  description.delta = 1e-6;
  const auto data = Dataset::FromDense(description, stored).value();
  const MatrixXd w = RandomDictionary(people.rows(), kRank, 1);
  RunParameters parameters;
  parameters.rank = kRank;
  parameters.rounds = 4;
  parameters.epsilon = 1;
  parameters.delta = 1e-6;
  DatasetFacts facts;
  facts.features = people.rows();
  facts.users = people.cols();
  facts.max_rank = 1024;
  facts.max_rounds = 1000;
  const RunPlan plan = PlanRun(parameters, facts).value();
  StatisticsRequest request;
  request.w = &w;
  request.coefficient_bits = plan.coefficient_bits;
  request.data_bits = plan.data_bits;
  const auto add_sums = [&](const std::vector<std::int64_t>& sums, int bits) {
    for (const std::int64_t sum : sums) {
      taint->Add(sum);
      taint->Add(std::ldexp(static_cast<double>(sum), -bits));
      taint->Add(std::ldexp(static_cast<double>(sum), -bits) / users);
    }
  };
  Coefficients h(kRank, people.cols());
  const ExactSums sums = ComputeStatistics(*data, request, {}, &h).value();
  add_sums(sums.a, 2 * plan.coefficient_bits);
  add_sums(sums.b, plan.coefficient_bits + plan.data_bits);
  for (std::uint64_t n = 0; n < h.users(); ++n)
    for (int k = 0; k < kRank; ++k) taint->Add(h.Of(n)[k]);
  for (const int bits : {20, plan.data_bits}) {
    request.data_bits = bits;
    add_sums({ComputeObjective(*data, request, {}).value()}, 2 * bits);
    add_sums(ComputeMean(*data, 1, bits, {}).value(), bits);
    if (people.rows() == kFeatures)
      add_sums(ComputeMoments(*data, {}, 1, bits, {}).value(), 2 * bits);
  }
}

// The outputs that show a private number, each once. Hashes are masked in
// files: their digits are drawn again, and may be any number.
std::set<std::string> LeaksIn(const Seen& seen, const Taint& taint) {
  std::set<std::string> leaks;
  for (const std::string& reply : seen.replies) {
    if (taint.FoundIn(reply).empty()) continue;
    leaks.insert(reply.starts_with("metadata") ? "metadata" : "a reply");
  }
  for (const auto& [name, content] : seen.files)
    if (!taint.FoundIn(Masked(content)).empty()) leaks.insert(name);
  return leaks;
}

// The noised values themselves are what may leave; they are blotted out above.
TEST_F(SideOutputs, HoldNoPrivateNumber) {
  const World world = Canaries();
  Taint taint;
  AddPrivateNumbers(world.dense, &taint);
  AddPrivateNumbers(2 * world.dense, &taint);  // of kinds
  AddPrivateNumbers(world.sparse, &taint);
  std::printf("attack: taint: %zu private numbers sought\n", taint.size());
  EXPECT_GT(taint.size(), 5000);
  const Seen seen = Observe(world);
  std::size_t bytes = 0;
  for (const std::string& reply : seen.replies) bytes += reply.size();
  for (const auto& [name, content] : seen.files) bytes += content.size();
  std::printf("attack: taint: in %zu replies and %zu files, %zu bytes\n",
              seen.replies.size(), seen.files.size(), bytes);
  const std::set<std::string> none;
  EXPECT_EQ(LeaksIn(seen, taint), none);

  // The search sees what it is for: one number of one person, as each output
  // would show it.
  const double entry = world.dense(2, 5);
  for (const auto& [name, content] : seen.files) {
    for (const std::string& planted :
         {absl::StrFormat(R"({"event":"round-released","norm":%.9g})", entry),
          absl::StrFormat("dpnmf_curator_norm{dataset=\"faces\"} %.6g", entry),
          absl::StrFormat("[info] round 1 released, norm %f", entry)}) {
      Seen leaky = seen;
      absl::StrAppend(&leaky.files[name], planted, "\n");
      EXPECT_EQ(LeaksIn(leaky, taint), std::set<std::string>{name}) << planted;
    }
  }
  for (std::size_t i = 0; i < seen.replies.size(); i += 40) {
    Seen leaky = seen;
    absl::StrAppendFormat(&leaky.replies[i], " x-norm: %.7g", entry);
    EXPECT_EQ(LeaksIn(leaky, taint).size(), 1u);
  }
}

}  // namespace
}  // namespace dpnmf::curator
