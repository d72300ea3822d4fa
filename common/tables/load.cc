#include "common/tables/load.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/input_file.h"
#include "common/files/match_names.h"
#include "common/tables/formats.h"

namespace dpnmf {
namespace {

absl::Status CheckDeclaredShape(const InputFile& input,
                                const LoadedMatrix& matrix,
                                const LoadOptions& options) {
  const std::size_t names = options.feature_names.size();
  if (names != 0 && names != matrix.features) {
    return input.RefuseAt(
        "features-mismatch", 0, 0,
        absl::StrCat("the file has ", matrix.features,
                     " features and the features file names ", names,
                     "; check --features and --users rows|columns",
                     names + 1 == matrix.features
                         ? ", or write `feature` above the first name if it "
                           "was taken for a header"
                         : ""));
  }
  if (options.users_count.has_value() && *options.users_count != matrix.users) {
    return input.RefuseAt(
        "users-mismatch", 0, 0,
        absl::StrCat("the file has ", matrix.users, " users and ",
                     *options.users_count,
                     " are declared; check "
                     "--users-count and --users rows|columns"));
  }
  return absl::OkStatus();
}

// An option that is not read would let the operator believe in other entries,
// or in ids that nobody has.
absl::Status CheckFieldOptions(const InputFile& input,
                               const InputFormat& format,
                               const LoadOptions& options) {
  if (!options.array.empty() && !format.has_arrays) {
    return input.RefuseAt(
        "flag-unused", 0, 0,
        absl::StrCat("the format ", View(format.name),
                     " has one matrix, and "
                     "--array chooses one of an .npz file; leave it out"));
  }
  if (format.has_fields) return absl::OkStatus();
  const std::pair<bool, const char*> given[] = {
      {options.label_columns.has_value(), "--label-columns"},
      {options.id_column.has_value(), "--id-column"},
      {!options.id_name.empty(), "--disjoint-people-by"},
      {!options.columns.empty(), "--columns"},
      {options.names_from_header, "--features-from-header"},
      {options.delimiter.has_value(), "--delimiter"},
      {options.decimal.has_value(), "--decimal"},
      {options.sum_rows, "--person-rows sum"}};
  for (const auto& [is_given, flag] : given) {
    if (!is_given) continue;
    return input.RefuseAt(
        "flag-unused", 0, 0,
        absl::StrCat("the format ", View(format.name), " has no fields that ",
                     flag,
                     " could mean; leave it out, or write the file as CSV"));
  }
  return absl::OkStatus();
}

absl::Status CheckFeaturesOfTable(const InputFile& input,
                                  const LoadedMatrix& table,
                                  std::uint64_t features) {
  if (table.features == features) return absl::OkStatus();
  return input.RefuseAt(
      "features-mismatch", 0, 0,
      absl::StrCat("it has ", table.features, " features, not ", features,
                   "; give the same features in the same order, without "
                   "columns of ids, and check --users"));
}

// The rows of a table in the order of the features that are known.
absl::Status PlaceFeatures(const InputFile& input,
                           const std::vector<std::string>& known,
                           LoadedMatrix* table) {
  const std::vector<std::string>& names = table->feature_names;
  NameMatch match = MatchNames(known, names);
  const auto refuse = [&](std::string_view problem) {
    return input.RefuseAt("features-mismatch", 0, 0, problem);
  };
  if (match.found == 0) return refuse(NoNameFound(known, names));
  std::vector<std::string> missing;
  std::unordered_set<std::string_view> chosen;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (match.places[i] < 0) {
      missing.push_back(known[i]);
    } else {
      chosen.insert(names[static_cast<std::size_t>(match.places[i])]);
    }
  }
  if (!missing.empty()) {
    return refuse(
        absl::StrCat("it lacks ", ExamplesOf(missing), ", and has ",
                     match.found, " of the ", known.size(),
                     " features; add what is missing, or remove the names and "
                     "give the features in order"));
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!chosen.contains(name)) {
      table->left_out.push_back(name);
    } else if (!seen.insert(name).second) {
      return refuse(absl::StrCat("it has ", Quoted(name),
                                 " twice; give each feature once"));
    }
  }
  std::vector<double> placed(known.size() * table->users);
  for (std::uint64_t n = 0; n < table->users; ++n)
    for (std::size_t i = 0; i < known.size(); ++i)
      placed[n * known.size() + i] =
          table->numbers[n * table->features +
                         static_cast<std::uint64_t>(match.places[i])];
  table->numbers = std::move(placed);
  table->features = known.size();
  table->feature_names = known;
  table->respelled = std::move(match.respelled);
  return absl::OkStatus();
}

// A refusal of a table, in which no flag of an import is advised: the programs
// that read tables have none of them.
absl::Status WithoutFlags(const absl::Status& refused, bool labelled) {
  std::string sentence(refused.message());
  for (const std::string_view flag :
       {"--header", "--id-column", "--label-columns", "--columns",
        "--delimiter", "--format-in", "--array", "--decimal"}) {
    if (labelled && (flag == "--header" || flag == "--id-column")) continue;
    const std::size_t at = sentence.find(flag);
    if (at == sentence.npos) continue;
    const std::size_t advice = sentence.rfind("; ", at);
    if (advice != sentence.npos) sentence.resize(advice);
  }
  if (sentence.size() == refused.message().size()) return refused;
  return Refusal(
      refused.code(), ReasonCode(refused),
      absl::StrCat(sentence,
                   "; write it as .npy, or as .csv with commas between the "
                   "fields and one line of names above the numbers."));
}

absl::StatusOr<LoadedMatrix> ReadTable(const std::string& path,
                                       bool users_are_rows,
                                       const TableOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open(path, options.progress, options.interrupted));
  DPNMF_ASSIGN_OR_RETURN(const MatrixFormat format,
                         DetectMatrixFormat(input.get()));
  LoadOptions load;
  load.table = &options;
  load.header = options.header;
  if (options.labelled && users_are_rows) load.label_columns = 0;
  absl::StatusOr<LoadedMatrix> table =
      format->read(input.get(), users_are_rows, load);
  if (!table.ok()) return WithoutFlags(table.status(), options.labelled);
  if (!options.feature_names.empty() && !table->feature_names.empty()) {
    DPNMF_RETURN_IF_ERROR(
        PlaceFeatures(*input, options.feature_names, &*table));
  } else if (!users_are_rows &&
             MatchNames(options.feature_names, table->ids).found > 0) {
    return input->RefuseAt(
        "features-mismatch", 0, 0,
        "its columns have names of features; give --users rows");
  }
  if (options.features.has_value()) {
    DPNMF_RETURN_IF_ERROR(
        CheckFeaturesOfTable(*input, *table, *options.features));
  }
  return table;
}

}  // namespace

std::optional<MatrixFormat> MatrixFormatOfName(std::string_view name) {
  if (name == "auto") return nullptr;
  const InputFormat* const format = InputFormats().Find(name);
  return format == nullptr ? std::nullopt : std::optional(format);
}

std::string FormatNames() {
  std::string names = "auto";
  for (const InputFormat* format : InputFormats().rows())
    absl::StrAppend(&names, "|", std::string(format->name));
  return names;
}

std::string FormatTitles() {
  std::string titles;
  const auto& rows = InputFormats().rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* const joint = i == 0                 ? ""
                              : i + 1 == rows.size() ? " and "
                                                     : ", ";
    absl::StrAppend(&titles, joint, std::string(rows[i]->title));
  }
  return titles;
}

absl::StatusOr<LoadedMatrix> LoadMatrix(const std::string& path,
                                        bool users_are_rows,
                                        const LoadOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open(path, options.progress, options.interrupted,
                      options.content, options.place));
  MatrixFormat format = options.format;
  if (format == nullptr && options.delimiter.has_value()) {
    format = InputFormats().Find("text");
  } else if (format == nullptr) {
    DPNMF_ASSIGN_OR_RETURN(format, DetectFormat(input.get()));
  }
  if (options.class_column.has_value() &&
      !(format->has_fields && users_are_rows)) {
    return input->RefuseAt(
        "class-column-mixed", 0, 0,
        "a column of labels is read only from CSV, TSV and text with people in "
        "rows; write the file in such a format, or leave out --class-column");
  }
  DPNMF_RETURN_IF_ERROR(CheckFieldOptions(*input, *format, options));
  DPNMF_ASSIGN_OR_RETURN(LoadedMatrix matrix,
                         format->read(input.get(), users_are_rows, options));
  DPNMF_RETURN_IF_ERROR(CheckDeclaredShape(*input, matrix, options));
  return matrix;
}

absl::StatusOr<LoadedMatrix> LoadTable(const std::string& path,
                                       bool users_are_rows,
                                       const TableOptions& options) {
  absl::StatusOr<LoadedMatrix> table = ReadTable(path, users_are_rows, options);
  if (table.ok() || options.flag.empty()) return table;
  return Refusal(
      table.status().code(), ReasonCode(table.status()),
      absl::StrCat(options.flag, " ", std::string(table.status().message())));
}

}  // namespace dpnmf
