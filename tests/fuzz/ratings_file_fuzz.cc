// Ratings and their items: what an operator imports, and what lies on the disk
// of a data set. Refused in one sentence, or sound.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/npy.h"
#include "curator/data/dataset.h"
#include "curator/data/description.h"
#include "curator/data/rated_users.h"
#include "curator/import/people/fingerprint.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/one_file.h"

namespace dpnmf::fuzz::ratings_file {
namespace {

using curator::ItemTable;
using curator::LoadedRatings;
using curator::RatingsOptions;

// Counts the outcome; a refusal by its code.
template <typename Value>
bool Came(std::string_view what, const absl::StatusOr<Value>& value) {
  if (value.ok()) {
    Count(what);
    return true;
  }
  DemandRefusal(value.status());
  Count(ReasonCode(value.status()));
  return false;
}

void WriteGzip(const std::string& path, std::string_view content) {
  const gzFile file = gzopen(path.c_str(), "wb1");
  if (file == nullptr) std::abort();
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

// ------------------------------------------------------------------ ratings

ItemTable SomeItems() {
  ItemTable items;
  items.ids = items.names = {"x", "y", "Toy, \"Story\""};
  return items;
}

void DemandSound(const LoadedRatings& loaded, const RatingsOptions& options,
                 const OneFile& files) {
  Demand(loaded.items == 3 && loaded.indices.size() == loaded.units.size(),
         "ratings without items");
  Demand(!options.users_count.has_value() ||
             loaded.people() == *options.users_count,
         "not the declared people");
  Demand(loaded.users.size() <= loaded.people(), "people without a column");
  Demand(loaded.times.empty() ||
             (options.keep_times && loaded.times.size() == loaded.units.size()),
         "times of other ratings");
  std::string list;
  for (const std::string& user : loaded.users) {
    Demand(!user.empty(), "a person without an id");
    list += user + "\n";
  }
  files.Write("users.txt", list);
  const curator::FingerprintKey key{1};
  Demand(FingerprintOf(loaded, key) == FingerprintOf(loaded, key),
         "two fingerprints");
  const auto data = ToDataset(loaded, SomeItems(), options.scale,
                              curator::DatasetDescription());
  Demand(data.ok(), "sound ratings that are no data set");
  const auto users = curator::RatedUsers::Read(files.directory(), **data);
  Demand(users.ok() && users->size() == loaded.users.size(),
         "people that are not read back");
  for (std::size_t n = 0; n < loaded.users.size(); ++n)
    Demand(users->Find(loaded.users[n]) == n, "somebody in another column");
}

void FuzzRatings(FuzzInput* bytes, const OneFile& files) {
  const std::uint8_t flags = bytes->Byte();
  RatingsOptions options;
  options.scale = {.low_units = (flags & 1) != 0 ? -50000 : 0,
                   .high_units = (flags & 2) != 0 ? 50000 : 1000000000};
  options.drop_unlisted = (flags & 4) != 0;
  options.keep_times = (flags & 8) != 0;
  if ((flags & 16) != 0) options.users_count = 2;
  std::size_t told = 0;
  options.refused = [&](const absl::Status& status) {
    DemandRefusal(status);
    Demand(++told <= kShownRefusals, "too many sentences");
    Count("several");
  };
  const std::string path = files.directory() + "/ratings";
  if ((flags & 32) != 0) {
    WriteGzip(path, bytes->Rest());
  } else {
    files.Write("ratings", bytes->Rest());
  }
  const auto loaded = curator::LoadRatings(path, SomeItems(), options);
  if (Came("ratings", loaded)) DemandSound(*loaded, options, files);
}

// -------------------------------------------------------------------- items

void DemandSound(const ItemTable& table, const OneFile& files) {
  const std::size_t count = table.ids.size();
  Demand(count >= 1 && table.names.size() == count, "items without names");
  Demand(table.features.size() == count * table.feature_names.size(),
         "features of other items");
  for (const auto* texts : {&table.ids, &table.names, &table.feature_names}) {
    for (const std::string& text : *texts)
      Demand(!text.empty() && text.size() <= 1024 && IsPlainText(text),
             "a text that cannot be shown");
  }
  Demand(
      std::set<std::string>(table.ids.begin(), table.ids.end()).size() == count,
      "an item twice");
  Demand(std::all_of(table.features.begin(), table.features.end(),
                     [](double x) { return std::abs(x) <= 1e15; }),
         "a feature that is not finite");
  files.Write("items.csv", ItemTableText(table));
  curator::DatasetDescription description;
  description.features = count;
  description.ratings = RatingScale{
      .low_units = 0,
      .high_units = 1,
      .item_features = static_cast<std::uint32_t>(table.feature_names.size())};
  const auto back = ReadItemTable(files.directory(), description);
  Demand(back.ok() && *back == table, "items that are not read back");
}

// The two files are separated by the byte 0x1e.
void FuzzItems(FuzzInput* bytes, const OneFile& files) {
  const std::string_view content = bytes->Rest();
  const std::size_t end = content.find('\x1e');
  const std::string items = files.Write("items", content.substr(0, end));
  const std::string features =
      end == std::string_view::npos
          ? std::string()
          : files.Write("features", content.substr(end + 1));
  const auto table = curator::LoadItemTable(items, features);
  if (!Came("items", table)) return;
  if (!table->feature_names.empty()) Count("features");
  DemandSound(*table, files);
}

// --------------------------------------------------------------- a data set

template <typename T>
std::string ArrayFile(const char* dtype, const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.shape = {values.size()};
  return NpyHeaderBytes(header) +
         std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
}

constexpr const char* kFiles[] = {"ratings.npy", "indices.npy", "indptr.npy",
                                  "items.csv",   "users.txt",   "dataset.json"};

std::vector<std::string> GoodFiles() {
  curator::StoredDescription stored;
  stored.description.name = "films";
  stored.description.population = "people";
  stored.description.features = 3;
  stored.description.users = 4;
  stored.description.epsilon = 1;
  stored.description.delta = 1e-5;
  stored.description.sparse = true;
  stored.description.normalisation = curator::Normalisation::kNone;
  stored.description.adjacency = Adjacency::kOneRating;
  stored.description.ratings =
      RatingScale{.low_units = -10000, .high_units = 50000, .item_features = 1};
  return {ArrayFile<std::int32_t>("<i4", {0, -10000, 50000, 35000, 1}),
          ArrayFile<std::int32_t>("<i4", {0, 0, 2, 1, 2}),
          ArrayFile<std::int64_t>("<i8", {0, 1, 3, 3, 5}),
          "item,name,year\nx,Ex,1\ny,\"W, y\",2.5\nz,z,-3\n",
          "ann\nbob\ncid\n",
          ToJson(stored)};
}

// Which file, and its content in the place of the good one.
void FuzzStored(FuzzInput* bytes, const OneFile& files) {
  std::vector<std::string> contents = GoodFiles();
  const std::uint32_t damaged = bytes->Below(std::size(kFiles));
  contents[damaged] = std::string(bytes->Rest());
  for (std::size_t i = 0; i < contents.size(); ++i)
    files.Write(kFiles[i], contents[i]);
  const auto data = curator::Dataset::Open(files.directory());
  if (!Came("data set", data)) return;
  const curator::DatasetDescription& description = (*data)->description();
  if (!description.ratings.has_value()) return;
  for (std::uint64_t n = 0; n < (*data)->private_user_count(); ++n) {
    const curator::RatedItems rated = (*data)->RatingsOf(n);
    Demand(std::adjacent_find(rated.items.begin(), rated.items.end(),
                              std::greater_equal<>()) == rated.items.end(),
           "items that do not rise");
    for (std::size_t i = 0; i < rated.items.size(); ++i) {
      Demand(rated.items[i] >= 0 && static_cast<std::uint64_t>(rated.items[i]) <
                                        description.features,
             "an item out of range");
      Demand(rated.units[i] >= description.ratings->low_units &&
                 rated.units[i] <= description.ratings->high_units,
             "a rating out of range");
    }
  }
  Came("stored items", ReadItemTable(files.directory(), description));
  Came("stored people", curator::RatedUsers::Read(files.directory(), **data));
}

std::vector<std::string> FuzzSeeds() {
  const auto seed = [](int kind, int flags, const std::string& content) {
    return std::string({static_cast<char>(kind), static_cast<char>(flags)}) +
           content;
  };
  const std::string triples =
      "user,item,rating,time\nann,x,3.5,9\nbob,\"Toy, \"\"Story\"\"\",0,8\n"
      "ann,x,-1.25,7\nbob,y,5,6\n";
  const std::string features =
      "x\ny\n\x1eitem,name,year,genres\ny,Why,1979,War|Comedy\n"
      "x,\"Toy, \"\"Story\"\"\",-1.5e3,\n";
  const auto items = [](const std::string& content) {
    return std::string(1, '\1') + content;
  };
  std::vector<std::string> seeds = {
      seed(0, 1, triples),
      seed(0, 1 + 8 + 16 + 32, triples),
      seed(0, 0, "ann::x::3.5::978300760\nbob::q::4::978300761\n"),
      seed(0, 4, "ann;x;3.5\nbob;q;4\n"),
      seed(0, 4, "ann;x;3,5;2024-01-31\nbob;y;4,5\nbob;q;1.5\n"),
      seed(0, 0, "ann,x,3,5\nbob,y,4,5\n"),
      seed(0, 0, "ann\tx\t3.5\nann\tq\t3\nann\tq\t3\n"),
      seed(0, 2, " ann x  6\n"),
      seed(0, 16, "a,x,1\nb,x,1\nc,x,1\n"),
      seed(0, 0, "a,x,1\na,x\n"),
      seed(0, 0, "a,x,1\na,x,1.00001\na,x,1e0\n"),
      seed(0, 0, "a,x,1\na,x,inf\n"),
      seed(0, 8, "a,x,rating,time\na,x,1,2\na,x,1,noon\n"),
      seed(0, 0, "a,x,1\n\"a,x,1\n"),
      seed(0, 0, "u,i,r\n"),
      items("x\ny\n"),
      items("x\n\ny\n"),
      items("x\nx\n"),
      items("\n"),
      items("movieId,title\n1,\"Heat, \n1995\"\n2,Alien, 1979\n"),
      items("1|Heat|a\n2|Alien|b\n"),
      items("\"\",\"x\"\n\"1\",\"Heat\"\n\"2\",\"Alien\"\n"),
      items("0\n1\n2\n"),
      items(features),
      items(features + "z,Z,1,War\n"),
      items("z\n" + features),
      items("x\n\x1eitem,name,a\nx,X\n"),
      items("x\ny\n\x1eitem,name,a\nx,X,1\ny,Y,two\n"),
      items("x\n\x1eitem,name,a\nx,X,nan\n"),
      items("x\n\x1eitem,name,a\nx,X,1e16\n"),
      items("x\n\x1eid,name,a\nx,X,1\n"),
  };
  const std::vector<std::string> good = GoodFiles();
  for (std::size_t i = 0; i < good.size(); ++i)
    seeds.push_back(seed(2, static_cast<int>(i), good[i]));
  seeds.push_back(seed(2, 4, "ann\nann\n"));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  return {"ratings",
          "several",
          "items",
          "features",
          "data set",
          "stored items",
          "stored people",
          "dataset-damaged",
          "input-empty",
          "input-malformed",
          "input-ragged",
          "input-not-a-number",
          "input-not-finite",
          "input-out-of-range",
          "input-duplicate",
          "input-ambiguous",
          "item-unknown",
          "features-mismatch",
          "users-mismatch"};
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kKinds[])(FuzzInput*, const OneFile&) = {
      FuzzRatings, FuzzItems, FuzzStored};
  static const OneFile files;
  FuzzInput bytes(data, size);
  kKinds[bytes.Byte() % std::size(kKinds)](&bytes, files);
}

[[maybe_unused]] const bool kRegistered =
    Register({"ratings_file", 15'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::ratings_file
