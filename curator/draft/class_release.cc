#include "curator/draft/class_release.h"

#include <exception>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/whole_number.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/mechanism.h"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormatName[] = "dpnmf class moments";
constexpr std::uint64_t kFormatVersion = 1;

absl::Status Damaged(const std::string& problem) {
  return Refusal(absl::StatusCode::kDataLoss, "class-release-damaged",
                 absl::StrCat("The file is not a release of class moments that "
                              "this program can read: ",
                              problem,
                              "; write it again with `dpnmf-curator "
                              "synthesise`, which costs nothing."));
}

// Cap on the size of data_bits in a file; above that of any lattice.
constexpr int kMostBits = 1'000;

std::uint64_t WholeNumber(const Json& json, const char* key) {
  return WholeNumberOf(json.at(key));
}

Json JsonOfDataset(const ClassRelease& release) {
  const DatasetFacts& facts = release.facts;
  Json json = {{"name", facts.name},
               {"population", facts.population},
               {"features", facts.features},
               {"users", facts.users},
               {"column_bound", facts.column_bound},
               {"adjacency", std::string(NameOf(facts.adjacency))},
               {"conversion", std::string(NameOf(facts.conversion))},
               {"classes", facts.classes->names},
               {"class_sizes", facts.classes->sizes},
               {"labels_public", !facts.classes->sizes.empty()},
               {"feature_names", release.features}};
  if (facts.range.has_value()) {
    json["range"] = {{"low", facts.range->low},
                     {"high", facts.range->high},
                     {"integers", facts.range->integers}};
  }
  return json;
}

DatasetFacts DatasetOfJson(const Json& json) {
  DatasetFacts facts;
  facts.name = json.at("name").get<std::string>();
  facts.population = json.at("population").get<std::string>();
  facts.features = WholeNumber(json, "features");
  facts.users = WholeNumber(json, "users");
  facts.column_bound = json.at("column_bound").get<double>();
  const auto adjacency =
      AdjacencyOfName(json.at("adjacency").get<std::string>());
  const auto conversion =
      ConversionOfName(json.at("conversion").get<std::string>());
  if (!adjacency.has_value() || !conversion.has_value())
    throw std::invalid_argument("its guarantee has another name");
  facts.adjacency = *adjacency;
  facts.conversion = *conversion;
  facts.classes.emplace();
  facts.classes->names = json.at("classes").get<std::vector<std::string>>();
  for (const Json& size : json.at("class_sizes"))
    facts.classes->sizes.push_back(
        size.get_ref<const Json::number_unsigned_t&>());
  if (json.at("labels_public").get<bool>() == facts.classes->sizes.empty())
    throw std::invalid_argument("its class sizes and labels_public differ");
  if (json.contains("range")) {
    const Json& range = json.at("range");
    facts.range = {.low = range.at("low").get<double>(),
                   .high = range.at("high").get<double>(),
                   .integers = range.at("integers").get<bool>()};
  }
  facts.max_rank = facts.max_rounds = 1;
  return facts;
}

// Throws what is wrong.
ClassRelease Decoded(const Json& json) {
  if (json.at("format").get<std::string>() != kFormatName ||
      WholeNumber(json, "format_version") != kFormatVersion)
    throw std::invalid_argument("it has another format or version");
  ClassRelease release;
  release.facts = DatasetOfJson(json.at("dataset"));
  release.features =
      json.at("dataset").at("feature_names").get<std::vector<std::string>>();
  release.epsilon = json.at("epsilon").get<double>();
  release.delta = json.at("delta").get<double>();
  const Json& values = json.at("release");
  const Json& bits = values.at("data_bits");
  if (!bits.is_number_integer() || bits < -kMostBits || bits > kMostBits)
    throw std::invalid_argument("its lattice is not a whole number in range");
  release.data_bits = bits.get<int>();
  release.stddev_steps = WholeNumber(values, "stddev_steps");
  for (const Json& entry : values.at("sums")) {
    if (!entry.is_number_integer())
      throw std::invalid_argument("a sum is not a whole number");
    release.sums.push_back(entry.get<std::int64_t>());
  }
  release.charge = json.at("charge");
  release.receipt = json.at("receipt");
  return release;
}

}  // namespace

Digest HashOfSums(const std::vector<std::int64_t>& sums) {
  Sha256 hash;
  for (const std::int64_t sum : sums)
    hash.AddInteger(static_cast<std::uint64_t>(sum));
  return hash.Finish();
}

std::string ToJson(const ClassRelease& release) {
  const Json json = {{"format", kFormatName},
                     {"format_version", kFormatVersion},
                     {"dataset", JsonOfDataset(release)},
                     {"epsilon", release.epsilon},
                     {"delta", release.delta},
                     {"charge", release.charge},
                     {"receipt", release.receipt},
                     {"release",
                      {{"data_bits", release.data_bits},
                       {"stddev_steps", release.stddev_steps},
                       {"sums", release.sums}}}};
  return json.dump() + "\n";
}

absl::StatusOr<ClassRelease> ClassReleaseOfJson(std::string_view text) {
  ClassRelease release;
  try {
    release = Decoded(Json::parse(text));
  } catch (const std::exception& problem) {
    return Damaged(problem.what());
  }
  // The plan of the same request says what the file must hold.
  RunParameters parameters;
  parameters.rank = parameters.rounds = 1;
  parameters.epsilon = release.epsilon;
  parameters.delta = release.delta;
  parameters.mechanism = kClassMomentsMechanism.name;
  parameters.adjacency = release.facts.adjacency;
  parameters.conversion = release.facts.conversion;
  const absl::StatusOr<RunPlan> plan = PlanRun(parameters, release.facts);
  if (!plan.ok()) return Damaged("its declared facts are out of range");
  const PartPlan& part = plan->stages.at(0).parts.at(0);
  if (release.data_bits != plan->data_bits ||
      release.stddev_steps != part.stddev_steps ||
      release.sums.size() != ClassEntriesOf(release.facts) ||
      (!release.features.empty() &&
       release.features.size() != release.facts.features) ||
      !release.charge.is_object())
    return Damaged("its parts do not fit each other");
  return release;
}

}  // namespace dpnmf::curator
