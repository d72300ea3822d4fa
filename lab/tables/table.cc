#include "lab/tables/table.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"
#include "common/tables/refused_lines.h"
#include "common/tables/separator.h"
#include "common/tables/text_rows.h"

namespace dpnmf::curator::lab {
namespace {

constexpr std::string_view kClassRange = "class-column-out-of-range";
constexpr std::string_view kIdRange = "id-column-out-of-range";

void AppendText(std::string_view field, std::string* text) {
  const bool plain = !field.empty() &&
                     field.find_first_of(",\"\r\n\t") == std::string::npos &&
                     TrimBlanks(field).size() == field.size();
  text->append(plain ? std::string(field) : CsvQuoted(field));
}

absl::Status Refused(const std::string& path, std::string_view code,
                     std::string_view problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, code,
                 absl::StrCat("`", path, "`: ", View(problem), "."));
}

// The places of class and id, by place.
absl::StatusOr<std::vector<KeptText>> Labels(const std::string& path,
                                             const TableOptions& options) {
  std::vector<KeptText> labels;
  if (options.class_column.has_value())
    labels.push_back({*options.class_column, "--class-column", kClassRange});
  if (options.id_column.has_value())
    labels.push_back({*options.id_column, "--id-column", kIdRange});
  if (labels.size() == 2 && labels[0].place == labels[1].place)
    return Refused(path, kIdRange,
                   "the same field is declared as id and as class; name two "
                   "different fields");
  std::sort(
      labels.begin(), labels.end(),
      [](const KeptText& a, const KeptText& b) { return a.place < b.place; });
  return labels;
}

// Takes the rows of an array that are labels for their shortest decimal form.
absl::Status TakeLabels(const std::string& path,
                        const std::vector<KeptText>& labels,
                        const Eigen::Map<const Eigen::MatrixXd>& entries,
                        std::vector<std::vector<std::string>>* texts) {
  for (const KeptText& label : labels) {
    if (label.place < 1 || label.place > entries.rows()) {
      return Refused(path, label.code,
                     absl::StrCat("`", View(label.flag), " ", label.place,
                                  "` is not in 1 to ", entries.rows(),
                                  "; correct the number, or leave the flag "
                                  "out"));
    }
    texts->emplace_back(static_cast<std::size_t>(entries.cols()));
    for (Eigen::Index n = 0; n < entries.cols(); ++n)
      AppendShortest(entries(label.place - 1, n),
                     &texts->back()[static_cast<std::size_t>(n)]);
  }
  if (static_cast<std::size_t>(entries.rows()) > labels.size())
    return absl::OkStatus();
  return Refused(path, "input-not-a-number",
                 "the array has labels and no numbers; check the columns "
                 "declared");
}

absl::Status CheckLabels(const std::string& path, const TableOptions& options,
                         const Table& table) {
  if (options.one_class_is_refused && !table.classes.empty() &&
      std::equal(table.classes.begin() + 1, table.classes.end(),
                 table.classes.begin())) {
    return Refused(
        path, "classes-one",
        absl::StrCat("all people have the class ", Quoted(table.classes[0]),
                     "; name a column with two classes or more"));
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& id : table.ids) {
    if (!seen.insert(id).second) {
      return Refused(
          path, "table-ids-repeated",
          absl::StrCat("the id ", Quoted(id),
                       " belongs to two people; give each person one row"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetFields(const std::string& path, const FieldFlags& flags,
                       TableOptions* options) {
  const struct {
    const char* flag;
    const char* code;
    const std::string& text;
    std::optional<int>& place;
  } kFields[] = {{"--class-column", "class-column-out-of-range",
                  flags.class_column, options->class_column},
                 {"--id-column", "id-column-out-of-range", flags.id_column,
                  options->id_column}};
  for (const auto& field : kFields) {
    field.place.reset();
    if (field.text.empty()) continue;
    if (int number = 0; absl::SimpleAtoi(field.text, &number)) {
      field.place = number;
      continue;
    }
    const auto refuse = [&](std::string_view problem) {
      return Refused(
          path, field.code,
          absl::StrCat("`", field.flag, " ", field.text, "` ", View(problem)));
    };
    if (!options->users_are_rows)
      return refuse("needs people in rows; give the number of the line");
    if (options->header == false)
      return refuse("needs a header; give the number of the field");
    DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                           InputFile::Open(path));
    DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                           input->Peek(kBeginning));
    const std::vector<std::string_view> lines = FirstLines(beginning);
    const char usual = GuessSeparator(lines.empty() ? "" : lines[0]);
    const LoadOptions load;
    RefusedLines refused;
    TextRows rows(input.get(), usual, load, /*users_are_rows=*/true, &refused);
    DPNMF_RETURN_IF_ERROR(rows.Begin());
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool any, rows.NextLine(&line));
    if (any) DPNMF_RETURN_IF_ERROR(rows.TakeRow(line).status());
    const std::vector<std::string> names =
        rows.TakeNamesOfComment().value_or(rows.first_row());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != field.text) continue;
      if (field.place.has_value())
        return refuse("is the name of two fields; give the number of one");
      field.place = static_cast<int>(i) + 1;
    }
    if (!field.place.has_value()) {
      return refuse(
          "is neither a number nor the name of a field in the first line; give "
          "the field's number, from 1");
    }
    options->header = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<Table> ReadTable(const std::string& path,
                                const TableOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<KeptText> labels,
                         Labels(path, options));
  DPNMF_ASSIGN_OR_RETURN(LoadedMatrix read,
                         LoadTable(path, options.users_are_rows,
                                   {.negative = !options.refuse_negative,
                                    .kept = labels,
                                    .labelled = true,
                                    .header = options.header,
                                    .progress = options.progress,
                                    .interrupted = options.interrupted}));
  const Eigen::Map<const Eigen::MatrixXd> entries(
      read.numbers.data(), static_cast<Eigen::Index>(read.features),
      static_cast<Eigen::Index>(read.users));
  const bool in_array = read.kept.empty() && !labels.empty();
  if (in_array)
    DPNMF_RETURN_IF_ERROR(TakeLabels(path, labels, entries, &read.kept));
  Table table;
  table.columns = std::move(read.feature_names);
  if (!options.users_are_rows) table.ids = std::move(read.ids);
  for (std::size_t k = 0; k < labels.size(); ++k)
    (labels[k].code == kIdRange ? table.ids : table.classes) =
        std::move(read.kept[k]);
  std::vector<Eigen::Index> kept;
  for (Eigen::Index d = 0; d < entries.rows(); ++d) {
    const bool is_label = in_array && std::any_of(labels.begin(), labels.end(),
                                                  [d](const KeptText& label) {
                                                    return label.place == d + 1;
                                                  });
    if (!is_label) kept.push_back(d);
  }
  table.values = entries(kept, Eigen::all).transpose();
  DPNMF_RETURN_IF_ERROR(CheckLabels(path, options, table));
  return table;
}

std::string TableCsv(const Table& table) {
  std::string csv;
  // Most numbers need fewer; what is not written costs no memory.
  csv.reserve(static_cast<std::size_t>(table.values.size()) * 20);
  const bool has_ids = !table.ids.empty();
  const bool has_classes = !table.classes.empty();
  const auto columns = static_cast<std::size_t>(table.values.cols());
  const auto line = [&](std::string_view id, std::string_view label,
                        auto append) {
    if (has_ids) AppendText(id, &csv);
    for (std::size_t j = 0; j < columns; ++j) {
      if (j > 0 || has_ids) csv += ',';
      append(j);
    }
    if (has_classes) {
      csv += ',';
      AppendText(label, &csv);
    }
    csv += '\n';
  };
  if (!table.columns.empty()) {
    line("id", "class",
         [&](std::size_t j) { AppendText(table.columns[j], &csv); });
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(table.people()); ++i) {
    line(has_ids ? table.ids[i] : "", has_classes ? table.classes[i] : "",
         [&](std::size_t j) {
           AppendShortest(table.values(static_cast<Eigen::Index>(i),
                                       static_cast<Eigen::Index>(j)),
                          &csv);
         });
  }
  return csv;
}

}  // namespace dpnmf::curator::lab
