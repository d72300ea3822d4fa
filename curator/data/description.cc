#include "curator/data/description.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/whole_number.h"
#include "common/files/read_file.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/column_bound.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kFormatVersion = 1;
// Without "ratings", "classes" and "range".
constexpr std::size_t kFieldCount = 14;

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status Damaged(const std::string& problem) {
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The file `dataset.json` is damaged: ", problem,
                   "; restore the data set from a backup or import it again."));
}

// The value whose name stands under `key`; throws if there is none.
template <typename T>
T Named(const Json& json, const char* key,
        std::optional<T> (*of_name)(std::string_view)) {
  const std::optional<T> value = of_name(json.at(key).get<std::string>());
  if (!value.has_value()) {
    throw std::invalid_argument(absl::StrCat("unknown value of ", key));
  }
  return *value;
}

std::uint64_t Whole(const Json& json, const char* key) {
  return WholeNumberOf(json.at(key));
}

// A rating in units: |units| <= kLargestRatingUnits.
std::int32_t Units(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       Whole(json, key) > std::uint64_t{kLargestRatingUnits}) ||
      value.get<std::int64_t>() < -std::int64_t{kLargestRatingUnits}) {
    throw std::invalid_argument(absl::StrCat(key, " is not a rating"));
  }
  return value.get<std::int32_t>();
}

RatingScale DecodeScale(const Json& json) {
  if (!json.is_object() || json.size() != 3) {
    throw std::invalid_argument("its ratings have missing or unknown fields");
  }
  RatingScale scale;
  scale.low_units = Units(json, "low_units");
  scale.high_units = Units(json, "high_units");
  const std::uint64_t item_features = Whole(json, "item_features");
  if (item_features > kMostItemFeatures) {
    throw std::invalid_argument("item_features is out of range");
  }
  scale.item_features = static_cast<std::uint32_t>(item_features);
  return scale;
}

ClassFacts DecodeClasses(const Json& json) {
  const bool is_public = json.is_object() && json.contains("sizes");
  if (!json.is_object() || json.size() != (is_public ? 2 : 1)) {
    throw std::invalid_argument("its classes have missing or unknown fields");
  }
  ClassFacts classes;
  classes.names = json.at("names").get<std::vector<std::string>>();
  if (is_public) {
    for (const Json& size : json.at("sizes"))
      classes.sizes.push_back(size.get_ref<const Json::number_unsigned_t&>());
    if (classes.sizes.size() != classes.names.size())
      throw std::invalid_argument("its classes and their sizes differ");
  }
  return classes;
}

EntryRange DecodeRange(const Json& json) {
  if (!json.is_object() || json.size() != 3)
    throw std::invalid_argument("its range has missing or unknown fields");
  return {.low = json.at("low").get<double>(),
          .high = json.at("high").get<double>(),
          .integers = json.at("integers").get<bool>()};
}

StoredSums DecodeSums(const Json& json, std::uint64_t features) {
  constexpr std::int64_t kMostBits = 64;
  const Json& bits = json.at("sums_bits");
  // Below 0 where the column bound is large and people are many.
  const std::int64_t value =
      bits.is_number_unsigned()
          ? static_cast<std::int64_t>(
                std::min<std::uint64_t>(Whole(json, "sums_bits"), kMostBits))
          : bits.get_ref<const Json::number_integer_t&>();
  StoredSums sums;
  sums.bits = static_cast<int>(std::max(value, -kMostBits));
  if (json.contains("sums_rows")) {
    if (!json.at("sums_rows").is_array())
      throw std::invalid_argument("sums_rows are not a list");
    for (const Json& row : json.at("sums_rows")) {
      sums.rows.push_back(static_cast<std::uint32_t>(
          std::min<std::uint64_t>(row.get_ref<const Json::number_unsigned_t&>(),
                                  std::numeric_limits<std::uint32_t>::max())));
    }
    if (sums.rows.empty())
      throw std::invalid_argument("sums_rows names no feature");
  }
  if (!AreRowsOfSums(sums.rows, features))
    throw std::invalid_argument("sums_rows are not rows of its features");
  return sums;
}

// Throws if a field is missing or of a wrong type.
StoredDescription Decode(const Json& json) {
  const auto has = [&](const char* key) {
    return json.is_object() && json.contains(key);
  };
  const bool ratings = has("ratings");
  const std::size_t others =
      std::size_t{has("classes")} + std::size_t{has("range")} +
      std::size_t{ratings} + std::size_t{has("named_features")} +
      std::size_t{has("weighted_features")} + std::size_t{has("sums_bits")} +
      std::size_t{has("sums_rows")} + std::size_t{has("partitions")} +
      std::size_t{has("partition")} + std::size_t{has("people")};
  if (!json.is_object() || json.size() != kFieldCount + others) {
    throw std::invalid_argument("it has missing or unknown fields");
  }
  if (Whole(json, "format_version") != kFormatVersion) {
    throw std::invalid_argument("another program version wrote it");
  }
  StoredDescription stored;
  DatasetDescription& description = stored.description;
  description.name = json.at("name").get<std::string>();
  description.population = json.at("population").get<std::string>();
  description.features = Whole(json, "features");
  description.users = Whole(json, "users");
  description.normalisation = Named(json, "normalisation", NormalisationOfName);
  description.column_bound = json.at("column_bound").get<double>();
  description.adjacency = Named(json, "adjacency", AdjacencyOfName);
  description.conversion = Named(json, "conversion", ConversionOfName);
  description.epsilon = json.at("epsilon").get<double>();
  description.delta = json.at("delta").get<double>();
  description.is_public = json.at("public").get<bool>();
  description.sparse = json.at("sparse").get<bool>();
  if (ratings) {
    description.ratings = DecodeScale(json.at("ratings"));
    if (!description.sparse)
      throw std::invalid_argument("ratings are stored sparse");
  }
  if (has("classes")) {
    description.classes = DecodeClasses(json.at("classes"));
    if (description.sparse)
      throw std::invalid_argument("data with classes are stored dense");
  }
  if (has("sums_bits")) {
    description.sums = DecodeSums(json, description.features);
    if (ratings || description.sparse || description.classes.has_value())
      throw std::invalid_argument("sums are stored alone");
  }
  if (has("sums_rows") && !has("sums_bits"))
    throw std::invalid_argument("it has rows and no sums");
  if (has("range")) description.range = DecodeRange(json.at("range"));
  if (has("named_features")) {
    description.named_features = json.at("named_features").get<bool>();
    if (ratings && description.named_features)
      throw std::invalid_argument("ratings have items instead of names");
  }
  if (has("weighted_features"))
    description.weighted_features = json.at("weighted_features").get<bool>();
  if (has("partitions")) {
    const auto partitions =
        ParsePartitions(json.at("partitions").get<std::string>());
    if (!partitions.has_value())
      throw std::invalid_argument("its partitions are malformed");
    description.partitions = *partitions;
  }
  if (has("partition"))
    description.partition = json.at("partition").get<std::string>();
  if (has("people") != has("partition"))
    throw std::invalid_argument("it does not say who is in the partition");
  if (has("people")) description.people = Named(json, "people", DigestOfHex);
  stored.fingerprint = Named(json, "fingerprint", DigestOfHex);
  return stored;
}

}  // namespace

std::string_view NameOf(Normalisation normalisation) {
  return normalisation == Normalisation::kL2 ? "l2" : "none";
}

std::optional<Normalisation> NormalisationOfName(std::string_view name) {
  if (name == "l2") return Normalisation::kL2;
  if (name == "none") return Normalisation::kNone;
  return std::nullopt;
}

bool IsName(std::string_view text) {
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view kAll = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= 64 &&
         kFirst.find(text[0]) != std::string_view::npos &&
         text.find_first_not_of(kAll) == std::string_view::npos;
}

namespace {

absl::Status CheckRatings(const DatasetDescription& description) {
  const RatingScale& scale = *description.ratings;
  if (!(scale.low_units >= -kLargestRatingUnits &&
        scale.low_units < scale.high_units &&
        scale.high_units <= kLargestRatingUnits)) {
    return Refused("rating-range-out-of-range",
                   "`rating_range` must be LOW,HIGH with LOW below HIGH, both "
                   "from -100000 to 100000 with at most four decimals.");
  }
  if (scale.item_features > kMostItemFeatures) {
    return Refused(
        "input-too-large",
        absl::StrCat("The items have ", scale.item_features,
                     " features; leave at most ", kMostItemFeatures, "."));
  }
  if (description.normalisation != Normalisation::kNone ||
      description.column_bound != 1) {
    return Refused("column-bound-out-of-range",
                   "Ratings are stored as they are: `normalisation` is none "
                   "and `column_bound` is 1.");
  }
  return absl::OkStatus();
}

constexpr std::size_t kLongestClassName = 256;

absl::Status CheckClasses(const DatasetDescription& description) {
  const ClassFacts& classes = *description.classes;
  std::set<std::string_view> different;
  bool good = classes.names.size() >= 2 && classes.names.size() <= kMostClasses;
  for (const std::string& name : classes.names) {
    good = good && !name.empty() && name.size() <= kLongestClassName &&
           IsPlainText(name) && different.insert(name).second;
  }
  if (!good || description.ratings.has_value()) {
    return Refused("classes-malformed",
                   "`classes` must be 2 to 1000 different labels of at most "
                   "256 bytes, separated by commas, and not for ratings.");
  }
  if (!classes.sizes.empty() &&
      description.adjacency != Adjacency::kReplaceOne) {
    return Refused("labels-public-mismatch",
                   "Public labels need --adjacency replace_one, because under "
                   "the other relations the number of labels is private.");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const DatasetDescription& description) {
  const EntryRange& range = *description.range;
  const double bound = description.column_bound;
  const bool whole = !range.integers || (range.low == std::floor(range.low) &&
                                         range.high == std::floor(range.high));
  if (description.normalisation == Normalisation::kNone &&
      !description.ratings.has_value() && range.low >= 0 &&
      range.high <= bound && range.high - range.low >= bound / 256 && whole)
    return absl::OkStatus();
  return Refused("range-out-of-range",
                 "`range` must be LOW,HIGH with 0 <= LOW < HIGH <= the column "
                 "bound, at least 1/256 of that bound wide, whole numbers with "
                 "--integers, and needs --normalise none.");
}

}  // namespace

absl::Status CheckDeclaration(const DatasetDescription& description) {
  if (!IsName(description.name)) {
    return Refused("name-malformed",
                   "`name` must be 1 to 64 of the characters a-z 0-9 . _ - and "
                   "begin with a letter or digit.");
  }
  if (!IsName(description.population)) {
    return Refused("population-malformed",
                   "`population` must be 1 to 64 of the characters a-z 0-9 . _ "
                   "- and begin with a letter or digit.");
  }
  if (!(description.epsilon > 0 && description.epsilon <= 1000)) {
    return Refused("epsilon-out-of-range",
                   "`epsilon` must be above 0 and at most 1000.");
  }
  if (!(description.delta > 0 && description.delta < 1)) {
    return Refused("delta-out-of-range",
                   "`delta` must be above 0 and below 1.");
  }
  const double bound = description.column_bound;
  if (description.normalisation == Normalisation::kL2 && !(bound == 1)) {
    return Refused("column-bound-out-of-range",
                   "`column_bound` is 1 under l2; leave it out or choose "
                   "--normalise none.");
  }
  if (!(bound >= kLeastColumnBound && bound <= kLargestColumnBound)) {
    return Refused("column-bound-out-of-range",
                   "`column_bound` must be from 2^-32 (2.4e-10) to 1000000; "
                   "for smaller data write them in another unit.");
  }
  if (description.classes.has_value())
    DPNMF_RETURN_IF_ERROR(CheckClasses(description));
  if (description.range.has_value())
    DPNMF_RETURN_IF_ERROR(CheckRange(description));
  if (description.weighted_features &&
      (description.ratings.has_value() || description.range.has_value() ||
       description.sums.has_value())) {
    return Refused("weights-mixed",
                   "Weights of features cannot be used with ratings, sums or a "
                   "declared range, which is the range of the entries without "
                   "weights: leave out --feature-weights or --range.");
  }
  DPNMF_RETURN_IF_ERROR(CheckPartitions(description.partitions));
  if (!description.partition.empty() &&
      !description.partitions.Find(description.partition).has_value()) {
    return Refused(
        "partition-unknown",
        absl::StrCat("The population ", description.population,
                     " has no partition ", description.partition, "."));
  }
  if (description.ratings.has_value()) return CheckRatings(description);
  if (description.adjacency == Adjacency::kOneRating) {
    return Refused("adjacency-mismatch",
                   "`one_rating` is only for ratings: give --ratings FILE, or "
                   "another --adjacency.");
  }
  return absl::OkStatus();
}

std::string ToJson(const StoredDescription& stored) {
  const DatasetDescription& description = stored.description;
  Json json = {
      {"format_version", kFormatVersion},
      {"name", description.name},
      {"population", description.population},
      {"features", description.features},
      {"users", description.users},
      {"normalisation", std::string(NameOf(description.normalisation))},
      {"column_bound", description.column_bound},
      {"adjacency", std::string(NameOf(description.adjacency))},
      {"conversion", std::string(NameOf(description.conversion))},
      {"epsilon", description.epsilon},
      {"delta", description.delta},
      {"public", description.is_public},
      {"sparse", description.sparse},
      {"fingerprint", HexOf(stored.fingerprint)},
  };
  // Other data sets are written as they always were.
  if (description.ratings.has_value()) {
    json["ratings"] = {{"low_units", description.ratings->low_units},
                       {"high_units", description.ratings->high_units},
                       {"item_features", description.ratings->item_features}};
  }
  if (description.classes.has_value()) {
    json["classes"] = {{"names", description.classes->names}};
    if (!description.classes->sizes.empty())
      json["classes"]["sizes"] = description.classes->sizes;
  }
  if (description.range.has_value()) {
    json["range"] = {{"low", description.range->low},
                     {"high", description.range->high},
                     {"integers", description.range->integers}};
  }
  if (description.sums.has_value()) {
    json["sums_bits"] = description.sums->bits;
    if (!description.sums->rows.empty())
      json["sums_rows"] = description.sums->rows;
  }
  if (description.named_features) json["named_features"] = true;
  if (description.weighted_features) json["weighted_features"] = true;
  if (description.partitions.any())
    json["partitions"] = PartitionsText(description.partitions);
  if (!description.partition.empty()) {
    json["partition"] = description.partition;
    json["people"] = HexOf(description.people);
  }
  return json.dump(2) + "\n";
}

absl::StatusOr<StoredDescription> StoredDescriptionOfJson(
    const std::string& text) {
  StoredDescription stored;
  try {
    stored = Decode(Json::parse(text));
  } catch (const std::exception& problem) {
    return Damaged(problem.what());
  }
  const absl::Status declaration = CheckDeclaration(stored.description);
  if (!declaration.ok())
    return Damaged(std::string(absl::StripSuffix(declaration.message(), ".")));
  if (stored.description.features == 0 || stored.description.users == 0) {
    return Damaged("features and users must be at least 1");
  }
  return stored;
}

absl::StatusOr<StoredDescription> ReadDescription(
    const std::string& directory) {
  const auto text = ReadFile(directory + "/dataset.json", kSettingsFileLimit);
  if (!text.ok()) {
    return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                   absl::StrCat("There is no data set at ", directory,
                                "; import one or check the name."));
  }
  return StoredDescriptionOfJson(*text);
}

}  // namespace dpnmf::curator
