// Files that come from another machine, another program or a person's editor:
// paid class releases, drafts of tables, records of parts of a data set,
// weights, graphs and rows of features, tables of the research program. Each is
// refused in one sentence, or is read back as it was written.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/feature_rows.h"
#include "curator/draft/class_release.h"
#include "curator/draft/draft.h"
#include "curator/import/part.h"
#include "curator/import/readers/feature_weights.h"
#include "lab/tables/table.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::handed_files {
namespace {

namespace fs = std::filesystem;
using curator::ClassRelease;
using curator::Draft;

const OneFile& Files() {
  static const OneFile files;
  return files;
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// ---------------------------------------------------------- class releases

ClassRelease SmallRelease() {
  ClassRelease release;
  release.facts.name = "d";
  release.facts.population = "p";
  release.facts.features = 1;
  release.facts.users = 30;
  release.facts.classes = ClassFacts{.names = {"one", "other"}};
  release.facts.max_rank = release.facts.max_rounds = 1;
  RunParameters parameters;
  parameters.dataset = "d";
  parameters.rank = parameters.rounds = 1;
  parameters.epsilon = release.epsilon = 1;
  parameters.delta = release.delta = 1e-5;
  parameters.mechanism = "class_moments";
  const RunPlan plan = PlanRun(parameters, release.facts).value();
  release.data_bits = plan.data_bits;
  release.stddev_steps = plan.stages[0].parts[0].stddev_steps;
  release.sums = {9, 2, 2, 7, -1, 4, 4, 8};
  release.charge = release.receipt = nlohmann::ordered_json::object();
  return release;
}

void TryClassRelease(std::string_view text) {
  const auto release = curator::ClassReleaseOfJson(text);
  if (!release.ok()) {
    Count("class release: " + ReasonCode(release.status()));
    DemandRefusal(release.status());
    return;
  }
  Count("class release");
  const std::uint64_t side = release->facts.features + 1;
  Demand(release->facts.classes.has_value() &&
             release->sums.size() ==
                 side * side * release->facts.classes->names.size(),
         "sums that do not fit the classes");
  const std::string written = ToJson(*release);
  const auto again = curator::ClassReleaseOfJson(written);
  Demand(again.ok() && ToJson(*again) == written,
         "a class release that is not read back as it was written");
}

// ------------------------------------------------------------------ drafts

Draft SmallDraft() {
  Draft draft;
  draft.kind = curator::DraftKind::kCompleted;
  draft.method = "svd";
  draft.parameters = {{"rank", 7}, {"weights", {0.2, 0, 0.8}}};
  draft.attacks = {{"linked", 0.04}};
  draft.largest_linkage = 0.0625;
  curator::PeopleCollector people(curator::FingerprintKey{1});
  people.AddId("ann");
  people.AddRow(std::vector<float>{1, 2});
  draft.people = people.Finish();
  return draft;
}

constexpr char kTable[] = "a,b\n1,2\n";

// The directory of a sound draft, and the text of its draft.json.
struct SoundDraft {
  std::string directory = Files().directory() + "/draft";
  std::string json, people;
  SoundDraft() {
    Demand(WriteDraft(directory, SmallDraft(), kTable).ok(), "no draft");
    json = ContentOf(directory + "/draft.json");
    people = ContentOf(directory + "/people.bin");
  }
};

const SoundDraft& Sound() {
  static const SoundDraft sound;
  return sound;
}

// Reads and puts the sound files back.
void TryDraft(std::string_view json, std::string_view people) {
  const std::string& directory = Sound().directory;
  Files().Write("draft/draft.json", json);
  Files().Write("draft/people.bin", people);
  const auto stored = curator::ReadDraft(directory);
  if (!stored.ok()) {
    Count("draft: " + ReasonCode(stored.status()));
    DemandRefusal(stored.status());
    return;
  }
  Count(stored->draft.people.has_value() ? "draft with people" : "draft");
  Demand(stored->table_csv == kTable, "a table of another hash");
  const auto& linkage = stored->draft.largest_linkage;
  Demand(!linkage.has_value() || (*linkage >= 0 && *linkage <= 1),
         "a share out of range");
  const std::string again = Files().directory() + "/again";
  fs::remove_all(again);
  Demand(WriteDraft(again, stored->draft, stored->table_csv).ok(),
         "a draft that cannot be written");
  const auto read = curator::ReadDraft(again);
  Demand(read.ok() && read->draft.people == stored->draft.people &&
             read->draft.parameters == stored->draft.parameters &&
             read->draft.charge == stored->draft.charge,
         "a draft that is not read back as it was written");
}

// people.bin, with its hash put right.
void TryPeople(std::string_view bytes) {
  std::string json = Sound().json;
  const std::string before = HexOf(
      Sha256().AddBytes(std::as_bytes(std::span(Sound().people))).Finish());
  const std::size_t at = json.find(before);
  Demand(at != std::string::npos, "draft.json has no hash of people.bin");
  json.replace(
      at, before.size(),
      HexOf(Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish()));
  TryDraft(json, bytes);
}

// --------------------------------------------------------- records of parts

curator::ImportOptions PartOptions() {
  curator::ImportOptions options;
  options.data_dir = Files().directory() + "/data";
  options.name = std::string("p");
  return options;
}

// The record of the first two people of four, without its check.
const std::string& SoundRecord() {
  static const auto& body = *new std::string([] {
    curator::ImportOptions options = PartOptions();
    fs::create_directories(options.data_dir);
    Files().Write("data/fingerprint.key", std::string(32, 'k'));
    options.input = Files().Write("in.csv", "x,y\n1,2\n3,4\n");
    options.users_are_rows = true;
    options.population = std::string("p");
    options.epsilon = 8;
    options.delta = 1e-5;
    options.shard_of = curator::ParsePartRange("1-2/2").value();
    const auto part = ImportPart(options);
    Demand(part.ok(), "no part: " + part.status().ToString());
    std::string bytes = ContentOf(part->record);
    bytes.resize(bytes.size() - sizeof(Digest));
    return bytes;
  }());
  return body;
}

void TryRecord(std::string_view body) {
  std::string bytes(body);
  const Digest check =
      Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
  bytes.append(reinterpret_cast<const char*>(check.data()), check.size());
  static_cast<void>(SoundRecord());
  Files().Write("data/parts/p/1-2.part", bytes);
  curator::ImportOptions options = PartOptions();
  if (const auto taken = curator::TakeDeclarationOfParts(&options);
      !taken.ok()) {
    Count("part: " + ReasonCode(taken));
    DemandRefusal(taken);
    return;
  }
  const auto parts = curator::LoadParts(options);
  if (!parts.ok()) {
    Count("parts: " + ReasonCode(parts.status()));
    DemandRefusal(parts.status());
    return;
  }
  Count("part");
}

// ------------------------------------------------------------- small texts

void TryWeights(FuzzInput* bytes) {
  const bool named = bytes->Bit();
  const std::vector<std::string> names =
      named ? std::vector<std::string>{"x", "y", "z z"}
            : std::vector<std::string>{};
  const std::string path = Files().Write("weights", bytes->Rest());
  const auto weights = curator::LoadFeatureWeights(path, names, 3);
  if (!weights.ok()) {
    Count("weights: " + ReasonCode(weights.status()));
    DemandRefusal(weights.status());
    return;
  }
  Count("weights");
  Demand(weights->size() == 3, "another number of weights");
  for (const double weight : *weights) {
    Demand(weight == 0 || (weight >= curator::kLeastFeatureWeight &&
                           weight <= curator::kLargestFeatureWeight),
           "a weight out of range");
  }
  curator::DatasetDescription description;
  description.features = 3;
  description.weighted_features = true;
  fs::remove(Files().directory() + "/weights.txt");
  curator::DatasetWriter writer(Files().directory(), {});
  Demand(curator::WriteFeatureWeights(&writer, *weights).ok(),
         "weights that cannot be written");
  const auto again =
      curator::ReadFeatureWeights(Files().directory(), description);
  Demand(again.ok() && *again == *weights,
         "weights that are not read back as they were written");
}

// Reads weights as a data set's directory holds them.
void TryStoredWeights(std::string_view text) {
  Files().Write("weights.txt", text);
  curator::DatasetDescription description;
  description.features = 3;
  description.weighted_features = true;
  const auto weights =
      curator::ReadFeatureWeights(Files().directory(), description);
  if (!weights.ok()) {
    Count("stored weights: " + ReasonCode(weights.status()));
    DemandRefusal(weights.status());
    return;
  }
  Count("stored weights");
  Demand(weights->size() == 3, "another number of stored weights");
}

void TryGraph(std::string_view text) {
  const auto graph = ReadFeatureGraph(Files().Write("graph", text));
  if (!graph.ok()) {
    Count("graph: " + ReasonCode(graph.status()));
    DemandRefusal(graph.status());
    return;
  }
  Count("graph");
  Demand(graph->size() % 2 == 0, "an edge with one end");
}

void TryRows(std::string_view text) {
  constexpr std::size_t kMost = 8;
  const auto rows = ReadFeatureRows(Files().Write("rows", text), kMost);
  if (!rows.ok()) {
    Count("rows: " + ReasonCode(rows.status()));
    DemandRefusal(rows.status());
    return;
  }
  Count("rows");
  Demand(!rows->empty() && rows->size() <= kMost &&
             std::adjacent_find(rows->begin(), rows->end(),
                                std::greater_equal<>()) == rows->end(),
         "rows that do not ascend");
}

// --------------------------------------------------- tables of the research

void TryTable(FuzzInput* bytes) {
  using curator::lab::Table;
  curator::lab::TableOptions options;
  const std::uint8_t flags = bytes->Byte();
  options.users_are_rows = (flags & 1) == 0;
  if ((flags & 2) != 0) options.header = (flags & 4) != 0;
  if ((flags & 8) != 0) options.class_column = 1 + (flags >> 6);
  if ((flags & 16) != 0) options.id_column = 1 + (flags >> 7);
  options.refuse_negative = (flags & 32) != 0;
  const std::string path = Files().Write(
      (flags & 64) != 0 ? "table.npy" : "table.csv", bytes->Rest());
  const auto table = curator::lab::ReadTable(path, options);
  if (!table.ok()) {
    Count("table: " + ReasonCode(table.status()));
    DemandRefusal(table.status());
    return;
  }
  Count("table");
  const auto fits = [&](const std::vector<std::string>& names,
                        Eigen::Index count) {
    return names.empty() || names.size() == static_cast<std::size_t>(count);
  };
  Demand(table->values.allFinite(), "an entry that is not finite");
  Demand(!options.refuse_negative || table->values.size() == 0 ||
             table->values.minCoeff() >= 0,
         "a negative entry");
  Demand(fits(table->columns, table->values.cols()) &&
             fits(table->ids, table->people()) &&
             fits(table->classes, table->people()),
         "names that do not fit the table");
}

// ------------------------------------------------------------------ inputs

enum Kind : char {
  kClassRelease,
  kDraftJson,
  kPeople,
  kRecord,
  kWeights,
  kStoredWeights,
  kGraph,
  kRows,
  kTables,
  kKinds
};

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  const auto add = [&](Kind kind, const std::string& content) {
    seeds.push_back(std::string(1, kind) + content);
  };
  ClassRelease release = SmallRelease();
  add(kClassRelease, ToJson(release));
  release.facts.range = EntryRange{.low = 0, .high = 1, .integers = true};
  release.facts.classes->sizes = {10, 20};
  add(kClassRelease, ToJson(release));
  release.features = {"height"};
  add(kClassRelease, ToJson(release));
  release.sums.pop_back();
  add(kClassRelease, ToJson(release));
  add(kDraftJson, Sound().json);
  add(kPeople, Sound().people);
  std::string without_people = Sound().json;
  const std::size_t people = without_people.find("\"people_sha256\":");
  const std::size_t hash = without_people.find('"', people + 16);
  without_people.replace(hash, 2 + 64, "null");
  add(kDraftJson, without_people);
  add(kRecord, SoundRecord());
  // Counts of the head at the ends of 64 bits.
  for (const char* field : {"\"first\":", "\"columns\":", "\"whole\":",
                            "\"people_bytes\":", "\"nonzeros\":"}) {
    std::string record = SoundRecord();
    const std::size_t at = record.find(field) + std::string(field).size();
    record.replace(at, record.find(',', at) - at, "18446744073709551615");
    add(kRecord, record);
  }
  const std::string byte[] = {std::string(1, '\0'), std::string(1, '\1')};
  add(kWeights, byte[0] + "1\n0\n2.5e-3\n");
  add(kWeights, byte[1] + "name,weight\nx,1\nz z,2\ny,1e12\n");
  add(kWeights, byte[1] + "x\t1\ny\t-1\nz z\tnan\n");
  add(kStoredWeights, "1\n0\n2.5\n");
  add(kStoredWeights, "1\n2.5\n");
  add(kGraph, "# edges\n0 1\n1,2\n\n2\t0\r\n");
  add(kGraph, "0 1 2\n");
  add(kRows, "# rows\n5, 2\n0\n");
  add(kRows, "1 1\n");
  add(kTables, byte[0] + "a,b\n1,2\n-3,4e2\n");
  add(kTables, std::string(1, 8) + "c,a\nyes,2\nno,4\n");
  add(kTables, std::string(1, 1) + "1;2;3\n4;5;6\n");
  add(kTables, std::string(1, 32) + "1 -2\n3 4\n");
  add(kTables, std::string(1, 16) + "id,a\nann,2\nbob,4\n");
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"class release",
          "class release: class-release-damaged",
          "draft",
          "draft with people",
          "draft: draft-damaged",
          "part",
          "part: part-damaged",
          "weights",
          "weights: input-not-a-number",
          "weights: features-mismatch",
          "stored weights",
          "stored weights: dataset-damaged",
          "graph",
          "graph: feature-graph-invalid",
          "rows",
          "rows: feature-rows-malformed",
          "table",
          "table: input-not-a-number"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  FuzzInput bytes(data, size);
  switch (bytes.Byte() % kKinds) {
    case kClassRelease:
      return TryClassRelease(bytes.Rest());
    case kDraftJson:
      return TryDraft(bytes.Rest(), Sound().people);
    case kPeople:
      return TryPeople(bytes.Rest());
    case kRecord:
      return TryRecord(bytes.Rest());
    case kWeights:
      return TryWeights(&bytes);
    case kStoredWeights:
      return TryStoredWeights(bytes.Rest());
    case kGraph:
      return TryGraph(bytes.Rest());
    case kRows:
      return TryRows(bytes.Rest());
    default:
      return TryTable(&bytes);
  }
}

[[maybe_unused]] const bool kRegistered =
    Register({"handed_files", 20'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::handed_files
