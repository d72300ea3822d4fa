// Damaged files of both parties: stored releases, data sets, and the analyst's
// runs. Each is refused with DATA_LOSS or another code, or read as what it
// says; never more than the files hold.
#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

#include "SQLiteCpp/SQLiteCpp.h"
#include "analyst/store/run_store.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/files/npy.h"
#include "curator/data/dataset.h"
#include "curator/data/description.h"
#include "curator/data/shards.h"
#include "curator/gate/release_store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::stored_state {
namespace {

template <typename Value>
bool Read(const std::string& what, const absl::StatusOr<Value>& value) {
  Count(what + (value.ok() ? " read" : " refused"));
  if (!value.ok()) DemandRefusal(value.status());
  return value.ok();
}

// ------------------------------------------------------- a stored release

std::string WithDigest(std::string bytes) {
  const Digest digest =
      Sha256().AddBytes(std::as_bytes(std::span(bytes))).Finish();
  return bytes + std::string(digest.begin(), digest.end());
}

curator::StoredRelease SomeRelease() {
  curator::StoredRelease release;
  release.round = 3;
  release.cost = MuSquared::FromUnits(12345);
  NoisedMatrix a;
  a.name = "A";
  a.rows = a.columns = 2;
  a.symmetric = true;
  a.step_exponent = -40;
  a.lattice = {1, -2, 3};
  NoisedMatrix gradient;
  gradient.name = "gradient";
  gradient.rows = 2;
  gradient.columns = 1;
  gradient.is_lattice = false;
  gradient.reals = {0.5, -1};
  release.parts = {a, gradient};
  return release;
}

// The digest of the damaged bytes is set right: what follows it is looked at.
void FuzzRelease(FuzzInput* bytes, const OneFile&) {
  const bool with_digest = !bytes->Bit();
  std::string content(bytes->Rest());
  if (with_digest) content = WithDigest(std::move(content));
  const auto release = curator::DecodeRelease(content);
  if (!Read("release", release)) return;
  Demand(EncodeRelease(*release) == content, "a release that is not read back");
}

// ------------------------------------------------------------- a data set

constexpr int kFeatures = 3, kUsers = 4;

curator::StoredDescription Described(bool sparse) {
  curator::StoredDescription stored;
  stored.description.name = "digits";
  stored.description.population = "people";
  stored.description.features = kFeatures;
  stored.description.users = kUsers;
  stored.description.epsilon = 1;
  stored.description.delta = 1e-5;
  stored.description.sparse = sparse;
  return stored;
}

template <typename T>
std::string ArrayFile(const char* dtype, std::vector<std::uint64_t> shape,
                      const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = true;
  header.shape = std::move(shape);
  return NpyHeaderBytes(header) +
         std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

std::vector<std::string> ArraysOf(bool sparse) {
  if (!sparse) {
    return {ArrayFile<float>("<f4", {kFeatures, kUsers},
                             std::vector<float>(kFeatures * kUsers, 0.25f))};
  }
  return {ArrayFile<float>("<f4", {5}, {1, 0.5f, 0.5f, 0.25f, 1}),
          ArrayFile<std::int32_t>("<i4", {5}, {0, 0, 2, 1, 2}),
          ArrayFile<std::int64_t>("<i8", {kUsers + 1}, {0, 1, 3, 3, 5})};
}

// Kind, which file, its content in place of the good one.
void FuzzDataset(FuzzInput* bytes, const OneFile& files) {
  constexpr const char* kDense[] = {"values.npy"};
  constexpr const char* kSparse[] = {"data.npy", "indices.npy", "indptr.npy"};
  const bool sparse = bytes->Bit();
  const std::uint8_t damaged = bytes->Byte() % 4;
  const std::string content(bytes->Rest());
  const std::vector<std::string> arrays = ArraysOf(sparse);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    files.Write(sparse ? kSparse[i] : kDense[i],
                damaged == i ? content : arrays[i]);
  }
  files.Write("dataset.json",
              damaged == 3 ? content : ToJson(Described(sparse)));
  const auto data = curator::Dataset::Open(files.directory());
  if (!Read("data set", data)) return;
  const curator::Dataset& held = **data;
  for (std::uint64_t n = 0; n < held.private_user_count(); ++n) {
    double sum = 0;
    if (held.sparse()) {
      const curator::SparseColumn column = held.SparseColumnOf(n);
      for (std::size_t i = 0; i < column.rows.size(); ++i) {
        Demand(column.rows[i] >= 0 &&
                   static_cast<std::uint64_t>(column.rows[i]) < held.features(),
               "a row out of range");
        sum += column.values[i];
      }
    } else {
      for (const float value : held.DenseColumn(n)) sum += value;
    }
    Count(std::isnan(sum) ? "NaN in V" : "column");
  }
}

// -------------------------------------- a data set in two ranges of columns

// First bytes from this one on are of such a data set.
constexpr int kInShards = 240;

std::vector<std::string> ShardFiles() {
  const curator::Shards shards = {.columns = {1, kUsers - 1}};
  std::vector<std::string> files = {curator::ShardsJson(shards)};
  float entry = 0;
  for (const std::uint64_t count : shards.columns) {
    std::vector<float> values(kFeatures * count);
    for (float& value : values) value = entry += 0.03125f;
    files.push_back(ArrayFile<float>("<f4", {kFeatures, count}, values));
  }
  return files;
}

// The shares of any number of ranks are the people, each once and in order.
void DemandShares(const std::string& directory, const curator::Dataset& all) {
  for (const std::uint64_t count : {1, 2, 3}) {
    std::uint64_t at = 0;
    for (std::uint64_t index = 0; index < count; ++index) {
      const auto share = curator::Dataset::OpenShare(directory, {index, count});
      Demand(share.ok(), "a share of a sound data set is refused");
      for (std::uint64_t n = 0; n < (*share)->private_user_count(); ++n, ++at) {
        const auto own = (*share)->DenseColumn(n), whole = all.DenseColumn(at);
        Demand(std::equal(own.begin(), own.end(), whole.begin(), whole.end(),
                          [](float a, float b) {
                            return std::bit_cast<std::uint32_t>(a) ==
                                   std::bit_cast<std::uint32_t>(b);
                          }),
               "a share of other people");
      }
    }
    Demand(at == all.private_user_count(), "people who are in no share");
  }
}

// Which file, its content in place of the good one.
void FuzzShards(FuzzInput* bytes) {
  constexpr const char* kFiles[] = {"shards.json", "values.0.npy",
                                    "values.1.npy"};
  static const OneFile files;
  static const std::vector<std::string> good = ShardFiles();
  static const std::string described =
      files.Write("dataset.json", ToJson(Described(false)));
  const std::uint8_t damaged = bytes->Byte() % std::size(kFiles);
  const std::string content(bytes->Rest());
  for (std::size_t i = 0; i < std::size(kFiles); ++i)
    files.Write(kFiles[i], damaged == i ? content : good[i]);
  const auto shards = curator::ReadShards(files.directory());
  if (Read("shards", shards)) {
    files.Write("shards.json", curator::ShardsJson(*shards));
    const curator::Shards again =
        curator::ReadShards(files.directory()).value();
    Demand(again.columns == shards->columns && again.parts == shards->parts &&
               again.nonzeros == shards->nonzeros,
           "shards that are not read back");
  }
  const auto data = curator::Dataset::Open(files.directory());
  if (!Read("data set in shards", data)) return;
  if (!shards->parts.empty()) return;  // its columns are elsewhere
  std::uint64_t people = 0;
  for (const std::uint64_t count : shards->columns) people += count;
  Demand(people == kUsers && (*data)->private_user_count() == kUsers,
         "other people than the declared ones");
  for (std::size_t i = 1; i < std::size(kFiles); ++i) {
    const auto header = ParseNpyHeader(damaged == i ? content : good[i]);
    Demand(header.ok() && header->shape.back() == shards->columns.at(i - 1),
           "a shard of another size than shards.json says");
  }
  DemandShares(files.directory(), **data);
}

// ---------------------------------------------------- the analyst's runs

constexpr char kRunId[] = "0123456789abcdef0123456789abcdef";

// A state directory with one run, one round of it and a mirrored charge.
void MakeRuns(const std::string& directory) {
  auto store = analyst::RunStore::Open(directory, [] { return 1; }).value();
  analyst::RunRecord record;
  record.run.set_run_id(kRunId);
  record.run.set_state(v1::RUN_STATE_RUNNING);
  record.run.mutable_specification()->mutable_parameters()->set_rounds(2);
  record.population = "people";
  analyst::LearnerState state;
  state.w = Eigen::MatrixXd::Constant(3, 2, 0.5);
  state.memory["rows"] = Eigen::Vector2d(0, 2);
  Demand(store->Add(record, state).ok(), "a run is not stored");
  analyst::FinishedRound finished;
  finished.round = 1;
  finished.charge = {kRunId, 1, MuSquared::FromUnits(7), std::string(32, 'h')};
  finished.state = state;
  finished.event.mutable_position()->set_population("people");
  finished.event.mutable_position()->set_row_count(3);
  finished.event.mutable_position()->set_head(std::string(32, 'h'));
  Demand(store->FinishRound(kRunId, finished).ok(), "a round is not stored");
}

struct Column {
  const char *table, *name;
  const char* where = "";
};
constexpr Column kColumns[] = {
    {"runs", "specification"},
    {"runs", "guarantee"},
    {"runs", "plan"},
    {"runs", "state"},
    {"runs", "rounds_done"},
    {"runs", "charged"},
    {"runs", "error"},
    {"runs", "error_code"},
    {"runs", "created"},
    {"runs", "population"},
    {"runs", "started_by"},
    {"matrices", "name", " WHERE name = 'memory.rows'"},
    {"matrices", "rows"},
    {"matrices", "columns"},
    {"matrices", "entries"},
    {"events", "event"},
    {"events", "cursor"},
    {"mirror", "cost"},
    {"mirror", "row_hash"},
    {"mirror", "round"},
    {"mirror", "row_count"},
    {"chain", "row_count"},
    {"chain", "head"},
    {"matrices", "entries", " WHERE name = 'memory.rows'"},
    {"matrices", "rows", " WHERE name = 'memory.rows'"},
    {"matrices", "columns", " WHERE name = 'memory.rows'"}};

// One column takes a value of any type; false if SQLite's rules forbid it.
bool Damage(const std::string& file, FuzzInput* bytes) {
  const Column column = kColumns[bytes->Byte() % std::size(kColumns)];
  const std::uint8_t type = bytes->Byte() % 4;
  SQLite::Database db(file, SQLite::OPEN_READWRITE);
  SQLite::Statement put(db, std::string("UPDATE ") + column.table + " SET " +
                                column.name + " = ?" + column.where);
  if (type == 0) {
    const std::string_view blob = bytes->Bytes(bytes->Byte());
    put.bind(1, blob.data(), static_cast<int>(blob.size()));
  } else if (type == 1) {
    put.bind(1, static_cast<std::int64_t>(bytes->LongWord()));
  } else if (type == 2) {
    put.bind(1, std::string(bytes->Bytes(bytes->Byte())));
  } else {
    put.bind(1, bytes->Double());
  }
  try {
    put.exec();
    return true;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

// Makes the input of the next request of a run on M of D rows.
void UseState(const analyst::LearnerState& state) {
  analyst::RoundFacts facts;
  facts.moment_rows = 2;
  const auto input = analyst::FindReleaseKind("moments")->input(facts, state);
  if (!Read("input", input)) return;
  Demand(input->rows.size() <= facts.moment_rows, "more rows than M");
  for (const std::uint32_t row : input->rows)
    Demand(row < static_cast<std::uint64_t>(state.w.rows()), "a row past D");
}

void FuzzRuns(FuzzInput* bytes, const OneFile& files) {
  static const OneFile good;
  static const bool is_made = (MakeRuns(good.directory()), true);
  static_cast<void>(is_made);
  const std::string file = files.directory() + "/analyst.sqlite";
  std::filesystem::remove(file + "-wal");
  std::filesystem::copy_file(good.directory() + "/analyst.sqlite", file,
                             std::filesystem::copy_options::overwrite_existing);
  for (int left = 3; left > 0 && !bytes->empty(); --left)
    if (!Damage(file, bytes)) return;
  const auto store = analyst::RunStore::Open(files.directory());
  if (!Read("store", store)) return;
  Read("run", (*store)->Get(kRunId));
  Read("runs", (*store)->List());
  const auto learner = (*store)->ReadLearner(kRunId);
  if (Read("learner", learner)) UseState(*learner);
  Read("model", (*store)->ReadModel(kRunId));
  Read("events", (*store)->Events(kRunId, 0, 100));
  Read("mirror", (*store)->Mirror("people"));
}

std::string Seed(std::initializer_list<int> head, const std::string& rest) {
  std::string seed;
  for (const int byte : head) seed.push_back(static_cast<char>(byte));
  return seed + rest;
}

std::vector<std::string> FuzzSeeds() {
  const std::string release = EncodeRelease(SomeRelease());
  std::vector<std::string> seeds = {
      Seed({0, 0}, release.substr(0, release.size() - sizeof(Digest))),
      Seed({0, 1}, release)};
  // A row past the last; rows out of order; offsets that fall.
  seeds.push_back(
      Seed({1, 1, 1}, ArrayFile<std::int32_t>("<i4", {5}, {0, 0, 2, 1, 3})));
  seeds.push_back(
      Seed({1, 1, 1}, ArrayFile<std::int32_t>("<i4", {5}, {0, 2, 2, 1, 2})));
  seeds.push_back(Seed({1, 1, 2}, ArrayFile<std::int64_t>("<i8", {kUsers + 1},
                                                          {0, 3, 1, 3, 5})));
  for (const int sparse : {0, 1}) {
    const std::vector<std::string> arrays = ArraysOf(sparse == 1);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      seeds.push_back(Seed({1, sparse, static_cast<int>(i)}, arrays[i]));
    seeds.push_back(Seed({1, sparse, 3}, ToJson(Described(sparse == 1))));
    const std::string nan =
        ArrayFile<float>("<f4", {kFeatures, kUsers},
                         std::vector<float>(kFeatures * kUsers, std::nanf("")));
    seeds.push_back(Seed({1, 0, 0}, nan));
  }
  const std::vector<std::string> shards = ShardFiles();
  for (int i = 0; i < static_cast<int>(shards.size()); ++i)
    seeds.push_back(Seed({kInShards, i}, shards[static_cast<std::size_t>(i)]));
  for (const std::uint64_t count : {2, 4}) {
    seeds.push_back(
        Seed({kInShards, 2},
             ArrayFile<float>("<f4", {kFeatures, count},
                              std::vector<float>(kFeatures * count, 0.25f))));
  }
  for (const char* columns :
       {"[1, 2]", "[1, 3, 0]", "[3, 1]", "[]", "[1, -3]", "[1, 3.0]",
        "[1, 18446744073709551615]", "[[1], 3]"})
    seeds.push_back(Seed(
        {kInShards, 0},
        std::string("{\"format_version\": 1, \"columns\": ") + columns + "}"));
  for (const char* version : {"2", "1.5", "true"})
    seeds.push_back(Seed({kInShards, 0}, std::string("{\"format_version\": ") +
                                             version +
                                             ", \"columns\": [1, 3]}"));
  v1::RunSpecification specification;
  specification.mutable_parameters()->set_rounds(2);
  const Eigen::MatrixXd w = Eigen::MatrixXd::Constant(3, 2, 0.5);
  const std::string blobs[] = {
      specification.SerializeAsString(),
      std::string(reinterpret_cast<const char*>(w.data()), sizeof(double) * 6)};
  for (int column = 0; column < static_cast<int>(std::size(kColumns));
       ++column) {
    for (const std::string& blob : blobs)
      seeds.push_back(
          Seed({2, column, 0, static_cast<int>(blob.size())}, blob));
    seeds.push_back(Seed({2, column, 1, column % 3}, std::string(7, 0)));
    seeds.push_back(Seed({2, column, 2, 2}, "12"));
  }
  // Rows that are no rows: NaN and a huge one; none at all (0 x 0).
  const double bad[] = {std::nan(""), 1e300};
  seeds.push_back(Seed({2, 23, 0, 16},
                       std::string(reinterpret_cast<const char*>(bad), 16)));
  seeds.push_back(Seed({2, 24, 1}, std::string(8, 0)) +
                  Seed({23, 0, 0, 25, 1}, std::string(8, 0)));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes = {"column", "NaN in V"};
  for (const std::string what :
       {"release", "data set", "run", "learner", "input", "model", "events",
        "mirror", "shards", "data set in shards"}) {
    outcomes.push_back(what + " read");
    outcomes.push_back(what + " refused");
  }
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  constexpr void (*kStores[])(FuzzInput*, const OneFile&) = {
      FuzzRelease, FuzzDataset, FuzzRuns};
  static const OneFile files;
  FuzzInput bytes(data, size);
  const std::uint8_t kind = bytes.Byte();
  if (kind >= kInShards) {
    FuzzShards(&bytes);
  } else {
    kStores[kind % std::size(kStores)](&bytes, files);
  }
}

[[maybe_unused]] const bool kRegistered =
    Register({"stored_state", 5'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::stored_state
