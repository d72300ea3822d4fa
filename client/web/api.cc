#include "client/web/api.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/files/model_file.h"
#include "client/flags/run_flags.h"
#include "client/render/names.h"
#include "client/render/position_text.h"
#include "client/session/matched_parts.h"
#include "client/session/model.h"
#include "client/session/run_id.h"
#include "client/web/assets.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/base/trace.h"
#include "common/crypto/sha256.h"
#include "common/plot/uplot.h"
#include "common/privacy/mechanism.h"
#include "common/web/reply.h"
#include "common/wire/json.h"
#include "common/wire/receipt.h"
#include "common/wire/status.h"
#include "nlohmann/json.hpp"

namespace dpnmf::cli::web {
namespace {

using nlohmann::json;

// W that a browser can hold and draw.
constexpr Eigen::Index kMostEntries = Eigen::Index{1} << 24;
constexpr std::size_t kMostForecasts = 32;
// Data sets whose order of pictures is kept.
constexpr std::size_t kMostImageOrders = 1000;

std::optional<HttpReply> PageFile(const std::string& path) {
  return FileAt(path, {{"/", kHtmlType, kIndexPage},
                       {"/uplot.css", kStyleType, kPlotStyle},
                       {"/uplot.js", kScriptType, kPlotScript},
                       {"/app.js", kScriptType, kAppScript},
                       {"/models.js", kScriptType, kModelsScript},
                       {"/data.js", kScriptType, kDataScript},
                       {"/plan.js", kScriptType, kPlanScript},
                       {"/runs.js", kScriptType, kRunsScript},
                       {"/run.js", kScriptType, kRunScript},
                       {"/compare.js", kScriptType, kCompareScript},
                       {"/ledger.js", kScriptType, kLedgerScript}});
}

HttpReply Json(std::string body) { return {.body = std::move(body)}; }

std::string QueryOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

absl::Status Malformed(std::string_view what) {
  return Refusal(absl::StatusCode::kInvalidArgument, "web-call-malformed",
                 absl::StrCat("The page's call has no valid `",
                              std::string(what), "`; correct the field."));
}

// The fields of a call. The first that is not what it should be is `status`.
class Fields {
 public:
  explicit Fields(const std::string& body)
      : object_(json::parse(body, nullptr, /*allow_exceptions=*/false)) {
    if (!object_.is_object()) status_ = Malformed("body");
  }

  const absl::Status& status() const { return status_; }

  std::string Text(const char* name) {
    const json* value = Find(name);
    if (value == nullptr) return "";
    if (value->is_string() &&
        value->get_ref<const std::string&>().size() <= 256)
      return value->get<std::string>();
    Fail(name);
    return "";
  }
  bool Flag(const char* name) {
    const json* value = Find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) Fail(name);
    return value->is_boolean() && value->get<bool>();
  }
  std::optional<std::uint32_t> Whole(const char* name) {
    const json* value = Find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number_unsigned() &&
        value->get<std::uint64_t>() <= 0xffff'ffffu)
      return value->get<std::uint32_t>();
    Fail(name);
    return std::nullopt;
  }
  std::optional<double> Real(const char* name) {
    const json* value = Find(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number() && std::isfinite(value->get<double>()))
      return value->get<double>();
    Fail(name);
    return std::nullopt;
  }
  std::vector<double> Reals(const char* name) {
    const json* value = Find(name);
    std::vector<double> reals;
    if (value == nullptr) return reals;
    if (!value->is_array()) Fail(name);
    if (value->is_array()) {
      for (const json& one : *value) {
        if (!one.is_number()) Fail(name);
        if (one.is_number()) reals.push_back(one.get<double>());
      }
    }
    return reals;
  }

 private:
  // Returns null if the field is missing or null.
  const json* Find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void Fail(const char* name) {
    if (status_.ok()) status_ = Malformed(name);
  }

  const json object_;
  absl::Status status_;
};

// An earlier run whose release W is fitted with, besides; none if empty.
absl::Status AddRunAsPrior(const AnalystClient& client, const std::string& run,
                           google::protobuf::RepeatedPtrField<v1::Prior>* to) {
  if (run.empty()) return absl::OkStatus();
  v1::Prior& prior = *to->Add();
  prior.set_kind(v1::PRIOR_KIND_RUN);
  DPNMF_ASSIGN_OR_RETURN(*prior.mutable_run_id(), ResolveRunId(client, run));
  prior.set_source(prior.run_id());
  return absl::OkStatus();
}

// The form, checked as the flags of `plan` and `train` are. It names no file.
absl::StatusOr<PreparedRun> PreparedOf(const AnalystClient& client,
                                       Fields* fields) {
  RunFlags flags;
  flags.dataset = fields->Text("dataset");
  flags.rank = fields->Whole("rank");
  flags.rounds = fields->Whole("rounds");
  flags.epsilon = fields->Real("epsilon").value_or(0);
  flags.mechanism = fields->Text("mechanism");
  if (flags.mechanism.empty()) flags.mechanism = "auto";
  flags.knobs[KnobOf(&RunParameters::outliers).name] =
      std::string(fields->Flag("outliers") ? "on" : "off");
  flags.seed = fields->Whole("seed").value_or(0);
  flags.even_if_unreliable = fields->Flag("even_if_unreliable");
  const std::string request_id = fields->Text("request_id");
  const std::string prior = fields->Text("prior");
  DPNMF_RETURN_IF_ERROR(fields->status());
  DPNMF_ASSIGN_OR_RETURN(PreparedRun run, PrepareRun(client, flags));
  DPNMF_RETURN_IF_ERROR(
      AddRunAsPrior(client, prior, run.specification.mutable_priors()));
  run.specification.set_request_id(request_id);
  return run;
}

json ReadingsOf(const v1::LedgerPosition& position,
                const v1::Guarantee& guarantee) {
  return {{"guarantee", GuaranteeText(guarantee)},
          {"conversion", NameOf(guarantee.conversion())},
          {"largest_run",
           LargestRunText(position, guarantee.conversion(), guarantee.delta())},
          {"spent_and_reserved",
           SpentAndReservedText(position, guarantee.conversion(),
                                guarantee.delta())}};
}

std::string BudgetJson(const v1::GetBudgetReply& reply) {
  json reading = ReadingsOf(reply.record(), reply.guarantee());
  const v1::Conversion enforced = reply.guarantee().conversion();
  reading["spent"] =
      FormatUp(EnforcedEpsilon(reply.charged_epsilons(), enforced));
  reading["own"] = FormatUp(EnforcedEpsilon(reply.own_epsilons(), enforced));
  return absl::StrCat("{\"reply\":", ToJsonLine(reply),
                      ",\"reading\":", reading.dump(), "}");
}

// Facts of mechanisms that the page asks for, so that it knows none by name.
json FactsOfMechanisms() {
  json facts = json::array();
  for (const Mechanism* mechanism : Mechanisms().rows())
    facts.push_back({{"name", std::string(mechanism->name)},
                     {"summary", std::string(mechanism->summary)},
                     {"can_be_trained", CanBeTrained(*mechanism)},
                     {"gives_parts", GivesParts(*mechanism)},
                     {"fits_moments", mechanism->fits_moments},
                     {"for_ratings", mechanism->for_ratings},
                     {"for_classes", mechanism->for_classes}});
  return facts;
}

// Little-endian: the length of a JSON text in eight bytes, the text (blanks up
// to a multiple of eight), W as floats, by columns.
std::string Packed(const json& header, const Eigen::MatrixXd& w) {
  static_assert(std::endian::native == std::endian::little);
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  const Eigen::MatrixXf floats = w.cast<float>();
  bytes.append(reinterpret_cast<const char*>(floats.data()),
               static_cast<std::size_t>(floats.size()) * sizeof(float));
  return bytes;
}

}  // namespace

Api::Api(std::shared_ptr<grpc::Channel> channel, ApiFacts facts)
    : client_(channel), live_(channel), facts_(std::move(facts)) {}

HttpReply Api::Handle(const HttpRequest& request) const {
  const TraceScope trace(NewTrace());
  if (request.method != "POST") {
    std::optional<HttpReply> file = PageFile(request.path);
    if (file.has_value()) return *std::move(file);
  }
  const auto reply = Call(request);
  return reply.ok() ? *reply : RefusedReply(reply.status());
}

absl::StatusOr<HttpReply> Api::Call(const HttpRequest& request) const {
  const std::string name =
      absl::StrCat(request.method == "POST" ? "POST " : "GET ", request.path);
  const std::string run = QueryOf(request, "run");
  if (name == "GET /api/facts") return Facts();
  if (name == "POST /api/image-order") return SetImageOrder(request.body);
  if (name == "GET /api/datasets") {
    DPNMF_ASSIGN_OR_RETURN(const auto datasets, client_.ListDatasets());
    return Json(ToJsonLine(datasets));
  }
  if (name == "GET /api/budget") {
    DPNMF_ASSIGN_OR_RETURN(const auto budget,
                           client_.GetBudget(QueryOf(request, "dataset")));
    return Json(BudgetJson(budget));
  }
  if (name == "POST /api/plan") return Plan(request.body);
  if (name == "POST /api/forecast") return Forecast(request.body);
  if (name == "POST /api/start") return Start(request.body);
  if (name == "GET /api/runs") {
    DPNMF_ASSIGN_OR_RETURN(const auto runs, client_.ListRuns());
    return Json(ToJsonLine(runs));
  }
  if (name == "GET /api/run") {
    DPNMF_ASSIGN_OR_RETURN(const std::string id, ResolveRunId(client_, run));
    DPNMF_ASSIGN_OR_RETURN(const auto found, client_.GetRun(id));
    return Json(ToJsonLine(found));
  }
  if (name == "GET /api/watch") return Watch(run, QueryOf(request, "after"));
  if (name == "POST /api/cancel") {
    Fields fields(request.body);
    const std::string id = fields.Text("run");
    DPNMF_RETURN_IF_ERROR(fields.status());
    DPNMF_ASSIGN_OR_RETURN(const auto cancelled, client_.CancelRun(id));
    return Json(ToJsonLine(cancelled));
  }
  if (name == "GET /api/model") return Model(run);
  if (name == "GET /api/model.csv") return ModelCsv(run);
  if (name == "GET /api/errors") return Stream(&LiveCalls::StandardErrors, run);
  if (name == "GET /api/parts") return Stream(&LiveCalls::Parts, run);
  if (name == "GET /api/compare")
    return Compare(run, QueryOf(request, "other"));
  if (name == "GET /api/receipts" || name == "GET /api/receipts.jsonl")
    return Receipts(QueryOf(request, "dataset"),
                    name == "GET /api/receipts.jsonl");
  if (name == "POST /api/refit") return Refit(request.body);
  if (name == "GET /api/choose") return Choose(run);
  return Refusal(absl::StatusCode::kNotFound, "web-call-unknown",
                 "There is no such page; go back to the start.");
}

HttpReply Api::Facts() const {
  MutexLock lock(&mutex_);
  return Json(json{{"version", facts_.version},
                   {"server", facts_.server},
                   {"image_width", facts_.image_width},
                   {"image_order", facts_.image_order},
                   {"image_orders", image_orders_},
                   {"mechanisms", FactsOfMechanisms()}}
                  .dump());
}

absl::StatusOr<HttpReply> Api::SetImageOrder(const std::string& body) const {
  Fields fields(body);
  const std::string dataset = fields.Text("dataset");
  const std::string order = fields.Text("order");
  DPNMF_RETURN_IF_ERROR(fields.status());
  if (order != "row" && order != "column") return Malformed("order");
  MutexLock lock(&mutex_);
  if (image_orders_.size() >= kMostImageOrders &&
      !image_orders_.contains(dataset))
    image_orders_.erase(image_orders_.begin());
  image_orders_[dataset] = order;
  return Json("{}");
}

absl::StatusOr<HttpReply> Api::Plan(const std::string& body) const {
  Fields fields(body);
  DPNMF_ASSIGN_OR_RETURN(const PreparedRun run, PreparedOf(client_, &fields));
  DPNMF_ASSIGN_OR_RETURN(const auto plan, client_.PlanRun(run.specification));
  json reading = ReadingsOf(plan.position(), plan.guarantee());
  reading["price"] = FormatUp(
      EnforcedEpsilon(plan.plan().epsilons(), plan.guarantee().conversion()));
  reading["total_after"] = FormatUp(
      EnforcedEpsilon(plan.epsilons_after(), plan.guarantee().conversion()));
  return Json(absl::StrCat("{\"reply\":", ToJsonLine(plan),
                           ",\"reading\":", reading.dump(), "}"));
}

// The parts to rely on at several epsilons. The curve ends where a plan is
// refused.
absl::StatusOr<HttpReply> Api::Forecast(const std::string& body) const {
  Fields fields(body);
  const std::vector<double> epsilons = fields.Reals("epsilons");
  DPNMF_ASSIGN_OR_RETURN(PreparedRun run, PreparedOf(client_, &fields));
  if (epsilons.empty() || epsilons.size() > kMostForecasts)
    return Malformed("epsilons");
  json points = json::array();
  for (const double epsilon : epsilons) {
    run.specification.mutable_parameters()->set_epsilon(epsilon);
    const auto plan = client_.PlanRun(run.specification);
    if (IsConnectionFailure(plan.status())) return plan.status();
    if (!plan.ok() || !plan->has_forecast()) continue;
    points.push_back({{"epsilon", epsilon},
                      {"reliable_parts", plan->forecast().reliable_parts()},
                      {"most_directions", plan->forecast().most_directions()}});
  }
  return Json(json{{"points", points}}.dump());
}

absl::StatusOr<HttpReply> Api::Start(const std::string& body) const {
  Fields fields(body);
  DPNMF_ASSIGN_OR_RETURN(const PreparedRun run, PreparedOf(client_, &fields));
  DPNMF_ASSIGN_OR_RETURN(const auto started,
                         client_.StartRun(run.specification, run.dictionary));
  return Json(ToJsonLine(started));
}

// W of the run, if a page can hold it.
absl::StatusOr<cli::Model> Api::ModelOf(const std::string& run_id) const {
  DPNMF_ASSIGN_OR_RETURN(cli::Model model, client_.GetModel(run_id));
  DPNMF_RETURN_IF_ERROR(CheckIsDictionary(model));
  if (model.w.size() > kMostEntries) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "model-too-large",
                   absl::StrCat("W has ", model.w.size(),
                                " entries, too many for a page: write it with "
                                "`dpnmf model ",
                                ShortRunId(run_id), " --output W.npy`."));
  }
  return model;
}

absl::StatusOr<HttpReply> Api::Model(const std::string& run_id) const {
  DPNMF_ASSIGN_OR_RETURN(const cli::Model model, ModelOf(run_id));
  return HttpReply{.content_type = "application/octet-stream",
                   .body = Packed({{"rows", model.w.rows()},
                                   {"columns", model.w.cols()},
                                   {"rounds_done", model.header.rounds_done()},
                                   {"names", model.names}},
                                  model.w)};
}

// The file that `dpnmf model --output W.csv` writes, and the round of its W.
absl::StatusOr<HttpReply> Api::ModelCsv(const std::string& run_id) const {
  DPNMF_ASSIGN_OR_RETURN(const cli::Model model, ModelOf(run_id));
  NamesOfTable names;
  if (!model.names.empty())
    names = {.columns = NamesOfParts(model.w.cols()), .rows = model.names};
  return HttpReply{
      .content_type = "text/csv",
      .body = CsvText(model.w, names),
      .headers = {{"X-Dpnmf-Round", absl::StrCat(model.header.rounds_done())}}};
}

absl::StatusOr<HttpReply> Api::Compare(const std::string& first,
                                       const std::string& second) const {
  DPNMF_ASSIGN_OR_RETURN(const auto report,
                         CompareRuns(client_, first, second));
  return Json(ToJsonLine(report));
}

absl::StatusOr<HttpReply> Api::Receipts(const std::string& dataset,
                                        bool as_lines) const {
  DPNMF_ASSIGN_OR_RETURN(const auto receipts, client_.GetReceipts(dataset));
  std::string text;
  for (const v1::Receipt& receipt : receipts) {
    if (as_lines) {
      text += LineOf(receipt);
      continue;
    }
    const absl::Status good = CheckReceipt(receipt);
    const auto key = KeyOf(receipt);
    absl::StrAppend(&text, text.empty() ? "" : ",",
                    "{\"receipt\":", ToJsonLine(receipt),
                    ",\"signature_good\":", good.ok() ? "true" : "false",
                    ",\"key\":\"", key.has_value() ? HexOf(*key) : "", "\"}");
  }
  if (as_lines)
    return HttpReply{.content_type = "application/jsonl",
                     .body = std::move(text)};
  return Json(absl::StrCat("{\"receipts\":[", text, "]}"));
}

absl::StatusOr<HttpReply> Api::Refit(const std::string& body) const {
  Fields fields(body);
  v1::Refit refit;
  refit.set_run_id(fields.Text("run"));
  refit.set_rank(fields.Whole("rank").value_or(0));
  refit.mutable_learner()->set_initialisation(v1::INITIALISATION_RANDOM);
  refit.mutable_learner()->set_seed(fields.Whole("seed").value_or(0));
  // If empty, the priors of the run.
  const std::string prior = fields.Text("prior");
  refit.set_without_priors(prior == "none");
  DPNMF_RETURN_IF_ERROR(fields.status());
  if (!refit.without_priors()) {
    DPNMF_RETURN_IF_ERROR(
        AddRunAsPrior(client_, prior, refit.mutable_priors()));
  }
  DPNMF_ASSIGN_OR_RETURN(const auto run, client_.RefitRun(refit, {}));
  return Json(ToJsonLine(run));
}

HttpReply Api::Watch(const std::string& run_id,
                     const std::string& after) const {
  std::uint64_t cursor = 0;
  if (!absl::SimpleAtoi(after, &cursor)) cursor = 0;
  return {.events = [this, run_id, cursor](EventWriter* writer) {
    live_.Watch(run_id, cursor, writer);
  }};
}

absl::StatusOr<HttpReply> Api::Choose(const std::string& run_id) const {
  v1::ChooseRankRequest request;
  request.set_run_id(run_id);
  std::shared_ptr<const PublicText> text;
  if (facts_.coherence.any()) {
    DPNMF_ASSIGN_OR_RETURN(const cli::Model model, client_.GetModel(run_id));
    DPNMF_ASSIGN_OR_RETURN(PublicText loaded,
                           PublicText::Load(facts_.coherence, model.names));
    text = std::make_shared<const PublicText>(std::move(loaded));
    request.set_words(facts_.coherence.words);
  }
  return HttpReply{.events = [this, request, text](EventWriter* writer) {
    live_.ChooseRank(request, text.get(), writer);
  }};
}

HttpReply Api::Stream(void (LiveCalls::*call)(const std::string&, EventWriter*)
                          const,
                      const std::string& run_id) const {
  return {.events = [this, call, run_id](EventWriter* writer) {
    (live_.*call)(run_id, writer);
  }};
}

}  // namespace dpnmf::cli::web
