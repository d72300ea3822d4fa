// The page of `dpnmf web` without a browser: its calls against a fake server in
// this process. tests/web/run.sh has the browser.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/web/api.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/wire/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake_analyst.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf::cli::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class WebApi : public ::testing::Test {
 protected:
  HttpReply Get(const std::string& path,
                const std::map<std::string, std::string>& query = {}) {
    HttpRequest request;
    request.path = path;
    request.query = query;
    return api_.Handle(request);
  }
  HttpReply Post(const std::string& path, const nlohmann::json& body) {
    HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body.is_string() ? body.get<std::string>() : body.dump();
    return api_.Handle(request);
  }
  nlohmann::json Form() const {
    return {{"dataset", "digits"}, {"rank", 2}, {"epsilon", 1.5}};
  }

  FakeServer server_;
  Api api_{server_.Channel(),
           {.version = "1.2.3",
            .server = "there:1",
            .image_width = 3,
            .image_order = "column"}};
};

TEST_F(WebApi, HandsOutTheFilesOfThePageAndNoOther) {
  EXPECT_THAT(Get("/").body, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(Get("/app.js").content_type, StartsWith("text/javascript"));
  EXPECT_THAT(Get("/uplot.js").body, HasSubstr("uPlot"));
  for (const char* path :
       {"/x.js", "/../app.js", "/etc/passwd", "/api/", "/api"})
    EXPECT_EQ(Get(path).status, 404) << path;
}

TEST_F(WebApi, FactsSayHowPicturesAreFilled) {
  const auto facts = nlohmann::json::parse(Get("/api/facts").body);
  EXPECT_EQ(facts["image_width"], 3);
  EXPECT_EQ(facts["image_order"], "column");
}

// The program keeps what the page asks for: each start has another origin, in
// which a browser has stored nothing.
TEST_F(WebApi, TheOrderOfPicturesIsKeptForADataSet) {
  const auto orders = [this] {
    return nlohmann::json::parse(Get("/api/facts").body)["image_orders"];
  };
  EXPECT_EQ(orders(), nlohmann::json::object());
  for (const char* order : {"row", "column"}) {
    EXPECT_EQ(
        Post("/api/image-order", {{"dataset", "digits"}, {"order", order}})
            .status,
        200);
    EXPECT_EQ(orders(), (nlohmann::json{{"digits", order}}));
  }
  for (const nlohmann::json& form :
       {nlohmann::json{{"dataset", "digits"}, {"order", "rows"}},
        nlohmann::json{{"dataset", 7}, {"order", "row"}},
        nlohmann::json{{"dataset", "digits"}}})
    EXPECT_EQ(Post("/api/image-order", form).status, 400) << form;
  EXPECT_EQ(orders(), (nlohmann::json{{"digits", "column"}}));
}

TEST_F(WebApi, TheOrdersOfPicturesAreBounded) {
  const auto status_of = [this](const std::string& dataset) {
    return Post("/api/image-order", {{"dataset", dataset}, {"order", "row"}})
        .status;
  };
  EXPECT_EQ(status_of(std::string(257, 'x')), 400);
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(status_of("set" + std::to_string(i)), 200);
  const auto orders =
      nlohmann::json::parse(Get("/api/facts").body)["image_orders"];
  EXPECT_EQ(orders.size(), 1000u);
  EXPECT_TRUE(orders.contains("set1999")) << "the one that was asked for last";
}

// The page builds its choice of mechanisms from these, and asks them what a run
// gives.
TEST_F(WebApi, FactsTellWhatEachMechanismCanDo) {
  const auto reply = nlohmann::json::parse(Get("/api/facts").body);
  std::map<std::string, nlohmann::json> facts;
  for (const auto& one : reply["mechanisms"]) facts[one["name"]] = one;
  ASSERT_EQ(facts.size(), Mechanisms().rows().size());
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    const nlohmann::json& one = facts.at(std::string(mechanism->name));
    EXPECT_EQ(one["summary"], std::string(mechanism->summary));
    // The name is accepted or refused in the same way as by `dpnmf train`.
    nlohmann::json form = Form();
    form["mechanism"] = one["name"];
    const HttpReply planned = Post("/api/plan", form);
    EXPECT_EQ(one["can_be_trained"], planned.status == 200) << planned.body;
  }
  EXPECT_EQ(facts["aimed"]["can_be_trained"], true);
  EXPECT_EQ(facts["objective"]["can_be_trained"], false);
  for (const char* name : {"aimed", "gradient", "moments", "statistics"})
    EXPECT_EQ(facts[name]["gives_parts"], true) << name;
  for (const char* name : {"class_moments", "objective", "ratings"})
    EXPECT_EQ(facts[name]["gives_parts"], false) << name;
  EXPECT_EQ(facts["class_moments"]["for_classes"], true);
  EXPECT_EQ(facts["ratings"]["for_ratings"], true);
}

TEST_F(WebApi, BudgetsHaveTheReadingsOfTheTables) {
  const auto listed = nlohmann::json::parse(Get("/api/datasets").body);
  EXPECT_EQ(listed["datasets"].size(),
            static_cast<std::size_t>(server_.analyst.datasets.datasets_size()));
  const auto budget = nlohmann::json::parse(
      Get("/api/budget", {{"dataset", listed["datasets"][0]["name"]}}).body);
  EXPECT_THAT(budget["reading"]["guarantee"].get<std::string>(),
              StartsWith("epsilon 4 at delta 1e-05"));
  EXPECT_TRUE(budget["reading"]["largest_run"].is_string());
}

TEST_F(WebApi, ARefusalIsJsonUnderAnHttpStatus) {
  server_.analyst.unavailable = {grpc::StatusCode::UNAVAILABLE, "gone"};
  const HttpReply reply = Get("/api/datasets");
  EXPECT_EQ(reply.status, 503);
  const auto error = nlohmann::json::parse(reply.body)["error"];
  EXPECT_EQ(error["kind"], "UNAVAILABLE");
  EXPECT_EQ(error["code"], "unreachable");
}

TEST_F(WebApi, AForecastWithoutAConnectionIsRefusedAndNotEmpty) {
  nlohmann::json form = Form();
  form["epsilons"] = {1, 2};
  server_.analyst.planned =
      ToGrpc(Refusal(absl::StatusCode::kNotFound, "dataset-unknown", "No."));
  EXPECT_EQ(Post("/api/forecast", form).status, 200);
  server_.analyst.planned = ToGrpc(Refusal(absl::StatusCode::kUnauthenticated,
                                           "certificate-expired", "Expired."));
  EXPECT_EQ(Post("/api/forecast", form).status, 403);
}

TEST_F(WebApi, StartSendsTheFormAndItsRequestId) {
  nlohmann::json form = Form();
  form["request_id"] = "web-1";
  form["even_if_unreliable"] = true;
  EXPECT_EQ(Post("/api/start", form).status, 200);
  const v1::RunSpecification& sent = server_.analyst.last_specification;
  EXPECT_EQ(sent.parameters().dataset(), "digits");
  EXPECT_EQ(sent.parameters().rank(), 2u);
  EXPECT_EQ(sent.parameters().epsilon(), 1.5);
  EXPECT_EQ(sent.parameters().mechanism(), "auto");
  EXPECT_EQ(sent.request_id(), "web-1");
  EXPECT_TRUE(sent.hopeless());
  EXPECT_EQ(sent.learner().initialisation(), v1::INITIALISATION_RANDOM);
}

TEST_F(WebApi, AMalformedFormStartsNothing) {
  for (const char* body : {"", "[]", "{", "null", "7"}) {
    const HttpReply reply = Post("/api/start", nlohmann::json(body));
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_THAT(reply.body, HasSubstr("web-call-malformed"));
  }
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, nlohmann::json>>{
           {"dataset", 7},
           {"rank", -1},
           {"rank", 1.5},
           {"epsilon", "1"},
           {"even_if_unreliable", "yes"},
           {"mechanism", {1}},
           {"request_id", std::string(300, 'a')}}) {
    nlohmann::json form = Form();
    form[field] = value;
    EXPECT_EQ(Post("/api/start", form).status, 400) << field;
  }
  EXPECT_EQ(server_.analyst.last_specification.parameters().dataset(), "");
}

TEST_F(WebApi, TheModelIsPackedByColumns) {
  server_.analyst.runs = {SampleRun(kRunId)};
  server_.analyst.model = Eigen::MatrixXd(3, 2);
  server_.analyst.model << 1, 2, 3, 4, 5, 6;
  server_.analyst.names = {"a", "b", "c"};
  const HttpReply reply = Get("/api/model", {{"run", kRunId}});
  ASSERT_EQ(reply.status, 200);
  std::uint64_t length = 0;
  std::memcpy(&length, reply.body.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  const auto header = nlohmann::json::parse(reply.body.substr(8, length));
  EXPECT_EQ(header["rows"], 3);
  EXPECT_EQ(header["names"][2], "c");
  float entries[6];
  ASSERT_EQ(reply.body.size(), 8 + length + sizeof entries);
  std::memcpy(entries, reply.body.data() + 8 + length, sizeof entries);
  EXPECT_THAT(entries, ::testing::ElementsAre(1, 3, 5, 2, 4, 6));
  const HttpReply csv = Get("/api/model.csv", {{"run", kRunId}});
  EXPECT_EQ(csv.body, "feature,part_1,part_2\na,1,2\nb,3,4\nc,5,6\n");
  EXPECT_EQ(csv.headers.at("X-Dpnmf-Round"),
            std::to_string(header["rounds_done"].get<int>()));
}

TEST_F(WebApi, WhatTheAnalystDoesNotKnowIsUnimplemented) {
  server_.analyst.knows_refits = false;
  const HttpReply refit = Post("/api/refit", {{"run", kRunId}, {"rank", 4}});
  EXPECT_EQ(refit.status, 501);
  EXPECT_THAT(refit.body, HasSubstr("UNIMPLEMENTED"));
}

TEST_F(WebApi, AnEarlierRunIsAPriorOfAStartAndOfARefit) {
  nlohmann::json form = Form();
  form["prior"] = kRunId;
  server_.analyst.runs = {SampleRun(kRunId)};
  ASSERT_EQ(Post("/api/start", form).status, 200);
  ASSERT_EQ(server_.analyst.last_specification.priors_size(), 1);
  EXPECT_EQ(server_.analyst.last_specification.priors(0).kind(),
            v1::PRIOR_KIND_RUN);
  EXPECT_EQ(server_.analyst.last_specification.priors(0).run_id(), kRunId);
  for (const char* prior : {"", "none", kRunId})
    ASSERT_EQ(
        Post("/api/refit", {{"run", kRunId}, {"rank", 4}, {"prior", prior}})
            .status,
        200);
  const auto& refits = server_.analyst.refits;
  ASSERT_EQ(refits.size(), 3u);
  EXPECT_FALSE(refits[0].without_priors());
  EXPECT_TRUE(refits[1].without_priors());
  EXPECT_EQ(refits[0].priors_size() + refits[1].priors_size(), 0);
  ASSERT_EQ(refits[2].priors_size(), 1);
  EXPECT_EQ(refits[2].priors(0).run_id(), kRunId);
  // No file of this machine.
  for (const char* prior : {"/etc/passwd", "dictionary:/etc/passwd", "zz"}) {
    form["prior"] = prior;
    EXPECT_EQ(Post("/api/start", form).status, 400) << prior;
  }
}

TEST_F(WebApi, ARefitIsAChildOfTheRun) {
  const HttpReply refit = Post("/api/refit", {{"run", kRunId}, {"rank", 4}});
  EXPECT_EQ(refit.status, 200);
  ASSERT_EQ(server_.analyst.refits.size(), 1u);
  EXPECT_EQ(server_.analyst.refits[0].run_id(), kRunId);
  EXPECT_EQ(server_.analyst.refits[0].rank(), 4u);
}

class Gathered final : public EventWriter {
 public:
  bool Send(const std::string& json) override {
    events.push_back(json);
    return true;
  }
  void OnGone(std::function<void()>) override {}
  std::vector<std::string> events;
};

TEST_F(WebApi, TheChoiceComesWithTheCoherenceInPublicText) {
  server_.analyst.runs = {SampleRun(kRunId)};
  server_.analyst.model = Eigen::MatrixXd::Ones(3, 2);
  server_.analyst.names = {"cat", "dog", "fish"};
  server_.analyst.ranks_by_itself = {2, 3};
  const ScratchDirectory scratch;
  const std::string path = scratch.PathOf("vectors");
  std::ofstream(path) << "cat 1 0\ndog 3 4\nfish 0 1\n";
  ApiFacts facts;
  facts.coherence.word_vectors = path;
  const Api api(server_.Channel(), facts);
  HttpRequest request;
  request.path = "/api/choose";
  request.query = {{"run", kRunId}};
  Gathered all;
  api.Handle(request).events(&all);
  std::vector<double> coherences;
  bool chosen = false;
  for (const std::string& event : all.events) {
    const auto message = nlohmann::json::parse(event);
    if (message.contains("coherence")) {
      EXPECT_FALSE(chosen);
      coherences.push_back(message["coherence"]["word2vec"]);
    }
    if (!message.contains("reply")) continue;
    EXPECT_FALSE(message["reply"].contains("words"));
    chosen = chosen || message["reply"].contains("choice");
  }
  ASSERT_EQ(coherences.size(), 2u);
  EXPECT_NEAR(coherences[0], 0.6, 1e-6);
  EXPECT_TRUE(chosen);
  server_.analyst.names.clear();
  EXPECT_THAT(api.Handle(request).body, HasSubstr("features-unnamed"));
  std::filesystem::remove(path);
}

TEST_F(WebApi, WatchSendsEachEventAndThenTheRun) {
  server_.analyst.runs = {SampleRun(kRunId)};
  server_.analyst.events = {SampleEvent(1), SampleEvent(2), SampleEvent(3)};
  Gathered all;
  Get("/api/watch", {{"run", kRunId}, {"after", "1"}}).events(&all);
  ASSERT_EQ(all.events.size(), 3u);
  EXPECT_THAT(all.events[0], StartsWith("{\"event\":{\"cursor\":\"2\""));
  EXPECT_THAT(all.events[2], StartsWith("{\"run\":"));
  EXPECT_EQ(server_.analyst.watch_cursors, std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace dpnmf::cli::web
