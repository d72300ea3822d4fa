#include "lab/tables/table.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/files/entry.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "common/tables/npy_matrix.h"

namespace dpnmf::curator::lab {
namespace {

void AppendText(std::string_view field, std::string* text) {
  const bool plain = !field.empty() &&
                     field.find_first_of(",\"\r\n\t") == std::string::npos &&
                     TrimBlanks(field).size() == field.size();
  text->append(plain ? std::string(field) : CsvQuoted(field));
}

// Lines of numbers, all of one width, row-major. In blocks, which are freed as
// the matrix fills: never more than twice the table is in memory.
class Lines {
 public:
  // Room for one more line of `width` numbers.
  double* Add(std::size_t width) {
    constexpr std::size_t kBlock = 1 << 20;
    width_ = width;
    if (blocks_.empty() || blocks_.back().size() + width > kBlock) {
      blocks_.emplace_back();
      blocks_.back().reserve(std::max(kBlock, width));
    }
    blocks_.back().resize(blocks_.back().size() + width);
    ++count_;
    return blocks_.back().data() + blocks_.back().size() - width;
  }

  Eigen::Index count() const { return count_; }
  std::size_t width() const { return width_; }

  // A line is a row of the matrix, or a column of it.
  Eigen::MatrixXd Take(bool lines_are_rows) {
    const auto width = static_cast<Eigen::Index>(width_);
    Eigen::MatrixXd matrix(lines_are_rows ? count_ : width,
                           lines_are_rows ? width : count_);
    Eigen::Index done = 0;
    for (std::vector<double>& block : blocks_) {
      const Eigen::Index count =
          static_cast<Eigen::Index>(block.size()) / width;
      const Eigen::Map<const Eigen::MatrixXd> lines(block.data(), width, count);
      if (lines_are_rows) {
        matrix.middleRows(done, count) = lines.transpose();
      } else {
        matrix.middleCols(done, count) = lines;
      }
      done += count;
      std::vector<double>().swap(block);
    }
    return matrix;
  }

 private:
  std::vector<std::vector<double>> blocks_;
  std::size_t width_ = 0;
  Eigen::Index count_ = 0;
};

// Field `place` of `width`, counted from 1.
absl::Status CheckPlace(const InputFile& input, std::string_view code,
                        std::string_view flag, std::optional<int> place,
                        std::size_t width) {
  if (!place.has_value() ||
      (*place >= 1 && static_cast<std::size_t>(*place) <= width))
    return absl::OkStatus();
  return input.RefuseAt(
      code, 0, 0,
      absl::StrCat("`", std::string(flag), " ", *place, "` is not in 1 to ",
                   width, ", the number of fields",
                   width == 1 ? "; fields are separated by tabs, commas, "
                                "semicolons or blanks"
                              : "; correct the number, or leave the flag out"));
}

absl::Status CheckPlaces(const InputFile& input, const TableOptions& options,
                         std::size_t width) {
  DPNMF_RETURN_IF_ERROR(CheckPlace(input, "class-column-out-of-range",
                                   "--class-column", options.class_column,
                                   width));
  DPNMF_RETURN_IF_ERROR(CheckPlace(input, "id-column-out-of-range",
                                   "--id-column", options.id_column, width));
  if (!options.id_column.has_value() ||
      options.id_column != options.class_column)
    return absl::OkStatus();
  return input.RefuseAt("id-column-out-of-range", 0, 0,
                        "the same field is declared as id and as class; name "
                        "two different fields");
}

class TextTableReader {
 public:
  TextTableReader(InputFile* input, char separator, const TableOptions& options)
      : input_(*input), separator_(separator), options_(options) {}

  absl::StatusOr<Table> Read() {
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, NextLine());
      if (!more) break;
      ++line_;
      DPNMF_RETURN_IF_ERROR(options_.users_are_rows ? AddPerson()
                                                    : AddColumn());
    }
    if (lines_.count() == 0) {
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file has no numbers; give another");
    }
    if (!options_.users_are_rows) DPNMF_RETURN_IF_ERROR(FinishColumns());
    table_.values = lines_.Take(options_.users_are_rows);
    return std::move(table_);
  }

 private:
  // The next line that is not empty; empty lines may stand only at the end.
  absl::StatusOr<bool> NextLine() {
    std::uint64_t empty_line = 0;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&text_));
      if (!more) return false;
      if (IsBlank(text_, separator_)) {
        if (empty_line == 0) empty_line = input_.line_number();
        continue;
      }
      if (empty_line != 0) {
        return input_.RefuseAt(
            "input-ragged", empty_line, 1,
            "the line is empty; remove it or write its numbers");
      }
      if (SplitFields(text_, separator_, &fields_)) return true;
      return input_.Refuse("input-malformed", fields_.size() + 1,
                           "a quoted field must end with a quote before the "
                           "separator; correct or remove the quotes");
    }
  }

  // Returns true if the field holds a label: the field of a person, or a line
  // of people's labels.
  bool IsLabel(std::size_t place) const {
    const int number = static_cast<int>(place) + 1;
    return options_.class_column == number || options_.id_column == number;
  }

  absl::Status CheckWidth(std::size_t width) const {
    if (fields_.size() == width) return absl::OkStatus();
    return input_.Refuse("input-ragged", std::min(fields_.size(), width) + 1,
                         absl::StrCat("the line has ", fields_.size(),
                                      " fields and the lines before have ",
                                      width, "; make them equal"));
  }

  // The first line: a header if no field but labels is a number. Words and
  // numbers could be a header or a row with a missing value: nobody's row is
  // dropped on a guess.
  absl::StatusOr<bool> IsHeader() const {
    if (options_.header.has_value()) return *options_.header;
    std::size_t numbers = 0, words = 0, word = 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (options_.users_are_rows && IsLabel(i)) continue;
      if (IsNumber(fields_[i])) {
        ++numbers;
      } else {
        word = words++ == 0 ? i : word;
      }
    }
    if (numbers == 0) return words > 0;
    // A line of a column may begin with the column's name.
    const bool named = !options_.users_are_rows && words == 1 && word == 0;
    if (words == 0 || named) return false;
    // Decimal commas in a file of semicolons.
    if (fields_[word].find(';') != std::string_view::npos) {
      return input_.Refuse(
          "input-not-a-number", word + 1,
          absl::StrCat(Quoted(fields_[word]),
                       " is not a number; where semicolons separate the "
                       "fields, write decimal numbers with a point and no "
                       "comma in the first line"));
    }
    return input_.Refuse(
        "input-ambiguous", word + 1,
        absl::StrCat(Quoted(fields_[word]),
                     " is not a number, but other fields of the first line "
                     "are; declare a class or an id (--class-column, "
                     "--id-column), or give --header yes or --header no"));
  }

  absl::Status AddNumbers(std::size_t first, bool skip_labels) {
    std::size_t width = fields_.size() - first;
    if (skip_labels) {
      width -= static_cast<std::size_t>(options_.class_column.has_value()) +
               static_cast<std::size_t>(options_.id_column.has_value());
    }
    if (width == 0) {
      return input_.Refuse("input-not-a-number", 1,
                           "the line has labels and no numbers; check the "
                           "separator and the columns declared");
    }
    double* number = lines_.Add(width);
    for (std::size_t i = first; i < fields_.size(); ++i) {
      if (skip_labels && IsLabel(i)) continue;
      if (fields_[i].empty()) {
        return input_.Refuse("input-not-a-number", i + 1,
                             "the field is empty; write a number, or leave "
                             "out the person or the column");
      }
      if (const auto problem =
              ParseNumber(fields_[i], options_.refuse_negative, number++)) {
        return input_.Refuse(problem->code, i + 1, problem->sentence);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> LabelOf(std::size_t place) const {
    std::string label = FieldText(text_, fields_[place]);
    if (!label.empty()) return label;
    return input_.Refuse("input-malformed", place + 1,
                         "the class or the id is empty; write one for each "
                         "person");
  }

  absl::Status AddPerson() {
    if (line_ == 1) {
      width_ = fields_.size();
      DPNMF_RETURN_IF_ERROR(CheckPlaces(input_, options_, width_));
      DPNMF_ASSIGN_OR_RETURN(const bool header, IsHeader());
      if (header) {
        for (std::size_t i = 0; i < width_; ++i)
          if (!IsLabel(i))
            table_.columns.push_back(FieldText(text_, fields_[i]));
        return absl::OkStatus();
      }
    }
    DPNMF_RETURN_IF_ERROR(CheckWidth(width_));
    const auto add = [&](std::optional<int> place,
                         std::vector<std::string>* labels) -> absl::Status {
      if (!place.has_value()) return absl::OkStatus();
      DPNMF_ASSIGN_OR_RETURN(std::string label,
                             LabelOf(static_cast<std::size_t>(*place) - 1));
      labels->push_back(std::move(label));
      return absl::OkStatus();
    };
    DPNMF_RETURN_IF_ERROR(add(options_.class_column, &table_.classes));
    DPNMF_RETURN_IF_ERROR(add(options_.id_column, &table_.ids));
    return AddNumbers(0, /*skip_labels=*/true);
  }

  // A line with one number for each person, or with their labels.
  absl::Status AddColumn() {
    const auto keep = [&](std::vector<std::string>* labels) {
      for (const std::string_view field : fields_)
        labels->push_back(FieldText(text_, field));
      return absl::OkStatus();
    };
    const int number = static_cast<int>(line_);
    if (options_.class_column == number) return keep(&table_.classes);
    if (options_.id_column == number) return keep(&table_.ids);
    if (line_ == 1) {
      DPNMF_ASSIGN_OR_RETURN(const bool header, IsHeader());
      if (header) return keep(&header_);
    }
    if (lines_.count() == 0) {
      width_ = fields_.size();
      named_ = width_ > 1 && !IsNumber(fields_[0]);
    }
    DPNMF_RETURN_IF_ERROR(CheckWidth(width_));
    if (named_) table_.columns.push_back(FieldText(text_, fields_[0]));
    return AddNumbers(named_ ? 1 : 0, /*skip_labels=*/false);
  }

  absl::Status FinishColumns() {
    DPNMF_RETURN_IF_ERROR(CheckPlaces(input_, options_, line_));
    // Names of people where no line of ids was declared.
    if (!options_.id_column.has_value()) table_.ids = std::move(header_);
    for (std::vector<std::string>* labels : {&table_.classes, &table_.ids}) {
      if (labels->empty()) continue;
      if (named_ && labels->size() == lines_.width() + 1)
        labels->erase(labels->begin());
      if (labels->size() != lines_.width()) {
        return input_.RefuseAt(
            "input-ragged", 0, 0,
            absl::StrCat("a line has labels of ", labels->size(),
                         " people and the other lines have ", lines_.width(),
                         " numbers; make them equal"));
      }
      if (std::find(labels->begin(), labels->end(), "") != labels->end()) {
        return input_.RefuseAt("input-malformed", 0, 0,
                               "the class or the id is empty; write one for "
                               "each person");
      }
    }
    return absl::OkStatus();
  }

  InputFile& input_;
  const char separator_;
  const TableOptions& options_;
  Table table_;
  Lines lines_;
  std::string_view text_;                 // of the current line
  std::vector<std::string_view> fields_;  // of the current line
  std::vector<std::string> header_;       // where users are columns
  std::size_t line_ = 0;                  // lines that are not empty
  std::size_t width_ = 0;
  bool named_ = false;  // lines begin with the name of their column
};

absl::StatusOr<Table> ReadNpyTable(InputFile* input,
                                   const TableOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const NpyNumbers numbers,
                         ReadNpyNumbers(input, options.refuse_negative));
  const auto rows = static_cast<Eigen::Index>(numbers.rows);
  const auto columns = static_cast<Eigen::Index>(numbers.columns);
  using RowMajor =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  // People in rows. As a map of the other order a matrix is transposed.
  const bool column_major = numbers.fortran_order == options.users_are_rows;
  const Eigen::Index people = options.users_are_rows ? rows : columns;
  const Eigen::Index width = options.users_are_rows ? columns : rows;
  DPNMF_RETURN_IF_ERROR(
      CheckPlaces(*input, options, static_cast<std::size_t>(width)));
  const auto column = [&](Eigen::Index j) -> Eigen::VectorXd {
    const double* const values = numbers.values.data();
    if (column_major)
      return Eigen::Map<const Eigen::MatrixXd>(values, people, width).col(j);
    return Eigen::Map<const RowMajor>(values, people, width).col(j);
  };
  Table table;
  const auto labels = [&](int place) {
    std::vector<std::string> texts(static_cast<std::size_t>(people));
    const Eigen::VectorXd values = column(place - 1);
    for (Eigen::Index i = 0; i < people; ++i)
      AppendShortest(values[i], &texts[static_cast<std::size_t>(i)]);
    return texts;
  };
  const auto is_label = [&](Eigen::Index j) {
    return options.class_column == j + 1 || options.id_column == j + 1;
  };
  Eigen::Index kept = 0;
  for (Eigen::Index j = 0; j < width; ++j) kept += is_label(j) ? 0 : 1;
  if (kept == 0) {
    return input->RefuseAt("input-not-a-number", 0, 0,
                           "the array has labels and no numbers; check the "
                           "columns declared");
  }
  if (options.class_column) table.classes = labels(*options.class_column);
  if (options.id_column) table.ids = labels(*options.id_column);
  table.values.resize(people, kept);
  for (Eigen::Index j = 0, k = 0; j < width; ++j)
    if (!is_label(j)) table.values.col(k++) = column(j);
  return table;
}

absl::Status CheckLabels(const InputFile& input, const TableOptions& options,
                         const Table& table) {
  if (options.one_class_is_refused && !table.classes.empty() &&
      std::equal(table.classes.begin() + 1, table.classes.end(),
                 table.classes.begin())) {
    return input.RefuseAt(
        "classes-one", 0, 0,
        absl::StrCat("all people have the class ", Quoted(table.classes[0]),
                     "; name a column with two classes or more"));
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& id : table.ids) {
    if (!seen.insert(id).second) {
      return input.RefuseAt(
          "table-ids-repeated", 0, 0,
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
    DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                           InputFile::Open(path));
    const auto refuse = [&](std::string_view problem) {
      return input->RefuseAt(field.code, 0, 0,
                             absl::StrCat("`", field.flag, " ", field.text,
                                          "` ", std::string(problem)));
    };
    if (!options->users_are_rows)
      return refuse("needs people in rows; give the number of the line");
    if (options->header == false)
      return refuse("needs a header; give the number of the field");
    std::string_view line;
    std::vector<std::string_view> names;
    DPNMF_ASSIGN_OR_RETURN(const bool any, input->ReadLine(&line));
    if (any) SplitFields(line, GuessSeparator(line), &names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (FieldText(line, names[i]) != field.text) continue;
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
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open(path, options.progress, options.interrupted));
  DPNMF_ASSIGN_OR_RETURN(const std::string_view beginning,
                         input->Peek(std::size_t{1} << 16));
  if (beginning.empty()) {
    return input->RefuseAt("input-empty", 0, 0,
                           "the file is empty; give another");
  }
  absl::StatusOr<Table> table;
  if (beginning.starts_with("\x93NUMPY")) {
    table = ReadNpyTable(input.get(), options);
  } else if (beginning.find('\0') != std::string_view::npos) {
    return input->RefuseAt("input-unreadable", 0, 0,
                           "the file is neither text nor .npy; write the table "
                           "as CSV in UTF-8, or as .npy");
  } else {
    const std::string_view first_line =
        beginning.substr(0, beginning.find_first_of("\r\n"));
    table = TextTableReader(input.get(), GuessSeparator(first_line), options)
                .Read();
  }
  DPNMF_RETURN_IF_ERROR(table.status());
  DPNMF_RETURN_IF_ERROR(CheckLabels(*input, options, *table));
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
