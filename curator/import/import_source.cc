#include "curator/import/import_source.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/files/npy.h"
#include "common/tables/load.h"
#include "common/tables/separator.h"
#include "curator/data/shards.h"
#include "curator/import/columns.h"
#include "curator/import/part.h"
#include "curator/import/partitions.h"
#include "curator/import/people_sums.h"
#include "curator/import/readers/feature_weights.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"
#include "curator/import/standard_input.h"

namespace dpnmf::curator {
namespace {

LoadProgress ReadingOf(const ImportProgress& progress) {
  if (!progress) return {};
  return [progress](std::uint64_t done, std::uint64_t total) {
    progress("reading", done, total);
  };
}

// N0 is not the number of columns.
std::optional<std::uint64_t> DeclaredColumns(const ImportOptions& options) {
  if (options.shard_of.has_value()) return options.shard_of->columns;
  if (options.adjacency == Adjacency::kAddRemoveOne) return std::nullopt;
  return options.users_count;
}

template <typename T>
absl::Status WriteArray(DatasetWriter* writer, const std::string& name,
                        const std::string& dtype,
                        std::vector<std::uint64_t> shape,
                        std::span<const T> values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = shape.size() == 2;
  header.shape = std::move(shape);
  return writer->Write(name, NpyHeaderBytes(header), std::as_bytes(values));
}
template <typename T>
absl::Status WriteArray(DatasetWriter* writer, const std::string& name,
                        const std::string& dtype,
                        std::vector<std::uint64_t> shape,
                        const std::vector<T>& values) {
  return WriteArray(writer, name, dtype, std::move(shape), std::span(values));
}

// The arrays in ranges of columns, and shards.json.
absl::Status WriteShards(const LoadedMatrix& matrix, std::uint64_t shards,
                         DatasetWriter* writer) {
  std::vector<std::uint64_t> columns;
  for (std::uint64_t i = 0; i < shards; ++i) {
    const std::uint64_t first = Share{i, shards}.Begin(matrix.users);
    const std::uint64_t end = Share{i, shards}.End(matrix.users);
    columns.push_back(end - first);
    const std::string suffix = ShardSuffix(i);
    const std::span<const float> values = matrix.values;
    if (!matrix.sparse) {
      DPNMF_RETURN_IF_ERROR(WriteArray(
          writer, "values" + suffix, "<f4", {matrix.features, end - first},
          values.subspan(first * matrix.features,
                         (end - first) * matrix.features)));
      continue;
    }
    const auto begin = static_cast<std::size_t>(matrix.indptr[first]);
    const auto count = static_cast<std::size_t>(matrix.indptr[end]) - begin;
    std::vector<std::int64_t> indptr(
        matrix.indptr.begin() + static_cast<std::ptrdiff_t>(first),
        matrix.indptr.begin() + static_cast<std::ptrdiff_t>(end + 1));
    for (std::int64_t& offset : indptr)
      offset -= static_cast<std::int64_t>(begin);
    DPNMF_RETURN_IF_ERROR(WriteArray(writer, "data" + suffix, "<f4", {count},
                                     values.subspan(begin, count)));
    DPNMF_RETURN_IF_ERROR(WriteArray(
        writer, "indices" + suffix, "<i4", {count},
        std::span<const std::int32_t>(matrix.indices).subspan(begin, count)));
    DPNMF_RETURN_IF_ERROR(
        WriteArray(writer, "indptr" + suffix, "<i8", {indptr.size()}, indptr));
  }
  return writer->Write("shards.json",
                       ShardsJson({.columns = std::move(columns)}));
}

// The structure of columns: which rows they have entries in.
absl::Status WriteStructure(DatasetWriter* writer,
                            const std::vector<std::int32_t>& indices,
                            const std::vector<std::int64_t>& indptr) {
  DPNMF_RETURN_IF_ERROR(
      WriteArray(writer, "indices.npy", "<i4", {indices.size()}, indices));
  return WriteArray(writer, "indptr.npy", "<i8", {indptr.size()}, indptr);
}

// Writes no file if there are no lines.
absl::Status WriteLines(DatasetWriter* writer, const std::string& name,
                        const std::vector<std::string>& lines) {
  if (lines.empty()) return absl::OkStatus();
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return writer->Write(name, text);
}

template <typename Data>
Digest FingerprintsOf(const Data& data, const std::vector<std::string>& ids,
                      const LinesOfPeople& lines, const FingerprintKey& key,
                      PeopleFingerprints* people,
                      std::vector<Digest>* columns = nullptr) {
  std::vector<PersonFingerprint> rows;
  const Digest whole = FingerprintOf(data, key, &rows, columns);
  PeopleCollector collector(key);
  for (const PersonFingerprint& row : rows) collector.AddRow(row);
  for (std::size_t at = 0; at < lines.values.size(); at += lines.width)
    collector.AddLine(std::span(lines.values).subspan(at, lines.width), lines);
  for (const std::string& id : ids) collector.AddId(id);
  *people = collector.Finish();
  return whole;
}

constexpr std::uint64_t kShownPeople = 5, kShownFeatures = 8;

// The end of a person's line: whether there are more entries, and their sum.
std::string EndOfEntries(bool has_more, double sum) {
  return absl::StrCat(has_more ? " ..." : "", " (sum ", sum, ")");
}

// "a, b, c" or "a, b ... z". A name that no terminal should get is escaped.
std::string FirstAndLast(std::vector<std::string> names) {
  constexpr std::size_t kShown = 3;
  for (std::string& name : names)
    if (!IsPlainText(name)) name = Quoted(name);
  if (names.size() <= kShown + 1) return absl::StrJoin(names, ", ");
  return absl::StrCat(
      absl::StrJoin(names.begin(), names.begin() + kShown, ", "), " ... ",
      names.back());
}

// All-zero people and features are allowed and often a slip.
void NoteZeros(const LoadedMatrix& matrix,
               const std::function<void(const std::string&)>& note) {
  std::vector<bool> used(matrix.features);
  std::uint64_t empty = 0;
  for (std::uint64_t n = 0; n < matrix.users; ++n) {
    const auto begin = matrix.sparse
                           ? static_cast<std::uint64_t>(matrix.indptr[n])
                           : n * matrix.features;
    const auto end = matrix.sparse
                         ? static_cast<std::uint64_t>(matrix.indptr[n + 1])
                         : begin + matrix.features;
    bool any = false;
    for (std::uint64_t at = begin; at < end; ++at) {
      if (matrix.values[at] == 0) continue;
      any = true;
      used[matrix.sparse ? static_cast<std::uint64_t>(matrix.indices[at])
                         : at - begin] = true;
    }
    if (!any) ++empty;
  }
  const auto unused =
      static_cast<std::uint64_t>(std::count(used.begin(), used.end(), false));
  if (empty > 0) note(absl::StrCat("People whose entries are all 0: ", empty));
  if (unused > 0)
    note(absl::StrCat("Features that are 0 for everybody: ", unused));
}

class MatrixSource : public ImportSource {
 public:
  MatrixSource(LoadedMatrix matrix, std::vector<std::string> feature_names)
      : matrix_(std::move(matrix)), feature_names_(std::move(feature_names)) {}

  static absl::StatusOr<std::unique_ptr<ImportSource>> Load(
      const ImportOptions& options, const ImportProgress& progress) {
    LoadOptions load;
    if (!options.features_file.empty()) {
      DPNMF_ASSIGN_OR_RETURN(
          load.feature_names,
          LoadIds(options.features_file, {.note = options.note}));
    }
    load.format = options.format;
    load.header = options.header;
    load.label_columns = options.label_columns;
    load.id_column = options.id_column;
    if (!options.partition.empty()) load.id_name = options.partitions.by;
    load.class_column = options.class_column;
    load.classes = options.classes;
    load.columns = options.columns;
    load.delimiter = options.delimiter;
    load.decimal = options.decimal;
    load.sum_rows = options.sum_rows;
    load.array = options.array;
    load.names_from_header = options.names_from_header;
    load.refused = options.refused;
    load.interrupted = options.interrupted;
    load.note = options.note;
    load.users_count = DeclaredColumns(options);
    load.progress = ReadingOf(progress);
    load.place = options.place;
    load.spool_dir = options.spool_dir;
    DPNMF_ASSIGN_OR_RETURN(
        LoadedMatrix matrix,
        LoadMatrix(options.input, options.users_are_rows.value_or(true), load));
    if (options.note) NoteZeros(matrix, options.note);
    if (options.note && matrix.users < matrix.features &&
        options.users_are_rows.has_value() && !options.shard_of.has_value()) {
      options.note(absl::StrCat(
          "The file has fewer people than features (", matrix.users, " and ",
          matrix.features, "); if it is the other way round, give --users ",
          *options.users_are_rows ? "columns" : "rows"));
    }
    if (options.names_from_header) {
      DPNMF_ASSIGN_OR_RETURN(
          load.feature_names,
          CheckedIds(absl::StrCat("`", options.input, "`, line 1, name "),
                     matrix.feature_names, "feature"));
    }
    std::vector<double> weights;
    if (!options.feature_weights_file.empty()) {
      DPNMF_ASSIGN_OR_RETURN(
          weights,
          LoadFeatureWeights(options.feature_weights_file, load.feature_names,
                             matrix.features, options.note));
    }
    auto source = std::make_unique<MatrixSource>(std::move(matrix),
                                                 std::move(load.feature_names));
    source->users_are_rows_ = options.users_are_rows.value_or(true);
    if (!options.partition.empty()) {
      DPNMF_ASSIGN_OR_RETURN(source->more_ids_,
                             MoreFormsOf(source->matrix_.ids));
    }
    source->classes_ = options.classes.size();
    source->shards_ = options.shards;
    source->weights_ = std::move(weights);
    return source;
  }

  void Describe(DatasetDescription* description) const override {
    description->features = matrix_.features;
    description->sparse = matrix_.sparse;
    description->named_features = !feature_names_.empty();
    description->weighted_features = !weights_.empty();
  }
  std::uint64_t people() const override { return matrix_.users; }
  std::uint64_t rows() const override { return matrix_.reading.rows; }
  Digest Fingerprint(const FingerprintKey& key,
                     PeopleFingerprints* people) const override {
    std::vector<std::string> ids = matrix_.ids;
    ids.insert(ids.end(), more_ids_.begin(), more_ids_.end());
    return FingerprintsOf(matrix_, ids, matrix_.lines, key, people);
  }
  Digest FingerprintWithColumns(const FingerprintKey& key,
                                PeopleFingerprints* people,
                                std::vector<Digest>* columns) const override {
    return FingerprintsOf(matrix_, matrix_.ids, matrix_.lines, key, people,
                          columns);
  }
  std::vector<std::uint64_t> ClassSizes() const override {
    std::vector<std::uint64_t> sizes(classes_);
    for (const std::int32_t label : matrix_.labels)
      ++sizes[static_cast<std::size_t>(label)];
    return sizes;
  }
  std::vector<std::string> First() const override {
    std::vector<std::string> first;
    for (std::uint64_t n = 0; n < std::min(kShownPeople, matrix_.users); ++n)
      first.push_back(PersonText(n));
    return first;
  }
  std::vector<std::string> Understood() const override {
    const TableReading& reading = matrix_.reading;
    std::vector<std::string> lines;
    const auto line = [&lines](const char* title, const std::string& text) {
      if (!text.empty()) lines.push_back(absl::StrCat(title, text));
    };
    const std::vector<std::string> names = FeatureNames();
    line("features    ", FirstAndLast(names));
    if (reading.separator == '\0') return lines;
    std::string read = absl::StrCat(
        NameOfSeparator(reading.separator), " between fields, decimal ",
        reading.decimal_comma ? "comma" : "point", ", ",
        reading.header_line == 0
            ? std::string("no header")
            : absl::StrCat("header in line ", reading.header_line));
    if (reading.comment_lines > 0)
      absl::StrAppend(&read, ", comments (#) skipped: ", reading.comment_lines);
    if (reading.rows != matrix_.users && users_are_rows_)
      absl::StrAppend(&read, ", ", reading.rows, " rows added up");
    line("read as     ", read);
    line("labels      ", Columns(reading.labels));
    line("left out    ", Columns(reading.left_out));
    return lines;
  }
  absl::Status Write(const DatasetDescription& description,
                     DatasetWriter* writer) override {
    NormaliseColumns(&matrix_, description.normalisation,
                     description.column_bound, weights_);
    if (shards_.has_value()) {
      DPNMF_RETURN_IF_ERROR(WriteShards(matrix_, *shards_, writer));
    } else if (!matrix_.sparse) {
      DPNMF_RETURN_IF_ERROR(WriteArray(writer, "values.npy", "<f4",
                                       {matrix_.features, matrix_.users},
                                       matrix_.values));
    } else {
      DPNMF_RETURN_IF_ERROR(WriteArray(
          writer, "data.npy", "<f4", {matrix_.values.size()}, matrix_.values));
      DPNMF_RETURN_IF_ERROR(
          WriteStructure(writer, matrix_.indices, matrix_.indptr));
    }
    if (!matrix_.labels.empty()) {
      DPNMF_RETURN_IF_ERROR(WriteArray(writer, "labels.npy", "<i4",
                                       {matrix_.labels.size()},
                                       matrix_.labels));
    }
    if (!weights_.empty())
      DPNMF_RETURN_IF_ERROR(WriteFeatureWeights(writer, weights_));
    return WriteLines(writer, "features.txt", feature_names_);
  }

 private:
  // Declared names, else those of the header.
  std::vector<std::string> FeatureNames() const {
    if (!feature_names_.empty() || !users_are_rows_) return feature_names_;
    return matrix_.reading.names;
  }

  // "column 1 'name'", "columns 1 'a', 2 'b' ... 9 'i'".
  static std::string Columns(const std::vector<std::string>& columns) {
    if (columns.empty()) return "";
    return absl::StrCat(columns.size() > 1 ? "columns " : "column ",
                        FirstAndLast(columns));
  }

  std::string PersonText(std::uint64_t n) const {
    double sum = 0;
    std::vector<std::string> shown;
    std::uint64_t count = matrix_.features;
    const auto add = [&](const std::string& title, float value) {
      sum += static_cast<double>(value);
      if (shown.size() < kShownFeatures)
        shown.push_back(absl::StrCat(title, value));
    };
    if (!matrix_.sparse) {
      for (std::uint64_t d = 0; d < matrix_.features; ++d)
        add("", matrix_.values[n * matrix_.features + d]);
    } else {
      const auto begin = static_cast<std::size_t>(matrix_.indptr[n]);
      const auto end = static_cast<std::size_t>(matrix_.indptr[n + 1]);
      count = end - begin;
      for (std::size_t at = begin; at < end; ++at) {
        const auto feature = static_cast<std::size_t>(matrix_.indices[at]);
        const std::string title = feature < feature_names_.size()
                                      ? feature_names_[feature]
                                      : absl::StrCat(feature + 1);
        add(absl::StrCat(title, ":"), matrix_.values[at]);
      }
    }
    return absl::StrJoin(shown, " ") + EndOfEntries(shown.size() < count, sum);
  }

  bool users_are_rows_ = true;
  LoadedMatrix matrix_;
  std::vector<std::string> feature_names_;
  std::vector<double> weights_;        // of the features; may be empty
  std::vector<std::string> more_ids_;  // other forms of matrix_.ids
  std::size_t classes_ = 0;
  std::optional<std::uint64_t> shards_;
};

class RatingsSource : public ImportSource {
 public:
  RatingsSource(LoadedRatings ratings, ItemTable items)
      : ratings_(std::move(ratings)), items_(std::move(items)) {}

  static absl::StatusOr<std::unique_ptr<ImportSource>> Load(
      const ImportOptions& options, const ImportProgress& progress) {
    DPNMF_ASSIGN_OR_RETURN(
        ItemTable items,
        LoadItemTable(options.items_file, options.item_features_file,
                      {.header = ItemHeaderOf(options.ratings, options.place),
                       .note = options.note}));
    RatingsOptions load;
    load.scale = options.rating_range.value();
    load.users_count = DeclaredColumns(options);
    load.drop_unlisted = options.drop_unlisted;
    load.format = options.format;
    load.place = options.place;
    load.spool_dir = options.spool_dir;
    load.progress = ReadingOf(progress);
    load.interrupted = options.interrupted;
    load.refused = options.refused;
    load.note = options.note;
    DPNMF_ASSIGN_OR_RETURN(LoadedRatings ratings,
                           LoadRatings(options.ratings, items, load));
    if (options.note && ratings.replaced > 0) {
      options.note(absl::StrCat(
          "Ratings replaced by a later one of the same person and item: ",
          ratings.replaced));
    }
    if (options.note && ratings.unlisted > 0) {
      options.note(
          absl::StrCat("Lines left out because their item is not listed: ",
                       ratings.unlisted));
    }
    return std::make_unique<RatingsSource>(std::move(ratings),
                                           std::move(items));
  }

  void Describe(DatasetDescription* description) const override {
    description->features = ratings_.items;
    description->sparse = true;
    description->ratings->item_features =
        static_cast<std::uint32_t>(items_.feature_names.size());
  }
  std::uint64_t people() const override { return ratings_.people(); }
  std::uint64_t rows() const override { return ratings_.rows; }
  std::vector<std::string> First() const override {
    std::vector<std::string> first;
    const std::uint64_t people =
        std::min<std::uint64_t>(kShownPeople, ratings_.indptr.size() - 1);
    for (std::uint64_t n = 0; n < people; ++n) {
      std::vector<std::string> shown(std::min(kShownFeatures, ratings_.items),
                                     "-");
      double sum = 0;
      for (auto at = static_cast<std::size_t>(ratings_.indptr[n]);
           at < static_cast<std::size_t>(ratings_.indptr[n + 1]); ++at) {
        const double rating = kRatingUnit * ratings_.units[at];
        const auto item = static_cast<std::size_t>(ratings_.indices[at]);
        if (item < shown.size()) shown[item] = absl::StrCat(rating);
        sum += rating;
      }
      first.push_back(absl::StrJoin(shown, " ") +
                      EndOfEntries(shown.size() < ratings_.items, sum));
    }
    return first;
  }
  Digest Fingerprint(const FingerprintKey& key,
                     PeopleFingerprints* people) const override {
    return FingerprintsOf(ratings_, ratings_.users, {}, key, people);
  }
  absl::Status Write(const DatasetDescription&,
                     DatasetWriter* writer) override {
    DPNMF_RETURN_IF_ERROR(WriteArray(writer, "ratings.npy", "<i4",
                                     {ratings_.units.size()}, ratings_.units));
    DPNMF_RETURN_IF_ERROR(
        WriteStructure(writer, ratings_.indices, ratings_.indptr));
    DPNMF_RETURN_IF_ERROR(writer->Write("items.csv", ItemTableText(items_)));
    return WriteLines(writer, "users.txt", ratings_.users);
  }

 private:
  const LoadedRatings ratings_;
  const ItemTable items_;
};

absl::StatusOr<std::unique_ptr<ImportSource>> LoadFile(
    const ImportOptions& options, const ImportProgress& progress) {
  return options.ratings.empty() ? MatrixSource::Load(options, progress)
                                 : RatingsSource::Load(options, progress);
}

// The spool is gone at the end: the data are in memory.
absl::StatusOr<std::unique_ptr<ImportSource>> LoadStandardInput(
    ImportOptions options, const ImportProgress& progress) {
  // Other files are looked at before the rows come, which may take hours.
  for (const std::string& file :
       {options.items_file, options.item_features_file, options.features_file,
        options.feature_weights_file})
    if (!file.empty()) DPNMF_RETURN_IF_ERROR(InputFile::Open(file).status());
  if (!options.features_file.empty())
    DPNMF_RETURN_IF_ERROR(LoadIds(options.features_file).status());
  DPNMF_ASSIGN_OR_RETURN(const GrowingFile spool,
                         SpoolStandardInput(options, progress));
  (options.ratings.empty() ? options.input : options.ratings) =
      "standard input";
  options.place = spool.place();
  options.spool_dir = options.standard_input.spool_dir;
  DPNMF_ASSIGN_OR_RETURN(std::unique_ptr<ImportSource> source,
                         LoadFile(options, progress));
  DPNMF_RETURN_IF_ERROR(CheckRowsRead(options, source->rows()));
  return source;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImportSource>> LoadImportSource(
    const ImportOptions& options, const ImportProgress& progress) {
  if (options.are_sums) return LoadPeopleSums(options);
  if (options.join_parts) return LoadParts(options);
  return ReadsStandardInput(options) ? LoadStandardInput(options, progress)
                                     : LoadFile(options, progress);
}

}  // namespace dpnmf::curator
