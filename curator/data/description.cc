#include "curator/data/description.h"

#include <cmath>
#include <set>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/enum_names.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/read_file.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/column_bound.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kFormatVersion = 1;

constexpr auto kNormalisationNames = EnumNamesOf<Normalisation>(
    {{Normalisation::kL2, "l2"}, {Normalisation::kNone, "none"}});

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status Damaged(const std::string& problem) {
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The file `dataset.json` is damaged: ", problem,
                   "; restore the data set from a backup or import it again."));
}

void ListScale(JsonFields& json, RatingScale& scale) {
  json.Required("low_units", scale.low_units);
  json.Required("high_units", scale.high_units);
  json.Required("item_features", scale.item_features);
}

void ListClasses(JsonFields& json, ClassFacts& classes) {
  json.Required("names", classes.names);
  json.Optional("sizes", classes.sizes);
}

// Throws if fields that may each be there do not go together.
void CheckTogether(const DatasetDescription& description) {
  const auto refuse_if = [](bool wrong, const char* problem) {
    if (wrong) throw std::invalid_argument(problem);
  };
  const bool ratings = description.ratings.has_value();
  refuse_if(ratings && !description.sparse, "ratings are stored sparse");
  refuse_if(ratings && description.named_features,
            "ratings have items instead of names");
  if (description.classes.has_value()) {
    const ClassFacts& classes = *description.classes;
    refuse_if(description.sparse, "data with classes are stored dense");
    refuse_if(
        !classes.sizes.empty() && classes.sizes.size() != classes.names.size(),
        "its classes and their sizes differ");
  }
  if (description.sums.has_value()) {
    constexpr int kMostBits = 64;
    const int bits = description.sums->bits;
    refuse_if(bits < -kMostBits || bits > kMostBits,
              "sums_bits is out of range");
    refuse_if(!AreRowsOfSums(description.sums->rows, description.features),
              "sums_rows are not rows of its features");
    refuse_if(ratings || description.sparse || description.classes.has_value(),
              "sums are stored alone");
  }
}

}  // namespace

std::string_view NameOf(Normalisation normalisation) {
  return NameIn(kNormalisationNames, normalisation);
}

std::optional<Normalisation> NormalisationOfName(std::string_view name) {
  return EnumOfName(kNormalisationNames, name);
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

void ListRange(JsonFields& json, EntryRange& range) {
  json.Required("low", range.low);
  json.Required("high", range.high);
  json.Required("integers", range.integers);
}

// The optional fields come last, so a data set without them is written as it
// always was.
void ListDescription(JsonFields& json, StoredDescription& stored) {
  DatasetDescription& d = stored.description;
  json.Version("format_version", kFormatVersion);
  json.Required("name", d.name);
  json.Required("population", d.population);
  json.Required("features", d.features);
  json.Required("users", d.users);
  json.Named("normalisation", d.normalisation, NameOf(d.normalisation),
             NormalisationOfName);
  json.Required("column_bound", d.column_bound);
  json.Named("adjacency", d.adjacency, NameOf(d.adjacency), AdjacencyOfName);
  json.Named("conversion", d.conversion, NameOf(d.conversion),
             ConversionOfName);
  json.Required("epsilon", d.epsilon);
  json.Required("delta", d.delta);
  json.Required("public", d.is_public);
  json.Required("sparse", d.sparse);
  json.Required("fingerprint", stored.fingerprint);
  json.Object("ratings", d.ratings, ListScale);
  json.Object("classes", d.classes, ListClasses);
  json.Object("range", d.range, ListRange);
  if (json.Has("sums_bits", d.sums.has_value())) {
    if (!d.sums.has_value()) d.sums.emplace();
    // Below 0 where the column bound is large and people are many.
    json.Required("sums_bits", d.sums->bits);
    json.Optional("sums_rows", d.sums->rows);
  }
  json.Optional("named_features", d.named_features);
  json.Optional("weighted_features", d.weighted_features);
  if (json.Has("partitions", d.partitions.any()))
    json.Named("partitions", d.partitions, PartitionsText(d.partitions),
               ParsePartitions);
  json.Optional("partition", d.partition);
  if (!d.partition.empty()) json.Required("people", d.people);
  json.Optional("unverified_end", d.unverified_end);
}

std::string ToJson(const StoredDescription& stored) {
  return JsonFields::Write(stored, ListDescription).dump(2) + "\n";
}

absl::StatusOr<StoredDescription> StoredDescriptionOfJson(
    const std::string& text) {
  StoredDescription stored;
  try {
    stored = JsonFields::Read(FileJson::parse(text), ListDescription);
    CheckTogether(stored.description);
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
