#include "curator/import/readers/load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "curator/import/readers/formats.h"
#include "curator/import/readers/input_file.h"

namespace dpnmf::curator {
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
      {options.delimiter.has_value(), "--delimiter"}};
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

// Column by column: the values that normalisation touches.
std::span<float> ValuesOf(LoadedMatrix* matrix, std::uint64_t user) {
  if (!matrix->sparse) {
    return std::span(matrix->values)
        .subspan(user * matrix->features, matrix->features);
  }
  const auto begin = static_cast<std::size_t>(matrix->indptr[user]);
  const auto end = static_cast<std::size_t>(matrix->indptr[user + 1]);
  return std::span(matrix->values).subspan(begin, end - begin);
}

// The weights of the entries of ValuesOf; 1 without weights.
class EntryWeights {
 public:
  EntryWeights(const LoadedMatrix& matrix, std::span<const double> weights,
               std::uint64_t user)
      : weights_(weights) {
    if (matrix.sparse && !weights.empty())
      rows_ = std::span(matrix.indices)
                  .subspan(static_cast<std::size_t>(matrix.indptr[user]));
  }
  double operator[](std::size_t entry) const {
    if (weights_.empty()) return 1;
    return weights_[rows_.empty() ? entry
                                  : static_cast<std::size_t>(rows_[entry])];
  }

 private:
  std::span<const double> weights_;
  std::span<const std::int32_t> rows_;  // of sparse entries
};

// Added up in the order of the features, so that a column's bits depend on the
// column alone; zeros add nothing, so that dense and sparse agree.
double LengthOf(std::span<const float> column, const EntryWeights& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const double value = static_cast<double>(column[i]) * weights[i];
    sum += value * value;
  }
  return std::sqrt(sum);
}

void RemoveZeros(LoadedMatrix* matrix) {
  std::size_t kept = 0, at = 0;
  for (std::uint64_t n = 0; n < matrix->users; ++n) {
    const auto end = static_cast<std::size_t>(matrix->indptr[n + 1]);
    matrix->indptr[n] = static_cast<std::int64_t>(kept);
    for (; at < end; ++at) {
      if (matrix->values[at] == 0) continue;
      matrix->values[kept] = matrix->values[at];
      matrix->indices[kept++] = matrix->indices[at];
    }
  }
  matrix->indptr[matrix->users] = static_cast<std::int64_t>(kept);
  matrix->values.resize(kept);
  matrix->indices.resize(kept);
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

void NormaliseColumns(LoadedMatrix* matrix, Normalisation normalisation,
                      double column_bound, std::span<const double> weights) {
  for (std::uint64_t n = 0; n < matrix->users; ++n) {
    const std::span<float> column = ValuesOf(matrix, n);
    const EntryWeights weight_of(*matrix, weights, n);
    const double length = LengthOf(column, weight_of);
    const double target = normalisation == Normalisation::kL2
                              ? 1
                              : std::min(length, column_bound);
    const bool keeps = !(length > 0) || length == target;
    if (keeps && weights.empty()) continue;
    const double scale = keeps ? 1 : target / length;
    for (std::size_t i = 0; i < column.size(); ++i) {
      column[i] = static_cast<float>(static_cast<double>(column[i]) *
                                     weight_of[i] * scale);
    }
  }
  if (matrix->sparse && !weights.empty()) RemoveZeros(matrix);
}

absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(
    LoadedMatrix matrix, DatasetDescription description) {
  description.features = matrix.features;
  description.sparse = matrix.sparse;
  if (description.adjacency == Adjacency::kReplaceOne)
    description.users = matrix.users;
  if (matrix.sparse) {
    return Dataset::FromSparse(std::move(description), std::move(matrix.indptr),
                               std::move(matrix.indices),
                               std::move(matrix.values));
  }
  return Dataset::FromDense(std::move(description), std::move(matrix.values));
}

}  // namespace dpnmf::curator
