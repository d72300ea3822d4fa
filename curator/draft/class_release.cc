#include "curator/draft/class_release.h"

#include <exception>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/mechanism.h"
#include "curator/data/description.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

absl::Status Damaged(const std::string& problem) {
  return Refusal(absl::StatusCode::kDataLoss, "class-release-damaged",
                 absl::StrCat("The file is not a release of class moments that "
                              "this program can read: ",
                              problem,
                              "; write it again with `dpnmf-curator "
                              "synthesise`, which costs nothing."));
}

void ListDataset(JsonFields& json, ClassRelease& release) {
  DatasetFacts& facts = release.facts;
  if (!facts.classes.has_value()) facts.classes.emplace();
  json.Required("name", facts.name);
  json.Required("population", facts.population);
  json.Required("features", facts.features);
  json.Required("users", facts.users);
  json.Required("column_bound", facts.column_bound);
  json.Named("adjacency", facts.adjacency, NameOf(facts.adjacency),
             AdjacencyOfName);
  json.Named("conversion", facts.conversion, NameOf(facts.conversion),
             ConversionOfName);
  json.Required("classes", facts.classes->names);
  json.Required("class_sizes", facts.classes->sizes);
  bool labels_public = !facts.classes->sizes.empty();
  json.Required("labels_public", labels_public);
  if (labels_public == facts.classes->sizes.empty())
    throw std::invalid_argument("its class sizes and labels_public differ");
  json.Required("feature_names", release.features);
  json.Object("range", facts.range, ListRange);
}

void ListSums(JsonFields& json, ClassRelease& release) {
  json.Required("data_bits", release.data_bits);
  json.Required("stddev_steps", release.stddev_steps);
  json.Required("sums", release.sums);
}

void ListRelease(JsonFields& json, ClassRelease& release) {
  json.Version("format", std::string("dpnmf class moments"));
  json.Version("format_version", 1);
  json.Object("dataset", release, ListDataset);
  json.Required("epsilon", release.epsilon);
  json.Required("delta", release.delta);
  json.Required("charge", release.charge);
  json.Required("receipt", release.receipt);
  json.Object("release", release, ListSums);
}

}  // namespace

Digest HashOfSums(const std::vector<std::int64_t>& sums) {
  Sha256 hash;
  for (const std::int64_t sum : sums)
    hash.AddInteger(static_cast<std::uint64_t>(sum));
  return hash.Finish();
}

std::string ToJson(const ClassRelease& release) {
  return JsonFields::Write(release, ListRelease).dump() + "\n";
}

absl::StatusOr<ClassRelease> ClassReleaseOfJson(std::string_view text) {
  ClassRelease release;
  try {
    release = JsonFields::Read(FileJson::parse(text), ListRelease);
  } catch (const std::exception& problem) {
    return Damaged(problem.what());
  }
  release.facts.max_rank = release.facts.max_rounds = 1;
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
