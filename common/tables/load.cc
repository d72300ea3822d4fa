#include "common/tables/load.h"

#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
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
                     "; check --features and --users rows|columns"));
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
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path, options.progress,
                                         options.interrupted, options.content));
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

absl::StatusOr<std::vector<std::string>> LoadFeatureNames(
    const std::string& path, std::string_view what) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path));
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  std::uint64_t empty_line = 0;
  while (true) {
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool more, input->ReadLine(&line));
    if (!more) break;
    const std::string_view name = TrimBlanks(line);
    if (name.empty()) {
      if (empty_line == 0) empty_line = input->line_number();
      continue;
    }
    if (empty_line != 0) {
      return input->RefuseAt(
          "input-malformed", empty_line, 1,
          absl::StrCat("the line is empty; write the name of the ",
                       View(what)));
    }
    if (!seen.emplace(name).second) {
      return input->Refuse(
          "input-duplicate", 1,
          absl::StrCat("the name ", Quoted(name),
                       " is listed twice; give each ", View(what), " its own"));
    }
    names.emplace_back(name);
  }
  if (names.empty()) {
    return input->RefuseAt("input-empty", 0, 0,
                           absl::StrCat("the file contains no ", View(what),
                                        "; write one on each line"));
  }
  return names;
}

}  // namespace dpnmf
