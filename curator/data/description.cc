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
#include "common/files/read_file.h"
#include "common/privacy/class_bounds.h"
#include "common/privacy/column_bound.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kFormatVersion = 1;

absl::Status Refused(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status Damaged(const std::string& problem) {
  return Refusal(
      absl::StatusCode::kDataLoss, "dataset-damaged",
      absl::StrCat("The file `dataset.json` is damaged: ", problem,
                   "; restore the data set from a backup or import it again."));
}

// A rating in units: |units| <= kLargestRatingUnits.
std::int32_t Units(const FileJson& value) {
  const bool whole = value.is_number_integer();
  const bool small =
      whole &&
      (value.is_number_unsigned()
           ? WholeNumberOf(value) <= std::uint64_t{kLargestRatingUnits}
           : value.get<std::int64_t>() >= -std::int64_t{kLargestRatingUnits});
  if (!small) throw std::invalid_argument("a number is not a rating");
  return value.get<std::int32_t>();
}

JsonField<RatingScale> UnitsField(const char* name,
                                  std::int32_t RatingScale::*member) {
  JsonField<RatingScale> field = Required<RatingScale>(name, member);
  field.read = [=](const FileJson& json, RatingScale* scale) {
    scale->*member = Units(json);
  };
  return field;
}

JsonFields<RatingScale> FieldsOfScale() {
  JsonField<RatingScale> item_features =
      Required<RatingScale>("item_features", &RatingScale::item_features);
  item_features.read = [](const FileJson& json, RatingScale* scale) {
    const std::uint64_t count = WholeNumberOf(json);
    if (count > kMostItemFeatures)
      throw std::invalid_argument("item_features is out of range");
    scale->item_features = static_cast<std::uint32_t>(count);
  };
  return {UnitsField("low_units", &RatingScale::low_units),
          UnitsField("high_units", &RatingScale::high_units), item_features};
}

JsonFields<ClassFacts> FieldsOfClasses() {
  JsonField<ClassFacts> sizes =
      Optional<ClassFacts>("sizes", &ClassFacts::sizes);
  sizes.read = [](const FileJson& json, ClassFacts* classes) {
    for (const FileJson& size : json)
      classes->sizes.push_back(WholeNumberOf(size));
    if (classes->sizes.size() != classes->names.size())
      throw std::invalid_argument("its classes and their sizes differ");
  };
  return {Required<ClassFacts>("names", &ClassFacts::names), sizes};
}

JsonFields<EntryRange> FieldsOfRange() {
  return {Required<EntryRange>("low", &EntryRange::low),
          Required<EntryRange>("high", &EntryRange::high),
          Required<EntryRange>("integers", &EntryRange::integers)};
}

// Below 0 where the column bound is large and people are many.
int BitsOfSums(const FileJson& bits) {
  constexpr std::int64_t kMostBits = 64;
  const std::int64_t value =
      bits.is_number_unsigned()
          ? static_cast<std::int64_t>(
                std::min<std::uint64_t>(WholeNumberOf(bits), kMostBits))
          : bits.get_ref<const FileJson::number_integer_t&>();
  return static_cast<int>(std::max(value, -kMostBits));
}

std::vector<std::uint32_t> RowsOfSums(const FileJson& json) {
  if (!json.is_array()) throw std::invalid_argument("sums_rows are not a list");
  std::vector<std::uint32_t> rows;
  for (const FileJson& row : json) {
    rows.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(
        WholeNumberOf(row), std::numeric_limits<std::uint32_t>::max())));
  }
  if (rows.empty()) throw std::invalid_argument("sums_rows names no feature");
  return rows;
}

struct File : DatasetDescription {
  Digest fingerprint{};
};

JsonField<File> DigestField(const char* name, Digest File::*member) {
  return {
      name,
      [=](const FileJson& json, File* file) {
        const auto digest = DigestOfHex(json.get<std::string>());
        if (!digest.has_value())
          throw std::invalid_argument(absl::StrCat("unknown value of ", name));
        file->*member = *digest;
      },
      [=](const File& file) { return FileJson(HexOf(file.*member)); }};
}

JsonField<File> PartitionsField() {
  return {"partitions",
          [](const FileJson& json, File* file) {
            const auto partitions = ParsePartitions(json.get<std::string>());
            if (!partitions.has_value())
              throw std::invalid_argument("its partitions are malformed");
            file->partitions = *partitions;
          },
          [](const File& file) { return FileJson(PartitionsText(file.partitions)); },
          [](const File& file) { return file.partitions.any(); }};
}

JsonField<File> SumsBitsField() {
  return {"sums_bits",
          [](const FileJson& json, File* file) {
            file->sums = {.bits = BitsOfSums(json)};
          },
          [](const File& file) { return FileJson(file.sums->bits); },
          [](const File& file) { return file.sums.has_value(); }};
}

JsonField<File> SumsRowsField() {
  return {"sums_rows",
          [](const FileJson& json, File* file) {
            if (!file->sums.has_value())
              throw std::invalid_argument("it has rows and no sums");
            file->sums->rows = RowsOfSums(json);
          },
          [](const File& file) { return FileJson(file.sums->rows); },
          [](const File& file) {
            return file.sums.has_value() && !file.sums->rows.empty();
          }};
}

// The optional fields come last: data sets without them are written as they
// always were.
JsonFields<File> FieldsOfFile() {
  JsonField<File> people = DigestField("people", &File::people);
  people.has = [](const File& file) { return !file.partition.empty(); };
  return {Version<File>("format_version", kFormatVersion),
          Required<File>("name", &File::name),
          Required<File>("population", &File::population),
          Required<File>("features", &File::features),
          Required<File>("users", &File::users),
          Named<File>("normalisation", &File::normalisation, NameOf,
                      NormalisationOfName),
          Required<File>("column_bound", &File::column_bound),
          Named<File>("adjacency", &File::adjacency, dpnmf::NameOf,
                      AdjacencyOfName),
          Named<File>("conversion", &File::conversion, dpnmf::NameOf,
                      ConversionOfName),
          Required<File>("epsilon", &File::epsilon),
          Required<File>("delta", &File::delta),
          Required<File>("public", &File::is_public),
          Required<File>("sparse", &File::sparse),
          DigestField("fingerprint", &File::fingerprint),
          OptionalObject<File>("ratings", &File::ratings, FieldsOfScale(),
                               "its ratings have"),
          OptionalObject<File>("classes", &File::classes, FieldsOfClasses(),
                               "its classes have"),
          OptionalObject<File>("range", &File::range, FieldsOfRange(),
                               "its range has"),
          SumsBitsField(),
          SumsRowsField(),
          Optional<File>("named_features", &File::named_features),
          Optional<File>("weighted_features", &File::weighted_features),
          PartitionsField(),
          Optional<File>("partition", &File::partition),
          people};
}

const JsonFields<File>& Fields() {
  static const auto& fields = *new JsonFields<File>(FieldsOfFile());
  return fields;
}

// Throws if fields that may each be there do not go together.
void CheckTogether(const File& file, const FileJson& json) {
  if (file.ratings.has_value() && !file.sparse)
    throw std::invalid_argument("ratings are stored sparse");
  if (file.classes.has_value() && file.sparse)
    throw std::invalid_argument("data with classes are stored dense");
  if (file.sums.has_value() &&
      (file.ratings.has_value() || file.sparse || file.classes.has_value()))
    throw std::invalid_argument("sums are stored alone");
  if (file.sums.has_value() && !AreRowsOfSums(file.sums->rows, file.features))
    throw std::invalid_argument("sums_rows are not rows of its features");
  if (file.ratings.has_value() && file.named_features)
    throw std::invalid_argument("ratings have items instead of names");
  if (json.contains("people") != json.contains("partition"))
    throw std::invalid_argument("it does not say who is in the partition");
}

StoredDescription Decode(const FileJson& json) {
  const File file = ReadFields(json, Fields(), "it has");
  CheckTogether(file, json);
  return {.description = file, .fingerprint = file.fingerprint};
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
  const File file{stored.description, stored.fingerprint};
  return WriteFields(file, Fields()).dump(2) + "\n";
}

absl::StatusOr<StoredDescription> StoredDescriptionOfJson(
    const std::string& text) {
  StoredDescription stored;
  try {
    stored = Decode(FileJson::parse(text));
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
